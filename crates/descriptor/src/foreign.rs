//! Recognises documents that are no descriptor.
//!
//! If a page of text or the manifest of another tool were read as a descriptor, the result would be dozens of
//! errors. The only useful error is that the document is no descriptor. But a descriptor with mistakes must
//! keep all its errors. So a document counts as a descriptor if its `name` has the form of a descriptor's
//! name. A document also counts as a descriptor if it has a key such as `composition`, which is rare in other
//! documents.

use windlass_source::{Mapping, Node, Source, Span, suggest};

use crate::keys;
use crate::reader::canonical;

/// A document that is no descriptor, with its recognised type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Type of the document as a noun with its article, such as `a Kubernetes manifest`.
    pub(crate) what: String,
    /// Place of the text by which windlass recognised the type, such as the place of the key `kind`.
    pub(crate) span: Span,
    /// Help text that tells how windlass can use the document.
    pub(crate) help: Option<&'static str>,
}

impl Foreign {
    fn new(what: impl Into<String>, span: Span) -> Self {
        Self { what: what.into(), span, help: None }
    }

    fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }
}

/// Keys of descriptors that also occur in many other documents. So such a key does not show that a document is a
/// descriptor.
const COMMON: [&str; 10] = [
    "name",
    "description",
    "type",
    "properties",
    "metrics",
    "policies",
    "references",
    "template",
    "discover",
    "operations",
];

/// Recognises a document that is no descriptor. The caller has found errors in the document.
///
/// `broken` tells whether the YAML syntax of the document is invalid.
pub(crate) fn foreign(source: &Source, root: Option<&Node>, broken: bool) -> Option<Foreign> {
    if let Some(found) = by_text(source) {
        return Some(found);
    }
    match root.and_then(Node::as_mapping) {
        Some(mapping) if names_itself(mapping) => None,
        _ if is_page(source) => Some(Foreign::new("a page of text", source.line(1).unwrap_or_default())),
        Some(mapping) if has_own_key(mapping) => None,
        Some(mapping) => by_keys(source, mapping).or_else(|| by_strangeness(source, mapping)),
        None => root.and_then(by_items).or_else(|| by_lines(source).filter(|_| broken)),
    }
}

/// Tells whether the value of `name` in a document has the form of a descriptor's name.
fn names_itself(root: &Mapping) -> bool {
    let name = root.get("name").and_then(Node::as_str).unwrap_or_default();
    name.contains("::") || ["assembly:", "resource:"].iter().any(|kind| name.starts_with(kind))
}

/// Tells whether `key` is a key by which a descriptor can be recognised, such as `composition` at the top level.
/// The result is also `true` for a misspelling of such a key. The result is `false` for the keys in [`COMMON`],
/// which many other documents also have.
fn is_own(key: &str) -> bool {
    let own = || {
        let known = keys::ASSEMBLY.names.iter().chain(keys::RESOURCE.names);
        known.copied().filter(|known| !COMMON.contains(known))
    };
    own().any(|known| known == canonical(key)) || (key.len() > 4 && suggest(key, own()).is_some())
}

fn has_own_key(root: &Mapping) -> bool {
    root.keys().take(LOOKED_AT).any(is_own)
}

/// Maximum number of keys or lines that the functions of this module inspect.
const LOOKED_AT: usize = 1000;

/// Recognises scripts, XML and Markdown by their text.
fn by_text(source: &Source) -> Option<Foreign> {
    let text = source.text().trim_start_matches('\u{feff}');
    let first = source.line(1).unwrap_or_default();
    if let Some(interpreter) = text.strip_prefix("#!") {
        let program = interpreter.lines().next().unwrap_or_default().trim();
        return Some(Foreign::new(format!("a script for `{program}`"), first).help(
            "a script belongs to the package of a resource, and runs when an assembly with it comes up",
        ));
    }
    let begin = text.trim_start();
    if ["<?xml", "<!DOCTYPE", "<!doctype", "<html", "<svg"].iter().any(|mark| begin.starts_with(mark)) {
        return Some(Foreign::new("XML or HTML", first));
    }
    let fence = (1..=LOOKED_AT)
        .map_while(|line| source.line(line))
        .find(|span| source.slice(*span).starts_with("```"));
    fence.map(|fence| {
        Foreign::new("a page of Markdown", fence)
            .help("put the descriptor that stands between its fences, if one does, into a file of its own")
    })
}

/// Tells whether the file has the extension of a formatted text, such as `.md` for Markdown.
fn is_page(source: &Source) -> bool {
    [".md", ".markdown", ".rst", ".adoc"].iter().any(|end| source.name().ends_with(end))
}

