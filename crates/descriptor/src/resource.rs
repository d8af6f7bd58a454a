//! Resource descriptors. A resource descriptor declares the properties and the actions of a type of
//! component, and the drivers that execute the actions.

use std::hash::Hash;
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::assembly::OnPackageChange;
use windlass_model::name::{DriverKind, NameError};
use windlass_model::{CommandName, DescriptorName, OperationName, Transition};
use windlass_source::{Diagnostic, Entry, Mapping, Node, Reading, Severity, Source, Span, did_you_mean};

use crate::codes;
use crate::keys;
use crate::metric::{Metrics, Owner, Policies, read_metrics, read_policies};
use crate::property::{Dots, Properties, read_properties};
use crate::property_types::{DataTypes, read_data_types};
use crate::reader::{Reader, Spanned, get, names};

const OPERATION: &str = "an operation";

/// Names of transitions in older versions of the descriptor language. These transitions created and removed the
/// infrastructure. windlass ignores these transitions with a warning.
const OLD_TRANSITIONS: [&str; 2] = ["CreateInfrastructure", "DeleteInfrastructure"];

/// Names of transitions that exist only in later versions of the descriptor language. windlass ignores these
/// transitions with a warning.
const LATER_TRANSITIONS: [&str; 1] = ["Upgrade"];

/// A resource descriptor.
#[derive(Debug, Clone)]
pub struct ResourceDescriptor {
    /// Text from which the descriptor was read.
    pub source: Arc<Source>,
    /// Name of the descriptor; none if it is missing or invalid.
    pub name: Option<Spanned<DescriptorName>>,
    /// Description of the resource.
    pub description: Option<String>,
    /// Properties of the resource.
    pub properties: Properties,
    /// Properties that only the resource itself can read.
    pub private_properties: Properties,
    /// Transitions that the descriptor declares.
    pub transitions: IndexMap<Transition, ActionDecl>,
    /// Operations that relationships may call.
    pub operations: IndexMap<OperationName, ActionDecl>,
    /// Commands that a user may call with `windlass call`; an extension of the language.
    pub commands: IndexMap<CommandName, ActionDecl>,
    /// The key `on-package-change`: whether existing parts are kept, reconfigured or replaced if the package
    /// changes and its version stays the same. The key is an extension of the language.
    pub on_package_change: Option<Spanned<OnPackageChange>>,
    /// Drivers of all transitions, operations and commands that declare no drivers themselves.
    pub default_drivers: Vec<DriverDecl>,
    /// Drivers that search for existing instances to which references may resolve.
    pub queries: Vec<DriverDecl>,
    /// Infrastructure types that the resource supports.
    pub infrastructure: IndexMap<String, Span>,
    /// Capabilities of the resource, with the places of their names. A relationship leads from a capability of
    /// its source to a requirement of its target. So if a relationship uses a capability of the resource, the
    /// resource is the source of the relationship.
    pub capabilities: IndexMap<String, Span>,
    /// Requirements of the resource, with the places of their names. If a relationship uses a requirement of the
    /// resource, the resource is the target of the relationship.
    pub requirements: IndexMap<String, Span>,
    /// Metrics that the resource publishes.
    pub metrics: Metrics,
    /// Policies that read the resource's metrics.
    pub policies: Policies,
    /// Data types that the descriptor declares.
    pub data_types: DataTypes,
}

/// A declared transition, operation or command.
#[derive(Debug, Clone)]
pub struct ActionDecl {
    /// Place of the name.
    pub name_span: Span,
    /// Drivers of the action. If the list is empty, the default drivers of the resource execute the action.
    pub drivers: Vec<DriverDecl>,
    /// Arguments of an operation or command.
    pub properties: Properties,
}

/// A driver that a descriptor declares.
#[derive(Debug, Clone)]
pub struct DriverDecl {
    /// Place of the name.
    pub name_span: Span,
    /// Kind of the driver.
    pub driver: DriverKind,
    /// Infrastructure types for which the driver is chosen. The entry `*` means all types.
    pub infrastructure: Vec<String>,
    /// Properties that configure the driver.
    pub properties: serde_json::Map<String, serde_json::Value>,
    /// Places of the names in `properties`.
    pub property_spans: IndexMap<String, Span>,
}

