//! The path table of a document.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::check::{Cursor, Mode, Reading};
use crate::node::{Node, Sort};
use crate::operator::Operator;
use crate::path::Path;
use crate::problem::UpdateError;

/// The path table of a document: which paths there are, what stands at them, and what updates may do to them.
///
/// A shape has two jobs, and they are separate. Its *sorts* make the algebra closed: where every path is
/// known to be a map, a list or a leaf, no two updates can disagree on it, so any two compose. Its *rules*
/// (permitted operators, required fields, defaults, tests) say what an author may write; they are asked when
/// an update is [read](crate::Update::parse), and never again. What the algebra makes out of permitted
/// updates (the inverse of a `$set` on a path that must not be removed, say) is bound by sorts alone, and is
/// read back under the [trusting](Shape::trusting) shape.
///
/// Building a shape allocates, so a fixed one lives in a [`LazyLock`](std::sync::LazyLock).
#[derive(Clone, Debug)]
pub struct Shape {
    pub(crate) root: Arc<Node>,
    pub(crate) trusting: bool,
}

impl Shape {
    /// A document with these fields at its top, and no others.
    pub fn new<'a>(fields: impl IntoIterator<Item = (&'a str, Node)>) -> Self {
        Self { root: Arc::new(Node::record(fields)), trusting: false }
    }

    /// Any document: every map is structure, everything else a leaf, and lists can be appended to.
    ///
    /// Without sorts two updates can disagree on what a path is, so [applying](crate::Update::apply) and
    /// [composing](crate::Update::then) can fail here.
    pub fn untyped() -> Self {
        Self { root: Arc::new(Node::any()), trusting: false }
    }

    /// The same sorts without the rules: every operator permitted, nothing required, tested or filled in.
    ///
    /// For updates that were checked when they first came, or that a program made:
    /// [`parse`](crate::Update::parse) under this shape is the inverse of
    /// [`to_value`](crate::Update::to_value).
    #[must_use]
    pub fn trusting(&self) -> Self {
        Self { root: self.root.clone(), trusting: true }
    }

    /// Whether there is such a path, of whatever sort.
    pub fn knows(&self, path: &Path) -> bool {
        self.node(path).is_some()
    }

    /// Whether an update may do this to the path.
    pub fn permits(&self, operator: Operator, path: &Path) -> bool {
        self.node(path).is_some_and(|node| self.trusting || node.denial(operator).is_none())
    }

    /// Checks a document: sorts, required fields and tests. An operation that is right by itself can leave a
    /// required field next to it missing; this is how to find out, after applying to a copy.
    ///
    /// Key rules are not asked: they say what may be written now, and a document remembers more than that.
    ///
    /// # Errors
    /// Everything that is wrong; places and paths are those of the document.
    pub fn check(&self, document: &Value) -> Result<(), Vec<UpdateError>> {
        let mode = if self.trusting { Mode::Trusted } else { Mode::Document };
        let mut reading = Reading::new(self, mode);
        reading.value(&self.root, document, &mut Cursor::default());
        if reading.errors.is_empty() { Ok(()) } else { Err(reading.errors) }
    }

    /// The canonical form of a document: without empty containers, and without `null` where a container or a
    /// typed leaf belongs. Two documents mean the same if their canonical forms are equal, and
    /// [`Update::apply`](crate::Update::apply) keeps a canonical document canonical.
    ///
    /// Values that don't fit the shape are left as they are.
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

/// The canonical form of what stands at a node; `None` for nothing.
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
