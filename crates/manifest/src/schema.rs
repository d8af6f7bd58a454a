//! JSON Schemas of manifests and of environment files, for editors and for other tools.
//!
//! A schema describes keys, kinds of values and the form of names. It does not describe the pins of a
//! manifest; only [`check`](crate::check()) knows them. The schema permits keys for which the check only
//! warns.

use serde_json::{Value, json};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The pattern of the name of a component, interface, pin or property.
const NAME: &str = "^[A-Za-z0-9_-]+$";

/// The pattern of the id of a pin, such as `compute.ip`.
const PIN_ID: &str = r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$";

/// Returns the schema of application manifests, by the draft 2020-12 of JSON Schema.
pub fn manifest() -> Value {
    let values = json!({
        "description": "values of pins, by their ids",
        "type": ["object", "null"],
        "propertyNames": {"pattern": PIN_ID},
    });
    let presentation = json!({
        "name": {"description": "a label for people", "type": ["string", "number", "boolean", "null"]},
        "suggestions": {"description": "suggested values, by their labels", "type": ["object", "null"]},
        "default": {"description": "the value that counts if none is given"},
    });
    let parameters = json!({
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME},
        "additionalProperties": {"type": ["object", "null"], "properties": presentation},
    });
    let bind = json!({"type": "string", "pattern": r"^\s*bind\s*\("});
    let kind = json!({
        "description": "the kind of the pin with its type, such as `publish-signal(string)`",
        "type": "string",
        "pattern": r"^\s*(configuration|publish-signal|consume-signal|receive-command|send-command)\s*\(",
    });
    json!({
        "$schema": DRAFT,
        "title": "Application manifest",
        "type": "object",
        "required": ["application"],
        "properties": {"application": {"$ref": "#/$defs/Composite"}},
        "$defs": {
            "Values": values,
            "Composite": {
                "description": "a composition of components, which exposes some of their pins",
                "type": "object",
                "required": ["components"],
                "properties": {
                    "type": {"type": "string"},
                    "configuration": {"$ref": "#/$defs/Values"},
                    "interfaces": interfaces(&json!({"anyOf": [
                        bind,
                        {"type": "object", "required": ["type"], "properties": {"type": bind}},
                    ]})),
                    "components": {
                        "type": "object",
                        "propertyNames": {"pattern": NAME},
                        "additionalProperties": {"anyOf": [
                            {"$ref": "#/$defs/Leaf"},
                            {"$ref": "#/$defs/Composite"},
                        ]},
                    },
                    "bindings": {
                        "description": "pairs of components, or of their interfaces, that are connected",
                        "type": ["array", "null"],
                        "items": {
                            "type": "array",
                            "minItems": 2,
                            "maxItems": 2,
                            "items": {"type": "string"},
                        },
                    },
                },
            },
            "Leaf": {
                "description": "a component with pins of its own",
                "type": "object",
                "required": ["type"],
                "not": {"required": ["components"]},
                "properties": {
                    "type": {
                        "type": "string",
                        "examples": ["scripted.Component", "scripted.ComponentFactory", "reference.Service"],
                    },
                    "configuration": {"$ref": "#/$defs/Values"},
                    "interfaces": interfaces(&json!({"anyOf": [
                        kind,
                        {
                            "type": "object",
                            "required": ["type"],
                            "properties": {
                                "type": kind,
                                "name": presentation["name"],
                                "suggestions": presentation["suggestions"],
                                "arguments": parameters,
                                "results": parameters,
                                "sensitive": flag("whether the value of a configuration pin is a secret"),
                            },
                        },
                    ]})),
                    "required": {
                        "description": "interfaces that must be connected before the component starts",
                        "type": ["array", "null"],
                        "items": {"type": "string", "pattern": NAME},
                    },
                },
            },
        },
    })
}

/// Returns the schema of environment files, by the draft 2020-12 of JSON Schema.
pub fn environment() -> Value {
    let property = json!({
        "type": {"description": "a type, as in a manifest", "type": "string"},
        "value": {"description": "the value, which has the type"},
        "secret": flag("whether the value is sealed, and never shown"),
    });
    let mut named = property.clone();
    named["name"] = json!({"type": "string", "pattern": NAME});
    let marker = json!({"type": ["string", "number", "boolean"]});
    json!({
        "$schema": DRAFT,
        "title": "Environment",
        "type": ["object", "null"],
        "properties": {
            "markers": {
                "type": ["array", "null"],
                "items": {"anyOf": [
                    marker,
                    {"type": "object", "required": ["name"], "properties": {"name": marker}},
                ]},
            },
            "properties": {"anyOf": [
                {
                    "type": ["object", "null"],
                    "propertyNames": {"pattern": NAME},
                    "additionalProperties": {
                        "type": "object",
                        "required": ["value"],
                        "properties": property,
                        "additionalProperties": true,
                    },
                },
                {
                    "type": "array",
                    "items": {"type": "object", "required": ["name", "value"], "properties": named},
                },
            ]},
        },
    })
}

/// Returns the schema of interfaces whose pins match the schema `pin`.
fn interfaces(pin: &Value) -> Value {
    json!({
        "description": "interfaces with their pins",
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME},
        "additionalProperties": {"type": ["object", "null"], "additionalProperties": pin},
    })
}

fn flag(description: &str) -> Value {
    json!({
        "description": description,
        "anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^(?i:true|false|yes|no|on|off)$"}],
    })
}
