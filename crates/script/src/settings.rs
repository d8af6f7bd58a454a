//! The driver properties `effect`, `timeout` and `limits`.

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use windlass_driver::{Binding, Effect};
use windlass_executor::{BoundError, Bounds};

use crate::role::Role;

/// The settings for the script of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether repeating the script does harm.
    pub effect: Effect,
    /// Maximum run time of the script, and maximum time for the instance to settle.
    pub timeout: Duration,
    /// Resource limits of the script's job.
    pub bounds: Bounds,
}

/// The names of the properties.
pub(crate) const PROPERTIES: [&str; 3] = ["effect", "timeout", "limits"];

/// A driver property that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum SettingError {
    /// The driver has no such property.
    #[error("the driver `script` has no property `{name}`")]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// The effect is not a valid word.
    #[error("the driver property `effect` is `repeatable` or `once`, not `{found}`")]
    Effect {
        /// The word as given.
        found: String,
    },
    /// The timeout is not a duration.
    #[error("the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `{found}`")]
    Timeout {
        /// The text as given.
        found: String,
    },
    /// The limits are not a mapping.
    #[error(
        "the driver property `limits` is a mapping such as `{{memory: 512M, processes: 64}}`, not `{found}`"
    )]
    Limits {
        /// The value as given.
        found: String,
    },
    /// One of the limits is invalid.
    #[error("the driver property `limits` can't be used: {0}")]
    Limit(#[from] BoundError),
}

impl Settings {
    /// Returns the default settings of a role.
    ///
    /// A health check has a timeout of one minute, discovery of ten minutes; both are repeatable. All other
    /// scripts have one hour, as in the original system, and the effect `once`.
    pub(crate) fn of(role: &Role) -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let (effect, timeout) = match role {
            Role::HealthCheck => (Effect::Repeatable, minutes(1)),
            Role::Discover => (Effect::Repeatable, minutes(10)),
            _ => (Effect::Once, minutes(60)),
        };
        Self { effect, timeout, bounds: Bounds::default() }
    }

    /// Returns the settings of a descriptor, and all problems. An invalid setting counts as not set.
    pub(crate) fn read(role: &Role, binding: &Binding) -> (Self, Vec<SettingError>) {
        let mut settings = Self::of(role);
        let mut errors = Vec::new();
        for (name, value) in &binding.properties {
            if let Err(error) = settings.set(role, name, scalar(value)) {
                errors.push(error);
            }
        }
        (settings, errors)
    }

    fn set(&mut self, role: &Role, name: &str, value: &Value) -> Result<(), SettingError> {
        let text = text(value);
        match name {
            "effect" => match text.as_str() {
                "repeatable" => self.effect = Effect::Repeatable,
                // A read-only script is always repeatable, whatever the descriptor sets for its package.
                "once" if role.reads_only() => {}
                "once" => self.effect = Effect::Once,
                _ => return Err(SettingError::Effect { found: text }),
            },
            "timeout" => match duration(&text) {
                Some(timeout) => self.timeout = timeout,
                None => return Err(SettingError::Timeout { found: text }),
            },
            "limits" => {
                let limits = value.as_object().ok_or(SettingError::Limits { found: text })?;
                for (key, value) in limits {
                    self.bounds.set(key, &self::text(scalar(value)))?;
                }
            }
            _ => return Err(SettingError::Unknown { name: name.to_owned() }),
        }
        Ok(())
    }
}

/// Returns the value of a property, which is a scalar or declared in the form `{value: …}` or `{default: …}`.
fn scalar(value: &Value) -> &Value {
    value.get("value").or_else(|| value.get("default")).unwrap_or(value)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Parses a duration such as `30s`, `10m`, `1h30m` or `500ms`. The sum must be positive.
fn duration(text: &str) -> Option<Duration> {
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
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn read(role: &Role, properties: Value) -> (Settings, Vec<String>) {
        let properties: BTreeMap<String, Value> = serde_json::from_value(properties).unwrap();
        let binding = Binding { driver: "script".parse().unwrap(), infrastructure: Vec::new(), properties };
        let (settings, errors) = Settings::read(role, &binding);
        (settings, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn durations_have_units() {
        for (text, seconds) in [("30s", 30), ("10m", 600), ("1h30m", 5400), (" 2 h 1 s ", 7201)] {
            assert_eq!(duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "10", "m", "-1s", "1.5h", "0s", "1d", "99999999999999999999h", "5124095576030432h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_property_is_a_scalar_or_declared_like_others() {
        let set = Settings {
            effect: Effect::Repeatable,
            timeout: Duration::from_secs(600),
            bounds: Bounds::default(),
        };
        for properties in [
            json!({"effect": "repeatable", "timeout": "10m"}),
            json!({"effect": {"value": "repeatable"}, "timeout": {"type": "string", "default": "10m"}}),
        ] {
            assert_eq!(read(&Role::Launch, properties), (set, Vec::new()));
        }
    }

    #[test]
    fn what_is_wrong_is_taken_as_not_set() {
        let (settings, errors) =
            read(&Role::Launch, json!({"effect": "twice", "timeout": 10, "retries": "3"}));
        assert_eq!(settings, Settings::of(&Role::Launch));
        assert_eq!(
            errors,
            [
                "the driver property `effect` is `repeatable` or `once`, not `twice`",
                "the driver `script` has no property `retries`",
                "the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `10`",
            ]
        );
    }

    #[test]
    fn looking_is_repeatable_whatever_is_said() {
        assert_eq!(read(&Role::HealthCheck, json!({"effect": "once"})).0.effect, Effect::Repeatable);
    }
}
