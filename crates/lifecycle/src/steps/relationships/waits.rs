//! The waits of the steps that create the pairs of a relationship.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use windlass_model::assembly::ElementKind;
use windlass_model::template::End;
use windlass_model::{ElementName, Modifier, PropertyName, Relationship};
use windlass_plan::{Draft, WaitKind, Why};

use super::making::{Making, modifiers};
use super::relation::{Node, RelationshipPlanner};
use super::slots::{InSlot, Slot, is_done, moves_in};
use crate::constraints::{Arrival, Constraints, Priority};
use crate::rank;

/// Adds waits to the step `step`, which removes pairs of the node `target` that an earlier batch of the plan has
/// created. `again` contains the sources of these pairs, as positions in `making.sources`.
///
/// The source and the target of such a pair change in different batches. A pair is re-created whenever one of its nodes
/// changes, so the plan creates this pair in both batches. `step` belongs to the later batch (`slot`), and removes the
/// pair before its second creation.
///
/// The node that changes in the earlier batch may have the modifier `pre`. Such a node can reach its required state
/// only while the pair exists. So `step` waits until the node has reached this state.
pub(super) fn after_held_ends<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    target: &Node<'a>,
    (again, slot): (&[usize], Slot),
    step: Draft,
) {
    let (source_modifier, target_modifier) = modifiers(planner, making.new);
    let constraints = &mut *planner.constraints;
    let sources = again.iter().map(|at| (&making.sources[*at], making.new.source_state, source_modifier));
    for (end, state, modifier) in sources.chain([(target, making.new.target_state, target_modifier)]) {
        if modifier != Modifier::Pre || moves_in(slot, end) {
            continue;
        }
        let Some(held) = reached(constraints, end, rank::of(state)) else { continue };
        let rule = format!("{} becomes {state} with the relationship", end.element.name.local());
        let why = constraints.graph.because(making.new, rule);
        let priority = if end.place.is_some() { Priority::Required } else { Priority::Strong };
        constraints.graph.constrain(step, held, WaitKind::After, priority, why);
    }
}

/// Adds waits to the step `step`, which creates pairs. The step must wait until the sources of these pairs have the
/// required states.
pub(super) fn after_sources<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    step: Draft,
    (pairs, slot): (&InSlot<'_>, Slot),
) {
    let with = || pairs.pairs.iter().map(|at| &making.sources[*at]);
    let least = rank::least(making.new.source_state, modifiers(planner, making.new).0);
    let each_by_itself = !planner.options.adopt && are_apart(with());
    let constraints = &mut *planner.constraints;
    let after = |constraints: &mut Constraints<'_>, source: &ElementName, reached| {
        if each_by_itself {
            after_each(constraints, making, step, source, (least, reached));
        } else {
            after_end(constraints, making, step, (End::Source, source), (least, reached));
        }
    };
    if slot.is_none() || with().all(|source| source.path.rolls.turn == 0) {
        for source in making.listed(pairs.pairs) {
            let reached = constraints.reached(&source, least);
            after(constraints, &source, reached);
        }
        return;
    }
    // Only some sources must reach their state before the pairs of this batch are created. A source that changes
    // in a later batch has not left its state yet. A source that changed in an earlier batch has already reached
    // its state again.
    let is_due = |source: &&Node<'_>| {
        let turn = source.path.rolls.turn;
        turn == 0 || moves_in(slot, source) || pairs.is_first && is_done(slot, source)
    };
    for source in with().filter(is_due) {
        let reached = reached(constraints, source, least);
        after(constraints, &source.element.name, reached);
    }
}

/// Adds waits to the step `step`, which creates the relationship `new` for its source or target `end`. The step then
/// waits for the outputs that `end` reads.
///
/// At the time of `step`, `end` may still have its old values. Nevertheless, if `step` calls an operation of `end`,
/// this operation already gets the new values of `end`. The new values may contain outputs of other parts (the
/// *producers*). So the producers must publish these outputs before `step`.
pub(super) fn after_producers(
    constraints: &mut Constraints<'_>,
    new: &Relationship,
    step: Draft,
    end: &Node<'_>,
) {
    if !constraints.awaits_outputs {
        return;
    }
    let leaves = constraints.desired().map(|desired| desired.leaves(&end.element.name)).unwrap_or_default();
    let mut producers: BTreeSet<&ElementName> = BTreeSet::new();
    for part in leaves.iter().filter_map(|leaf| constraints.parts.get(&leaf.name)) {
        producers.extend(part.awaited_producers());
    }
    let published: Vec<(Draft, String)> = producers
        .into_iter()
        .filter_map(|producer| {
            let rule = format!("{} reads an output of {}", end.element.name.local(), producer.local());
            Some((constraints.parts.get(producer)?.publishing()?, rule))
        })
        .collect();
    for (published, rule) in published {
        let why = constraints.graph.because(new, rule);
        constraints.graph.need(step, published, why);
    }
}

/// Makes the step `step`, which creates a relationship, wait for the step `given`.
///
/// The relationship reads values of its source or target `node`. The step `given` brings the new values to `node`.
pub(super) fn after_values(
    constraints: &mut Constraints<'_>,
    new: &Relationship,
    step: Draft,
    given: Draft,
    node: &Node<'_>,
) {
    let rule = format!("{} must have its new values", node.element.name.local());
    let why = constraints.graph.because(new, rule);
    constraints.graph.constrain(step, given, WaitKind::Needs, Priority::Strong, why);
}

