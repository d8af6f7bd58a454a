//! The turn and the group of a part, or of an endpoint, in rolling changes.

/// The turn and the group of a part, or of an endpoint, in rolling changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rolls {
    /// The turn of the batch; 0 if the part or endpoint belongs to no batch.
    pub(crate) turn: u32,
    /// The number of the group that changes in batches, from 1; 0 if the part or endpoint belongs to no such
    /// group.
    pub(crate) group: u32,
    /// Whether several turns concern the part or endpoint: it reads outputs of nodes in batches, or contains
    /// several of these nodes.
    pub(crate) tied: bool,
    /// Whether only pairs have a turn, not transitions. This is so for a removed node of a group, and for a
    /// new node that replaces it.
    pub(crate) swaps: bool,
}

impl Rolls {
    /// Returns the combined turn and group of an endpoint with several parts.
    pub(crate) fn both(self, other: Self) -> Self {
        let differ = self.turn != other.turn;
        Self {
            turn: if differ { 0 } else { self.turn },
            group: if self.group == other.group { self.group } else { 0 },
            tied: self.tied || other.tied || differ,
            swaps: self.swaps || other.swaps,
        }
    }

    /// Tells whether the transitions of the part or endpoint take place in its turn.
    pub(crate) fn moves_in_turn(self) -> bool {
        self.turn > 0 && !self.swaps
    }
}
