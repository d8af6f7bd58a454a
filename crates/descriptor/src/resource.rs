//! Resource descriptors: what a part can do, and which drivers do it.

use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::name::DriverKind;
use windlass_model::{DescriptorName, OperationName, Transition};
use windlass_source::{Diagnostic, Mapping, Node, Reading, Source, Span};

use crate::codes;
use crate::property::{Dots, Properties, read_properties};
use crate::read::{Reader, Spanned, did_you_mean, get};

const SECTIONS: [&str; 21] = [
    "name",
    "description",
    "properties",
    "private-properties",
    "lifecycle",
    "default-driver",
    "operations",
    "capabilities",
    "requirements",
    "metrics",
    "policies",
    "infrastructure",
    "queries",
    "resource-manager-type",
    "meta-type",
    "data-types",
    "designerLayout",
    "template",
    "discover",
    "implements",
    "type",
];

/// A resource descriptor.
#[derive(Debug, Clone)]
pub struct ResourceDescriptor {
    /// The text it was read from.
    pub source: Arc<Source>,
    /// Its name.
    pub name: Option<Spanned<DescriptorName>>,
    /// What it is.
    pub description: Option<String>,
    /// Its properties.
    pub properties: Properties,
    /// Properties that are not seen from outside.
    pub private_properties: Properties,
    /// The transitions that it has scripts for.
    pub transitions: IndexMap<Transition, ActionDecl>,
    /// The operations that relationships may call.
    pub operations: IndexMap<OperationName, ActionDecl>,
    /// The drivers for whatever names none.
    pub default_drivers: Vec<DriverDecl>,
}

/// A transition or operation, as declared.
#[derive(Debug, Clone)]
pub struct ActionDecl {
    /// Where its name stands.
    pub name_span: Span,
    /// The drivers named for it; none means the default ones.
    pub drivers: Vec<DriverDecl>,
}

/// A driver, as declared.
#[derive(Debug, Clone)]
pub struct DriverDecl {
    /// Where its name stands.
    pub name_span: Span,
    /// Which driver.
    pub driver: DriverKind,
    /// The infrastructure types it is for; all where none is named.
    pub infrastructure: Vec<String>,
    /// The driver properties.
    pub properties: serde_json::Map<String, serde_json::Value>,
}

pub(crate) fn read(
    reader: &mut Reader<'_>,
    root: &Mapping,
    name: Option<Spanned<DescriptorName>>,
) -> ResourceDescriptor {
    reader.unknown_keys(root, &SECTIONS, "a resource descriptor");
    ResourceDescriptor {
        source: reader.source.clone(),
        name,
        description: get(root, "description").and_then(Node::as_str).map(str::to_owned),
        properties: read_properties(reader, root.get("properties"), Dots::Tolerated),
        private_properties: read_properties(reader, root.get("private-properties"), Dots::Tolerated),
        transitions: transitions(reader, root.get("lifecycle")),
        operations: operations(reader, root.get("operations")),
        default_drivers: root.get("default-driver").map(|node| drivers(reader, node)).unwrap_or_default(),
    }
}

/// Reads `lifecycle`: a list of names, or a mapping of names to bodies.
fn transitions(reader: &mut Reader<'_>, node: Option<&Node>) -> IndexMap<Transition, ActionDecl> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return IndexMap::new() };
    let mut found = IndexMap::new();
    if let Some(items) = node.as_sequence() {
        for item in items {
            if let Some(text) = reader.text(item, "a transition") {
                let decl = ActionDecl { name_span: text.span, drivers: Vec::new() };
                add_transition(reader, &mut found, &text.value, decl);
            }
        }
    } else if node.as_mapping().is_none() {
        reader.wrong_sort(node, "`lifecycle`", "a list or a mapping");
    } else if let Some(mapping) = reader.mapping(node, "`lifecycle`") {
        for entry in mapping.entries() {
            let decl = action(reader, entry.key.span(), &entry.value);
            add_transition(reader, &mut found, entry.key.text(), decl);
        }
    }
    found
}

fn add_transition(
    reader: &mut Reader<'_>,
    found: &mut IndexMap<Transition, ActionDecl>,
    word: &str,
    decl: ActionDecl,
) {
    // Later versions of the language have transitions that are not part of bringing something up.
    if matches!(word, "Adopt" | "Upgrade") {
        return;
    }
    if let Ok(transition) = word.parse() {
        found.insert(transition, decl);
        return;
    }
    let message = format!("there is no transition `{word}`; it is ignored");
    let diagnostic = Diagnostic::warning(codes::UNKNOWN_KEY, message).at(reader.place(decl.name_span));
    let words = Transition::ALL.map(Transition::as_str);
    reader.diagnostics.push(did_you_mean(diagnostic, word, words));
}

fn operations(reader: &mut Reader<'_>, node: Option<&Node>) -> IndexMap<OperationName, ActionDecl> {
    let mapping = node.and_then(|node| reader.mapping(node, "`operations`"));
    let mut found = IndexMap::new();
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let decl = action(reader, entry.key.span(), &entry.value);
        if let Some(name) = reader.key::<OperationName>(&entry.key, codes::NAME) {
            found.insert(name.value, decl);
        }
    }
    found
}

fn action(reader: &mut Reader<'_>, name_span: Span, node: &Node) -> ActionDecl {
    let body = reader.mapping(node, "a transition or operation");
    let drivers = body.and_then(|body| body.get("drivers")).map(|node| drivers(reader, node));
    ActionDecl { name_span, drivers: drivers.unwrap_or_default() }
}

/// Reads `drivers:` or `default-driver:`: a mapping of driver types.
fn drivers(reader: &mut Reader<'_>, node: &Node) -> Vec<DriverDecl> {
    let mapping = reader.mapping(node, "`drivers`");
    let entries = mapping.map(Mapping::entries).unwrap_or_default();
    let mut found = Vec::new();
    for entry in entries {
        let Some(driver) = reader.key::<DriverKind>(&entry.key, codes::NAME) else { continue };
        let body = reader.mapping(&entry.value, "a driver");
        let field = |key: &str| body.and_then(|body| body.get(key));
        // Older descriptors have `infrastructure-type` without `selector` around it.
        let selector = field("selector").and_then(|s| s.get("infrastructure-type"));
        let infrastructure = selector.or_else(|| field("infrastructure-type"));
        let properties = field("properties").map(|node| node.to_value(Reading::Text));
        found.push(DriverDecl {
            name_span: driver.span,
            driver: driver.value,
            infrastructure: infrastructure.map_or_else(|| vec!["*".into()], |node| texts(reader, node)),
            properties: properties.and_then(|p| p.as_object().cloned()).unwrap_or_default(),
        });
    }
    found
}

fn texts(reader: &mut Reader<'_>, node: &Node) -> Vec<String> {
    match node.as_sequence() {
        Some(items) => items
            .iter()
            .filter_map(|item| reader.text(item, "an infrastructure type"))
            .map(|t| t.value)
            .collect(),
        None => reader.text(node, "an infrastructure type").map(|t| vec![t.value]).unwrap_or_default(),
    }
}
