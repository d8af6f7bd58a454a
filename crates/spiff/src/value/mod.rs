//! The data model: a [`Node`] is a [`Value`] with its [`Annotations`] and the name of the document it is from.
//!
//! Nodes are shared, never changed: a clone copies a pointer, and what looks like a change makes a new node. That
//! is why two results of the same list can't influence each other.

mod annotations;
mod equality;
mod node;
pub mod number;
mod truth;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use annotations::{Annotations, Flags, Issue, Redirect};
pub use equality::{NotComparable, equals};
pub use node::Node;

/// The entries of a map, in byte order of the keys: the order of every traversal and of what is written.
pub type Map = BTreeMap<Arc<str>, Node>;

/// A value of a document, or of an expression in the course of being evaluated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Value {
    /// `~~`: nothing at all; a field of this value is removed.
    Undefined,
    /// `~`
    #[default]
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating point number; not equal to the integer of the same size.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Bytes: what `!!binary` gives, and nothing else.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<Vec<Node>>),
    /// A map.
    Map(Arc<Map>),
    /// A function made by an expression (`|x|->x + 1`).
    Lambda(Arc<dyn Callable>),
    /// A template: the result of `&template`.
    Template(Arc<dyn TemplateValue>),
    /// An expression that has been parsed and not been evaluated.
    Expression(Arc<dyn Pending>),
}

/// A lambda value, as far as those need to know it who don't call it.
///
/// It is called by [`Host::call`](crate::functions::Host::call).
pub trait Callable: std::any::Any + std::fmt::Debug + Send + Sync {
    /// The text it is printed as, with its static bindings: `{x: 1}lambda|y|->x + y`.
    fn text(&self) -> String;
    /// The text it is written to a document as, without static bindings.
    fn source(&self) -> String {
        self.text()
    }
    /// The number of its parameters.
    fn parameters(&self) -> usize;
    /// Whether it is the same by its syntax.
    fn equivalent(&self, other: &dyn Callable) -> bool;
    /// For the evaluator, which knows what is inside.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A template value, as far as those need to know it who don't instantiate it.
pub trait TemplateValue: std::any::Any + std::fmt::Debug + Send + Sync {
    /// The content as it stands in the document: what is written, and what decides equality.
    fn original(&self) -> &Node;
    /// For the evaluator, which knows what is inside.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A parsed expression, as far as those need to know it who don't evaluate it.
pub trait Pending: std::any::Any + std::fmt::Debug + Send + Sync {
    /// The text it is printed as, without `((` and `))`.
    fn text(&self) -> String;
    /// Whether it is the same by its syntax.
    fn equivalent(&self, other: &dyn Pending) -> bool;
    /// For the evaluator, which knows what is inside.
    fn as_any(&self) -> &dyn std::any::Any;
}

impl Value {
    /// Text.
    pub fn string(text: impl AsRef<str>) -> Self {
        Self::String(Arc::from(text.as_ref()))
    }

    /// A list of values without annotations.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::nodes(items.into_iter().map(Node::from))
    }

    /// A list of nodes.
    pub fn nodes(items: impl IntoIterator<Item = Node>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// A map of values without annotations.
    pub fn map<K: AsRef<str>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(Arc::new(
            entries.into_iter().map(|(k, v)| (Arc::from(k.as_ref()), Node::from(v))).collect(),
        ))
    }

    /// The name of the type, as the function `type` gives it.
    ///
    /// ```
    /// use windlass_spiff::value::Value;
    ///
    /// assert_eq!(Value::Float(1.0).type_name(), "float");
    /// assert_eq!(Value::Null.type_name(), "nil");
    /// ```
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Undefined => "undef",
            Self::Null => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::String(_) => "string",
            Self::Bytes(_) => "binary",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Lambda(_) => "lambda",
            Self::Template(_) => "template",
            Self::Expression(_) => "expression",
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The integer.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The entries of a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
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
