//! The current time. Code that needs the time takes a [`Clock`] as an argument.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the time `millis` milliseconds later.
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Returns the milliseconds from `earlier` to this time; 0 if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

impl Timestamp {
    /// Displays the time as RFC 3339 in UTC with milliseconds, for example `2026-01-31T08:15:30.250Z`.
    pub fn exactly(self) -> impl fmt::Display {
        struct Exactly(i64);
        impl fmt::Display for Exactly {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match jiff::Timestamp::from_millisecond(self.0) {
                    Ok(time) => write!(f, "{time:.3}"),
                    Err(_) => write!(f, "{} ms", self.0),
                }
            }
        }
        Exactly(self.0)
    }
}

impl fmt::Display for Timestamp {
    /// Writes RFC 3339 in UTC, for example `2026-01-31T08:15:30Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.0}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// Parses a duration such as `30s`, `10m`, `1h30m`, `1d` or `500ms`. Returns `None` for an invalid text, and
/// for a duration of zero.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        total = total.checked_add(of_unit(number.parse().ok()?, unit.trim())?)?;
        rest = tail;
    }
    (!total.is_zero()).then_some(total)
}

fn of_unit(number: u64, unit: &str) -> Option<Duration> {
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" | "min" => Some(Duration::from_secs(number.checked_mul(60)?)),
        "h" => Some(Duration::from_secs(number.checked_mul(3600)?)),
        "d" => Some(Duration::from_secs(number.checked_mul(24 * 3600)?)),
        _ => None,
    }
}

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one home of the system clock")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, seconds) in
            [("30s", 30), ("10m", 600), ("1h30m", 5400), ("1d", 86400), (" 2 h 1 s ", 7201)]
        {
            assert_eq!(duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "10", "m", "-1s", "1.5h", "0s", "1w", "99999999999999999999h", "5124095576030432h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn reads_as_rfc_3339() {
        let time = Timestamp::from_millis(1_769_847_330_250);
        assert_eq!(time.to_string(), "2026-01-31T08:15:30Z");
        assert_eq!(time.exactly().to_string(), "2026-01-31T08:15:30.250Z");
        assert_eq!(Timestamp::from_millis(0).exactly().to_string(), "1970-01-01T00:00:00.000Z");
    }
}
