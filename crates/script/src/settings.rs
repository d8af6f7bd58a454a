//! The driver properties `effect`, `timeout`, `limits`, `style` and `input`, and the default timeouts of a project.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;
use windlass_driver::{
    Binding, CallSettingError, CallSettings, Effect, Location, Setting, duration, duration_schema, setting,
    text_of_setting,
};
use windlass_executor::{BoundError, Bounds};

use crate::keys::LAUNCH_INSTANCES;
use crate::role::Role;
use crate::style::{Adapter, Notation, Style};

/// The settings for the script of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether repeating the script does harm.
    pub effect: Effect,
    /// Maximum run time of the script. The same duration limits the time from the start of the call until the
    /// instance has settled, which may happen after the script has ended.
    pub timeout: Duration,
    /// Resource limits of the script's job.
    pub bounds: Bounds,
    /// How the script receives its input, and how it answers.
    pub style: Style,
    /// Whether a script of the style [`Full`](Style::Full) reads YAML or JSON.
    pub input: Notation,
    /// The program that the job starts: the script itself, or an adapter that runs the script.
    pub adapter: Adapter,
    /// Whether the input document of a launch script contains the instances twice: below the key `launch`, and
    /// below the key `launch-instances`.
    pub both_launch_keys: bool,
}

/// Returns the driver properties with their schemas.
pub(crate) fn described() -> Vec<Setting> {
    let limits = json!({
        "description": "The limits of each job of the script.",
        "type": "object",
        "propertyNames": {"enum": Bounds::KEYS},
    });
    let mut described = Vec::from(CallSettings::described());
    let style = json!({
        "description": "How the script receives its input, and how it answers: by YAML documents, or by files.",
        "enum": ["full", "plain"],
    });
    described.push(Setting { key: "limits", schema: limits });
    described.push(Setting { key: "style", schema: style });
    let input = json!({
        "description": "The notation of the document that a full script reads; the default is `yaml`.",
        "enum": ["yaml", "json"],
    });
    described.push(Setting { key: "input", schema: input });
    described
}

/// The default timeouts, for scripts whose resource descriptor sets none.
///
/// The entry of the driver in `windlass.yaml` sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// The timeout of scripts that change something. It is one hour if `windlass.yaml` sets none.
    change: Duration,
    /// The timeout of health checks. It is one minute if `windlass.yaml` sets none.
    health_check: Duration,
    /// The length of the period in which a health check may report the results of a command. The period begins with
    /// the command. The length is one hour if `windlass.yaml` sets none.
    pub(crate) results: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { change: minutes(60), health_check: minutes(1), results: minutes(60) }
    }
}

/// The key `adapter` of a location in `windlass.yaml`. With `adapter: invoke`, jobs start the program `/invoke.py` of
/// the image, and this program runs the scripts. See [`Adapter`].
const ADAPTER: &str = "adapter";

/// The key `input`: a driver property, and also a key of a location in `windlass.yaml`. The key chooses the notation of
/// the documents that scripts read. See [`Notation`].
const INPUT: &str = "input";

/// The key `launch-key` of a location in `windlass.yaml`. If its value is `launch-instances`, the input document of
/// a launch script contains the instances twice: below the key `launch`, and below the key `launch-instances`.
const LAUNCH_KEY: &str = "launch-key";

const TIMEOUT: &str = "timeout";
const HEALTH_CHECK_TIMEOUT: &str = "health-check-timeout";
const RESULT_TIMEOUT: &str = "result-timeout";

impl Timeouts {
    /// Returns the settings of the driver with their schemas.
    pub(crate) fn described() -> Vec<Setting> {
        let of = |key, description| {
            let mut schema = duration_schema(description);
            schema["type"] = json!(["string", "null"]);
            Setting { key, schema }
        };
        vec![
            of(TIMEOUT, "The timeout of scripts that change something, such as `30m`; the default is `1h`."),
            of(HEALTH_CHECK_TIMEOUT, "The timeout of health checks, such as `10s`; the default is `1m`."),
            of(
                RESULT_TIMEOUT,
                "The time after the begin of a command of an application in which health checks may report its results; the default is `1h`.",
            ),
        ]
    }

