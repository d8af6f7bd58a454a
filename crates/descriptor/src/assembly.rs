//! Reads the sections of an assembly descriptor.

use std::str::FromStr;

use indexmap::IndexMap;
use windlass_model::assembly::OperationCall;
use windlass_model::name::RelationshipName;
use windlass_model::template::End;
use windlass_model::version::VersionError;
use windlass_model::{ComponentName, DescriptorName, Modifier, OperationName, State};
use windlass_source::{Diagnostic, Mapping, Node, Span};

use crate::codes;
use crate::document::{
    AssemblyDescriptor, ClusterDecl, Component, EndpointDecl, Policy, Promotion, ReferenceDecl,
    ReferenceType, RelationshipDecl,
};
use crate::property::{Dots, read_properties};
use crate::read::{Reader, Spanned, did_you_mean, get};
use crate::template::Value;

const SECTIONS: [&str; 14] = [
    "name",
    "description",
    "properties",
    "capabilities",
    "requirements",
    "operations",
    "composition",
    "references",
    "relationships",
    "metrics",
    "policies",
    "data-types",
    "designerLayout",
    "private-properties",
];

pub(crate) fn read(
    reader: &mut Reader<'_>,
    root: &Mapping,
    name: Option<Spanned<DescriptorName>>,
) -> AssemblyDescriptor {
    reader.unknown_keys(root, &SECTIONS, "an assembly descriptor");
    AssemblyDescriptor {
        source: reader.source.clone(),
        name,
        description: get(root, "description").and_then(Node::as_str).map(str::to_owned),
        properties: read_properties(reader, root.get("properties"), Dots::Refused),
        capabilities: names(reader, root, "capabilities"),
        requirements: names(reader, root, "requirements"),
        operations: section(reader, root, "operations", codes::NAME, promotion),
        composition: section(reader, root, "composition", codes::NAME, component),
        references: section(reader, root, "references", codes::NAME, reference),
        relationships: section::<RelationshipName, _>(
            reader,
            root,
            "relationships",
            codes::NAME,
            relationship,
        ),
        policies: policies(reader, root),
    }
}

/// An entry of a section: its key's place and its body.
struct Body<'n> {
    name: String,
    name_span: Span,
    node: &'n Node,
}

/// Reads a section whose keys are names.
fn section<K, V>(
    reader: &mut Reader<'_>,
    root: &Mapping,
    key: &str,
    code: windlass_source::Code,
    read: fn(&mut Reader<'_>, &Body<'_>) -> V,
) -> IndexMap<K, V>
where
    K: FromStr + std::hash::Hash + Eq,
    K::Err: std::fmt::Display,
{
    let Some(mapping) = root.get(key).and_then(|node| reader.mapping(node, &format!("`{key}`"))) else {
        return IndexMap::new();
    };
    let mut entries = IndexMap::new();
    for entry in mapping.entries() {
        let body =
            Body { name: entry.key.text().to_owned(), name_span: entry.key.span(), node: &entry.value };
        let value = read(reader, &body);
        if let Some(name) = reader.key::<K>(&entry.key, code) {
            entries.insert(name.value, value);
        }
    }
    entries
}

fn names(reader: &mut Reader<'_>, root: &Mapping, key: &str) -> IndexMap<String, Span> {
    let mapping = root.get(key).and_then(|node| reader.mapping(node, &format!("`{key}`")));
    let entries = mapping.map(Mapping::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.text().to_owned(), entry.key.span())).collect()
}

fn promotion(reader: &mut Reader<'_>, body: &Body<'_>) -> Promotion {
    let mapping = reader.mapping(body.node, &format!("the operation `{}`", body.name));
    let node = mapping.and_then(|mapping| {
        reader.unknown_keys(mapping, &["source-operation", "description"], "a promoted operation");
        mapping.get("source-operation")
    });
    let source = node.and_then(|node| {
        let text = reader.text(node, "`source-operation`")?;
        dotted(reader, &text, "`source-operation`", "balancer.AddServer")
    });
    if node.is_none() {
        let message = format!("the operation `{}` has no `source-operation`", body.name);
        reader.error(codes::BAD_OPERATION, body.name_span, message);
    }
    Promotion { span: body.name_span, source }
}

