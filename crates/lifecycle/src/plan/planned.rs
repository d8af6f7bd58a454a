//! The result of planning.

use std::collections::BTreeMap;

use windlass_model::ElementName;
use windlass_model::work::{Reason, Work};

use crate::differences::Diff;

/// A plan whose steps drive the elements of an assembly.
pub type Plan = windlass_plan::Plan<Work, Reason>;

/// A plan, and the changes that it makes.
#[derive(Debug, Clone)]
#[must_use]
pub struct Planned {
    /// The plan with its steps.
    pub plan: Plan,
    /// The changes for display.
    pub diff: Diff,
    /// The changes that a limited plan skips.
    pub undone: Diff,
    /// For each group, how many additional nodes the group should have while its nodes change (*surge*).
    /// Empty if the options already name additional nodes.
    ///
    /// The caller adds the additional nodes to the desired version by [`surged`](crate::surged), and plans
    /// again with their names in [`Options::surge`](crate::Options::surge). After the change, the caller
    /// removes the additional nodes.
    pub surge: BTreeMap<ElementName, u32>,
}
