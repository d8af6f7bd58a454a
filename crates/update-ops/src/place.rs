//! Where in the wire document something was said.

use std::fmt;

/// One step down into a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a map, by its key, as it was written.
    Key(String),
    /// Into a list, by position, from zero.
    Index(usize),
}

/// A place inside the document that was read, as opposed to a [`Path`](crate::Path) inside the one that it
/// updates.
///
/// `{"$set": {"status.message": 1}}` is wrong at the place `/$set/status.message`; the path that it is wrong
/// about is `status.message`. Whoever holds the text follows the steps to find the line. Displayed as a JSON
/// Pointer (RFC 6901).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(Vec<Step>);

impl Place {
    /// The steps, from the top of the document that was read; none for the document itself.
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
