//! The type [`Rolls`]: the batch and the group in which an element changes.

/// The batch and the group in which an element changes; see [`super::rolling`].
///
/// The element is a resource, or an assembly or a group with several resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rolls {
    /// The number of the batch in which the element changes (its *turn*).
    ///
    /// The number is 0 in these cases:
    ///
    /// - The element is in no batch.
    /// - The element is already down when the plan begins. It counts towards the size of the first batch, but its
    ///   repair waits for no batch.
    /// - The element has several parts, and they change in different batches.
    pub(crate) turn: u32,
    /// The number of the group that changes in batches, from 1; 0 if the element belongs to no such group.
    pub(crate) group: u32,
    /// Whether the element is *tied*: its change depends on batches, but does not belong to one particular batch.
    ///
    /// A part is tied if it must go down together with nodes that change in batches. The reason is that the part reads
    /// outputs of these nodes.
    ///
    /// An element with several parts is tied if one of the parts is tied, or if the parts belong to different batches.
    pub(crate) tied: bool,
    /// Whether the batch [`turn`](Self::turn) changes the relationships of the element, but not the element itself. If
    /// the flag is set, the plan creates or removes the element outside of batches.
    ///
    /// The flag is set for a removed node of a group, and for a new node that replaces a removed node.
    pub(crate) swaps: bool,
}

impl Rolls {
    /// Combines the [`Rolls`] of two parts of one element. For example, the element is an assembly with two resources.
    ///
    /// - If the parts change in different batches, their turns differ. Then the combined `turn` is 0, and
    ///   [`tied`](Self::tied) is set, because no single batch contains both parts.
    /// - If the groups differ, the combined `group` is 0.
    /// - If the flag `tied` or `swaps` is set for one of the parts, the combined flag is also set.
    pub(crate) fn both(self, other: Self) -> Self {
        let differ = self.turn != other.turn;
        Self {
            turn: if differ { 0 } else { self.turn },
            group: if self.group == other.group { self.group } else { 0 },
            tied: self.tied || other.tied || differ,
            swaps: self.swaps || other.swaps,
        }
    }

    /// Tells whether the element itself changes in a batch. The result is `false` if only its relationships change in
    /// a batch.
    pub(crate) fn moves_in_turn(self) -> bool {
        self.turn > 0 && !self.swaps
    }
}
