//! The rules for changes of a group, such as the number of nodes that may be down at once.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::clock;
use crate::state::WordError;

/// The rules for a change of several nodes of a group.
///
/// The descriptor language comes from IBM's orchestrator TNC-O. These rules are an addition of windlass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Update {
    /// The number of nodes that may be down at once; none if the default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<MaxUnavailable>,
    /// The number of additional nodes during a change; none means 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<MaxSurge>,
    /// The time between the end of a batch and the beginning of the next one; none means no pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The reaction to a failure of nodes in a batch.
    #[serde(default, skip_serializing_if = "OnFailure::is_stop")]
    pub on_failure: OnFailure,
}

/// The time between two batches, in milliseconds: from 1 ms to a week.
///
/// The text in a descriptor is a duration such as `10s` or `1m30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pause(u32);

/// The error for a text that is not a valid pause.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no pause: a duration up to a week, such as `10s` or `1m30s`")]
pub struct PauseError(
    /// The invalid text.
    pub String,
);

impl Pause {
    /// The longest pause: a week.
    pub const MAX: Self = Self(7 * 24 * 3_600_000);

    /// Returns the length of the pause in milliseconds.
    pub fn millis(self) -> u32 {
        self.0
    }
}

impl FromStr for Pause {
    type Err = PauseError;

    fn from_str(text: &str) -> Result<Self, PauseError> {
        let millis = clock::duration(text).map(|duration| duration.as_millis());
        let millis = millis.and_then(|millis| u32::try_from(millis).ok());
        let pause = millis.map(Self).filter(|pause| pause.0 <= Self::MAX.0);
        pause.ok_or_else(|| PauseError(text.to_owned()))
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
        let mut rest = self.0;
        for (unit, millis) in units {
            if rest >= millis {
                write!(f, "{}{unit}", rest / millis)?;
                rest %= millis;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Pause {
    type Error = PauseError;

    fn try_from(text: String) -> Result<Self, PauseError> {
        text.parse()
    }
}

impl From<Pause> for String {
    fn from(pause: Pause) -> Self {
        pause.to_string()
    }
}

/// The reaction to a failure of a group's nodes in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The change stops. The nodes of later batches keep their old values and version.
    #[default]
    Stop,
    /// The assembly is rolled back to its version before the change.
    Rollback,
}

impl OnFailure {
    /// The words for all reactions.
    pub const WORDS: [&str; 2] = ["stop", "rollback"];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_stop(&self) -> bool {
        *self == Self::Stop
    }
}

impl FromStr for OnFailure {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        match word {
            "stop" => Ok(Self::Stop),
            "rollback" => Ok(Self::Rollback),
            _ => Err(WordError {
                word: word.to_owned(),
                kind: "reaction to a failure",
                expected: "stop, rollback",
            }),
        }
    }
}

/// The number of a group's nodes that a change may take down at once.
///
/// The text in a descriptor is a number of nodes such as `2`, a percentage from `1%` to `100%`, or `all`. The number is
/// at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MaxUnavailable {
    /// A fixed number of nodes.
    Nodes(NonZeroU32),
    /// A percentage of the nodes, from 1 to 100.
    Percent(u8),
    /// All nodes. They change together.
    All,
}

/// The error for a text that is not a valid number of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no number of nodes: a number from 1, a percentage from `1%` to `100%`, or `all`")]
pub struct MaxUnavailableError(
    /// The invalid text.
    pub String,
);

impl MaxUnavailable {
    /// One node at a time. This is the default in two cases: a group gets additional nodes, or a relationship
    /// connects the group with an element outside of it.
    pub const ONE: Self = Self::Nodes(NonZeroU32::MIN);

    /// Returns how many nodes of a group of `nodes` nodes may be down at once. The result is at least 1.
    ///
    /// A percentage is rounded down.
    pub fn of(self, nodes: usize) -> usize {
        match self {
            Self::Nodes(count) => usize::try_from(count.get()).unwrap_or(usize::MAX),
            // The product can't overflow: a number of nodes in memory is small enough.
            Self::Percent(percent) => (nodes * usize::from(percent) / 100).max(1),
            Self::All => nodes.max(1),
        }
    }
}

impl FromStr for MaxUnavailable {
    type Err = MaxUnavailableError;

    fn from_str(text: &str) -> Result<Self, MaxUnavailableError> {
        let found = match text.strip_suffix('%') {
            _ if text == "all" => Some(Self::All),
            Some(percent) => {
                percent.parse().ok().filter(|percent| (1..=100).contains(percent)).map(Self::Percent)
            }
            None => text.parse().ok().map(Self::Nodes),
        };
        found.ok_or_else(|| MaxUnavailableError(text.to_owned()))
    }
}

impl fmt::Display for MaxUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::All => f.write_str("all"),
        }
    }
}

