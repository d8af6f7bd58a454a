//! JSON Schemas of assembly and resource descriptors, for editors and for other tools.
//!
//! A schema is a first check: it knows keys, sorts of values and the form of names. Everything that it
//! refuses, the check refuses too. Only the check knows whether a `${…}` has a meaning or a descriptor
//! exists. The schema is as tolerant as the reader, which only warns of some unknown keys.
//!
//! The schemas are generated from the reader's own tables of keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::keys::{self, Body, Form, Key, Section};

/// Returns the schema of assembly descriptors, of the draft 2020-12.
pub fn assembly() -> Value {
    root(&keys::ASSEMBLY, "Assembly descriptor", &DriverProperties::new())
}

/// The schemas of driver properties, by driver. A value that a property may have can also be declared as
/// `{value: …}` or `{default: …}`.
pub type DriverProperties = BTreeMap<String, Map<String, Value>>;

/// Returns the schema of resource descriptors, of the draft 2020-12. It describes the properties of these drivers,
/// and permits those of others.
pub fn resource(drivers: &DriverProperties) -> Value {
    root(&keys::RESOURCE, "Resource descriptor", drivers)
}

fn root(section: &'static Section, title: &str, drivers: &DriverProperties) -> Value {
    let mut definitions = Definitions { drivers, schemas: Map::new() };
    let mut schema = definitions.section(section);
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), title.into());
    schema.insert("$defs".to_owned(), definitions.schemas.into());
    schema.into()
}

/// The definitions of a schema.
struct Definitions<'d> {
    drivers: &'d DriverProperties,
    /// The definitions by name.
    schemas: Map<String, Value>,
}

impl Definitions<'_> {
    /// Returns a reference to a definition, which `make` creates on first use.
    fn refer(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.schemas.contains_key(name) {
            // The entry ends the recursion of sections that contain themselves.
            self.schemas.insert(name.to_owned(), Value::Null);
            let definition = make(self);
            self.schemas.insert(name.to_owned(), definition);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    fn section(&mut self, section: &'static Section) -> Map<String, Value> {
        let mut schema = Map::new();
        match section.body {
            Body::Mapping => drop(schema.insert("type".to_owned(), "object".into())),
            Body::OrNull => drop(schema.insert("type".to_owned(), json!(["object", "null"]))),
            Body::Anything => {}
        }
        let required: Vec<&str> =
            section.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        let properties = section.keys.iter().map(|key| (key.name.to_owned(), self.key(key)));
        schema.insert("properties".to_owned(), properties.collect::<Map<_, _>>().into());
        schema.insert("description".to_owned(), section.about.into());
        schema
    }

    fn key(&mut self, key: &Key) -> Value {
        let mut schema = self.form(key.form);
        if !key.is_required && schema.get("$ref").is_some() {
            schema = or_null(&schema);
        }
        schema["description"] = key.about.into();
        schema
    }

    fn part(&mut self, section: &'static Section) -> Value {
        self.refer(section.name, |definitions| definitions.section(section).into())
    }

    fn form(&mut self, form: Form) -> Value {
        match form {
            Form::Anything => json!({}),
            Form::Named => by_name(&Value::Bool(true)),
            Form::Text => self.text(),
            Form::Flag => self.refer("Flag", |_| flag()),
            Form::Count => self.refer("Count", |_| count()),
            Form::AssemblyName => self.refer("OwnName", |_| own_name("assembly")),
            Form::ResourceName => self.refer("OwnName", |_| own_name("resource")),
            Form::DescriptorName => self.refer("DescriptorName", |_| {
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
                self.refer("Endpoints", |_| json!({"type": ["array", "string"], "items": {"type": "string"}}))
            }
            Form::State => self
                .refer("State", |_| json!({"type": "string", "enum": ["Installed", "Inactive", "Active"]})),
            Form::Modifier => self.refer("Modifier", |_| json!({"enum": ["pre", "post", null]})),
            Form::Operations => json!({"type": ["array", "null"], "items": self.text()}),
            Form::Infrastructure => self.refer("Infrastructure", |definitions| {
                json!({"anyOf": [definitions.text(), {"type": "array", "items": {"type": "string"}}]})
            }),
            Form::Transitions(section) => self.refer("Lifecycle", |definitions| {
                json!({
                    "description": "Create, Install, Configure, Start, Integrity, Reconfigure, Stop, Uninstall, Delete",
                    "type": ["array", "object", "null"],
                    "items": {"type": ["string", "null"]},
                    "additionalProperties": or_null(&definitions.part(section)),
                })
            }),
            Form::Drivers(section) => self.refer("Drivers", |definitions| definitions.drivers(section)),
            Form::One(section) => self.part(section),
            Form::ByName(section) => by_name(&self.part(section)),
            Form::ByNameOrNull(section) => by_name(&or_null(&self.part(section))),
        }
    }

    /// Returns the schema of a mapping of drivers.
    fn drivers(&mut self, section: &'static Section) -> Value {
        let driver = self.part(section);
        let known = self.drivers.iter().map(|(name, properties)| {
            let properties: Map<String, Value> =
                properties.iter().map(|(name, schema)| (name.clone(), plain_or_declared(schema))).collect();
            let properties = json!({"properties": {"properties": {"properties": properties}}});
            (name.clone(), json!({"allOf": [driver, properties]}))
        });
        let known: Map<String, Value> = known.collect();
        json!({"type": ["object", "null"], "properties": known, "additionalProperties": driver})
    }

    /// Returns the schema of text. A scalar keeps its spelling, also if another reader takes it for a number.
    fn text(&mut self) -> Value {
        self.refer("Text", |_| json!({"type": ["string", "number", "boolean", "null"]}))
    }
}

/// Returns the schema of a driver property: a value, or its declaration in the form of other properties.
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

fn or_null(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// Returns the schema of a section that may be left empty, whose keys are names.
fn by_name(value: &Value) -> Value {
    json!({"type": ["object", "null"], "additionalProperties": value})
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

/// The form of one word of a name: a letter first, a letter or digit last, no `__`.
const WORD: &str = r"(?!\w*__)[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?";

/// The form of the middle part of a descriptor's name.
const MIDDLE: &str = r"(?![A-Za-z0-9_-]*__)(?![A-Za-z0-9_-]{51})[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?";

/// The form of a version.
const VERSION: &str = r"[0-9]+(\.[0-9]+)*";
