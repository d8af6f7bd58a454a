//! Redacts known secrets from the output of programs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use zeroize::Zeroizing;

use crate::MASK;
use crate::automaton::{Automaton, START};
use crate::reference::SecretRef;
use crate::spelling::{Spellings, spell};

/// Masks known values in text and streams.
///
/// Every byte that belongs to an occurrence of a value is masked, and each run of such bytes becomes `***`.
/// So values that overlap or contain one another leave no remainder. A value is found in these spellings:
///
/// - unchanged: the whole value, or one of its lines if the line has at least 8 bytes;
/// - escaped as in JSON and YAML, with or without escapes for non-ASCII characters;
/// - escaped as in URLs;
/// - in hexadecimal digits, with lower-case or upper-case letters;
/// - in base64, standard or URL-safe, alone and as part of a longer text.
///
/// A line break at the end of a value is not part of the value. Values of fewer than 4 bytes are **not**
/// masked, since they would match everywhere.
///
/// Masking takes time linear in the text, for any number of values. A redactor is cheap to clone.
///
/// ```
/// use windlass_secret::Redactor;
///
/// let redactor = Redactor::new(["hunter22"]);
/// assert_eq!(redactor.mask_str("password=hunter22, aHVudGVyMjI="), "password=***, ***");
/// ```
#[derive(Clone)]
pub struct Redactor {
    automaton: Arc<Automaton>,
    spellings: Arc<Spellings>,
}

