//! The keys of the language, by section. The reader, the canonical form and the schemas share them.

/// Keys of an assembly descriptor.
pub(crate) const ASSEMBLY: [&str; 14] = [
    "name",
    "description",
    "data-types",
    "properties",
    "private-properties",
    "capabilities",
    "requirements",
    "operations",
    "composition",
    "references",
    "relationships",
    "metrics",
    "policies",
    "designerLayout",
];

/// Keys of a resource descriptor.
pub(crate) const RESOURCE: [&str; 22] = [
    "name",
    "description",
    "type",
    "implements",
    "resource-manager-type",
    "meta-type",
    "template",
    "discover",
    "data-types",
    "properties",
    "private-properties",
    "capabilities",
    "requirements",
    "infrastructure",
    "lifecycle",
    "default-driver",
    "operations",
    "commands",
    "queries",
    "metrics",
    "policies",
    "designerLayout",
];

/// Keys of a property.
pub(crate) const PROPERTY: [&str; 9] = [
    "type",
    "entry-schema",
    "description",
    "required",
    "read-only",
    "volatile",
    "sensitive",
    "default",
    "value",
];

/// Keys of a component.
pub(crate) const COMPONENT: [&str; 5] = ["type", "description", "quantity", "cluster", "properties"];

/// Keys of a cluster.
pub(crate) const CLUSTER: [&str; 4] =
    ["minimum-nodes", "initial-quantity", "maximum-nodes", "scaling-increment"];

/// Keys of a reference.
pub(crate) const REFERENCE: [&str; 3] = ["type", "description", "properties"];

/// Keys of a relationship.
pub(crate) const RELATIONSHIP: [&str; 9] = [
    "description",
    "source-capabilities",
    "target-requirements",
    "source-state",
    "source-state-modifier",
    "target-state",
    "target-state-modifier",
    "properties",
    "lifecycle",
];

/// Keys of the lifecycle of a relationship.
pub(crate) const RELATIONSHIP_LIFECYCLE: [&str; 2] = ["Create", "Cease"];

/// Keys of an operation that an assembly promotes.
pub(crate) const PROMOTION: [&str; 2] = ["description", "source-operation"];
