//! Creates values and nodes.

use std::sync::Arc;

use super::node::{Map, Node, Value};

impl Value {
    /// Creates a text value.
    pub fn string(text: impl AsRef<str>) -> Self {
        Self::String(Arc::from(text.as_ref()))
    }

    /// Creates a list of values without annotations.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::nodes(items.into_iter().map(Node::from))
    }

    /// Creates a list of nodes.
    pub fn nodes(items: impl IntoIterator<Item = Node>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// Creates a map of values without annotations.
    pub fn map<K: AsRef<str>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(Arc::new(
            entries.into_iter().map(|(k, v)| (Arc::from(k.as_ref()), Node::from(v))).collect(),
        ))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::string(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(Arc::new(map))
    }
}

impl From<Vec<Node>> for Value {
    fn from(items: Vec<Node>) -> Self {
        Self::List(Arc::new(items))
    }
}
