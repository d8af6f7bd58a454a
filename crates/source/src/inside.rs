//! Maps offsets of a scalar's text to offsets of the source.
//!
//! Escapes, folding and indentation make the text of a scalar differ from its source. For example, the source `"a\tb"`
//! has a text of three characters. windlass compares the text with the source from start to end, and so finds the
//! source bytes that produce each character of the text. The rules of this comparison depend on the notation of the
//! scalar.

use std::ops::Range;

use crate::{Node, Scalar, Source, Span, Style};

/// A map from the parts of a scalar's text to their ranges in the source. [`Node::inside`] creates it.
///
/// ```
/// use windlass_source::{LoadOptions, Source, load_one};
///
/// let source = Source::new("a.yaml", "text: >\n  Dear\n  ${user.name},\n  hello.\n");
/// let root = load_one(&source, &LoadOptions::default()).root.unwrap();
/// let node = root.get("text").unwrap();
/// let start = node.as_str().unwrap().find("${").unwrap();
/// let span = node.inside(&source).span(start..start + "${user.name}".len());
/// assert_eq!(source.place(span).to_string(), "a.yaml:3:3");
/// assert_eq!(source.slice(span), "${user.name}");
/// ```
#[derive(Clone, Debug)]
pub struct Inside {
    whole: Span,
    /// The parts of the scalar's text, in order. Together, they are the whole text. The list is empty if the text could
    /// not be matched with the source.
    parts: Vec<Part>,
}

/// A part of a scalar's text, and the source bytes from which the part was read. For example, the text of the part is
/// a tab, and its source is the escape `\t`.
#[derive(Clone, Debug)]
struct Part {
    text: Range<usize>,
    source: Range<usize>,
    /// Whether the text and the source of this part are equal byte for byte. For example, an escape such as `\t`
    /// differs from its text. If text and source differ, an offset inside the part can't be mapped to the source.
    /// Only the part as a whole can then be mapped.
    same: bool,
}

impl Inside {
    /// Returns the source span of a byte range of the text. If the text could not be matched with the source, returns
    /// the span of the whole scalar. For a range after the last part, returns an empty span at the end of the scalar.
    pub fn span(&self, range: Range<usize>) -> Span {
        let Some(start) = self.part(range.start) else {
            // Line breaks at the end of a block scalar are not part of its span.
            return if self.parts.is_empty() { self.whole } else { Span::empty(self.whole.end) };
        };
        let from = if start.same {
            start.source.start + (range.start - start.text.start)
        } else {
            start.source.start
        };
        let to =
            match range.end.checked_sub(1).filter(|&last| last >= range.start).map(|last| self.part(last)) {
                None => from,
                Some(Some(end)) if end.same => end.source.start + (range.end - end.text.start),
                Some(Some(end)) => end.source.end,
                Some(None) => self.whole.end as usize,
            };
        Span::from(from..to)
    }

    /// Returns the part of the scalar's text that contains the byte at the offset `at`; `None` after the last part.
    fn part(&self, at: usize) -> Option<&Part> {
        let found = self.parts.partition_point(|part| part.text.end <= at);
        self.parts.get(found)
    }
}

impl Node {
    /// Returns a map from offsets in the text of this node to places in `source`. The node must have been read from
    /// `source`.
    ///
    /// If the node is not a scalar, or if its text can't be matched with `source`, [`Inside::span`] always returns the
    /// span of the whole node.
    pub fn inside(&self, source: &Source) -> Inside {
        let whole = self.span();
        let parts = self.as_scalar().and_then(|scalar| match_up(scalar, source.text(), whole));
        Inside { whole, parts: parts.unwrap_or_default() }
    }
}

fn match_up(scalar: &Scalar, source: &str, whole: Span) -> Option<Vec<Part>> {
    let (text, base) = (scalar.text(), whole.start as usize);
    let raw = source.get(whole.range())?;
    // This is a shortcut: most values are on one line without escapes, perhaps in quotes.
    let quote = usize::from(raw.starts_with(['"', '\'']) && raw.len() == text.len() + 2);
    if !text.is_empty() && raw.get(quote..raw.len() - quote) == Some(text) {
        let from = base + quote;
        let same = Part { text: 0..text.len(), source: from..from + text.len(), same: true };
        return Some(vec![same]);
    }
    let mut walk = Walk { text, raw, base, at: 0, done: 0, parts: Vec::new(), escaped_break: false };
    let matched = match scalar.style() {
        Style::Plain => walk.flow(None),
        Style::SingleQuoted => walk.flow(Some('\'')),
        Style::DoubleQuoted => walk.flow(Some('"')),
        // The span starts after the indentation of the first line.
        Style::Literal | Style::Folded => {
            walk.block(base - source[..base].rfind('\n').map_or(0, |at| at + 1))
        }
    };
    matched.then_some(walk.parts)
}

/// A comparison of the text of a scalar with its source, from start to end.
struct Walk<'a> {
    /// The value of the scalar, after escapes, folding and indentation were processed.
    text: &'a str,
    /// The bytes of the scalar in the source.
    raw: &'a str,
    /// Offset of `raw` in the source.
    base: usize,
    /// Number of compared bytes of `raw`.
    at: usize,
    /// Number of compared bytes of `text`.
    done: usize,
    parts: Vec<Part>,
    /// Whether the last compared part of `raw` is an escaped line break.
    escaped_break: bool,
}

