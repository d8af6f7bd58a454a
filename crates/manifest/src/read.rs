//! Reads a manifest from its text.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::pins::{Name, PinId, PinType, Record, Signature};
use windlass_source::{
    Diagnostic, Diagnostics, Entry, LoadOptions, Mapping, Node, Severity, Source, Span, Spanned, load_one,
};

use crate::codes;
use crate::document::{
    Binding, Component, ComponentType, Composite, Configuration, ExposedInterface, ExposedPin, Interface,
    Leaf, Manifest, Parameter, Pin, Presentation, Setting,
};
use crate::grammar::{PinText, Target};
use crate::report::{Report, choose};

/// Keys of a composite, which is a component that contains other components.
const COMPOSITE: [&str; 5] = ["type", "configuration", "interfaces", "components", "bindings"];

/// Keys of a leaf, which is a component that has a type and contains no other components.
const LEAF: [&str; 4] = ["type", "configuration", "interfaces", "required"];

/// Keys of a pin that is written as a mapping.
const PIN: [&str; 6] = ["type", "name", "suggestions", "arguments", "results", "sensitive"];

/// Keys of the description of a command's argument or result.
const PARAMETER: [&str; 3] = ["name", "default", "suggestions"];

/// The result of reading: the readable part of a manifest, and all problems.
#[derive(Debug, Clone)]
#[must_use]
pub struct Read {
    /// The manifest; `None` if the document has no mapping `application`.
    pub manifest: Option<Manifest>,
    /// Problems, in the order of their places.
    pub diagnostics: Diagnostics,
}

