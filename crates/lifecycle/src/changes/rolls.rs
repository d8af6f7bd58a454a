//! The type [`Rolls`]: the batch and the group in which a part, or an endpoint of a relationship, changes.

/// The batch and the group in which a part, or an endpoint of a relationship, changes; see [`super::rolling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rolls {
    /// The number of the batch in which the part or endpoint changes (its *turn*).
    ///
    /// The number is 0 if the part or endpoint is in no batch, or if it is down before the plan.
    pub(crate) turn: u32,
    /// The number of the group that changes in batches, from 1; 0 if the part or endpoint belongs to no such
    /// group.
    pub(crate) group: u32,
    /// Whether several batches concern the part or endpoint.
    ///
    /// A part is tied if it reads outputs of nodes that change in batches, and must go down together with these
    /// nodes. An endpoint is tied if one of its parts is tied, or if its parts belong to different batches.
    pub(crate) tied: bool,
    /// Whether the batch removes or creates only the relationships of the part, and not the part itself.
    ///
    /// The part itself changes in the same phases as in a plan without batches. The flag is set for a removed node of
    /// a group, and for a new node that replaces a removed node.
    pub(crate) swaps: bool,
}

impl Rolls {
    /// Combines the values of two parts of the same endpoint.
    ///
    /// If the parts have different turns, the endpoint has turn 0 and is [tied](Self::tied). If the parts have
    /// different groups, the endpoint has group 0.
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