impl Redactor {
    /// Creates a redactor of the given values.
    pub fn new<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut spellings = Spellings::new();
        values.into_iter().for_each(|value| spell(value.as_ref(), &mut spellings));
        let automaton = Arc::new(Automaton::new(spellings.iter().map(|spelling| spelling.as_slice())));
        Self { automaton, spellings: Arc::new(spellings) }
    }

    /// Masks a complete byte string.
    pub fn mask(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        let mut out = stream.push(bytes);
        out.append(&mut stream.finish());
        out
    }

    /// Masks a text. A secret value that is not UTF-8 can match some bytes of a character. The other bytes of this
    /// character then become U+FFFD.
    pub fn mask_str(&self, text: &str) -> String {
        match String::from_utf8(self.mask(text.as_bytes())) {
            Ok(masked) => masked,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }

    /// Masks the secret values in all texts and keys of JSON data. A number is masked only if the whole number is a
    /// secret value. [References to secrets](SecretRef) stay unchanged.
    ///
    /// ```
    /// use serde_json::json;
    ///
    /// let mut data = json!({"url": "tcp://me:hunter22@db", "pin": 4711, "tries": 3});
    /// windlass_secret::Redactor::new(["hunter22", "4711"]).mask_value(&mut data);
    /// assert_eq!(data, json!({"url": "tcp://me:***@db", "pin": "***", "tries": 3}));
    /// ```
    ///
    /// The keys of an object stay distinct. If several keys become `***`, the second key becomes `*** (2)`.
    pub fn mask_value(&self, value: &mut Value) {
        if SecretRef::from_value(value).is_some() {
            return;
        }
        match value {
            Value::String(text) => *text = self.mask_str(text),
            Value::Number(number) if self.mask_str(&number.to_string()) == MASK => *value = MASK.into(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(entries) => {
                if entries.keys().any(|name| self.mask_str(name) != *name) {
                    for (name, value) in std::mem::take(entries) {
                        let masked = self.mask_str(&name);
                        let numbered = (2..).map(|number| format!("{masked} ({number})"));
                        let mut names = std::iter::once(masked.clone()).chain(numbered);
                        let name = names.find(|name| !entries.contains_key(name)).unwrap_or(masked);
                        entries.insert(name, value);
                    }
                }
                entries.values_mut().for_each(|entry| self.mask_value(entry));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Masks the two ends of a stream whose middle was not kept.
    ///
    /// A value that spans the cut is not complete in either end. So the function masks the bytes before the cut
    /// that may be the start of a value. It also masks the bytes after the cut that may be the end of a value.
    /// Every byte that [`mask`](Self::mask) would mask in the uncut stream is masked here too.
    ///
    /// ```
    /// let redactor = windlass_secret::Redactor::new(["hunter22"]);
    /// let (head, tail) = redactor.mask_cut(b"password=hunt", b"r22, done");
    /// assert_eq!((head.as_slice(), tail.as_slice()), (&b"password=***"[..], &b"***, done"[..]));
    /// ```
    pub fn mask_cut(&self, head: &[u8], tail: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut before = self.stream();
        let mut masked_head = before.push(head);
        before.cover_start_of_secret();
        masked_head.append(&mut before.finish());
        let mut after = self.stream();
        let ends = self.spellings.iter().map(|spelling| end_of(spelling, tail)).max().unwrap_or(0);
        if ends > 0 {
            after.found.push_back((0, ends));
        }
        let mut masked_tail = after.push(tail);
        masked_tail.append(&mut after.finish());
        (masked_head, masked_tail)
    }

    /// Starts masking a stream.
    pub fn stream(&self) -> RedactedStream {
        RedactedStream {
            automaton: Arc::clone(&self.automaton),
            state: START,
            read: 0,
            held: Zeroizing::new(Vec::new()),
            found: VecDeque::new(),
            masking: false,
        }
    }
}

/// Debug output contains no values.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// A stream under redaction: takes chunks of any size, and returns masked bytes.
///
/// The output does not depend on the chunk boundaries. Only bytes that may be the start of a secret are held
/// back, so a log is not delayed. Call [`finish`](Self::finish) to get the last of these bytes.
///
/// ```
/// use windlass_secret::Redactor;
///
/// let mut stream = Redactor::new(["hunter22"]).stream();
/// assert_eq!(stream.push(b"password=hun"), b"password=");
/// assert_eq!(stream.push(b"ter22\nhu"), b"***\n");
/// assert_eq!(stream.finish(), b"hu");
/// ```
#[must_use = "call `finish` for the bytes held back"]
pub struct RedactedStream {
    automaton: Arc<Automaton>,
    state: u32,
    /// Number of bytes read so far.
    read: usize,
    /// Bytes that were read and not yet returned.
    held: Zeroizing<Vec<u8>>,
    /// The ranges of the stream that must be masked, each as its start and end offset. The ranges are disjoint and
    /// in order.
    found: VecDeque<(usize, usize)>,
    /// Whether the last output was a mask.
    masking: bool,
}

impl RedactedStream {
    /// Reads a chunk, and returns bytes of the stream with secrets masked. Bytes at the end that may be the start of a
    /// secret are not returned yet. The next call of `push` or [`finish`](Self::finish) continues with these bytes.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(chunk);
        for &byte in chunk {
            self.state = self.automaton.next(self.state, byte);
            self.read += 1;
            let length = self.automaton.longest(self.state);
            if length > 0 {
                self.cover(self.read - length, self.read);
            }
        }
        self.give_out(self.read - self.automaton.depth(self.state))
    }

    /// Returns the bytes that were held back.
    pub fn finish(mut self) -> Vec<u8> {
        self.give_out(self.read)
    }

    /// Masks the last bytes of the stream if they may be the start of a secret.
    fn cover_start_of_secret(&mut self) {
        let depth = self.automaton.depth(self.state);
        if depth > 0 {
            self.cover(self.read - depth, self.read);
        }
    }

    /// Adds a range to be masked, and merges it with adjacent ranges.
    fn cover(&mut self, mut start: usize, mut end: usize) {
        while let Some(&(last_start, last_end)) = self.found.back()
            && start <= last_end
        {
            start = start.min(last_start);
            end = end.max(last_end);
            self.found.pop_back();
        }
        self.found.push_back((start, end));
    }

    /// Returns the bytes in `held` up to the stream offset `until` (exclusive), and removes them from `held`. In
    /// the returned bytes, the ranges in `found` are masked.
    fn give_out(&mut self, until: usize) -> Vec<u8> {
        let start = self.read - self.held.len();
        let mut out = Vec::with_capacity(until - start);
        let mut at = start;
        while at < until {
            let next = self.found.front().copied();
            match next {
                Some((from, to)) if from <= at => {
                    if !self.masking {
                        out.extend_from_slice(MASK.as_bytes());
                    }
                    self.masking = true;
                    at = to.min(until);
                    if to <= until {
                        self.found.pop_front();
                    }
                }
                _ => {
                    self.masking = false;
                    let end = next.map_or(until, |(from, _)| from.min(until));
                    out.extend_from_slice(&self.held[at - start..end - start]);
                    at = end;
                }
            }
        }
        self.held.drain(..until - start);
        out
    }
}

impl fmt::Debug for RedactedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactedStream").field("read", &self.read).finish_non_exhaustive()
    }
}

/// Returns the length of the longest prefix of `text` that is also a proper suffix of `pattern` (a suffix that is
/// shorter than `pattern`).
fn end_of(pattern: &[u8], text: &[u8]) -> usize {
    let text = &text[..text.len().min(pattern.len().saturating_sub(1))];
    // The Knuth-Morris-Pratt automaton of the text, run over the pattern.
    let mut borders = vec![0; text.len() + 1];
    let next = |borders: &[usize], mut at: usize, byte: u8| {
        while at > 0 && (at == text.len() || text[at] != byte) {
            at = borders[at];
        }
        at + usize::from(text.get(at) == Some(&byte))
    };
    for (at, &byte) in text.iter().enumerate().skip(1) {
        borders[at + 1] = next(&borders, borders[at], byte);
    }
    pattern.iter().skip(1).fold(0, |at, &byte| next(&borders, at, byte))
}
