//! Places inside of a scalar: from offsets of its text to offsets of the source.
//!
//! Escapes, folding and indentation set the two apart. They are told apart by walking both at once: each notation says
//! what of the source makes the next character of the text.

use std::ops::Range;

use crate::{Node, Scalar, Source, Span, Style};

/// Where each part of a scalar's text stands in the source. Made by [`Node::inside`].
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
    /// Offsets in the text and in the source from where both go on in step; empty if they could not be matched.
    steps: Vec<(usize, usize)>,
}

impl Inside {
    /// The span of a byte range of the text; the whole scalar where that isn't known.
    pub fn span(&self, range: Range<usize>) -> Span {
        match (self.offset(range.start), self.last(range.clone())) {
            (Some(start), Some(end)) if start <= end => Span::from(start..end),
            _ => self.whole,
        }
    }

    /// The source offset behind the last byte of a range: behind what makes it, an escape being longer.
    fn last(&self, range: Range<usize>) -> Option<usize> {
        let Some(last) = range.end.checked_sub(1).filter(|&last| last >= range.start) else {
            return self.offset(range.start);
        };
        let step = self.steps.partition_point(|&(text, _)| text <= last).checked_sub(1)?;
        let (text, source) = self.steps[step];
        let plain = source + (last - text) + 1;
        // Where the next step starts right behind, all of the source up to it belongs to this character.
        match self.steps.get(step + 1) {
            Some(&(next, at)) if next == range.end && plain > at => Some(at),
            _ => Some(plain),
        }
    }

    fn offset(&self, at: usize) -> Option<usize> {
        let step = self.steps.partition_point(|&(text, _)| text <= at).checked_sub(1)?;
        let (text, source) = self.steps[step];
        Some((source + (at - text)).min(self.whole.end as usize))
    }
}

impl Node {
    /// Where the parts of a scalar's text stand, given the source it was read from.
    ///
    /// For a collection, and where text and source can't be matched, each part has the node's own span.
    pub fn inside(&self, source: &Source) -> Inside {
        let whole = self.span();
        let steps = self.as_scalar().and_then(|scalar| match_up(scalar, source.text(), whole));
        Inside { whole, steps: steps.unwrap_or_default() }
    }
}

fn match_up(scalar: &Scalar, source: &str, whole: Span) -> Option<Vec<(usize, usize)>> {
    let (text, start) = (scalar.text(), whole.start as usize);
    let raw = source.get(whole.range())?;
    if scalar.style() == Style::Plain && raw == text {
        return Some(vec![(0, start)]);
    }
    let mut walk = Walk { text, raw, base: start, at: 0, done: 0, steps: Vec::new() };
    let matched = match scalar.style() {
        Style::Plain => walk.flow(None),
        Style::SingleQuoted => walk.flow(Some('\'')),
        Style::DoubleQuoted => walk.flow(Some('"')),
        // The span starts behind the indentation of the first line.
        Style::Literal | Style::Folded => {
            walk.block(start - source[..start].rfind('\n').map_or(0, |at| at + 1))
        }
    };
    matched.then_some(walk.steps)
}

/// Text and source, walked at once.
struct Walk<'a> {
    text: &'a str,
    raw: &'a str,
    /// Offset of `raw` in the source.
    base: usize,
    /// How far in `raw`.
    at: usize,
    /// How far in `text`.
    done: usize,
    steps: Vec<(usize, usize)>,
}

impl Walk<'_> {
    /// Notes that the next `text` bytes of the text come from the next `raw` bytes of the source.
    fn step(&mut self, text: usize, raw: usize) {
        let in_step = self.steps.last().is_some_and(|&(t, s)| self.done - t == self.base + self.at - s);
        if !in_step {
            self.steps.push((self.done, self.base + self.at));
        }
        self.done += text;
        self.at += raw;
    }

    /// Plain and quoted scalars. Says whether all of the text was found.
    fn flow(&mut self, quote: Option<char>) -> bool {
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
                self.step(1, 2);
            } else if found == wanted {
                self.step(found.len_utf8(), found.len_utf8());
            } else {
                return false;
            }
        }
        true
    }

    /// A line break with the blanks around it, which makes one blank or some line breaks.
    fn fold(&mut self, raw: usize) {
        let rest = &self.text[self.done..];
        let breaks = rest.len() - rest.trim_start_matches('\n').len();
        self.step(breaks.max(1), raw);
    }

    /// A backslash and what belongs to it.
    fn escape(&mut self) -> bool {
        let rest = &self.raw[self.at..];
        let Some(kind) = rest[1..].chars().next() else { return false };
        if matches!(kind, '\n' | '\r') {
            // An escaped line break makes nothing.
            self.at += 1 + fold(&rest[1..]);
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
        // Two escapes make one character where it is written as a surrogate pair.
        raw += if kind == 'u' && made > '\u{ffff}' { 6 } else { 0 };
        if rest.get(..raw).is_none() {
            return false;
        }
        self.step(made.len_utf8(), raw);
        true
    }

    /// Block scalars with a given indentation. Says whether all of the text was found.
    fn block(&mut self, indent: usize) -> bool {
        // Empty lines before the first character are not part of the node's span.
        let empty = self.text.len() - self.text.trim_start_matches('\n').len();
        if empty > 0 {
            self.step(empty, 0);
        }
        while let Some(wanted) = self.text[self.done..].chars().next() {
            let rest = &self.raw[self.at..];
            let Some(found) = rest.chars().next() else {
                // The line breaks at the end are not part of the node's span.
                return self.text[self.done..].trim_end_matches('\n').is_empty();
            };
            if matches!(found, '\n' | '\r') {
                if !matches!(wanted, ' ' | '\n') {
                    return false;
                }
                self.breaks(indent);
            } else if found == wanted {
                self.step(found.len_utf8(), found.len_utf8());
            } else {
                return false;
            }
        }
        true
    }

    /// A run of line breaks in the source, which makes a run of line breaks or one blank.
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
        self.step(made.max(1), end - before);
    }

    fn skip_indent(&mut self, indent: usize) {
        let rest = &self.raw[self.at..];
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        self.at += blanks.min(indent);
    }
}

/// Length of a line break with the blanks before it, the empty lines and blanks behind it; 0 if there is none.
fn fold(rest: &str) -> usize {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let run = rest.len() - rest.trim_start_matches(blank).len();
    if rest[..run].contains('\n') { run } else { 0 }
}

/// Length of a line break at the start.
fn line_break(rest: &str) -> Option<usize> {
    rest.starts_with('\n').then_some(1).or_else(|| rest.starts_with("\r\n").then_some(2))
}
