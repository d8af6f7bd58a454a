//! What is asked of the planner, and what it answers.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::assembly::PackageDigest;
use windlass_model::resolve::Lookup;
use windlass_model::{DescriptorName, ElementName, State, Topology};

use crate::current::Current;
use crate::diff::Diff;
use crate::plan::Plan;

/// An assembly as one of its versions describes it.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    /// Its elements and relationships.
    pub topology: &'a Topology,
    /// What drivers have published so far, and the secrets that this version refers to.
    pub lookup: &'a dyn Lookup,
}

/// How things are and how they should be.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// How far everything has come.
    pub current: &'a Current,
    /// What the things that are there were made from; none says that nothing about it has changed.
    ///
    /// After an upgrade that was cut short, it holds each element as it was installed: some from one version, some
    /// from another. See [`crate::merged`].
    pub installed: Option<Version<'a>>,
    /// What should be there; none when nothing should.
    pub desired: Option<Version<'a>>,
}

/// How to get there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The state that every part should be in at least: Installed, Inactive or Active.
    ///
    /// Parts above it come down to it. A part may end above it where a relationship asks for that.
    pub goal: State,
    /// Whether parts that are not there are taken over instead of made. They are Active then, and so is `goal`.
    pub adopt: bool,
    /// The packages of the version that is desired. A part that was installed from another package is installed anew.
    pub packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The elements that are installed anew, whether they have changed or not.
    pub replace: BTreeSet<ElementName>,
    /// The elements that are taken for Broken, whatever their state says.
    pub heal: BTreeSet<ElementName>,
    /// The elements that the plan is limited to; empty means everything. What they need to run, and isn't there, comes too;
    /// all else stays as it is.
    pub target: BTreeSet<ElementName>,
}

impl Default for Options {
    /// Everything Active, and no part touched that hasn't changed.
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
    /// Makes the options of a plan that takes every part to a state.
    pub fn goal(goal: State) -> Self {
        Self { goal, ..Self::default() }
    }

    /// Makes the options of a plan that heals some elements and touches nothing else.
    pub fn heal(elements: impl IntoIterator<Item = ElementName>) -> Self {
        let heal: BTreeSet<_> = elements.into_iter().collect();
        Self { target: heal.clone(), heal, ..Self::default() }
    }
}

/// A plan, and what it changes.
#[derive(Debug, Clone)]
#[must_use]
pub struct Planned {
    /// The steps.
    pub plan: Plan,
    /// What is different afterwards, for people.
    pub diff: Diff,
    /// Changes that the plan leaves out, because it is limited to some elements.
    pub undone: Diff,
}
