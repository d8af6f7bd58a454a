//! Values of descriptors. A text in a value is split into literals and `${…}`, with the place of each `${…}`.

use std::sync::Arc;

use smol_str::SmolStr;
use windlass_source::{Diagnostic, Diagnostics, Inside, Kind, Node, Source, Span};

use crate::codes;

/// A value of a descriptor. Each text in the value is split into literals and `${…}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Place of the value.
    pub span: Span,
    /// Content of the value.
    pub kind: ValueKind,
}

/// The content of a [`Value`].
#[derive(Debug, Clone, PartialEq)]
pub enum ValueKind {
    /// The null value.
    Null,
    /// A text, as the sequence of its literals and `${…}`. A number or boolean is also a text, exactly as written:
    /// `1.10` is the text `"1.10"`.
    Text(Box<[Segment]>),
    /// A list of values.
    List(Vec<Value>),
    /// A mapping, with its entries in the order of the text.
    Map(Vec<(String, Value)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// A literal text.
    Literal(SmolStr),
    /// The text `${…}`, which reads another value.
    Reference(Reference),
}

/// A `${…}` in a text. It reads another value.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Place of the whole `${…}`, from `$` to `}`.
    pub span: Span,
    /// Text inside the braces, such as `web.url` for `${web.url}`.
    pub text: SmolStr,
}

impl Reference {
    /// Returns the text before the first dot, and the text after it; `None` as the second text if there is no
    /// dot.
    pub fn split(&self) -> (&str, Option<&str>) {
        match self.text.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (&self.text, None),
        }
    }
}

impl Value {
    /// Converts a YAML node to a value. Reports each `${…}` that is malformed.
    pub fn read(source: &Arc<Source>, node: &Node, diagnostics: &mut Diagnostics) -> Self {
        let kind = match node.kind() {
            _ if node.is_null() => ValueKind::Null,
            Kind::Scalar(scalar) => {
                ValueKind::Text(Cutter { source, node, inside: None, diagnostics }.cut(scalar.text()))
            }
            Kind::Sequence(items) => {
                ValueKind::List(items.iter().map(|item| Self::read(source, item, diagnostics)).collect())
            }
            Kind::Mapping(mapping) => {
                let entries = mapping.entries().iter();
                let read =
                    entries.map(|e| (e.key.text().to_owned(), Self::read(source, &e.value, diagnostics)));
                ValueKind::Map(read.collect())
            }
        };
        Self { span: node.span(), kind }
    }

    /// Returns the text of the value; none if the value contains a `${…}`, or is no text.
    pub fn literal(&self) -> Option<&str> {
        match &self.kind {
            ValueKind::Text(segments) => match &segments[..] {
                [] => Some(""),
                [Segment::Literal(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// Tells whether the value contains no `${…}`, so that it needs no evaluation.
    pub fn is_fixed(&self) -> bool {
        let mut fixed = true;
        self.for_each_reference(&mut |_| fixed = false);
        fixed
    }

    /// Calls `visit` for each `${…}` in the value.
    pub fn for_each_reference<'a>(&'a self, visit: &mut dyn FnMut(&'a Reference)) {
        match &self.kind {
            ValueKind::Null => {}
            ValueKind::Text(segments) => {
                for segment in segments {
                    if let Segment::Reference(reference) = segment {
                        visit(reference);
                    }
                }
            }
            ValueKind::List(items) => items.iter().for_each(|item| item.for_each_reference(visit)),
            ValueKind::Map(entries) => entries.iter().for_each(|(_, v)| v.for_each_reference(visit)),
        }
    }
}

struct Cutter<'a> {
    source: &'a Arc<Source>,
    node: &'a Node,
    /// The places of the text's characters in the source. They are computed at the first `${…}`, and reused for each
    /// later `${…}`. So the text is searched only once.
    inside: Option<Inside>,
    diagnostics: &'a mut Diagnostics,
}

impl Cutter<'_> {
    fn cut(&mut self, text: &str) -> Box<[Segment]> {
        // Most texts are one literal or one `${…}`.
        let mut segments = Vec::with_capacity(1);
        let mut done = 0;
        while let Some(start) = text[done..].find("${").map(|at| done + at) {
            if start > done {
                segments.push(Segment::Literal(text[done..start].into()));
            }
            let Some(end) = text[start..].find('}').map(|at| start + at + 1) else {
                self.unclosed(text, start);
                done = start;
                break;
            };
            segments.push(self.reference(text, start..end));
            done = end;
        }
        if done < text.len() {
            segments.push(Segment::Literal(text[done..].into()));
        }
        segments.into_boxed_slice()
    }

    fn reference(&mut self, text: &str, range: std::ops::Range<usize>) -> Segment {
        let span = self.span(range.clone());
        let inner = &text[range.start + 2..range.end - 1];
        let bad = inner.is_empty()
            || inner.split('.').any(str::is_empty)
            || inner.chars().any(|c| c.is_whitespace() || c == '{' || c == '$');
        if bad {
            let message = format!("`${{{inner}}}` is not a reference");
            let diagnostic = Diagnostic::error(codes::TEMPLATE, message)
                .at(self.source.place(span))
                .help("write `${property}` or `${component.property}`, without blanks");
            self.diagnostics.push(diagnostic);
            return Segment::Literal(text[range].into());
        }
        Segment::Reference(Reference { span, text: inner.into() })
    }

    fn unclosed(&mut self, text: &str, start: usize) {
        let place = self.source.place(self.span(start..text.len()));
        let diagnostic = Diagnostic::error(codes::TEMPLATE, "`${` has no closing `}`").at(place);
        self.diagnostics.push(diagnostic);
    }

    fn span(&mut self, range: std::ops::Range<usize>) -> Span {
        self.inside.get_or_insert_with(|| self.node.inside(self.source)).span(range)
    }
}