fn dotted(
    reader: &mut Reader<'_>,
    text: &Spanned<String>,
    what: &str,
    example: &str,
) -> Option<Spanned<(ComponentName, OperationName)>> {
    let parts = text.value.split_once('.');
    let parsed = parts.and_then(|(component, name)| Some((component.parse().ok()?, name.parse().ok()?)));
    if parsed.is_none() {
        let message = format!("{what} is a component and its operation, as `{example}`");
        reader.error(codes::BAD_OPERATION, text.span, message);
    }
    parsed.map(|value| Spanned { value, span: text.span })
}

fn component(reader: &mut Reader<'_>, body: &Body<'_>) -> Component {
    let what = format!("the component `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    if let Some(mapping) = mapping {
        let known = ["type", "quantity", "cluster", "properties", "description"];
        reader.unknown_keys(mapping, &known, "a component");
    }
    let field = |key: &str| mapping.and_then(|mapping| mapping.get(key));
    let kind = component_type(reader, field("type"), body, &what);
    let mut value = |key: &str| {
        let node = field(key).filter(|node| !node.is_null())?;
        Some(Value::read(reader.source, node, reader.diagnostics))
    };
    let quantity = value("quantity");
    let cluster = field("cluster").and_then(|node| cluster(reader, node));
    if let (Some(quantity), Some(cluster)) = (&quantity, &cluster) {
        let diagnostic = Diagnostic::warning(
            codes::QUANTITY_AND_CLUSTER,
            format!("{what} is a cluster, so its `quantity` is ignored"),
        )
        .at(reader.place(quantity.span))
        .related(reader.place(cluster.span), "the cluster");
        reader.diagnostics.push(diagnostic);
    }
    let properties = read_properties(reader, field("properties"), Dots::Tolerated);
    Component { name_span: body.name_span, kind, quantity, cluster, properties }
}

fn component_type(
    reader: &mut Reader<'_>,
    node: Option<&Node>,
    body: &Body<'_>,
    what: &str,
) -> Option<Spanned<DescriptorName>> {
    let Some(node) = node else {
        let diagnostic = Diagnostic::error(codes::MISSING_TYPE, format!("{what} has no `type`"))
            .at(reader.place(body.name_span))
            .help("name its descriptor, as `type: resource::web_server::1.0`");
        reader.diagnostics.push(diagnostic);
        return None;
    };
    let text = reader.text(node, "`type`")?;
    if is_of_lmctl(reader, &text) {
        return None;
    }
    match text.value.parse::<DescriptorName>() {
        Ok(value) => Some(Spanned { value, span: text.span }),
        Err(windlass_model::name::NameError::Version(VersionError::RangeForVersion(range))) => {
            let diagnostic = Diagnostic::error(
                codes::BAD_TYPE,
                format!("{what} is made from a range of versions, `{range}`"),
            )
            .at(reader.place(text.span))
            .help("name one version; ranges are for `references`");
            reader.diagnostics.push(diagnostic);
            None
        }
        Err(error) => {
            reader.error(codes::BAD_TYPE, text.span, error.to_string());
            None
        }
    }
}

/// Reports the placeholders that the tool `lmctl` replaces when it builds a project.
fn is_of_lmctl(reader: &mut Reader<'_>, text: &Spanned<String>) -> bool {
    let found = text.value.starts_with("$lmctl:");
    if found {
        let message = format!("`{}` is a placeholder of `lmctl`, and no name of a descriptor", text.value);
        let diagnostic = Diagnostic::error(codes::BAD_TYPE, message)
            .at(reader.place(text.span))
            .help("name the descriptor, as `resource::web::1.0`, or take the files that `lmctl project build` makes");
        reader.diagnostics.push(diagnostic);
    }
    found
}

fn cluster(reader: &mut Reader<'_>, node: &Node) -> Option<ClusterDecl> {
    let mapping = reader.mapping(node, "`cluster`")?;
    let known = ["initial-quantity", "minimum-nodes", "maximum-nodes", "scaling-increment"];
    reader.unknown_keys(mapping, &known, "a cluster");
    let mut value = |key: &str| {
        let node = get(mapping, key).filter(|node| !node.is_null())?;
        Some(Value::read(reader.source, node, reader.diagnostics))
    };
    Some(ClusterDecl {
        span: node.span(),
        initial: value("initial-quantity"),
        minimum: value("minimum-nodes"),
        maximum: value("maximum-nodes"),
        increment: value("scaling-increment"),
    })
}

