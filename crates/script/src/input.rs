//! The input documents of scripts, which they read on stdin.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windlass_driver::call::Input;
use windlass_driver::{Call, Query};
use windlass_model::pins::Pins;
use windlass_model::{CommandId, PropertyName};
use windlass_source::{EmitStyle, emit};

use crate::job::program;
use crate::keys::{
    ARGUMENTS, COMMANDS, CONFIGURATION, INSTANCES, LAUNCH, LAUNCH_INSTANCES, SCRIPT, TRANSITION,
};
use crate::role::Role;
use crate::scripts::ScriptFile;
use crate::settings::Settings;
use crate::style::{Adapter, Notation};

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
/// The table describes the documents of a resource. The documents of an application are exactly those of the
/// protocol: the value of an instance is `null` for destroy and health check. For a command, the value contains
/// no `configuration`. Pins have their bare ids, without `properties.`. A command is written
/// `commands: {<command id>: {<interface>: {<pin>: {<argument>: …}}}}`.
pub(crate) fn document(role: &Role, call: &Call) -> Value {
    let mut document = Map::new();
    document.insert(CONFIGURATION.to_owned(), values(&call.configuration, ""));
    let (key, id, request) = match role {
        Role::Launch => (LAUNCH, call.instance.as_str(), configured(call)),
        Role::Reconfigure | Role::Step(_) => (INSTANCES, natural(call), configured(call)),
        Role::Command(operation) => (INSTANCES, natural(call), command(call, operation)),
        Role::Destroy | Role::HealthCheck => (INSTANCES, natural(call), known(call)),
        Role::Discover => (INSTANCES, natural(call), Value::Null),
    };
    document.insert(key.to_owned(), one(id, request));
    if let Role::Step(transition) = role {
        document.insert(TRANSITION.to_owned(), transition.as_str().into());
    }
    document.into()
}

/// Returns the document for the health check of several instances, which share their configuration.
pub(crate) fn health_check(calls: &[&Call]) -> Value {
    let instances: Map<String, Value> =
        calls.iter().map(|call| (natural(call).to_owned(), known(call))).collect();
    let configuration = calls.first().map_or_else(|| json!({}), |call| values(&call.configuration, ""));
    json!({ CONFIGURATION: configuration, INSTANCES: instances })
}

/// Returns the document for discovery, which names no instance.
pub(crate) fn discovery(query: &Query) -> Value {
    json!({ CONFIGURATION: values(&query.configuration, "") })
}

/// Returns the document that the program of a job reads: the script's document, or the request to an adapter.
pub(crate) fn adapted(mut document: Value, script: ScriptFile<'_>, settings: Settings) -> Value {
    if settings.both_launch_keys
        && let Some(requests) = document.get(LAUNCH).cloned()
    {
        document[LAUNCH_INSTANCES] = requests;
    }
    match settings.adapter {
        Adapter::Direct => document,
        Adapter::Invoke => json!({ SCRIPT: program(script), ARGUMENTS: document }),
    }
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

/// Returns the command id of a call, which is part of the dotted path `commands.<id>`. A repeated call has
/// the same id.
pub(crate) fn command_id(call: &Call) -> CommandId {
    CommandId::of(&call.id)
}

/// Returns the configuration of an instance: for an application, the values of its configuration pins by
/// their ids.
fn configured(call: &Call) -> Value {
    let configuration = match call.package.pins() {
        Some(pins) => pinned(pins, &call.properties),
        None => values(&call.properties, "properties."),
    };
    json!({ CONFIGURATION: configuration })
}

/// Returns the values of configuration pins, each with the type of its pin.
fn pinned(pins: &Pins, properties: &BTreeMap<PropertyName, Input>) -> Value {
    let configuration = pins.iter().filter_map(|(id, pin)| {
        let kind = pin.kind.as_configuration()?;
        let id = id.to_string();
        let value = &properties.get(id.as_str())?.value;
        // The values of properties are texts, even those of numbers and flags.
        let value = kind.fit(value).unwrap_or_else(|_| value.clone());
        (!value.is_null()).then_some((id, value))
    });
    configuration.collect()
}

/// Returns the value of an existing instance in a document: the properties of a resource, and null for an
/// application or a resource without properties.
fn known(call: &Call) -> Value {
    if call.properties.is_empty() || call.package.pins().is_some() { Value::Null } else { configured(call) }
}

fn command(call: &Call, name: &str) -> Value {
    let arguments = values(&call.arguments, "");
    let pin = call.package.pins().and_then(|_| name.split_once('.'));
    let called = match pin {
        Some((interface, pin)) => one(interface, one(pin, arguments)),
        None => json!({ "operations": one(name, arguments) }),
    };
    let commands = one(command_id(call).as_str(), called);
    match known(call) {
        Value::Object(mut entries) => {
            entries.insert(COMMANDS.to_owned(), commands);
            entries.into()
        }
        _ => json!({ COMMANDS: commands }),
    }
}

fn values<N: std::fmt::Display>(inputs: &BTreeMap<N, Input>, prefix: &str) -> Value {
    inputs.iter().map(|(name, input)| (format!("{prefix}{name}"), input.value.clone())).collect()
}

fn one(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}
