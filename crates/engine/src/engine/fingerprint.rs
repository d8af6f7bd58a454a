//! Fingerprints of plans. The fingerprint of a plan is not a hash. It is a copy of the plan's data without the origins
//! of declarations. An origin is a file, a line and a column.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_lifecycle::{Diff, Plan};
use windlass_model::assembly::Origin;

/// The data by which two plans are compared: the steps of a plan, and the changes that the plan makes. The files
/// and lines of declarations are omitted. So the same descriptor in another folder leads to the same fingerprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFingerprint {
    plan: Value,
    /// The changes that the plan makes. Two plans with equal steps may make different changes, for example if a secret
    /// has changed. `None` means that the changes are not compared.
    changes: Option<Value>,
}

impl PlanFingerprint {
    /// Returns the fingerprint of a plan and its changes. The arguments may also be JSON values that a file contained:
    /// they lead to the same fingerprint as the original plan and changes.
    pub fn of(plan: &impl Serialize, changes: Option<&impl Serialize>) -> Self {
        Self { plan: fingerprint(plan), changes: changes.map(fingerprint) }
    }

    /// Tells whether a plan and its changes have this fingerprint.
    pub(super) fn is(&self, plan: &Plan, changes: &Diff) -> bool {
        self.plan == fingerprint(plan)
            && self.changes.as_ref().is_none_or(|known| *known == fingerprint(changes))
    }
}

/// Serializes a plan, or a part of a topology, without the origins (files and lines) of declarations. Two plans with
/// the same work and reasons have the same fingerprint, even if their descriptors were read from different folders.
pub fn fingerprint(of: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(of).unwrap_or_default();
    strip(&mut value);
    value
}

/// Removes the origins of declarations. Data of the user may have the name `origin`, too. Such data stay:
///
/// - The diff contains values of properties as plain JSON (`Shown::Value`). The function changes nothing in them.
/// - A property or an output may have the name `origin`. Its declaration does not have the fields of an [`Origin`].
/// - A template may contain a map with the key `origin`. This map can't look like an [`Origin`], which contains JSON
///   numbers: in a template, even `3` is a text.
fn strip(value: &mut Value) {
    match value {
        Value::Object(entries) if is_shown(entries) => {}
        Value::Object(entries) => {
            if entries
                .get("origin")
                .is_some_and(|found| found.is_null() || Origin::deserialize(found).is_ok())
            {
                entries.remove("origin");
            }
            entries.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Tells whether an object is a serialized `Shown::Value`: a value of the user. No other object of a plan or a topology
/// has the single key `value` and contains origins.
fn is_shown(entries: &Map<String, Value>) -> bool {
    entries.len() == 1 && entries.contains_key("value")
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use serde_json::json;
    use windlass_lifecycle::{PropertyChange, Shown};
    use windlass_model::Template;
    use windlass_model::assembly::Property;
    use windlass_model::name::PropertyName;

    use super::*;

    /// Returns the properties of an element that has only the property `origin`. This property has the value `value`,
    /// and was declared on the line `line`.
    fn declared(value: &Template, line: u32) -> IndexMap<PropertyName, Property> {
        let origin = Some(Origin { file: "a.yaml".into(), line, column: 1 });
        let property = Property { value: Some(value.clone()), origin, ..Property::default() };
        [("origin".parse().unwrap(), property)].into()
    }

    #[test]
    fn a_shown_value_named_origin_counts() {
        let of = |value: Value| {
            let (before, after) = (Shown::Nothing, Shown::Value(value));
            fingerprint(&PropertyChange {
                property: "route".parse().unwrap(),
                before,
                after,
                volatile: false,
                origin: None,
            })
        };
        assert_ne!(of(json!({"origin": null})), of(json!({})));
        let place = |line: u32| json!([{"origin": {"file": "f", "line": line, "column": 1}}]);
        assert_ne!(of(place(1)), of(place(2)));
        // The fingerprint of a fingerprint is the same, because a file may contain it.
        assert_eq!(fingerprint(&of(json!({"origin": null}))), of(json!({"origin": null})));
    }

    #[test]
    fn the_place_of_a_declaration_does_not_count_and_a_value_named_origin_does() {
        let text = |value: &str| Template::literal(value);
        let map = |value: &str| {
            let entries = [("file", "f"), ("line", value), ("column", "1")];
            let entries = entries.map(|(key, value)| (key.to_owned(), text(value)));
            Template::Map(
                [("origin".to_owned(), Template::Map(entries.into_iter().collect()))].into_iter().collect(),
            )
        };
        let of = |value: &Template, line| fingerprint(&declared(value, line));
        assert_eq!(of(&text("a"), 1), of(&text("a"), 2));
        assert_ne!(of(&text("a"), 1), of(&text("b"), 1));
        assert_ne!(of(&map("1"), 1), of(&map("2"), 1));
    }
}
