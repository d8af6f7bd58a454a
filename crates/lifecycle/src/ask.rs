//! The input and the output of the planner.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::assembly::PackageDigest;
use windlass_model::resolve::Lookup;
use windlass_model::{DescriptorName, ElementName, State, Topology};

use crate::current::Current;
use crate::diff::Diff;
use crate::plan::Plan;

/// A version of an assembly.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    /// Its elements and relationships.
    pub topology: &'a Topology,
    /// The outputs that drivers have published so far, and the secrets that this version refers to.
    pub lookup: &'a dyn Lookup,
}

/// The current, the installed and the desired state of an assembly.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// The recorded state of each element and relationship.
    pub current: &'a Current,
    /// The version that the existing parts were installed from; `None` if nothing about it has changed.
    ///
    /// After an interrupted upgrade it holds each element as it was installed, from several versions. See
    /// [`crate::merged`].
    pub installed: Option<Version<'a>>,
    /// The version that should exist; `None` if all parts are to be removed.
    pub desired: Option<Version<'a>>,
}

/// The options of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The minimum state of every part: Installed, Inactive or Active.
    ///
    /// Parts above it are lowered to it. A part may end above it if a relationship requires that.
    pub goal: State,
    /// Whether missing parts are adopted instead of created. Adopted parts are Active, and `goal` counts as
    /// Active.
    pub adopt: bool,
    /// The packages of the desired version. A part that was installed from another package is re-installed.
    pub packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The elements that are re-installed even if they have not changed.
    pub replace: BTreeSet<ElementName>,
    /// The elements that count as Broken, regardless of their recorded state.
    pub heal: BTreeSet<ElementName>,
    /// The elements that the plan is limited to; empty means all.
    ///
    /// Missing parts that they need to run are planned too. All other parts stay as they are.
    pub target: BTreeSet<ElementName>,
}

impl Default for Options {
    /// Makes all parts Active, and touches no unchanged part.
    fn default() -> Self {
        Self {
            goal: State::Active,
            adopt: false,
            packages: BTreeMap::new(),
            replace: BTreeSet::new(),
            heal: BTreeSet::new(),
            target: BTreeSet::new(),
        }
    }
}

impl Options {
    /// Creates the options of a plan that brings every part to a state.
    pub fn goal(goal: State) -> Self {
        Self { goal, ..Self::default() }
    }

    /// Creates the options of a plan that heals some elements and touches nothing else.
    pub fn heal(elements: impl IntoIterator<Item = ElementName>) -> Self {
        let heal: BTreeSet<_> = elements.into_iter().collect();
        Self { target: heal.clone(), heal, ..Self::default() }
    }
}

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
