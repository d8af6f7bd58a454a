//! Validated names: job ids, job owners and volume names.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The name of one execution of one job, chosen by the caller before the job is submitted.
///
/// A job id consists of 1 to 63 lower-case letters, digits and hyphens, and starts with a letter or digit.
/// Such a name is valid for a folder, a container and a Kubernetes object. Because the caller chooses the id
/// before the submission, the caller can look up the job even if the submission was interrupted. An id names
/// **one attempt**. A second attempt needs a new id. So a late result of the first attempt can't be mistaken
/// for a result of the second attempt.
///
/// ```
/// use windlass_executor::JobId;
///
/// let id: JobId = "demo-install-1".parse()?;
/// assert_eq!(id.as_str(), "demo-install-1");
/// assert!("../etc".parse::<JobId>().is_err());
/// # Ok::<(), windlass_executor::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

/// An owner: the name of a group of jobs. In windlass, the owner of a job is the id of the project's store. So all
/// jobs of a project have the same owner. [`Runtime::list`](crate::Runtime::list) lists the jobs of one owner.
///
/// An owner consists of 1 to 128 printable ASCII characters without spaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Owner(String);

/// The name of a volume, with the same rules as a [`JobId`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VolumeName(String);

/// An error for a malformed name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a valid {what}: expected {rule}")]
pub struct NameError {
    /// Kind of name that was expected.
    pub what: &'static str,
    /// The text as it was given.
    pub found: String,
    /// The rule that the name violates.
    pub rule: &'static str,
}

const LABEL: &str = "1 to 63 lower-case letters, digits and hyphens, the first not a hyphen";
const PRINTABLE: &str = "1 to 128 printable ASCII characters without a space";

fn is_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && !text.starts_with('-')
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn is_printable(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

macro_rules! name {
    ($name:ident, $what:literal, $rule:ident, $test:ident) => {
        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                if $test(&text) {
                    Ok(Self(text))
                } else {
                    Err(NameError { what: $what, found: text, rule: $rule })
                }
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(JobId, "job id", LABEL, is_label);
name!(Owner, "owner", PRINTABLE, is_printable);
name!(VolumeName, "volume name", LABEL, is_label);

impl Default for Owner {
    /// Returns `nobody`, the owner of a job for which the caller sets no owner.
    fn default() -> Self {
        Self("nobody".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_id_is_a_label() {
        for good in ["a", "0", "a-b", "a-", &"x".repeat(63)] {
            assert_eq!(good.parse::<JobId>().unwrap().as_str(), good);
        }
        for bad in ["", "-a", "A", "a_b", "a/b", "..", "é", &"x".repeat(64)] {
            assert!(bad.parse::<JobId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_error_names_text_and_rule() {
        let error = "A b".parse::<JobId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`A b` is not a valid job id: expected 1 to 63 lower-case letters, digits and hyphens, the first not a hyphen"
        );
    }

    #[test]
    fn names_are_checked_when_read() {
        assert!(serde_json::from_str::<JobId>("\"../x\"").is_err());
        assert_eq!(serde_json::to_string(&"a1".parse::<JobId>().unwrap()).unwrap(), "\"a1\"");
    }
}
