//! The turns in which a pair is ceased and created again.
//!
//! A pair of a rolling node is re-created in the node's turn, with all other ends as they are then. A pair of
//! two rolling nodes is re-created twice, unless its relationship is *suspended* during all turns.

use std::collections::BTreeMap;

use windlass_plan::Draft;

use super::relation::Node;

/// A turn of a pair. `None` is that of a pair with a tied end, of a suspended relationship, or that is not desired:
/// it is ceased before any end leaves its state, and created after all have reached theirs.
pub(super) type Slot = Option<u32>;

/// The slot of pairs without rolling nodes.
pub(super) const STATIC: Slot = Some(0);

/// The pairs of a target that are re-created in one slot, by the positions of their sources.
#[derive(Default)]
pub(super) struct InSlot {
    /// All pairs.
    pub(super) pairs: Vec<usize>,
    /// Those that an earlier slot has re-created.
    pub(super) again: Vec<usize>,
    /// Whether this slot is the first of some of them.
    pub(super) is_first: bool,
    /// Whether some of them exist before.
    pub(super) existed: bool,
}

/// The steps of all slots, and the sources that wait for all steps of their slot.
#[derive(Default)]
pub(super) struct Concerned {
    /// The positions of the sources. One that is concerned at several targets may occur several times.
    pub(super) sources: Vec<(Slot, usize)>,
    pub(super) steps: Vec<(Slot, Draft)>,
}

impl Concerned {
    /// Calls `hold` for each slot, with the positions of its sources and with its steps.
    pub(super) fn each_slot(mut self, mut hold: impl FnMut(&[(Slot, usize)], &[(Slot, Draft)])) {
        self.sources.sort_unstable();
        self.sources.dedup();
        self.steps.sort_by_key(|(slot, _)| *slot);
        for steps in self.steps.chunk_by(|one, next| one.0 == next.0) {
            hold(in_slot(&self.sources, steps[0].0), steps);
        }
    }
}

/// Returns the items of a slot, of items in the order of their slots.
pub(super) fn in_slot<T>(items: &[(Slot, T)], slot: Slot) -> &[(Slot, T)] {
    let start = items.partition_point(|(other, _)| *other < slot);
    let count = items[start..].iter().take_while(|(other, _)| *other == slot).count();
    &items[start..start + count]
}

/// Tells whether an end moves in a slot, so that its steps wait for those of its pairs.
pub(super) fn moves_in(slot: Slot, node: &Node<'_>) -> bool {
    slot.is_none_or(|turn| turn == node.path.rolls.turn)
}

/// Returns the first slot of a pair that is ceased, and the second one if it is desired.
pub(super) fn slots(source: &Node<'_>, target: &Node<'_>, suspended: bool) -> (Slot, Option<Slot>) {
    if source.path.rolls.tied || target.path.rolls.tied {
        return (None, None);
    }
    let turns = (source.path.rolls.turn, target.path.rolls.turn);
    if !(source.wanted && target.wanted) {
        return (slot_of_swapped(source, target), None);
    }
    // An end may be new in this version of the relationship.
    let drops = |node: &Node<'_>| node.drops || node.path.falls();
    match (drops(source), drops(target)) {
        (true, false) => (Some(turns.0), None),
        (false, true) => (Some(turns.1), None),
        (true, true) if turns.0 != turns.1 && suspended => (None, None),
        (true, true) if turns.0 != turns.1 => (Some(turns.0.min(turns.1)), Some(Some(turns.0.max(turns.1)))),
        _ => (Some(turns.0.max(turns.1)), None),
    }
}

/// Returns the slot in which a pair is ceased that is not desired: the turn of its removed end, if another node
/// replaces that end in the same turn.
fn slot_of_swapped(source: &Node<'_>, target: &Node<'_>) -> Slot {
    let (removed, other) = if source.path.rolls.swaps { (source, target) } else { (target, source) };
    let turn = removed.path.rolls.turn;
    let is_alone = !other.path.falls() || other.path.rolls.turn == turn;
    (removed.path.rolls.swaps && is_alone).then_some(turn)
}

/// Returns the slot of a pair that does not exist before.
pub(super) fn slot_of_new(source: &Node<'_>, target: &Node<'_>) -> Slot {
    let tied = source.path.rolls.tied || target.path.rolls.tied;
    (!tied).then(|| source.path.rolls.turn.max(target.path.rolls.turn))
}

/// Groups the pairs of a target by their slots. `was_there` tells which of them exist before.
pub(super) fn by_slot(
    pairs: Vec<usize>,
    sources: &[Node<'_>],
    target: &Node<'_>,
    suspended: bool,
    was_there: impl Fn(usize) -> bool,
) -> BTreeMap<Slot, InSlot> {
    let mut found: BTreeMap<Slot, InSlot> = BTreeMap::new();
    for at in pairs {
        let existed = was_there(at);
        let (first, second) = if existed {
            slots(&sources[at], target, suspended)
        } else {
            (slot_of_new(&sources[at], target), None)
        };
        let slot = found.entry(first).or_default();
        slot.pairs.push(at);
        slot.is_first = true;
        slot.existed |= existed;
        if let Some(second) = second {
            let slot = found.entry(second).or_default();
            slot.pairs.push(at);
            slot.again.push(at);
        }
    }
    found
}
