//! Computes updates from documents: the difference of two documents, and the inverse of an update.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::node::Node;
use crate::path::Path;
use crate::problem::Irreversible;
use crate::shape::Shape;
use crate::update::{Op, Update};

impl Update {
    /// Returns the update that changes one document into another.
    ///
    /// The update touches only the deepest paths that differ: a changed leaf, or an entry that exists in only
    /// one of the documents. If a list has only grown at its end, the update appends to it. Any other changed
    /// list is replaced. Both documents are compared in their [canonical form](Shape::canonical). A document
    /// that is no map counts as empty.
    ///
    /// The shape tells which values are maps, lists or leaves. The update need not meet the other restrictions of
    /// the shape. For example, it may remove values that an author may not remove.
    pub fn diff(from: &Value, to: &Value, shape: &Shape) -> Update {
        let mut difference = Difference { keys: vec![], ops: BTreeMap::new() };
        let (from, to) = (shape.canonical(from.clone()), shape.canonical(to.clone()));
        difference.maps(&shape.root, &from, &to);
        Update::from_normal(difference.ops)
    }

    /// Returns the inverse of this update for a document. Suppose that `self` was applied to `document`. Then
    /// the inverse, applied to the result, restores `document`.
    ///
    /// If an operation of `self` has no effect on `document`, the inverse contains no operation at the same
    /// path. For example, `self` may remove a value that is already absent.
    ///
    /// # Errors
    /// When the update appends entries, because no operation shortens a list.
    pub fn inverse(&self, document: &Value) -> Result<Update, Irreversible> {
        let mut ops = BTreeMap::new();
        for (path, op) in self {
            let before = path.keys().try_fold(document, |value, key| value.as_object()?.get(key));
            let undo = match (op, before) {
                (Op::Append(_), _) => return Err(Irreversible { path: path.clone() }),
                (Op::Replace(value), Some(before)) if value == before => continue,
                (Op::Unset, None) => continue,
                (_, Some(before)) => Op::Replace(before.clone()),
                (_, None) => Op::Unset,
            };
            ops.insert(path.clone(), undo);
        }
        Ok(Update::from_normal(ops))
    }
}

struct Difference {
    keys: Vec<String>,
    ops: BTreeMap<Path, Op>,
}

impl Difference {
    /// Compares two maps key by key, and adds an operation to `ops` for each difference. `keys` contains the path of
    /// the maps.
    fn maps(&mut self, node: &Node, from: &Value, to: &Value) {
        let all: BTreeSet<String> = keys_of(from).chain(keys_of(to)).cloned().collect();
        for key in all {
            let (from, to) = (from.get(&key), to.get(&key));
            let child = node.child(&key);
            self.keys.push(key);
            self.values(child.as_deref().unwrap_or(&Node::opaque()), from, to);
            self.keys.pop();
        }
    }

    fn values(&mut self, node: &Node, from: Option<&Value>, to: Option<&Value>) {
        let op = match (from, to) {
            _ if from == to => return,
            (Some(from @ Value::Object(_)), Some(to @ Value::Object(_))) if node.is_structural() => {
                return self.maps(node, from, to);
            }
            (_, None) => Op::Unset,
            (Some(Value::Array(from)), Some(Value::Array(to)))
                if node.takes_appends() && to.starts_with(from) =>
            {
                Op::Append(to[from.len()..].to_vec())
            }
            (_, Some(to)) => Op::Replace(to.clone()),
        };
        self.ops.insert(Path::walked(&self.keys), op);
    }
}

fn keys_of(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(|map| map.keys())
}
