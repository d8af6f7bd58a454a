//! The keys that each section of a descriptor may contain, with the forms and the descriptions of their values.
//!
//! The parser of descriptors, the writer of the canonical form, and the generator of the JSON Schemas use these
//! tables. So a new key is added in one place.

use windlass_source::section;

/// A table of the keys that one section of a descriptor may contain.
pub(crate) type Section = windlass_source::keys::Section<Form>;

/// The form of a value, as far as a JSON Schema can describe it. The value of a key that is not required may
/// also be null.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Anything,
    /// A mapping from names to any values.
    Named,
    /// A text. A number or boolean is also accepted. windlass reads the value as text, exactly as written: `1.10` is
    /// the text `"1.10"`.
    Text,
    /// `true`, `false`, `yes`, `no`, `on` or `off`.
    Flag,
    /// A whole number that is at least 0, or a `${…}` that reads such a number.
    Count,
    /// A list of maps, or a `${…}` that reads such a list.
    Each,
    /// The name of the assembly descriptor itself.
    AssemblyName,
    /// The name of the resource descriptor itself.
    ResourceName,
    /// The name of a descriptor with its version, or a placeholder of the tool `lmctl`.
    DescriptorName,
    /// The name of a descriptor, followed by a range of versions. A placeholder of the tool `lmctl` is also accepted.
    ReferenceType,
    /// A text of the form `component.operation`.
    PromotedOperation,
    /// The sources or the targets of a relationship: one text such as `web.Http`, or a list of such texts.
    Endpoints,
    /// A list of names of components, or one name.
    Components,
    /// The value of `source-state` or `target-state`: `Installed`, `Inactive` or `Active`.
    State,
    /// The word `pre` or `post`.
    Modifier,
    /// The word `keep`, `reconfigure` or `replace`.
    PackageChange,
    /// A number of nodes, a percentage of the nodes, or `all`. The number or percentage is at least 1.
    MaxUnavailable,
    /// A number of nodes, or a percentage of the nodes. The number or percentage can be 0.
    MaxSurge,
    /// The word `stop` or `rollback`.
    OnFailure,
    /// The time between two batches.
    Pause,
    /// A list of operations that a relationship calls on its source or target, such as
    /// `[source.Register, target.AddBackend]`.
    Operations,
    /// A list of infrastructure types, or one type.
    Infrastructure,
    /// A list of names of transitions, or a mapping from names of transitions to inner mappings. The `Section`
    /// contains the keys of the inner mappings.
    Transitions(&'static Section),
    /// A mapping from names of drivers to inner mappings. The `Section` contains the keys of the inner mappings.
    Drivers(&'static Section),
    /// A mapping. The `Section` contains its keys.
    One(&'static Section),
    /// A mapping from names to inner mappings. The `Section` contains the keys of the inner mappings.
    ByName(&'static Section),
    /// A mapping from names to values. Each value is null or an inner mapping. The `Section` contains the keys of
    /// the inner mappings.
    ByNameOrNull(&'static Section),
}

section! {
    ASSEMBLY: Section, "Assembly", Mapping, "An assembly: its components and their relationships.";
    "name": Form::AssemblyName, "Its name.";
    "description": Form::Anything, "Its purpose.";
    "protect": Form::Flag,
        "Whether none of its components may be removed or replaced; an extension of the language.";
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
    RESOURCE: Section, "Resource", Mapping,
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
    "on-package-change": Form::PackageChange,
        "The effect of a changed package of the same version: `keep` (the new scripts are used from then on), `reconfigure` (the default where Reconfigure is declared; otherwise it is `keep`) or `replace`; an extension of the language.";
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
    PROPERTY: Section, "Property", Anything, "A property. The default type is text.";
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
    COMPONENT: Section, "Component", Mapping, "A component of the assembly.";
    "type": Form::DescriptorName, required, "The descriptor of the component, with its version.";
    "description": Form::Anything, "Its purpose.";
    "protect": Form::Flag,
        "Whether it, and each of its nodes, may be neither removed nor replaced; an extension of the language.";
    "quantity": Form::Count, "The number of instances; the default is 1.";
    "cluster": Form::One(&CLUSTER), "The limits of its number of nodes. This key makes the component a cluster.";
    "depends-on": Form::Components,
        "The components that must be Active before its first transition, and that stop after it: a list, or one; an extension of the language.";
    "update": Form::One(&UPDATE),
        "The rules for changes of its nodes: they change in batches; an extension of the language.";
    "properties": Form::ByName(&PROPERTY), "The values of its properties.";
}

section! {
    UPDATE: Section, "Update", OrNull, "The rules for changes of a group's nodes.";
    "max-unavailable": Form::MaxUnavailable,
        "The number of nodes that a change takes down at once: a number from 1, a percentage such as `25%`, which is rounded down to at least 1, or `all`. The default is 1 if another component depends on the group, and `all` otherwise.";
    "max-surge": Form::MaxSurge,
        "The number of additional nodes while nodes change: a number, or a percentage such as `25%`, which is rounded up. They may exceed `maximum-nodes`, and are removed after the change. The default is 0. Not for a cluster with `each`.";
    "pause": Form::Pause,
        "The time between the end of a batch and the beginning of the next one, such as `10s` or `1m30s`; at most a week.";
    "on-failure": Form::OnFailure,
        "The reaction to a failure of its nodes in a batch: `stop` (the default), or `rollback` to the version of the assembly before the change.";
}

section! {
    CLUSTER: Section, "Cluster", OrNull, "The limits of a cluster's number of nodes.";
    "minimum-nodes": Form::Count, "The minimum number of nodes; the default is 1.";
    "initial-quantity": Form::Count, "The initial number of nodes; the default is `minimum-nodes`.";
    "maximum-nodes": Form::Count, "The maximum number of nodes; the default is no limit.";
    "scaling-increment": Form::Count,
        "The number of nodes that one scaling step adds or removes; the default is 1.";
    "each": Form::Each,
        "A list of maps, or `${property}` with such a list: the cluster has one node for each, with `${each.<field>}` in its properties. No other key but `key` may stand beside it; an extension of the language.";
    "key": Form::Text,
        "The field of these maps whose value identifies the node, and is the last part of its name; the default is `name`; an extension of the language.";
}

section! {
    REFERENCE: Section, "Reference", Mapping, "An existing instance that the assembly needs.";
    "type": Form::ReferenceType, required, "Its type: the name of a descriptor, with a range of versions.";
    "description": Form::Anything, "Its purpose.";
    "properties": Form::ByName(&PROPERTY), "The required values of its properties.";
}

section! {
    RELATIONSHIP: Section, "Relationship", Mapping,
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
    RELATIONSHIP_LIFECYCLE: Section, "RelationshipLifecycle", OrNull,
    "The operations, in order: `source.<operation>` or `target.<operation>`.";
    "Create": Form::Operations, "The operations that create the relationship.";
    "Cease": Form::Operations, "The operations that cease the relationship.";
}

section! {
    PROMOTION: Section, "Promotion", Mapping, "An operation of a component that the assembly offers as its own.";
    "description": Form::Anything, "Its purpose.";
    "source-operation": Form::PromotedOperation, required,
        "The component and its operation, such as `balancer.AddServer`.";
}

section! {
    TRANSITION: Section, "Transition", Mapping, "The drivers of a transition.";
    "drivers": Form::Drivers(&DRIVER), "Its drivers; the default is `default-driver`.";
    "properties": Form::Anything, "Kept and ignored.";
    "description": Form::Anything, "Its purpose.";
}

section! {
    OPERATION: Section, "Operation", Mapping, "The drivers and the arguments of an operation or a command.";
    "drivers": Form::Drivers(&DRIVER), "Its drivers; the default is `default-driver`.";
    "properties": Form::Anything, "Its arguments.";
    "description": Form::Anything, "Its purpose.";
    "available-state": Form::Anything, "Kept and ignored.";
}

section! {
    DRIVER: Section, "Driver", OrNull, "A driver, and the infrastructure types that it serves.";
    "selector": Form::Anything, "The infrastructure types that the driver serves; the default is all.";
    "properties": Form::Anything, "The properties of the driver.";
    "infrastructure-type": Form::Infrastructure, "The older form of `selector`.";
}
