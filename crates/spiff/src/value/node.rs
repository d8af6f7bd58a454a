//! A value with its annotations.

use std::ops::Deref;
use std::sync::Arc;

use super::{Annotations, Map, Value};

/// A [`Value`], its [`Annotations`], and the name of its document.
#[derive(Clone, Debug, Default)]
pub struct Node {
    value: Value,
    /// A pointer because they are rare: most nodes are plain data.
    annotations: Option<Arc<Annotations>>,
    source: Option<Arc<str>>,
}

impl Node {
    /// Creates a node without annotations.
    pub fn new(value: impl Into<Value>) -> Self {
        Self { value: value.into(), annotations: None, source: None }
    }

    /// Returns the value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Converts the node into its value.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns the annotations.
    pub fn annotations(&self) -> &Annotations {
        static NONE: Annotations = Annotations::NONE;
        self.annotations.as_deref().unwrap_or(&NONE)
    }

    /// Returns the annotations in shared form; `None` if there are none.
    pub(crate) fn shared_annotations(&self) -> Option<&Arc<Annotations>> {
        self.annotations.as_ref()
    }

    /// Tells whether it has annotations.
    pub(crate) fn has_annotations(&self) -> bool {
        self.annotations.is_some()
    }

    /// Returns the name of its document; empty for the result of an expression.
    pub fn source(&self) -> &str {
        self.source.as_deref().unwrap_or("")
    }

    /// Returns the name of its document in shared form.
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

    /// Returns the node at a path: `a.b.[0]`, or `a.x` for the list entry whose key field is `x`.
    ///
    /// ```
    /// use windlass_source::Source;
    /// use windlass_spiff::yaml::read_document;
    ///
    /// let node = read_document(&Source::new("a.yaml", "a: [{name: x, v: 1}]\n"))?;
    /// assert_eq!(node.at("a.x.v").and_then(|node| node.as_int()), Some(1));
    /// assert_eq!(node.at("a[0].v").and_then(|node| node.as_int()), Some(1));
    /// # Ok::<(), windlass_spiff::yaml::ReadError>(())
    /// ```
    pub fn at(&self, path: &str) -> Option<Self> {
        let steps = crate::syntax::ast::steps(path, false);
        steps.iter().try_fold(self.clone(), |node, name| crate::eval::find::step(&node, name, None))
    }

    /// Replaces a node that is below maps; an undefined node removes it.
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

    /// Tells whether both share their lists and maps in memory, or have equal scalars, and have equal
    /// annotations.
    pub(crate) fn same_place(&self, other: &Self) -> bool {
        self.same(other)
            || (self.annotations() == other.annotations()
                && !matches!(self.value, Value::List(_) | Value::Map(_))
                && self.value == other.value)
    }

    /// Tells whether both are the same node in memory, a fast test for an unchanged node.
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
