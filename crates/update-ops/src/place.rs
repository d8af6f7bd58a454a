//! Places in the JSON values that are passed to this crate: updates, patches and documents.

use std::fmt;

/// One step down into a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The step into a map, to the value of this key. The key is not escaped for a JSON Pointer. For example,
    /// the key `a/b` is stored as `a/b`, not as `a~1b`.
    Key(String),
    /// The step into a list, to the entry with this index. The first entry has the index 0.
    Index(usize),
}

/// A place in a JSON value that was passed to this crate: an update, a patch or a document. Errors contain places.
///
/// In contrast, a [`Path`](crate::Path) belongs to the document that an update changes. For example, the number in
/// the update `{"$set": {"status.message": 1}}` has the place `/$set/status.message` and the path `status.message`.
///
/// A place is displayed as a JSON Pointer (RFC 6901). If the JSON value was read from a text, a caller can follow the
/// [`steps`](Self::steps) to find the line in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(Vec<Step>);

impl Place {
    /// Returns the steps from the top of the JSON value to the place. A place that is the whole value has no steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    pub(crate) fn key(mut self, key: &str) -> Self {
        self.0.push(Step::Key(key.to_owned()));
        self
    }

    pub(crate) fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    pub(crate) fn enter(&mut self, key: &str) {
        self.0.push(Step::Key(key.to_owned()));
    }

    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1"))?,
                Step::Index(index) => write!(f, "/{index}")?,
            }
        }
        Ok(())
    }
}