    /// Replaces each timeout for which `given` contains a value, and returns the result. The keys of `given` are
    /// settings of the driver, such as `timeout`.
    ///
    /// # Errors
    /// Returns one error for each value that is not a duration.
    pub(crate) fn with(
        mut self,
        given: &BTreeMap<String, Value>,
    ) -> Result<Self, Vec<windlass_driver::SettingError>> {
        let mut errors = Vec::new();
        let timeouts = [
            (TIMEOUT, &mut self.change),
            (HEALTH_CHECK_TIMEOUT, &mut self.health_check),
            (RESULT_TIMEOUT, &mut self.results),
        ];
        for (key, timeout) in timeouts {
            let Some(value) = given.get(key) else { continue };
            let text = text_of_setting(value);
            match duration(&text) {
                Some(given) => *timeout = given,
                None => errors.push(windlass_driver::SettingError {
                    key,
                    message: format!("`{key}` is a time such as `30s`, `10m` or `1h30m`, not `{text}`"),
                }),
            }
        }
        if errors.is_empty() { Ok(self) } else { Err(errors) }
    }
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// A driver property with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum SettingError {
    /// The value of the property `effect` or `timeout` is invalid.
    #[error(transparent)]
    Common(#[from] CallSettingError),
    /// The value of the property `style` is neither `plain` nor `full`.
    #[error("the driver property `style` is `plain` or `full`, not `{found}`")]
    Style {
        /// The value as given.
        found: String,
    },
    /// The value of the property `input` is neither `yaml` nor `json`.
    #[error("the driver property `input` is `yaml` or `json`, not `{found}`")]
    Input {
        /// The value as given.
        found: String,
    },
    /// The value of the property `limits` is not a mapping.
    #[error(
        "the driver property `limits` is a mapping such as `{{memory: 512M, processes: 64}}`, not `{found}`"
    )]
    Limits {
        /// The value as given.
        found: String,
    },
    /// An entry of the property `limits` is invalid.
    #[error("the driver property `limits` can't be used: {0}")]
    Limit(#[from] BoundError),
}

impl SettingError {
    /// Returns the name of the driver property with the invalid value, such as `timeout`.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Common(error) => error.key(),
            Self::Style { .. } => "style",
            Self::Input { .. } => "input",
            Self::Limits { .. } | Self::Limit(_) => "limits",
        }
    }
}

impl Settings {
    /// Returns the default settings of a role.
    ///
    /// Health checks and discovery have the effect `repeatable`. All other scripts have the effect `once`. Discovery
    /// has a timeout of ten minutes, and `timeouts` contains the timeouts of all other scripts.
    pub(crate) fn of(role: &Role, timeouts: Timeouts) -> Self {
        let (effect, timeout) = match role {
            Role::HealthCheck => (Effect::Repeatable, timeouts.health_check),
            Role::Discover => (Effect::Repeatable, minutes(10)),
            _ => (Effect::Once, timeouts.change),
        };
        Self {
            effect,
            timeout,
            bounds: Bounds::default(),
            style: Style::Full,
            input: Notation::Yaml,
            adapter: Adapter::Direct,
            both_launch_keys: false,
        }
    }

    /// Returns the settings for a script with the given role, and all problems. The settings come from the driver
    /// properties in `binding`. If a property is missing or invalid, the [default](Self::of) of the role applies.
    pub(crate) fn read(role: &Role, binding: &Binding, timeouts: Timeouts) -> (Self, Vec<SettingError>) {
        let (common, errors) = CallSettings::read(binding);
        let mut settings = Self::of(role, timeouts);
        settings.timeout = common.timeout.unwrap_or(settings.timeout);
        // A read-only script is always repeatable, even if the descriptor sets `effect: once`.
        if let Some(effect) = common.effect.filter(|_| !role.reads_only()) {
            settings.effect = effect;
        }
        let mut errors: Vec<_> = errors.into_iter().map(SettingError::Common).collect();
        if let Some(limits) = binding.properties.get("limits") {
            errors.extend(settings.set_limits(setting(limits)).err());
        }
        if let Some(style) = binding.properties.get("style") {
            errors.extend(settings.set_style(setting(style)).err());
        }
        if let Some(input) = binding.properties.get(INPUT) {
            let found = text_of_setting(setting(input));
            match found.parse() {
                Ok(input) => settings.input = input,
                Err(()) => errors.push(SettingError::Input { found }),
            }
        }
        (settings, errors)
    }

