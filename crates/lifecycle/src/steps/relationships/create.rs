//! The steps that create a relationship's pairs, with their phases.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use windlass_model::Side;
use windlass_model::assembly::OperationCall;
use windlass_model::template::End;
use windlass_model::work::{Direction, Reason, Relate, Work};
use windlass_model::{Element, Modifier, Relationship};
use windlass_plan::{Draft, WaitKind, Why};

use super::cease::{Ceased, alike};
use super::diff::Skipped;
use super::making::{Making, making, may_make, modifiers, open_sources};
use super::relation::{Node, Relation, RelationshipPlanner, is_outdated};
use super::slots::{BySlot, Concerned, InSlot, STATIC, Slot, in_slot, is_done, moves_in};
use super::waits::{
    after_end, after_held_ends, after_producers, after_sources, after_values, before_it, hold_sources,
    reached,
};
use crate::changes::{Disposition, NodePath};
use crate::constraints::phase::{self, Phase};
use crate::constraints::{Constraints, Priority};
use crate::differences::end_properties;
use crate::rank;
use crate::situation::Current;

/// The steps for which the creation of a relationship waits, because they publish outputs that the relationship
/// reads.
///
/// Each entry contains the step, the reason for the wait, and the number of the batch in which the publishing part
/// changes. The number is 0 if the part changes outside of batches.
pub(super) type Awaited = Vec<(Draft, Reason, u32)>;

/// A step that creates at least one new pair at a target. A new pair does not exist before the plan.
pub(super) struct NewPairs<'a> {
    pub(super) step: Draft,
    /// The sources of the new pairs, followed by their target.
    pub(super) ends: Vec<(End, &'a Element)>,
}

/// Adds the steps that create the pairs of a relationship.
///
/// If the plan removes parts, returns those of the steps that create at least one new pair. The function
/// [`replace`](super::replace::replace) makes the removals wait for these steps. If the plan removes no part, nothing
/// needs these steps, and the result is empty.
pub(super) fn create<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
    awaited: Awaited,
    ceased: &Ceased<'a>,
    skipped: &mut Skipped<'a>,
) -> Vec<NewPairs<'a>> {
    let mut new_pairs = Vec::new();
    let Some(new) = relation.new.filter(|new| !new.is_order_only()) else { return new_pairs };
    let making = making(planner, relation, new);
    let mut awaited_in: BTreeMap<u32, Vec<(Draft, Why)>> = BTreeMap::new();
    for (published, reason, turn) in awaited {
        let why = planner.constraints.graph.note(reason);
        awaited_in.entry(turn).or_default().push((published, why));
    }
    let given_sources = given_anew(planner, new, End::Source, &making.sources);
    let given_targets = given_anew(planner, new, End::Target, &making.targets);
    let holds = modifiers(planner, new).0 == Modifier::Pre;
    let mut concerned = Concerned::default();
    for (place, target) in making.targets.iter().enumerate() {
        let mut open = open_sources(planner, &making, target);
        open.retain(|at| may_make(planner, &making, *at, target, skipped));
        if open.is_empty() {
            continue;
        }
        let ceased = ceased.get(&target.element.name).map(Vec::as_slice).unwrap_or_default();
        // The step that creates the pair of each source for the first time. A later batch may re-create the pair.
        let mut earlier: HashMap<usize, Draft> = HashMap::new();
        let slots = open_by_slot(planner, &making, target, open);
        let creates_twice = slots.creates_twice();
        let mut before: Vec<Draft> = Vec::new();
        for (slot, pairs) in slots.each() {
            if slot.is_none() && pairs.existed {
                planner.constraints.rolling.suspend(new);
            }
            before.clear();
            before.extend(in_slot(ceased, slot).iter().map(|(_, step)| *step));
            if !pairs.again.is_empty() {
                planner.constraints.rolling.create_twice(new);
                before.push(cease_again(planner, &making, target, (&pairs.again, slot), &earlier));
            }
            let step = create_at(planner, &making, target, (&pairs, slot), &before);
            if planner.removes_parts {
                new_pairs.extend(new_pairs_of(planner, &making, target, &pairs, step));
            }
            if slot.is_some() && creates_twice {
                earlier.extend(pairs.pairs.iter().map(|at| (*at, step)));
            }
            undo_first(planner, &making, target, pairs.pairs, step);
            for (published, why) in due(&awaited_in, slot) {
                planner.constraints.graph.need(step, *published, *why);
            }
            // A node of an earlier batch usually has its new values. But the planner may have to drop the wait for the
            // earlier batch, so an operation of the node waits for the outputs in any case.
            let is_called = |end: End| new.create.iter().any(|call| call.end == end);
            let sources = pairs.pairs.iter().map(|at| (End::Source, &making.sources[*at]));
            let ends = sources.chain([(End::Target, target)]);
            for (_, node) in ends.filter(|(end, node)| is_called(*end) || !is_done(slot, node)) {
                after_producers(planner.constraints, new, step, node);
            }
            for at in pairs.pairs {
                if let Some(given) = given_sources.get(at).filter(|_| is_done(slot, &making.sources[*at])) {
                    after_values(planner.constraints, new, step, *given, &making.sources[*at]);
                }
            }
            if let Some(given) = given_targets.get(&place).filter(|_| is_done(slot, target)) {
                after_values(planner.constraints, new, step, *given, target);
            }
            if !holds {
                continue;
            }
            let waits = |at: &&usize| {
                let source = &making.sources[**at];
                moves_in(slot, source) || pairs.is_first && is_done(slot, source)
            };
            concerned.sources.extend(pairs.pairs.iter().filter(waits).map(|at| (slot, *at)));
            concerned.steps.push((slot, step));
        }
    }
    concerned.each_slot(|waiting, steps| {
        let waiting = waiting.iter().map(|(_, at)| &making.sources[*at]);
        hold_sources(planner.constraints, new, waiting, steps);
    });
    new_pairs
}

