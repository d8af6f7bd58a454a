//! Resource descriptors.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shared::{Anything, Named, OwnName, Properties, Text, or_null};

/// What a part can do, and which drivers do it.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) struct Resource {
    /// Its name.
    name: Option<OwnName<false>>,
    /// What it is.
    description: Option<Anything>,
    /// Kept and ignored.
    #[schemars(rename = "type")]
    kind: Option<Anything>,
    /// Kept and ignored.
    implements: Option<Anything>,
    /// Kept and ignored: of older descriptors.
    #[schemars(rename = "resource-manager-type")]
    manager_type: Option<Anything>,
    /// Kept and ignored.
    meta_type: Option<Anything>,
    /// Kept and ignored: of older descriptors.
    template: Option<Anything>,
    /// Kept and ignored: of older descriptors.
    discover: Option<Anything>,
    /// Types of properties, by name.
    data_types: Option<Named>,
    /// Its properties: what it takes, and what it publishes.
    properties: Option<Properties>,
    /// Properties that are not seen from outside.
    private_properties: Option<Properties>,
    /// What it offers to others.
    capabilities: Option<Named>,
    /// What it needs of others.
    requirements: Option<Named>,
    /// The kinds of infrastructure that it is for.
    infrastructure: Option<Anything>,
    /// The transitions that it has scripts for: a list of names, or names with what drives them.
    lifecycle: Option<Lifecycle>,
    /// The drivers of all transitions and operations that name none.
    default_driver: Option<BTreeMap<String, Driver>>,
    /// The operations that relationships may call.
    operations: Option<BTreeMap<String, Option<Action>>>,
    /// How instances of it are found for a reference.
    queries: Option<Anything>,
    /// What it measures.
    metrics: Option<Named>,
    /// What is done when a metric says so.
    policies: Option<Named>,
    /// Where a designer shows things; ignored.
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

/// What drives a transition or an operation.
#[derive(JsonSchema)]
struct Action {
    /// Its drivers; those of `default-driver` where none is named.
    drivers: Option<BTreeMap<String, Driver>>,
}

/// A driver, and the infrastructure that it is for.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", transform = or_null)]
struct Driver {
    /// What it is for; everything where nothing is said.
    selector: Option<Anything>,
    /// The older form of `selector`.
    infrastructure_type: Option<Infrastructure>,
    /// What it is told.
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
