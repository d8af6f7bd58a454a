//! The rule that decides which old processes and versions of an assembly are removed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// The retention of an assembly's history. Pruning may remove a process only if two conditions hold: at least
/// [`keep`](Retention::keep) newer processes exist, *and* the process is older than
/// [`older`](Retention::older). The same rule applies to versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The number of newest processes that pruning keeps, whatever their age is. Pruning keeps the same number of
    /// newest versions.
    pub keep: usize,
    /// The age up to which all processes and versions are kept.
    pub older: Age,
}

impl Default for Retention {
    /// Returns the default. Pruning keeps the newest 50 processes, the newest 50 versions, and all processes
    /// and versions that are younger than 90 days.
    fn default() -> Self {
        Self { keep: 50, older: Age(Duration::from_secs(90 * DAY)) }
    }
}

const DAY: u64 = 24 * 60 * 60;

/// A duration. Users write it as a number with a unit: `90d`, `12h`, `30m`, `10s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age(pub Duration);

/// The error for an invalid duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected a number with a unit, such as 90d, 12h, 30m or 10s")]
pub struct AgeError;

impl FromStr for Age {
    type Err = AgeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => DAY,
            _ => return Err(AgeError),
        };
        let number: u64 = number.parse().map_err(|_| AgeError)?;
        number.checked_mul(seconds).map(|seconds| Self(Duration::from_secs(seconds))).ok_or(AgeError)
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let units = [(DAY, "d"), (60 * 60, "h"), (60, "m"), (1, "s")];
        let whole = units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit)).unwrap_or((1, "s"));
        write!(f, "{}{}", seconds / whole.0, whole.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_and_written() {
        for text in ["90d", "12h", "30m", "10s", "36h", "25h", "61s"] {
            assert_eq!(text.parse::<Age>().unwrap().to_string(), text);
        }
        assert_eq!("24h".parse::<Age>().unwrap().to_string(), "1d");
        for text in ["", "d", "90", "9 d", "-1d", "1w", "99999999999999999999d", "9999999999999999999d"] {
            assert_eq!(text.parse::<Age>(), Err(AgeError), "{text}");
        }
    }
}
