//! Nodes, their values and their annotations. The three types refer to each other.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use super::flags::Flags;
use super::issue::Issue;
use crate::path::Path;

/// The entries of a map, sorted by the bytes of the keys. Every traversal and the output have this order.
pub type Map = BTreeMap<Arc<str>, Node>;

/// A value of a document, or a value during the evaluation of an expression.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Value {
    /// The undefined value `~~`. A field with this value is removed.
    Undefined,
    /// The null value `~`.
    #[default]
    Null,
    /// A boolean: `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating point number. It does not equal an integer of the same value.
    Float(f64),
    /// A text.
    String(Arc<str>),
    /// Bytes. The tag `!!binary` of a YAML document is their only source.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<Vec<Node>>),
    /// A map.
    Map(Arc<Map>),
    /// A lambda: a function that an expression creates, such as `|x|->x + 1`.
    Lambda(Arc<dyn Callable>),
    /// A template: the result of `&template`.
    Template(Arc<dyn TemplateValue>),
    /// A parsed expression that is not evaluated yet.
    Expression(Arc<dyn Pending>),
}

/// A lambda. The evaluator of expressions implements this trait. Other code uses lambdas through this trait.
///
/// The trait contains no method that calls the lambda. Use [`Host::call`](crate::functions::Host::call) instead.
pub trait Callable: Any + Debug + Send + Sync {
    /// Returns the text of the lambda with the values that it has captured, such as `{x: 1}lambda|y|->x + y`.
    fn text(&self) -> String;
    /// Returns the text of the lambda for YAML and JSON output, such as `lambda|y|->x + y`. In contrast to
    /// [`text`](Self::text), this text does not contain the captured values.
    fn source(&self) -> String {
        self.text()
    }
    /// Returns the number of parameters.
    fn parameters(&self) -> usize;
    /// Tells whether two lambdas have the same syntax.
    fn equivalent(&self, other: &dyn Callable) -> bool;
    /// Returns `self` as `Any`, so that the evaluator can downcast it.
    fn as_any(&self) -> &dyn Any;
}

/// A template. The evaluator of expressions implements this trait. Other code uses templates through this trait.
pub trait TemplateValue: Any + Debug + Send + Sync {
    /// Returns the content in its original form. This form is written to documents, and compared by `==`.
    fn original(&self) -> &Node;
    /// Returns `self` as `Any`, so that the evaluator can downcast it.
    fn as_any(&self) -> &dyn Any;
}

/// A parsed expression that is not evaluated yet. The evaluator of expressions implements this trait. Other code uses
/// such expressions through this trait.
pub trait Pending: Any + Debug + Send + Sync {
    /// Returns the text of the expression, without `((` and `))`.
    fn text(&self) -> String;
    /// Tells whether two expressions have the same syntax.
    fn equivalent(&self, other: &dyn Pending) -> bool;
    /// Returns `self` as `Any`, so that the evaluator can downcast it.
    fn as_any(&self) -> &dyn Any;
}

impl Value {
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

    /// Returns the integer, if the value is one.
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

/// Stubs supply values for the fields of a node. A redirect is the path of these values in each stub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Redirect {
    /// The node has no redirect of its own. A redirect of an enclosing node applies to this node, too. For example,
    /// if `a` is redirected to `x`, the values for the fields of `a.b` are at `x.b` in the stubs. Without such a
    /// redirect, the path in the stubs is the path of the node in the document.
    #[default]
    None,
    /// The stubs supply no values for the nodes below this node.
    Nowhere,
    /// This path, from the root of each stub.
    To(Path),
}

/// Information about a node, for the processing of its document. The engine drops the annotations of all nodes
/// before it writes the document.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a node")]
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// The markers of the node.
    pub flags: Flags,
    /// Path at which the stubs contain the values for the fields of the node.
    pub redirect: Redirect,
    /// Whether the value is the result of `merge replace`. The engine does not process such a value further.
    pub replace: bool,
    /// Whether a merge expression has taken the value from a stub. If so, the value is final: the engine does not
    /// replace this value by a value from a stub.
    pub merged: bool,
    /// Whether the expression of the node begins with `prefer`.
    pub preferred: bool,
    /// Name of the key field, if the value is a list with a declared key field. For example, the key `key:id` in an
    /// entry declares the key field `id`.
    pub key_name: Option<Arc<str>>,
    /// Name of the tag that the marker `&tag:` declares. A leading `*` makes the tag global.
    pub tag: Option<Arc<str>>,
    /// Whether the value is `~~`. A node with this value is removed from its map or list.
    pub undefined: bool,
    /// Whether the node has a problem of its own. A problem of another node, on which the node depends, does
    /// not count.
    pub error: bool,
    /// For an expression: whether it waits for another node that has a problem. For any other node: whether this node
    /// has a problem of its own, such as a map with two merge keys. A node with such a problem also has
    /// [`error`](Self::error) set.
    pub failed: bool,
    /// Problem of the node, if it has one.
    pub issue: Option<Arc<Issue>>,
    /// Template that created the value of a `&dynamic` node. If a document takes the node from a stub, the engine
    /// creates a new value from this template for the document.
    pub template: Option<Arc<dyn TemplateValue>>,
}

