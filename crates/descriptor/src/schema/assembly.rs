//! Assembly descriptors.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shared::{
    Anything, Count, DescriptorName, MIDDLE, Named, OwnName, Properties, Text, WORD, or_null,
};

/// An assembly: its components and their relationships.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) struct Assembly {
    /// Its name.
    name: Option<OwnName<true>>,
    /// Its purpose.
    description: Option<Anything>,
    /// Types of properties, by name.
    data_types: Option<Named>,
    /// Its properties: its parameters and outputs.
    properties: Option<Properties>,
    /// Has no effect: an assembly has no private properties.
    private_properties: Option<Properties>,
    /// Its capabilities: the endpoints for relationships in which it is a source.
    capabilities: Option<Named>,
    /// Its requirements: the endpoints for relationships in which it is a target.
    requirements: Option<Named>,
    /// Operations of its components that it offers as its own.
    operations: Option<BTreeMap<String, Promotion>>,
    /// Its components.
    composition: Option<BTreeMap<String, Component>>,
    /// The existing instances that it needs.
    references: Option<BTreeMap<String, Reference>>,
    /// The relationships between its components.
    relationships: Option<BTreeMap<String, Relationship>>,
    /// Metrics of its components that it offers as its own.
    metrics: Option<Named>,
    /// Policies that scale or heal components by metrics.
    policies: Option<Named>,
    /// The layout of a graphical editor; ignored.
    #[schemars(rename = "designerLayout")]
    designer_layout: Option<Anything>,
}

/// An operation of a component that the assembly offers as its own.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
struct Promotion {
    /// Its purpose.
    description: Option<Anything>,
    /// The component and its operation, such as `balancer.AddServer`.
    #[schemars(schema_with = "dotted")]
    source_operation: String,
}

fn dotted(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": format!(r"^{WORD}\.\S+$")})
}

/// A component of the assembly.
#[derive(JsonSchema)]
struct Component {
    /// The descriptor of the component, with its version.
    #[schemars(rename = "type")]
    kind: DescriptorName,
    /// Its purpose.
    description: Option<Anything>,
    /// The number of instances; the default is 1.
    quantity: Option<Count>,
    /// The limits of its number of nodes. This key makes the component a cluster.
    cluster: Option<Cluster>,
    /// The values of its properties.
    properties: Option<Properties>,
}

/// The limits of a cluster's number of nodes.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", transform = or_null)]
struct Cluster {
    /// The minimum number of nodes; the default is 1.
    minimum_nodes: Option<Count>,
    /// The initial number of nodes; the default is `minimum-nodes`.
    initial_quantity: Option<Count>,
    /// The maximum number of nodes; the default is no limit.
    maximum_nodes: Option<Count>,
    /// The number of nodes that one scaling step adds or removes; the default is 1.
    scaling_increment: Option<Count>,
}

/// An existing instance that the assembly needs.
#[derive(JsonSchema)]
struct Reference {
    /// Its type: the name of a descriptor, with a range of versions.
    #[schemars(rename = "type", schema_with = "reference_type")]
    kind: String,
    /// Its purpose.
    description: Option<Anything>,
    /// The required values of its properties.
    properties: Option<Properties>,
}

fn reference_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": format!(r"^((assembly|resource)::{MIDDLE}::[^:]+|\$lmctl:.*)$"),
    })
}

/// A relationship between components, created and ceased during their lifecycle.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
struct Relationship {
    /// Its purpose.
    description: Option<Anything>,
    /// `component.capability` of the sources; a reference by its name alone.
    source_capabilities: Endpoints,
    /// `component.requirement` of the targets.
    target_requirements: Endpoints,
    /// The state that a source must have reached.
    source_state: State,
    /// Whether it is created before (`pre`) or after (`post`, the default) a source reaches that state.
    source_state_modifier: Option<Modifier>,
    /// The state that a target must have reached.
    target_state: State,
    /// Whether it is created before (`pre`, the default) or after (`post`) a target reaches that state.
    target_state_modifier: Option<Modifier>,
    /// The arguments of its operations.
    properties: Option<Properties>,
    /// The operations that create and cease it.
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

/// The operations, in order: `source.<operation>` or `target.<operation>`.
#[derive(JsonSchema)]
#[schemars(rename_all = "PascalCase", transform = or_null)]
struct RelationshipLifecycle {
    /// The operations that create the relationship.
    create: Option<Vec<Text>>,
    /// The operations that cease the relationship.
    cease: Option<Vec<Text>>,
}
