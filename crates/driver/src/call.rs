//! What a driver is asked, and what it answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_model::instance::LogEntry;
use windlass_model::record::PairKey;
use windlass_model::resolve::Resolved;
use windlass_model::{Action, CallId, ElementName, InstanceId, PropertyName};

use crate::location::Location;
use crate::package::{Binding, Package};

/// A request to a driver: do this to that.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its id. A repeated attempt has the same one.
    pub id: CallId,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// What to do.
    pub action: Action,
    /// What to do it to.
    pub element: ElementName,
    /// The engine's id of the instance.
    pub instance: InstanceId,
    /// The driver's own id of the instance, once it has chosen one.
    pub natural: Option<String>,
    /// The instance document as it stands.
    pub document: Value,
    /// The component's properties. Sensitive ones carry their taint, and so must all that is made of them.
    pub properties: BTreeMap<PropertyName, Input>,
    /// The properties that are declared to be sensitive, also those that the component has yet to publish.
    pub sensitive: BTreeSet<PropertyName>,
    /// The arguments: of an operation, the relationship's properties.
    pub arguments: BTreeMap<PropertyName, Input>,
    /// The relationship that an operation is called for.
    pub pair: Option<PairKey>,
    /// What the driver has noted down for itself.
    pub private: Value,
    /// The package that it works with.
    pub package: Arc<Package>,
    /// The part of the descriptor that chose the driver.
    pub binding: Binding,
    /// The place.
    pub location: Arc<Location>,
}

/// A value that a driver is given.
pub type Input = Resolved;

impl Call {
    /// Returns the texts of all sensitive values that the call is given, those of its location among them: what must not
    /// appear in any log. What it publishes is added by [`Context::hide`](crate::Context::hide).
    pub fn secrets(&self) -> Vec<String> {
        let values = self.properties.values().chain(self.arguments.values());
        let given = values.filter(|input| input.sensitive).flat_map(|input| texts(&input.value));
        given.chain(self.location.secrets()).collect()
    }
}

/// Returns all texts in a value, and its numbers as they are written: what must not be seen of a secret one.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Number(number) => vec![number.to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(entries) => entries.values().flat_map(texts).collect(),
    }
}

/// A driver's answer: what has changed, and whether the instance has settled.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The driver's own id of the instance, when it has chosen or confirmed one.
    pub natural: Option<String>,
    /// Update commands for the instance document, in wire form; null for none.
    pub updates: Value,
    /// What the driver wants to remember for itself; none leaves it as it is.
    pub private: Option<Value>,
    /// What it wants in the activity log.
    pub log: Vec<LogEntry>,
    /// Whether the instance is where it should be.
    pub settled: Settled,
}

impl Report {
    /// Makes a report of an instance that has settled and has not changed.
    pub fn settled() -> Self {
        Self { natural: None, updates: Value::Null, private: None, log: Vec::new(), settled: Settled::Yes }
    }
}

/// Whether an instance is where its last call should bring it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settled {
    /// It is.
    Yes,
    /// It is on its way; [`observe`](crate::Driver::observe) tells when it has arrived.
    Converging,
    /// It is there no longer.
    Gone,
}

/// What a driver sees when it looks, with what it has learned on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What it sees.
    pub observation: Observation,
    /// The updates and log entries that came with it; its `settled` says nothing.
    pub report: Report,
}

/// What a driver sees when it looks at an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Observation {
    /// There is nothing.
    Absent,
    /// It is on its way.
    Converging,
    /// It is where the call should bring it.
    Reached,
    /// It is there, and differs from what the call asks.
    Differs(String),
    /// Looking doesn't tell.
    CannotTell(String),
}
