//! Reads the descriptor of an assembly or a resource from its text.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_model::DescriptorName;
use windlass_model::name::DescriptorKind;
use windlass_source::{Diagnostic, Diagnostics, LoadOptions, Mapping, Node, Source, Span, load_one};

use crate::document::Descriptor;
use crate::foreign::{Foreign, foreign};
use crate::reader::{Reader, Spanned, get};
use crate::surroundings::Surroundings;
use crate::{assembly, codes, quotes, resource};

/// The result of reading a text: the parts of the descriptor that can be read, and all problems.
#[derive(Debug, Clone)]
pub struct Read {
    /// The descriptor; `None` if the text is no descriptor.
    pub descriptor: Option<Descriptor>,
    /// Problems, in the order of their places in the text.
    pub diagnostics: Diagnostics,
}

/// Reads a descriptor. If the text has errors, the parts without errors are read.
pub fn read(source: &Arc<Source>) -> Read {
    read_in(source, &Surroundings::default())
}

/// Reads a descriptor that belongs to a project. `around` contains the names that the text of the descriptor lacks
/// and the project supplies.
pub fn read_in(source: &Arc<Source>, around: &Surroundings) -> Read {
    let loaded = load_one(source, &LoadOptions::default());
    let mut diagnostics = loaded.diagnostics;
    if loaded.root.is_none() && diagnostics.is_empty() {
        return Read { descriptor: None, diagnostics: vec![empty(source)].into() };
    }
    let mut found = Diagnostics::new();
    let mut reader = Reader::new(source, around, &mut found);
    let descriptor = loaded.root.as_ref().and_then(|root| read_root(&mut reader, root));
    if let Some(said) = no_descriptor(source, loaded.root.as_ref(), &diagnostics, &found) {
        return Read { descriptor: None, diagnostics: vec![said].into() };
    }
    // An error at the same place as a syntax error is a consequence of the syntax error.
    let broken: BTreeSet<u32> = diagnostics.iter().filter(|said| said.is_error()).filter_map(start).collect();
    // An entry looks empty if its content is on a line with a syntax error.
    let lines: BTreeSet<usize> = broken.iter().map(|at| source.position(*at).line).collect();
    let emptied = |said: &Diagnostic| {
        let line = said.place().map(|place| place.start().line);
        said.code == codes::EMPTY_ENTRY && line.is_some_and(|at| lines.range(at..=at + 1).next().is_some())
    };
    // If the name was not found, it may stand in a part that could not be read. All messages about the
    // content of the descriptor are dropped then.
    let is_nameless =
        !broken.is_empty() && loaded.root.as_ref().is_none_or(|root| root.get("name").is_none());
    let follows = |said: &Diagnostic| {
        is_nameless || start(said).is_some_and(|at| broken.contains(&at)) || emptied(said)
    };
    diagnostics.extend(found.into_iter().filter(|said| !follows(said)));
    if let Some(root) = &loaded.root {
        quotes::warn(source, root, &mut diagnostics);
    }
    diagnostics.sort();
    Read { descriptor, diagnostics }
}

fn empty(source: &Source) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_DESCRIPTOR, format!("`{}` is empty", source.name()))
        .help("a descriptor begins with its name, such as `name: assembly::shop::1.0`")
}

/// Recognises a document that is no descriptor, for example a Kubernetes manifest, and returns an error about it.
/// The caller reports only this error, in place of all diagnostics in `loaded` and `found`. `loaded` contains the
/// diagnostics of the YAML loader, and `found` those of the reader of descriptors. If neither list contains an
/// error, the function returns `None`.
fn no_descriptor(
    source: &Arc<Source>,
    root: Option<&Node>,
    loaded: &Diagnostics,
    found: &Diagnostics,
) -> Option<Diagnostic> {
    let is_cut = loaded.iter().any(|said| said.code == windlass_source::codes::LIMIT);
    if is_cut || !(loaded.has_errors() || found.has_errors()) {
        return None;
    }
    let Foreign { what, span, help } = foreign(source, root, loaded.has_errors())?;
    let message = format!("this is not a descriptor: it looks like {what}");
    let help = help.unwrap_or("name the file that begins with `name: assembly::…`, or the folder it is in");
    Some(Diagnostic::error(codes::NOT_A_DESCRIPTOR, message).at(source.place(span)).help(help))
}

fn start(diagnostic: &Diagnostic) -> Option<u32> {
    diagnostic.place().map(|place| place.span().start)
}

