//! Errors and warnings of updates.

use std::fmt;

use crate::operator::Operator;
use crate::path::{Path, PathError};
use crate::place::{Place, Step};

/// An error in an update or a document, with its place.
///
/// Parsing reports all errors at once. The message names the path. If the path is not valid, the message quotes its
/// text. The method [`help`](UpdateError::help) returns the remedy, if it is known. No message quotes a value, because
/// it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateError {
    /// Place of the error in the JSON value that the caller has passed: an update or a document.
    pub place: Place,
    /// Path of the wrong operation or value; `None` if there is no valid path.
    pub path: Option<Path>,
    /// Kind of the error.
    pub problem: Problem,
}

/// The kind of an [`UpdateError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A value has the wrong type, for example a list in place of a boolean. This problem is also reported if a value
    /// does not pass the test that [`Node::matching`](crate::Node::matching) has set.
    #[error("expected {expected}, found {found}")]
    WrongSort {
        /// Description of the expected value, such as "a boolean".
        expected: String,
        /// Description of the actual value, such as "a string".
        found: &'static str,
    },
    /// A field starts with `$`, but is no operator.
    #[error("unknown operator `{name}`")]
    UnknownOperator {
        /// The name as written.
        name: String,
        /// The operator that is nearest in spelling.
        nearest: Option<Operator>,
    },
    /// A text is no valid path.
    #[error(transparent)]
    BadPath(#[from] PathError),
    /// The shape has no such path.
    #[error("no such path")]
    UnknownPath {
        /// The valid path whose last key has the nearest spelling; none if no key is near enough.
        nearest: Option<Path>,
        /// The keys that are permitted instead of the unknown key; empty if they can't be listed.
        fields: Vec<String>,
    },
    /// A key violates the rule of its map.
    #[error("the key is not {expected}")]
    BadKey {
        /// Description of a valid key, such as "a name of letters and digits".
        expected: String,
    },
    /// The path leads into a leaf or a list, whose parts can't be addressed.
    #[error("`{leaf}` is {sort}, and nothing inside it can be addressed")]
    Inside {
        /// Path of the leaf or list.
        leaf: Path,
        /// Description of the leaf or list, such as "a boolean".
        sort: String,
    },
    /// The operator is not permitted on this path.
    #[error("it may not be {}", .operator.participle())]
    NotPermitted {
        /// The operator that the update requests.
        operator: Operator,
        /// The remedy, such as "use `$pushAll`".
        hint: String,
    },
    /// A required field is absent.
    #[error("it is required and missing")]
    Missing,
    /// Two operations of one update touch the same path, or a path and one of its ancestors.
    #[error("it conflicts with `{other}` at `{other_place}`: an update touches a path once")]
    Conflict {
        /// The path of the operation that conflicts with the operation at [`UpdateError::path`]. It is equal
        /// to [`UpdateError::path`], or an ancestor of that path.
        other: Path,
        /// Place of the other operation.
        other_place: Place,
    },
    /// The value is nested so deeply that the document could not be read again.
    #[error("the value is nested deeper than {max} levels below the top of the document", max = Path::MAX_KEYS)]
    TooDeep,
}

impl UpdateError {
    /// Returns a remedy in a few words, such as "did you mean `status.running`?". Returns `None` if no remedy is
    /// known.
    pub fn help(&self) -> Option<String> {
        match &self.problem {
            Problem::UnknownOperator { name, nearest } => Some(operator_help(name, *nearest)),
            Problem::UnknownPath { nearest, fields } => self.path_help(nearest.as_ref(), fields),
            Problem::NotPermitted { hint, .. } => Some(hint.clone()),
            Problem::BadPath(PathError::EmptyKey(_)) => {
                Some(r"write a dot that belongs to a key as `\.`".to_owned())
            }
            _ => None,
        }
    }

    fn path_help(&self, nearest: Option<&Path>, fields: &[String]) -> Option<String> {
        let plain = self.path.as_ref().filter(|_| self.place.steps().len() == 1).map(Path::as_slice);
        match (nearest, plain) {
            (Some(nearest), _) => Some(format!("did you mean `{nearest}`?")),
            (None, Some([field])) if field.contains('.') => {
                Some("a plain field is one key: write dotted paths under `$set`".to_owned())
            }
            _ => listed(fields),
        }
    }
}

