//! JSON Schemas of assembly and resource descriptors, for editors and for other tools.
//!
//! A schema describes keys, the form of names, and the sorts of values: texts, lists or maps. windlass
//! refuses every document that a schema refuses. windlass also refuses documents that a schema accepts, for
//! example if a `${…}` has no meaning, or if the catalog lacks a descriptor. If `read` only warns of a
//! document, the schema accepts it.
//!
//! The schemas are generated from the tables of keys in `keys.rs`, which `read` also uses.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windlass_source::keys::{Definitions, Forms, by_name, or_null, schema};

use crate::keys::{self, Form, Section};

/// Returns the schema of assembly descriptors, in draft 2020-12.
pub fn assembly() -> Value {
    schema(&Descriptors(&DriverProperties::new()), &keys::ASSEMBLY, "Assembly descriptor")
}

/// The schemas of driver properties, by the name of the driver and then by the name of the property. A schema
/// describes a value `v` of the property. A descriptor may also write `{value: v}` or `{default: v}`.
pub type DriverProperties = BTreeMap<String, Map<String, Value>>;

/// Returns the schema of resource descriptors, in draft 2020-12. The schema describes the properties of the
/// drivers in `drivers`. It accepts any properties of other drivers.
pub fn resource(drivers: &DriverProperties) -> Value {
    schema(&Descriptors(drivers), &keys::RESOURCE, "Resource descriptor")
}

struct Descriptors<'d>(&'d DriverProperties);

impl Forms for Descriptors<'_> {
    type Form = Form;

    fn form(&self, form: Form, definitions: &mut Definitions) -> Value {
        match form {
            Form::Anything => json!({}),
            Form::Named => by_name(&Value::Bool(true)),
            Form::Text => text(definitions),
            Form::Flag => definitions.refer("Flag", |_| flag()),
            Form::Count => definitions.refer("Count", |_| count()),
            Form::Each => json!({
                "type": ["array", "string", "null"],
                "items": {"type": "object"},
                "pattern": r"^\$\{.*\}$",
            }),
            Form::AssemblyName => definitions.refer("OwnName", |_| own_name("assembly")),
            Form::ResourceName => definitions.refer("OwnName", |_| own_name("resource")),
            Form::DescriptorName => definitions.refer("DescriptorName", |_| {
                json!({
                    "description": "the name of a descriptor, such as `resource::web_server::1.0`",
                    "type": "string",
                    "pattern": format!(r"^((assembly|resource)::{MIDDLE}::{VERSION}|\$lmctl:.*)$"),
                })
            }),
            Form::ReferenceType => json!({
                "type": "string",
                "pattern": format!(r"^((assembly|resource)::{MIDDLE}::[^:]+|\$lmctl:.*)$"),
            }),
            Form::PromotedOperation => json!({"type": "string", "pattern": format!(r"^{WORD}\.\S+$")}),
            Form::Endpoints => {
                definitions.refer("Endpoints", |_| json!({"type": ["array", "string"], "items": {"type": "string"}}))
            }
            Form::Components => json!({"type": ["array", "string", "null"], "items": {"type": "string"}}),
            Form::State => definitions
                .refer("State", |_| json!({"type": "string", "enum": ["Installed", "Inactive", "Active"]})),
            Form::Modifier => definitions.refer("Modifier", |_| json!({"enum": ["pre", "post", null]})),
            Form::PackageChange => json!({"enum": ["keep", "reconfigure", "replace", null]}),
            Form::MaxUnavailable => json!({
                "type": ["integer", "string", "null"],
                "minimum": 1,
                "maximum": u32::MAX,
                "pattern": "^([+]?0*[1-9][0-9]*|[+]?0*([1-9][0-9]?|100)%|all)$",
            }),
            Form::MaxSurge => json!({
                "type": ["integer", "string", "null"],
                "minimum": 0,
                "maximum": 10_000,
                "pattern": "^([+]?[0-9]+|[+]?0*([0-9][0-9]?|100)%)$",
            }),
            Form::Pause => json!({
                "type": ["string", "null"],
                "pattern": r"^\s*([0-9]+\s*(ms|s|m|min|h|d)\s*)+$",
            }),
            Form::OnFailure => json!({"enum": ["stop", "rollback", null]}),
            Form::Operations => json!({"type": ["array", "null"], "items": text(definitions)}),
            Form::Infrastructure => definitions.refer("Infrastructure", |definitions| {
                json!({"anyOf": [text(definitions), {"type": "array", "items": {"type": "string"}}]})
            }),
            Form::Transitions(section) => definitions.refer("Lifecycle", |definitions| {
                json!({
                    "description": "Create, Install, Configure, Start, Integrity, Reconfigure, Stop, Uninstall, Delete",
                    "type": ["array", "object", "null"],
                    "items": {"type": ["string", "null"]},
                    "additionalProperties": or_null(&definitions.part(self, section)),
                })
            }),
            Form::Drivers(section) => {
                definitions.refer("Drivers", |definitions| self.drivers(section, definitions))
            }
            Form::One(section) => definitions.part(self, section),
            Form::ByName(section) => by_name(&definitions.part(self, section)),
            Form::ByNameOrNull(section) => by_name(&or_null(&definitions.part(self, section))),
        }
    }
}

