//! The input documents that scripts read on stdin.

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

/// Returns the input document of a call's script. The form of the document depends on the role of the script.
///
/// Each document has an entry `configuration` at its top, with the [configuration of the call](Call::configuration).
/// This entry is never null. The document also contains these entries:
///
/// | role | further entries of the document |
/// |---|---|
/// | launch | `launch: {<instance id>: {configuration: <values>}}` |
/// | destroy, health check, reconfigure | `instances: {<id>: {configuration: <values>}}` |
/// | step | `instances: {<id>: {configuration: <values>}}`, `transition: <name>` |
/// | command | `instances: {<id>: {configuration: <values>, commands: {<command id>: {operations: {<operation>: {<argument>: …}}}}}}` |
///
/// - `<id>` is the natural id of the instance. If the instance has no natural id yet, `<id>` is the instance id.
/// - `<values>` are the properties of the instance, each with the prefix `properties.`, such as `properties.port`.
///
/// The table describes the documents for a resource with properties. The documents for an application differ in these
/// points:
///
/// - For destroy and health check, the document contains `<id>: null`.
/// - For a command, the entry `<id>` contains only `commands`.
/// - `<values>` are the values of the application's configuration pins by pin id, such as `compute.size`.
/// - A command has the form `commands: {<command id>: {<interface>: {<pin>: {<argument>: …}}}}`.
///
/// The first two points also apply to a resource without properties.
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

/// Returns the input document for the health check of several instances. The document has only one entry
/// `configuration` at its top, so all calls must have the same [configuration](Call::configuration).
pub(crate) fn health_check(calls: &[&Call]) -> Value {
    let instances: Map<String, Value> =
        calls.iter().map(|call| (natural(call).to_owned(), known(call))).collect();
    let configuration = calls.first().map_or_else(|| json!({}), |call| values(&call.configuration, ""));
    json!({ CONFIGURATION: configuration, INSTANCES: instances })
}

/// Returns the input document of a discovery script. The document contains no instance.
pub(crate) fn discovery(query: &Query) -> Value {
    json!({ CONFIGURATION: values(&query.configuration, "") })
}

/// Returns the document that the program of a job reads. If the location declares an [`Adapter`], the program is the
/// adapter, and the document is a request to run the script. Otherwise, the program is the script itself, and the
/// document is the input document of the script.
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

/// Serializes a document as YAML or JSON. All YAML parsers read the same data from the YAML text, because
/// [`windlass_source::emit`] quotes ambiguous values.
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

/// Returns the id of the command that a call executes. The script reports the results of the command at the path
/// `commands.<command id>`. If the engine repeats the call, the command id stays the same.
pub(crate) fn command_id(call: &Call) -> CommandId {
    CommandId::of(&call.id)
}

/// Returns the object `{configuration: …}` with the values of an instance. For a resource, the values are its
/// properties, each with the prefix `properties.`. For an application, the values are those of its configuration pins,
/// by pin id.
fn configured(call: &Call) -> Value {
    let configuration = match call.package.pins() {
        Some(pins) => pinned(pins, &call.properties),
        None => values(&call.properties, "properties."),
    };
    json!({ CONFIGURATION: configuration })
}

/// Returns the values of an application's configuration pins by pin id. A configuration pin is a value that the
/// manifest of the application declares. Each value is converted to the type of its pin if possible.
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

/// Returns the value that an input document contains below the id of an existing instance.
///
/// For a resource, the value contains the properties of the resource. For an application, and for a resource without
/// properties, the value is null.
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
