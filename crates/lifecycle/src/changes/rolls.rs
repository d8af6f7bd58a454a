//! The turn and the group of a part, or of an endpoint, in rolling changes.

/// The turn and the group of a part, or of an endpoint, in rolling changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rolls {
    /// The turn of its batch; 0 if it belongs to none.
    pub(crate) turn: u32,
    /// The number of its rolling group, from 1; 0 if it belongs to none.
    pub(crate) group: u32,
    /// Whether it follows several turns: it reads outputs of rolling nodes, or contains several of them.
    pub(crate) tied: bool,
    /// Whether only its pairs have a turn: it is a removed node of a group, or a new one that replaces it.
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

    /// Tells whether its transitions belong to its turn.
    pub(crate) fn moves_in_turn(self) -> bool {
        self.turn > 0 && !self.swaps
    }
}