impl ResourceDescriptor {
    /// Returns all declared drivers: the drivers of transitions, operations, commands and queries, and the
    /// default drivers.
    pub fn drivers(&self) -> impl Iterator<Item = &DriverDecl> {
        let actions = self.transitions.values().chain(self.operations.values()).chain(self.commands.values());
        let own = actions.flat_map(|action| &action.drivers);
        own.chain(&self.default_drivers).chain(&self.queries)
    }
}

pub(crate) fn read(
    reader: &mut Reader<'_>,
    root: &Mapping,
    name: Option<Spanned<DescriptorName>>,
) -> ResourceDescriptor {
    reader.unknown_keys(root, keys::RESOURCE.names, "a resource descriptor");
    let properties = read_properties(reader, get(root, "properties"), Dots::Tolerated);
    let private_properties = read_properties(reader, get(root, "private-properties"), Dots::Tolerated);
    let queries = get(root, "queries").and_then(|node| reader.mapping(node, "`queries`"));
    if let Some(queries) = queries {
        reader.unknown_keys(queries, &["drivers", "description"], "`queries`");
    }
    ResourceDescriptor {
        source: reader.source.clone(),
        name,
        description: get(root, "description").and_then(Node::as_str).map(str::to_owned),
        properties,
        private_properties,
        transitions: transitions(reader, root.get("lifecycle")),
        operations: operations(reader, root.get("operations"), "operations"),
        commands: operations(reader, root.get("commands"), "commands"),
        on_package_change: get(root, "on-package-change").and_then(|node| on_package_change(reader, node)),
        default_drivers: get(root, "default-driver").map(|node| drivers(reader, node)).unwrap_or_default(),
        queries: queries.and_then(|q| q.get("drivers")).map(|node| drivers(reader, node)).unwrap_or_default(),
        infrastructure: names(reader, root, "infrastructure"),
        capabilities: names(reader, root, "capabilities"),
        requirements: names(reader, root, "requirements"),
        metrics: read_metrics(reader, root, Owner::Resource),
        policies: read_policies(reader, root),
        data_types: read_data_types(reader, root),
    }
}

