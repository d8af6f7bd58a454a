//! Constraints on versions: `>=1.2 <2 || ~3.1`, `^0.2`, `1.x`, `1.0 - 2.0`.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::pattern::Pattern;
use super::version::Version;

/// A constraint: alternatives, each of which is a list of conditions. A version meets the constraint if it
/// meets all conditions of one alternative.
#[derive(Clone, Debug)]
pub(super) struct Constraint(Vec<Vec<Condition>>);

#[derive(Clone, Debug)]
struct Condition {
    operator: String,
    /// The version in the condition, with zeros for omitted numbers.
    version: Version,
    /// The version as the author wrote it.
    written: String,
    open: Open,
}

/// The open numbers among the major, minor and patch numbers of a version. An open number can have any value: it is
/// missing, or written as `x`, `X` or `*`. The numbers after an open number are also open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Open {
    /// The major, minor and patch numbers can have any value, as in `*`.
    All,
    /// The minor and patch numbers can have any value, as in `1` or `1.x`.
    Minor,
    /// The patch number can have any value, as in `1.2` or `1.2.x`.
    Patch,
    /// Each number has a fixed value, as in `1.2.3`.
    Nothing,
}

const VERSION: &str = "v?([0-9|x|X|*]+)(\\.[0-9|x|X|*]+)?(\\.[0-9|x|X|*]+)?\
     (-(?:[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(\\+(?:[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?";
const OPERATOR: &str = "=|!=|>=|=>|<=|=<|~>|>|<|~|\\^|";

fn pattern(text: &str) -> Option<Pattern> {
    Pattern::new(text).ok()
}

impl Constraint {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let alternatives: Result<Vec<_>, String> = ranges(text).split("||").map(conditions).collect();
        Ok(Self(alternatives?))
    }

    pub(super) fn matches(&self, version: &Version) -> bool {
        self.0.iter().any(|all| all.iter().all(|condition| condition.check(version).is_ok()))
    }

    /// Returns the reasons why a version does not meet the constraint; empty if it does.
    pub(super) fn problems(&self, version: &Version) -> Vec<String> {
        let mut problems = Vec::new();
        let mut is_reported = false;
        for all in &self.0 {
            let before = problems.len();
            let mut fits = true;
            for condition in all {
                match condition.check(version) {
                    Ok(()) => continue,
                    // If several conditions refuse the version because it is a prerelease, the problem is
                    // reported only once.
                    Err(problem) if condition.forbids_prerelease(version) => {
                        if !is_reported {
                            problems.push(problem);
                        }
                        is_reported = true;
                    }
                    Err(problem) => problems.push(problem),
                }
                fits = false;
            }
            if fits && problems.len() == before {
                return Vec::new();
            }
        }
        problems
    }
}

