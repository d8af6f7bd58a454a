//! The steps that remove (*cease*) the pairs of a relationship, with the phases and waits of these steps. A pair is one
//! source and one target of the relationship.

use std::collections::BTreeMap;

use windlass_model::assembly::OperationCall;
use windlass_model::template::End;
use windlass_model::work::{Direction, Relate, Work};
use windlass_model::{Element, ElementName, Modifier, Relationship, Side};
use windlass_plan::{Draft, WaitKind};

use super::diff::Skipped;
use super::relation::{Node, Relation, RelationshipPlanner, is_outdated, listed};
use super::slots::{Concerned, STATIC, Slot, moves_in, slots};
use crate::changes::{Disposition, Reach};
use crate::constraints::phase::{self, Phase};
use crate::constraints::{Constraints, Priority};
use crate::rank;
use crate::situation::Current;

/// For each target, the steps that remove its pairs. Each step comes with its batch ([`Slot`]). The steps of a target
/// are sorted by batch.
pub(super) type Ceased<'a> = BTreeMap<&'a ElementName, Vec<(Slot, Draft)>>;

/// Adds the steps that remove the pairs of a relationship. Returns these steps by target.
pub(super) fn cease<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
    skipped: &mut Skipped<'a>,
) -> Ceased<'a> {
    let mut ceased: Ceased<'a> = BTreeMap::new();
    let Some(old) = relation.old.filter(|old| !old.is_order_only()) else { return ceased };
    let (sources, targets) =
        (planner.old_nodes(relation, End::Source), planner.old_nodes(relation, End::Target));
    let leaving: Vec<&Node<'a>> = sources.iter().filter(|node| !node.stays).collect();
    let mut concerned = Concerned::default();
    for target in &targets {
        let outdated = planner.outdated_at(relation, &target.element.name);
        if target.stays && leaving.is_empty() && outdated.is_none() || target.path.absent {
            continue;
        }
        let current: &Current = planner.constraints.situation.current;
        let made = current.made_at(old, &target.element.name);
        let half_made = current.half_made_at(old, &target.element.name);
        if made.is_none() && half_made.is_none() {
            continue;
        }
        let half = |name: &ElementName| half_made.and_then(|sources| sources.get(name));
        let is_there =
            |name: &ElementName| made.is_some_and(|sources| sources.contains(name)) || half(name).is_some();
        let ended = |node: &Node<'_>| {
            let name = &node.element.name;
            let stays = target.stays && node.stays && !is_outdated(outdated, name);
            !stays && !node.path.absent && is_there(name)
        };
        let mut ended: Vec<usize> = (0..sources.len()).filter(|at| ended(&sources[*at])).collect();
        ended.retain(|at| {
            let source = &sources[*at];
            let may = source.drops
                || target.drops
                || planner.reach(planner.constraints.installed(), source, target) == Reach::All;
            let (source_rank, target_rank) = (rank::of(old.source_state), rank::of(old.target_state));
            // If a node ends below the state that the relationship requires, the diff lists the node itself. So
            // the relationship of the node is not listed as skipped.
            if !may && source.path.end >= source_rank && target.path.end >= target_rank {
                skipped.ended.push((&source.element.name, &target.element.name));
            }
            may
        });
        if ended.is_empty() {
            continue;
        }
        // For a partly created pair, the step calls the recorded operations that undo the creation.
        let calls = |at: usize| half(&sources[at].element.name).map_or(&old.cease, |half| &half.undo);
        let ceased = ceased.entry(&target.element.name).or_default();
        let ended = by_first_slot(planner, old, ended, (&sources, target));
        for of_slot in ended.chunk_by(|one, next| one.0 == next.0) {
            let slot = of_slot[0].0;
            let ended: Vec<usize> = of_slot.iter().map(|(_, at)| *at).collect();
            let moving = ended.iter().filter(|at| moves_in(slot, &sources[**at]));
            concerned.sources.extend(moving.map(|at| (slot, *at)));
            for (operations, which) in alike(&ended, calls) {
                let step = cease_at(planner.constraints, old, target, &sources, (&which, slot), operations);
                ceased.push((slot, step));
                concerned.steps.push((slot, step));
            }
        }
    }
    concerned.each_slot(|moving, steps| {
        let moving = moving.iter().map(|(_, at)| &sources[*at]);
        hold_sources_leaving(planner.constraints, old, moving, steps);
    });
    // If a target belongs to several endpoints, the loop has handled the target once for each endpoint. So
    // the steps of the target may be unsorted.
    for steps in ceased.values_mut() {
        steps.sort_by_key(|(slot, _)| *slot);
    }
    ceased
}

