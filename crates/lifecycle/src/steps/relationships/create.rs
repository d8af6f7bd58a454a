//! The steps that create a relationship's pairs, with their phases and waits.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use windlass_model::Side;
use windlass_model::assembly::{ElementKind, OperationCall};
use windlass_model::template::End;
use windlass_model::work::{Direction, Reason, Relate, Work};
use windlass_model::{Element, ElementName, Modifier, PropertyName, Relationship};
use windlass_plan::{Draft, WaitKind, Why};

use super::cease::{Ceased, alike};
use super::diff::Skipped;
use super::order::rolls_at_an_end;
use super::relation::{Node, Relation, RelationshipPlanner, is_outdated, listed};
use super::slots::{BySlot, Concerned, InSlot, STATIC, Slot, in_slot, moves_in};
use crate::changes::{Disposition, NodePath, Reach};
use crate::constraints::phase::{self, Phase};
use crate::constraints::{Arrival, Constraints, Priority};
use crate::differences::end_properties;
use crate::rank;
use crate::situation::{Current, OutdatedTargets};

/// The steps for which the creation of a relationship waits, because they publish outputs that the relationship
/// reads.
///
/// Each entry contains the step, the reason for the wait, and the number of the batch in which the publishing part
/// changes. The number is 0 if the part changes outside of batches.
pub(super) type Awaited = Vec<(Draft, Reason, u32)>;

/// A relationship that the plan creates, with the nodes between which the plan can create pairs.
///
/// The lists of nodes omit each node that ends below the state that the relationship requires.
struct Making<'a> {
    new: &'a Relationship,
    sources: Vec<Node<'a>>,
    targets: Vec<Node<'a>>,
    /// Whether `sources` contains all sources of the relationship.
    ///
    /// If so, a step for all sources can name a whole group instead of each node in the group.
    all_sources: bool,
    /// Whether all sources can keep their existing pairs.
    ///
    /// The flag is `false`, for example, if the plan adds, removes or re-installs a source. A pair is one source and
    /// one target of the relationship.
    sources_settled: bool,
    /// The pairs of the relationship that were created with outdated values.
    outdated: Option<&'a OutdatedTargets>,
    /// Whether the creation of the relationship takes over the waits of parts that have no step.
    ///
    /// For example, a source depends on another part, but has no step that could wait for that part. Then the
    /// creation of the relationship waits for that part instead. See [`Constraints::passed`].
    passes_on: bool,
    /// The reason why the creation waits for the removal of the old relationship. It is set on first use.
    ceased_first: OnceCell<Why>,
}

impl Making<'_> {
    /// Returns the names of the sources at the positions `which`.
    ///
    /// If `which` contains all sources of the relationship, returns the names of the ends that the relationship
    /// declares.
    fn listed(&self, which: &[usize]) -> Vec<ElementName> {
        if self.all_sources {
            listed(&self.new.sources, &self.sources, which)
        } else {
            which.iter().map(|at| self.sources[*at].element.name.clone()).collect()
        }
    }
}

/// A step that creates at least one new pair at a target. A new pair does not exist before the plan.
pub(super) struct NewPairs<'a> {
    pub(super) step: Draft,
    /// The sources of the new pairs, followed by their target.
    pub(super) ends: Vec<(End, &'a Element)>,
}

