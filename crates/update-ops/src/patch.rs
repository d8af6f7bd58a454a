//! Errors of the conversion from and to JSON Patch and JSON Merge Patch.

use std::fmt;

use crate::path::Path;
use crate::place::Place;
use crate::problem::{NotViable, UpdateError};

/// A reason why no update can express a patch, with the place of the error in the patch.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchError {
    /// Place of the error in the patch.
    pub place: Place,
    /// Kind of the error.
    pub problem: PatchProblem,
}

/// The kind of a [`PatchError`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchProblem {
    /// The patch violates its specification.
    #[error("expected {expected}")]
    Malformed {
        /// A description of the expected value, such as "a list of operations".
        expected: &'static str,
    },
    /// The patch contains an operation whose result depends on the document: `test`, `move` or `copy`.
    #[error("`{op}` depends on the document, and an update does not")]
    DependsOnDocument {
        /// The name of the operation.
        op: String,
    },
    /// The JSON Pointer leads to an entry of a list, or to a place inside an entry. An
    /// [untyped](crate::Shape::untyped) shape does not declare lists. Under such a shape, a key of digits counts as the
    /// index of an entry, unless it is the first key of the pointer. For example, `/log/0` leads to an entry, and `/0`
    /// leads to a field.
    #[error("`{pointer}` names an entry of a list, and an update appends to lists or replaces them")]
    Entry {
        /// The JSON Pointer as given.
        pointer: String,
    },
    /// The patch replaces or removes the whole document.
    #[error("it replaces the whole document, and an update changes fields")]
    WholeDocument,
    /// The patch merges a map into a value that updates can only replace as a whole.
    #[error("`{path}` is a value without parts, and a map can't be merged into it")]
    MergesIntoValue {
        /// The path of the value.
        path: Path,
    },
    /// The shape does not contain the path, or requires another sort of value at the path.
    #[error(transparent)]
    Refused(Box<UpdateError>),
    /// Two operations of the patch contradict each other: one requires a map at a path, and the other requires a
    /// list or another value there.
    #[error(transparent)]
    NotViable(Box<NotViable>),
}

impl PatchError {
    pub(crate) fn new(place: Place, problem: PatchProblem) -> Self {
        Self { place, problem }
    }

    /// Returns a remedy in a few words, such as "did you mean `status.running`?". Returns `None` if no remedy is
    /// known.
    pub fn help(&self) -> Option<String> {
        match &self.problem {
            PatchProblem::Refused(error) => error.help(),
            PatchProblem::DependsOnDocument { .. }
            | PatchProblem::Entry { .. }
            | PatchProblem::WholeDocument => {
                Some("apply the patch to a document, and take the difference to the result".to_owned())
            }
            _ => None,
        }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for PatchError {}

/// The reason why no JSON Merge Patch can express an update.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoMergePatch {
    /// The update writes a `null`, which a merge patch takes as a removal.
    #[error("`{path}` would be `null`, which a merge patch can't write")]
    Null {
        /// The path of the `null`.
        path: Path,
    },
    /// The update can't be applied to the document.
    #[error(transparent)]
    NotViable(#[from] NotViable),
}
