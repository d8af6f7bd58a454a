//! The slots of pairs: the batches in which pairs are ceased and created again.
//!
//! A pair of a node in a batch is re-created in the turn (the number) of the batch. At that time, the other
//! end may have its old or its new values. If both nodes of a pair are in batches, the pair is re-created
//! twice, unless its relationship is *suspended*: ceased before the first batch and created after the last
//! one.

use windlass_plan::Draft;

use super::relation::Node;

/// The turn (the number of the batch) in which a pair is re-created; `None` if the pair has no turn.
///
/// A pair has no turn if an end is tied, or if the relationship is suspended. A pair that is not desired has
/// no turn either, unless one of its ends is replaced. A pair without a turn is ceased before any end leaves
/// its state, and created after all ends have reached their states.
pub(super) type Slot = Option<u32>;

/// The slot of pairs without nodes in batches.
pub(super) const STATIC: Slot = Some(0);

/// The pairs of a target that are re-created in one slot, by the positions of their sources.
pub(super) struct InSlot<'s> {
    /// All pairs of the slot.
    pub(super) pairs: &'s [usize],
    /// The pairs that an earlier slot has re-created.
    pub(super) again: Vec<usize>,
    /// Whether this slot is the first slot of some of the pairs.
    pub(super) is_first: bool,
    /// Whether some of the pairs exist before the plan.
    pub(super) existed: bool,
}

/// The steps of all slots, and the sources that wait for all steps of their slot.
#[derive(Default)]
pub(super) struct Concerned {
    /// The positions of the sources. A source with pairs at several targets may occur several times.
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

/// Returns the items of one slot. `items` must be sorted by slot.
pub(super) fn in_slot<T>(items: &[(Slot, T)], slot: Slot) -> &[(Slot, T)] {
    let start = items.partition_point(|(other, _)| *other < slot);
    let count = items[start..].iter().take_while(|(other, _)| *other == slot).count();
    &items[start..start + count]
}

/// Tells whether a node changes in a slot. Then steps of the node wait for the steps of its pairs.
pub(super) fn moves_in(slot: Slot, node: &Node<'_>) -> bool {
    slot.is_none_or(|turn| turn == node.path.rolls.turn)
}

/// Returns the slot in which an existing pair is re-created. If the pair is re-created twice, also returns
/// the second slot.
pub(super) fn slots(source: &Node<'_>, target: &Node<'_>, suspended: bool) -> (Slot, Option<Slot>) {
    if source.path.rolls.tied || target.path.rolls.tied {
        return (None, None);
    }
    let turns = (source.path.rolls.turn, target.path.rolls.turn);
    if !(source.wanted && target.wanted) {
        return (slot_of_swapped(source, target), None);
    }
    // The flag `drops` is not set for an end that only the desired version of the relationship has, so the
    // path of the end is examined too.
    let drops = |node: &Node<'_>| node.drops || node.path.falls();
    match (drops(source), drops(target)) {
        (true, false) => (Some(turns.0), None),
        (false, true) => (Some(turns.1), None),
        (true, true) if turns.0 != turns.1 && suspended => (None, None),
        (true, true) if turns.0 != turns.1 => (Some(turns.0.min(turns.1)), Some(Some(turns.0.max(turns.1)))),
        _ => (Some(turns.0.max(turns.1)), None),
    }
}

/// Returns the slot in which a pair that is not desired is ceased. The slot is the turn of the end that is
/// removed and replaced. The pair has no slot if no end is replaced, or if the other end goes down in another
/// turn.
fn slot_of_swapped(source: &Node<'_>, target: &Node<'_>) -> Slot {
    let (removed, other) = if source.path.rolls.swaps { (source, target) } else { (target, source) };
    let turn = removed.path.rolls.turn;
    let is_alone = !other.path.falls() || other.path.rolls.turn == turn;
    (removed.path.rolls.swaps && is_alone).then_some(turn)
}

/// Returns the slot in which a pair that does not exist before the plan is created.
pub(super) fn slot_of_new(source: &Node<'_>, target: &Node<'_>) -> Slot {
    let tied = source.path.rolls.tied || target.path.rolls.tied;
    (!tied).then(|| source.path.rolls.turn.max(target.path.rolls.turn))
}

/// The pairs of a target in the order of their slots, by the positions of their sources.
pub(super) struct BySlot {
    /// The turns of all pairs. A pair that is re-created twice has two turns.
    turns: Vec<Turn>,
    /// The positions of the sources of the pairs, parallel to `turns`.
    sources: Vec<usize>,
}

/// A turn of one pair.
struct Turn {
    slot: Slot,
    /// Whether the plan has already re-created the pair in an earlier turn.
    is_again: bool,
    /// Whether the pair exists before the plan, and this is its first turn.
    existed: bool,
}

impl BySlot {
    /// Returns new pairs that all have the same slot.
    pub(super) fn of_one(slot: Slot, sources: Vec<usize>) -> Self {
        let turn = || Turn { slot, is_again: false, existed: false };
        Self { turns: std::iter::repeat_with(turn).take(sources.len()).collect(), sources }
    }

    /// Groups the pairs of a target with some sources. `was_there` tells for the position of a source whether
    /// its pair exists before the plan.
    pub(super) fn of(
        pairs: Vec<usize>,
        sources: &[Node<'_>],
        target: &Node<'_>,
        suspended: bool,
        was_there: impl Fn(usize) -> bool,
    ) -> Self {
        let mut turns = Vec::with_capacity(pairs.len());
        for at in pairs {
            let existed = was_there(at);
            let (first, second) = if existed {
                slots(&sources[at], target, suspended)
            } else {
                (slot_of_new(&sources[at], target), None)
            };
            turns.push((Turn { slot: first, is_again: false, existed }, at));
            turns.extend(second.map(|slot| (Turn { slot, is_again: true, existed: false }, at)));
        }
        turns.sort_by_key(|(turn, _)| turn.slot);
        let (turns, sources) = turns.into_iter().unzip();
        Self { turns, sources }
    }

    /// Tells whether a pair is re-created twice.
    pub(super) fn creates_twice(&self) -> bool {
        self.turns.iter().any(|turn| turn.is_again)
    }

    /// Returns the slots with their pairs.
    pub(super) fn each(&self) -> impl Iterator<Item = (Slot, InSlot<'_>)> {
        let mut sources = self.sources.as_slice();
        self.turns.chunk_by(|one, next| one.slot == next.slot).map(move |turns| {
            let (pairs, rest) = sources.split_at(turns.len());
            sources = rest;
            let again = turns.iter().zip(pairs).filter(|(turn, _)| turn.is_again).map(|(_, at)| *at);
            let in_slot = InSlot {
                pairs,
                again: again.collect(),
                is_first: turns.iter().any(|turn| !turn.is_again),
                existed: turns.iter().any(|turn| turn.existed),
            };
            (turns[0].slot, in_slot)
        })
    }
}
