//! The steps of a plan before they have numbers, as a graph.

use std::num::NonZeroU32;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::plan::{Task, WaitKind};

/// A handle of a step in a plan that is not built yet. The step gets its number when the plan is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Draft(NonZeroU32);

impl Draft {
    fn at(place: usize) -> Self {
        let place = u32::try_from(place).expect("a plan has less than 2^32 steps");
        Self(NonZeroU32::MIN.saturating_add(place))
    }

    /// Returns the handles of all possible steps, in the order in which steps are added. The first item is the handle
    /// of the step that is added first. A caller takes as many handles as there are steps.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..u32::MAX as usize).map(Self::at)
    }

    /// Returns how many steps were added before this step.
    pub fn place(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Returns the handle of the step that is added `count` steps after this step.
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

/// A handle of a reason in a builder. Several waits may have the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Why(pub(crate) u32);

impl Why {
    pub(crate) fn last_of<R>(reasons: &[R]) -> Self {
        Self(u32::try_from(reasons.len() - 1).expect("a plan has less than 2^32 reasons"))
    }
}

/// An edge from an awaited step to the waiting step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) kind: WaitKind,
    pub(crate) why: Why,
}

/// The steps of a plan in the order in which they were added. Each edge leads from an awaited step to the
/// waiting step.
pub(crate) type Steps<W> = DiGraph<Task<W>, Edge>;