impl TryFrom<String> for MaxUnavailable {
    type Error = MaxUnavailableError;

    fn try_from(text: String) -> Result<Self, MaxUnavailableError> {
        text.parse()
    }
}

impl From<MaxUnavailable> for String {
    fn from(count: MaxUnavailable) -> Self {
        count.to_string()
    }
}

/// The number of nodes that windlass adds to a group while the nodes of the group change: the key `max-surge` of a
/// descriptor.
///
/// The text in a descriptor is a number of nodes from 0 to 10000, or a percentage of the group's nodes from `0%` to
/// `100%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MaxSurge {
    /// A fixed number of additional nodes.
    Nodes(u32),
    /// A percentage of the nodes, from 0 to 100.
    Percent(u8),
}

/// The error for a text that is not a valid number of additional nodes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no number of additional nodes: a number from 0 to 10000, or a percentage from `0%` to `100%`"
)]
pub struct MaxSurgeError(
    /// The invalid text.
    pub String,
);

impl MaxSurge {
    /// The highest valid number of additional nodes.
    const MOST: u32 = 10_000;

    /// Returns the number of additional nodes for a group of `nodes` nodes.
    ///
    /// A percentage is rounded up.
    pub fn of(self, nodes: u32) -> u32 {
        match self {
            Self::Nodes(count) => count,
            Self::Percent(percent) => {
                let count = (u64::from(nodes) * u64::from(percent)).div_ceil(100);
                u32::try_from(count).unwrap_or(u32::MAX)
            }
        }
    }
}

impl FromStr for MaxSurge {
    type Err = MaxSurgeError;

    fn from_str(text: &str) -> Result<Self, MaxSurgeError> {
        let found = match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100).map(Self::Percent),
            None => text.parse().ok().filter(|count| *count <= Self::MOST).map(Self::Nodes),
        };
        found.ok_or_else(|| MaxSurgeError(text.to_owned()))
    }
}

impl fmt::Display for MaxSurge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl TryFrom<String> for MaxSurge {
    type Error = MaxSurgeError;

    fn try_from(text: String) -> Result<Self, MaxSurgeError> {
        text.parse()
    }
}

impl From<MaxSurge> for String {
    fn from(count: MaxSurge) -> Self {
        count.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_a_duration() {
        for (text, millis, shown) in [
            ("10s", 10_000, "10s"),
            ("90s", 90_000, "1m30s"),
            ("1500 ms", 1_500, "1s500ms"),
            ("168h", 604_800_000, "168h"),
        ] {
            let pause: Pause = text.parse().unwrap();
            assert_eq!((pause.millis(), pause.to_string().as_str()), (millis, shown));
            let json = serde_json::to_value(pause).unwrap();
            assert_eq!(serde_json::from_value::<Pause>(json).unwrap(), pause);
        }
        for text in ["0s", "10", "-1s", "169h", "", "soon"] {
            assert_eq!(text.parse::<Pause>(), Err(PauseError(text.to_owned())));
        }
    }

    #[test]
    fn a_number_of_additional_nodes() {
        for (text, of_ten) in [("0", 0), ("4", 4), ("25%", 3), ("1%", 1), ("0%", 0), ("100%", 10)] {
            let count: MaxSurge = text.parse().unwrap();
            assert_eq!((count.to_string().as_str(), count.of(10)), (text, of_ten));
            let json = serde_json::to_value(count).unwrap();
            assert_eq!(serde_json::from_value::<MaxSurge>(json).unwrap(), count);
        }
        for text in ["101%", "-1", "1.5", "all", "", "%", "10001"] {
            assert_eq!(text.parse::<MaxSurge>(), Err(MaxSurgeError(text.to_owned())));
        }
    }

    #[test]
    fn a_number_a_percentage_or_all() {
        for (text, of_ten) in [("1", 1), ("4", 4), ("25%", 2), ("1%", 1), ("100%", 10), ("all", 10)] {
            let count: MaxUnavailable = text.parse().unwrap();
            assert_eq!((count.to_string().as_str(), count.of(10)), (text, of_ten));
            let json = serde_json::to_value(count).unwrap();
            assert_eq!(serde_json::from_value::<MaxUnavailable>(json).unwrap(), count);
        }
        for text in ["0", "0%", "101%", "-1", "1.5", "some", "", "%"] {
            assert_eq!(text.parse::<MaxUnavailable>(), Err(MaxUnavailableError(text.to_owned())));
        }
    }
}
