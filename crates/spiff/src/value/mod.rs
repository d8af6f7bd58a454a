//! The data model: a [`Node`] is a [`Value`] with its [`Annotations`] and the name of its document.
//!
//! Nodes are shared and immutable: a clone copies a pointer, and every change creates a new node. So two
//! results that contain the same list can't affect each other.

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

/// The entries of a map, sorted by the bytes of the keys, which is the order of every traversal and of the
/// output.
pub type Map = BTreeMap<Arc<str>, Node>;

/// A value of a document, or of an expression that is being evaluated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Value {
    /// `~~`: no value; a field with this value is removed.
    Undefined,
    /// `~`
    #[default]
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating point number; it does not equal an integer of the same value.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Bytes, which only `!!binary` produces.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<Vec<Node>>),
    /// A map.
    Map(Arc<Map>),
    /// A function created by an expression (`|x|->x + 1`).
    Lambda(Arc<dyn Callable>),
    /// A template: the result of `&template`.
    Template(Arc<dyn TemplateValue>),
    /// A parsed expression that is not evaluated yet.
    Expression(Arc<dyn Pending>),
}

/// The interface of a lambda value for code that doesn't call it.
///
/// [`Host::call`](crate::functions::Host::call) calls it.
pub trait Callable: std::any::Any + std::fmt::Debug + Send + Sync {
    /// Returns the printed text, with its static bindings: `{x: 1}lambda|y|->x + y`.
    fn text(&self) -> String;
    /// Returns the text for documents, without static bindings.
    fn source(&self) -> String {
        self.text()
    }
    /// Returns the number of parameters.
    fn parameters(&self) -> usize;
    /// Tells whether the syntax is the same.
    fn equivalent(&self, other: &dyn Callable) -> bool;
    /// Returns itself for a downcast by the evaluator.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// The interface of a template value for code that doesn't instantiate it.
pub trait TemplateValue: std::any::Any + std::fmt::Debug + Send + Sync {
    /// Returns the content in its original form, which is written and compared.
    fn original(&self) -> &Node;
    /// Returns itself for a downcast by the evaluator.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// The interface of a parsed expression for code that doesn't evaluate it.
pub trait Pending: std::any::Any + std::fmt::Debug + Send + Sync {
    /// Returns the printed text, without `((` and `))`.
    fn text(&self) -> String;
    /// Tells whether the syntax is the same.
    fn equivalent(&self, other: &dyn Pending) -> bool;
    /// Returns itself for a downcast by the evaluator.
    fn as_any(&self) -> &dyn std::any::Any;
}

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

    /// Returns the name of the type, as the function `type` does.
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

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the integer.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// Returns the entries of a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a map.
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