/// Adds the steps that create the pairs of a relationship.
///
/// Some of these steps only re-create pairs that existed before. The result contains the other steps; see [`NewPairs`].
/// If the plan removes no part, the result is not needed, and is empty.
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
            let ends = pairs.pairs.iter().map(|at| &making.sources[*at]).chain([target]);
            for end in ends.filter(|end| !is_done(slot, end)) {
                after_producers(planner.constraints, new, step, end);
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

/// Returns the new pairs that a step creates: the pairs that do not exist before the plan.
///
/// `pairs` contains all pairs that the step creates. Returns `None` if none of them is new.
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

/// Returns those steps of `awaited` for which the creation of pairs in a [`Slot`] (a batch) must wait.
///
/// `awaited` contains steps that publish outputs. The key is the number of the batch in which the producer (the
/// publishing part) changes; 0 for a producer outside of batches.
///
/// A pair in a batch waits for the producers in this batch, and for the producers outside of batches. It needs no other
/// wait: producers of earlier batches have published already, and producers of later batches still have their old
/// outputs. A pair outside of batches waits for all producers.
fn due(awaited: &BTreeMap<u32, Vec<(Draft, Why)>>, slot: Slot) -> impl Iterator<Item = &(Draft, Why)> {
    let batch = slot.filter(|turn| *turn > 0);
    let all = batch.is_none().then(|| awaited.values());
    let some = batch.into_iter().flat_map(|turn| [0, turn]).filter_map(|turn| awaited.get(&turn));
    all.into_iter().flatten().chain(some).flatten()
}

/// Tells whether a node changes in the batch `slot` or earlier. A node that changes in no batch counts as earlier.
///
/// If `slot` is `None`, the result is always `true`, because the pairs are created after all batches.
fn is_done(slot: Slot, node: &Node<'_>) -> bool {
    slot.is_none_or(|turn| node.path.rolls.turn <= turn)
}

/// Assigns to each new or re-created pair of a target the batch ([`Slot`]) of its creation.
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
/// `again` contains the sources of these pairs, as positions in `making.sources`. `earlier` contains the step that has
/// created the pair with each source.
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

/// Delays the step `step`, which removes pairs, while a node still needs these pairs.
///
/// With the modifier `pre`, a node needs its pairs before it reaches its required state. An earlier batch has changed
/// such a node, and has created its pairs. So `step` waits until the node has reached the required state.
///
/// `again` contains the sources of the pairs, as positions in `making.sources`.
fn after_held_ends<'a>(
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

/// Returns the nodes between which the plan can create pairs of a relationship; see [`Making`].
fn making<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
    new: &'a Relationship,
) -> Making<'a> {
    let ready = |ends, least: u8| -> Vec<Node<'a>> {
        let nodes = planner.nodes(planner.constraints.desired(), ends);
        nodes.into_iter().filter(|node| node.path.end >= least).collect()
    };
    let mut sources = ready(&new.sources, rank::of(new.source_state));
    let mut targets = ready(&new.targets, rank::of(new.target_state));
    let all_stay = mark_staying(planner, relation, End::Source, &mut sources);
    mark_staying(planner, relation, End::Target, &mut targets);
    Making {
        new,
        all_sources: sources.len() == planner.nodes(planner.constraints.desired(), &new.sources).len(),
        sources_settled: all_stay && sources.iter().all(|source| source.stays),
        sources,
        targets,
        outdated: planner.constraints.situation.current.outdated_of(new),
        passes_on: planner.constraints.passes_on() && !rolls_at_an_end(planner.constraints, new),
        ceased_first: OnceCell::new(),
    }
}

/// Returns the positions of the sources for which the plan must create the relationship with a target.
///
/// The plan need not create a relationship that exists and stays unchanged.
fn open_sources<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    target: &Node<'a>,
) -> Vec<usize> {
    let Making { new, sources, .. } = making;
    let made =
        planner.constraints.situation.current.made_at(new, &target.element.name).filter(|_| target.stays);
    let Some(made) = made else { return (0..sources.len()).collect() };
    // If all possible pairs exist and none is ceased, no pair needs to be examined.
    let outdated = making.outdated.and_then(|outdated| outdated.get(&target.element.name));
    if making.sources_settled && made.len() == sources.len() && outdated.is_none() {
        return Vec::new();
    }
    let is_open = |source: &Node<'_>| {
        let name = &source.element.name;
        !source.stays || !made.contains(name) || is_outdated(outdated, name)
    };
    (0..sources.len()).filter(|at| is_open(&sources[*at])).collect()
}

/// Tells whether the plan may create the relationship between a source and a target.
///
/// If the plan may not create it, the function adds the source and the target to `skipped`.
fn may_make<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    at: usize,
    target: &Node<'a>,
    skipped: &mut Skipped<'a>,
) -> bool {
    if planner.scope.is_none() {
        return true;
    }
    let source = &making.sources[at];
    let name = &source.element.name;
    let current: &Current = planner.constraints.situation.current;
    let is_made =
        || current.made_at(making.new, &target.element.name).is_some_and(|made| made.contains(name));
    let is_half_made = || {
        let half = current.half_made_at(making.new, &target.element.name);
        half.is_some_and(|half| half.contains_key(name))
    };
    let drops = source.drops || target.drops;
    let may = match planner.reach(planner.constraints.desired(), source, target) {
        Reach::All => true,
        Reach::Missing => drops || !is_made(),
        Reach::Restored => drops && (is_made() || is_half_made()),
    };
    if !may {
        skipped.made.push((&source.element.name, &target.element.name));
    }
    may
}