/// Returns those pairs of the step `step` that do not exist before the plan.
///
/// `pairs` contains all pairs that the step creates or re-creates. Returns `None` if the step only re-creates
/// pairs.
fn new_pairs_of<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    target: &Node<'a>,
    pairs: &InSlot<'_>,
    step: Draft,
) -> Option<NewPairs<'a>> {
    let current: &Current = planner.constraints.situation.current;
    let made = current.made_at(making.new, &target.element.name);
    let is_new = |at: &&usize| !made.is_some_and(|made| made.contains(&making.sources[**at].element.name));
    let sources = pairs.pairs.iter().filter(is_new).map(|at| (End::Source, making.sources[*at].element));
    let mut ends: Vec<(End, &Element)> = sources.collect();
    if ends.is_empty() {
        return None;
    }
    ends.push((End::Target, target.element));
    Some(NewPairs { step, ends })
}

/// Selects steps from `awaited`: the steps that must end before the plan creates pairs in the batch `slot`.
///
/// `awaited` contains steps that publish outputs. The key is the number of the batch in which the producer (the
/// publishing part) changes; 0 for a producer outside of batches.
///
/// A pair in a batch waits for the producers in this batch, and for the producers outside of batches. It needs no
/// other wait: producers of earlier batches have published already, and producers of later batches still have their
/// old outputs. A pair outside of batches waits for all producers.
fn due(awaited: &BTreeMap<u32, Vec<(Draft, Why)>>, slot: Slot) -> impl Iterator<Item = &(Draft, Why)> {
    let batch = slot.filter(|turn| *turn > 0);
    let all = batch.is_none().then(|| awaited.values());
    let some = batch.into_iter().flat_map(|turn| [0, turn]).filter_map(|turn| awaited.get(&turn));
    all.into_iter().flatten().chain(some).flatten()
}

/// Groups the new and re-created pairs of a target by the batch ([`Slot`]) in which the plan creates them.
///
/// `open` contains the sources of these pairs, as positions in `making.sources`.
fn open_by_slot(
    planner: &RelationshipPlanner<'_, '_>,
    making: &Making<'_>,
    target: &Node<'_>,
    open: Vec<usize>,
) -> BySlot {
    if planner.constraints.rolling.groups.is_empty() {
        return BySlot::of_one(STATIC, open);
    }
    let current: &Current = planner.constraints.situation.current;
    let made = current.made_at(making.new, &target.element.name);
    let half_made = current.half_made_at(making.new, &target.element.name);
    let suspended = planner.constraints.rolling.suspends(making.new);
    BySlot::of(open, &making.sources, target, suspended, |at| {
        let name = &making.sources[at].element.name;
        made.is_some_and(|made| made.contains(name)) || half_made.is_some_and(|half| half.contains_key(name))
    })
}