/// Reads the value of the key `on-package-change`. Reports an invalid value. Returns `None` for an invalid value and
/// for null.
fn on_package_change(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<OnPackageChange>> {
    let text = reader.text(node, "`on-package-change`")?;
    match text.value.parse::<OnPackageChange>() {
        Ok(value) => Some(Spanned { value, span: text.span }),
        Err(error) => {
            let words = ["keep", "reconfigure", "replace"];
            reader.bad_word(codes::BAD_PACKAGE_CHANGE, &text, &error.to_string(), &words);
            None
        }
    }
}

/// Reads the section `lifecycle`: a list such as `[Install, Start]`, or a mapping such as `{Start: {drivers: …}}`.
fn transitions(reader: &mut Reader<'_>, node: Option<&Node>) -> IndexMap<Transition, ActionDecl> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return IndexMap::new() };
    let mut found = IndexMap::new();
    if let Some(items) = node.as_sequence() {
        for item in items {
            if let Some(text) = reader.text(item, "a transition") {
                let decl =
                    ActionDecl { name_span: text.span, drivers: Vec::new(), properties: Properties::new() };
                add_transition(reader, &mut found, &text.value, decl);
            }
        }
    } else if node.as_mapping().is_none() {
        reader.wrong_sort(node, "`lifecycle`", "a list or a mapping");
    } else if let Some(mapping) = reader.mapping(node, "`lifecycle`") {
        for entry in mapping.entries() {
            let decl = action(reader, entry, keys::TRANSITION.names, "a transition");
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
    if let Ok(transition) = word.parse() {
        found.insert(transition, decl);
        return;
    }
    let span = decl.name_span;
    let other_versions = [("older", &OLD_TRANSITIONS[..]), ("later", &LATER_TRANSITIONS[..])];
    if let Some((age, _)) = other_versions.iter().find(|(_, words)| words.contains(&word)) {
        let message = format!("`{word}` is a transition of {age} descriptors; it is ignored");
        return reader.warning(codes::UNKNOWN_TRANSITION, span, message);
    }
    reader.say(Severity::Error, |source| {
        let message = format!("there is no transition `{word}`");
        let diagnostic = Diagnostic::error(codes::UNKNOWN_TRANSITION, message).at(source.place(span));
        let words = Transition::ALL.map(Transition::as_str);
        let diagnostic = did_you_mean(diagnostic, word, words);
        if diagnostic.help.is_some() {
            return diagnostic;
        }
        diagnostic.help(format!("the transitions are {}", words.join(", ")))
    });
}

/// Reads the section `operations` or `commands`. The section is a mapping from names to declarations, such as
/// `backup: {drivers: …, properties: …}`.
fn operations<N>(reader: &mut Reader<'_>, node: Option<&Node>, section: &str) -> IndexMap<N, ActionDecl>
where
    N: FromStr<Err = NameError> + Hash + Eq,
{
    let mapping = node.and_then(|node| reader.mapping(node, &format!("`{section}`")));
    let mut found = IndexMap::new();
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let decl = action(reader, entry, keys::OPERATION.names, OPERATION);
        if let Some(name) = reader.key::<N>(&entry.key, codes::NAME) {
            found.insert(name.value, decl);
        }
    }
    found
}

fn action(reader: &mut Reader<'_>, entry: &Entry, known: &[&str], what: &str) -> ActionDecl {
    let body = reader.mapping(&entry.value, &format!("{what}, `{}`,", entry.key.text()));
    if let Some(body) = body {
        reader.unknown_keys(body, known, what);
    }
    let field = |key: &str| body.and_then(|body| get(body, key));
    ActionDecl {
        name_span: entry.key.span(),
        drivers: field("drivers").map(|node| drivers(reader, node)).unwrap_or_default(),
        properties: read_properties(
            reader,
            field("properties").filter(|_| what == OPERATION),
            Dots::Tolerated,
        ),
    }
}

/// Reads the value of the key `drivers` or `default-driver`. The value is a mapping from the names of drivers to
/// declarations, such as `script: {selector: …, properties: …}`.
fn drivers(reader: &mut Reader<'_>, node: &Node) -> Vec<DriverDecl> {
    let mapping = reader.mapping(node, "`drivers`");
    let entries = mapping.map(Mapping::entries).unwrap_or_default();
    let mut found = Vec::new();
    for entry in entries {
        let Some(driver) = reader.key::<DriverKind>(&entry.key, codes::NAME) else { continue };
        let body = reader.mapping(&entry.value, "a driver");
        let field = |key: &str| body.and_then(|body| get(body, key));
        if let Some(body) = body {
            reader.unknown_keys(body, keys::DRIVER.names, "a driver");
            old_selector(reader, body);
        }
        let selector = field("selector").and_then(|node| reader.mapping(node, "`selector`"));
        if let Some(selector) = selector {
            reader.unknown_keys(selector, &["infrastructure-type"], "a selector");
        }
        let selector = selector.and_then(|selector| get(selector, "infrastructure-type"));
        let infrastructure = selector.or_else(|| field("infrastructure-type")).filter(|node| !node.is_null());
        let properties = field("properties");
        let entries = properties.and_then(Node::as_mapping).map(Mapping::entries).unwrap_or_default();
        let property_spans =
            entries.iter().map(|entry| (entry.key.text().to_owned(), entry.key.span())).collect();
        let properties = properties.map(|node| node.to_value(Reading::Text));
        found.push(DriverDecl {
            name_span: driver.span,
            driver: driver.value,
            infrastructure: infrastructure.map_or_else(|| vec!["*".into()], |node| texts(reader, node)),
            properties: properties.and_then(|p| p.as_object().cloned()).unwrap_or_default(),
            property_spans,
        });
    }
    found
}

/// Warns of `infrastructure-type` without a `selector` around it. Older descriptors have this form.
fn old_selector(reader: &mut Reader<'_>, body: &Mapping) {
    let Some(entry) = body.entry("infrastructure-type").filter(|_| body.get("selector").is_none()) else {
        return;
    };
    let message = "`infrastructure-type` stands in the driver itself, as old descriptors have it";
    let diagnostic = Diagnostic::warning(codes::OLD_SHAPE, message)
        .at(reader.place(entry.key.span()))
        .help("write it below `selector`");
    reader.diagnostics.push(diagnostic);
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