/// Returns the effective modifiers of a relationship's source and target.
///
/// The modifier `pre` demands that the relationship is created before a source or target reaches the declared state.
/// The modifier `post` demands the opposite order. A plan that adopts parts uses `post` for all relationships, because
/// an adopted part becomes Active in its first step.
fn modifiers(planner: &RelationshipPlanner<'_, '_>, new: &Relationship) -> (Modifier, Modifier) {
    if planner.options.adopt {
        (Modifier::Post, Modifier::Post)
    } else {
        (new.source_modifier, new.target_modifier)
    }
}

/// Sets the flags [`Node::stays`] and [`Node::drops`] of the nodes at one end of the desired relationship.
///
/// If a node is also at this end of the installed relationship, the function copies the flags of the node there. For
/// all other nodes, both flags are `false`.
///
/// Returns `true` if the existing pairs of all nodes at this end of the installed relationship can stay.
fn mark_staying<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
    end: End,
    nodes: &mut [Node<'a>],
) -> bool {
    let old = planner.old_nodes(relation, end);
    let staying: HashSet<&ElementName> =
        old.iter().filter(|node| node.stays && !node.path.absent).map(|node| &node.element.name).collect();
    let dropping: HashSet<&ElementName> =
        old.iter().filter(|node| node.drops).map(|node| &node.element.name).collect();
    for node in nodes {
        node.stays = staying.contains(&node.element.name);
        node.drops = dropping.contains(&node.element.name);
    }
    staying.len() == old.len()
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

/// Makes the step `step`, which creates pairs, wait until the sources of these pairs have the required states.
fn after_sources<'a>(
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

/// Records that `step` creates pairs of the nodes `ends` in the batch `slot`. The next batch waits for this step.
///
/// The function ignores each node that changes in another batch, and each node whose group does not change in
/// batches.
fn note_created<'n, 'a: 'n>(
    constraints: &mut Constraints<'a>,
    (step, slot): (Draft, Slot),
    ends: impl Iterator<Item = &'n Node<'a>>,
) {
    let Some(turn) = slot.filter(|_| !constraints.rolling.groups.is_empty()) else { return };
    let rolls = ends.map(|end| end.path.rolls).filter(|rolls| rolls.group > 0 && rolls.turn == turn);
    constraints.completes.extend(rolls.map(|rolls| (rolls.group, turn, step)));
}

/// Adds steps that undo uncertain operations before `step` completes the pairs of a target.
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

/// Delays the removal of a target's old pairs until the sources of its new pairs are ready.
///
/// The step `ceased` removes the old pairs. If a new source fails, the old pairs stay.
///
/// A new source may itself wait for this removal. The wait has [`Priority::Weak`], so the planner drops it if it
/// would close such a cycle.
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

/// Returns the steps that give new values to nodes, if the relationship reads these values.
///
/// The key of each step is the position of its node in `nodes`.
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

/// Makes the creation of a relationship wait for outputs that the node `end` reads.
///
/// The function is called for a node that changes only in a later batch. The operations of the relationship that
/// are called on this node already get the values of the desired version, which contain the outputs.
fn after_producers(constraints: &mut Constraints<'_>, new: &Relationship, step: Draft, end: &Node<'_>) {
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
fn after_values(
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

/// Returns the step after which a node has a [rank](crate::rank); `None` if the node has the rank already, or
/// never reaches the rank.
fn reached(constraints: &mut Constraints<'_>, node: &Node<'_>, rank: u8) -> Option<Draft> {
    match node.place {
        Some(place) => constraints.parts.list[place].reaching(rank),
        None => constraints.reached(&node.element.name, rank),
    }
}

/// Makes the step `step`, which creates a relationship, wait until a source or target has at least the
/// [rank](crate::rank) `least`.
///
/// `end` is the name of the source or target. `reached` is the step that brings this element to the rank; `None` if
/// there is no such step.
fn after_end(
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

/// Makes the step `step`, which creates a relationship, wait for one of several sources.
///
/// The step `reached` brings the source to the [rank](crate::rank) `least`. The creation waits until this step has
/// ended, even if the step has failed. So a failed source does not prevent the creation of the relationship with the
/// other sources.
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

/// Delays the sources `waiting` until the relationship exists at every target.
///
/// The steps `created` create the relationship. The sources may reach their required state only after all these steps.
fn hold_sources<'n, 'a: 'n>(
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

/// Tells whether there are several sources, all of them resources.
///
/// Then a failed source does not prevent the relationship between the other sources and the target. For an
/// assembly or a group as source, the function returns false: the state of such a source depends on all its
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
fn before_it(
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

/// Returns the phase in which a relationship is created at a target.
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
