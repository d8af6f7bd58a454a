//! What can be wrong with an update, and what is worth a remark.

use std::fmt;

use crate::operator::Operator;
use crate::path::{Path, PathError};
use crate::place::{Place, Step};

/// One thing that is wrong with an update or a document: what, and where.
///
/// Reading reports all of them at once. The message names the path, or what was written where a path belongs;
/// [`help`](UpdateError::help) says what to do, where that is known. No message quotes a value, which may be
/// a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateError {
    /// Where in the document that was read.
    pub place: Place,
    /// The path that it is about, unless the trouble is that there is none.
    pub path: Option<Path>,
    /// What is wrong.
    pub problem: Problem,
}

/// The kinds of [`UpdateError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A value of another sort, or one that fails its node's test.
    #[error("expected {expected}, found {found}")]
    WrongSort {
        /// What belongs there: "a boolean".
        expected: String,
        /// What is there: "a string".
        found: &'static str,
    },
    /// A field starts with `$` and is not an operator.
    #[error("unknown operator `{name}`")]
    UnknownOperator {
        /// As it was written.
        name: String,
        /// The operator that was probably meant.
        nearest: Option<Operator>,
    },
    /// What stands where a path belongs is none.
    #[error(transparent)]
    BadPath(#[from] PathError),
    /// The shape has no such path.
    #[error("no such path")]
    UnknownPath {
        /// The valid path whose last key is spelled most like it.
        nearest: Option<Path>,
        /// The keys that exist at that depth, where they can be listed.
        fields: Vec<String>,
    },
    /// A key that the rule of its map refuses.
    #[error("the key is not {expected}")]
    BadKey {
        /// What keys must look like: "a name of letters and digits".
        expected: String,
    },
    /// The path leads into a leaf or a list, which is only ever written whole.
    #[error("`{leaf}` is {sort}, and nothing inside it can be addressed")]
    Inside {
        /// The leaf.
        leaf: Path,
        /// Its sort: "a boolean".
        sort: String,
    },
    /// The operator is not permitted on this path.
    #[error("it may not be {}", .operator.participle())]
    NotPermitted {
        /// What was asked for.
        operator: Operator,
        /// What to do instead: "use `$pushAll`".
        hint: String,
    },
    /// A required field is absent.
    #[error("it is required and missing")]
    Missing,
    /// Two operations of one update touch the same path, or one a path below the other's.
    #[error("it conflicts with `{other}` at `{other_place}`: an update touches a path once")]
    Conflict {
        /// The path of the other operation: equal, or an ancestor.
        other: Path,
        /// Where the other operation stands.
        other_place: Place,
    },
    /// The value is nested so deeply that the document could not be read back.
    #[error("the value is nested deeper than {max} levels below the top of the document", max = Path::MAX_KEYS)]
    TooDeep,
}

impl UpdateError {
    /// What to do about it, as a lower-case fragment.
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

/// The names, if there are any, and no more of them than anyone reads.
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

/// Something that was accepted, though it was probably not meant like that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where in the document that was read.
    pub place: Place,
    /// The path that it is about, unless the trouble is that there is none.
    pub path: Option<Path>,
    /// What was noticed.
    pub notice: Notice,
}

/// The kinds of [`Warning`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// `$pushAll` of a map that is not in a list: it was appended as one entry.
    #[error("`$pushAll` takes a list; the map was appended as one entry")]
    LoneEntry,
    /// A string that the shape takes for another value.
    #[error("`{spelling}` was read as `{value}`")]
    Spelling {
        /// As it was written.
        spelling: String,
        /// What it was taken for, as JSON.
        value: String,
    },
    /// A lenient reading left something out.
    #[error("ignored: {0}")]
    Ignored(Problem),
}

impl Warning {
    /// What to do about it, as a lower-case fragment.
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

/// A document or an earlier update has a value in the way of an operation: some key on the operation's path,
/// or its own, holds what can't hold it.
///
/// Documents and updates of one [`Shape`](crate::Shape) never meet like this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` can't be written: `{obstacle}` is {found}, not {expected}")]
pub struct NotViable {
    /// The path of the operation.
    pub path: Path,
    /// What is in the way.
    pub obstacle: Path,
    /// What would have to be there: "a map".
    pub expected: &'static str,
    /// What is there: "a string".
    pub found: &'static str,
}

/// Appended entries can't be taken back: lists only grow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` was appended to, and what was appended can't be taken back")]
pub struct Irreversible {
    /// The path of the first append.
    pub path: Path,
}
