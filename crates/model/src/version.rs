//! Versions of one or more numbers, and ranges of versions.
//!
//! A version keeps its spelling: `1.0` and `1.0.0` are equal, but print differently. The crate `semver` checks
//! versions of up to three numbers against ranges such as `>=1.2`. If the version or the range has more numbers, the
//! type `Bounds` checks the version. A test shows that `semver` and `Bounds` agree on up to three numbers.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use thiserror::Error;

/// The error for an invalid version or range.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The version is not a list of numbers separated by dots.
    #[error("`{0}` is not a version: expected numbers with dots between them, such as `1.0` or `2.1.3`")]
    Version(String),
    /// The version is a range where one version is needed.
    #[error("`{0}` is a range of versions, and one version is needed here")]
    RangeForVersion(String),
    /// The range is invalid.
    #[error("`{range}` is not a range of versions: {cause}")]
    Range {
        /// The range as given.
        range: String,
        /// The cause, as a lower-case fragment.
        cause: String,
    },
}

/// A version of one or more numbers, for example `1.0`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    text: SmolStr,
    parts: Arc<[u64]>,
}

impl Version {
    /// Returns the numbers, without trailing zeros.
    fn significant(&self) -> &[u64] {
        let end = self.parts.iter().rposition(|p| *p != 0).map_or(0, |at| at + 1);
        &self.parts[..end]
    }

    /// Returns the same version with exactly three numbers; `None` if the version has more.
    fn semver(&self) -> Option<semver::Version> {
        let part = |at: usize| self.parts.get(at).copied().unwrap_or(0);
        (self.parts.len() <= 3).then(|| semver::Version::new(part(0), part(1), part(2)))
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let wild = |part: &str| matches!(part, "*" | "x" | "X");
        if text.starts_with(['^', '~', '>', '<', '=', '*']) || text.contains(',') || text.split('.').any(wild)
        {
            return Err(VersionError::RangeForVersion(text.to_owned()));
        }
        let parts: Option<Vec<u64>> = text.split('.').map(parse_part).collect();
        match parts {
            Some(parts) => Ok(Self { text: text.into(), parts: parts.into() }),
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
        version.text.into()
    }
}

/// A range of versions, for example `^1.0`.
///
/// The grammar is that of the crate `semver`, extended to versions with any count of numbers. The comparators
/// are `^`, `~`, `=`, `>`, `>=`, `<`, `<=`, and the wildcards `1.*` and `1.x`. Commas or blanks separate
/// comparators, and a version must satisfy all of them. A comparator with fewer than three numbers has the
/// same meaning as in `semver`: `>1.0` begins at 1.1, and `=1` includes all versions 1.x.
///
/// A range that is a plain version, such as `1.0`, contains only equal versions. In `semver`, `1.0` would
/// mean `^1.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange {
    text: String,
    rule: Rule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    /// A plain version, which matches only equal versions.
    Exact(Version),
    /// One or more comparators, such as `>=1.2, <2`.
    ///
    /// The field `semver` contains the comparators as the crate `semver` has parsed them. The field is `None` if that
    /// crate cannot parse the comparators, for example because one of them has four numbers. The field `bounds`
    /// contains one interval for each comparator.
    ///
    /// To check a version of up to three numbers, windlass uses the field `semver`. If the version has more numbers, or
    /// if `semver` is `None`, windlass uses `bounds`.
    Comparators { semver: Option<semver::VersionReq>, bounds: Vec<Bounds> },
}

/// The interval of versions that satisfy one comparator. It begins at `from`, which is excluded if `above` is
/// true. It ends at `to`, which is included if `upto` is true. Without `to`, the interval has no end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Bounds {
    from: Vec<u64>,
    above: bool,
    to: Option<Vec<u64>>,
    upto: bool,
}

impl Bounds {
    fn contain(&self, version: &[u64]) -> bool {
        let low = match compare(version, &self.from) {
            Ordering::Less => false,
            Ordering::Equal => !self.above,
            Ordering::Greater => true,
        };
        let high = self.to.as_ref().is_none_or(|to| match compare(version, to) {
            Ordering::Less => true,
            Ordering::Equal => self.upto,
            Ordering::Greater => false,
        });
        low && high
    }

