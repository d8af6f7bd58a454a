//! Paths inside a job's working folder.

use std::{fmt, path::Path, str::FromStr};

use serde::{Deserialize, Serialize};

/// The path of a file inside a job's working folder.
///
/// The path is relative. Its parts are separated by `/`, and no part is empty, `.` or `..`, so the path can't
/// name a place outside of the folder. The type contains text, not a [`Path`](std::path::Path), since the
/// folder may be on another host.
///
/// ```
/// use windlass_executor::WorkPath;
///
/// assert!("scripts/Install.sh".parse::<WorkPath>().is_ok());
/// assert!("../secrets".parse::<WorkPath>().is_err());
/// assert!("/etc/passwd".parse::<WorkPath>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkPath(String);

/// An error for a path that is not inside the working folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is no path inside the working folder: it {problem}")]
pub struct WorkPathError {
    /// The path as it was given.
    pub path: String,
    /// The rule that the path violates.
    pub problem: WorkPathProblem,
}

/// The rule that a text violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkPathProblem {
    /// The text is empty.
    Empty,
    /// The path is absolute.
    Absolute,
    /// A part is `..`.
    Upwards,
    /// A part of the path, between two `/`, is `.` or empty.
    EmptyPart,
    /// The path contains a NUL byte, which no file name can contain.
    Nul,
    /// The path is longer than 4095 bytes, or a part of the path is longer than 255 bytes.
    TooLong,
}

impl fmt::Display for WorkPathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::Absolute => "is absolute",
            Self::Upwards => "contains `..`",
            Self::EmptyPart => "contains `.` or an empty part",
            Self::Nul => "contains a NUL byte",
            Self::TooLong => "is too long",
        })
    }
}

impl WorkPath {
    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Lists the parent folders, the nearest first, without the working folder itself.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(self.0.rsplit_once('/'), |(parent, _)| parent.rsplit_once('/'))
            .map(|(parent, _)| parent)
    }

    /// Returns the path as a relative path, which a caller can join to a folder of this host.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

fn problem(text: &str) -> Option<WorkPathProblem> {
    if text.is_empty() {
        return Some(WorkPathProblem::Empty);
    }
    if text.starts_with('/') {
        return Some(WorkPathProblem::Absolute);
    }
    if text.contains('\0') {
        return Some(WorkPathProblem::Nul);
    }
    if text.len() > 4095 || text.split('/').any(|part| part.len() > 255) {
        return Some(WorkPathProblem::TooLong);
    }
    text.split('/').find_map(|part| match part {
        ".." => Some(WorkPathProblem::Upwards),
        "" | "." => Some(WorkPathProblem::EmptyPart),
        _ => None,
    })
}

impl TryFrom<String> for WorkPath {
    type Error = WorkPathError;

    fn try_from(path: String) -> Result<Self, WorkPathError> {
        match problem(&path) {
            None => Ok(Self(path)),
            Some(problem) => Err(WorkPathError { path, problem }),
        }
    }
}

impl FromStr for WorkPath {
    type Err = WorkPathError;

    fn from_str(path: &str) -> Result<Self, WorkPathError> {
        path.to_owned().try_into()
    }
}

impl From<WorkPath> for String {
    fn from(path: WorkPath) -> Self {
        path.0
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_stay_inside_are_taken() {
        for good in ["a", "a/b", "..a", "a..", ".hidden", "a b/c"] {
            assert_eq!(good.parse::<WorkPath>().unwrap().as_str(), good);
        }
        for (bad, why) in [
            ("", WorkPathProblem::Empty),
            ("/a", WorkPathProblem::Absolute),
            ("..", WorkPathProblem::Upwards),
            ("a/../b", WorkPathProblem::Upwards),
            ("./a", WorkPathProblem::EmptyPart),
            ("a//b", WorkPathProblem::EmptyPart),
            ("a/", WorkPathProblem::EmptyPart),
            ("a\0b", WorkPathProblem::Nul),
            (&"x".repeat(256), WorkPathProblem::TooLong),
        ] {
            assert_eq!(bad.parse::<WorkPath>().unwrap_err().problem, why, "{bad:?}");
        }
    }

    #[test]
    fn the_error_says_what_is_wrong() {
        assert_eq!(
            "a/../b".parse::<WorkPath>().unwrap_err().to_string(),
            "`a/../b` is no path inside the working folder: it contains `..`"
        );
    }
}