fn reference(reader: &mut Reader<'_>, body: &Body<'_>) -> ReferenceDecl {
    let what = format!("the reference `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    if let Some(mapping) = mapping {
        reader.unknown_keys(mapping, &["type", "properties", "description"], "a reference");
    }
    let field = |key: &str| mapping.and_then(|mapping| mapping.get(key));
    if field("type").is_none() {
        reader.error(codes::MISSING_TYPE, body.name_span, format!("{what} has no `type`"));
    }
    let text = field("type").and_then(|node| reader.text(node, "`type`"));
    let kind = text.and_then(|text| reference_type(reader, &text));
    let properties = read_properties(reader, field("properties"), Dots::Tolerated);
    ReferenceDecl { name_span: body.name_span, kind, properties }
}

fn reference_type(reader: &mut Reader<'_>, text: &Spanned<String>) -> Option<Spanned<ReferenceType>> {
    if is_of_lmctl(reader, text) {
        return None;
    }
    let parts: Vec<&str> = text.value.split("::").collect();
    let [kind, name, versions] = parts[..] else {
        let message = format!(
            "`{}` is not of the form `kind::name::version`, as `assembly::shop::^1.0` is",
            text.value
        );
        reader.error(codes::BAD_TYPE, text.span, message);
        return None;
    };
    let kind = reader.parse_text(kind, text.span, codes::BAD_TYPE)?;
    let name = reader.parse_text(name, text.span, codes::BAD_TYPE)?;
    let versions = reader.parse_text(versions, text.span, codes::BAD_TYPE)?;
    let value = ReferenceType { kind: kind.value, name: name.value, versions: versions.value };
    Some(Spanned { value, span: text.span })
}

const RELATIONSHIP_KEYS: [&str; 9] = [
    "source-capabilities",
    "target-requirements",
    "source-state",
    "target-state",
    "source-state-modifier",
    "target-state-modifier",
    "properties",
    "lifecycle",
    "description",
];

fn relationship(reader: &mut Reader<'_>, body: &Body<'_>) -> RelationshipDecl {
    let what = format!("the relationship `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    if let Some(mapping) = mapping {
        reader.unknown_keys(mapping, &RELATIONSHIP_KEYS, "a relationship");
    }
    let field = |key: &str| mapping.and_then(|mapping| get(mapping, key));
    let sources = endpoints(reader, field("source-capabilities"), body, "source-capabilities");
    let targets = endpoints(reader, field("target-requirements"), body, "target-requirements");
    let ends = Ends { sources: &sources, targets: &targets };
    let lifecycle = field("lifecycle").and_then(|node| reader.mapping(node, "`lifecycle`"));
    if let Some(lifecycle) = lifecycle {
        reader.unknown_keys(lifecycle, &["Create", "Cease"], "the lifecycle of a relationship");
    }
    let calls = |key: &str| lifecycle.and_then(|lifecycle| lifecycle.get(key));
    RelationshipDecl {
        name_span: body.name_span,
        source_state: state(reader, field("source-state"), body, "source-state"),
        source_modifier: modifier(reader, field("source-state-modifier"), Modifier::Post),
        target_state: state(reader, field("target-state"), body, "target-state"),
        target_modifier: modifier(reader, field("target-state-modifier"), Modifier::Pre),
        properties: read_properties(reader, field("properties"), Dots::Tolerated),
        create: operation_calls(reader, calls("Create"), &ends),
        cease: operation_calls(reader, calls("Cease"), &ends),
        sources,
        targets,
    }
}

fn endpoints(
    reader: &mut Reader<'_>,
    node: Option<&Node>,
    body: &Body<'_>,
    key: &str,
) -> Vec<Spanned<EndpointDecl>> {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        let message = format!("the relationship `{}` has no `{key}`", body.name);
        reader.error(codes::BAD_ENDPOINT, body.name_span, message);
        return Vec::new();
    };
    let items: Vec<&Node> = match node.as_sequence() {
        Some(items) => items.iter().collect(),
        None => vec![node],
    };
    items.into_iter().filter_map(|item| endpoint(reader, item, key)).collect()
}

fn endpoint(reader: &mut Reader<'_>, node: &Node, key: &str) -> Option<Spanned<EndpointDecl>> {
    let text = reader.text(node, &format!("an entry of `{key}`"))?;
    let (component, capability) = match text.value.split_once('.') {
        Some((component, capability)) => (component, Some(capability.to_owned())),
        None => (text.value.as_str(), None),
    };
    let component = reader.parse_text(component, text.span, codes::BAD_ENDPOINT)?.value;
    Some(Spanned { value: EndpointDecl { component, capability }, span: text.span })
}

