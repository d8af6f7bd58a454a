//! Calls to drivers, and the reports that drivers return.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_model::instance::{LogEntry, OUTPUTS};
use windlass_model::record::PairKey;
use windlass_model::resolve::Resolved;
use windlass_model::{Action, CallId, CommandId, ElementName, InstanceId, PropertyName};

use crate::location::Location;
use crate::masking::texts;
use crate::package::{Binding, Package};

/// A request to a driver: perform an action on an instance.
#[derive(Debug, Clone)]
pub struct Call {
    /// The id of the call. All attempts of a call have the same id.
    pub id: CallId,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// The action to perform.
    pub action: Action,
    /// The name of the element (part) whose instance the driver acts on, such as `shop__web__2`.
    pub element: ElementName,
    /// The instance id, which the engine assigned.
    pub instance: InstanceId,
    /// The natural id of the instance; `None` if no driver has chosen a natural id yet.
    pub natural: Option<String>,
    /// The current instance document.
    pub document: Value,
    /// The component's properties. Sensitive values are marked. The driver must treat all values that it derives
    /// from sensitive values as sensitive, too.
    pub properties: BTreeMap<PropertyName, Input>,
    /// The properties that the descriptor declares as sensitive. The set includes output properties that the
    /// component has not published yet.
    pub sensitive: BTreeSet<PropertyName>,
    /// Values that all instances at a location, or all applications of a factory, share. The key is the name of the
    /// value.
    ///
    /// - For a resource of an assembly, the values are the [properties of the location](Location::configuration), such
    ///   as `location.region`.
    /// - For an application, the values are the configuration values of its factory, such as `configuration.token`. The
    ///   manifest of the factory declares these values. The engine reads the values once for each execution of an
    ///   intent.
    ///
    /// The engine does not record the values.
    pub configuration: BTreeMap<String, Input>,
    /// The arguments of an operation or a command. The arguments of an operation are the properties of its
    /// relationship. The arguments of a command are the values that the user gave.
    pub arguments: BTreeMap<PropertyName, Input>,
    /// The relationship, its source node and its target node, if the action is an operation of a relationship.
    pub pair: Option<PairKey>,
    /// The commands of the instance that have not ended. A health check may report their results.
    pub open_commands: Vec<OpenCommand>,
    /// The question that an observation ([`Driver::observe`](crate::Driver::observe)) answers. A call to
    /// [`Driver::perform`](crate::Driver::perform) ignores it.
    pub question: Question,
    /// The private state of the drivers for this instance. All drivers of one [family](crate::Driver::family)
    /// share the state. The state is null until a report sets it.
    pub private: PrivateState,
    /// The package of the resource.
    pub package: Arc<Package>,
    /// The entry of the resource descriptor that names this driver, for example an entry of `default-driver`. The
    /// entry also contains the driver properties.
    pub binding: Binding,
    /// The location where the driver acts.
    pub location: Arc<Location>,
}

/// The question that an observation answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Question {
    /// A health check: does the instance work?
    #[default]
    Health,
    /// The jobs of the call have ended, but the instance was still changing: has it reached the requested state? The
    /// engine asks again until the answer is [`Reached`](Observation::Reached), or until the timeout of the call.
    Settled,
    /// The job of the action was lost: was the action done?
    Done,
}

/// A command whose final result is awaited.
#[derive(Clone, PartialEq, Eq)]
pub struct OpenCommand {
    /// The id of the command.
    pub id: CommandId,
    /// The texts of the command's secret arguments. The result of the command may contain them.
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for OpenCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.id.fmt(f)
    }
}

/// A value that a driver receives.
pub type Input = Resolved;

/// Private state of a driver for an instance.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct PrivateState {
    /// The state, as the driver last reported it.
    pub value: Value,
    /// The texts of the secret values in `value`. The store keeps them encrypted.
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for PrivateState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.secrets.is_empty() { self.value.fmt(f) } else { f.write_str("***") }
    }
}

impl Call {
    /// Returns the texts of all sensitive values of the call: of its properties, arguments, configuration,
    /// private state, location and open commands. No log may contain these texts.
    ///
    /// The output of a job may contain secrets that are not among these texts. Every driver must pass such secrets
    /// to [`Context::hide`](crate::Context::hide).
    pub fn secrets(&self) -> Vec<String> {
        let values =
            self.properties.values().chain(self.arguments.values()).chain(self.configuration.values());
        let given = values.filter(|input| input.sensitive).flat_map(|input| texts(&input.value));
        let of_commands = self.open_commands.iter().flat_map(|command| command.secrets.iter().cloned());
        let known = self.private.secrets.iter().cloned().chain(of_commands);
        given.chain(known).chain(self.location.secrets()).collect()
    }
}

