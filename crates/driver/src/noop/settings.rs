//! The driver properties `effect`, `timeout` and `outputs`.

use serde_json::{Value, json};
use thiserror::Error;
use windlass_model::PropertyName;

use crate::Binding;
use crate::keys::Setting;
use crate::settings::{CallSettingError, CallSettings, setting, text_of_setting};

/// The properties of the driver `noop`, as a resource descriptor declares them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Settings {
    /// The driver properties `effect` and `timeout`, which all drivers support. If the descriptor sets `effect`, the
    /// engine calls this driver for every action. If the descriptor sets `outputs` without `effect`, the engine calls
    /// the driver only for the action that publishes the output properties.
    pub(super) common: CallSettings,
    /// The published output properties, each with the input property that provides its value.
    pub(super) outputs: Vec<(PropertyName, PropertyName)>,
}

/// Returns the keys `effect`, `timeout` and `outputs` with their schemas.
pub(super) fn described() -> Vec<Setting> {
    let outputs = json!({
        "description": "The published output properties, each with the property that provides its value.",
        "type": "object",
    });
    let mut described = Vec::from(CallSettings::described());
    described.push(Setting { key: "outputs", schema: outputs });
    described
}

/// A driver property that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(super) enum SettingError {
    /// A property that all drivers support can't be read.
    #[error(transparent)]
    Common(#[from] CallSettingError),
    /// The outputs are not a mapping.
    #[error("the driver property `outputs` maps output properties to input properties, and is not `{found}`")]
    Outputs {
        /// The value as given.
        found: String,
    },
    /// An entry of `outputs` has an invalid name, or does not name an input property.
    #[error("the driver property `outputs` takes `{output}` from a property, not from `{found}`")]
    Output {
        output: String,
        /// The value as given.
        found: String,
    },
}

impl SettingError {
    /// Returns the name of the driver property that can't be read: `effect`, `timeout` or `outputs`.
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::Common(error) => error.key(),
            Self::Outputs { .. } | Self::Output { .. } => "outputs",
        }
    }
}

impl Settings {
    /// Returns the settings of a binding, and all problems. An invalid setting counts as not set.
    pub(super) fn read(binding: &Binding) -> (Self, Vec<SettingError>) {
        let (common, errors) = CallSettings::read(binding);
        let mut settings = Self { common, outputs: Vec::new() };
        let mut errors: Vec<_> = errors.into_iter().map(SettingError::Common).collect();
        if let Some(outputs) = binding.properties.get("outputs") {
            settings.read_outputs(mapping(outputs), &mut errors);
        }
        (settings, errors)
    }

    fn read_outputs(&mut self, value: &Value, errors: &mut Vec<SettingError>) {
        let Some(entries) = value.as_object() else {
            return errors.push(SettingError::Outputs { found: text_of_setting(value) });
        };
        for (output, input) in entries {
            let input = setting(input);
            match (output.parse(), input.as_str().map(str::parse)) {
                (Ok(output), Some(Ok(input))) => self.outputs.push((output, input)),
                _ => errors
                    .push(SettingError::Output { output: output.clone(), found: text_of_setting(input) }),
            }
        }
    }
}

/// Finds the mapping from output properties to input properties in the value of `outputs`. The value has one of two
/// forms:
///
/// - the mapping itself, such as `{address: ip}`;
/// - a declaration with the mapping under the key `value` or `default`, such as `{value: {address: ip}}`.
///
/// In the first form, an output property may have the name `value` or `default`, as in `{value: port}`. So the
/// function assumes the second form only if the key `value` or `default` contains a mapping.
fn mapping(value: &Value) -> &Value {
    Some(setting(value)).filter(|inner| inner.is_object()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Effect;

    fn read(properties: Value) -> (Settings, Vec<String>) {
        let properties = serde_json::from_value(properties).unwrap();
        let binding = Binding { driver: "noop".parse().unwrap(), infrastructure: Vec::new(), properties };
        let (settings, errors) = Settings::read(&binding);
        (settings, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_property_is_plain_or_declared_like_others() {
        let set = Settings {
            common: CallSettings { effect: Some(Effect::Once), timeout: None },
            outputs: vec![("a".parse().unwrap(), "in-a".parse().unwrap())],
        };
        for properties in [
            json!({"effect": "once", "outputs": {"a": "in-a"}}),
            json!({"effect": {"value": "once"}, "outputs": {"value": {"a": "in-a"}}}),
            json!({
                "effect": {"type": "string", "default": "once"},
                "outputs": {"type": "map", "default": {"a": {"value": "in-a"}}},
            }),
        ] {
            assert_eq!(read(properties), (set.clone(), Vec::new()));
        }
    }

    #[test]
    fn an_output_may_be_called_like_a_key_of_declarations() {
        let value: (PropertyName, PropertyName) = ("value".parse().unwrap(), "x".parse().unwrap());
        assert_eq!(read(json!({"outputs": {"value": "x"}})).0.outputs, [value]);
    }

    #[test]
    fn what_is_wrong_is_taken_as_not_set() {
        let (settings, errors) = read(json!({
            "effect": "none", "outputs": {"a": ["b"], "b c": "d", "e": "f"},
        }));
        assert_eq!(settings.common, CallSettings::default());
        assert_eq!(settings.outputs.len(), 1);
        assert_eq!(
            errors,
            [
                "the driver property `effect` is `repeatable` or `once`, not `none`",
                r#"the driver property `outputs` takes `a` from a property, not from `["b"]`"#,
                "the driver property `outputs` takes `b c` from a property, not from `d`",
            ]
        );
        assert_eq!(
            read(json!({"outputs": "a"})).1,
            ["the driver property `outputs` maps output properties to input properties, and is not `a`"]
        );
    }
}
