//! The pins of an application: its values and its commands.
//!
//! A manifest declares pins in interfaces. Each pin has a direction and a type:
//!
//! ```
//! use serde_json::json;
//! use windlass_model::pins::Pins;
//!
//! let pins: Pins = serde_json::from_value(json!({
//!     "configuration": {"size": {"type": {"configuration": "string"}}},
//!     "compute": {"ip": {"type": {"publish-signal": "string"}, "exposed": ["compute.ip"]}},
//!     "control": {"reboot": {"type": {"receive-command": {"arguments": {"force": "bool"}, "results": {}}}}},
//! }))?;
//! let reboot = &pins.get(&"control.reboot".parse()?).expect("it was declared").kind;
//! assert_eq!(reboot.to_string(), "receive-command(bool force)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod name;
mod pin_type;
mod value;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::{CommandName, PropertyName};
use crate::resolve::Resolved;
use crate::sorted;

pub use name::{Name, NameError, PinId, is_name_char};
pub use pin_type::{PinType, Record, Signature, ValueType};
pub use value::Misfit;

/// The pins of the scripted component of an application: the pins that the manifest declares, and the
/// built-in signals. Scripts can read and write no other values.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pins(
    /// The pins, by interface and name.
    pub BTreeMap<Name, BTreeMap<Name, Pin>>,
);

/// A pin: a value or a command of a component. For example, a pin can be a signal that the component publishes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The direction and the type of the pin.
    #[serde(rename = "type")]
    pub kind: PinType,
    /// A label for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether the value of a configuration pin is a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
    /// The default values of a command's arguments, in the types of the arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", serialize_with = "sorted::values")]
    pub defaults: BTreeMap<Name, Value>,
    /// The ids under which the application exposes the pin. People and other applications use only these ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposed: Vec<PinId>,
}

impl Pin {
    /// Creates a pin of a type.
    pub fn new(kind: PinType) -> Self {
        Self { kind, label: None, sensitive: false, defaults: BTreeMap::new(), exposed: Vec::new() }
    }
}

impl Pins {
    /// Returns the declaration of a command; `None` if there is no such command. The name of a command is the id of its
    /// pin, such as `control.reboot`.
    pub fn command(&self, name: &CommandName) -> Option<&Signature> {
        self.get(&name.as_str().parse().ok()?)?.kind.as_command()
    }

    /// Returns the pin with an id.
    pub fn get(&self, id: &PinId) -> Option<&Pin> {
        self.0.get(&id.interface)?.get(&id.pin)
    }

    /// Finds the pin that the application exposes under `id`. Returns the id under which the component declares the
    /// pin, and the pin. For example, the application may expose the pin `control.resize` as `admin.resize`.
    pub fn exposed(&self, id: &PinId) -> Option<(PinId, &Pin)> {
        self.iter().find(|(_, pin)| pin.exposed.contains(id))
    }

    /// Returns all pins with their ids, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = (PinId, &Pin)> {
        self.0.iter().flat_map(|(interface, pins)| {
            pins.iter().map(|(pin, of)| (PinId { interface: interface.clone(), pin: pin.clone() }, of))
        })
    }

    /// Returns the values of the configuration pins. The ids of the pins are the keys. `values` contains the values
    /// of the component's properties. Null means no value. Each value is converted to the type of its pin. A value
    /// that can't be converted stays as it is.
    pub fn configuration(&self, values: &BTreeMap<PropertyName, Resolved>) -> BTreeMap<String, Resolved> {
        let value = |(id, pin): (PinId, &Pin)| {
            let (kind, name) = (pin.kind.as_configuration()?, id.to_string());
            let given = values.get(name.as_str()).filter(|given| !given.value.is_null())?;
            let value = kind.fit(&given.value).unwrap_or_else(|_| given.value.clone());
            Some((name, Resolved { value, sensitive: given.sensitive || pin.sensitive }))
        };
        self.iter().filter_map(value).collect()
    }

    /// Adds a pin, or replaces the pin with the same id.
    pub fn insert(&mut self, id: PinId, pin: Pin) {
        self.0.entry(id.interface).or_default().insert(id.pin, pin);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_pins_read_back_equal() {
        let stored = json!({
            "configuration": {
                "password": {"type": {"configuration": "string"}, "sensitive": true, "label": "Password"},
                "disks": {"type": {"configuration": {"list": {"map": ["string", "int"]}}}},
            },
            "control": {"resize": {
                "type": {"receive-command": {
                    "arguments": {"size": {"record": {"cpus": "int"}}},
                    "progress": {"percent": "int"},
                    "results": {"id": "object"},
                }},
                "defaults": {"size": {"cpus": 1}},
                "exposed": ["admin.resize", "control.resize"],
            }},
        });
        let pins: Pins = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(&pins).unwrap(), stored);
        let (id, pin) = pins.exposed(&"admin.resize".parse().unwrap()).unwrap();
        assert_eq!(id.to_string(), "control.resize");
        assert_eq!(
            pin.kind.to_string(),
            "receive-command(record<int cpus> size => int percent => object id)"
        );
        let disks = pins.get(&"configuration.disks".parse().unwrap()).unwrap();
        assert_eq!(disks.kind.to_string(), "configuration(list<map<string, int>>)");
        assert!(pins.exposed(&"configuration.disks".parse().unwrap()).is_none());
    }
}
