//! The input documents of scripts, which they read on stdin.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windlass_driver::call::Input;
use windlass_driver::{Call, Location};
use windlass_model::PropertyName;
use windlass_source::{EmitStyle, emit};

use crate::role::Role;
use crate::style::Notation;

/// Returns the document for a call, as the protocol defines it for the script's role.
///
/// `configuration` is always present and never null. The instance is identified by its natural id. Before it
/// has one, the instance id is used.
///
/// | role | document, beside `configuration` |
/// |---|---|
/// | launch | `launch: {<instance id>: {configuration}}` |
/// | destroy, health check, reconfigure | `instances: {<id>: {configuration}}` |
/// | step | `instances: {<id>: {configuration}}`, `transition: <name>` |
/// | command | `instances: {<id>: {configuration, commands: {<command id>: {operations: {<operation>: {<argument>: …}}}}}}` |
///
/// The protocol of the applications has `null` for an instance that is destroyed or checked, and no
/// configuration beside commands. A resource without properties gets exactly that.
pub(crate) fn document(role: &Role, call: &Call) -> Value {
    let mut document = Map::new();
    document.insert("configuration".to_owned(), location(&call.location));
    let (key, id, request) = match role {
        Role::Launch => ("launch", call.instance.as_str(), configured(call)),
        Role::Reconfigure | Role::Step(_) => ("instances", natural(call), configured(call)),
        Role::Command(operation) => ("instances", natural(call), command(call, operation)),
        Role::Destroy | Role::HealthCheck => ("instances", natural(call), known(call)),
        Role::Discover => ("instances", natural(call), Value::Null),
    };
    document.insert(key.to_owned(), one(id, request));
    if let Role::Step(transition) = role {
        document.insert("transition".to_owned(), transition.as_str().into());
    }
    document.into()
}

/// Returns the document for the health check of several instances at one location.
pub(crate) fn health_check(calls: &[&Call], place: &Location) -> Value {
    let instances: Map<String, Value> =
        calls.iter().map(|call| (natural(call).to_owned(), known(call))).collect();
    json!({ "configuration": location(place), "instances": instances })
}

/// Returns the document for discovery, which names no instance.
pub(crate) fn discovery(place: &Location) -> Value {
    json!({ "configuration": location(place) })
}

/// Serializes a document. Every YAML reader reads the YAML the same way: see [`windlass_source::emit`].
pub(crate) fn text(document: &Value, notation: Notation) -> String {
    match notation {
        Notation::Yaml => emit(document, EmitStyle::Block),
        Notation::Json => format!("{document}\n"),
    }
}

/// Returns the id by which the script knows the instance.
pub(crate) fn natural(call: &Call) -> &str {
    call.natural.as_deref().unwrap_or(call.instance.as_str())
}

/// Returns the command id for an operation's call. It contains only letters and digits, because it is part of
/// the dotted path `commands.<id>`. The same call has the same id.
pub(crate) fn command_id(call: &Call) -> String {
    call.id.as_str().chars().filter(char::is_ascii_alphanumeric).collect()
}

fn location(location: &Location) -> Value {
    location.properties.iter().map(|(name, value)| (format!("location.{name}"), value.clone())).collect()
}

fn configured(call: &Call) -> Value {
    json!({ "configuration": values(&call.properties, "properties.") })
}

/// Returns the properties of an instance, or null if it has none.
fn known(call: &Call) -> Value {
    if call.properties.is_empty() { Value::Null } else { configured(call) }
}

fn command(call: &Call, operation: &str) -> Value {
    let pins = one(operation, values(&call.arguments, ""));
    let commands = one(&command_id(call), json!({ "operations": pins }));
    if call.properties.is_empty() {
        return json!({ "commands": commands });
    }
    json!({ "configuration": values(&call.properties, "properties."), "commands": commands })
}

fn values(inputs: &BTreeMap<PropertyName, Input>, prefix: &str) -> Value {
    inputs.iter().map(|(name, input)| (format!("{prefix}{name}"), input.value.clone())).collect()
}

fn one(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}