/// Tells whether a text is meant as a manifest: a line of the text begins with the key `application`. At the beginning
/// of the text, blanks and `{` may precede the key, as in the JSON text `{"application": …}`.
///
/// The text may contain mistakes. The key distinguishes manifests from descriptors, because descriptors never contain
/// this key.
pub fn is_manifest(text: &str) -> bool {
    let is_key = |text: &str| {
        let key = text.trim_start_matches(['"', '\'']).strip_prefix("application");
        key.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    let begin = text.trim_start().trim_start_matches('{').trim_start();
    is_key(begin) || text.lines().any(is_key)
}

/// Reads a manifest. An invalid document still yields its readable parts.
pub fn read(source: &Arc<Source>) -> Read {
    let loaded = load_one(source, &LoadOptions::default());
    let mut diagnostics = loaded.diagnostics;
    let mut found = Diagnostics::new();
    let mut report = Report { source, diagnostics: &mut found };
    let manifest = loaded.root.as_ref().and_then(|root| read_root(&mut report, root));
    // Errors at the place of a syntax error are consequences of the syntax error, and are dropped.
    let start = |said: &Diagnostic| said.place().map(|place| place.span().start);
    let broken: BTreeSet<u32> = diagnostics.iter().filter(|said| said.is_error()).filter_map(start).collect();
    diagnostics.extend(found.into_iter().filter(|said| start(said).is_none_or(|at| !broken.contains(&at))));
    if loaded.root.is_none() && !diagnostics.has_errors() {
        let message = "the document is empty, and a manifest is a mapping with `application`";
        diagnostics.push(Diagnostic::error(codes::NOT_A_MANIFEST, message).at(source.place(Span::default())));
    }
    diagnostics.sort();
    Read { manifest, diagnostics }
}

fn read_root(report: &mut Report<'_>, root: &Node) -> Option<Manifest> {
    let Some(entry) = root.as_mapping().and_then(|mapping| mapping.entry("application")) else {
        let line = report.source.position(root.span().start).line;
        let first = report.source.line(line).unwrap_or_default();
        let message = format!(
            "a manifest is a mapping with `application`, and this is {}",
            match root.as_mapping() {
                Some(_) => "a mapping without it",
                None => root.describe(),
            }
        );
        report.error(codes::NOT_A_MANIFEST, first, message);
        return None;
    };
    if let Some(mapping) = root.as_mapping() {
        report.unknown_keys(mapping, &["application"], "a manifest");
    }
    let Some(body) = entry.value.as_mapping() else {
        report.wrong_sort(&entry.value, "`application`", "a mapping");
        return None;
    };
    if let Some(kind) = body.entry("type").filter(|_| body.get("components").is_none()) {
        let message = "`application` is a composition: its component stands below `components`";
        report.error(codes::MISSING_PART, kind.key.span(), message);
    } else if body.get("components").is_none_or(Node::is_null) {
        report.error(codes::MISSING_PART, entry.key.span(), "`application` has no `components`");
    }
    let application = composite(report, body, "`application`");
    Some(Manifest { source: report.source.clone(), span: entry.key.span(), application })
}

fn composite(report: &mut Report<'_>, body: &Mapping, what: &str) -> Composite {
    report.unknown_keys(body, &COMPOSITE, what);
    let (components, unread) = section(report, body, "components", component);
    let (bindings, has_unread_bindings) = bindings(report, body.get("bindings"));
    Composite {
        kind: component_type(report, body),
        configuration: configuration(report, body.get("configuration")),
        interfaces: section(report, body, "interfaces", |report, entry| {
            Some(exposed_interface(report, entry))
        })
        .0,
        components,
        unread,
        bindings,
        has_unread_bindings,
    }
}

/// Reads a section whose keys are names. Returns the entries, and the names of entries that could not be
/// read.
fn section<V>(
    report: &mut Report<'_>,
    body: &Mapping,
    key: &str,
    read: impl Fn(&mut Report<'_>, &Entry) -> Option<V>,
) -> (IndexMap<Name, V>, Vec<Name>) {
    let mapping = body.get(key).and_then(|node| report.mapping(node, &format!("`{key}`")));
    let (mut found, mut unread) = (IndexMap::new(), Vec::new());
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let name = report.key::<Name>(&entry.key);
        match (read(report, entry), name) {
            (Some(value), Some(name)) => drop(found.insert(name, value)),
            (None, Some(name)) => unread.push(name),
            (_, None) => {}
        }
    }
    (found, unread)
}

fn component_type(report: &mut Report<'_>, body: &Mapping) -> Option<Spanned<ComponentType>> {
    let node = body.get("type")?;
    let text = report.text(node, "`type`")?;
    Some(Spanned { value: ComponentType::from_word(text), span: node.span() })
}

fn component(report: &mut Report<'_>, entry: &Entry) -> Option<Component> {
    let name = entry.key.text();
    let Some(body) = entry.value.as_mapping() else {
        report.wrong_sort(&entry.value, &format!("component `{name}`"), "a mapping");
        return None;
    };
    let what = format!("component `{name}`");
    if body.get("components").is_some() {
        return Some(Component::Composite(composite(report, body, &what)));
    }
    let Some(kind) = component_type(report, body) else {
        let message = format!("component `{name}` has neither `type` nor `components`");
        report.say(Severity::Error, codes::MISSING_PART, entry.key.span(), message, |said| {
            said.help("a component that scripts manage has `type: scripted.Component`")
        });
        return None;
    };
    report.unknown_keys(body, &LEAF, &what);
    let required = report.list(body.get("required"), "`required`").iter().filter_map(|item| {
        let text = report.text(item, "a required interface")?;
        match text.parse() {
            Ok(value) => Some(Spanned { value, span: item.span() }),
            Err(error) => {
                report.error(codes::NAME, item.span(), format!("{error}"));
                None
            }
        }
    });
    let required = required.collect();
    Some(Component::Leaf(Leaf {
        span: entry.key.span(),
        kind,
        configuration: configuration(report, body.get("configuration")),
        interfaces: section(report, body, "interfaces", |report, entry| Some(interface(report, entry))).0,
        required,
    }))
}

fn configuration(report: &mut Report<'_>, node: Option<&Node>) -> Configuration {
    let mapping = node.and_then(|node| report.mapping(node, "`configuration`"));
    let mut found = Configuration::new();
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let (text, span) = (entry.key.text(), entry.key.span());
        match text.parse::<PinId>() {
            Ok(id) => drop(found.insert(id, Setting { span, value: entry.value.clone() })),
            Err(error) => report.say(Severity::Error, codes::PIN_ID, span, error.to_string(), |said| {
                let inner = entry.value.as_mapping().and_then(|inner| inner.keys().next());
                match inner.filter(|_| text.parse::<Name>().is_ok()) {
                    Some(inner) => {
                        said.help(format!("write each pin on a line of its own: `{text}.{inner}: …`"))
                    }
                    None => said,
                }
            }),
        }
    }
    found
}

