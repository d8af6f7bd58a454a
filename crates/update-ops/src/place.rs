//! Places in the document that is read, such as the wire form of an update.

use std::fmt;

/// One step down into a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The step into a map, to the value of this key. The key has its original spelling.
    Key(String),
    /// The step into a list, to the entry with this index. The first entry has the index 0.
    Index(usize),
}

/// A place in the document that was read, in contrast to a [`Path`](crate::Path) in the updated document.
///
/// For example, `{"$set": {"status.message": 1}}` has an error at the place `/$set/status.message`, about the
/// path `status.message`. A caller that has the text can find the line by following the steps. A place is
/// displayed as a JSON Pointer (RFC 6901).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(Vec<Step>);

impl Place {
    /// Returns the steps, from the top of the document that was read; empty for the document itself.
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
