//! Intents with all their inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_driver::Package;
use windlass_lifecycle::{Planned, Scale};
use windlass_model::record::{Assumption, CallRecord, Intent};
use windlass_model::{
    CallId, CommandName, DescriptorName, ElementName, ProcessId, PropertyName, State, Topology,
};
use windlass_secret::{SecretRef, Sensitive};

use super::essence;
use crate::error::EngineError;

/// An operator's answer about undecided calls, whose outcome only a person can determine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The outcome of the calls.
    pub what: Assumption,
    /// The elements whose undecided calls the answer covers. If this and [`calls`](Self::calls) are empty, it
    /// covers all undecided calls.
    pub of: Vec<ElementName>,
    /// Single calls that the answer covers. Several calls of one element can have different outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallId>,
    /// The outputs of the element, if its call was done and the report is lost. The answer then covers one
    /// element, and names only outputs that the element declares.
    #[serde(default)]
    pub published: Told,
    /// The natural id of the launched element, if its report is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural: Option<String>,
}

/// The outputs of an element, as stated by an operator. Values may be secret, so `Debug` prints only names.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Told(pub BTreeMap<PropertyName, Value>);

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The arguments of a command. Values may be secret, so `Debug` prints only names.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arguments(pub BTreeMap<PropertyName, Argument>);

/// An argument of a command.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Its value.
    pub value: Value,
    /// Whether it is a secret, which is masked in all output.
    pub sensitive: bool,
}

impl Arguments {
    /// Collects arguments by name; those that `is_secret` names are masked in all output.
    ///
    /// # Errors
    /// A name that is no property name.
    pub fn new(
        given: impl IntoIterator<Item = (String, Value)>,
        is_secret: impl Fn(&str) -> bool,
    ) -> Result<Self, EngineError> {
        let argument = |(name, value): (String, Value)| {
            let sensitive = is_secret(&name);
            let parsed =
                name.parse().map_err(|cause| EngineError::NotAnArgument { argument: name, cause })?;
            Ok((parsed, Argument { value, sensitive }))
        };
        Ok(Self(given.into_iter().map(argument).collect::<Result<_, EngineError>>()?))
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Answer {
    /// Creates an answer for all undecided calls.
    pub fn of_all(what: Assumption) -> Self {
        Self { what, of: Vec::new(), calls: Vec::new(), published: Told::default(), natural: None }
    }

    /// Tells whether the answer covers a call.
    pub fn is_about(&self, call: &CallRecord) -> bool {
        let is_of_all = self.of.is_empty() && self.calls.is_empty();
        is_of_all || self.of.contains(&call.element) || self.calls.contains(&call.id)
    }
}

/// An intent with all its inputs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Ask {
    /// Creates, changes or repairs the assembly, so that it becomes the desired one.
    Up(Box<Desired>),
    /// Removes the assembly.
    Down,
    /// Removes the assembly with other packages. Each of them replaces the pinned package of the same name.
    DownWith(Vec<Package>),
    /// Resumes the last intent: plans it again from the records.
    Retry {
        /// The operator's answer about undecided calls. With `None` the intent is refused while a call is
        /// undecided.
        assume: Option<Answer>,
    },
    /// Brings all elements into one state: Installed, Inactive or Active.
    SetState(State),
    /// Adds or removes nodes of a cluster, by its scaling increment.
    Scale {
        /// The cluster.
        cluster: ElementName,
        /// The direction.
        scale: Scale,
    },
    /// Stops and starts an element that does not work, even if its recorded state is Active.
    Heal(ElementName),
    /// Restores the version that was current after a process. `None` restores the version before the last
    /// change.
    Rollback(Option<ProcessId>),
    /// Calls a command of a resource. Nothing else changes.
    Call {
        /// The resource.
        part: ElementName,
        /// The command.
        command: CommandName,
        /// Its arguments.
        arguments: Arguments,
    },
    /// Executes another ask if its plan equals a saved plan; otherwise the ask is refused.
    AsPlanned {
        /// The other ask.
        ask: Box<Ask>,
        /// The saved plan, in the form of [`essence`](super::essence).
        plan: Value,
        /// The changes of the saved plan, in the same form; `None` skips their comparison. They reveal a
        /// changed secret even if the steps are equal.
        changes: Option<Value>,
    },
}

/// A desired assembly with everything that is needed to create it.
#[derive(Debug, Clone)]
pub struct Desired {
    /// The desired topology.
    pub topology: Topology,
    /// The descriptor of the assembly.
    pub descriptor: DescriptorName,
    /// The given parameters, without sensitive values.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The sensitive values that the topology refers to.
    pub secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// The packages of its resources.
    pub packages: Vec<Package>,
    /// The options.
    pub manner: Manner,
}

/// The options of [`Ask::Up`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manner {
    /// The desired state of all elements.
    pub goal: State,
    /// Whether existing instances are adopted instead of created.
    pub adopt: bool,
    /// Elements to re-create, even if they have not changed.
    pub replace: BTreeSet<ElementName>,
    /// Elements that the plan is limited to, together with their prerequisites; empty means all.
    pub target: BTreeSet<ElementName>,
}

impl Default for Manner {
    /// Returns options that make all elements Active and touch only changed elements.
    fn default() -> Self {
        Self { goal: State::Active, adopt: false, replace: BTreeSet::new(), target: BTreeSet::new() }
    }
}

/// The saved plan and changes that an ask must lead to.
pub(super) struct Expected {
    plan: Value,
    changes: Option<Value>,
}

impl Expected {
    /// Tells whether a plan equals the saved one.
    pub(super) fn is(&self, planned: &Planned) -> bool {
        self.plan == essence(&planned.plan)
            && self.changes.as_ref().is_none_or(|changes| essence(changes) == essence(&planned.diff))
    }
}

impl Ask {
    /// Returns the ask without an expected plan.
    pub(super) fn bare(&self) -> &Self {
        match self {
            Self::AsPlanned { ask, .. } => ask.bare(),
            ask => ask,
        }
    }

    /// Returns the operator's answer about undecided calls.
    pub(super) fn assumption(&self) -> Option<Answer> {
        match self.bare() {
            Self::Retry { assume } => assume.clone(),
            _ => None,
        }
    }

    /// Splits off the expected plan.
    pub(super) fn apart(self) -> (Self, Option<Expected>) {
        match self {
            Self::AsPlanned { ask, plan, changes } => (ask.apart().0, Some(Expected { plan, changes })),
            ask => (ask, None),
        }
    }

    /// Returns the intent to record; `goal` is the goal of the assembly before this intent.
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
            Self::Call { part, command, .. } => Intent::Call { part: part.clone(), command: command.clone() },
            Self::AsPlanned { ask, .. } => ask.intent(goal),
        }
    }
}