fn exposed_interface(report: &mut Report<'_>, entry: &Entry) -> ExposedInterface {
    let mapping = report.mapping(&entry.value, &format!("interface `{}`", entry.key.text()));
    let mut found = ExposedInterface { span: entry.key.span(), ..ExposedInterface::default() };
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let is_wildcard = entry.key.text() == "*";
        let name = if is_wildcard { None } else { report.key::<Name>(&entry.key) };
        match (exposed_pin(report, entry), name) {
            (Some(pin), Some(name)) => drop(found.pins.insert(name, pin)),
            (None, Some(name)) => found.unread.push(name),
            (pin, None) if is_wildcard => found.wildcard = pin,
            (_, None) => {}
        }
    }
    found
}

/// Returns the node in which the type of a pin is written, and the mapping that contains this node.
///
/// A pin is written as `zone: configuration(string)` or as `zone: {type: configuration(string), sensitive: true}`.
/// The first form has no mapping, so the mapping is `None`.
fn pin_parts<'n>(report: &mut Report<'_>, entry: &'n Entry) -> Option<(&'n Node, Option<&'n Mapping>)> {
    let name = entry.key.text();
    let body = entry.value.as_mapping();
    if let Some(body) = body {
        report.unknown_keys(body, &PIN, &format!("pin `{name}`"));
    }
    let text = body.map_or(Some(&entry.value), |body| body.get("type"));
    let text = text.filter(|node| !node.is_null());
    if text.is_none() {
        report.error(codes::BAD_PIN, entry.key.span(), format!("pin `{name}` has no type"));
    }
    Some((text?, body))
}

fn exposed_pin(report: &mut Report<'_>, entry: &Entry) -> Option<ExposedPin> {
    let (node, body) = pin_parts(report, entry)?;
    let name = entry.key.text();
    let found = report.grammar::<PinText>(node, &format!("pin `{name}`"), codes::BAD_PIN)?;
    let PinText::Bind(pins) = found.value else {
        let message =
            format!("pin `{name}` of a composition exposes a pin of a component, and this is a type");
        report.say(Severity::Error, codes::MISPLACED_PIN, found.span, message, |said| {
            said.help(format!("write `bind(component#interface.{name})`"))
        });
        return None;
    };
    let inside = node.inside(report.source);
    let targets = pins.into_iter().map(|(value, range)| Spanned { value, span: inside.span(range) });
    let targets: Vec<_> = targets.collect();
    let is_wildcard = name == "*";
    if let Some(wrong) = targets.iter().find(|target| target.value.pin.is_none() != is_wildcard) {
        let message = if is_wildcard {
            format!("`\"*\"` stands for all pins of an interface, and `{}` is one pin", wrong.value)
        } else {
            format!("`{name}` is one pin, and `{}` stands for all pins of an interface", wrong.value)
        };
        let help = if is_wildcard { "end it with `.*`" } else { "name the pin, or write `\"*\"` as the key" };
        report.say(Severity::Error, codes::BAD_BIND, wrong.span, message, |said| said.help(help));
        return None;
    }
    Some(ExposedPin { span: entry.key.span(), targets, presentation: presentation(report, body) })
}

fn interface(report: &mut Report<'_>, entry: &Entry) -> Interface {
    let mapping = report.mapping(&entry.value, &format!("interface `{}`", entry.key.text()));
    let mut found = Interface { span: entry.key.span(), ..Interface::default() };
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let name = report.key::<Name>(&entry.key);
        match (pin(report, entry), name) {
            (Some(pin), Some(name)) => drop(found.pins.insert(name, pin)),
            (None, Some(name)) => found.unread.push(name),
            (_, None) => {}
        }
    }
    found
}