/// Adds a step that removes pairs which this plan has created in an earlier batch.
///
/// `again` contains the sources of these pairs, as positions in `making.sources`. For the position of a source,
/// `earlier` contains the step that has created the pair of this source.
fn cease_again<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    target: &Node<'a>,
    (again, slot): (&[usize], Slot),
    earlier: &HashMap<usize, Draft>,
) -> Draft {
    let Making { new, sources, .. } = making;
    let constraints = &mut *planner.constraints;
    let relate = Relate {
        direction: Direction::Cease,
        assembly: new.assembly.clone(),
        relationship: new.name.clone(),
        target: target.element.name.clone(),
        sources: again.iter().map(|at| sources[*at].element.name.clone()).collect(),
        pairs: u64::try_from(again.len()).unwrap_or(u64::MAX),
        operations: new.cease.clone(),
        side: Side::Desired,
    };
    let step = constraints.graph.step(phase::ROLL, Work::Relate(Box::new(relate)));
    constraints.begins.extend(slot.map(|turn| (turn, step)));
    let why = constraints.graph.because(new, "the relationship with the node before is ceased".to_owned());
    let created: BTreeSet<Draft> = again.iter().filter_map(|at| earlier.get(at).copied()).collect();
    for created in created {
        constraints.graph.need(step, created, why);
    }
    if moves_in(slot, target) {
        let rank = rank::of(new.target_state);
        constraints.hold_leaving(&target.element.name, rank, step, Priority::Required, why);
    }
    for source in again.iter().map(|at| &sources[*at]).filter(|source| moves_in(slot, source)) {
        let rank = rank::of(new.source_state);
        constraints.hold_leaving(&source.element.name, rank, step, Priority::Required, why);
    }
    after_held_ends(planner, making, target, (again, slot), step);
    step
}

/// Adds the step that creates the pairs `pairs` of a target.
///
/// The step runs in the batch `slot`. It waits for the steps `ceased`, which remove the previous pairs of the target.
fn create_at<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    target: &Node<'a>,
    (pairs, slot): (&InSlot<'_>, Slot),
    ceased: &[Draft],
) -> Draft {
    let open = pairs.pairs;
    let Making { new, sources, .. } = making;
    let with = || open.iter().map(|at| &sources[*at]);
    let step = planner.constraints.graph.step(
        if matches!(slot, Some(1..)) { phase::ROLL } else { create_phase(new, target, with()) },
        Work::Relate(Box::new(Relate {
            direction: Direction::Create,
            assembly: new.assembly.clone(),
            relationship: new.name.clone(),
            target: target.element.name.clone(),
            sources: making.listed(open),
            pairs: u64::try_from(open.len()).unwrap_or(u64::MAX),
            operations: if planner.options.adopt { Vec::new() } else { new.create.clone() },
            side: Side::Desired,
        })),
    );
    after_sources(planner, making, step, (pairs, slot));
    let (source_modifier, target_modifier) = modifiers(planner, new);
    let least_target = rank::least(new.target_state, target_modifier);
    if is_done(slot, target) {
        let reached = reached(planner.constraints, target, least_target);
        after_end(
            planner.constraints,
            making,
            step,
            (End::Target, &target.element.name),
            (least_target, reached),
        );
    }
    note_created(planner.constraints, (step, slot), with().chain([target]));
    // If the plan does not raise the target, the target has no step that could wait for `step`. Other parts
    // would wait in its place, but they do not wait for a step of a batch.
    let holds_target = target.path.climbs || !planner.constraints.graph.rolls(step);
    if target_modifier == Modifier::Pre
        && holds_target
        && (moves_in(slot, target) || pairs.is_first && is_done(slot, target))
    {
        let state = new.target_state;
        let rule = format!("it is created before target {} becomes {state}", target.element.name.local());
        let why = planner.constraints.graph.because(new, rule);
        planner.constraints.hold_whole(target.element, rank::of(state), step, why);
    }
    for ceased in ceased.iter().copied() {
        let why = before_it(planner.constraints, making, target, open);
        planner.constraints.graph.need(step, ceased, why);
        if !target.path.falls() {
            let least = rank::least(new.source_state, source_modifier);
            cease_late(planner.constraints, new, ceased, with(), least);
        }
    }
    step
}

/// Records that `step` creates pairs in the batch `slot`. The next batch waits for this step.
///
/// `ends` contains the sources and targets of the pairs. The function ignores a source or target if it does not
/// change in the batch `slot`, or if its group does not change in batches.
fn note_created<'n, 'a: 'n>(
    constraints: &mut Constraints<'a>,
    (step, slot): (Draft, Slot),
    ends: impl Iterator<Item = &'n Node<'a>>,
) {
    let Some(turn) = slot.filter(|_| !constraints.rolling.groups.is_empty()) else { return };
    let rolls = ends.map(|end| end.path.rolls).filter(|rolls| rolls.group > 0 && rolls.turn == turn);
    constraints.completes.extend(rolls.map(|rolls| (rolls.group, turn, step)));
}