/// Returns the pairs that the plan removes at a target, each with the batch ([`Slot`]) of its removal.
///
/// The result is sorted by batch. A pair is given by the position of its source in `sources`. `ended` contains the
/// positions of the pairs that the plan removes.
///
/// If the plan re-creates a pair twice, it also removes the pair twice: in the batch of its source, and in the batch of
/// its target. The result then contains the earlier of these two batches.
fn by_first_slot(
    planner: &RelationshipPlanner<'_, '_>,
    old: &Relationship,
    ended: Vec<usize>,
    (sources, target): (&[Node<'_>], &Node<'_>),
) -> Vec<(Slot, usize)> {
    if planner.constraints.rolling.groups.is_empty() {
        return ended.into_iter().map(|at| (STATIC, at)).collect();
    }
    let suspended = planner.constraints.rolling.suspends(old);
    let slot = |at: &usize| slots(&sources[*at], target, suspended).0;
    let mut found: Vec<(Slot, usize)> = ended.into_iter().map(|at| (slot(&at), at)).collect();
    found.sort_by_key(|(slot, _)| *slot);
    found
}

/// Adds a step that removes existing pairs of a target.
///
/// The step runs in the batch `slot`, and calls `operations`. `ended` contains the sources of the removed pairs, as
/// positions in `sources`.
fn cease_at<'a>(
    constraints: &mut Constraints<'a>,
    old: &'a Relationship,
    target: &Node<'a>,
    sources: &[Node<'a>],
    (ended, slot): (&[usize], Slot),
    operations: &[OperationCall],
) -> Draft {
    let ends = || ended.iter().map(|at| &sources[*at]).chain([target]).filter(|node| moves_in(slot, node));
    let number = match slot {
        Some(1..) => phase::ROLL,
        _ => ends().filter_map(|node| cease_phase(old, node)).min().unwrap_or(phase::CUT_OVER),
    };
    let step = constraints.graph.step(
        number,
        Work::Relate(Box::new(Relate {
            direction: Direction::Cease,
            assembly: old.assembly.clone(),
            relationship: old.name.clone(),
            target: target.element.name.clone(),
            sources: listed(&old.sources, sources, ended),
            pairs: u64::try_from(ended.len()).unwrap_or(u64::MAX),
            operations: operations.to_vec(),
            side: Side::Installed,
        })),
    );
    constraints.begins.extend(slot.filter(|turn| *turn > 0).map(|turn| (turn, step)));
    if !moves_in(slot, target) {
        return step;
    }
    let state = old.target_state;
    let rank = rank::of(state);
    after_target_rests(constraints, old, target.element, rank, step);
    let rule = format!("it is ceased before target {} leaves {state}", target.element.name.local());
    let why = constraints.graph.because(old, rule);
    constraints.hold_leaving(&target.element.name, rank, step, Priority::Required, why);
    step
}

/// Makes `step`, which removes pairs, wait until the target is stopped. So a running target keeps its pairs.
///
/// The function adds the wait only for a relationship that meets these conditions:
///
/// - The modifier is `pre` for the target, and `post` for the source.
/// - The required state of the target is below Active.
///
/// The pairs of such a relationship were created before the target was started. So the wait reverses this order.
///
/// The planner drops the wait if the wait would close a cycle.
fn after_target_rests(
    constraints: &mut Constraints<'_>,
    old: &Relationship,
    target: &Element,
    rank: u8,
    step: Draft,
) {
    if old.target_modifier == Modifier::Post || old.source_modifier == Modifier::Pre || rank > rank::INACTIVE
    {
        return;
    }
    let leaves = constraints.installed().map(|topology| topology.leaves(&target.name)).unwrap_or_default();
    for leaf in leaves {
        let Some(part) = constraints.parts.get(&leaf.name) else { continue };
        if let Some(stop) = part.steps.leave(rank::ACTIVE).filter(|stop| part.leaving(rank) != Some(*stop)) {
            let rule = format!("target {} is stopped first", leaf.name.local());
            let why = constraints.graph.because(old, rule);
            constraints.graph.constrain(step, stop, WaitKind::Needs, Priority::Strong, why);
        }
    }
}

/// Makes those sources in `moving` that go down wait for the steps in `ceased`. These steps remove the pairs of the
/// source with all targets. Until then, the source keeps the state that the relationship requires. The other sources in
/// `moving` change in another way, and need not wait.
fn hold_sources_leaving<'n, 'a: 'n>(
    constraints: &mut Constraints<'a>,
    old: &'a Relationship,
    moving: impl Iterator<Item = &'n Node<'a>>,
    ceased: &[(Slot, Draft)],
) {
    let mut leaving = moving.filter(|node| node.path.falls()).peekable();
    if leaving.peek().is_none() {
        return;
    }
    let all = if let [(Some(1..), only)] = ceased {
        *only
    } else {
        // A single step in a batch needs no barrier. In all other cases, a barrier that waits for the steps is
        // added.
        let all = constraints.graph.barrier(format!("{} is ceased everywhere", old.name));
        let why = constraints.graph.because(old, "it is ceased at each target".to_owned());
        for (_, step) in ceased {
            constraints.graph.need(all, *step, why);
        }
        all
    };
    let rank = rank::of(old.source_state);
    for node in leaving {
        let name = &node.element.name;
        let rule = format!("it is ceased before source {} leaves {}", name.local(), old.source_state);
        let why = constraints.graph.because(old, rule);
        constraints.hold_leaving(name, rank, all, Priority::Required, why);
    }
}

/// Groups sources by the operations that are called for them.
///
/// `places` contains the positions of the sources in a list, and `calls` returns the operations for a position.
pub(super) fn alike<'o>(
    places: &[usize],
    calls: impl Fn(usize) -> &'o Vec<OperationCall>,
) -> Vec<(&'o Vec<OperationCall>, Vec<usize>)> {
    let mut groups: Vec<(&Vec<OperationCall>, Vec<usize>)> = Vec::new();
    for at in places {
        let operations = calls(*at);
        match groups.iter_mut().find(|(known, _)| *known == operations) {
            Some((_, group)) => group.push(*at),
            None => groups.push((operations, vec![*at])),
        }
    }
    groups
}

/// Returns the phase in which a relationship must be removed so that a node can go to a lower state.
///
/// Returns `None` if the plan does not bring the node to a lower state.
fn cease_phase(old: &Relationship, node: &Node<'_>) -> Option<Phase> {
    if !node.path.falls() {
        return None;
    }
    let lowest = old.source_state.rank().min(old.target_state.rank());
    let offset = if lowest == Some(rank::ACTIVE) { phase::STOP } else { phase::UNINSTALL };
    Some(match node.path.disposition {
        Disposition::Removed => phase::OUT + offset,
        Disposition::Changed => phase::CHANGE + offset,
        Disposition::Other => phase::CLEAR,
    })
}
