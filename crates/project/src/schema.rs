//! The JSON Schema of `windlass.yaml`, for editors and other tools.
//!
//! These types are not used to read the document: that would lose all source places and stop at the first
//! error. They mirror the reader, equally strict. A test compares their keys with those of the reader.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use windlass_driver::{Driver, Registry};

use windlass_descriptor::compose::MAX_ELEMENTS;

use crate::kinds::RuntimeKinds;

/// Returns the schema of `windlass.yaml` with these kinds of runtimes and these drivers, in draft 2020-12.
pub fn project(kinds: &RuntimeKinds, drivers: &Registry) -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ProjectFile>();
    schema.insert("title".to_owned(), "windlass.yaml".into());
    let mut schema = schema.to_value();
    let location = &mut schema["$defs"]["Location"]["properties"];
    let names: Vec<Value> = kinds.names().map(Value::from).chain([Value::Null]).collect();
    location["runtime"]["enum"] = names.into();
    for setting in kinds.settings() {
        location[setting.key] = setting.schema;
    }
    let drivers = drivers.iter().map(|driver| (driver.kind().to_string(), driver_settings(&**driver)));
    schema["properties"]["drivers"]["properties"] = drivers.collect::<Map<_, _>>().into();
    schema
}

/// Returns the schema of the settings of a driver.
fn driver_settings(driver: &dyn Driver) -> Value {
    let settings = driver.settings().into_iter().map(|setting| (setting.key.to_owned(), setting.schema));
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": settings.collect::<Map<_, _>>(),
    })
}

/// A project: its locations, and the existing instances that references may use.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ProjectFile {
    /// The version of this format: 1.
    #[schemars(schema_with = "version")]
    version: u32,
    /// The locations of components, by the name in their property `deploymentLocation`.
    locations: Option<BTreeMap<String, Option<Location>>>,
    /// The settings of the drivers.
    drivers: Option<Drivers>,
    /// The existing instances that references may resolve to, beside assemblies.
    existing: Option<Vec<Existing>>,
    /// The limits of each assembly's history.
    retention: Option<Retention>,
    /// The maximum size of assemblies.
    limits: Option<Limits>,
}

/// The limits of each assembly's history. `windlass prune`, and once a day `windlass run`, removes processes and versions
/// that are neither among the newest nor young.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Retention {
    /// The number of newest processes and versions to keep; the default is 50.
    keep: Option<u64>,
    /// The age below which all are kept: a number with a unit, such as `90d`, `12h` or `30m`; the default is `90d`.
    older: Option<Age>,
}

/// A number with a unit of time.
struct Age;

impl JsonSchema for Age {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Age".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9]+[smhd]$"})
    }
}

/// The maximum size of assemblies.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Limits {
    /// The maximum number of elements from `quantity`, `cluster` and nested assemblies; the default is 10 000, and the
    /// maximum 200 000.
    nodes: Option<Nodes>,
}

/// The settings of the registered drivers, which [`project`] lists.
struct Drivers;

impl JsonSchema for Drivers {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Drivers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["object", "null"], "additionalProperties": false, "properties": {}})
    }
}

fn version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": [1, "1"]})
}

/// A deployment place of components. Some runtimes have more keys.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields)]
struct Location {
    /// The resource manager of the location. A location without one accepts components of any resource manager.
    resource_manager: Option<Text>,
    /// The infrastructure type by which descriptors select drivers; the default is `Local`.
    infrastructure_type: Option<Text>,
    /// The runtime of the scripts. The default is the first one that has the most keys of the location.
    runtime: Option<Runtime>,
    /// Named volumes, and where container runtimes mount them.
    volumes: Option<Volumes>,
    /// The image that container runtimes start from.
    image: Option<Text>,
    /// The network of containers: `none`, `bridge`, `host`, or the name of one.
    network: Option<Text>,
    /// The limits of each job.
    limits: Option<JobLimits>,
    /// Configuration for the drivers. `{file: PATH}` and `{env: VARIABLE}` refer to secrets.
    properties: Option<BTreeMap<String, Value>>,
}

/// The name of a registered kind, which [`project`] lists.
struct Runtime;

impl JsonSchema for Runtime {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Runtime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": []})
    }
}

struct Nodes;

impl JsonSchema for Nodes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Nodes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string", "null"], "minimum": 1, "maximum": MAX_ELEMENTS, "pattern": "^[1-9][0-9]*$"})
    }
}

/// The limits of a job.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields)]
struct JobLimits {
    /// Bytes: `512M`, `2G`.
    memory: Option<Memory>,
    /// Processes at a time.
    processes: Option<Count>,
    /// Processors: `2`, `0.5`.
    cpu: Option<Processors>,
    /// Open files of each process.
    open_files: Option<Count>,
}

struct Memory;

impl JsonSchema for Memory {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Memory".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string", "null"], "minimum": 4_194_304, "pattern": "^[0-9]+([KkMGT]i?B?)?$"})
    }
}

struct Count;

impl JsonSchema for Count {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string", "null"], "minimum": 1, "pattern": "^[1-9][0-9]*$"})
    }
}

struct Processors;

impl JsonSchema for Processors {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Processors".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["number", "string", "null"], "minimum": 0.01, "pattern": r"^[0-9]+(\.[0-9]{1,3})?$"})
    }
}

struct Volumes;

impl JsonSchema for Volumes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Volumes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "null"],
            "propertyNames": {"pattern": VOLUME},
            "additionalProperties": {"type": "string", "pattern": r"^/(?!(.*/)?\.\.(/|$))."},
        })
    }
}

/// The pattern of volume names.
const VOLUME: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";

/// An existing instance that references may resolve to.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Existing {
    /// Its type: the name of a descriptor.
    #[schemars(rename = "type", schema_with = "descriptor")]
    kind: String,
    /// Its name.
    name: Text,
    /// Its properties.
    properties: Option<BTreeMap<String, Value>>,
    /// The folder of the package of its `type`, relative to this file. Relationships may call the package's operations.
    package: Option<Text>,
}

fn descriptor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^(assembly|resource)::(?!\S*__)(?![A-Za-z0-9_-]{51})[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?::[0-9]+(\.[0-9]+)*$",
    })
}

/// Text; a scalar keeps its spelling, whatever another reader takes it for.
struct Text;

impl JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"], "pattern": r"\S"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{EXISTING_KEYS, LIMITS_KEYS, LOCATION_KEYS, RETENTION_KEYS, ROOT_KEYS};

    fn is_listed(part: &Value, keys: &[&str]) {
        let mut listed: Vec<&str> =
            part["properties"].as_object().expect("it has keys").keys().map(String::as_str).collect();
        let mut keys = keys.to_vec();
        listed.sort_unstable();
        keys.sort_unstable();
        assert_eq!(listed, keys);
    }

    #[test]
    fn the_keys_are_those_of_the_reader() {
        let schema = project(&RuntimeKinds::default(), &Registry::default());
        is_listed(&schema, &ROOT_KEYS);
        is_listed(&schema["$defs"]["Location"], &LOCATION_KEYS);
        is_listed(&schema["$defs"]["Existing"], &EXISTING_KEYS);
        is_listed(&schema["$defs"]["Retention"], &RETENTION_KEYS);
        assert_eq!(schema["$defs"]["Retention"]["required"], Value::Null, "either key may be left out");
        is_listed(&schema["$defs"]["Limits"], &LIMITS_KEYS);
        is_listed(&schema["$defs"]["JobLimits"], &windlass_executor::Bounds::KEYS);
    }
}
