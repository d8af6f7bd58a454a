//! The only module that uses `granit-parser`. It converts the parser's events to calls of
//! [`tree`](super::tree), and the parser's errors to [`Failure`]s.

use std::ops::Range;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span as Mark, StructureStyle};

pub(super) use granit_parser::ErrorKind;

use super::draft::Draft;
use super::options::{Limits, LoadOptions};
use super::tree::{Stop, Tree};
use crate::invisible::{is_false_blank, is_invisible};
use crate::{Diagnostics, Node, Scalar, Source, Span, Style};

/// The result of one reading of the [`Draft`], which is the original text with all repairs so far.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) documents: Vec<Node>,
    /// Problems that were found while nodes were built, such as duplicate keys.
    pub(super) diagnostics: Diagnostics,
    /// Byte ranges in the [`Draft`], one for each quoted or block scalar with characters outside of ASCII. The search
    /// for invisible characters skips these ranges.
    pub(super) quoted: Vec<Range<usize>>,
    /// Whether an unquoted scalar contains characters that are invisible, or that only look like a space.
    pub(super) invisible: bool,
    /// The byte offsets in the [`Draft`] at which the content of a line begins with `\#`. In YAML, such a line is text,
    /// but its author meant a comment.
    pub(super) escaped_comments: Vec<usize>,
    /// Syntax error at which the parser stopped; absent if the parser met no syntax error.
    pub(super) error: Option<Failure>,
}

/// A syntax error: the position at which the parser stopped, and the kind of the error.
pub(super) struct Failure {
    /// The position, as a byte offset in the [`Draft`], which is the text with all repairs so far.
    pub(super) at: usize,
    pub(super) kind: ErrorKind,
}

impl From<ScanError> for Failure {
    fn from(error: ScanError) -> Self {
        Self { at: error.marker().byte_offset().unwrap_or(0), kind: error.kind().clone() }
    }
}

impl Outcome {
    /// Updates the fields [`quoted`](Self::quoted), [`invisible`](Self::invisible) and
    /// [`escaped_comments`](Self::escaped_comments) if the event is a scalar. The search for the causes of errors
    /// needs these fields.
    fn note(&mut self, text: &str, event: &Event<'_>, mark: &Mark) {
        let (Event::Scalar(scalar, style, ..), Some(range)) = (event, mark.byte_range()) else { return };
        if *style == ScalarStyle::Plain {
            self.escaped_comments.extend(escaped_comment(text, scalar, range.start));
            self.invisible |= !scalar.is_ascii() && scalar.contains(|c| is_invisible(c) || is_false_blank(c));
        } else if !scalar.is_ascii() {
            self.quoted.push(range);
        }
    }
}

/// Reads the draft up to its first syntax error.
pub(super) fn read(source: &Arc<Source>, draft: &Draft<'_>, options: &LoadOptions) -> Outcome {
    let depth = options.limits.depth.min(Limits::MAX_DEPTH);
    let settings = granit_parser::options! {
        emit_comments: false,
        emit_anchor_events: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: depth,
        block_nesting_limit: depth,
    };
    let mut tree = Tree::new(source, options);
    let mut outcome = Outcome::default();
    for next in Parser::new_from_str_with_options(draft.text(), settings) {
        match next {
            Ok((event, mark)) => {
                outcome.note(draft.text(), &event, &mark);
                if let Err(Stop) = feed(&mut tree, draft, event, &mark) {
                    break;
                }
            }
            Err(failure) => {
                outcome.error = Some(Failure::from(failure));
                break;
            }
        }
    }
    (outcome.documents, outcome.diagnostics) = tree.finish();
    outcome
}

/// Returns `at` if the plain scalar at this offset begins with `\#`, and only spaces or tabs precede the scalar on its
/// line. Otherwise returns `None`. `scalar` is the text of the plain scalar.
fn escaped_comment(text: &str, scalar: &str, at: usize) -> Option<usize> {
    let first = || text[..at].trim_end_matches([' ', '\t']).bytes().next_back().is_none_or(|b| b == b'\n');
    (scalar.starts_with("\\#") && first()).then_some(at)
}

fn feed(tree: &mut Tree<'_>, draft: &Draft<'_>, event: Event<'_>, mark: &Mark) -> Result<(), Stop> {
    let range = mark.byte_range().unwrap_or_default();
    let span = draft.span(range.clone());
    match event {
        Event::Scalar(text, style, anchor, tag) => {
            let (span, text) = if range.is_empty() && style == ScalarStyle::Plain {
                (left_out(draft, range.start), "".into())
            } else {
                (span, text)
            };
            let scalar = Scalar::new(&*text, style_of(style));
            tree.scalar(span, scalar, anchor, tag.as_deref().map(tag_text))
        }
        Event::SequenceStart(style, anchor, tag) => {
            tree.open_sequence(span, style == StructureStyle::Flow, anchor, tag.as_deref().map(tag_text))
        }
        Event::MappingStart(style, anchor, tag) => {
            tree.open_mapping(span, style == StructureStyle::Flow, anchor, tag.as_deref().map(tag_text))
        }
        Event::SequenceEnd | Event::MappingEnd => tree.close(span),
        Event::Alias(anchor) => tree.alias(span, anchor),
        Event::Anchor(_, name) => {
            tree.anchor_name(span, &name);
            Ok(())
        }
        Event::UnresolvedAlias(name) => tree.unknown_alias(span, &name),
        Event::DocumentStart(..) => tree.start_document(span),
        _ => Ok(()),
    }
}

/// Returns the empty span of an omitted value. `at` is the offset at which the parser reports the value. For `a:`, this
/// is the offset of the colon, and the returned span is directly after the colon.
fn left_out(draft: &Draft<'_>, at: usize) -> Span {
    let behind = at + usize::from(draft.text()[at..].starts_with(':'));
    draft.span(behind..behind)
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
        ScalarStyle::Plain => Style::Plain,
    }
}

fn tag_text(tag: &granit_parser::Tag) -> Box<str> {
    match tag.suffix_in_namespace("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}").into(),
        None => format!("{}{}", tag.handle(), tag.suffix()).into(),
    }
}
