//! Builds [`Node`]s from the events of a parser, within limits. Anchors and aliases are resolved.

use std::collections::HashMap;
use std::sync::Arc;

use super::entries;
use super::options::{Limits, LoadOptions};
use super::report::Report;
use crate::{Diagnostic, Diagnostics, Entry, Key, Kind, Node, Scalar, Severity, Source, Span, Style, codes};

/// A signal that a limit was exceeded and reading must stop. The diagnostic is already recorded.
pub(super) struct Stop;

/// Bytes that are counted for a copied node in addition to its text.
const NODE_WEIGHT: usize = 64;

/// The documents under construction.
pub(super) struct Tree<'o> {
    options: &'o LoadOptions,
    open: Vec<Frame>,
    anchors: HashMap<usize, Built>,
    anchor_names: HashMap<Box<str>, Span>,
    nodes: usize,
    expanded: usize,
    documents: Vec<Node>,
    report: Report,
}

/// A collection that is not complete yet.
struct Frame {
    span: Span,
    flow: bool,
    anchor: usize,
    tag: Option<Box<str>>,
    weight: usize,
    height: usize,
    body: Body,
}

enum Body {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<Entry>, key: Option<PendingKey> },
}

/// A key whose value is not read yet.
enum PendingKey {
    Text(Key),
    /// A key that is a collection. The error is already reported, and the value of the key is dropped.
    Unusable,
}

/// A complete node, the cost of a copy of the node, and the depth of the node.
#[derive(Clone)]
struct Built {
    node: Node,
    weight: usize,
    height: usize,
}

impl<'o> Tree<'o> {
    pub(super) fn new(source: &Arc<Source>, options: &'o LoadOptions) -> Self {
        Self {
            options,
            open: Vec::new(),
            anchors: HashMap::new(),
            anchor_names: HashMap::new(),
            nodes: 0,
            expanded: 0,
            documents: Vec::new(),
            report: Report::new(source),
        }
    }

    /// Starts a document. The anchors of the previous document are dropped.
    ///
    /// # Errors
    /// When there are too many documents.
    pub(super) fn start_document(&mut self, span: Span) -> Result<(), Stop> {
        self.anchors.clear();
        self.anchor_names.clear();
        let limit = self.options.limits.documents;
        if self.documents.len() < limit {
            return Ok(());
        }
        Err(self.stop(span, format!("the text has more than {limit} documents")))
    }

    pub(super) fn scalar(
        &mut self,
        span: Span,
        scalar: Scalar,
        anchor: usize,
        tag: Option<Box<str>>,
    ) -> Result<(), Stop> {
        let span = self.trimmed(span, scalar.style());
        let weight = NODE_WEIGHT + scalar.text().len();
        let node = Node::new(span, Kind::Scalar(scalar)).with_tag(tag);
        self.count(span, 1)?;
        self.complete(Built { node, weight, height: 0 }, anchor)
    }

    /// Returns the span of a scalar. For a block scalar, the line breaks, spaces and tabs at the end are removed from
    /// the span. For other scalars, the result is `span`.
    fn trimmed(&self, span: Span, style: Style) -> Span {
        if !matches!(style, Style::Literal | Style::Folded) {
            return span;
        }
        let text = self.report.source.slice(span).trim_end_matches(['\n', '\r', ' ', '\t']);
        Span::from(span.start as usize..span.start as usize + text.len())
    }

    pub(super) fn open_sequence(
        &mut self,
        span: Span,
        flow: bool,
        anchor: usize,
        tag: Option<Box<str>>,
    ) -> Result<(), Stop> {
        self.count(span, 1)?;
        self.open(span, flow, anchor, tag, Body::Sequence(Vec::new()))
    }

    pub(super) fn open_mapping(
        &mut self,
        span: Span,
        flow: bool,
        anchor: usize,
        tag: Option<Box<str>>,
    ) -> Result<(), Stop> {
        self.count(span, 2)?;
        self.open(span, flow, anchor, tag, Body::Mapping { entries: Vec::new(), key: None })
    }

