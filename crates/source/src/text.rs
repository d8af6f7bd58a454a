//! A text with a name ([`Source`]), its byte ranges ([`Span`]), and byte ranges together with their source
//! ([`Place`]).

use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::files::MAX_SIZE;

/// A document's text and its display name. The name is a path, or a description such as `<stdin>`.
///
/// All [`Place`]s in a document share the source through an `Arc`. So an error can show lines of the document without
/// reading the file again.
pub struct Source {
    name: Arc<str>,
    text: String,
    /// Byte offset at which each line starts; computed on first use.
    lines: OnceLock<Vec<u32>>,
    /// Line of the last lookup. The next lookup is usually near this line.
    near: AtomicUsize,
    /// Number of characters before each block of [`BLOCK`] bytes; computed when a position in a long line is
    /// first needed.
    characters: OnceLock<Vec<u32>>,
    /// Byte limit of this source; see [`with_limit`](Self::with_limit).
    limit: usize,
    /// Whether the characters of `text` are masked; see [`without_text`](Self::without_text).
    is_hidden: bool,
}

/// Number of bytes in one block of the text. [`Source::characters`] contains the number of characters before each
/// block. So the source finds the column of an offset in a long line without reading the whole line.
const BLOCK: usize = 256;

impl Source {
    /// Creates a source from text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Self::with_limit(name, text, MAX_SIZE)
    }

    /// Creates a source with its own byte limit. If `limit` is higher than both [`MAX_SIZE`] and
    /// [`Limits::bytes`](crate::Limits::bytes), the loader accepts up to `limit` bytes of this source. Otherwise,
    /// `limit` has no effect, and `Limits::bytes` applies.
    pub fn with_limit(name: impl Into<String>, text: impl Into<String>, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            name: name.into().into(),
            text: text.into(),
            lines: OnceLock::new(),
            near: AtomicUsize::new(0),
            characters: OnceLock::new(),
            limit,
            is_hidden: false,
        })
    }

    /// Returns a copy in which every character except line breaks is masked. Diagnostics about a file of
    /// secrets use the copy, so that they show the place of a problem without the secrets.
    ///
    /// The copy has the same name, and every byte offset has the same line and column as in the original.
    ///
    /// ```
    /// use windlass_source::{Source, Span};
    ///
    /// let source = Source::new("secrets.yaml", "é: 1\npassword: hunter2\n");
    /// let place = source.without_text().place(Span::new(16, 23));
    /// assert_eq!((place.to_string().as_str(), place.text()), ("secrets.yaml:2:11", "*******"));
    /// ```
    #[must_use]
    pub fn without_text(&self) -> Arc<Self> {
        let shape = |c: char| match c {
            '\r' | '\n' | '\u{feff}' => c,
            _ => ['*', '\u{b7}', '\u{2022}', '\u{1f784}'][c.len_utf8() - 1],
        };
        Arc::new(Self {
            name: Arc::clone(&self.name),
            text: self.text.chars().map(shape).collect(),
            lines: OnceLock::new(),
            near: AtomicUsize::new(0),
            characters: OnceLock::new(),
            limit: self.limit,
            is_hidden: true,
        })
    }

    /// Tells whether [`without_text`](Self::without_text) created this source. Messages should not show lines of such
    /// a source, because its characters are masked.
    pub fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// Returns the display name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the display name as a shared string.
    pub fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Returns the byte limit of this source; see [`with_limit`](Self::with_limit).
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a span; empty if the span does not match character boundaries of this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Combines a span of this text with this source. The result can display the file name, line and column.
    pub fn place(self: &Arc<Self>, span: Span) -> Place {
        Place { source: Arc::clone(self), span }
    }

    /// Returns line and column of a byte offset. An offset after the end counts as the end. An offset inside
    /// a character counts as the start of that character.
    pub fn position(&self, offset: u32) -> Position {
        let offset = floor_char_boundary(&self.text, offset as usize);
        let line = self.line_index(offset);
        let start = self.line_starts()[line] as usize;
        let column = if offset - start <= BLOCK {
            characters(&self.text[start..offset])
        } else {
            self.characters_before(offset) - self.characters_before(start)
        };
        Position { line: line + 1, column: column + 1 }
    }

    /// Returns the number of characters before an offset. The function is fast even if the document is one
    /// long line.
    fn characters_before(&self, offset: usize) -> usize {
        let counts = self.characters.get_or_init(|| {
            let mut count = 0;
            let starts = (0..=self.text.len()).step_by(BLOCK);
            let counts = starts.map(|start| {
                let before = count;
                let from = floor_char_boundary(&self.text, start);
                count += characters(&self.text[from..floor_char_boundary(&self.text, start + BLOCK)]);
                u32::try_from(before).unwrap_or(u32::MAX)
            });
            counts.collect()
        });
        let block = offset / BLOCK;
        let from = floor_char_boundary(&self.text, block * BLOCK);
        counts.get(block).map_or(0, |&before| before as usize) + characters(&self.text[from..offset])
    }

    /// Returns the span of a line without its line break; lines count from 1.
    pub fn line(&self, number: usize) -> Option<Span> {
        let starts = self.line_starts();
        let start = *starts.get(number.checked_sub(1)?)? as usize;
        let end = starts.get(number).map_or(self.text.len(), |&next| next as usize);
        let text = self.text[start..end].trim_end_matches(['\r', '\n']);
        Some(Span::from(start..start + text.len()))
    }

    fn line_index(&self, offset: usize) -> usize {
        /// Number of lines that are searched linearly before a binary search.
        const WINDOW: usize = 8;
        let starts = self.line_starts();
        let near = self.near.load(AtomicOrdering::Relaxed).min(starts.len() - 1);
        let window = &starts[near..starts.len().min(near + WINDOW)];
        let passed = window.iter().take_while(|&&start| start as usize <= offset).count();
        let found = match passed {
            0 => starts[..near].partition_point(|&start| start as usize <= offset).saturating_sub(1),
            WINDOW => starts.partition_point(|&start| start as usize <= offset).saturating_sub(1),
            _ => near + passed - 1,
        };
        self.near.store(found, AtomicOrdering::Relaxed);
        found
    }

    fn line_starts(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            std::iter::once(0).chain(breaks.map(|(at, _)| offset(at + 1))).collect()
        })
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({}, {} bytes)", self.name, self.text.len())
    }
}

