//! The driver properties that all drivers support: `effect` and `timeout`.

use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;
use windlass_model::clock::duration;
use windlass_model::record::Effect;

use crate::keys::Setting;
use crate::package::Binding;

/// The driver properties that all drivers support, as a resource descriptor declares them.
///
/// ```
/// use std::time::Duration;
/// use windlass_driver::{Binding, CallSettings, Effect};
///
/// let binding = Binding {
///     driver: "script".parse()?,
///     infrastructure: vec!["*".to_owned()],
///     properties: [("effect".to_owned(), "repeatable".into()), ("timeout".to_owned(), "1h30m".into())].into(),
/// };
/// let (settings, errors) = CallSettings::read(&binding);
/// assert_eq!(settings.effect, Some(Effect::Repeatable));
/// assert_eq!(settings.timeout, Some(Duration::from_secs(5400)));
/// assert!(errors.is_empty());
/// # Ok::<(), windlass_model::name::NameError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallSettings {
    /// Whether repeating a call does harm; `None` if the driver decides.
    pub effect: Option<Effect>,
    /// Maximum time from the start of a call until the instance has settled. The same value limits the run time of each
    /// job that performs the call. `None` if the driver decides.
    pub timeout: Option<Duration>,
}

/// A driver property that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallSettingError {
    /// The effect is not a valid word.
    #[error("the driver property `effect` is `repeatable` or `once`, not `{found}`")]
    Effect {
        /// The value as given.
        found: String,
    },
    /// The timeout is not a duration.
    #[error("the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `{found}`")]
    Timeout {
        /// The value as given.
        found: String,
    },
}

impl CallSettingError {
    /// Returns the name of the driver property that can't be read: `effect` or `timeout`.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Effect { .. } => "effect",
            Self::Timeout { .. } => "timeout",
        }
    }
}

impl CallSettings {
    /// Returns the keys `effect` and `timeout` with their schemas.
    pub fn described() -> [Setting; 2] {
        let effect = json!({
            "description": "Whether a second execution does harm (`once`) or not (`repeatable`).",
            "enum": ["once", "repeatable"],
        });
        let timeout = duration_schema("The maximum time of a call, such as `30s`, `10m` or `1h30m`.");
        [Setting { key: "effect", schema: effect }, Setting { key: "timeout", schema: timeout }]
    }

    /// Tells whether a driver property is `effect` or `timeout`.
    pub fn has(name: &str) -> bool {
        matches!(name, "effect" | "timeout")
    }

    /// Returns the settings of a binding, and all problems. An invalid setting counts as not set.
    pub fn read(binding: &Binding) -> (Self, Vec<CallSettingError>) {
        let mut settings = Self::default();
        let mut errors = Vec::new();
        let given = |name: &str| binding.properties.get(name).map(|value| text_of_setting(setting(value)));
        match given("effect").as_deref() {
            None => {}
            Some("repeatable") => settings.effect = Some(Effect::Repeatable),
            Some("once") => settings.effect = Some(Effect::Once),
            Some(found) => errors.push(CallSettingError::Effect { found: found.to_owned() }),
        }
        if let Some(found) = given("timeout") {
            settings.timeout = duration(&found);
            if settings.timeout.is_none() {
                errors.push(CallSettingError::Timeout { found });
            }
        }
        (settings, errors)
    }
}

/// Returns the value of a driver property. A property has a plain value, or is declared in the form
/// `{value: …}` or `{default: …}`.
pub fn setting(value: &Value) -> &Value {
    value.get("value").or_else(|| value.get("default")).unwrap_or(value)
}

/// Returns the value of a driver property as text.
pub fn text_of_setting(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the JSON Schema of a text in the form of a [duration], such as `1h30m`.
pub fn duration_schema(description: &str) -> Value {
    json!({
        "description": description,
        "type": "string",
        "pattern": r"^\s*([0-9]+\s*(ms|s|m|min|h|d)\s*)+$",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(properties: Value) -> (CallSettings, Vec<String>) {
        let properties = serde_json::from_value(properties).unwrap();
        let binding = Binding { driver: "any".parse().unwrap(), infrastructure: Vec::new(), properties };
        let (settings, errors) = CallSettings::read(&binding);
        (settings, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_property_is_plain_or_declared_like_others() {
        let set = CallSettings { effect: Some(Effect::Once), timeout: Some(Duration::from_secs(600)) };
        for properties in [
            json!({"effect": "once", "timeout": "10m"}),
            json!({"effect": {"value": "once"}, "timeout": {"type": "string", "default": "10m"}}),
        ] {
            assert_eq!(read(properties), (set, Vec::new()));
        }
    }

    #[test]
    fn an_invalid_property_counts_as_not_set() {
        let (settings, errors) = read(json!({"effect": ["once"], "timeout": 10}));
        assert_eq!(settings, CallSettings::default());
        assert_eq!(
            errors,
            [
                r#"the driver property `effect` is `repeatable` or `once`, not `["once"]`"#,
                "the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `10`",
            ]
        );
    }
}
