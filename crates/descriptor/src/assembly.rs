//! Reads the sections of an assembly descriptor.

use indexmap::IndexMap;
use windlass_model::assembly::{OnFailure, OperationCall, Update};
use windlass_model::name::NameError;
use windlass_model::name::RelationshipName;
use windlass_model::state::WordError;
use windlass_model::template::End;
use windlass_model::version::VersionError;
use windlass_model::{ComponentName, DescriptorName, Modifier, State};
use windlass_source::{Diagnostic, Mapping, Node, Severity, did_you_mean, listed, suggest};

use crate::codes;
use crate::document::{
    AssemblyDescriptor, ClusterDecl, Component, EachDecl, EndpointDecl, Promotion, ReferenceDecl,
    ReferenceType, RelationshipDecl,
};
use crate::keys;
use crate::metric::{Owner, read_metrics, read_policies};
use crate::property::{Dots, read_properties};
use crate::property_types::read_data_types;
use crate::reader::{Body, Reader, Spanned, dotted, get, names, section};
use crate::surroundings::PLACEHOLDER;
use crate::template::Value;

pub(crate) fn read(
    reader: &mut Reader<'_>,
    root: &Mapping,
    name: Option<Spanned<DescriptorName>>,
) -> AssemblyDescriptor {
    reader.unknown_keys(root, keys::ASSEMBLY.names, "an assembly descriptor");
    if let Some(entry) = root.entry("private-properties") {
        let message = "an assembly has no private properties; they are ignored";
        let diagnostic = Diagnostic::warning(codes::MISPLACED_KEY, message)
            .at(reader.place(entry.key.span()))
            .help("declare them in `properties`, or in the resource that needs them");
        reader.diagnostics.push(diagnostic);
    }
    AssemblyDescriptor {
        source: reader.source.clone(),
        name,
        description: get(root, "description").and_then(Node::as_str).map(str::to_owned),
        protect: get(root, "protect").is_some_and(|node| reader.flag(node, "`protect`")),
        properties: read_properties(reader, get(root, "properties"), Dots::Refused),
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
        metrics: read_metrics(reader, root, Owner::Assembly),
        policies: read_policies(reader, root),
        data_types: read_data_types(reader, root),
    }
}

fn promotion(reader: &mut Reader<'_>, body: &Body<'_>) -> Promotion {
    let mapping = reader.mapping(body.node, &format!("the operation `{}`", body.name));
    let node = mapping.and_then(|mapping| {
        reader.unknown_keys(mapping, keys::PROMOTION.names, "a promoted operation");
        mapping.get("source-operation")
    });
    let source = node.and_then(|node| {
        let text = reader.text(node, "`source-operation`")?;
        dotted(
            reader,
            &text,
            codes::BAD_OPERATION,
            "`source-operation` is a component and its operation, as `balancer.AddServer`",
        )
    });
    if node.is_none() {
        let message = format!("the operation `{}` has no `source-operation`", body.name);
        reader.error(codes::BAD_OPERATION, body.name_span, message);
    }
    Promotion { span: body.name_span, source }
}

fn component(reader: &mut Reader<'_>, body: &Body<'_>) -> Component {
    let what = format!("the component `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    if let Some(mapping) = mapping {
        reader.entry_keys(mapping, keys::COMPONENT.names, "a component", &what);
    }
    let field = |key: &str| mapping.and_then(|mapping| mapping.get(key));
    let kind = component_type(reader, field("type"), body, &what);
    let mut value = |key: &str| {
        let node = field(key).filter(|node| !node.is_null())?;
        Some(Value::read(reader.source, node, reader.diagnostics))
    };
    let quantity = value("quantity");
    let protect = field("protect").is_some_and(|node| reader.flag(node, "`protect`"));
    let cluster = field("cluster").and_then(|node| cluster(reader, node)).map(Box::new);
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
    let depends_on = field("depends-on").map(|node| dependencies(reader, node)).unwrap_or_default();
    let is_reported = kind.is_some() || reader.around.has_placeholders();
    let placeholder = open_placeholder(field("type"), is_reported).map(Box::new);
    let component = Component {
        name_span: body.name_span,
        kind,
        placeholder,
        protect,
        quantity,
        cluster,
        update: None,
        depends_on,
        properties,
    };
    let update = field("update").and_then(|node| update(reader, node, &component, &what));
    Component { update, ..component }
}

