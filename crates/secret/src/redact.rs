//! Cuts known secrets out of what programs print.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::MASK;
use crate::automaton::{Automaton, START};
use crate::spelling::{Spellings, spell};

/// Masks known values in text and streams.
///
/// Every byte that belongs to an occurrence of a value is cut out, and each run of such bytes is shown as
/// `***`; so values that overlap or contain one another leave no remainder. A value is known in these
/// spellings: as it is; each of its lines (from 8 bytes); escaped as in JSON and YAML, also with all but
/// ASCII escaped; as in URLs; in base64 of both alphabets, alone and as part of a longer text. A line break
/// at the end of a value is not part of it. Values of fewer than 4 bytes are **not** masked, since they would
/// be found everywhere: see [`too_short`](Self::too_short).
///
/// Takes linear time, whatever the number of values. Cheap to clone.
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
    too_short: usize,
}

impl Redactor {
    /// A redactor of the given values.
    pub fn new<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut spellings = Spellings::new();
        let masked = values.into_iter().map(|value| spell(value.as_ref(), &mut spellings));
        let too_short = masked.filter(|&masked| !masked).count();
        let automaton = Arc::new(Automaton::new(spellings.iter().map(|spelling| spelling.as_slice())));
        Self { automaton, too_short }
    }

    /// How many values were too short to be masked, to warn about.
    pub fn too_short(&self) -> usize {
        self.too_short
    }

    /// Masks bytes that are there as a whole.
    pub fn mask(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        let mut out = stream.push(bytes);
        out.append(&mut stream.finish());
        out
    }

    /// Masks text. A value that is no text may cut a character in two; the rest of it shows as U+FFFD.
    pub fn mask_str(&self, text: &str) -> String {
        match String::from_utf8(self.mask(text.as_bytes())) {
            Ok(masked) => masked,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
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

/// The values are not shown.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("too_short", &self.too_short).finish_non_exhaustive()
    }
}

/// A stream under redaction: bytes go in by chunks of any size, and come out masked.
///
/// What comes out does not depend on where the chunks are cut. Only bytes that may be the start of a secret
/// are held back, so a log stays live; call [`finish`](Self::finish) for the last of them.
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
    /// The bytes that were read and not yet given out.
    held: Zeroizing<Vec<u8>>,
    /// Ranges of the stream to be masked, in order, apart from one another.
    found: VecDeque<(usize, usize)>,
    /// Whether the last thing given out was a mask.
    masking: bool,
}

impl RedactedStream {
    /// Takes some bytes, and gives out those that are certain.
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

    /// Gives out what was held back.
    pub fn finish(mut self) -> Vec<u8> {
        self.give_out(self.read)
    }

    /// Notes a range to be masked; none ends before an earlier one.
    fn cover(&mut self, mut start: usize, end: usize) {
        while let Some(&(last_start, last_end)) = self.found.back()
            && start <= last_end
        {
            start = start.min(last_start);
            self.found.pop_back();
        }
        self.found.push_back((start, end));
    }

    /// Gives out all before an offset of the stream.
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
