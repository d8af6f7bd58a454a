//! The JSON Schema of updates in their wire form.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::node::{Node, Sort};
use crate::operator::Operator;
use crate::shape::Shape;

/// The pattern of one key of a path, with escaped dots and backslashes.
const KEY: &str = r"(?:[^.\\]|\\[.\\])+";

/// The JSON Schema of updates of one shape, in draft 2020-12.
///
/// The schema permits the paths, the operators and the sorts of values that
/// [`Update::parse`](crate::Update::parse) permits. The schema does not check conflicts between paths, and
/// does not apply the tests of values. So parsing refuses some updates that the schema permits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WireSchema {
    /// The schema of an update.
    pub update: Value,
    /// The schemas of nodes that contain themselves, by their names. [`update`](Self::update) refers to these schemas.
    /// The document that contains `update` must have these schemas under its key `$defs`.
    pub definitions: Map<String, Value>,
}

impl Shape {
    /// Returns the JSON Schema of updates of this shape, and the definitions to which the schema refers.
    ///
    /// ```
    /// use serde_json::json;
    /// use windlass_update_ops::{Node, Operator, Shape};
    ///
    /// let log = Node::list().deny(Operator::Set, "use `$pushAll`").deny(Operator::Unset, "it only grows");
    /// let schema = Shape::new([("level", Node::number()), ("log", log)]).wire_schema().update;
    /// assert_eq!(schema["properties"]["level"], json!({"type": ["number", "null"]}));
    /// assert_eq!(
    ///     schema["properties"]["$pushAll"]["patternProperties"],
    ///     json!({"^log$": {"type": ["array", "object"]}}),
    /// );
    /// ```
    pub fn wire_schema(&self) -> WireSchema {
        let Sort::Record(fields) = &self.root.sort else {
            // The shape has no fixed fields. For example, it is an untyped shape.
            let update = json!({"type": ["object", "null"]});
            return WireSchema { update, definitions: Map::new() };
        };
        let mut writer = Writer { trusting: self.trusting, names: Vec::new(), definitions: Map::new() };
        let mut properties = writer.fields(fields);
        for operator in Operator::ALL {
            let mut paths = Map::new();
            writer.paths(operator, &self.root, ("", ""), &mut paths);
            let operand = json!({
                "type": ["object", "null"],
                "patternProperties": paths,
                "additionalProperties": false,
            });
            properties.insert(operator.name().to_owned(), operand);
        }
        let update = json!({
            "type": ["object", "null"],
            "properties": properties,
            "additionalProperties": false,
        });
        WireSchema { update, definitions: writer.definitions }
    }
}

struct Writer {
    trusting: bool,
    /// For each node that contains itself, the name of the node's definition in `definitions`. The name is recorded
    /// before the definition is created, because the definition refers to itself by this name.
    names: Vec<(*const Node, String)>,
    definitions: Map<String, Value>,
}

impl Writer {
    fn permits(&self, operator: Operator, node: &Node) -> bool {
        self.trusting && operator != Operator::PushAll || node.denial(operator).is_none()
    }

    /// Returns the schemas of those fields of a record that an update may replace.
    fn fields(&mut self, fields: &BTreeMap<String, Arc<Node>>) -> Map<String, Value> {
        let mut schemas = Map::new();
        for (name, node) in fields {
            if self.permits(Operator::Set, node) {
                schemas.insert(name.clone(), self.value(node, name));
            }
        }
        schemas
    }

    /// Returns the JSON Schema for the values of a node. If the node contains itself, the schema is a reference to
    /// a shared definition. `field` is the name of the nearest field that contains the node. A new definition is
    /// named after this field.
    fn value(&mut self, node: &Arc<Node>, field: &str) -> Value {
        let Some(target) = node.recursion() else { return self.value_of(node, field) };
        let known = self.names.iter().find(|(known, _)| *known == Arc::as_ptr(&target));
        let known = known.map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| self.define(&target, field));
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// Adds a definition for a node that contains itself. Returns the name of the definition. The name is `field`.
    /// If a definition with the name `field` exists already, a number is appended to the name.
    fn define(&mut self, node: &Arc<Node>, field: &str) -> String {
        let is_taken = self.definitions.contains_key(field);
        let name = if is_taken { format!("{field}{}", self.names.len() + 1) } else { field.to_owned() };
        // The name is recorded first, because the definition refers to itself by this name.
        self.names.push((Arc::as_ptr(node), name.clone()));
        let schema = self.value_of(node, field);
        self.definitions.insert(name.clone(), schema);
        name
    }

    fn value_of(&mut self, node: &Node, field: &str) -> Value {
        match &node.sort {
            Sort::Record(fields) => {
                let required: Vec<&String> =
                    fields.iter().filter(|(_, node)| node.required).map(|(name, _)| name).collect();
                let properties = self.fields(fields);
                let mut schema = json!({
                    "type": self.sort(node, "object"),
                    "properties": properties,
                    "additionalProperties": false,
                });
                if !required.is_empty() && !self.trusting {
                    schema["required"] = json!(required);
                }
                schema
            }
            Sort::Map(keys, entry) => {
                let entries = self.value(entry, field);
                let mut schema = json!({"type": self.sort(node, "object"), "additionalProperties": entries});
                let names: Vec<&str> = keys.names().collect();
                if !names.is_empty() {
                    schema["propertyNames"] = json!({ "enum": names });
                }
                schema
            }
            Sort::List => json!({"type": self.sort(node, "array")}),
            Sort::Bool => self.leaf(node, "boolean"),
            Sort::Text => self.leaf(node, "string"),
            Sort::Number => self.leaf(node, "number"),
            Sort::Opaque | Sort::Any | Sort::Again(_) => json!({}),
        }
    }