impl Annotations {
    /// The annotations of a plain node.
    pub const NONE: Self = Self {
        flags: Flags::NONE,
        redirect: Redirect::None,
        replace: false,
        merged: false,
        preferred: false,
        key_name: None,
        tag: None,
        undefined: false,
        error: false,
        failed: false,
        issue: None,
        template: None,
    };
}

/// A [`Value`], its [`Annotations`], and the name of its document.
#[derive(Clone, Debug, Default)]
pub struct Node {
    value: Value,
    /// The annotations of the node; `None` if there are none. They are stored behind a pointer, because annotations
    /// are rare: most nodes are plain data.
    annotations: Option<Arc<Annotations>>,
    source: Option<Arc<str>>,
}

impl Node {
    /// Creates a node without annotations.
    pub fn new(value: impl Into<Value>) -> Self {
        Self { value: value.into(), annotations: None, source: None }
    }

    /// Returns the value of the node.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Converts the node into its value.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns the annotations of the node.
    pub fn annotations(&self) -> &Annotations {
        static NONE: Annotations = Annotations::NONE;
        self.annotations.as_deref().unwrap_or(&NONE)
    }

    /// Returns the annotations in shared form; `None` if there are none.
    pub(crate) fn shared_annotations(&self) -> Option<&Arc<Annotations>> {
        self.annotations.as_ref()
    }

    pub(crate) fn has_annotations(&self) -> bool {
        self.annotations.is_some()
    }

    /// Returns the name of the document that contains the node; empty for the result of an expression.
    pub fn source(&self) -> &str {
        self.source.as_deref().unwrap_or("")
    }

    /// Returns the name of the document that contains the node. Returns `None` for the result of an expression.
    pub fn source_name(&self) -> Option<&Arc<str>> {
        self.source.as_ref()
    }

    /// Returns the node with another value.
    pub fn with_value(&self, value: impl Into<Value>) -> Self {
        Self { value: value.into(), annotations: self.annotations.clone(), source: self.source.clone() }
    }

    /// Returns the node with other annotations.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = (annotations != Annotations::NONE).then(|| Arc::new(annotations));
        self
    }

    /// Returns the node with its annotations changed by `change`.
    pub fn annotate(self, change: impl FnOnce(&mut Annotations)) -> Self {
        let mut annotations = self.annotations().clone();
        change(&mut annotations);
        self.with_annotations(annotations)
    }

    /// Returns the node with another document name.
    pub fn with_source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns a field of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.value.as_map()?.get(key)
    }

    /// Replaces the node at `path`, which leads through maps. If the new node is undefined, removes the old
    /// node.
    pub(crate) fn replace(&mut self, path: &[Arc<str>], node: Self) {
        let (Some((key, rest)), Value::Map(map)) = (path.split_first(), &mut self.value) else { return };
        let map = Arc::make_mut(map);
        if rest.is_empty() && node.annotations().undefined {
            map.remove(key);
        } else if let Some(child) = map.get_mut(key) {
            if rest.is_empty() {
                *child = node;
            } else {
                child.replace(rest, node);
            }
        }
    }

    /// Tells whether two nodes have equal annotations and the same value. Lists and maps are the same if they
    /// have the same address. Scalars are the same if they are equal.
    pub(crate) fn same_place(&self, other: &Self) -> bool {
        self.same(other)
            || (self.annotations() == other.annotations()
                && !matches!(self.value, Value::List(_) | Value::Map(_))
                && self.value == other.value)
    }

    /// Tells whether two nodes share one value and one set of annotations in memory. This is a fast test for an
    /// unchanged node. The result is `false` for all values except lists, maps, strings and expressions.
    pub fn same(&self, other: &Self) -> bool {
        let annotations = match (&self.annotations, &other.annotations) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let value = match (&self.value, &other.value) {
            (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
            (Value::String(a), Value::String(b)) => Arc::ptr_eq(a, b),
            (Value::Expression(a), Value::Expression(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        annotations && value
    }
}

impl Deref for Node {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}
