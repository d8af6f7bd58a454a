//! JSON Schemas of the documents that scripts read and print, for editors and for tests of scripts.
//!
//! The schema of the output follows from the shape of instance documents. The schema of the input contains
//! the keys that the driver writes.

use serde_json::{Value, json};
use windlass_model::Transition;
use windlass_model::instance::shape;
use windlass_update_ops::Operator;

use crate::keys::{
    ARGUMENTS, COMMANDS, CONFIGURATION, INSTANCES, LAUNCH, LAUNCH_INSTANCES, RESULTS, SCRIPT, TRANSITION,
};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The levels of log entries, in any letter case. Other words count as `INFO`.
const SEVERITIES: [&str; 5] = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR"];

/// Returns the schema of the documents that scripts read.
pub fn input() -> Value {
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let of_one = |value: Value| json!({"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": value});
    let transitions = Transition::ALL.map(Transition::as_str);
    json!({
        "$schema": DRAFT,
        "title": "Input of a script",
        "anyOf": [reference("Document"), reference("Adapted")],
        "$defs": {
            "Document": {
                "description": "the input of a script; a discovery has the configuration alone",
                "type": ["object", "null"],
                "properties": {
                    CONFIGURATION: {
                        "description": "values of the location (`location.<name>`), or of the factory by their pins",
                        "$ref": "#/$defs/Values",
                    },
                    LAUNCH: {"description": "instances to launch, by instance ids", "$ref": "#/$defs/Launch"},
                    LAUNCH_INSTANCES: {
                        "description": "the former name of `launch`, for old scripts",
                        "$ref": "#/$defs/Launch",
                    },
                    INSTANCES: {
                        "description": "existing instances, by natural ids",
                        "type": ["object", "null"],
                        "additionalProperties": reference("Instance"),
                    },
                    TRANSITION: {"description": "the transition of a step", "enum": transitions},
                },
                "additionalProperties": false,
                "not": {
                    "type": "object",
                    "required": [INSTANCES],
                    "anyOf": [{"required": [LAUNCH]}, {"required": [LAUNCH_INSTANCES]}],
                },
            },
            "Adapted": {
                "description": "a request to the adapter `/invoke.py`: a program, and the input that it reads",
                "type": "object",
                "required": [SCRIPT],
                "properties": {SCRIPT: {"type": "string"}, ARGUMENTS: reference("Document")},
                "additionalProperties": false,
            },
            "Values": {"type": ["object", "null"]},
            "Launch": {
                "type": ["object", "null"],
                "additionalProperties": {
                    "type": ["object", "null"],
                    "properties": {CONFIGURATION: reference("Values")},
                    "additionalProperties": false,
                },
            },
            "Instance": {
                "type": ["object", "null"],
                "properties": {
                    CONFIGURATION: {
                        "description": "properties (`properties.<name>`), or values of pins by their ids",
                        "$ref": "#/$defs/Values",
                    },
                    COMMANDS: {
                        "description": "commands by their ids: an interface with a pin and its arguments",
                        "type": ["object", "null"],
                        "additionalProperties": of_one(of_one(reference("Values"))),
                    },
                },
                "additionalProperties": false,
            },
        },
    })
}

/// Returns the schema of the documents that scripts print.
pub fn output() -> Value {
    let mut schema = shape().wire_schema();
    let entries =
        |entry: &str| json!({"anyOf": [{"type": "array", "items": {"$ref": entry}}, {"$ref": entry}]});
    let appends = &mut schema.update["properties"][Operator::PushAll.name()]["patternProperties"];
    for (pattern, operand) in appends.as_object_mut().into_iter().flatten() {
        let entry = if pattern.contains(COMMANDS) { "#/$defs/Result" } else { "#/$defs/LogEntry" };
        *operand = entries(entry);
    }
    let mut definitions = schema.definitions;
    definitions.insert("Update".to_owned(), schema.update);
    definitions.insert(
        "Document".to_owned(),
        json!({
            "description": "updates by the natural ids of their instances; nothing changes without any",
            "type": ["object", "null"],
            "properties": {
                INSTANCES: {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/Update"}},
            },
            "additionalProperties": false,
        }),
    );
    definitions.insert(
        "LogEntry".to_owned(),
        json!({
            "description": "an entry of the activity log",
            "type": "object",
            "required": ["message"],
            "properties": {
                "severity": {"description": "INFO if absent or unknown", "examples": SEVERITIES},
                "message": {"type": "string"},
                "data": {"description": "further data for programs"},
            },
        }),
    );
    definitions.insert(
        "Result".to_owned(),
        json!({
            "description": "a result of a command; with `$intermediate: true` it is progress",
            "type": "object",
        }),
    );
    let adapted = json!({
        "description": "the output of the adapter `/invoke.py`",
        "type": "object",
        "required": [RESULTS],
        "properties": {RESULTS: {"$ref": "#/$defs/Document"}},
        "additionalProperties": false,
    });
    json!({
        "$schema": DRAFT,
        "title": "Output of a script",
        "anyOf": [{"$ref": "#/$defs/Document"}, adapted],
        "$defs": definitions,
    })
}
