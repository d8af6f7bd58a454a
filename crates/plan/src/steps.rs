//! The steps of a plan before they have numbers, as a graph.

use std::num::NonZeroU32;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::plan::{Task, WaitKind};

/// An added step that has no number yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Draft(NonZeroU32);

impl Draft {
    fn at(place: usize) -> Self {
        let place = u32::try_from(place).expect("a plan has less than 2^32 steps");
        Self(NonZeroU32::MIN.saturating_add(place))
    }

    /// Returns all possible drafts, in the order of addition.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..u32::MAX as usize).map(Self::at)
    }

    /// Returns the number of steps that were added before this one.
    pub fn place(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Returns the draft of the step that is added `count` steps later.
    #[must_use]
    pub fn later(self, count: u8) -> Self {
        Self(self.0.saturating_add(u32::from(count)))
    }

    pub(crate) fn node(self) -> NodeIndex {
        NodeIndex::new(self.place())
    }
}

impl From<NodeIndex> for Draft {
    fn from(node: NodeIndex) -> Self {
        Self::at(node.index())
    }
}

/// A reason in a builder, which several waits can share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Why(pub(crate) u32);

impl Why {
    pub(crate) fn last_of<R>(reasons: &[R]) -> Self {
        Self(u32::try_from(reasons.len() - 1).expect("a plan has less than 2^32 reasons"))
    }
}

/// An edge from a step to a step that waits for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) kind: WaitKind,
    pub(crate) why: Why,
}

/// The steps of a plan in the order of addition. Edges lead to the steps that wait.
pub(crate) type Steps<W> = DiGraph<Task<W>, Edge>;
