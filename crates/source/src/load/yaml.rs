//! The only module that knows `granit-parser`: its events become [`tree`](super::tree) calls, its errors [`Failure`]s.

use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span as Mark, StructureStyle};

pub(super) use granit_parser::ErrorKind;

use super::LoadOptions;
use super::draft::Draft;
use super::tree::{Stop, Tree};
use crate::{Diagnostics, Limits, Node, Scalar, Source, Span, Style};

/// What one round of reading came to.
pub(super) struct Outcome {
    pub(super) documents: Vec<Node>,
    /// What is wrong with what was read.
    pub(super) diagnostics: Diagnostics,
    /// Offsets in the draft of text that was meant as a comment.
    pub(super) escaped_comments: Vec<usize>,
    /// Why it wasn't read to the end.
    pub(super) error: Option<Failure>,
}

/// A syntax error: where the parser stood, and what it missed.
pub(super) struct Failure {
    /// Offset in the draft.
    pub(super) at: usize,
    pub(super) kind: ErrorKind,
}

impl From<ScanError> for Failure {
    fn from(error: ScanError) -> Self {
        Self { at: error.marker().byte_offset().unwrap_or(0), kind: error.kind().clone() }
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
    let mut error = None;
    let mut escaped_comments = Vec::new();
    for next in Parser::new_from_str_with_options(draft.text(), settings) {
        match next {
            Ok((event, mark)) => {
                escaped_comments.extend(escaped_comment(draft.text(), &event, &mark));
                if let Err(Stop) = feed(&mut tree, draft, event, &mark) {
                    break;
                }
            }
            Err(failure) => {
                error = Some(Failure::from(failure));
                break;
            }
        }
    }
    let (documents, diagnostics) = tree.finish();
    Outcome { documents, diagnostics, escaped_comments, error }
}

/// The offset of a plain scalar that starts its line with `\\#`.
fn escaped_comment(text: &str, event: &Event<'_>, mark: &Mark) -> Option<usize> {
    let at = mark.byte_range()?.start;
    let starts = matches!(event, Event::Scalar(scalar, ScalarStyle::Plain, ..) if scalar.starts_with("\\#"));
    let first = || text[..at].trim_end_matches([' ', '\t']).bytes().next_back().is_none_or(|b| b == b'\n');
    (starts && first()).then_some(at)
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
            let scalar = Scalar::new(Box::<str>::from(text), style_of(style));
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
        Event::DocumentStart(..) => {
            tree.start_document();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The span of a value that is left out: the parser writes `~` for it, and places it before the colon.
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