impl Walk<'_> {
    /// Records that the next `length` bytes of `text` and `raw` are equal.
    fn same(&mut self, length: usize) {
        let source = self.base + self.at;
        match self.parts.last_mut() {
            Some(part) if part.same && part.source.end == source => {
                part.text.end += length;
                part.source.end += length;
            }
            _ => self.parts.push(Part {
                text: self.done..self.done + length,
                source: source..source + length,
                same: true,
            }),
        }
        self.done += length;
        self.at += length;
        self.escaped_break = false;
    }

    /// Records a part whose source differs from its text. `text` is the length of the part in the scalar's text, and
    /// `raw` is its length in the source, both in bytes. For example, the escape `\t` has the lengths 1 and 2.
    fn made(&mut self, text: usize, raw: usize) {
        let source = self.base + self.at;
        self.parts.push(Part {
            text: self.done..self.done + text,
            source: source..source + raw,
            same: false,
        });
        self.done += text;
        self.at += raw;
        self.escaped_break = false;
    }

    /// Compares the text of a plain or quoted scalar with the source, and adds the matching [`Part`]s to `parts`.
    /// `quote` is the quotation mark of the scalar; `None` for a plain scalar. Returns `false` if the text and the
    /// source do not match.
    fn flow(&mut self, quote: Option<char>) -> bool {
        // A repair may have added quotes that the source doesn't have.
        let quote = quote.filter(|&quote| self.raw.starts_with(quote));
        self.at += quote.map_or(0, char::len_utf8);
        while let Some(wanted) = self.text[self.done..].chars().next() {
            let rest = &self.raw[self.at..];
            let Some(found) = rest.chars().next() else { return false };
            let fold = fold(rest);
            if fold > 0 && matches!(wanted, ' ' | '\n') {
                self.fold(fold);
            } else if quote == Some('"') && found == '\\' {
                if !self.escape() {
                    return false;
                }
            } else if quote == Some('\'') && rest.starts_with("''") && wanted == '\'' {
                self.made(1, 2);
            } else if found == wanted {
                self.same(found.len_utf8());
            } else {
                return false;
            }
        }
        true
    }

    /// Adds the [`Part`] for a run of spaces, tabs and line breaks in the source. `raw` is the length of the run in
    /// bytes. A run with a single line break normally produces one space in the text.
    fn fold(&mut self, raw: usize) {
        let breaks = self.raw[self.at..self.at + raw].matches('\n').count();
        // A single line break produces a space. Of several line breaks, the first one produces nothing. After
        // an escaped line break, each line break produces a line break.
        let made = if self.escaped_break { breaks } else { breaks - 1 };
        self.made(made.max(1), raw);
    }

    /// Matches an escape sequence in the source with the character that it produces in the scalar's text.
    /// Returns `false` if the escape sequence and the text don't match.
    fn escape(&mut self) -> bool {
        let rest = &self.raw[self.at..];
        let Some(kind) = rest[1..].chars().next() else { return false };
        if matches!(kind, '\n' | '\r') {
            // An escaped line break produces nothing, and neither do the leading spaces of the next line.
            let Some(length) = line_break(&rest[1..]) else { return false };
            let next = &rest[1 + length..];
            self.at += 1 + length + (next.len() - next.trim_start_matches([' ', '\t']).len());
            self.escaped_break = true;
            return true;
        }
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let mut raw = 1 + kind.len_utf8() + digits;
        let Some(made) = self.text[self.done..].chars().next() else { return false };
        // A character may be written as a surrogate pair of two escapes.
        raw += if kind == 'u' && made > '\u{ffff}' { 6 } else { 0 };
        if rest.get(..raw).is_none() {
            return false;
        }
        self.made(made.len_utf8(), raw);
        true
    }

    /// Compares the text of a block scalar with the source, and adds the matching [`Part`]s to `parts`. `indent` is the
    /// number of spaces before each line of the source. Returns `false` if the text and the source do not match.
    fn block(&mut self, indent: usize) -> bool {
        // Empty lines before the first character are not part of the node's span.
        let empty = self.text.len() - self.text.trim_start_matches('\n').len();
        if empty > 0 {
            self.made(empty, 0);
        }
        while let Some(wanted) = self.text[self.done..].chars().next() {
            let rest = &self.raw[self.at..];
            let Some(found) = rest.chars().next() else {
                // The node's span excludes the line breaks and spaces at the end.
                return self.text[self.done..].trim_end_matches(['\n', ' ', '\t']).is_empty();
            };
            if matches!(found, '\n' | '\r') {
                if !matches!(wanted, ' ' | '\n') {
                    return false;
                }
                self.breaks(indent);
            } else if found == wanted {
                self.same(found.len_utf8());
            } else {
                return false;
            }
        }
        true
    }

    /// Adds the [`Part`] for a run of line breaks in the source. The part includes the indentation after each line
    /// break. In a folded block, a single line break normally produces one space in the text. A longer run produces
    /// line breaks. In a literal block, each run produces line breaks.
    fn breaks(&mut self, indent: usize) {
        let before = self.at;
        let mut end = self.at;
        while let Some(line) = line_break(&self.raw[end..]) {
            self.at = end + line;
            self.skip_indent(indent);
            end = self.at;
        }
        self.at = before;
        let rest = &self.text[self.done..];
        let made = rest.len() - rest.trim_start_matches('\n').len();
        self.made(made.max(1), end - before);
    }

    fn skip_indent(&mut self, indent: usize) {
        let rest = &self.raw[self.at..];
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        self.at += blanks.min(indent);
    }
}

/// Returns the length of the blanks and line breaks at the start of `rest`; 0 if they contain no line break.
fn fold(rest: &str) -> usize {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let run = rest.len() - rest.trim_start_matches(blank).len();
    if rest[..run].contains('\n') { run } else { 0 }
}

/// Returns the length of the line break at the start of `rest`, if `rest` starts with a line break.
fn line_break(rest: &str) -> Option<usize> {
    rest.starts_with('\n').then_some(1).or_else(|| rest.starts_with("\r\n").then_some(2))
}