fn read_root(reader: &mut Reader<'_>, root: &Node) -> Option<Descriptor> {
    let Some(mapping) = root.as_mapping() else {
        let line = reader.source.position(root.span().start).line;
        let first = reader.source.line(line).unwrap_or_default();
        reader.error(
            codes::NOT_A_DESCRIPTOR,
            Span::new(root.span().start, root.span().end.min(first.end)),
            format!("a descriptor is a mapping with a `name`, and this is {}", root.describe()),
        );
        return None;
    };
    if let Some((span, kind)) = other_kind(mapping) {
        let message = format!("this is a descriptor of the kind `{kind}`, of which windlass makes nothing");
        let diagnostic = Diagnostic::warning(codes::OTHER_KIND, message)
            .at(reader.place(span))
            .help("it is left unchecked; windlass reads `assembly` and `resource`");
        reader.diagnostics.push(diagnostic);
        return None;
    }
    let name = name(reader, root, mapping);
    let kind = name.as_ref().map(|name| name.value.kind);
    Some(match kind.unwrap_or_else(|| looks_like(reader, mapping)) {
        DescriptorKind::Assembly => Descriptor::Assembly(Arc::new(assembly::read(reader, mapping, name))),
        DescriptorKind::Resource => Descriptor::Resource(Arc::new(resource::read(reader, mapping, name))),
    })
}

/// Detects a descriptor of a kind that windlass does not process. Returns the place that shows the kind, and the
/// name of the kind, such as `assembly-template`.
fn other_kind(root: &Mapping) -> Option<(Span, &'static str)> {
    let name = root.get("name");
    let kind = name.and_then(Node::as_str).and_then(|name| name.split("::").next());
    let other = ["assembly-template", "resource-template", "type", "type-template"];
    if let (Some(name), Some(kind)) = (name, other.into_iter().find(|other| Some(*other) == kind)) {
        return Some((name.span(), kind));
    }
    let template =
        root.entry("template").filter(|entry| entry.value.as_str().is_some_and(|t| t.contains('\n')))?;
    name.is_none().then(|| (template.key.span(), other[0]))
}

/// Reads the name of the descriptor. If the text contains no name, but the project supplies a name, the function
/// returns this name, and warns of the missing name.
fn name(reader: &mut Reader<'_>, root: &Node, mapping: &Mapping) -> Option<Spanned<DescriptorName>> {
    let given = reader.around.name.clone();
    let first = mapping.entries().first().map_or(root.span(), |entry| entry.key.span());
    let Some(node) = get(mapping, "name").filter(|node| !node.is_null()) else {
        let span = mapping.entry("name").map_or(first, |entry| entry.key.span());
        let diagnostic = if let Some(name) = &given {
            let message = format!("the descriptor has no `name`; the project file makes it `{name}`");
            Diagnostic::warning(codes::MISSING_NAME, message).help(format!("write `name: {name}`"))
        } else {
            let example = format!("{}::shop::1.0", looks_like(reader, mapping));
            Diagnostic::error(codes::MISSING_NAME, "the descriptor has no `name`").help(format!(
                "begin it with a name, as `name: {example}`; a `lmproject.yml` above it gives one too"
            ))
        };
        let diagnostic = diagnostic.at(reader.place(span));
        reader.diagnostics.push(diagnostic);
        return given.map(|value| Spanned { value, span });
    };
    let text = reader.text(node, "`name`")?;
    let name = match text.value.parse::<DescriptorName>() {
        Ok(name) => name,
        Err(error) => {
            reader.bad_name(codes::NAME, &text, &error);
            return None;
        }
    };
    if let Some(given) = given.filter(|given| *given != name) {
        let message = format!("the project file makes this `{given}`, and it calls itself `{name}`");
        let diagnostic = Diagnostic::error(codes::OTHER_NAME, message)
            .at(reader.place(text.span))
            .help("leave the name out, or write the project's");
        reader.diagnostics.push(diagnostic);
    }
    Some(Spanned { value: name, span: text.span })
}

/// Guesses whether a descriptor is an assembly descriptor or a resource descriptor. The callers use this function
/// only if the name of the descriptor is missing or invalid.
fn looks_like(reader: &Reader<'_>, root: &Mapping) -> DescriptorKind {
    let name = root.get("name").and_then(Node::as_str).unwrap_or_default();
    let kinds = [DescriptorKind::Assembly, DescriptorKind::Resource];
    if let Some(kind) = kinds.into_iter().find(|kind| name.starts_with(&format!("{kind}:"))) {
        return kind;
    }
    let has = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
    if has(&["composition", "references", "relationships"]) {
        DescriptorKind::Assembly
    } else if has(&["lifecycle", "default-driver", "infrastructure", "queries"]) {
        DescriptorKind::Resource
    } else {
        // If the content does not show the kind, the name of the file decides.
        let file = reader.source.name().rsplit('/').next().unwrap_or_default();
        if file.starts_with("assembly.") { DescriptorKind::Assembly } else { DescriptorKind::Resource }
    }
}
