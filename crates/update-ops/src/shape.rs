//! The shape of documents: their paths, values and permitted operations.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::node::{Node, Sort};
use crate::operator::Operator;
use crate::path::Path;

/// The shape of documents: their paths, the sorts of their values, and the permitted operations.
///
/// A shape has two separate tasks:
///
/// - Its *sorts* define whether each path is a map, a list or a leaf. So two updates can't disagree on the
///   sort of a path, and any two updates can be composed.
/// - Its *rules* (permitted operators, keys, required fields, defaults, tests) restrict authors. All rules are
///   applied when an update is [parsed](crate::Update::parse). A [check](Shape::check) of a document applies
///   only the rules about required fields and tests.
///
/// Computed updates follow the sorts, but not the rules. For example, the inverse of a `$set` may remove a
/// path that authors must not remove. Such updates are parsed under the [trusting](Shape::trusting) shape.
///
/// The creation of a shape allocates memory, so a constant shape should be stored in a
/// [`LazyLock`](std::sync::LazyLock).
#[derive(Clone, Debug)]
pub struct Shape {
    pub(crate) root: Arc<Node>,
    pub(crate) trusting: bool,
}

impl Shape {
    /// Creates a shape of documents with exactly these fields at the top.
    pub fn new<'a>(fields: impl IntoIterator<Item = (&'a str, Node)>) -> Self {
        Self { root: Arc::new(Node::record(fields)), trusting: false }
    }

    /// Creates a shape that permits every document. An update can set each entry of a map, append to each list,
    /// and replace every other value as a whole.
    ///
    /// This shape does not define the *sort* of the value at a path: map, list or leaf. If two updates expect different
    /// sorts at a path, [composing](crate::Update::then) them can fail. If a value in a document has another sort than
    /// an update expects, [applying](crate::Update::apply) the update can fail.
    pub fn untyped() -> Self {
        Self { root: Arc::new(Node::any()), trusting: false }
    }

    /// Returns a shape with the sorts of `self`, but without the rules of `self`; see [`Shape`]. The returned shape
    /// still defines which values are maps, lists or leaves. But the returned shape permits every key of a map, and
    /// `$set` and `$unset` at every path. It has no required fields, tests or defaults.
    ///
    /// The returned shape is for updates that were checked before, or that a program created. Under this shape,
    /// [`parse`](crate::Update::parse) is the inverse of [`to_value`](crate::Update::to_value).
    #[must_use]
    pub fn trusting(&self) -> Self {
        Self { root: self.root.clone(), trusting: true }
    }

    /// Tells whether the shape contains the path.
    pub fn knows(&self, path: &Path) -> bool {
        self.node(path).is_some()
    }

    /// Tells whether an update may apply this operator to the path.
    pub fn permits(&self, operator: Operator, path: &Path) -> bool {
        self.node(path).is_some_and(|node| self.trusting || node.denial(operator).is_none())
    }

    /// Returns the canonical form of a document. All empty maps, empty lists and `null` values are removed, because
    /// they count as absent. Two documents are equivalent if their canonical forms are equal.
    ///
    /// Some values are kept unchanged: the values of [opaque](Node::opaque) nodes, the entries of lists, and values
    /// that don't match the shape. Under an [untyped](Self::untyped) shape, only empty maps are removed.
    ///
    /// [`Update::apply`](crate::Update::apply) keeps a canonical document canonical.
    #[must_use]
    pub fn canonical(&self, document: Value) -> Value {
        prune(&self.root, document).unwrap_or_else(|| Value::Object(Map::new()))
    }

    fn node(&self, path: &Path) -> Option<Arc<Node>> {
        path.keys().try_fold(self.root.clone(), |node, key| match &node.sort {
            Sort::Map(keys, _) if !self.trusting && !keys.allows(key) => None,
            _ => node.child(key),
        })
    }
}

/// Returns the canonical form of a value at a node: the value without the parts that count as absent. Returns `None` if
/// no part of the value remains. See [`Shape::canonical`].
pub(crate) fn prune(node: &Node, value: Value) -> Option<Value> {
    match (&node.sort, value) {
        (Sort::Opaque, value) => Some(value),
        (Sort::Any, Value::Null) => Some(Value::Null),
        (_, Value::Null) => None,
        (Sort::Record(_) | Sort::Map(..) | Sort::Any, Value::Object(map)) => prune_map(node, map),
        (Sort::List, Value::Array(entries)) if entries.is_empty() => None,
        (_, value) => Some(value),
    }
}

fn prune_map(node: &Node, map: Map<String, Value>) -> Option<Value> {
    let kept = map.into_iter().filter_map(|(key, value)| {
        let value = match node.child(&key) {
            Some(child) => prune(&child, value)?,
            None => value,
        };
        Some((key, value))
    });
    let kept: Map<_, _> = kept.collect();
    (!kept.is_empty()).then_some(Value::Object(kept))
}