/// Converts `1.0 - 2.0` to `>=1.0, <=2.0`.
fn ranges(text: &str) -> String {
    let Some(range) = pattern(&format!("\\s*({VERSION})\\s+-\\s+({VERSION})\\s*")) else {
        return text.to_owned();
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(spans) = range.spans(rest) {
        let (Some(Some((start, end))), Some(Some(low)), Some(Some(high))) =
            (spans.first().copied(), spans.get(1).copied(), spans.get(7).copied())
        else {
            break;
        };
        out.push_str(&rest[..start]);
        let _ = write!(out, ">={}, <={} ", &rest[low.0..low.1], &rest[high.0..high.1]);
        rest = &rest[end..];
    }
    out + rest
}

fn conditions(text: &str) -> Result<Vec<Condition>, String> {
    let improper = || format!("improper constraint: {text}");
    let one = format!("(?:{OPERATOR})\\s*(?:{VERSION})");
    let whole = format!("^(?:\\s*{one}\\s*)(?:(?:\\s+|,\\s*){one}\\s*)*$");
    if !pattern(&whole).is_some_and(|pattern| pattern.is_match(text)) {
        return Err(improper());
    }
    let each = pattern(&format!("({OPERATOR})\\s*({VERSION})")).ok_or_else(improper)?;
    each.all_groups(text).map(|groups| Condition::parse(&groups).ok_or_else(improper)).collect()
}

impl Condition {
    /// Creates a condition from a match of the regular expression for conditions. `groups` contains eight texts:
    /// the whole match, the operator, the version, its major, minor and patch numbers, its prerelease and its
    /// metadata.
    fn parse(groups: &[&str]) -> Option<Self> {
        let [_, operator, written, major, minor, patch, prerelease, _] = groups else { return None };
        let open = |part: &str| matches!(part.trim_start_matches('.'), "" | "x" | "X" | "*");
        let (open, version) = if open(major) {
            (Open::All, format!("0.0.0{prerelease}"))
        } else if open(minor) {
            (Open::Minor, format!("{major}.0.0{prerelease}"))
        } else if open(patch) {
            (Open::Patch, format!("{major}{minor}.0{prerelease}"))
        } else {
            (Open::Nothing, (*written).to_owned())
        };
        let version = Version::parse(&version).ok()?;
        Some(Self { operator: (*operator).to_owned(), version, written: (*written).to_owned(), open })
    }

    /// Tells whether the condition refuses `version` because `version` is a prerelease. A condition refuses every
    /// prerelease if the version in the condition has no prerelease, as in `>=1.0`.
    ///
    /// There is one exception: `!=` with a complete version, such as `!=1.2.3`. This method ignores the exception,
    /// and the method `check` handles it.
    fn forbids_prerelease(&self, version: &Version) -> bool {
        !version.prerelease.is_empty() && self.version.prerelease.is_empty()
    }

    fn check(&self, version: &Version) -> Result<(), String> {
        let not_equal = self.operator == "!=";
        if self.forbids_prerelease(version) && !(not_equal && self.open == Open::Nothing) {
            return Err(format!(
                "{version} is a prerelease version and the constraint is only looking for release versions"
            ));
        }
        let fails = match self.operator.as_str() {
            "!=" => self.not_equal(version),
            ">" => self.greater(version),
            "<" => (self.order(version) != Ordering::Less).then_some("is greater than or equal to"),
            ">=" | "=>" => (self.order(version) == Ordering::Less).then_some("is less than"),
            "<=" | "=<" => self.less_or_equal(version),
            "~" | "~>" => self.tilde(version),
            "^" => return self.caret(version),
            _ if self.open == Open::Nothing => {
                (self.order(version) != Ordering::Equal).then_some("is not equal to")
            }
            _ => self.tilde(version),
        };
        match fails {
            None => Ok(()),
            Some(reason) => Err(format!("{version} {reason} {}", self.written)),
        }
    }

    fn order(&self, version: &Version) -> Ordering {
        version.compare(&self.version)
    }

    fn not_equal(&self, version: &Version) -> Option<&'static str> {
        let equal = match self.open {
            Open::Nothing => self.order(version) == Ordering::Equal,
            Open::All => {
                self.version.major == version.major
                    && self.version.minor == version.minor
                    && self.order(version) == Ordering::Equal
            }
            Open::Minor => self.version.major == version.major,
            Open::Patch => {
                (self.version.major, self.version.minor) == (version.major, version.minor)
                    && self.version.prerelease == version.prerelease
            }
        };
        equal.then_some("is equal to")
    }

    fn greater(&self, version: &Version) -> Option<&'static str> {
        let major = version.major.cmp(&self.version.major);
        let greater = match self.open {
            Open::Nothing | Open::All => self.order(version) == Ordering::Greater,
            Open::Minor => major == Ordering::Greater,
            Open::Patch => {
                major == Ordering::Greater || (major == Ordering::Equal && version.minor > self.version.minor)
            }
        };
        (!greater).then_some("is less than or equal to")
    }

    fn less_or_equal(&self, version: &Version) -> Option<&'static str> {
        let above_minor = version.major == self.version.major && version.minor > self.version.minor;
        let greater = match self.open {
            Open::Nothing => self.order(version) == Ordering::Greater,
            Open::Minor => version.major > self.version.major,
            Open::All | Open::Patch => version.major > self.version.major || above_minor,
        };
        greater.then_some("is greater than")
    }

    fn tilde(&self, version: &Version) -> Option<&'static str> {
        if self.order(version) == Ordering::Less {
            return Some("is less than");
        }
        let wanted = &self.version;
        if (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0)
            && matches!(self.open, Open::All | Open::Nothing)
        {
            return None;
        }
        if version.major != wanted.major {
            return Some("does not have same major version as");
        }
        (version.minor != wanted.minor && self.open != Open::Minor)
            .then_some("does not have same major and minor version as")
    }

    fn caret(&self, version: &Version) -> Result<(), String> {
        let wanted = &self.version;
        let fail = |reason: &str, more: &str| Err(format!("{version} {reason} {}{more}", self.written));
        if self.order(version) == Ordering::Less {
            return fail("is less than", "");
        }
        if self.open == Open::All {
            return Ok(());
        }
        if wanted.major > 0 || self.open == Open::Minor || version.major > 0 {
            return if version.major == wanted.major {
                Ok(())
            } else {
                fail("does not have same major version as", "")
            };
        }
        if wanted.minor > 0 || self.open == Open::Patch {
            if version.minor == wanted.minor {
                return Ok(());
            }
            let more = ". Expected minor versions to match when constraint major version is 0";
            return fail("does not have same minor version as", more);
        }
        if version.minor > 0 {
            return fail("does not have same minor version as", "");
        }
        if version.patch == wanted.patch {
            return Ok(());
        }
        let more = ". Expect patch to match when constraint major and minor are 0";
        fail("does not equal", more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints() {
        let cases = [
            ("1.2.3", "1.2.3", true),
            ("1.2.x", "1.2.9", true),
            ("*", "7.1.0", true),
            ("", "1.0.0", false),
            ("1", "1.9", true),
            ("1", "2.0", false),
            (">=1.0, <2.0 || 3", "3.4", true),
            (">= 1.0 < 2.0", "1.5", true),
            (">1.1", "1.1.5", false),
            (">1.1", "1.2.0", true),
            ("<=1.1", "1.1.5", true),
            ("!=1.2", "1.2.4", false),
            ("!=1.2", "1.3.0", true),
            ("~1.2.3", "1.2.9", true),
            ("~1.2.3", "1.3.0", false),
            ("~>2", "2.9", true),
            ("^1.2", "1.9", true),
            ("^0.2.3", "0.2.9", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("^0.0", "0.0.9", true),
            ("^0", "0.9.0", true),
            ("1.0 - 2.0", "2.0.7", true),
            ("1.0 - 2.0", "2.1", false),
            (">=1.0", "1.1.0-rc", false),
            (">=1.0-0", "1.1.0-rc", true),
        ];
        for (constraint, version, fits) in cases {
            if constraint.is_empty() {
                assert!(Constraint::parse(constraint).is_err());
                continue;
            }
            let parsed =
                Constraint::parse(constraint).unwrap_or_else(|error| panic!("{constraint}: {error}"));
            let version = Version::parse(version).unwrap();
            assert_eq!(parsed.matches(&version), fits, "{constraint} {version}");
            assert_eq!(parsed.problems(&version).is_empty(), fits, "{constraint} {version}");
        }
    }
}
