//! The batches in which the pairs of a relationship are removed and created again.
//!
//! A *pair* is one source and one target of a relationship. If a node changes in a batch, its pairs are re-created
//! in the same batch. The number of this batch is called the *turn* of the re-creation. During the re-creation, the
//! other node of the pair may have its old values or its new values.
//!
//! If both nodes of a pair change, each in a batch of its own, the pair is usually re-created twice. If its
//! relationship is *suspended*, the pair is instead removed before the first batch, and created after the last batch.

use windlass_plan::Draft;

use super::relation::Node;

/// The turn (the number of the batch) in which the plan removes, creates or re-creates a pair.
///
/// Turn 0 means that the plan changes the pair outside of batches, together with nodes that are in no batch. In a plan
/// without batches, all pairs have turn 0.
///
/// `None` means that the pair belongs to no single turn. The plan removes such a pair before either node leaves the
/// state that the relationship requires. It creates such a pair after both nodes have reached their required states. In
/// a plan with batches, the slot is `None` in these cases:
///
/// - A node of the pair is *tied* to several batches. For example, the node may be an assembly with parts in two
///   batches.
/// - The relationship is *suspended* (removed before the first batch, and created again after the last one), and both
///   nodes go down, but not in the same turn.
/// - The plan removes the pair for good, and no batch replaces a node of the pair.
/// - The plan removes the pair for good. A batch replaces one node, and the other node goes down in another batch or
///   outside of all batches.
pub(super) type Slot = Option<u32>;

/// The [`Slot`] of a pair if neither its source nor its target changes in a batch.
pub(super) const STATIC: Slot = Some(0);

/// The pairs of one target that are created or re-created in the same batch.
///
/// A pair is given as the position of its source in the caller's list of sources.
pub(super) struct InSlot<'s> {
    /// All pairs that are created or re-created in this batch.
    pub(super) pairs: &'s [usize],
    /// The pairs in `pairs` that an earlier batch has already re-created. This batch re-creates them a second time.
    pub(super) again: Vec<usize>,
    /// Whether `pairs` contains a pair that no earlier batch of this plan has created.
    pub(super) is_first: bool,
    /// Whether `pairs` contains a pair that existed before this plan, and that no earlier batch has re-created.
    pub(super) existed: bool,
}

/// The steps that remove or create the pairs of a relationship, and the sources that wait for these steps.
///
/// Both lists are grouped by [`Slot`] (batch): the sources of a slot wait for the steps of the same slot. The caller
/// uses [`each_slot`](Self::each_slot) to add these waits.
#[derive(Default)]
pub(super) struct Concerned {
    /// The sources of the pairs. Each entry contains the slot of a pair, and the position of its source in the caller's
    /// list of sources.
    ///
    /// If several pairs of a source have the same slot, the list contains the same entry several times.
    pub(super) sources: Vec<(Slot, usize)>,
    pub(super) steps: Vec<(Slot, Draft)>,
}

impl Concerned {
    /// Calls `hold` once for each [`Slot`] (batch) that has steps.
    ///
    /// The first argument of `hold` contains the entries of `sources` with this slot. The second argument contains the
    /// entries of `steps` with this slot.
    pub(super) fn each_slot(mut self, mut hold: impl FnMut(&[(Slot, usize)], &[(Slot, Draft)])) {
        self.sources.sort_unstable();
        self.sources.dedup();
        self.steps.sort_by_key(|(slot, _)| *slot);
        for steps in self.steps.chunk_by(|one, next| one.0 == next.0) {
            hold(in_slot(&self.sources, steps[0].0), steps);
        }
    }
}

/// Returns those of the given items that belong to a [`Slot`]. The given items must be sorted by slot.
pub(super) fn in_slot<T>(items: &[(Slot, T)], slot: Slot) -> &[(Slot, T)] {
    let start = items.partition_point(|(other, _)| *other < slot);
    let count = items[start..].iter().take_while(|(other, _)| *other == slot).count();
    &items[start..start + count]
}

/// Tells whether a pair is removed and created together with the change of its node `node`. `slot` is the [`Slot`] of
/// the pair.
///
/// The result is `true` if the node changes in the same batch as the pair, or if both change outside of batches. For
/// the slot `None`, the result is `true` for both nodes: the pair is removed before they change, and created after both
/// have changed.
pub(super) fn moves_in(slot: Slot, node: &Node<'_>) -> bool {
    slot.is_none_or(|turn| turn == node.path.rolls.turn)
}

/// Tells whether a node has already changed when a pair of this node is created. `slot` is the [`Slot`] of the pair.
///
/// The result is `false` only if the node changes in a later batch than the pair. A pair with the slot `None` is always
/// created after its nodes have changed.
pub(super) fn is_done(slot: Slot, node: &Node<'_>) -> bool {
    slot.is_none_or(|turn| node.path.rolls.turn <= turn)
}