/// Recognises documents of windlass and of other tools by the keys at the top level.
fn by_keys(source: &Source, root: &Mapping) -> Option<Foreign> {
    let at = |key: &str| root.entry(key).map(|entry| entry.key.span().to(entry.value.span()));
    let key = |key: &str| root.entry(key).map(|entry| entry.key.span());
    let text = |key: &str| root.get(key).and_then(Node::as_str);
    let file = source.name().rsplit('/').next().unwrap_or_default();
    if file == "windlass.yaml" || file == "windlass.yml" {
        let first = root.entries().first()?.key.span();
        return Some(
            Foreign::new("the file of a project", first)
                .help("name an assembly's descriptor or its folder; this file is found without being named"),
        );
    }
    if let (Some("windlass plan"), Some(span)) =
        (text("kind").filter(|_| text("digest").is_some()), at("kind"))
    {
        return Some(Foreign::new("a saved plan", span).help("`windlass apply FILE` carries it out"));
    }
    if let (Some("windlass assembly"), Some(span)) =
        (text("kind").filter(|_| text("digest").is_some()), at("kind"))
    {
        return Some(Foreign::new("an exported assembly", span).help("`windlass import FILE` takes it over"));
    }
    if let (Some(kind), Some(span), true) = (text("kind"), at("kind"), root.get("apiVersion").is_some()) {
        return Some(
            Foreign::new(format!("a Kubernetes manifest (`kind: {kind}`)"), span)
                .help("a resource whose scripts apply and delete it can be part of an assembly"),
        );
    }
    if root.get("services").and_then(Node::as_mapping).is_some_and(has_containers) {
        return Some(
            Foreign::new("a compose file of containers", key("services")?)
                .help("a resource whose scripts run `docker compose` with it can be part of an assembly"),
        );
    }
    if root.get("application").is_some_and(|application| application.as_mapping().is_some()) {
        return Some(
            Foreign::new("an application manifest", key("application")?)
                .help("`windlass check` checks it; an assembly is needed here"),
        );
    }
    let signs = [
        ("tosca_definitions_version", "a TOSCA template"),
        ("AWSTemplateFormatVersion", "a CloudFormation template"),
        ("heat_template_version", "a Heat template"),
        ("openapi", "a description of an API (OpenAPI)"),
        ("swagger", "a description of an API (Swagger)"),
        ("$schema", "a JSON Schema, or a document of one"),
        ("dependencies", "the manifest of a package of code"),
        ("jobs", "a workflow of a build server"),
        ("stages", "a workflow of a build server"),
        ("application", "an application manifest"),
    ];
    signs.into_iter().find_map(|(sign, what)| Some(Foreign::new(what, key(sign)?)))
}

fn has_containers(services: &Mapping) -> bool {
    let runs = |node: &Node| {
        node.as_mapping().is_some_and(|body| body.keys().any(|key| matches!(key, "image" | "build")))
    };
    services.entries().iter().any(|entry| runs(&entry.value))
}

/// Counts the unknown keys, to recognise a document that is no descriptor. A key is unknown if it is neither in
/// [`COMMON`] nor similar to a key in [`COMMON`]. At least two keys, and more than half of all keys, must be unknown.
fn by_strangeness(source: &Source, root: &Mapping) -> Option<Foreign> {
    const SHOWN: usize = 3;
    let is_common = |key: &str| COMMON.contains(&canonical(key)) || suggest(key, COMMON).is_some();
    let strange: Vec<&str> = root.keys().take(LOOKED_AT).filter(|key| !is_common(key)).collect();
    let common = root.len().min(LOOKED_AT) - strange.len();
    if strange.len() < 2 || strange.len() <= common {
        return None;
    }
    let first = root.entries().first()?.key.span();
    // A YAML parser also reads lines of plain text as a mapping, if they contain colons.
    if strange.iter().any(|key| key.contains(' ')) {
        return Some(Foreign::new("text", source.line(source.position(first.start).line)?));
    }
    let shown: Vec<String> = strange.iter().take(SHOWN).map(|key| format!("`{key}`")).collect();
    let more = if strange.len() > SHOWN { ", …" } else { "" };
    Some(Foreign::new(format!("a document of another sort, with {}{more}", shown.join(", ")), first))
}

/// Recognises an Ansible playbook by the keys of its first entry. A playbook is a list.
fn by_items(root: &Node) -> Option<Foreign> {
    let first = root.as_sequence()?.first()?.as_mapping()?;
    let entry = ["hosts", "tasks", "roles"].into_iter().find_map(|key| first.entry(key))?;
    Some(
        Foreign::new("a playbook of Ansible", entry.key.span())
            .help("a resource whose scripts run it can be part of an assembly"),
    )
}

/// Recognises plain text: several lines, none of which begins like a line of a descriptor.
fn by_lines(source: &Source) -> Option<Foreign> {
    let mut lines = source.text().lines().take(LOOKED_AT);
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#') || line == "---";
    // A single line is not recognised here, because the error about it describes its content.
    lines.clone().filter(|line| !is_blank(line)).nth(1)?;
    let begins = |line: &str| {
        let bare = line.trim_start_matches([' ', '\t', '-', '{', '"', '\'']);
        let key = bare.split([':', '"', '\'']).next().unwrap_or_default().trim_end();
        bare.len() > key.len() && (key == "name" || is_own(key))
    };
    let at = source.text().lines().position(|line| !is_blank(line)).unwrap_or_default();
    (!lines.any(begins)).then(|| Foreign::new("text", source.line(at + 1).unwrap_or_default()))
}
