//! The keys of the language, by section, with their forms and descriptions.
//!
//! The reader, the canonical form and the JSON Schemas read these tables, so a new key has one place.

/// A section of a descriptor: a mapping whose keys are words of the language.
pub(crate) struct Section {
    /// Name of its definition in the schemas.
    pub(crate) name: &'static str,
    /// Description.
    pub(crate) about: &'static str,
    /// Values other than a mapping that the section accepts.
    pub(crate) body: Body,
    /// Names of the keys, in the canonical order.
    pub(crate) names: &'static [&'static str],
    /// The keys, in the canonical order.
    pub(crate) keys: &'static [Key],
}

/// The accepted values of a section.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// A mapping.
    Mapping,
    /// A mapping, or null for an empty one.
    OrNull,
    /// Anything: a value other than a mapping is accepted with a warning.
    Anything,
}

/// A key of a section.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// Form of its value.
    pub(crate) form: Form,
    pub(crate) is_required: bool,
    /// Description.
    pub(crate) about: &'static str,
}

/// The form of a value, as far as a schema can tell it. A value of an optional key may be null.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Anything at all.
    Anything,
    /// Anything, by name.
    Named,
    /// Text; a scalar keeps its spelling.
    Text,
    /// `true`, `false`, `yes`, `no`, `on` or `off`.
    Flag,
    /// A whole number from 0, or a reference to a property that has one.
    Count,
    /// The name of this assembly.
    AssemblyName,
    /// The name of this resource.
    ResourceName,
    /// The name of a descriptor with its version, or a placeholder that the project file fills.
    DescriptorName,
    /// The name of a descriptor with a range of versions, or a placeholder.
    ReferenceType,
    /// `component.operation`.
    PromotedOperation,
    /// The endpoints of a relationship.
    Endpoints,
    /// A state that a relationship waits for.
    State,
    /// `pre` or `post`.
    Modifier,
    /// A list of operations.
    Operations,
    /// A list of infrastructure types, or one.
    Infrastructure,
    /// A list of transitions, or transitions with their drivers.
    Transitions(&'static Section),
    /// Drivers by name, of which some have known properties.
    Drivers(&'static Section),
    /// One section.
    One(&'static Section),
    /// Sections by name.
    ByName(&'static Section),
    /// Sections by name, each of which may be null.
    ByNameOrNull(&'static Section),
}

/// Defines a [`Section`]: its name in the schemas, its accepted values, its description, and its keys.
macro_rules! section {
    (
        $name:ident: $title:literal, $body:ident, $about:literal;
        $($key:literal: $form:expr, $($required:ident,)? $key_about:literal;)+
    ) => {
        #[doc = $about]
        pub(crate) static $name: Section = Section {
            name: $title,
            about: $about,
            body: Body::$body,
            names: &[$($key),+],
            keys: &[$(Key {
                name: $key,
                form: $form,
                is_required: section!(@is_required $($required)?),
                about: $key_about,
            }),+],
        };
    };
    (@is_required required) => { true };
    (@is_required) => { false };
}

section! {
    ASSEMBLY: "Assembly", Mapping, "An assembly: its components and their relationships.";
    "name": Form::AssemblyName, "Its name.";
    "description": Form::Anything, "Its purpose.";
    "data-types": Form::Named, "Types of properties, by name.";
    "properties": Form::ByName(&PROPERTY), "Its properties: its parameters and outputs.";
    "private-properties": Form::ByName(&PROPERTY), "Has no effect: an assembly has no private properties.";
    "capabilities": Form::Named, "Its capabilities: the endpoints for relationships in which it is a source.";
    "requirements": Form::Named, "Its requirements: the endpoints for relationships in which it is a target.";
    "operations": Form::ByName(&PROMOTION), "Operations of its components that it offers as its own.";
    "composition": Form::ByName(&COMPONENT), "Its components.";
    "references": Form::ByName(&REFERENCE), "The existing instances that it needs.";
    "relationships": Form::ByName(&RELATIONSHIP), "The relationships between its components.";
    "metrics": Form::Named, "Metrics of its components that it offers as its own.";
    "policies": Form::Named, "Policies that scale or heal components by metrics.";
    "designerLayout": Form::Anything, "The layout of a graphical editor; ignored.";
}

section! {
    RESOURCE: "Resource", Mapping,
    "A resource: a type of component, with its transitions, operations and drivers.";
    "name": Form::ResourceName, "Its name.";
    "description": Form::Anything, "Its purpose.";
    "type": Form::Anything, "Kept and ignored.";
    "implements": Form::Anything, "Kept and ignored.";
    "resource-manager-type": Form::Anything, "Kept and ignored: a key of older descriptors.";
    "meta-type": Form::Anything, "Kept and ignored.";
    "template": Form::Anything, "Kept and ignored: a key of older descriptors.";
    "discover": Form::Anything, "Kept and ignored: a key of older descriptors.";
    "data-types": Form::Named, "Types of properties, by name.";
    "properties": Form::ByName(&PROPERTY), "Its properties: its inputs and outputs.";
    "private-properties": Form::ByName(&PROPERTY), "Properties that other components can't read.";
    "capabilities": Form::Named, "Its capabilities: the endpoints for relationships in which it is a source.";
    "requirements": Form::Named, "Its requirements: the endpoints for relationships in which it is a target.";
    "infrastructure": Form::Anything, "The infrastructure types that it supports.";
    "lifecycle": Form::Transitions(&TRANSITION),
        "The transitions that its drivers execute: a list of names, or names with their drivers.";
    "default-driver": Form::Drivers(&DRIVER), "The drivers of all transitions and operations without their own.";
    "operations": Form::ByNameOrNull(&OPERATION), "The operations that relationships may call.";
    "commands": Form::ByNameOrNull(&OPERATION),
        "The commands that `windlass call` may call; an extension of the language.";
    "queries": Form::Anything, "The queries that find instances for references.";
    "metrics": Form::Named, "The metrics that it measures.";
    "policies": Form::Named, "Policies that scale or heal components by metrics.";
    "designerLayout": Form::Anything, "The layout of a graphical editor; ignored.";
}

section! {
    PROPERTY: "Property", Anything, "A property. The default type is text.";
    "type": Form::Text,
        "`string` (the default), `integer`, `float`, `boolean`, `uuid`, `password`, `key`, `map`, `list`, or the name of a data type.";
    "entry-schema": Form::Anything, "The type of the entries of a `map` or `list`.";
    "description": Form::Anything, "Its purpose.";
    "required": Form::Flag, "Whether the outermost assembly requires a value.";
    "read-only": Form::Flag, "Whether only the component's driver sets the value.";
    "volatile": Form::Flag, "Whether it may change while the component is Active.";
    "sensitive": Form::Flag, "Whether its value is a secret.";
    "default": Form::Anything, "The default value.";
    "value": Form::Anything,
        "The fixed value: text, which may contain `${property}` or `${component.property}`.";
}

section! {
    COMPONENT: "Component", Mapping, "A component of the assembly.";
    "type": Form::DescriptorName, required, "The descriptor of the component, with its version.";
    "description": Form::Anything, "Its purpose.";
    "quantity": Form::Count, "The number of instances; the default is 1.";
    "cluster": Form::One(&CLUSTER), "The limits of its number of nodes. This key makes the component a cluster.";
    "properties": Form::ByName(&PROPERTY), "The values of its properties.";
}

section! {
    CLUSTER: "Cluster", OrNull, "The limits of a cluster's number of nodes.";
    "minimum-nodes": Form::Count, "The minimum number of nodes; the default is 1.";
    "initial-quantity": Form::Count, "The initial number of nodes; the default is `minimum-nodes`.";
    "maximum-nodes": Form::Count, "The maximum number of nodes; the default is no limit.";
    "scaling-increment": Form::Count,
        "The number of nodes that one scaling step adds or removes; the default is 1.";
}

section! {
    REFERENCE: "Reference", Mapping, "An existing instance that the assembly needs.";
    "type": Form::ReferenceType, required, "Its type: the name of a descriptor, with a range of versions.";
    "description": Form::Anything, "Its purpose.";
    "properties": Form::ByName(&PROPERTY), "The required values of its properties.";
}

section! {
    RELATIONSHIP: "Relationship", Mapping,
    "A relationship between components, created and ceased during their lifecycle.";
    "description": Form::Anything, "Its purpose.";
    "source-capabilities": Form::Endpoints, required,
        "`component.capability` of the sources; a reference by its name alone.";
    "target-requirements": Form::Endpoints, required, "`component.requirement` of the targets.";
    "source-state": Form::State, required, "The state that a source must have reached.";
    "source-state-modifier": Form::Modifier,
        "Whether it is created before (`pre`) or after (`post`, the default) a source reaches that state.";
    "target-state": Form::State, required, "The state that a target must have reached.";
    "target-state-modifier": Form::Modifier,
        "Whether it is created before (`pre`, the default) or after (`post`) a target reaches that state.";
    "properties": Form::ByName(&PROPERTY), "The arguments of its operations.";
    "lifecycle": Form::One(&RELATIONSHIP_LIFECYCLE), "The operations that create and cease it.";
}

section! {
    RELATIONSHIP_LIFECYCLE: "RelationshipLifecycle", OrNull,
    "The operations, in order: `source.<operation>` or `target.<operation>`.";
    "Create": Form::Operations, "The operations that create the relationship.";
    "Cease": Form::Operations, "The operations that cease the relationship.";
}

section! {
    PROMOTION: "Promotion", Mapping, "An operation of a component that the assembly offers as its own.";
    "description": Form::Anything, "Its purpose.";
    "source-operation": Form::PromotedOperation, required,
        "The component and its operation, such as `balancer.AddServer`.";
}

section! {
    TRANSITION: "Transition", Mapping, "The drivers of a transition.";
    "drivers": Form::Drivers(&DRIVER), "Its drivers; the default is `default-driver`.";
    "properties": Form::Anything, "Kept and ignored.";
    "description": Form::Anything, "Its purpose.";
}

section! {
    OPERATION: "Operation", Mapping, "The drivers and the arguments of an operation or a command.";
    "drivers": Form::Drivers(&DRIVER), "Its drivers; the default is `default-driver`.";
    "properties": Form::Anything, "Its arguments.";
    "description": Form::Anything, "Its purpose.";
    "available-state": Form::Anything, "Kept and ignored.";
}

section! {
    DRIVER: "Driver", OrNull, "A driver, and the infrastructure types that it serves.";
    "selector": Form::Anything, "The infrastructure types that the driver serves; the default is all.";
    "properties": Form::Anything, "The properties of the driver.";
    "infrastructure-type": Form::Infrastructure, "The older form of `selector`.";
}
