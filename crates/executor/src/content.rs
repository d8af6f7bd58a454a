//! Input bytes of a job.

use std::fmt;

use serde::{Serialize, Serializer};
use windlass_secret::Sensitive;

/// Input bytes of a job: its stdin, or one of its input files.
///
/// A content may hold secrets. So `Debug` and serde write only the number of bytes, and the memory of the
/// bytes is overwritten when the content is dropped. Two contents can't be compared. Only
/// [`expose`](Content::expose) returns the bytes.
///
/// ```
/// use windlass_executor::Content;
///
/// let content = Content::from("password: hunter2\n");
/// assert_eq!(format!("{content:?}"), "Content(18 bytes)");
/// assert_eq!(content.expose(), b"password: hunter2\n");
/// ```
#[derive(Clone)]
pub struct Content(Sensitive<Vec<u8>>);

impl Content {
    /// Returns the bytes of the content.
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.expose().len()
    }

    /// Tells whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.len())
    }
}

impl Serialize for Content {
    /// Writes the number of bytes, never the bytes.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.len() as u64)
    }
}

impl Default for Content {
    /// Returns an empty content.
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Sensitive<Vec<u8>>> for Content {
    fn from(bytes: Sensitive<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Sensitive::new(bytes))
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl<const N: usize> From<&[u8; N]> for Content {
    fn from(bytes: &[u8; N]) -> Self {
        bytes.to_vec().into()
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}
