//! Resource descriptors.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shared::{Anything, Named, OwnName, Properties, Text, or_null};

/// A resource: a type of component, with its transitions, operations and drivers.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) struct Resource {
    /// Its name.
    name: Option<OwnName<false>>,
    /// Its purpose.
    description: Option<Anything>,
    /// Kept and ignored.
    #[schemars(rename = "type")]
    kind: Option<Anything>,
    /// Kept and ignored.
    implements: Option<Anything>,
    /// Kept and ignored: a key of older descriptors.
    #[schemars(rename = "resource-manager-type")]
    manager_type: Option<Anything>,
    /// Kept and ignored.
    meta_type: Option<Anything>,
    /// Kept and ignored: a key of older descriptors.
    template: Option<Anything>,
    /// Kept and ignored: a key of older descriptors.
    discover: Option<Anything>,
    /// Types of properties, by name.
    data_types: Option<Named>,
    /// Its properties: its inputs and outputs.
    properties: Option<Properties>,
    /// Properties that other components can't read.
    private_properties: Option<Properties>,
    /// Its capabilities: the endpoints for relationships in which it is a source.
    capabilities: Option<Named>,
    /// Its requirements: the endpoints for relationships in which it is a target.
    requirements: Option<Named>,
    /// The infrastructure types that it supports.
    infrastructure: Option<Anything>,
    /// The transitions that its drivers execute: a list of names, or names with their drivers.
    lifecycle: Option<Lifecycle>,
    /// The drivers of all transitions and operations without their own.
    default_driver: Option<BTreeMap<String, Driver>>,
    /// The operations that relationships may call.
    operations: Option<BTreeMap<String, Option<Action>>>,
    /// The commands that `windlass call` may call; an extension of the language.
    commands: Option<BTreeMap<String, Option<Action>>>,
    /// The queries that find instances for references.
    queries: Option<Anything>,
    /// The metrics that it measures.
    metrics: Option<Named>,
    /// Policies that scale or heal components by metrics.
    policies: Option<Named>,
    /// The layout of a graphical editor; ignored.
    #[schemars(rename = "designerLayout")]
    designer_layout: Option<Anything>,
}

struct Lifecycle;

impl JsonSchema for Lifecycle {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Lifecycle".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let action = generator.subschema_for::<Option<Action>>();
        json_schema!({
            "description": "Create, Install, Configure, Start, Integrity, Reconfigure, Stop, Uninstall, Delete",
            "type": ["array", "object", "null"],
            "items": {"type": ["string", "null"]},
            "additionalProperties": action,
        })
    }
}

/// The drivers of a transition or an operation.
#[derive(JsonSchema)]
struct Action {
    /// Its drivers; the default is `default-driver`.
    drivers: Option<BTreeMap<String, Driver>>,
}

/// A driver, and the infrastructure types that it serves.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", transform = or_null)]
struct Driver {
    /// The infrastructure types that the driver serves; the default is all.
    selector: Option<Anything>,
    /// The older form of `selector`.
    infrastructure_type: Option<Infrastructure>,
    /// The properties of the driver.
    properties: Option<Anything>,
}

struct Infrastructure;

impl JsonSchema for Infrastructure {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Infrastructure".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<Text>();
        json_schema!({"anyOf": [text, {"type": "array", "items": {"type": "string"}}]})
    }
}