fn state(reader: &mut Reader<'_>, node: Option<&Node>, body: &Body<'_>, key: &str) -> State {
    let Some(node) = node else {
        let diagnostic =
            Diagnostic::error(codes::BAD_STATE, format!("the relationship `{}` has no `{key}`", body.name))
                .at(reader.place(body.name_span))
                .help("write `Installed`, `Inactive` or `Active`");
        reader.diagnostics.push(diagnostic);
        return State::Active;
    };
    let Some(text) = reader.text(node, &format!("`{key}`")) else { return State::Active };
    match text.value.parse() {
        Ok(state) => state,
        Err(error) => {
            let diagnostic =
                Diagnostic::error(codes::BAD_STATE, error.to_string()).at(reader.place(text.span));
            let states = ["Installed", "Inactive", "Active"];
            reader.diagnostics.push(did_you_mean(diagnostic, &text.value, states));
            State::Active
        }
    }
}

fn modifier(reader: &mut Reader<'_>, node: Option<&Node>, default: Modifier) -> Modifier {
    let parsed = node.and_then(|node| reader.parse(node, "a state modifier", codes::BAD_STATE));
    parsed.map_or(default, |modifier| modifier.value)
}

struct Ends<'a> {
    sources: &'a [Spanned<EndpointDecl>],
    targets: &'a [Spanned<EndpointDecl>],
}

impl Ends<'_> {
    /// Finds the end that a word means: `source`, `target`, or the name of a component at one end.
    fn find(&self, word: &str) -> Option<End> {
        let at = |ends: &[Spanned<EndpointDecl>]| ends.iter().any(|e| e.value.component.as_str() == word);
        match word {
            "source" => Some(End::Source),
            "target" => Some(End::Target),
            _ if at(self.sources) => Some(End::Source),
            _ if at(self.targets) => Some(End::Target),
            _ => None,
        }
    }
}

fn operation_calls(
    reader: &mut Reader<'_>,
    node: Option<&Node>,
    ends: &Ends<'_>,
) -> Vec<Spanned<OperationCall>> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Vec::new() };
    let Some(items) = node.as_sequence() else {
        reader.wrong_sort(node, "the operations of a relationship", "a list");
        return Vec::new();
    };
    items.iter().filter_map(|item| operation_call(reader, item, ends)).collect()
}

fn operation_call(reader: &mut Reader<'_>, node: &Node, ends: &Ends<'_>) -> Option<Spanned<OperationCall>> {
    let text = reader.text(node, "an operation")?;
    let parts = text.value.split_once('.');
    let call = parts
        .and_then(|(end, name)| Some(OperationCall { end: ends.find(end)?, operation: name.parse().ok()? }));
    if call.is_none() {
        let diagnostic = Diagnostic::error(
            codes::BAD_OPERATION,
            format!("`{}` names no operation of an end of the relationship", text.value),
        )
        .at(reader.place(text.span))
        .help("write `source.<operation>` or `target.<operation>`");
        reader.diagnostics.push(diagnostic);
    }
    call.map(|value| Spanned { value, span: text.span })
}

fn policies(reader: &mut Reader<'_>, root: &Mapping) -> IndexMap<String, Policy> {
    section::<String, _>(reader, root, "policies", codes::BAD_POLICY, |reader, body| {
        let mapping = reader.mapping(body.node, &format!("the policy `{}`", body.name));
        let field = |key: &str| mapping.and_then(|mapping| mapping.get(key));
        let mut word = |key: &str| field(key).and_then(|node| reader.text(node, &format!("`{key}`")));
        let (kind, metric, target) = (word("type"), word("metric"), word("target"));
        let properties = field("properties").and_then(|node| reader.mapping(node, "`properties`"));
        let entries = properties.map(Mapping::entries).unwrap_or_default();
        let properties = entries.iter().map(|entry| {
            // Both shapes are taken: `smoothing: 4` and `smoothing: {value: 4}`.
            let node = entry.value.get("value").unwrap_or(&entry.value);
            (entry.key.text().to_owned(), Value::read(reader.source, node, reader.diagnostics))
        });
        let properties = properties.collect();
        Policy { name_span: body.name_span, kind, metric, target, properties }
    })
}