/// Returns the number of characters of a text. A byte-order mark does not count.
fn characters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().filter(|&c| c != '\u{feff}').count() }
}

/// Converts a byte offset to 32 bits. An offset that does not fit would become `u32::MAX`. The loader refuses texts
/// that are long enough for such an offset.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A value with its span.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    /// The value without its span.
    pub value: T,
    /// Span of the value.
    pub span: Span,
}

/// A byte range in a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Creates the range from `start` to `end`. An `end` before `start` counts as `start`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Creates the empty range at an offset.
    pub fn empty(at: u32) -> Self {
        Self { start: at, end: at }
    }

    /// Returns the number of bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Tells whether the range is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the smallest range that covers both ranges.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the range as indices.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self::new(offset(range.start), offset(range.end))
    }
}

/// A line and a column, both from 1. A column counts characters (Unicode scalar values). A tab counts as one
/// character, and a byte-order mark does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A [`Span`] together with its source, for people (`app.yaml:3:7`) and for programs.
///
/// A clone shares the source, so it is cheap. A place serialises as `{file, line, column, end_line,
/// end_column}`.
///
/// ```
/// use windlass_source::{Source, Span};
///
/// let source = Source::new("app.yaml", "name: web\ntype: box\n");
/// assert_eq!(source.place(Span::new(16, 19)).to_string(), "app.yaml:2:7");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    source: Arc<Source>,
    span: Span,
}

impl Place {
    /// Returns the source that contains the place.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Returns the byte range.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Returns the covered text.
    pub fn text(&self) -> &str {
        self.source.slice(self.span)
    }

    /// Returns the position of the place's first character.
    pub fn start(&self) -> Position {
        self.source.position(self.span.start)
    }

    /// Returns the position directly after the place's last character.
    pub fn end(&self) -> Position {
        self.source.position(self.span.end)
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.name == other.name && self.text == other.text)
    }
}

impl Eq for Source {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Orders places by file name, then by offset.
impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let same = Arc::ptr_eq(&self.source, &other.source);
        let by_source = || {
            self.source.name.cmp(&other.source.name).then_with(|| self.source.text.cmp(&other.source.text))
        };
        let order = if same { Ordering::Equal } else { by_source() };
        order.then(self.span.cmp(&other.span))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source.name, self.start())
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}-{}", self.end())
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (start, end) = (self.start(), self.end());
        let mut out = serializer.serialize_struct("Place", 5)?;
        out.serialize_field("file", self.source.name())?;
        out.serialize_field("line", &start.line)?;
        out.serialize_field("column", &start.column)?;
        out.serialize_field("end_line", &end.line)?;
        out.serialize_field("end_column", &end.column)?;
        out.end()
    }
}
