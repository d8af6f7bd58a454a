//! A parser of strict JSON with spans. Other parsers are not sufficient: `serde_json` reports no offsets of
//! values, and a YAML parser accepts more than JSON.

use std::sync::Arc;

use super::loaded::Loaded;
use super::options::LoadOptions;
use super::tree::{Stop, Tree};
use crate::{Diagnostic, Scalar, Source, Span, Style, codes};

/// Reads one JSON document, up to its first error.
pub(super) fn load(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    let text = source.text();
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { text, at: start, tree: Tree::new(source, options), brackets: Vec::new() };
    let error = match reader.document() {
        Ok(()) | Err(Halt::Limit) => None,
        Err(Halt::Syntax(error)) => Some(error),
    };
    let (documents, mut diagnostics) = reader.tree.finish();
    if let Some(Mistake { range, message, help }) = error {
        let diagnostic = Diagnostic::error(codes::INVALID_JSON, message).at(source.place(Span::from(range)));
        diagnostics.push(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }
    Loaded { documents, diagnostics }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    tree: Tree<'t>,
    /// Open brackets. The parser uses this stack instead of recursion.
    brackets: Vec<u8>,
}

enum Halt {
    /// A limit was exceeded. The tree has already recorded the diagnostic.
    Limit,
    Syntax(Mistake),
}

struct Mistake {
    range: std::ops::Range<usize>,
    message: String,
    help: Option<&'static str>,
}

impl From<Stop> for Halt {
    fn from(Stop: Stop) -> Self {
        Self::Limit
    }
}

impl Reader<'_> {
    fn document(&mut self) -> Result<(), Halt> {
        self.blanks();
        self.value()?;
        while let Some(&open) = self.brackets.last() {
            self.after_value(open)?;
        }
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.mistake("expected the end of the text, found {}", None)),
        }
    }

    /// Reads a scalar, or opens a collection and reads its first value.
    fn value(&mut self) -> Result<(), Halt> {
        loop {
            match self.peek() {
                Some(open @ (b'[' | b'{')) => {
                    if !self.open(open)? {
                        return Ok(());
                    }
                }
                Some(b'"') => return self.string(),
                Some(b'-' | b'0'..=b'9') => return self.number(),
                Some(b't' | b'f' | b'n') => return self.word(),
                _ => return Err(self.mistake("expected a value, found {}", self.hint())),
            }
        }
    }

    /// Reads the opening bracket of a collection. Returns `true` if the caller must read the first value. In an object,
    /// the key of this value is already read. Returns `false` if the collection is empty, and therefore already closed.
    fn open(&mut self, open: u8) -> Result<bool, Halt> {
        let span = Span::from(self.at..self.at + 1);
        self.at += 1;
        if open == b'[' {
            self.tree.open_sequence(span, true, 0, None)?;
        } else {
            self.tree.open_mapping(span, true, 0, None)?;
        }
        self.blanks();
        if self.peek() == Some(closing(open)) {
            self.close()?;
            return Ok(false);
        }
        self.brackets.push(open);
        if open == b'{' {
            self.key()?;
        }
        Ok(true)
    }

    /// Reads the text after a value of the innermost collection: the closing bracket, or a comma and the next item or
    /// entry. `open` is the opening bracket of the innermost collection. If the next value is a collection, the
    /// function reads only its beginning; see [`value`](Self::value).
    fn after_value(&mut self, open: u8) -> Result<(), Halt> {
        self.blanks();
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.blanks();
                if self.peek() == Some(closing(open)) {
                    self.at = comma;
                    return Err(self.mistake("no value after the comma", Some("remove the comma")));
                }
                if open == b'{' {
                    self.key()?;
                }
                self.value()
            }
            Some(close) if close == closing(open) => {
                self.brackets.pop();
                self.close()
            }
            _ if open == b'[' => Err(self.mistake("expected `,` or `]`, found {}", self.hint())),
            _ => Err(self.mistake("expected `,` or `}`, found {}", self.hint())),
        }
    }

    fn close(&mut self) -> Result<(), Halt> {
        self.at += 1;
        Ok(self.tree.close(Span::from(self.at - 1..self.at))?)
    }

    /// Reads a key with its colon.
    fn key(&mut self) -> Result<(), Halt> {
        if self.peek() != Some(b'"') {
            return Err(self.mistake("expected a key in double quotes, found {}", self.hint()));
        }
        self.string()?;
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(self.mistake("expected `:`, found {}", None));
        }
        self.at += 1;
        self.blanks();
        Ok(())
    }

    fn string(&mut self) -> Result<(), Halt> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(0..0x20) => {
                    self.at = end;
                    return Err(self.mistake(
                        "a control character in a string",
                        Some("write it as an escape, as `\\n`"),
                    ));
                }
                Some(_) => end += 1,
                None => {
                    let help = Some("close it with `\"`");
                    return Err(mistake_at(start..start + 1, "a string is never closed".to_owned(), help));
                }
            }
        }
        // Only the range of the string is determined here. `serde_json` decodes it, because all JSON readers
        // agree on escapes.
        match serde_json::from_str::<String>(&self.text[start..=end]) {
            Ok(text) => self.scalar(start..end + 1, &text, Style::DoubleQuoted),
            Err(_) => Err(mistake_at(start..end + 1, "a string with an invalid escape".to_owned(), None)),
        }
    }

    fn number(&mut self) -> Result<(), Halt> {
        let end = self.end_of(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-'));
        let text = &self.text[self.at..end];
        // Only the grammar is checked: a number that is too large for every type is valid JSON.
        if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
            return self.scalar(self.at..end, text, Style::Plain);
        }
        let help = Some("no leading zeros or points, no hexadecimal numbers, no `NaN`");
        Err(mistake_at(self.at..end, format!("`{text}` is no number of JSON"), help))
    }

    fn word(&mut self) -> Result<(), Halt> {
        let end = self.end_of(|b| b.is_ascii_alphanumeric() || b == b'_');
        match &self.text[self.at..end] {
            word @ ("true" | "false" | "null") => self.scalar(self.at..end, word, Style::Plain),
            _ => Err(self.mistake("expected a value, found {}", Some("put text into double quotes"))),
        }
    }

    fn scalar(&mut self, range: std::ops::Range<usize>, text: &str, style: Style) -> Result<(), Halt> {
        self.at = range.end;
        Ok(self.tree.scalar(Span::from(range), Scalar::new(text, style), 0, None)?)
    }

    fn end_of(&self, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        self.at + rest.iter().position(|&b| !belongs(b)).unwrap_or(rest.len())
    }

    fn blanks(&mut self) {
        self.at = self.end_of(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns advice if the next character is a frequent mistake, such as `'` or `#`; otherwise `None`.
    fn hint(&self) -> Option<&'static str> {
        match self.peek()? {
            b'\'' => Some("JSON takes double quotes only"),
            b'/' | b'#' => Some("JSON has no comments"),
            b if b.is_ascii_alphabetic() || b == b'_' => Some("put text into double quotes"),
            _ => None,
        }
    }

    /// Creates the error for the next character or word. In `message`, `{}` stands for this character or word.
    fn mistake(&self, message: &str, help: Option<&'static str>) -> Halt {
        let rest = &self.text[self.at..];
        let word = self.end_of(|b| b.is_ascii_alphanumeric() || b == b'_');
        let end = word.max(self.at + rest.chars().next().map_or(0, char::len_utf8));
        let found =
            if rest.is_empty() { "the end".to_owned() } else { format!("`{}`", &self.text[self.at..end]) };
        mistake_at(self.at..end, message.replace("{}", &found), help)
    }
}

fn mistake_at(range: std::ops::Range<usize>, message: String, help: Option<&'static str>) -> Halt {
    Halt::Syntax(Mistake { range, message, help })
}

fn closing(open: u8) -> u8 {
    if open == b'[' { b']' } else { b'}' }
}