/// Reads the key `depends-on`: a list of names of components, or one name.
fn dependencies(reader: &mut Reader<'_>, node: &Node) -> Vec<Spanned<ComponentName>> {
    let items: Vec<&Node> = match node.as_sequence() {
        Some(items) => items.iter().collect(),
        None if node.is_null() => Vec::new(),
        None => vec![node],
    };
    let mut component = |item: &&Node| {
        let text = reader.text(item, "an entry of `depends-on`")?;
        reader.parse_text(&text.value, text.span, codes::NAME)
    };
    items.iter().filter_map(&mut component).collect()
}

fn component_type(
    reader: &mut Reader<'_>,
    node: Option<&Node>,
    body: &Body<'_>,
    what: &str,
) -> Option<Spanned<DescriptorName>> {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        missing_type(reader, body, what, "resource::web_server::1.0");
        return None;
    };
    let text = reader.text(node, "`type`")?;
    match placeholder(reader, &text) {
        Placeholder::Name(name) => return Some(Spanned { value: name, span: text.span }),
        Placeholder::Open => return None,
        Placeholder::None => {}
    }
    match text.value.parse::<DescriptorName>() {
        Ok(value) => Some(Spanned { value, span: text.span }),
        Err(NameError::Version(VersionError::RangeForVersion(range))) => {
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
            reader.bad_name(codes::BAD_TYPE, &text, &error);
            None
        }
    }
}

/// Reports an entry that has no `type`, or no content at all.
fn missing_type(reader: &mut Reader<'_>, body: &Body<'_>, what: &str, example: &str) {
    if body.node.as_mapping().is_none() && !body.node.is_null() {
        return;
    }
    reader.say(Severity::Error, |source| {
        let (code, message) = match body.node.as_mapping() {
            None => (codes::EMPTY_ENTRY, format!("{what} is empty")),
            Some(_) => (codes::MISSING_TYPE, format!("{what} has no `type`")),
        };
        Diagnostic::error(code, message)
            .at(source.place(body.name_span))
            .help(format!("name its descriptor, as `type: {example}`"))
    });
}

/// The meaning of a `type`. A `type` may be a placeholder for the name of a descriptor. The tool `lmctl` inserts this
/// name when `lmctl` builds a package.
enum Placeholder {
    /// The `type` is no placeholder.
    None,
    /// The `type` is a placeholder for this name.
    Name(DescriptorName),
    /// The `type` is a placeholder, and the project supplies no descriptor name for it.
    Open,
}

/// Tells whether a `type` is a placeholder, and for which descriptor name the placeholder stands. The project supplies
/// these names; see [`Surroundings`](crate::Surroundings).
///
/// If the project supplies no name for the placeholder, that is an error. In a project that contains other projects,
/// this function reports the error, and lists the valid placeholders. In every other project, the later
/// [`check`](mod@crate::check) reports the error.
fn placeholder(reader: &mut Reader<'_>, text: &Spanned<String>) -> Placeholder {
    if !text.value.starts_with(PLACEHOLDER) {
        return Placeholder::None;
    }
    if let Some(name) = reader.around.resolve(&text.value) {
        return Placeholder::Name(name.clone());
    }
    if reader.around.has_placeholders() && !reader.diagnostics.leaves_out(Severity::Error) {
        let known = reader.around.placeholders();
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let diagnostic = Diagnostic::error(
            codes::PLACEHOLDER,
            format!("`{}` names nothing that the project contains", text.value),
        )
        .at(reader.place(text.span))
        .help(format!("the project contains {}", listed(&names)));
        let near = suggest(inner(&text.value), names.iter().map(|name| inner(name)));
        let near = near.and_then(|near| names.iter().find(|name| inner(name) == near));
        reader.diagnostics.push(match near {
            Some(near) => did_you_mean(diagnostic, &text.value, [*near]),
            None => diagnostic,
        });
    }
    Placeholder::Open
}

/// Returns the part of a placeholder that names a project: `web` in `$lmctl:/contains:/web:/descriptor_name`.
fn inner(placeholder: &str) -> &str {
    let inner = placeholder.strip_prefix(PLACEHOLDER).unwrap_or(placeholder).trim_start_matches('/');
    let inner = inner.strip_prefix("contains:/").unwrap_or(inner);
    inner.strip_suffix(":/descriptor_name").unwrap_or(inner)
}