/// Lists the permitted names for a message: the first 12 names, and the number of further names. Returns
/// `None` if there are no names.
fn listed(fields: &[String]) -> Option<String> {
    const READ: usize = 12;
    let names = fields.get(..READ).unwrap_or(fields).join("`, `");
    match fields.len() {
        0 => None,
        n if n > READ => Some(format!("known here: `{names}` and {} more", n - READ)),
        _ => Some(format!("known here: `{names}`")),
    }
}

fn operator_help(name: &str, nearest: Option<Operator>) -> String {
    let known = "the operators are `$set`, `$unset` and `$pushAll`";
    match nearest {
        _ if name == "$push" => format!("use `$pushAll` with a list of entries; {known}"),
        Some(nearest) => format!("did you mean `{nearest}`? {known}"),
        None => known.to_owned(),
    }
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = matches!(self.problem, Problem::UnknownOperator { .. } | Problem::BadPath(_));
        match (&self.path, self.place.steps().last()) {
            (Some(path), _) => write!(f, "`{path}`: {}", self.problem),
            (None, Some(Step::Key(key))) if !named => write!(f, "`{key}`: {}", self.problem),
            (None, _) => write!(f, "{}", self.problem),
        }
    }
}

impl std::error::Error for UpdateError {}

/// A warning about a probable mistake in an update. In spite of the mistake, the parser has accepted the update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Place of the mistake in the wire form of the update.
    pub place: Place,
    /// Path of the operation or value with the mistake; `None` if there is no valid path.
    pub path: Option<Path>,
    /// Kind of the warning.
    pub notice: Notice,
}

/// The kind of a [`Warning`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// `$pushAll` has a map instead of a list. The map was appended as one entry.
    #[error("`$pushAll` takes a list; the map was appended as one entry")]
    LoneEntry,
    /// A string was read as a value of another type; for example `yes` as `true`. The document's shape permits
    /// this by [`Node::spelled`](crate::Node::spelled).
    #[error("`{spelling}` was read as `{value}`")]
    Spelling {
        /// The string in the update, such as `yes`.
        spelling: String,
        /// The value that replaces the string, as JSON, such as `true`.
        value: String,
    },
    /// A part of the update has this problem. [`parse_lenient`](crate::Update::parse_lenient) skipped the
    /// part.
    #[error("ignored: {0}")]
    Ignored(Problem),
}

impl Warning {
    /// Returns a remedy in a few words, such as "did you mean `status.running`?". Returns `None` if no remedy is
    /// known.
    pub fn help(&self) -> Option<String> {
        let Notice::Ignored(problem) = &self.notice else { return None };
        let (place, path, problem) = (self.place.clone(), self.path.clone(), problem.clone());
        UpdateError { place, path, problem }.help()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "`{path}`: {}", self.notice),
            None => write!(f, "`{}`: {}", self.place, self.notice),
        }
    }
}

/// The error for an operation that is blocked by an existing value of the wrong type. For example, the operation sets
/// the path `status.note`, but `status` is a text in the document.
///
/// The existing value comes from the document, or from an earlier update in a composition.
///
/// This can't happen if all documents and updates have the same [`Shape`](crate::Shape).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` can't be written: {} is {found}, not {expected}", in_words(obstacle))]
pub struct NotViable {
    /// The path of the operation.
    pub path: Path,
    /// Path of the existing value, such as `status`. The operation has the same path, or a path below this path. The
    /// path without keys stands for the whole document.
    pub obstacle: Path,
    /// Description of the value that the operation requires at the path `obstacle`: "a map" or "a list".
    pub expected: &'static str,
    /// Description of the existing value, such as "a string".
    pub found: &'static str,
}

/// Returns a path for a message. The path without keys stands for the whole document.
fn in_words(path: &Path) -> String {
    if path.as_slice().is_empty() { "the document".to_owned() } else { format!("`{path}`") }
}

/// The error of [`Update::inverse`](crate::Update::inverse) for an update that appends entries to a list. No
/// operation can remove the appended entries again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` was appended to, and what was appended can't be taken back")]
pub struct Irreversible {
    /// The path of the first append.
    pub path: Path,
}
