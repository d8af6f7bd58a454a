//! A value with what is known about it.

use std::ops::Deref;
use std::sync::Arc;

use super::{Annotations, Map, Value};

/// A [`Value`], its [`Annotations`], and the name of the document it is from.
#[derive(Clone, Debug, Default)]
pub struct Node {
    value: Value,
    /// Rare, hence a pointer: most nodes are plain data.
    annotations: Option<Arc<Annotations>>,
    source: Option<Arc<str>>,
}

impl Node {
    /// A node without annotations.
    pub fn new(value: impl Into<Value>) -> Self {
        Self { value: value.into(), annotations: None, source: None }
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value, for taking apart.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Its annotations.
    pub fn annotations(&self) -> &Annotations {
        static NONE: Annotations = Annotations::NONE;
        self.annotations.as_deref().unwrap_or(&NONE)
    }

    /// Its annotations as other nodes may share them; nothing if there are none.
    pub(crate) fn shared_annotations(&self) -> Option<&Arc<Annotations>> {
        self.annotations.as_ref()
    }

    /// Whether anything is known about it.
    pub(crate) fn has_annotations(&self) -> bool {
        self.annotations.is_some()
    }

    /// The name of the document it is from; empty for what an expression made.
    pub fn source(&self) -> &str {
        self.source.as_deref().unwrap_or("")
    }

    /// That name, for another node.
    pub fn source_name(&self) -> Option<&Arc<str>> {
        self.source.as_ref()
    }

    /// The same with another value.
    pub fn with_value(&self, value: impl Into<Value>) -> Self {
        Self { value: value.into(), annotations: self.annotations.clone(), source: self.source.clone() }
    }

    /// The same with other annotations.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = (annotations != Annotations::NONE).then(|| Arc::new(annotations));
        self
    }

    /// The same with its annotations changed by `change`.
    pub fn annotate(self, change: impl FnOnce(&mut Annotations)) -> Self {
        let mut annotations = self.annotations().clone();
        change(&mut annotations);
        self.with_annotations(annotations)
    }

    /// The same from a document of that name.
    pub fn with_source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A field of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.value.as_map()?.get(key)
    }

    /// The node at a path below: `a.b.[0]`, `a.x` for the entry of a list whose key field is `x`.
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

    /// Puts a node in the place of another that is below maps; one that is undefined removes it.
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

    /// Whether both have the same lists and maps in memory, or equal scalars, and the same annotations.
    pub(crate) fn same_place(&self, other: &Self) -> bool {
        self.same(other)
            || (self.annotations() == other.annotations()
                && !matches!(self.value, Value::List(_) | Value::Map(_))
                && self.value == other.value)
    }

    /// Whether both are the same node in memory, which is a fast way to see that nothing changed.
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
