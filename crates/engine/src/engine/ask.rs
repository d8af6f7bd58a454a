//! What can be asked of an assembly.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_driver::Package;
use windlass_lifecycle::{Planned, Scale};
use windlass_model::record::{Assumption, CallRecord, Intent};
use windlass_model::{DescriptorName, ElementName, ProcessId, PropertyName, State, Topology};
use windlass_secret::{SecretRef, Sensitive};

use super::essence;

/// What a person says became of calls that nobody else can tell of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What became of them.
    pub what: Assumption,
    /// The parts that they were made on; none means all that are asked about.
    pub of: Vec<ElementName>,
    /// What the part publishes since, where that was done and its report is lost: of one part, and of what it declares.
    #[serde(default)]
    pub published: Told,
    /// The driver's id of the one part that was launched and whose report is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural: Option<String>,
}

/// What a part publishes, as a person tells. Its values may be secrets, so nothing prints them.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Told(pub BTreeMap<PropertyName, Value>);

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Answer {
    /// Answers for all calls that are asked about.
    pub fn of_all(what: Assumption) -> Self {
        Self { what, of: Vec::new(), published: Told::default(), natural: None }
    }

    /// Tells whether a call is answered for.
    pub fn is_about(&self, call: &CallRecord) -> bool {
        self.of.is_empty() || self.of.contains(&call.element)
    }
}

/// What is asked of an assembly.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Ask {
    /// It should be like this: a new one is made, one that is there is changed or repaired.
    Up(Box<Desired>),
    /// Nothing of it should be there.
    Down,
    /// Nothing of it should be there, and these packages take it down instead of those that it was made from, as far as
    /// they have the same names.
    DownWith(Vec<Package>),
    /// What was asked last, once more.
    Retry {
        /// What became of calls whose end is not known; none asks.
        assume: Option<Answer>,
    },
    /// All of its parts should be in this state: Installed, Inactive or Active.
    SetState(State),
    /// One of its clusters should have more or fewer nodes, by its increment.
    Scale {
        /// The cluster.
        cluster: ElementName,
        /// Which way.
        scale: Scale,
    },
    /// This part does not do its work, whatever its state says: it should be stopped and started.
    Heal(ElementName),
    /// It should be again what a process had made it; none means what it was before the last change.
    Rollback(Option<ProcessId>),
    /// Something of the above, if what it comes to is still what somebody has looked at; else nothing.
    AsPlanned {
        /// What is asked.
        ask: Box<Ask>,
        /// The plan that must come of it, as [`essence`](super::essence) has it.
        plan: Value,
        /// What that plan must change, in the same form; none asks for nothing. It tells a secret that changes from one
        /// that doesn't, where the steps are the same.
        changes: Option<Value>,
    },
}

/// An assembly as it should be, with all that is needed to make it so.
#[derive(Debug, Clone)]
pub struct Desired {
    /// What it should be.
    pub topology: Topology,
    /// The descriptor it was made from.
    pub descriptor: DescriptorName,
    /// The parameters it was asked with, without sensitive values.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The sensitive values that the topology refers to.
    pub secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// The packages of its resources.
    pub packages: Vec<Package>,
    /// How to get there.
    pub manner: Manner,
}

/// How an assembly is brought up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manner {
    /// The state that all parts should be in.
    pub goal: State,
    /// Whether parts that exist already are taken over instead of made.
    pub adopt: bool,
    /// Parts that are made anew whether they have changed or not.
    pub replace: BTreeSet<ElementName>,
    /// The parts that the plan is limited to, with what they wait for; empty means all.
    pub target: BTreeSet<ElementName>,
}

impl Default for Manner {
    /// Everything Active, and no part touched that has not changed.
    fn default() -> Self {
        Self { goal: State::Active, adopt: false, replace: BTreeSet::new(), target: BTreeSet::new() }
    }
}

/// What must come of an ask.
pub(super) struct Expected {
    plan: Value,
    changes: Option<Value>,
}

impl Expected {
    /// Tells whether it has come of it.
    pub(super) fn is(&self, planned: &Planned) -> bool {
        self.plan == essence(&planned.plan)
            && self.changes.as_ref().is_none_or(|changes| essence(changes) == essence(&planned.diff))
    }
}

impl Ask {
    /// Returns what is asked, whatever plan must come of it.
    pub(super) fn bare(&self) -> &Self {
        match self {
            Self::AsPlanned { ask, .. } => ask.bare(),
            ask => ask,
        }
    }

    /// Returns what a person says became of calls that nobody else can tell of.
    pub(super) fn assumption(&self) -> Option<Answer> {
        match self.bare() {
            Self::Retry { assume } => assume.clone(),
            _ => None,
        }
    }

    /// Takes apart what is asked, and what must come of it.
    pub(super) fn apart(self) -> (Self, Option<Expected>) {
        match self {
            Self::AsPlanned { ask, plan, changes } => (ask.apart().0, Some(Expected { plan, changes })),
            ask => (ask, None),
        }
    }

    /// Returns the intent that is recorded, where `goal` is the state that the assembly should have had so far.
    pub(super) fn intent(&self, goal: State) -> Intent {
        match self {
            Self::Up(desired) if desired.manner.adopt => Intent::Adopt,
            Self::Up(_) => Intent::Up,
            Self::Down | Self::DownWith(_) => Intent::Down,
            Self::Retry { .. } if goal == State::Absent => Intent::Down,
            Self::Retry { .. } => Intent::Up,
            Self::SetState(state) => Intent::SetState(*state),
            Self::Scale { cluster, scale: Scale::Out } => Intent::ScaleOut(cluster.clone()),
            Self::Scale { cluster, scale: Scale::In } => Intent::ScaleIn(cluster.clone()),
            Self::Heal(element) => Intent::Heal(element.clone()),
            Self::Rollback(process) => Intent::Rollback(process.unwrap_or(ProcessId(0))),
            Self::AsPlanned { ask, .. } => ask.intent(goal),
        }
    }
}