    /// Returns the settings for scripts at a location. A setting of the location replaces the setting of the
    /// descriptor.
    pub(crate) fn at(mut self, location: &Location) -> Self {
        let word = |key: &str| location.scripting.get(key).map(String::as_str);
        self.adapter = word(ADAPTER).and_then(|word| word.parse().ok()).unwrap_or(self.adapter);
        self.input = word(INPUT).and_then(|word| word.parse().ok()).unwrap_or(self.input);
        self.both_launch_keys = word(LAUNCH_KEY) == Some(LAUNCH_INSTANCES);
        self
    }

    fn set_style(&mut self, value: &Value) -> Result<(), SettingError> {
        let found = text_of_setting(value);
        self.style = found.parse().map_err(|()| SettingError::Style { found })?;
        Ok(())
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
        let (settings, errors) = Settings::read(role, &binding, Timeouts::default());
        (settings, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_property_is_a_scalar_or_declared_like_others() {
        let set = Settings {
            effect: Effect::Repeatable,
            timeout: Duration::from_secs(600),
            bounds: Bounds::default(),
            style: Style::Plain,
            input: Notation::Json,
            adapter: Adapter::Direct,
            both_launch_keys: false,
        };
        for properties in [
            json!({"effect": "repeatable", "timeout": "10m", "style": "plain", "input": "json"}),
            json!({"effect": {"value": "repeatable"}, "timeout": {"type": "string", "default": "10m"}, "style": {"value": "plain"}, "input": {"value": "json"}}),
        ] {
            assert_eq!(read(&Role::Launch, properties), (set, Vec::new()));
        }
    }

    #[test]
    fn what_is_wrong_is_taken_as_not_set() {
        let (settings, errors) = read(
            &Role::Launch,
            json!({"effect": "twice", "timeout": 10, "limits": "3", "style": "simple", "input": "xml"}),
        );
        assert_eq!(settings, Settings::of(&Role::Launch, Timeouts::default()));
        assert_eq!(
            errors,
            [
                "the driver property `effect` is `repeatable` or `once`, not `twice`",
                "the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `10`",
                "the driver property `limits` is a mapping such as `{memory: 512M, processes: 64}`, not `3`",
                "the driver property `style` is `plain` or `full`, not `simple`",
                "the driver property `input` is `yaml` or `json`, not `xml`",
            ]
        );
    }

    #[test]
    fn looking_is_repeatable_whatever_is_said() {
        assert_eq!(read(&Role::HealthCheck, json!({"effect": "once"})).0.effect, Effect::Repeatable);
    }
    #[test]
    fn a_descriptor_precedes_the_project() {
        let given = json!({"timeout": "2h", "health-check-timeout": "5s"});
        let timeouts = Timeouts::default().with(&serde_json::from_value(given).unwrap()).unwrap();
        let timeout = |role: &Role, properties: Value| {
            let properties = serde_json::from_value(properties).unwrap();
            let binding =
                Binding { driver: "script".parse().unwrap(), infrastructure: Vec::new(), properties };
            Settings::read(role, &binding, timeouts).0.timeout
        };
        assert_eq!(timeout(&Role::Launch, json!({})), minutes(120));
        assert_eq!(timeout(&Role::Launch, json!({"timeout": "1m"})), minutes(1));
        assert_eq!(timeout(&Role::HealthCheck, json!({})), Duration::from_secs(5));
        assert_eq!(timeout(&Role::Discover, json!({})), minutes(10));
    }

    #[test]
    fn all_wrong_timeouts_are_reported() {
        let given = json!({"timeout": "soon", "health-check-timeout": ["5s"]});
        let errors = Timeouts::default().with(&serde_json::from_value(given).unwrap()).unwrap_err();
        let said: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "`timeout` is a time such as `30s`, `10m` or `1h30m`, not `soon`",
                r#"`health-check-timeout` is a time such as `30s`, `10m` or `1h30m`, not `["5s"]`"#,
            ]
        );
    }
}