/// The answer of a driver: the changes, and whether the instance has settled.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The natural id of the instance, if the driver has chosen or confirmed one. The engine refuses an id that is
    /// empty, contains control characters, or is longer than 2048 bytes.
    pub natural: Option<String>,
    /// The updates of the instance document, in their JSON form; null for no update.
    pub updates: Value,
    /// The new [private state](Call::private) of the instance; `None` keeps the current state. The state may
    /// contain secrets: secrets of the call, and secrets that the driver has [hidden](crate::Context::hide). The
    /// engine encrypts each text or number of the state if a secret occurs in this text or number.
    pub private: Option<Value>,
    /// Entries for the activity log. They must not contain secrets.
    pub log: Vec<LogEntry>,
    /// Whether the instance has reached the state that the call requests.
    pub settled: Settled,
}

impl Report {
    /// Creates a report for an instance that has settled without a change.
    pub fn settled() -> Self {
        Self { natural: None, updates: Value::Null, private: None, log: Vec::new(), settled: Settled::Yes }
    }

    /// Adds the value of an output to the updates. `output` is the name of a read-only property of the descriptor.
    /// Other parts read it as `${PART.OUTPUT}`. Before a driver publishes a secret, it passes the secret to
    /// [`Context::hide`](crate::Context::hide).
    ///
    /// If the field `updates` is not a valid update, the method does not change it, and the engine refuses the report.
    ///
    /// ```
    /// use windlass_driver::Report;
    ///
    /// let report = Report::settled().publish("address", "10.0.0.5");
    /// let set = &report.updates["$set"];
    /// assert_eq!(set["interfaces.properties.signals.address"], "10.0.0.5");
    /// ```
    #[must_use]
    pub fn publish(mut self, output: &str, value: impl Into<Value>) -> Self {
        let key = output.replace('\\', r"\\").replace('.', r"\.");
        let empty = || Value::Object(Map::new());
        // In the JSON form of an update, null stands for no update.
        if self.updates.is_null() {
            self.updates = empty();
        }
        let set = self.updates.as_object_mut().map(|updates| updates.entry("$set").or_insert(Value::Null));
        if let Some(set) = set {
            if set.is_null() {
                *set = empty();
            }
            if let Some(set) = set.as_object_mut() {
                set.insert(format!("interfaces.{OUTPUTS}.signals.{key}"), value.into());
            }
        }
        self
    }
}

/// Whether an instance has reached the state that its last call requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settled {
    /// The instance has reached the requested state.
    Yes,
    /// The instance is still changing; [`observe`](crate::Driver::observe) tells when it has settled.
    Converging,
    /// The instance no longer exists.
    Gone,
}

/// The result of [`Driver::observe`](crate::Driver::observe) for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The observed state of the instance, compared with the state that the call requests.
    pub observation: Observation,
    /// The updates and log entries that the driver reports together with the observed state. The field `settled` of
    /// this report is ignored.
    pub report: Report,
}

/// The observed state of an instance, compared with the state that a call requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Observation {
    /// The instance does not exist.
    Absent,
    /// The instance is changing.
    Converging,
    /// The instance has reached the requested state.
    Reached,
    /// The instance exists, and differs from the requested state. The text describes the difference. If the question
    /// is [`Question::Settled`], the engine asks again.
    Differs(String),
    /// The state can't be determined. The text gives the reason.
    CannotTell(String),
    /// The state can't be determined, because the health check gave no answer about the instance.
    Unanswered,
}

impl Observation {
    /// The reason why the state is unknown after [`Unanswered`](Self::Unanswered).
    pub const NO_ANSWER: &'static str = "the output of the health check has no entry for the instance";

    /// Returns the reason why the instance has not reached the requested state, or why its state is unknown. Returns
    /// `None` for an observation without a reason.
    pub fn why_not_reached(&self) -> Option<&str> {
        match self {
            Self::Differs(why) | Self::CannotTell(why) => Some(why),
            Self::Unanswered => Some(Self::NO_ANSWER),
            Self::Absent | Self::Converging | Self::Reached => None,
        }
    }
}
