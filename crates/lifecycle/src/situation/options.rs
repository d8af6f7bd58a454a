//! The options of a plan.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::assembly::{MaxSurge, MaxUnavailable, PackageDigest};
use windlass_model::{DescriptorName, ElementName, State};

/// The options of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The state in which the parts end: Installed, Inactive or Active.
    ///
    /// Parts below this state are raised, and parts above it are lowered. A part ends in a higher state if a
    /// relationship requires the higher state.
    pub goal: State,
    /// Whether the plan adopts parts: it takes over existing instances, and creates no new ones.
    ///
    /// For example, a user has created a database without windlass, and now wants windlass to manage it. The plan
    /// adopts each part that has no recorded instance yet. If `adopt` is `true`, the planner ignores `goal`, and the
    /// parts end in the state Active.
    pub adopt: bool,
    /// The packages of the desired version. The key is the name of the resource descriptor.
    ///
    /// If a part was installed from another package, and its resource declares `on-package-change: replace`, the part
    /// is re-installed. For the declarations `reconfigure` and `keep`, see [`kept`](Self::kept).
    pub packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The changes of packages that the drivers accept for existing instances.
    ///
    /// Each entry is an installed and a desired package. The driver can manage an instance of the installed package
    /// with the desired package.
    ///
    /// For such a change, the planner follows the value of the part's
    /// [`Element::package_change`](windlass_model::Element::package_change):
    ///
    /// - `replace`: The part is re-installed.
    /// - `reconfigure`: The part is reconfigured if it is Active, stays Active, and declares Reconfigure. If not, the
    ///   rule for `keep` applies.
    /// - `keep`: The new package is recorded for the part, and no driver is called.
    ///
    /// If a change of packages is not in the set, a part with the value `replace` is re-installed, too. All other parts
    /// continue to use the old package.
    pub kept: BTreeSet<(PackageDigest, PackageDigest)>,
    /// The elements that are re-installed even if they have not changed. If the last Stop of such an element has failed,
    /// the plan does not repeat the Stop.
    pub replace: BTreeSet<ElementName>,
    /// The elements that are healed. The Active parts of these elements are stopped and started, as if the
    /// parts were Broken.
    pub heal: BTreeSet<ElementName>,
    /// The elements whose missing relationships are created, even relationships with parts that the plan
    /// otherwise does not touch. The elements of `heal` are always included.
    pub restore: BTreeSet<ElementName>,
    /// The elements that the plan is limited to; empty means all.
    ///
    /// The plan also changes a part without which these elements cannot run, for example a stopped database. All other
    /// parts stay as they are.
    pub target: BTreeSet<ElementName>,
    /// The elements that stay as they are, even if they are in `target`.
    ///
    /// Planning fails if the plan would have to change one of these elements. For example, the plan starts a web
    /// server that depends on a database. `except` contains the database, but the database is stopped, or has not
    /// published its address yet.
    pub except: BTreeSet<ElementName>,
    /// How many nodes of each group may be down at once while Active nodes change.
    ///
    /// `None` means the number that the group declares. For a group without a declaration, the number is 1 in
    /// two cases: if a relationship connects the group with an element outside, or if the group gets
    /// additional nodes. In all other cases, all nodes may be down at once.
    pub max_unavailable: Option<MaxUnavailable>,
    /// How many additional nodes each group gets while its nodes change. `None` means the number that the
    /// group declares.
    pub max_surge: Option<MaxSurge>,
    /// The additional nodes that the desired version contains: see [`Planned::surge`](crate::Planned::surge).
    pub surge: BTreeSet<ElementName>,
    /// For each group, the number of additional nodes that the group already has. These nodes stay while a node of
    /// their group is down or lacks a relationship.
    pub open_surge: BTreeMap<ElementName, u32>,
    /// The groups whose last rolling change was interrupted during a pause between two batches.
    ///
    /// If the plan changes such a group in batches, it repeats the pause before the first batch.
    pub paused: BTreeSet<ElementName>,
    /// The parts whose state is uncertain, because their last transition has not ended. A part in this set may be
    /// complete. So the plan removes the dependencies of such a part only together with the part.
    pub converging: BTreeSet<ElementName>,
}

impl Default for Options {
    /// Returns the options of a plan that makes all parts Active, and touches no unchanged part.
    ///
    /// The plan covers all elements: `target` and `except` are empty.
    fn default() -> Self {
        Self {
            goal: State::Active,
            adopt: false,
            packages: BTreeMap::new(),
            kept: BTreeSet::new(),
            replace: BTreeSet::new(),
            heal: BTreeSet::new(),
            restore: BTreeSet::new(),
            target: BTreeSet::new(),
            except: BTreeSet::new(),
            max_unavailable: Some(MaxUnavailable::All),
            max_surge: None,
            surge: BTreeSet::new(),
            open_surge: BTreeMap::new(),
            paused: BTreeSet::new(),
            converging: BTreeSet::new(),
        }
    }
}

impl Options {
    /// Creates the options of a plan that brings every part to a state.
    pub fn goal(goal: State) -> Self {
        Self { goal, ..Self::default() }
    }

    /// Tells whether the plan is limited to some elements.
    pub fn is_limited(&self) -> bool {
        !self.target.is_empty() || !self.except.is_empty()
    }

    /// Creates the options of a plan that heals some elements and touches nothing else.
    pub fn heal(elements: impl IntoIterator<Item = ElementName>) -> Self {
        let heal: BTreeSet<_> = elements.into_iter().collect();
        Self { target: heal.clone(), heal, ..Self::default() }
    }
}