    /// Parses one comparator, for example `~1.2`.
    fn parse(comparator: &str) -> Result<Self, String> {
        const SIGNS: [&str; 7] = ["^", "~", ">=", "<=", ">", "<", "="];
        let sign = SIGNS.into_iter().find(|sign| comparator.starts_with(sign)).unwrap_or("");
        let (parts, wild) = parts(comparator[sign.len()..].trim())?;
        if parts.is_empty() {
            let all = sign.is_empty().then(Self::default);
            return all.ok_or_else(|| format!("`{sign}` needs a number after it"));
        }
        // If a comparator has fewer than three numbers, each missing number may have any value.
        let open = wild || parts.len() < 3;
        let last = parts.len() - 1;
        let below = |at: usize| raised(&parts, at).map(Some);
        let whole = Self { from: parts.clone(), ..Self::default() };
        Ok(match sign {
            "^" => Self { to: below(parts.iter().position(|part| *part > 0).unwrap_or(last))?, ..whole },
            "~" => Self { to: below(last.min(1))?, ..whole },
            ">=" => whole,
            ">" if open => Self { from: raised(&parts, last)?, ..Self::default() },
            ">" => Self { above: true, ..whole },
            "<" => Self { to: Some(parts), ..Self::default() },
            "<=" if open => Self { to: below(last)?, ..Self::default() },
            "<=" => Self { to: Some(parts), upto: true, ..Self::default() },
            "=" if open => Self { to: below(last)?, ..whole },
            "" if wild => Self { to: below(last)?, ..whole },
            "=" => Self { to: Some(parts), upto: true, ..whole },
            _ => Self { to: below(parts.iter().position(|part| *part > 0).unwrap_or(last))?, ..whole },
        })
    }
}

/// Compares versions number by number. Missing numbers count as zero.
fn compare(a: &[u64], b: &[u64]) -> Ordering {
    let part = |parts: &[u64], at: usize| parts.get(at).copied().unwrap_or(0);
    (0..a.len().max(b.len()))
        .map(|at| part(a, at).cmp(&part(b, at)))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Parses the numbers of a comparator. The returned flag tells whether the comparator ends with a wildcard.
fn parts(text: &str) -> Result<(Vec<u64>, bool), String> {
    if text.is_empty() {
        return Err("a number is missing".to_owned());
    }
    let mut found = Vec::new();
    let mut wild = false;
    for part in text.split('.') {
        match part {
            "*" | "x" | "X" => wild = true,
            _ if wild => return Err(format!("`{part}` stands behind a wildcard")),
            _ => found.push(parse_part(part).ok_or_else(|| format!("`{part}` is no number"))?),
        }
    }
    Ok((found, wild))
}

/// Returns the lowest version above all versions that begin with `parts[..=at]`. For the numbers 1.2.3 and `at` = 1,
/// the result is 1.3. Fails if the number at the index `at` is the maximum of `u64`.
fn raised(parts: &[u64], at: usize) -> Result<Vec<u64>, String> {
    let mut raised = parts[..=at].to_vec();
    raised[at] = raised[at].checked_add(1).ok_or_else(|| format!("`{}` is too large", parts[at]))?;
    Ok(raised)
}

impl VersionRange {
    /// Tells whether `version` lies in the range.
    pub fn contains(&self, version: &Version) -> bool {
        match &self.rule {
            Rule::Exact(exact) => exact == version,
            Rule::Comparators { semver, bounds } => match (semver, version.semver()) {
                (Some(range), Some(version)) => range.matches(&version),
                _ => bounds.iter().all(|bounds| bounds.contain(&version.parts)),
            },
        }
    }

    /// Returns the version if the range is a plain version; none for other ranges.
    pub fn exact(&self) -> Option<&Version> {
        match &self.rule {
            Rule::Exact(version) => Some(version),
            Rule::Comparators { .. } => None,
        }
    }
}

impl FromStr for VersionRange {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if let Ok(version) = text.parse::<Version>() {
            return Ok(Self { text: text.to_owned(), rule: Rule::Exact(version) });
        }
        let bad = |cause: String| VersionError::Range { range: text.to_owned(), cause };
        let comparators = comparators(text);
        let bounds = comparators.iter().map(|comparator| Bounds::parse(comparator)).collect();
        let bounds: Result<Vec<Bounds>, String> = bounds;
        let bounds = bounds.map_err(bad)?;
        if bounds.is_empty() {
            return Err(bad("it is empty".to_owned()));
        }
        let semver = semver::VersionReq::parse(&comparators.join(", ")).ok();
        Ok(Self { text: text.to_owned(), rule: Rule::Comparators { semver, bounds } })
    }
}