/// Adds steps that undo the uncertain operations of a target's pairs. The step `step`, which completes these pairs,
/// waits until the added steps have succeeded.
///
/// An operation is uncertain if it failed, or if it was interrupted after its start.
fn undo_first<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    target: &Node<'a>,
    open: &[usize],
    step: Draft,
) {
    let Making { new, sources, .. } = making;
    let current: &Current = planner.constraints.situation.current;
    let Some(half_made) = current.half_made_at(new, &target.element.name) else { return };
    let outdated = making.outdated.and_then(|outdated| outdated.get(&target.element.name));
    let undo = |at: &usize| {
        let source = &sources[*at];
        let name = &source.element.name;
        let stays = target.stays && source.stays && !is_outdated(outdated, name);
        let half = half_made.get(name).filter(|half| stays && half.in_doubt > 0)?;
        Some((*at, half.undo[..half.in_doubt].to_vec()))
    };
    let undone: BTreeMap<usize, Vec<OperationCall>> = open.iter().filter_map(undo).collect();
    let places: Vec<usize> = undone.keys().copied().collect();
    for (operations, which) in alike(&places, |at| &undone[&at]) {
        let relate = Relate {
            direction: Direction::Undo,
            assembly: new.assembly.clone(),
            relationship: new.name.clone(),
            target: target.element.name.clone(),
            sources: which.iter().map(|at| sources[*at].element.name.clone()).collect(),
            pairs: u64::try_from(which.len()).unwrap_or(u64::MAX),
            operations: operations.clone(),
            side: Side::Installed,
        };
        let undo = planner.constraints.graph.step(phase::CLEAR, Work::Relate(Box::new(relate)));
        let why = planner
            .constraints
            .graph
            .because(new, "its operations with an unknown outcome are undone first".to_owned());
        planner.constraints.graph.need(step, undo, why);
    }
}

/// Delays the removal of a target's old pairs until the sources of the target's new pairs are ready.
///
/// The step `ceased` removes the old pairs. If a new source fails, the old pairs stay.
///
/// The function makes `ceased` wait until each new source is ready. A new source may itself have to wait for `ceased`,
/// and the added wait would then close a cycle. So the added waits have the priority [`Priority::Weak`]: the planner
/// drops each of them that would close a cycle.
fn cease_late<'a, 'n>(
    constraints: &mut Constraints<'a>,
    new: &Relationship,
    ceased: Draft,
    sources: impl Iterator<Item = &'n Node<'a>>,
    least: u8,
) where
    'a: 'n,
{
    for source in sources.filter(|source| !source.path.falls()) {
        let name = &source.element.name;
        if let Some(ready) = constraints.reached(name, least) {
            let rule = format!("its replacement {} must be {} first", name.local(), rank::state(least));
            let why = constraints.graph.because(new, rule);
            constraints.graph.constrain(ceased, ready, WaitKind::Needs, Priority::Weak, why);
        }
    }
}

/// Returns the Reconfigure step of each node with a changed value that the relationship reads.
///
/// The key of each step is the position of its node in `nodes`. `end` tells whether `nodes` are the sources or the
/// targets of the relationship.
fn given_anew<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    new: &Relationship,
    end: End,
    nodes: &[Node<'a>],
) -> HashMap<usize, Draft> {
    let read = end_properties(new, end);
    let given = |(at, node): (usize, &Node<'a>)| {
        let step = planner.constraints.parts.get(&node.element.name)?.steps.reconfigure()?;
        planner.changes_one_of(&node.element.name, &read).then_some((at, step))
    };
    if read.is_empty() { HashMap::new() } else { nodes.iter().enumerate().filter_map(given).collect() }
}

/// Returns the [phase](Phase) (the section of the plan) of the step that creates the pairs of one target.
///
/// `sources` contains the sources of these pairs.
fn create_phase<'n, 'a: 'n>(
    new: &Relationship,
    target: &Node<'_>,
    mut sources: impl Iterator<Item = &'n Node<'a>>,
) -> Phase {
    let base =
        |path: NodePath| if path.disposition == Disposition::Changed { phase::AGAIN } else { phase::CLIMB };
    if target.path.climbs {
        return base(target.path) + rank::of(new.target_state);
    }
    match sources.find(|source| source.path.disposition == Disposition::Changed && source.path.climbs) {
        Some(source) => base(source.path) + rank::of(new.source_state),
        // The plan brings neither the target nor a changed source to a higher state. So no such step determines
        // the phase, and the relationship is created in the phase in which moved relationships are removed.
        None => phase::CUT_OVER,
    }
}