/// Formats the text of a rule, for example `source web must be Active`.
///
/// The initial capacity of the text is sufficient for most rules. So the text is rarely re-allocated, even in a large
/// rolling change, which creates several texts for each node.
fn rule(text: std::fmt::Arguments<'_>) -> String {
    let mut rule = String::with_capacity(64);
    let _ = rule.write_fmt(text);
    rule
}

/// Returns the step after which a node has a [rank]; `None` if the node has the rank already, or
/// never reaches the rank.
pub(super) fn reached(constraints: &mut Constraints<'_>, node: &Node<'_>, rank: u8) -> Option<Draft> {
    match node.place {
        Some(place) => constraints.parts.list[place].reaching(rank),
        None => constraints.reached(&node.element.name, rank),
    }
}

/// Makes the step `step`, which creates a relationship, wait until a source or target has at least the
/// [rank] `least`.
///
/// `end` is the name of the source or target. `reached` is the step that brings this element to the rank; `None` if
/// there is no such step.
pub(super) fn after_end(
    constraints: &mut Constraints<'_>,
    making: &Making<'_>,
    step: Draft,
    (side, end): (End, &ElementName),
    (least, reached): (u8, Option<Draft>),
) {
    if reached.is_none() && !making.passes_on {
        return;
    }
    let (name, state) = (end.local(), rank::state(least));
    let rule = match side {
        End::Source => rule(format_args!("source {name} must be {state}")),
        End::Target => rule(format_args!("target {name} must be {state}")),
    };
    let why = constraints.graph.because(making.new, rule);
    if let Some(reached) = reached {
        constraints.graph.need(step, reached, why);
    }
    if making.passes_on {
        constraints.arrivals.push(Arrival { step, end: end.clone(), rank: least, why });
    }
}

/// Makes the step `step`, which creates a relationship with several sources, wait for the source `source`.
///
/// The step `reached` brings `source` to the [rank] `least`; `None` if there is no such step. `step` waits
/// until `reached` has ended, even if `reached` has failed. So a failed source does not prevent the creation of the
/// relationship with the other sources.
fn after_each(
    constraints: &mut Constraints<'_>,
    making: &Making<'_>,
    step: Draft,
    source: &ElementName,
    (least, reached): (u8, Option<Draft>),
) {
    if reached.is_none() && !making.passes_on {
        return;
    }
    let (name, state) = (source.local(), rank::state(least));
    let rule = rule(format_args!("it is created with each source {name} that is {state}"));
    let why = constraints.graph.because(making.new, rule);
    if let Some(reached) = reached {
        constraints.graph.wait(step, reached, WaitKind::After, why);
    }
    if making.passes_on {
        constraints.arrivals.push(Arrival { step, end: source.clone(), rank: least, why });
    }
}

/// Delays some sources of a relationship: they reach their required state only after the relationship exists at
/// every target.
///
/// `waiting` yields these sources. `created` contains the steps that create the relationship.
pub(super) fn hold_sources<'n, 'a: 'n>(
    constraints: &mut Constraints<'a>,
    new: &'a Relationship,
    waiting: impl Iterator<Item = &'n Node<'a>>,
    created: &[(Slot, Draft)],
) {
    let all = constraints.graph.barrier(format!("{} is created everywhere", new.name));
    let why = constraints.graph.because(new, "it is created at each target".to_owned());
    for (_, step) in created {
        constraints.graph.need(all, *step, why);
    }
    let rank = rank::of(new.source_state);
    for source in waiting {
        let name = &source.element.name;
        let rule = format!("it is created before source {} becomes {}", name.local(), new.source_state);
        let why = constraints.graph.because(new, rule);
        constraints.hold_whole(source.element, rank, all, why);
    }
}

/// Tells whether a relationship with these sources can be created although one of the sources has failed. The
/// result is `true` if there are several sources, and all of them are resources.
///
/// If a source is an assembly or a group, the result is `false`. The state of such a source depends on all its
/// parts, and some of these parts may wait for the relationship itself.
fn are_apart<'n, 'a: 'n>(sources: impl Iterator<Item = &'n Node<'a>>) -> bool {
    let mut count = 0;
    for source in sources {
        if source.element.kind != ElementKind::Resource {
            return false;
        }
        count += 1;
    }
    count > 1
}

/// Returns the reason why the plan removes old pairs at a target before it creates new pairs there.
pub(super) fn before_it(
    constraints: &mut Constraints<'_>,
    making: &Making<'_>,
    target: &Node<'_>,
    open: &[usize],
) -> Why {
    let outdated = making.outdated.and_then(|outdated| outdated.get(&target.element.name));
    let with = open.iter().map(|at| &making.sources[*at]).filter(|source| target.stays && source.stays);
    let values = with.filter_map(|source| outdated?.get(&source.element.name)).flatten();
    let names: BTreeSet<&PropertyName> = values.map(|value| &value.property).collect();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        let rule = || "the old relationship is ceased first".to_owned();
        return *making.ceased_first.get_or_init(|| constraints.graph.because(making.new, rule()));
    }
    let rule = format!("the outdated relationship is ceased first: its {} has changed", names.join(", "));
    constraints.graph.because(making.new, rule)
}