fn pin(report: &mut Report<'_>, entry: &Entry) -> Option<Pin> {
    let (node, body) = pin_parts(report, entry)?;
    let name = entry.key.text();
    let found = report.grammar::<PinText>(node, &format!("pin `{name}`"), codes::BAD_PIN)?;
    let PinText::Declared(kind) = found.value else {
        let message = format!("pin `{name}` of a component has a type, and this is `bind(…)`");
        report.say(Severity::Error, codes::MISPLACED_PIN, found.span, message, |said| {
            said.help("only a composition, which has `components`, exposes pins by `bind(…)`")
        });
        return None;
    };
    let no_signature = Signature::default();
    let (is_command, signature) = match &kind {
        PinType::ReceiveCommand(signature) | PinType::SendCommand(signature) => (true, signature),
        _ => (false, &no_signature),
    };
    let field = |key: &str| body.and_then(|body| body.entry(key));
    for key in ["arguments", "results"] {
        if let Some(entry) = field(key).filter(|_| !is_command) {
            report.error(
                codes::UNKNOWN_ARGUMENT,
                entry.key.span(),
                format!("a `{}` has no `{key}`", kind.kind()),
            );
        }
    }
    let mut sensitive = false;
    if let Some(entry) = field("sensitive") {
        sensitive = report.flag(&entry.value, "`sensitive`");
        if sensitive && kind.as_configuration().is_none() {
            sensitive = false;
            let message =
                format!("only configuration pins are `sensitive`, and `{name}` is a `{}`", kind.kind());
            report.error(codes::NOT_CONFIGURATION, entry.key.span(), message);
        }
    }
    let values = |key: &str| field(key).filter(|_| is_command).map(|entry| &entry.value);
    Some(Pin {
        span: entry.key.span(),
        presentation: presentation(report, body),
        arguments: parameters(report, values("arguments"), &[&signature.arguments], "argument"),
        results: parameters(
            report,
            values("results"),
            &signature.progress.iter().chain([&signature.results]).collect::<Vec<_>>(),
            "result",
        ),
        kind: Spanned { value: kind, span: found.span },
        sensitive,
    })
}

/// Reads the descriptions of arguments or results. `declared` contains the fields of the pin's signature.
fn parameters(
    report: &mut Report<'_>,
    node: Option<&Node>,
    declared: &[&Record],
    what: &str,
) -> IndexMap<Name, Parameter> {
    let mapping = node.and_then(|node| report.mapping(node, "a list of arguments or results"));
    let mut found = IndexMap::new();
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        let (word, span) = (entry.key.text(), entry.key.span());
        let Some(name) = report.key::<Name>(&entry.key) else { continue };
        if !declared.iter().any(|record| record.0.contains_key(&name)) {
            let message = format!("the command has no {what} `{word}`");
            report.say(Severity::Error, codes::UNKNOWN_ARGUMENT, span, message, |said| {
                choose(said, word, declared.iter().flat_map(|record| record.0.keys()).map(Name::as_str))
            });
            continue;
        }
        let body = report.mapping(&entry.value, &format!("`{word}`"));
        if let Some(body) = body {
            report.unknown_keys(body, &PARAMETER, &format!("{what} `{word}`"));
        }
        let default = body.and_then(|body| body.get("default")).cloned();
        found.insert(name, Parameter { span, default, presentation: presentation(report, body) });
    }
    found
}

fn presentation(report: &mut Report<'_>, body: Option<&Mapping>) -> Presentation {
    let Some(body) = body else { return Presentation::default() };
    let label = body.get("name").and_then(|node| report.text(node, "`name`")).map(str::to_owned);
    let suggestions = body.get("suggestions").and_then(|node| report.mapping(node, "`suggestions`"));
    let suggestions = suggestions.map(Mapping::entries).unwrap_or_default().iter();
    let suggestions = suggestions.map(|entry| (entry.key.text().to_owned(), entry.value.clone())).collect();
    Presentation { label, suggestions }
}

/// Reads the section `bindings` of a composition. Returns the bindings, and whether the section contains a binding
/// that could not be read.
fn bindings(report: &mut Report<'_>, node: Option<&Node>) -> (Vec<Binding>, bool) {
    let before = report.diagnostics.count(Severity::Error);
    let mut found = Vec::new();
    for node in report.list(node, "`bindings`") {
        let sides = report.list(Some(node), "a binding");
        let [one, other] = sides else {
            if node.is_null() || node.as_sequence().is_some() {
                let message = format!("a binding has two sides, and this has {}", sides.len());
                report.error(codes::BAD_BINDING, node.span(), message);
            }
            continue;
        };
        let mut side = |node| report.grammar::<Target>(node, "a side of a binding", codes::BAD_BINDING);
        if let (Some(one), Some(other)) = (side(one), side(other)) {
            found.push(Binding { span: node.span(), sides: [one, other] });
        }
    }
    (found, report.diagnostics.count(Severity::Error) > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_known_by_their_key() {
        let manifests = [
            "application:",
            "# a\napplication: {",
            "{application: {}}",
            " { \"application\": {}}",
            "'application' : a",
        ];
        for text in manifests {
            assert!(is_manifest(text), "{text}");
        }
        for text in ["name: assembly::a::1.0", "applications:", "a:\n  application: b", "application", ""] {
            assert!(!is_manifest(text), "{text}");
        }
    }
}