fn cluster(reader: &mut Reader<'_>, node: &Node) -> Option<ClusterDecl> {
    let mapping = reader.mapping(node, "`cluster`")?;
    reader.unknown_keys(mapping, keys::CLUSTER.names, "a cluster");
    let mut value = |key: &str| {
        let node = get(mapping, key).filter(|node| !node.is_null())?;
        Some(Value::read(reader.source, node, reader.diagnostics))
    };
    let initial = value("initial-quantity");
    let minimum = value("minimum-nodes");
    let maximum = value("maximum-nodes");
    let increment = value("scaling-increment");
    let list = value("each");
    let key = get(mapping, "key").filter(|node| !node.is_null());
    let key_text = key.and_then(|node| reader.text(node, "`key`"));
    let each = list.map(|list| {
        let default = || Spanned { value: "name".to_owned(), span: list.span };
        EachDecl { key: key_text.unwrap_or_else(default), list }
    });
    if each.is_some() {
        for bound in [&initial, &minimum, &maximum, &increment].into_iter().flatten() {
            reader.say(Severity::Error, |source| {
                let message = "a cluster with `each` has as many nodes as its list has entries";
                Diagnostic::error(codes::BAD_EACH, message)
                    .at(source.place(bound.span))
                    .help("remove this bound, or `each`")
            });
        }
    } else if let Some(key) = key {
        reader.say(Severity::Error, |source| {
            Diagnostic::error(codes::BAD_EACH, "`key` has a meaning only beside `each`")
                .at(source.place(key.span()))
                .help("name the list of nodes, as `each: '${hosts}'`")
        });
    }
    Some(ClusterDecl { span: node.span(), initial, minimum, maximum, increment, each })
}

/// Reads the key `update` of a component. `what` names the component in messages. Returns `None` if the value of the
/// key is not a mapping.
fn update(reader: &mut Reader<'_>, node: &Node, component: &Component, what: &str) -> Option<Update> {
    let mapping = reader.mapping(node, "`update`")?;
    reader.wrong_keys(mapping, keys::UPDATE.names, "an update");
    if !component.is_plural() {
        reader.say(Severity::Error, |source| {
            let message = format!("{what} has one node, so it can't be updated in batches");
            Diagnostic::error(codes::BAD_UPDATE, message)
                .at(source.place(node.span()))
                .help("add `quantity` or `cluster`, or remove `update`")
        });
    }
    let field = |key: &str| get(mapping, key).filter(|node| !node.is_null());
    let mut update = Update::default();
    if let Some(text) = field("max-unavailable").and_then(|node| reader.text(node, "`max-unavailable`")) {
        match text.value.parse() {
            Ok(count) => update.max_unavailable = Some(count),
            Err(error) => reader.error(codes::BAD_UPDATE, text.span, error.to_string()),
        }
    }
    if let Some(text) = field("max-surge").and_then(|node| reader.text(node, "`max-surge`")) {
        match text.value.parse() {
            Ok(count) => update.max_surge = Some(count),
            Err(error) => reader.error(codes::BAD_UPDATE, text.span, error.to_string()),
        }
        if component.each().is_some() {
            reader.say(Severity::Error, |source| {
                let message = format!("{what} has a node for each entry of a list, so it can't have more");
                Diagnostic::error(codes::BAD_UPDATE, message)
                    .at(source.place(text.span))
                    .help("remove `max-surge`, or add an entry to the list")
            });
        }
    }
    if let Some(text) = field("pause").and_then(|node| reader.text(node, "`pause`")) {
        match text.value.parse() {
            Ok(pause) => update.pause = Some(pause),
            Err(error) => reader.error(codes::BAD_UPDATE, text.span, error.to_string()),
        }
    }
    if let Some(text) = field("on-failure").and_then(|node| reader.text(node, "`on-failure`")) {
        match text.value.parse() {
            Ok(reaction) => update.on_failure = reaction,
            Err(error) => {
                reader.bad_word(codes::BAD_UPDATE, &text, &error.to_string(), &OnFailure::WORDS);
            }
        }
    }
    Some(update)
}

fn reference(reader: &mut Reader<'_>, body: &Body<'_>) -> ReferenceDecl {
    let what = format!("the reference `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    if let Some(mapping) = mapping {
        reader.entry_keys(mapping, keys::REFERENCE.names, "a reference", &what);
    }
    let field = |key: &str| mapping.and_then(|mapping| mapping.get(key));
    if field("type").is_none_or(Node::is_null) {
        missing_type(reader, body, &what, "assembly::storage::^1.0");
    }
    let text = field("type").and_then(|node| reader.text(node, "`type`"));
    let kind = text.and_then(|text| reference_type(reader, &text));
    let properties = read_properties(reader, field("properties"), Dots::Tolerated);
    let is_reported = kind.is_some() || reader.around.has_placeholders();
    let placeholder = open_placeholder(field("type"), is_reported).map(Box::new);
    ReferenceDecl { name_span: body.name_span, kind, placeholder, properties }
}

