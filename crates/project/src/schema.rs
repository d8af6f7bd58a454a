//! The JSON Schema of `windlass.yaml`, for editors and other tools.
//!
//! The schema is generated from the tables of keys that the reader uses.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_descriptor::compose::MAX_ELEMENTS;
use windlass_driver::{Driver, Registry};
use windlass_source::keys::{Definitions, Forms, by_name, schema};

use crate::keys::{self, Form};
use crate::kinds::RuntimeKinds;

/// Returns the JSON Schema (draft 2020-12) of `windlass.yaml`. The schema contains the settings of the given kinds
/// of runtimes, and of the given drivers.
pub fn project(kinds: &RuntimeKinds, drivers: &Registry) -> Value {
    let mut schema = schema(&ProjectForms { kinds, drivers }, &keys::ROOT, "windlass.yaml");
    let location = &mut schema["$defs"][keys::LOCATION.name]["properties"];
    for setting in kinds.settings() {
        location[setting.key] = setting.schema;
    }
    schema
}

/// Returns the schema of the settings of a driver.
fn driver_settings(driver: &dyn Driver) -> Value {
    let settings = driver.settings().into_iter().map(|setting| (setting.key.to_owned(), setting.schema));
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": settings.collect::<Map<_, _>>(),
    })
}

struct ProjectForms<'a> {
    kinds: &'a RuntimeKinds,
    drivers: &'a Registry,
}

impl Forms for ProjectForms<'_> {
    type Form = Form;

    fn form(&self, form: Form, definitions: &mut Definitions) -> Value {
        match form {
            Form::Version => json!({"enum": [1, "1"]}),
            Form::Text => definitions
                .refer("Text", |_| json!({"type": ["string", "number", "boolean"], "pattern": r"\S"})),
            Form::Number => {
                json!({"type": ["integer", "string", "null"], "minimum": 0, "pattern": "^[0-9]+$"})
            }
            Form::Count => json!({"type": ["integer", "string", "null"], "minimum": 1, "pattern": POSITIVE}),
            Form::Jobs => json!({
                "type": ["integer", "string", "null"],
                "minimum": 1,
                "maximum": u32::MAX,
                "pattern": POSITIVE,
            }),
            Form::Elements => json!({
                "type": ["integer", "string", "null"],
                "minimum": 1,
                "maximum": MAX_ELEMENTS,
                "pattern": POSITIVE,
            }),
            Form::Word(words) => {
                let words: Vec<Value> =
                    words.iter().map(|word| Value::from(*word)).chain([Value::Null]).collect();
                json!({ "enum": words })
            }
            Form::Age => json!({"type": ["string", "null"], "pattern": "^[0-9]+[smhd]$"}),
            Form::Runtime => {
                let names = self.kinds.names().map(Value::from);
                json!({"enum": names.chain([Value::Null]).collect::<Vec<_>>()})
            }
            Form::Drivers => {
                let of = |driver: &Arc<dyn Driver>| (driver.kind().to_string(), driver_settings(&**driver));
                json!({
                    "type": ["object", "null"],
                    "additionalProperties": false,
                    "properties": self.drivers.iter().map(of).collect::<Map<_, _>>(),
                })
            }
            Form::Volumes => json!({
                "type": ["object", "null"],
                "propertyNames": {"pattern": VOLUME},
                "additionalProperties": {"type": "string", "pattern": r"^/(?!(.*/)?\.\.(/|$))."},
            }),
            Form::Variables => json!({
                "type": ["object", "null"],
                "propertyNames": {"pattern": VARIABLE},
                "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
            }),
            Form::VariableNames => json!({
                "type": ["array", "null"],
                "items": {"type": "string", "pattern": VARIABLE},
            }),
            Form::Memory => json!({
                "type": ["integer", "string", "null"],
                "minimum": 4_194_304,
                "pattern": "^[0-9]+([KkMGT]i?B?)?$",
            }),
            Form::Processors => json!({
                "type": ["number", "string", "null"],
                "minimum": 0.01,
                "pattern": r"^[0-9]+(\.[0-9]{1,3})?$",
            }),
            Form::Descriptor => json!({"type": "string", "pattern": DESCRIPTOR}),
            Form::Properties => by_name(&Value::Bool(true)),
            Form::One(section) => definitions.part(self, section),
            Form::List(section) => {
                json!({"type": ["array", "null"], "items": definitions.part(self, section)})
            }
            Form::ByName(section) => by_name(&definitions.part(self, section)),
        }
    }
}

/// The pattern of a whole number from 1.
const POSITIVE: &str = "^[1-9][0-9]*$";

/// The pattern for the names of environment variables in `environment` and `inherit-environment`. The prefix
/// `WINDLASS_` is reserved for the variables that windlass itself sets.
const VARIABLE: &str = "^(?!WINDLASS_)[A-Za-z_][A-Za-z0-9_]*$";

/// The pattern of volume names.
const VOLUME: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";

/// The pattern of a descriptor's name with its version.
const DESCRIPTOR: &str = r"^(assembly|resource)::(?!\S*__)(?![A-Za-z0-9_-]{51})[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?::[0-9]+(\.[0-9]+)*$";
