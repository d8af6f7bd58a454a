//! Versions of one or more numbers, and ranges of them.
//!
//! A descriptor's version has 1 to n numeric parts and keeps its spelling (`1.0` is not `1.0.0`, yet both compare
//! equal). Ranges are those of the crate `semver`, with versions padded to three parts.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A version or range that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The version is not a list of numbers with dots between.
    #[error("`{0}` is not a version: numbers with dots between them, as `1.0` or `2.1.3`")]
    Version(String),
    /// The version is a range where one version is needed.
    #[error("`{0}` is a range of versions, and one version is needed here")]
    RangeForVersion(String),
    /// The range can't be read.
    #[error("`{range}` is not a range of versions: {cause}")]
    Range {
        /// The range as given.
        range: String,
        /// What is wrong with it.
        cause: String,
    },
}

/// A version of one or more numbers, as `1.0`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    text: String,
    parts: Vec<u64>,
}

impl Version {
    /// Returns the numbers, without trailing zeros.
    fn significant(&self) -> &[u64] {
        let end = self.parts.iter().rposition(|p| *p != 0).map_or(0, |at| at + 1);
        &self.parts[..end]
    }

    /// Returns the version padded or cut to three parts.
    fn to_semver(&self) -> semver::Version {
        let part = |at: usize| self.parts.get(at).copied().unwrap_or(0);
        semver::Version::new(part(0), part(1), part(2))
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.starts_with(['^', '~', '>', '<', '=', '*']) || text.contains([',', '*']) {
            return Err(VersionError::RangeForVersion(text.to_owned()));
        }
        let parts: Option<Vec<u64>> = text.split('.').map(parse_part).collect();
        match parts {
            Some(parts) => Ok(Self { text: text.to_owned(), parts }),
            None => Err(VersionError::Version(text.to_owned())),
        }
    }
}

fn parse_part(part: &str) -> Option<u64> {
    (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok())?
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl std::hash::Hash for Version {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.significant().hash(state);
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.significant().cmp(other.significant())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> String {
        version.text
    }
}

/// A range of versions, as `^1.0`; a plain version is the range of that version alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange {
    text: String,
    kind: RangeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RangeKind {
    Exact(Version),
    Requirement(semver::VersionReq),
}

impl VersionRange {
    /// Tells whether `version` lies in the range.
    pub fn contains(&self, version: &Version) -> bool {
        match &self.kind {
            RangeKind::Exact(exact) => exact == version,
            RangeKind::Requirement(requirement) => requirement.matches(&version.to_semver()),
        }
    }

    /// Returns the version when the range is a plain version.
    pub fn exact(&self) -> Option<&Version> {
        match &self.kind {
            RangeKind::Exact(version) => Some(version),
            RangeKind::Requirement(_) => None,
        }
    }
}

impl FromStr for VersionRange {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if let Ok(version) = text.parse::<Version>() {
            return Ok(Self { text: text.to_owned(), kind: RangeKind::Exact(version) });
        }
        let requirement = semver::VersionReq::parse(text)
            .map_err(|error| VersionError::Range { range: text.to_owned(), cause: error.to_string() })?;
        Ok(Self { text: text.to_owned(), kind: RangeKind::Requirement(requirement) })
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1.0", "1.0.0", Ordering::Equal)]
    #[case("1.9", "1.10", Ordering::Less)]
    #[case("2", "1.99.99.99", Ordering::Greater)]
    fn order(#[case] a: &str, #[case] b: &str, #[case] expected: Ordering) {
        assert_eq!(a.parse::<Version>().unwrap().cmp(&b.parse().unwrap()), expected);
    }

    #[rstest]
    #[case::caret("^1.0", "1.9", true)]
    #[case::caret_upper("^1.0", "2.0", false)]
    #[case::caret_zero("^0.1", "0.2", false)]
    #[case::tilde("~1.2", "1.2.9", true)]
    #[case::comparators(">=1.0, <1.5", "1.4.2", true)]
    #[case::wildcard("1.*", "1.7", true)]
    #[case::exact("1.0", "1.0.0", true)]
    #[case::exact_other("1.0", "1.0.1", false)]
    fn ranges(#[case] range: &str, #[case] version: &str, #[case] expected: bool) {
        assert_eq!(range.parse::<VersionRange>().unwrap().contains(&version.parse().unwrap()), expected);
    }

    #[rstest]
    #[case::letter("v1.0")]
    #[case::empty("")]
    #[case::hole("1..0")]
    #[case::huge("99999999999999999999")]
    fn not_versions(#[case] text: &str) {
        assert!(text.parse::<Version>().is_err());
    }

    #[test]
    fn spelling_is_kept() {
        assert_eq!("1.10".parse::<Version>().unwrap().to_string(), "1.10");
        assert_eq!(
            "^1.0".parse::<Version>().unwrap_err().to_string(),
            "`^1.0` is a range of versions, and one version is needed here"
        );
    }
}
