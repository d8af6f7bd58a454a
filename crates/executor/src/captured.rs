//! One captured stream of a job.

use std::{borrow::Cow, fmt, path::PathBuf};

use serde::{Deserialize, Serialize};
use windlass_secret::Redactor;

/// One captured stream: its first bytes, its last bytes, and its total length.
///
/// ```
/// use windlass_executor::Captured;
///
/// let all = Captured::whole(*b"status: ok\n");
/// assert_eq!(all.complete().as_deref(), Some(&b"status: ok\n"[..]));
///
/// let cut = Captured::new(*b"first ", *b" last", 5_011);
/// assert_eq!(cut.complete(), None);
/// assert_eq!(cut.text(), "first [… 5000 bytes left out …] last");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    #[serde(with = "crate::bytes")]
    head: Vec<u8>,
    #[serde(with = "crate::bytes")]
    tail: Vec<u8>,
    total: u64,
    spill: Option<PathBuf>,
}

impl Captured {
    /// Creates a stream that was kept completely.
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        let head: Vec<u8> = bytes.into();
        Self { total: head.len() as u64, head, tail: Vec::new(), spill: None }
    }

    /// Creates a stream of `total` bytes. It starts with `head` and ends with `tail`, and these two parts
    /// don't overlap.
    pub fn new(head: impl Into<Vec<u8>>, tail: impl Into<Vec<u8>>, total: u64) -> Self {
        let (head, tail) = (head.into(), tail.into());
        let kept = (head.len() + tail.len()) as u64;
        Self { head, tail, total: total.max(kept), spill: None }
    }

    /// Sets the spill file: a file of this host with the beginning of the stream. The file contains more
    /// bytes than [`head`](Self::head).
    #[must_use]
    pub fn with_spill(mut self, spill: Option<PathBuf>) -> Self {
        self.spill = spill;
        self
    }

    /// Returns the first bytes of the stream.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the last bytes of the stream, without those in [`head`](Self::head).
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// Returns the number of bytes that the job wrote.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of bytes that are neither in [`head`](Self::head) nor in [`tail`](Self::tail).
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns the spill file: a file of this host with the beginning of the stream. The file contains more
    /// bytes than [`head`](Self::head). The runtime deletes the file when the job is
    /// [removed](crate::Runtime::remove).
    pub fn spill(&self) -> Option<&std::path::Path> {
        self.spill.as_deref()
    }

    /// Returns the whole stream, or `None` if bytes are omitted.
    pub fn complete(&self) -> Option<Cow<'_, [u8]>> {
        match (self.omitted(), self.tail.is_empty()) {
            (0, true) => Some(Cow::Borrowed(&self.head)),
            (0, false) => Some(Cow::Owned([&*self.head, &*self.tail].concat())),
            _ => None,
        }
    }

    /// Returns the stream as text for people. Each invalid UTF-8 sequence becomes `�`, and a note replaces
    /// the omitted bytes.
    pub fn text(&self) -> String {
        match self.complete() {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => self.with_note(&self.head, &self.tail),
        }
    }

    /// Returns the stream as [text](Self::text) with secrets masked. If the omitted bytes cut a secret into
    /// two parts, both parts are masked.
    pub fn masked(&self, redactor: &Redactor) -> String {
        if let Some(bytes) = self.complete() {
            return String::from_utf8_lossy(&redactor.mask(&bytes)).into_owned();
        }
        let (head, tail) = redactor.mask_cut(&self.head, &self.tail);
        self.with_note(&head, &tail)
    }

    fn with_note(&self, head: &[u8], tail: &[u8]) -> String {
        format!(
            "{}[… {} bytes left out …]{}",
            String::from_utf8_lossy(head),
            self.omitted(),
            String::from_utf8_lossy(tail)
        )
    }
}

impl fmt::Debug for Captured {
    /// Writes sizes only, since a stream may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Captured({} bytes, {} left out)", self.total, self.omitted())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Examples of streams, with the text that every runtime must put into the outcome. The columns are:
    ///
    /// - the stored beginning of the stream
    /// - the stored end of the stream, which never overlaps the stored beginning
    /// - the number of bytes of the whole stream
    /// - the maximum number of bytes of the stream in the outcome
    /// - the text in the outcome
    pub(crate) const CUTS: [(&str, &str, u64, u64, &str); 7] = [
        ("0123", "", 4, 8, "0123"),
        ("0123456789", "", 10, 4, "01[… 6 bytes left out …]89"),
        ("0123456789", "", 10, 5, "01[… 5 bytes left out …]789"),
        ("01234", "56789", 10, 10, "0123456789"),
        ("01234567", "89", 10, 8, "0123[… 2 bytes left out …]6789"),
        ("0123", "89", 10, 4, "01[… 6 bytes left out …]89"),
        ("0123", "", 4, 0, "[… 4 bytes left out …]"),
    ];

    #[test]
    fn head_and_tail_that_meet_are_complete() {
        let captured = Captured::new(*b"abc", *b"def", 6);
        assert_eq!(captured.complete().unwrap(), &b"abcdef"[..]);
        assert_eq!(captured.text(), "abcdef");
    }

    #[test]
    fn a_character_cut_by_the_middle_is_not_torn() {
        let (head, tail) = "aé".as_bytes().split_at(2);
        assert_eq!(Captured::new(head, tail, 3).text(), "aé");
    }

    #[test]
    fn a_secret_across_the_cut_is_masked() {
        let redactor = Redactor::new(["hunter2-Tr0ub4dor"]);
        let cut = Captured::new(*b"it is hunter2-T", *b"dor, yes", 1_000);
        assert_eq!(cut.masked(&redactor), "it is ***[… 977 bytes left out …]***, yes");
        let met = Captured::new(*b"it is hunter2-T", *b"r0ub4dor, yes", 28);
        assert_eq!(met.masked(&redactor), "it is ***, yes");
    }

    #[test]
    fn debug_shows_no_output() {
        assert_eq!(format!("{:?}", Captured::whole(*b"hunter2")), "Captured(7 bytes, 0 left out)");
    }
}
