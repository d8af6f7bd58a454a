//! The result of planning.

use windlass_model::work::{Reason, Work};

use crate::differences::Diff;

/// A plan whose steps drive the elements of an assembly.
pub type Plan = windlass_plan::Plan<Work, Reason>;

/// A plan and its changes.
#[derive(Debug, Clone)]
#[must_use]
pub struct Planned {
    /// The steps.
    pub plan: Plan,
    /// The changes for display.
    pub diff: Diff,
    /// The changes that a limited plan skips.
    pub undone: Diff,
}
