//! Builds [`Node`]s from events, within limits: keys, duplicates, merge keys, anchors and aliases are settled here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::report::Report;
use super::{DuplicateKeys, Limits, LoadOptions, MergeKeys};
use crate::node::by_key;
use crate::{
    Diagnostic, Diagnostics, Entry, Key, Kind, Mapping, Node, Scalar, Severity, Source, Span, Style, codes,
};

/// A limit was met: nothing more is to be read. The diagnostic is already noted.
pub(super) struct Stop;

/// What a node counts besides its text when it is copied.
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

/// A collection that is not complete.
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

/// A key whose value is to come.
enum PendingKey {
    Text(Key),
    /// A collection, already reported; its value is dropped.
    Unusable,
}

/// A complete node with what it costs to copy it, and how deep it is.
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

    /// Forgets the anchors of the document before.
    pub(super) fn start_document(&mut self) {
        self.anchors.clear();
        self.anchor_names.clear();
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

    /// A block scalar's span without the line breaks after it.
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
        self.open(span, flow, anchor, tag, Body::Sequence(Vec::new()))
    }

    pub(super) fn open_mapping(
        &mut self,
        span: Span,
        flow: bool,
        anchor: usize,
        tag: Option<Box<str>>,
    ) -> Result<(), Stop> {
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

    /// Closes the innermost collection; `end` is where its bracket stands, if it has one.
    pub(super) fn close(&mut self, end: Span) -> Result<(), Stop> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let span = match (frame.flow, frame.end()) {
            (true, _) => frame.span.to(end),
            (false, Some(last)) => Span::new(frame.span.start, last),
            (false, None) => Span::empty(frame.span.start),
        };
        let kind = match frame.body {
            Body::Sequence(items) => Kind::Sequence(items.into()),
            Body::Mapping { entries, .. } => Kind::Mapping(self.mapping(entries)),
        };
        let node = Node::new(span, kind).with_tag(frame.tag);
        self.complete(Built { node, weight: frame.weight, height: frame.height + 1 }, frame.anchor)
    }

    /// Copies what an alias stands for.
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

    /// Reports an alias without an anchor; it reads as null.
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

    /// Notes an anchor's name; a second one of the same name is allowed by YAML, and seldom meant.
    pub(super) fn anchor_name(&mut self, span: Span, name: &str) {
        let Some(first) = self.anchor_names.insert(name.into(), span) else { return };
        self.report.add(Severity::Warning, |source| {
            Diagnostic::warning(codes::REDEFINED_ANCHOR, format!("anchor `&{name}` is defined again"))
                .at(source.place(span))
                .label("aliases from here on mean this one")
                .related(source.place(first), "first defined here")
        });
    }

    /// Closes what is open and gives what was read.
    pub(super) fn finish(mut self) -> (Vec<Node>, Diagnostics) {
        while let Some(frame) = self.open.last() {
            let end = Span::empty(frame.end().unwrap_or(frame.span.end));
            // A limit that is met now has nothing left to stop.
            let _ = self.close(end);
        }
        (self.documents, self.report.finish())
    }

    fn null(&mut self, span: Span) -> Result<(), Stop> {
        self.scalar(span, Scalar::new("", Style::Plain), 0, None)
    }

    /// Puts a complete node where it belongs.
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

    fn mapping(&mut self, entries: Vec<Entry>) -> Mapping {
        let entries = self.without_duplicates(entries);
        Mapping::new(self.merged(entries))
    }

    fn without_duplicates(&mut self, mut entries: Vec<Entry>) -> Vec<Entry> {
        let again = duplicates(&entries);
        if again.is_empty() {
            return entries;
        }
        let last_wins = self.options.duplicate_keys == DuplicateKeys::LastWins;
        let severity = if last_wins { Severity::Warning } else { Severity::Error };
        for &(first, second) in &again {
            self.report
                .add(severity, |source| duplicate(source, severity, &entries[first], &entries[second]));
            if last_wins {
                entries.swap(first, second);
            }
        }
        let dropped: HashSet<usize> = again.into_iter().map(|(_, second)| second).collect();
        let kept = entries.into_iter().enumerate().filter(|(at, _)| !dropped.contains(at));
        kept.map(|(_, entry)| entry).collect()
    }

    /// Takes over the entries of a plain `<<`, as the options have it.
    fn merged(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let options = self.options;
        let is_merge = |entry: &Entry| is_merge(&entry.key, options);
        if !entries.iter().any(is_merge) {
            return entries;
        }
        let mut taken: HashSet<String> = entries
            .iter()
            .filter(|entry| !is_merge(entry))
            .map(|entry| entry.key.text().to_owned())
            .collect();
        let mut out = Vec::new();
        for entry in entries {
            if is_merge(&entry) {
                let added = self.merge(entry);
                out.extend(added.into_iter().filter(|entry| taken.insert(entry.key.text().to_owned())));
            } else {
                out.push(entry);
            }
        }
        out
    }

    /// The entries that a merge key brings.
    fn merge(&mut self, merge: Entry) -> Vec<Entry> {
        let span = merge.key.span();
        if self.options.merge_keys == MergeKeys::Refuse {
            self.report.error(|source| {
                Diagnostic::error(codes::MERGE_KEY, "merge keys (`<<`) are not taken here")
                    .at(source.place(span))
                    .help("write the entries out, or quote the key if it is meant as text")
            });
            return Vec::new();
        }
        let sources = match merge.value.into_kind() {
            Kind::Sequence(items) => items,
            kind => Box::new([Node::new(span, kind)]),
        };
        let mut out = Vec::new();
        for source in sources {
            let Kind::Mapping(mapping) = source.into_kind() else {
                self.report.error(|source| {
                    let message = "a merge key (`<<`) takes a mapping or a list of mappings";
                    Diagnostic::error(codes::MERGE_KEY, message)
                        .at(source.place(span))
                        .help("quote the key if it is meant as text")
                });
                continue;
            };
            out.extend(mapping.into_entries());
        }
        out
    }
}