    fn open(
        &mut self,
        span: Span,
        flow: bool,
        anchor: usize,
        tag: Option<Box<str>>,
        body: Body,
    ) -> Result<(), Stop> {
        self.count(span, 1)?;
        self.open.push(Frame { span, flow, anchor, tag, weight: NODE_WEIGHT, height: 0, body });
        self.check_depth(span, 0)
    }

    /// Closes the innermost collection. The span of a collection in brackets extends to `end`, which is normally the
    /// span of the closing bracket. The span of any other collection ends with the last item or entry, regardless of
    /// `end`.
    pub(super) fn close(&mut self, end: Span) -> Result<(), Stop> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let span = match (frame.flow, frame.end()) {
            (true, _) => frame.span.to(end),
            (false, Some(last)) => Span::new(frame.span.start, last),
            (false, None) => Span::empty(frame.span.start),
        };
        let kind = match frame.body {
            Body::Sequence(items) => Kind::Sequence(items.into()),
            Body::Mapping { entries, .. } => {
                Kind::Mapping(entries::settle(entries, self.options, &mut self.report))
            }
        };
        let node = Node::new(span, kind).with_tag(frame.tag);
        self.complete(Built { node, weight: frame.weight, height: frame.height + 1 }, frame.anchor)
    }

    /// Adds a copy of the node to which an alias refers.
    pub(super) fn alias(&mut self, span: Span, anchor: usize) -> Result<(), Stop> {
        let Some(built) = self.anchors.get(&anchor) else {
            self.report.error(|source| {
                Diagnostic::error(codes::RECURSIVE_ALIAS, "an alias stands inside what it stands for")
                    .at(source.place(span))
                    .label("part of the node that it refers to")
            });
            return self.null(span);
        };
        let (weight, height) = (built.weight, built.height);
        self.expand(span, weight)?;
        self.check_depth(span, height)?;
        let copy = self.anchors[&anchor].clone();
        self.complete(copy, 0)
    }

    /// Reports an alias whose anchor does not exist, and adds null in place of the alias.
    pub(super) fn unknown_alias(&mut self, span: Span, name: &str) -> Result<(), Stop> {
        let names = &self.anchor_names;
        self.report.error(|source| {
            let diagnostic = Diagnostic::error(
                codes::UNKNOWN_ANCHOR,
                format!("no anchor `&{name}` stands before this alias"),
            )
            .at(source.place(span));
            let near = crate::suggest(name, names.keys().map(AsRef::as_ref));
            match near.and_then(|near| names.get_key_value(near)) {
                Some((near, &place)) => diagnostic
                    .related(source.place(place), "a similar anchor")
                    .help(format!("did you mean `*{near}`?")),
                None => diagnostic.help("text that begins with `*` must be quoted"),
            }
        });
        self.null(span)
    }

    /// Records an anchor's name. Warns of a second anchor with the same name, which YAML allows, but which is
    /// seldom intended.
    pub(super) fn anchor_name(&mut self, span: Span, name: &str) {
        let Some(first) = self.anchor_names.insert(name.into(), span) else { return };
        self.report.add(Severity::Warning, |source| {
            Diagnostic::warning(codes::REDEFINED_ANCHOR, format!("anchor `&{name}` is defined again"))
                .at(source.place(span))
                .label("aliases from here on mean this one")
                .related(source.place(first), "first defined here")
        });
    }

    /// Closes the open collections and returns the documents.
    pub(super) fn finish(mut self) -> (Vec<Node>, Diagnostics) {
        while let Some(frame) = self.open.last() {
            let end = Span::empty(frame.end().unwrap_or(frame.span.end));
            // Reading has ended, so a limit that is exceeded now has no effect.
            let _ = self.close(end);
        }
        (self.documents, self.report.finish())
    }

    fn null(&mut self, span: Span) -> Result<(), Stop> {
        self.scalar(span, Scalar::new("", Style::Plain), 0, None)
    }

    /// Adds a complete node to its parent.
    fn complete(&mut self, built: Built, anchor: usize) -> Result<(), Stop> {
        if anchor != 0 && !self.open.is_empty() {
            self.expand(built.node.span(), built.weight)?;
            self.anchors.insert(anchor, built.clone());
        }
        let Some(frame) = self.open.last_mut() else {
            self.documents.push(built.node);
            return Ok(());
        };
        frame.weight += built.weight;
        frame.height = frame.height.max(built.height - frame.merged_levels(&built.node, self.options));
        match &mut frame.body {
            Body::Sequence(items) => items.push(built.node),
            Body::Mapping { entries, key } => match key.take() {
                Some(PendingKey::Text(key)) => entries.push(Entry { key, value: built.node }),
                Some(PendingKey::Unusable) => {}
                None => *key = Some(pending(&mut self.report, built.node)),
            },
        }
        Ok(())
    }

    fn count(&mut self, span: Span, nodes: usize) -> Result<(), Stop> {
        self.nodes += nodes;
        let limit = self.options.limits.nodes;
        if self.nodes > limit {
            Err(self.stop(span, format!("the document has more than {limit} nodes")))
        } else {
            Ok(())
        }
    }

    fn expand(&mut self, span: Span, weight: usize) -> Result<(), Stop> {
        self.expanded = self.expanded.saturating_add(weight);
        let limit = self.options.limits.expansion;
        if self.expanded <= limit {
            return Ok(());
        }
        Err(self.stop(span, format!("aliases make the document more than {limit} bytes larger")))
    }

    fn check_depth(&mut self, span: Span, height: usize) -> Result<(), Stop> {
        let limit = self.options.limits.depth.min(Limits::MAX_DEPTH);
        if self.open.len() + height <= limit {
            return Ok(());
        }
        Err(self.stop(span, format!("lists and mappings are nested more than {limit} deep")))
    }

    fn stop(&mut self, span: Span, message: String) -> Stop {
        self.report.last(Diagnostic::error(codes::LIMIT, message).at(self.report.source.place(span)));
        Stop
    }
}

