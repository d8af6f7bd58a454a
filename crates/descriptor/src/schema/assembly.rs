//! The schema of assembly descriptors.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shared::{
    Anything, Count, DescriptorName, MIDDLE, Named, OwnName, Properties, Text, WORD, or_null,
};

/// An assembly descriptor: the components of an application and their relationships.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) struct Assembly {
    /// Name of the assembly.
    name: Option<OwnName<true>>,
    /// Purpose of the assembly.
    description: Option<Anything>,
    /// Types of properties, by name.
    data_types: Option<Named>,
    /// Properties of the assembly itself: its parameters and its outputs.
    properties: Option<Properties>,
    /// Has no effect: an assembly has no private properties.
    private_properties: Option<Properties>,
    /// Capabilities offered to others.
    capabilities: Option<Named>,
    /// Requirements on others.
    requirements: Option<Named>,
    /// Promoted operations of its components.
    operations: Option<BTreeMap<String, Promotion>>,
    /// Components.
    composition: Option<BTreeMap<String, Component>>,
    /// References to existing instances.
    references: Option<BTreeMap<String, Reference>>,
    /// Relationships between components and references.
    relationships: Option<BTreeMap<String, Relationship>>,
    /// Promoted metrics of its components.
    metrics: Option<Named>,
    /// Policies about its metrics.
    policies: Option<Named>,
    /// Layout of a graphical designer; ignored.
    #[schemars(rename = "designerLayout")]
    designer_layout: Option<Anything>,
}

/// An operation of a component that the assembly promotes.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
struct Promotion {
    /// Purpose of the operation.
    description: Option<Anything>,
    /// Component and operation, such as `balancer.AddServer`.
    #[schemars(schema_with = "dotted")]
    source_operation: String,
}

fn dotted(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": format!(r"^{WORD}\.\S+$")})
}

/// A component of the assembly.
#[derive(JsonSchema)]
struct Component {
    /// Descriptor that the component is created from, with one version.
    #[schemars(rename = "type")]
    kind: DescriptorName,
    /// Purpose of the component.
    description: Option<Anything>,
    /// Number of nodes; the default is 1.
    quantity: Option<Count>,
    /// Bounds of the number of nodes, which make the component a cluster.
    cluster: Option<Cluster>,
    /// Given values of its properties.
    properties: Option<Properties>,
}

/// Bounds of a number of nodes.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", transform = or_null)]
struct Cluster {
    /// Minimum number of nodes; the default is 1.
    minimum_nodes: Option<Count>,
    /// Initial number of nodes; the default is the minimum.
    initial_quantity: Option<Count>,
    /// Maximum number of nodes; the default is no limit.
    maximum_nodes: Option<Count>,
    /// Number of nodes of one scaling step; the default is 1.
    scaling_increment: Option<Count>,
}

/// A reference to an existing instance.
#[derive(JsonSchema)]
struct Reference {
    /// Accepted descriptors: a name with a range of versions.
    #[schemars(rename = "type", schema_with = "reference_type")]
    kind: String,
    /// Purpose of the reference.
    description: Option<Anything>,
    /// Required properties of the instance.
    properties: Option<Properties>,
}

fn reference_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": format!(r"^((assembly|resource)::{MIDDLE}::[^:]+|\$lmctl:.*)$"),
    })
}

/// A relationship between components, created and ceased when they change their states.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
struct Relationship {
    /// Purpose of the relationship.
    description: Option<Anything>,
    /// Sources, as `component.capability`; a reference by its name alone.
    source_capabilities: Endpoints,
    /// Targets, as `component.requirement`.
    target_requirements: Endpoints,
    /// State of a source at which the relationship is created.
    source_state: State,
    /// Whether it is created before (`pre`) or after (`post`, the default) a source reaches that state.
    source_state_modifier: Option<Modifier>,
    /// State of a target at which the relationship is created.
    target_state: State,
    /// Whether it is created before (`pre`, the default) or after (`post`) a target reaches that state.
    target_state_modifier: Option<Modifier>,
    /// Values for its operations.
    properties: Option<Properties>,
    /// Operations that create and cease it.
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

/// Operations in the order of their calls, as `source.<operation>` or `target.<operation>`.
#[derive(JsonSchema)]
#[schemars(rename_all = "PascalCase", transform = or_null)]
struct RelationshipLifecycle {
    /// Operations that create the relationship.
    create: Option<Vec<Text>>,
    /// Operations that cease the relationship.
    cease: Option<Vec<Text>>,
}
