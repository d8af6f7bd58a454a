//! The driver properties `effect`, `timeout`, `limits` and `style`.

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use windlass_driver::{Binding, CallSettingError, CallSettings, Effect, setting, text_of_setting};
use windlass_executor::{BoundError, Bounds};

use crate::role::Role;
use crate::style::Style;

/// The settings for the script of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether repeating the script does harm.
    pub effect: Effect,
    /// Maximum run time of the script, and maximum time for the instance to settle.
    pub timeout: Duration,
    /// Resource limits of the script's job.
    pub bounds: Bounds,
    /// How the script receives its input, and how it answers.
    pub style: Style,
}

/// The names of the properties.
pub(crate) const PROPERTIES: [&str; 4] =
    [CallSettings::PROPERTIES[0], CallSettings::PROPERTIES[1], "limits", "style"];

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
    /// A property that all drivers have can't be read.
    #[error(transparent)]
    Common(#[from] CallSettingError),
    /// The style is not a valid word.
    #[error("the driver property `style` is `plain` or `full`, not `{found}`")]
    Style {
        /// The value as given.
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
        Self { effect, timeout, bounds: Bounds::default(), style: Style::Full }
    }

    /// Returns the settings of a descriptor, and all problems. An invalid setting counts as not set.
    pub(crate) fn read(role: &Role, binding: &Binding) -> (Self, Vec<SettingError>) {
        let (common, errors) = CallSettings::read(binding);
        let mut settings = Self::of(role);
        settings.timeout = common.timeout.unwrap_or(settings.timeout);
        // A read-only script is always repeatable, whatever the descriptor sets for its package.
        if let Some(effect) = common.effect.filter(|_| !role.reads_only()) {
            settings.effect = effect;
        }
        let mut errors: Vec<_> = errors.into_iter().map(SettingError::Common).collect();
        let own =
            binding.properties.iter().filter(|(name, _)| !CallSettings::PROPERTIES.contains(&name.as_str()));
        for (name, value) in own {
            if let Err(error) = settings.set(name, setting(value)) {
                errors.push(error);
            }
        }
        (settings, errors)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), SettingError> {
        match name {
            "limits" => self.set_limits(value),
            "style" => {
                let found = text_of_setting(value);
                self.style = found.parse().map_err(|()| SettingError::Style { found })?;
                Ok(())
            }
            _ => Err(SettingError::Unknown { name: name.to_owned() }),
        }
    }

    fn set_limits(&mut self, value: &Value) -> Result<(), SettingError> {
        let limits =
            value.as_object().ok_or_else(|| SettingError::Limits { found: text_of_setting(value) })?;
        for (key, value) in limits {
            self.bounds.set(key, &text_of_setting(setting(value)))?;
        }
        Ok(())
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
    fn a_property_is_a_scalar_or_declared_like_others() {
        let set = Settings {
            effect: Effect::Repeatable,
            timeout: Duration::from_secs(600),
            bounds: Bounds::default(),
            style: Style::Plain,
        };
        for properties in [
            json!({"effect": "repeatable", "timeout": "10m", "style": "plain"}),
            json!({"effect": {"value": "repeatable"}, "timeout": {"type": "string", "default": "10m"}, "style": {"value": "plain"}}),
        ] {
            assert_eq!(read(&Role::Launch, properties), (set, Vec::new()));
        }
    }

    #[test]
    fn what_is_wrong_is_taken_as_not_set() {
        let (settings, errors) =
            read(&Role::Launch, json!({"effect": "twice", "timeout": 10, "retries": "3", "style": "simple"}));
        assert_eq!(settings, Settings::of(&Role::Launch));
        assert_eq!(
            errors,
            [
                "the driver property `effect` is `repeatable` or `once`, not `twice`",
                "the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `10`",
                "the driver `script` has no property `retries`",
                "the driver property `style` is `plain` or `full`, not `simple`",
            ]
        );
    }

    #[test]
    fn looking_is_repeatable_whatever_is_said() {
        assert_eq!(read(&Role::HealthCheck, json!({"effect": "once"})).0.effect, Effect::Repeatable);
    }
}
