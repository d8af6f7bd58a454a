//! Conversion of the pins of a `scripted.Component` or `scripted.ComponentFactory` to the type
//! `windlass_model::pins::Pins`. This type can be stored.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;
use windlass_model::pins::{Name, Pin, PinId, PinType, Pins, Signature};

use crate::builtin::is_declared;
use crate::check::Checked;
use crate::document::{Leaf, Parameter};
use crate::value;

/// Returns the pins of the manifest's scripted component (its `scripted.Component` or `scripted.ComponentFactory`):
/// the declared pins and the built-in signals. Each pin lists the ids under which the application exposes it.
/// Returns `None` if the manifest has no such component, or if a mandatory value of the component is missing.
///
/// Built-in configuration pins, such as the paths of scripts, are part of the [`Role`](crate::Role) instead.
pub fn pins(checked: &Checked<'_>) -> Option<Pins> {
    let component = checked.role.as_ref()?.component();
    let visible = checked.visible.find(component).ok()?;
    let mut leaf = None;
    checked.manifest.for_each_leaf(&mut |path, found| {
        if path == component {
            leaf = Some(found);
        }
    });
    let leaf = leaf?;
    let mut pins = Pins::default();
    for (id, pin) in visible.pins() {
        let Some(kind) = &pin.kind else { continue };
        if is_declared(&id) || kind.as_configuration().is_none() {
            let declared = Pin { sensitive: pin.sensitive, ..declared(leaf, &id, kind) };
            pins.insert(id, declared);
        }
    }
    for (outer, pin) in checked.visible.pins() {
        for target in pin.targets.iter().filter(|target| *target.component == *component) {
            let inner = &target.pin;
            let pin = pins.0.get_mut(&inner.interface).and_then(|pins| pins.get_mut(&inner.pin));
            if let Some(pin) = pin {
                pin.exposed.push(outer.clone());
            }
        }
    }
    Some(pins)
}

fn declared(leaf: &Leaf, id: &PinId, kind: &PinType) -> Pin {
    let mut pin = Pin::new(kind.clone());
    let found = leaf.interfaces.get(&id.interface).and_then(|interface| interface.pins.get(&id.pin));
    if let Some(found) = found {
        pin.label.clone_from(&found.presentation.label);
        pin.defaults = kind.as_command().map(|of| defaults(of, &found.arguments)).unwrap_or_default();
    }
    pin
}

/// Returns the default values of a command's arguments. Leaves out defaults that do not fit the argument's
/// type.
fn defaults(signature: &Signature, arguments: &IndexMap<Name, Parameter>) -> BTreeMap<Name, Value> {
    let with_default = arguments.iter().filter_map(|(name, of)| {
        let kind = signature.arguments.0.get(name)?;
        let value = value::read(kind, of.default.as_ref()?).ok()?;
        Some((name.clone(), value)).filter(|(_, value)| !value.is_null())
    });
    with_default.collect()
}