impl Frame {
    /// Returns the number of nesting levels of `value` that a merge key `<<` removes. If `value` belongs to any
    /// other key, the number is 0.
    ///
    /// For example, `<<: {a: 1}` adds the entry `a` to the mapping that contains the key `<<`. The merge key
    /// removes the level of the braces, so the number is 1. In `<<: [{a: 1}, {b: 2}]`, it removes the levels of the
    /// brackets and of the braces, so the number is 2.
    fn merged_levels(&self, value: &Node, options: &LoadOptions) -> usize {
        let merge = match &self.body {
            Body::Mapping { key: Some(PendingKey::Text(key)), .. } => entries::is_merge(key, options),
            _ => false,
        };
        match value.kind() {
            Kind::Mapping(_) if merge => 1,
            Kind::Sequence(items) if merge => {
                1 + usize::from(items.iter().any(|item| item.as_mapping().is_some()))
            }
            _ => 0,
        }
    }

    /// Returns the end of the last item or entry.
    fn end(&self) -> Option<u32> {
        match &self.body {
            Body::Sequence(items) => items.last().map(|item| item.span().end.max(self.span.end)),
            Body::Mapping { entries, .. } => {
                entries.last().map(|entry| entry.value.span().end.max(entry.key.span().end))
            }
        }
    }
}

/// Converts a node to a key whose value is not read yet. If the node is a collection, reports an error and returns
/// [`PendingKey::Unusable`].
fn pending(report: &mut Report, node: Node) -> PendingKey {
    let (span, what) = (node.span(), node.describe());
    if let Kind::Scalar(scalar) = node.into_kind() {
        return PendingKey::Text(Key::new(span, scalar));
    }
    report.error(|source| {
        let before = source.text().as_bytes().get((span.start as usize).wrapping_sub(1));
        let help = if source.slice(span).starts_with('{') && before == Some(&b'{') {
            "`{{ … }}` is a placeholder of a template: fill the template in first, or quote the text"
        } else {
            "quote it if it is meant as text"
        };
        Diagnostic::error(codes::KEY_NOT_TEXT, format!("a key must be text, found {what}"))
            .at(source.place(span))
            .help(help)
    });
    PendingKey::Unusable
}
