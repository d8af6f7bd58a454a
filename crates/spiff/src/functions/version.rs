//! Semantic versions, which are read as leniently as in the Go program spiff++.
//!
//! For example, `v1.2` is a version. The crate `semver` is stricter and has other rules for prereleases, so
//! this module implements versions itself.

use std::cmp::Ordering;
use std::fmt;

/// A version such as `v1.2.3-rc.1+build`, with the prerelease `rc.1` and the metadata `build`. If a version has no
/// prerelease or no metadata, the corresponding field is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) patch: u64,
    pub(super) prerelease: String,
    pub(super) metadata: String,
    original: String,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// The error message of an invalid version.
pub(super) const INVALID: &str = "invalid semantic version";

impl Version {
    /// Parses a version such as `1`, `v1.2` or `1.2.3-rc.1+build`.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = text.strip_prefix('v').unwrap_or(text);
        let (rest, metadata) = rest.split_once('+').map_or((rest, None), |(rest, meta)| (rest, Some(meta)));
        let (numbers, prerelease) =
            rest.split_once('-').map_or((rest, None), |(rest, pre)| (rest, Some(pre)));
        let parts: Vec<&str> = numbers.split('.').collect();
        let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if parts.len() > 3 || !parts.iter().all(digits) {
            return Err(INVALID);
        }
        if [prerelease, metadata].into_iter().flatten().any(|part| !is_identifiers(part)) {
            return Err(INVALID);
        }
        let number = |at: usize| parts.get(at).map_or(Ok(0), |part| part.parse::<u64>()).map_err(|_| INVALID);
        let prerelease = prerelease.unwrap_or_default().to_owned();
        if has_leading_zero(&prerelease) {
            return Err("version segment starts with 0");
        }
        Ok(Self {
            major: number(0)?,
            minor: number(1)?,
            patch: number(2)?,
            prerelease,
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// Returns the text of the version. This is the parsed text, or the new text if the version was changed since.
    pub(super) fn original(&self) -> &str {
        &self.original
    }

    /// Updates the text of the version after a change of another field of the version. If the old text begins with
    /// `v`, the new text also begins with `v`.
    fn renewed(mut self) -> Self {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        self.original = format!("{prefix}{self}");
        self
    }

    pub(super) fn with_prerelease(mut self, prerelease: &str) -> Result<Self, &'static str> {
        if !prerelease.is_empty() && !is_identifiers(prerelease) {
            return Err("invalid prerelease string");
        }
        if has_leading_zero(prerelease) {
            return Err("version segment starts with 0");
        }
        prerelease.clone_into(&mut self.prerelease);
        Ok(self.renewed())
    }

    pub(super) fn with_metadata(mut self, metadata: &str) -> Result<Self, &'static str> {
        if !metadata.is_empty() && !is_identifiers(metadata) {
            return Err("invalid metadata string");
        }
        metadata.clone_into(&mut self.metadata);
        Ok(self.renewed())
    }

    /// Returns the version without its prerelease and its metadata.
    pub(super) fn release(mut self) -> Self {
        self.prerelease.clear();
        self.metadata.clear();
        self.renewed()
    }

    pub(super) fn next_major(mut self) -> Self {
        (self.major, self.minor, self.patch) = (self.major.saturating_add(1), 0, 0);
        self.release()
    }

    pub(super) fn next_minor(mut self) -> Self {
        (self.minor, self.patch) = (self.minor.saturating_add(1), 0);
        self.release()
    }

    /// Returns the next patch version. For a prerelease, the next patch version is the release with the same numbers.
    pub(super) fn next_patch(mut self) -> Self {
        if self.prerelease.is_empty() {
            self.patch = self.patch.saturating_add(1);
        }
        self.release()
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| compare_prerelease(&self.prerelease, &other.prerelease))
    }
}

/// Tells whether a text has the form of `rc.1`: non-empty parts of letters, digits and `-`.
fn is_identifiers(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'))
}

/// Tells whether a part of a prerelease is a number with a leading zero.
fn has_leading_zero(prerelease: &str) -> bool {
    prerelease
        .split('.')
        .any(|part| part.len() > 1 && part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit()))
}

/// Compares the prereleases of two versions with the same numbers. An empty text means a release. A release is higher
/// than any prerelease.
///
/// The parts between the dots are compared one after the other. A number is lower than a word: `rc.2` is lower than
/// `rc.a`. If all common parts are equal, the prerelease with fewer parts is lower.
fn compare_prerelease(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn order() {
        let ordered = [
            "0.9",
            "1.0.0-2x",
            "v1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-rc",
            "1",
            "1.0.1",
            "v1.10",
        ];
        for pair in ordered.windows(2) {
            assert_eq!(version(pair[0]).compare(&version(pair[1])), Ordering::Less, "{pair:?}");
        }
        assert_eq!(version("1+a").compare(&version("1.0.0+b")), Ordering::Equal);
    }

    #[test]
    fn refused() {
        for text in ["", "a", "1.2.3.4", "1.2-", "1..2", "1.2.3-a!", "1.2.x", "1.2.3-01"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
    }
}