/// Returns the one or two batches ([`Slot`]) in which the plan removes an existing pair. If the pair is still wanted,
/// the plan re-creates the pair in the same batch.
///
/// Usually there is only one batch, and the second value is `None`. If the source and the target go down in different
/// batches, the first value is the earlier batch, and the second value is the later batch.
///
/// If the relationship is `suspended`, a pair with two batches is instead removed before the first batch of the plan,
/// and created after the last batch. In this case, both values are `None`.
pub(super) fn slots(source: &Node<'_>, target: &Node<'_>, suspended: bool) -> (Slot, Option<Slot>) {
    if source.path.rolls.tied || target.path.rolls.tied {
        return (None, None);
    }
    let turns = (source.path.rolls.turn, target.path.rolls.turn);
    if !(source.wanted && target.wanted) {
        return (slot_of_swapped(source, target), None);
    }
    // The flag `drops` is only set for nodes of the installed version of the relationship. A node may be an end
    // in the desired version only. So the path of the node is examined too.
    let drops = |node: &Node<'_>| node.drops || node.path.falls();
    match (drops(source), drops(target)) {
        (true, false) => (Some(turns.0), None),
        (false, true) => (Some(turns.1), None),
        (true, true) if turns.0 != turns.1 && suspended => (None, None),
        (true, true) if turns.0 != turns.1 => (Some(turns.0.min(turns.1)), Some(Some(turns.0.max(turns.1)))),
        _ => (Some(turns.0.max(turns.1)), None),
    }
}

/// Returns the batch ([`Slot`]) in which the plan removes the pair of `source` and `target` for good. The desired
/// version of the assembly does not contain this pair.
///
/// Usually, the result is the batch that replaces a node of the pair with a new node. The result is `None` in two
/// cases. The plan then removes the pair before either node goes down:
///
/// - No batch replaces a node of the pair.
/// - The other node of the pair goes down, too, but in another batch or outside of all batches.
fn slot_of_swapped(source: &Node<'_>, target: &Node<'_>) -> Slot {
    let (removed, other) = if source.path.rolls.swaps { (source, target) } else { (target, source) };
    let turn = removed.path.rolls.turn;
    let is_alone = !other.path.falls() || other.path.rolls.turn == turn;
    (removed.path.rolls.swaps && is_alone).then_some(turn)
}

/// Returns the [`Slot`] (the batch) in which the plan creates a pair that does not exist yet.
pub(super) fn slot_of_new(source: &Node<'_>, target: &Node<'_>) -> Slot {
    let tied = source.path.rolls.tied || target.path.rolls.tied;
    (!tied).then(|| source.path.rolls.turn.max(target.path.rolls.turn))
}

/// The pairs of one target, sorted by [`Slot`].
pub(super) struct BySlot {
    /// One entry for each creation or re-creation of a pair. If the plan re-creates a pair in two batches, the pair
    /// has two entries, one for each batch.
    turns: Vec<Turn>,
    /// The sources of the pairs, in the order of `turns`, as positions in the caller's list of sources.
    sources: Vec<usize>,
}

/// The creation or re-creation of one pair in one batch.
struct Turn {
    slot: Slot,
    /// Whether an earlier batch has already re-created the pair.
    is_again: bool,
    /// Whether two conditions hold: the pair existed before the plan, and no earlier batch has re-created the pair.
    existed: bool,
}

impl BySlot {
    /// Creates a [`BySlot`] for a plan without batches: all pairs have the same slot, and each pair is created once.
    ///
    /// The flag [`InSlot::existed`] is always `false`, because the flag only matters in a plan with batches.
    pub(super) fn of_one(slot: Slot, sources: Vec<usize>) -> Self {
        let turn = || Turn { slot, is_again: false, existed: false };
        Self { turns: std::iter::repeat_with(turn).take(sources.len()).collect(), sources }
    }

    /// Groups the pairs of a target by the batch ([`Slot`]) in which the plan creates or re-creates them.
    ///
    /// - `pairs`: the source of each pair, as a position in `sources`;
    /// - `suspended`: whether the plan removes the pairs of the relationship before the first batch, and creates them
    ///   again after the last batch;
    /// - `was_there`: tells whether a pair existed before this plan. Its argument is the position of the pair's source.
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

    /// Tells whether at least one of the pairs is re-created in two batches.
    pub(super) fn creates_twice(&self) -> bool {
        self.turns.iter().any(|turn| turn.is_again)
    }

    /// Returns each [`Slot`] (the number of a batch) with its pairs, in ascending order. The slot `None` comes first.
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