impl Descriptors<'_> {
    /// Returns the schema of a mapping with the names of drivers as its keys. Each value is a mapping with the keys of
    /// `section`.
    fn drivers(&self, section: &'static Section, definitions: &mut Definitions) -> Value {
        let driver = definitions.part(self, section);
        let known = self.0.iter().map(|(name, properties)| {
            let properties: Map<String, Value> =
                properties.iter().map(|(name, schema)| (name.clone(), plain_or_declared(schema))).collect();
            let properties = json!({"properties": {"properties": {"properties": properties}}});
            (name.clone(), json!({"allOf": [driver, properties]}))
        });
        let known: Map<String, Value> = known.collect();
        json!({"type": ["object", "null"], "properties": known, "additionalProperties": driver})
    }
}

/// Returns the schema of a value that is read as text. The schema also accepts numbers, booleans and null. If a
/// descriptor contains a number or a boolean, such as `1.10`, the value is the text exactly as written.
fn text(definitions: &mut Definitions) -> Value {
    definitions.refer("Text", |_| json!({"type": ["string", "number", "boolean", "null"]}))
}

/// Returns the schema of a driver property. `schema` is the schema of the property's value. For each value `v` that
/// `schema` accepts, the returned schema accepts `v`, `{value: v}` and `{default: v}`.
fn plain_or_declared(schema: &Value) -> Value {
    let mut value = schema.clone();
    let about = value.as_object_mut().and_then(|schema| schema.remove("description"));
    let declared = |key: &str| json!({"type": "object", "required": [key], "properties": {key: value}});
    let mut schema = json!({"anyOf": [value, declared("value"), declared("default")]});
    if let Some(about) = about {
        schema["description"] = about;
    }
    schema
}

fn flag() -> Value {
    json!({
        "description": "`true` or `false`",
        "type": ["boolean", "string", "null"],
        "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo]|[Oo][Nn]|[Oo][Ff][Ff])$",
    })
}

fn count() -> Value {
    json!({
        "description": "a whole number from 0, or a `${property}` with such a value",
        "type": ["integer", "string", "null"],
        "minimum": 0,
        "maximum": u32::MAX,
        "pattern": r"^(\s*\+?[0-9]+\s*|.*\$\{.*)$",
    })
}

fn own_name(kind: &str) -> Value {
    json!({
        "description": format!("its name, such as `{kind}::shop::1.0`; a project file may declare it instead"),
        "type": ["string", "null"],
        "pattern": format!(r"^{kind}::{MIDDLE}::{VERSION}$"),
    })
}

/// The pattern of one word of a name. The word begins with a letter, ends with a letter or digit, and
/// contains no `__`.
const WORD: &str = r"(?![A-Za-z0-9_-]*__)[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?";

/// The pattern of the middle part of a descriptor's name, such as `web` in `resource::web::1.0`. The part has the form
/// of [`WORD`], and at most 50 characters.
const MIDDLE: &str = r"(?![A-Za-z0-9_-]*__)(?![A-Za-z0-9_-]{51})[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?";

/// The pattern of a version: numbers with dots between them, such as `1.0`.
const VERSION: &str = r"[0-9]+(\.[0-9]+)*";