impl Frame {
    /// How many levels of the next value disappear, as it is the value of a merge key.
    fn merged_levels(&self, value: &Node, options: &LoadOptions) -> usize {
        let merge = match &self.body {
            Body::Mapping { key: Some(PendingKey::Text(key)), .. } => is_merge(key, options),
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

    /// The end of what it holds.
    fn end(&self) -> Option<u32> {
        match &self.body {
            Body::Sequence(items) => items.last().map(|item| item.span().end.max(self.span.end)),
            Body::Mapping { entries, .. } => {
                entries.last().map(|entry| entry.value.span().end.max(entry.key.span().end))
            }
        }
    }
}

/// Whether a key means a merge.
fn is_merge(key: &Key, options: &LoadOptions) -> bool {
    options.merge_keys != MergeKeys::Keep && key.style() == Style::Plain && key.text() == "<<"
}

/// A node as a key; a collection is reported.
fn pending(report: &mut Report, node: Node) -> PendingKey {
    let (span, what) = (node.span(), node.describe());
    if let Kind::Scalar(scalar) = node.into_kind() {
        return PendingKey::Text(Key::new(span, scalar));
    }
    report.error(|source| {
        Diagnostic::error(codes::KEY_NOT_TEXT, format!("a key must be text, found {what}"))
            .at(source.place(span))
            .help("quote it if it is meant as text")
    });
    PendingKey::Unusable
}

fn duplicate(source: &Arc<Source>, severity: Severity, first: &Entry, second: &Entry) -> Diagnostic {
    let label = if severity == Severity::Error { "given again here" } else { "this one counts" };
    Diagnostic::new(severity, codes::DUPLICATE_KEY, format!("key `{}` is given twice", second.key.text()))
        .at(source.place(second.key.span()))
        .label(label)
        .related(source.place(first.key.span()), "first given here")
        .help("remove or rename one of the two")
}

/// Pairs of entries with equal keys: the first of each key, and each later one, in order of the later ones.
fn duplicates(entries: &[Entry]) -> Vec<(usize, usize)> {
    let index = by_key(entries);
    let mut found = Vec::new();
    for group in index.chunk_by(|&a, &b| entries[a as usize].key.text() == entries[b as usize].key.text()) {
        let (first, again) = (group[0] as usize, &group[1..]);
        found.extend(again.iter().map(|&second| (first, second as usize)));
    }
    found.sort_by_key(|&(_, second)| second);
    found
}
