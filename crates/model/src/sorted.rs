//! JSON whose objects have their members sorted by name.
//!
//! By default, `serde_json` sorts the members of objects. If a program that embeds windlass enables the feature
//! `preserve_order` of `serde_json`, the members stay in the order of their insertion. But a digest, or a text that is
//! stored and compared later, must be the same in all programs. Such a text is made with this module.
//!
//! ```
//! use serde_json::json;
//! use windlass_model::sorted::Sorted;
//!
//! let value = json!({"name": "web", "id": [{"y": 1, "x": null}]});
//! assert_eq!(Sorted(&value).to_string(), r#"{"id":[{"x":null,"y":1}],"name":"web"}"#);
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Serializes a value with sorted members. The `Display` text of this type is JSON.
#[derive(Debug, Clone, Copy)]
pub struct Sorted<'a>(pub &'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(entries) => {
                serializer.collect_map(members(entries).into_iter().map(|(name, value)| (name, Self(value))))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            other => other.serialize(serializer),
        }
    }
}

impl fmt::Display for Sorted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Returns the members of an object, sorted by name.
pub fn members(object: &Map<String, Value>) -> BTreeMap<&String, &Value> {
    object.iter().collect()
}

/// Serializes a map of values, each with sorted members: for `#[serde(serialize_with = "…")]`.
///
/// # Errors
///
/// Fails if the serializer fails.
pub fn values<K: Serialize, S: Serializer>(
    values: &BTreeMap<K, Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, Sorted(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the feature `preserve_order`, the parsed value keeps the order of the text, which is not sorted.
    #[test]
    fn members_are_sorted_at_each_depth() {
        let text = r#"{"b":[{"d":1.5,"c":"é\n"},null],"a":{"y":{},"x":[]}}"#;
        let sorted = r#"{"a":{"x":[],"y":{}},"b":[{"c":"é\n","d":1.5},null]}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Sorted(&value).to_string(), sorted);
        assert_eq!(serde_json::from_str::<Value>(sorted).unwrap(), value);
        assert_eq!(Sorted(&Value::Null).to_string(), "null");
    }
}
