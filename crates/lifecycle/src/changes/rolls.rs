//! The turn and the group of a part, or of an endpoint, in rolling changes.

/// The turn and the group of a part, or of an endpoint, in rolling changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rolls {
    /// The number of the batch in which the part or endpoint changes.
    ///
    /// The number is 0 if the part or endpoint is in no batch, or if it is down before the plan.
    pub(crate) turn: u32,
    /// The number of the group that changes in batches, from 1; 0 if the part or endpoint belongs to no such
    /// group.
    pub(crate) group: u32,
    /// Whether several batches concern the part or endpoint. A part is tied if it goes down with nodes in
    /// batches, because it reads their outputs. An endpoint is also tied if its parts belong to different
    /// batches.
    pub(crate) tied: bool,
    /// Whether only the relationships of the part are removed or created in its batch.
    ///
    /// The part itself changes in the same phases as in a plan without batches. The flag is set for a removed
    /// node of a group, and for a new node that replaces a removed node.
    pub(crate) swaps: bool,
}

impl Rolls {
    /// Returns the turn and the group of an endpoint to which two parts belong.
    ///
    /// If the parts have different turns, the endpoint has turn 0 and is tied. If the parts have different
    /// groups, the endpoint has group 0.
    pub(crate) fn both(self, other: Self) -> Self {
        let differ = self.turn != other.turn;
        Self {
            turn: if differ { 0 } else { self.turn },
            group: if self.group == other.group { self.group } else { 0 },
            tied: self.tied || other.tied || differ,
            swaps: self.swaps || other.swaps,
        }
    }

    /// Tells whether the part or endpoint itself changes in a batch, and not only its relationships.
    pub(crate) fn moves_in_turn(self) -> bool {
        self.turn > 0 && !self.swaps
    }
}