/// Returns the `type` of a component or reference if the `type` is a placeholder that [`check`](mod@crate::check) must
/// report later.
///
/// If `is_reported` is true, nothing is left to report, and the function returns `None`: the `type` is known, or an
/// error about the `type` was already reported.
fn open_placeholder(node: Option<&Node>, is_reported: bool) -> Option<Spanned<String>> {
    let node = node.filter(|_| !is_reported)?;
    let text = node.as_str().filter(|text| text.starts_with(PLACEHOLDER))?;
    Some(Spanned { value: text.to_owned(), span: node.span() })
}

fn reference_type(reader: &mut Reader<'_>, text: &Spanned<String>) -> Option<Spanned<ReferenceType>> {
    if let Placeholder::Name(name) = placeholder(reader, text) {
        let versions = name.version.to_string().parse().ok()?;
        let value = ReferenceType { kind: name.kind, name: name.name.clone(), versions };
        return Some(Spanned { value, span: text.span });
    }
    if text.value.starts_with(PLACEHOLDER) {
        return None;
    }
    let parts: Vec<&str> = text.value.split("::").collect();
    let [kind, name, versions] = parts[..] else {
        let message = format!(
            "`{}` is not of the form `kind::name::version`, as `assembly::shop::^1.0` is",
            text.value
        );
        let diagnostic = Diagnostic::error(codes::BAD_TYPE, message).at(reader.place(text.span));
        reader.diagnostics.push(diagnostic);
        return None;
    };
    let kind = reader.parse_text(kind, text.span, codes::BAD_TYPE)?;
    let name = reader.parse_text(name, text.span, codes::BAD_TYPE)?;
    let versions = reader.parse_text(versions, text.span, codes::BAD_TYPE)?;
    let value = ReferenceType { kind: kind.value, name: name.value, versions: versions.value };
    Some(Spanned { value, span: text.span })
}

