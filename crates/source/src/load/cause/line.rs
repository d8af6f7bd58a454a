//! Lines of text, and the quotes and brackets that they leave open.

use std::ops::Range;

/// A line without its line break. `start` is the byte offset of the line in the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'t> {
    pub(super) start: usize,
    pub(super) text: &'t str,
}

impl<'t> Line<'t> {
    /// Returns the line that contains an offset.
    pub(super) fn around(text: &'t str, at: usize) -> Self {
        let start = text[..at].rfind('\n').map_or(0, |found| found + 1);
        let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
        Self { start, text: text[start..end].trim_end_matches('\r') }
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Returns the number of leading spaces and tabs.
    pub(super) fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start_matches([' ', '\t']).len()
    }

    /// Returns the line without surrounding spaces and tabs.
    pub(super) fn content(&self) -> &'t str {
        self.text.trim_matches([' ', '\t'])
    }

    /// Returns the range of the [`content`](Self::content), as byte offsets in the whole text.
    pub(super) fn content_range(&self) -> Range<usize> {
        let start = self.start + self.indent();
        start..start + self.content().len()
    }

    /// Tells whether the line is empty or a comment.
    fn is_blank(&self) -> bool {
        self.content().is_empty() || self.content().starts_with('#')
    }

    /// Returns the lines of `text` above this line, nearest first. Empty lines and comments are left out.
    pub(super) fn above(self, text: &'t str) -> impl Iterator<Item = Line<'t>> {
        let step = move |line: &Line<'t>| (line.start > 0).then(|| Line::around(text, line.start - 1));
        std::iter::successors(step(&self), step).filter(|line| !line.is_blank())
    }

    /// Returns the lines of `text` below this line, nearest first. Empty lines and comments are left out.
    pub(super) fn below_all(self, text: &'t str) -> impl Iterator<Item = Line<'t>> {
        let step = move |line: &Line<'t>| {
            let next = line.start + text[line.start..].find('\n')? + 1;
            (next < text.len()).then(|| Line::around(text, next))
        };
        std::iter::successors(step(&self), step).filter(|line| !line.is_blank())
    }

    /// Returns the nearest line of `text` below this line. Empty lines and comments are left out.
    pub(super) fn below(self, text: &'t str) -> Option<Line<'t>> {
        self.below_all(text).next()
    }

    /// Returns the content after the list markers (`- `), and the byte offset of this content in the whole text.
    pub(super) fn entry(&self) -> (usize, &'t str) {
        let mut rest = self.content();
        while let Some(inner) = rest.strip_prefix("- ") {
            rest = inner.trim_start_matches(' ');
        }
        (self.content_range().end - rest.len(), rest)
    }

    /// Returns the key of a line `key: value` or `key:`, without its quotes; `None` for other lines.
    pub(super) fn key(&self) -> Option<&'t str> {
        let (_, entry) = self.entry();
        let colon = entry.find(": ").or_else(|| entry.ends_with(':').then(|| entry.len() - 1))?;
        Some(entry[..colon].trim_end().trim_matches(['"', '\'']))
    }
}

/// A quote or bracket that a text opens and does not close. `at` is the byte offset of the quote or bracket in the
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unclosed {
    /// An open quote. `quote` is the quotation mark: `'` or `"`.
    Quote { at: usize, quote: char },
    /// One or more open brackets. `at` is the offset of the outermost bracket `open`. `closers` is the text that would
    /// close all open brackets, such as `]}`. `end` is the offset at which the content ends: comments and blanks after
    /// it are not content.
    Bracket { at: usize, open: char, closers: String, end: usize },
}

/// Returns the quote or bracket that is still open at the end of the text `lines`.
pub(super) fn unclosed(lines: &str) -> Option<Unclosed> {
    let bytes = lines.as_bytes();
    let mut brackets: Vec<(usize, char)> = Vec::new();
    let (mut at, mut end) = (0, 0);
    // Whether a value may start at the current character. Inside unquoted text, a quote opens nothing.
    let mut fresh = true;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let blank_next = next.is_none_or(is_space);
        let flow = !brackets.is_empty();
        match byte {
            b'#' if at == 0 || is_space(bytes[at - 1]) => {
                at += comment(&bytes[at..]) + 1;
                continue;
            }
            b if is_space(b) => {
                at += 1;
                continue;
            }
            b'"' | b'\'' if fresh => match closing_quote(bytes, at) {
                Some(end) => (at, fresh) = (end, false),
                None => return Some(Unclosed::Quote { at, quote: char::from(byte) }),
            },
            b'[' | b'{' if fresh || flow => {
                brackets.push((at, char::from(byte)));
                fresh = true;
            }
            b']' | b'}' if flow => {
                brackets.pop();
                fresh = false;
            }
            b',' if flow => fresh = true,
            b':' if blank_next => fresh = true,
            b'-' | b'?' if fresh && blank_next => {}
            b'&' | b'!' if fresh => {
                while bytes.get(at + 1).is_some_and(|&b| !is_space(b)) {
                    at += 1;
                }
            }
            _ => fresh = false,
        }
        at += 1;
        end = at;
    }
    let &(first, open) = brackets.first()?;
    let closers = brackets.iter().rev().map(|&(_, open)| closer(open)).collect();
    Some(Unclosed::Bracket { at: first, open, closers, end })
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the length of a comment, without the line break.
fn comment(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len())
}

pub(super) fn closer(open: char) -> char {
    if open == '[' { ']' } else { '}' }
}

/// Returns the offset of the closing quote. `start` is the offset of the opening quote.
fn closing_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 1,
            b'\'' if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 1,
            _ if byte == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}
