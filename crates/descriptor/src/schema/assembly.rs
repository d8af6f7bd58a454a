//! Assembly descriptors.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shared::{
    Anything, Count, DescriptorName, MIDDLE, Named, OwnName, Properties, Text, WORD, or_null,
};

/// What an application is made of, and how its parts relate.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) struct Assembly {
    /// Its name.
    name: Option<OwnName<true>>,
    /// What it is for.
    description: Option<Anything>,
    /// Types of properties, by name.
    data_types: Option<Named>,
    /// Its own properties: its parameters, and what it publishes.
    properties: Option<Properties>,
    /// Has no effect: an assembly has no private properties.
    private_properties: Option<Properties>,
    /// What it offers to others.
    capabilities: Option<Named>,
    /// What it needs of others.
    requirements: Option<Named>,
    /// Operations of its parts that it offers as its own.
    operations: Option<BTreeMap<String, Promotion>>,
    /// Its parts.
    composition: Option<BTreeMap<String, Component>>,
    /// What must exist before it.
    references: Option<BTreeMap<String, Reference>>,
    /// The relationships between its parts.
    relationships: Option<BTreeMap<String, Relationship>>,
    /// Metrics of its parts that it offers as its own.
    metrics: Option<Named>,
    /// What is done when a metric says so.
    policies: Option<Named>,
    /// Where a designer shows things; ignored.
    #[schemars(rename = "designerLayout")]
    designer_layout: Option<Anything>,
}

/// An operation of a part that the assembly offers as its own.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
struct Promotion {
    /// What it does.
    description: Option<Anything>,
    /// The component and its operation, as `balancer.AddServer`.
    #[schemars(schema_with = "dotted")]
    source_operation: String,
}

fn dotted(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": format!(r"^{WORD}\.\S+$")})
}

/// A part of the assembly.
#[derive(JsonSchema)]
struct Component {
    /// The descriptor that it is made from, of one version.
    #[schemars(rename = "type")]
    kind: DescriptorName,
    /// What it is for.
    description: Option<Anything>,
    /// How many there are; 1 where nothing is said.
    quantity: Option<Count>,
    /// The bounds of its number of nodes, which makes it a cluster.
    cluster: Option<Cluster>,
    /// The values that it is given.
    properties: Option<Properties>,
}

/// The bounds of a number of nodes.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", transform = or_null)]
struct Cluster {
    /// The fewest nodes; 1 where nothing is said.
    minimum_nodes: Option<Count>,
    /// The nodes to begin with; as many as the minimum where nothing is said.
    initial_quantity: Option<Count>,
    /// The most nodes; no bound where nothing is said.
    maximum_nodes: Option<Count>,
    /// The nodes of one step of scaling; 1 where nothing is said.
    scaling_increment: Option<Count>,
}

/// Something that must exist already.
#[derive(JsonSchema)]
struct Reference {
    /// What it must be: a descriptor's name, with a range of versions.
    #[schemars(rename = "type", schema_with = "reference_type")]
    kind: String,
    /// What it is for.
    description: Option<Anything>,
    /// What it must look like.
    properties: Option<Properties>,
}

fn reference_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": format!(r"^((assembly|resource)::{MIDDLE}::[^:]+|\$lmctl:.*)$"),
    })
}

/// A relationship between parts, made and ended as they come and go.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
struct Relationship {
    /// What it is for.
    description: Option<Anything>,
    /// `component.capability` of the sources; a reference by its name alone.
    source_capabilities: Endpoints,
    /// `component.requirement` of the targets.
    target_requirements: Endpoints,
    /// The state that a source must have reached.
    source_state: State,
    /// Whether it is made before (`pre`) or after (`post`, the default) a source reaches that state.
    source_state_modifier: Option<Modifier>,
    /// The state that a target must have reached.
    target_state: State,
    /// Whether it is made before (`pre`, the default) or after (`post`) a target reaches that state.
    target_state_modifier: Option<Modifier>,
    /// The arguments of its operations.
    properties: Option<Properties>,
    /// What is called when it is made and ended.
    lifecycle: Option<RelationshipLifecycle>,
}

struct Endpoints;

impl JsonSchema for Endpoints {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Endpoints".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["array", "string"], "items": {"type": "string"}})
    }
}

#[derive(JsonSchema)]
enum State {
    Installed,
    Inactive,
    Active,
}

struct Modifier;

impl JsonSchema for Modifier {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Modifier".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["pre", "post", null]})
    }
}

/// What is called, in this order: `source.<operation>` or `target.<operation>`.
#[derive(JsonSchema)]
#[schemars(rename_all = "PascalCase", transform = or_null)]
struct RelationshipLifecycle {
    /// When it is made.
    create: Option<Vec<Text>>,
    /// When it is ended.
    cease: Option<Vec<Text>>,
}