fn relationship(reader: &mut Reader<'_>, body: &Body<'_>) -> RelationshipDecl {
    let what = format!("the relationship `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    if let Some(mapping) = mapping {
        reader.entry_keys(mapping, keys::RELATIONSHIP.names, "a relationship", &what);
    }
    if body.node.is_null() {
        reader.error(codes::EMPTY_ENTRY, body.name_span, format!("{what} is empty"));
    }
    let field = |key: &str| mapping.and_then(|mapping| get(mapping, key));
    let sources = endpoints(reader, field("source-capabilities"), body, "source-capabilities");
    let targets = endpoints(reader, field("target-requirements"), body, "target-requirements");
    let ends = Ends::new(&sources, &targets);
    let lifecycle = field("lifecycle").and_then(|node| reader.mapping(node, "`lifecycle`"));
    if let Some(lifecycle) = lifecycle {
        reader.wrong_keys(lifecycle, keys::RELATIONSHIP_LIFECYCLE.names, "the lifecycle of a relationship");
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
    if body.node.as_mapping().is_none() {
        return Vec::new();
    }
    let Some(node) = node.filter(|node| !node.is_null()) else {
        let message = format!("the relationship `{}` has no `{key}`", body.name);
        reader.error(codes::BAD_ENDPOINT, body.name_span, message);
        return Vec::new();
    };
    let items: Vec<&Node> = match node.as_sequence() {
        Some(items) => items.iter().collect(),
        None => vec![node],
    };
    if items.is_empty() {
        let message =
            format!("the relationship `{}` has no entry in `{key}`, so it relates nothing", body.name);
        reader.error(codes::BAD_ENDPOINT, node.span(), message);
    }
    items.into_iter().filter_map(|item| endpoint(reader, item, key)).collect()
}

fn endpoint(reader: &mut Reader<'_>, node: &Node, key: &str) -> Option<Spanned<EndpointDecl>> {
    if node.is_null() {
        let diagnostic = Diagnostic::error(codes::EMPTY_ENTRY, format!("an entry of `{key}` is empty"))
            .at(reader.place(node.span()))
            .help("name a component, as `web.url`, or remove the entry");
        reader.diagnostics.push(diagnostic);
        return None;
    }
    let text = reader.text(node, &format!("an entry of `{key}`"))?;
    let (component, capability) = match text.value.split_once('.') {
        Some((component, capability)) => (component, Some(capability.to_owned())),
        None => (text.value.as_str(), None),
    };
    let component = reader.parse_text(component, text.span, codes::BAD_ENDPOINT)?.value;
    Some(Spanned { value: EndpointDecl { component, capability }, span: text.span })
}

fn state(reader: &mut Reader<'_>, node: Option<&Node>, body: &Body<'_>, key: &str) -> State {
    if body.node.as_mapping().is_none() {
        return State::Active;
    }
    let Some(node) = node.filter(|node| !node.is_null()) else {
        let diagnostic =
            Diagnostic::error(codes::BAD_STATE, format!("the relationship `{}` has no `{key}`", body.name))
                .at(reader.place(body.name_span))
                .help("write `Installed`, `Inactive` or `Active`");
        reader.diagnostics.push(diagnostic);
        return State::Active;
    };
    let Some(text) = reader.text(node, &format!("`{key}`")) else { return State::Active };
    let words = ["Installed", "Inactive", "Active"];
    text.value.parse().unwrap_or_else(|error: WordError| {
        reader.bad_word(codes::BAD_STATE, &text, &error.to_string(), &words);
        let meant = words.into_iter().find(|word| word.eq_ignore_ascii_case(&text.value));
        meant.and_then(|word| word.parse().ok()).unwrap_or(State::Active)
    })
}

fn modifier(reader: &mut Reader<'_>, node: Option<&Node>, default: Modifier) -> Modifier {
    let Some(text) = node.and_then(|node| reader.text(node, "a state modifier")) else { return default };
    text.value.parse().unwrap_or_else(|error: WordError| {
        reader.bad_word(codes::BAD_STATE, &text, &error.to_string(), &["pre", "post"]);
        default
    })
}

/// The words that can stand before the dot in an operation of a relationship, such as `source.Register`: `source`,
/// `target`, and the names of the components that the relationship connects. The value tells whether the word means
/// the source or the target.
struct Ends<'a>(IndexMap<&'a str, End>);

impl<'a> Ends<'a> {
    fn new(sources: &'a [Spanned<EndpointDecl>], targets: &'a [Spanned<EndpointDecl>]) -> Self {
        let mut words = IndexMap::from([("source", End::Source), ("target", End::Target)]);
        for (ends, end) in [(sources, End::Source), (targets, End::Target)] {
            for named in ends {
                words.entry(named.value.component.as_str()).or_insert(end);
            }
        }
        Self(words)
    }
}

fn operation_calls(
    reader: &mut Reader<'_>,
    node: Option<&Node>,
    ends: &Ends<'_>,
) -> Vec<Spanned<OperationCall>> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Vec::new() };
    let Some(items) = node.as_sequence() else {
        let message =
            format!("the operations of a relationship must be a list, and this is {}", node.describe());
        let mut diagnostic = Diagnostic::error(codes::WRONG_SORT, message).at(reader.place(node.span()));
        if let Some(one) = node.as_str() {
            diagnostic = diagnostic.help(format!("write `[{one}]`"));
        }
        reader.diagnostics.push(diagnostic);
        return Vec::new();
    };
    items.iter().filter_map(|item| operation_call(reader, item, ends)).collect()
}

fn operation_call(reader: &mut Reader<'_>, node: &Node, ends: &Ends<'_>) -> Option<Spanned<OperationCall>> {
    let text = reader.text(node, "an operation")?;
    let parts = text.value.split_once('.');
    let call = parts.and_then(|(end, name)| {
        Some(OperationCall { end: *ends.0.get(end)?, operation: name.parse().ok()? })
    });
    if call.is_none() && !reader.diagnostics.leaves_out(Severity::Error) {
        let message = format!("`{}` names no operation of an end of the relationship", text.value);
        let diagnostic = Diagnostic::error(codes::BAD_OPERATION, message)
            .at(reader.place(text.span))
            .help("write `source.<operation>` or `target.<operation>`");
        let end = parts.map_or("", |(end, _)| end);
        reader.diagnostics.push(did_you_mean(diagnostic, end, ends.0.keys().copied()));
    }
    call.map(|value| Spanned { value, span: text.span })
}
