//! JSON Schemas of assembly and resource descriptors, for editors and for other tools.
//!
//! A schema is a first check: it knows keys, sorts of values and the form of names. Everything that it
//! refuses, the check refuses too. Only the check knows whether a `${…}` has a meaning or a descriptor
//! exists. The schema is as tolerant as the reader, which only warns of some unknown keys.
//!
//! Descriptors are not deserialised through these types, since that would lose all places. They only mirror
//! the reader; a test compares their keys with the reader's own tables.

mod assembly;
mod resource;
mod shared;

use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the schema of assembly descriptors, of the draft 2020-12.
pub fn assembly() -> Value {
    made::<assembly::Assembly>("Assembly descriptor")
}

/// Returns the schema of resource descriptors, of the draft 2020-12.
pub fn resource() -> Value {
    made::<resource::Resource>("Resource descriptor")
}

fn made<T: schemars::JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::keys;

    /// Returns the keys that a schema lists at its root or in a definition.
    fn listed(schema: &Value, definition: Option<&str>) -> Vec<String> {
        let part = definition.map_or(schema, |name| &schema["$defs"][name]);
        let mut keys: Vec<String> =
            part["properties"].as_object().expect("it has keys").keys().cloned().collect();
        keys.sort();
        keys
    }

    fn sorted(keys: &[&str]) -> Vec<String> {
        let mut keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        keys.sort();
        keys
    }

    #[test]
    fn the_keys_are_those_of_the_reader() {
        let assembly = super::assembly();
        assert_eq!(listed(&assembly, None), sorted(&keys::ASSEMBLY));
        assert_eq!(listed(&assembly, Some("Component")), sorted(&keys::COMPONENT));
        assert_eq!(listed(&assembly, Some("Cluster")), sorted(&keys::CLUSTER));
        assert_eq!(listed(&assembly, Some("Reference")), sorted(&keys::REFERENCE));
        assert_eq!(listed(&assembly, Some("Relationship")), sorted(&keys::RELATIONSHIP));
        assert_eq!(listed(&assembly, Some("RelationshipLifecycle")), sorted(&keys::RELATIONSHIP_LIFECYCLE));
        assert_eq!(listed(&assembly, Some("Promotion")), sorted(&keys::PROMOTION));
        assert_eq!(listed(&assembly, Some("Property")), sorted(&keys::PROPERTY));
        let resource = super::resource();
        assert_eq!(listed(&resource, None), sorted(&keys::RESOURCE));
        assert_eq!(listed(&resource, Some("Property")), sorted(&keys::PROPERTY));
    }
}