    /// Returns the value of the keyword `type` in the JSON Schema of a node. `name` is the type of the node's values,
    /// such as `object`. If an update may remove the value, the type `null` is also permitted.
    fn sort(&self, node: &Node, name: &str) -> Value {
        if self.permits(Operator::Unset, node) { json!([name, "null"]) } else { json!(name) }
    }

    fn leaf(&self, node: &Node, name: &str) -> Value {
        let schema = json!({ "type": self.sort(node, name) });
        if node.spellings.is_empty() || self.trusting {
            return schema;
        }
        let spellings: Vec<&String> = node.spellings.iter().map(|(spelling, _)| spelling).collect();
        json!({"anyOf": [schema, {"enum": spellings}]})
    }

    /// Adds an entry to `found` for each node to which an update may apply `operator`. The method examines `node`
    /// and all nodes below `node`. The key of the entry is a regular expression that matches the path of the node.
    /// The value is the JSON Schema of the operand. The root of all nodes gets no entry, because the root has no
    /// path.
    ///
    /// `path` is the regular expression that matches the path of `node`. `field` is the name of the field that
    /// contains `node`. If `node` is an entry of a map, `field` is the name of the field that contains the map.
    fn paths(
        &mut self,
        operator: Operator,
        node: &Arc<Node>,
        (path, field): (&str, &str),
        found: &mut Map<String, Value>,
    ) {
        let mut path = path.to_owned();
        if let Some(target) = node.recursion() {
            let mut again = Vec::new();
            repeats(node, &target, "", &mut again);
            path = format!("{path}(?:{})*", again.join("|"));
        }
        if !path.is_empty() && self.permits(operator, node) {
            let operand = match operator {
                Operator::Set => self.value(node, field),
                Operator::Unset => json!({}),
                Operator::PushAll => json!({"type": ["array", "object"]}),
            };
            found.insert(format!("^{path}$"), operand);
        }
        for Step { pattern, field: own, node } in steps(node) {
            let dot = if path.is_empty() { "" } else { r"\." };
            let below = format!("{path}{dot}{pattern}");
            self.paths(operator, node, (&below, own.unwrap_or(field)), found);
        }
    }
}

/// A step from a node to one of its child nodes. A record has one child for each field. A map has one child for all
/// its entries.
struct Step<'n> {
    /// Regular expression that matches the field's name, or every key that the map permits.
    pattern: String,
    /// Name of the field, if the parent is a record. `None` if the parent is a map.
    field: Option<&'n str>,
    /// The child node.
    node: &'n Arc<Node>,
}

/// Returns the steps from a node to its children, except steps to placeholders of [`Node::recursive`]. A placeholder
/// leads back to an enclosing node.
fn steps(node: &Node) -> Vec<Step<'_>> {
    let all: Vec<Step<'_>> = all_steps(node);
    all.into_iter().filter(|step| !matches!(step.node.sort, Sort::Again(_))).collect()
}

fn all_steps(node: &Node) -> Vec<Step<'_>> {
    match &node.sort {
        Sort::Record(fields) => fields
            .iter()
            .map(|(name, node)| Step { pattern: literal(name), field: Some(name), node })
            .collect(),
        Sort::Map(keys, entry) => {
            let names: Vec<String> = keys.names().map(literal).collect();
            let pattern = if names.is_empty() { KEY.to_owned() } else { format!("(?:{})", names.join("|")) };
            vec![Step { pattern, field: None, node: entry }]
        }
        _ => Vec::new(),
    }
}

/// Finds all placeholders for the node `target`. A placeholder stands for `target` at each place where `target`
/// contains itself. The function searches the nodes below `node`, which is `target` or a node below `target`.
///
/// For each placeholder, the function adds a regular expression to `found`. The expression matches the path from
/// `target` to the placeholder. The parameter `path` is the expression for the path from `target` to `node`.
///
/// For example, `target` describes the nodes of a binary tree. The fields `left` and `right` of `target` contain
/// placeholders for `target`. The expressions are then `\.left` and `\.right`.
fn repeats(node: &Node, target: &Arc<Node>, path: &str, found: &mut Vec<String>) {
    for Step { pattern, node, .. } in all_steps(node) {
        let path = format!(r"{path}\.{pattern}");
        match &node.sort {
            Sort::Again(again) if again.as_ptr() == Arc::as_ptr(target) => found.push(path),
            Sort::Again(_) => {}
            _ => repeats(node, target, &path, found),
        }
    }
}

/// Returns the pattern that matches only the key `key`, as it is written in a path. In a path, a backslash escapes each
/// dot and each backslash of a key.
fn literal(key: &str) -> String {
    let mut pattern = String::new();
    for c in key.chars() {
        match c {
            '.' => pattern.push_str(r"\\\."),
            '\\' => pattern.push_str(r"\\\\"),
            c if "^$*+?()[]{}|/".contains(c) => pattern.extend(['\\', c]),
            c => pattern.push(c),
        }
    }
    pattern
}