/// Splits a range into its comparators, at commas and blanks. A blank after a sign such as `>=` splits
/// nothing.
fn comparators(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for piece in text.split(',') {
        let mut words = piece.split_whitespace().peekable();
        if words.peek().is_none() {
            found.push(String::new());
        }
        for word in words {
            match found.last_mut().filter(|_| open) {
                Some(sign) => sign.push_str(word),
                None => found.push(word.to_owned()),
            }
            open = word.bytes().all(|b| b"^~<>=".contains(&b));
        }
        open = false;
    }
    found
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
    #[case::four_parts("^1.2.3.4", "1.2.3.5", true)]
    #[case::four_parts_below("^1.2.3.4", "1.2.3.3", false)]
    #[case::four_parts_exact("1.2.3.4", "1.2.3", false)]
    #[case::four_parts_of_a_short_range("~1.2", "1.2.3.4", true)]
    #[case::blanks(">= 1.0 < 1.5", "1.4", true)]
    #[case::x("1.x", "1.9.9", true)]
    #[case::all("*", "0.0.1", true)]
    #[case::exact("1.0", "1.0.0", true)]
    #[case::exact_other("1.0", "1.0.1", false)]
    fn ranges(#[case] range: &str, #[case] version: &str, #[case] expected: bool) {
        assert_eq!(range.parse::<VersionRange>().unwrap().contains(&version.parse().unwrap()), expected);
    }

    #[rstest]
    #[case::nothing("^", "a number is missing")]
    #[case::comma(">=1.0,", "a number is missing")]
    #[case::letter("^x1", "`x1` is no number")]
    #[case::sign(">*", "`>` needs a number after it")]
    #[case::behind("1.*.2", "`2` stands behind a wildcard")]
    #[case::huge("^18446744073709551615", "`18446744073709551615` is too large")]
    fn not_ranges(#[case] range: &str, #[case] expected: &str) {
        let error = range.parse::<VersionRange>().unwrap_err().to_string();
        assert_eq!(error, format!("`{range}` is not a range of versions: {expected}"));
    }

    /// The test generates all comparators of up to three numbers from 0 to 2, such as `^1.2`. For each
    /// comparator, `Bounds` accepts the same versions as the crate `semver`.
    #[test]
    fn bounds_are_those_of_semver() {
        let numbers = || [0_u64, 1, 2];
        let versions: Vec<[u64; 3]> = numbers()
            .into_iter()
            .flat_map(|a| numbers().into_iter().flat_map(move |b| numbers().map(|c| [a, b, c])))
            .collect();
        let text = |parts: &[u64]| parts.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
        for sign in ["^", "~", "=", ">", ">=", "<", "<="] {
            for (parts, length) in versions.iter().flat_map(|parts| (1..=3).map(move |n| (parts, n))) {
                let range = format!("{sign}{}", text(&parts[..length]));
                let ours = Bounds::parse(&range).unwrap();
                let theirs = semver::VersionReq::parse(&range).unwrap();
                for version in &versions {
                    let [a, b, c] = *version;
                    let expected = theirs.matches(&semver::Version::new(a, b, c));
                    assert_eq!(ours.contain(version), expected, "{version:?} in {range}");
                }
            }
        }
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
