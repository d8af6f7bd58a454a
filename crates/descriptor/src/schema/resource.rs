//! The schema of resource descriptors.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shared::{Anything, Named, OwnName, Properties, Text, or_null};

/// A resource descriptor: the capabilities of a component, and the drivers that implement them.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) struct Resource {
    /// Name of the resource.
    name: Option<OwnName<false>>,
    /// Purpose of the resource.
    description: Option<Anything>,
    /// Accepted and ignored.
    #[schemars(rename = "type")]
    kind: Option<Anything>,
    /// Accepted and ignored.
    implements: Option<Anything>,
    /// Accepted and ignored; from older descriptors.
    #[schemars(rename = "resource-manager-type")]
    manager_type: Option<Anything>,
    /// Accepted and ignored.
    meta_type: Option<Anything>,
    /// Accepted and ignored; from older descriptors.
    template: Option<Anything>,
    /// Accepted and ignored; from older descriptors.
    discover: Option<Anything>,
    /// Types of properties, by name.
    data_types: Option<Named>,
    /// Properties of the resource: its inputs and its outputs.
    properties: Option<Properties>,
    /// Properties that are not visible from outside.
    private_properties: Option<Properties>,
    /// Capabilities offered to others.
    capabilities: Option<Named>,
    /// Requirements on others.
    requirements: Option<Named>,
    /// Supported infrastructure types.
    infrastructure: Option<Anything>,
    /// Transitions that it has scripts for: a list of names, or a mapping of names to their drivers.
    lifecycle: Option<Lifecycle>,
    /// Default drivers of transitions and operations.
    default_driver: Option<BTreeMap<String, Driver>>,
    /// The operations that relationships may call.
    operations: Option<BTreeMap<String, Option<Action>>>,
    /// Drivers that find an existing instance, for references.
    queries: Option<Anything>,
    /// Published metrics.
    metrics: Option<Named>,
    /// Policies about its metrics.
    policies: Option<Named>,
    /// Layout of a graphical designer; ignored.
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
    /// Drivers; if there are none, those of `default-driver` apply.
    drivers: Option<BTreeMap<String, Driver>>,
}

/// A driver, and the infrastructure that it supports.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", transform = or_null)]
struct Driver {
    /// Supported infrastructure; the default is all.
    selector: Option<Anything>,
    /// Older form of `selector`.
    infrastructure_type: Option<Infrastructure>,
    /// Driver properties.
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
