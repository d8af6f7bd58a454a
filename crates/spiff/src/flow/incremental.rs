//! Incremental passes, which evaluate only the nodes that the previous pass may have affected.
//!
//! A *whole pass* visits every node of a document. A long chain of references, such as `a: (( b ))` and `b: (( c ))`,
//! needs many passes, because each pass computes only one value of the chain. Incremental passes are faster, because
//! they visit fewer nodes.
//!
//! An *open* node is a node without a value. Incremental passes are possible only under two conditions:
//!
//! - Later passes change only open nodes, and no node that has a value.
//! - Each open node is an expression. The maps around the open node have no annotations and no merge keys.
//!
//! An incremental pass evaluates only three kinds of open nodes:
//!
//! - nodes that the previous pass has changed without giving them a value, for example by evaluating a part of the
//!   expression,
//! - nodes with a reference to a node that the previous pass has changed,
//! - nodes whose value depends on anything besides references.
//!
//! Each node gets its value in the same pass as with whole passes, so the results are the same.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::node;
use super::unchanged::{identical, is_bare};
use crate::eval::expression::Expression;
use crate::eval::{Env, waiting};
use crate::syntax::ast::Reference;
use crate::too_deep::with_stack;
use crate::value::merge_key::is_map_complete;
use crate::value::{Map, Node, Pending, Value};

type Path = Vec<Arc<str>>;

/// The state of a series of incremental passes over a document.
pub(super) struct Incremental<'e> {
    env: &'e Env,
    /// Paths of all nodes that had no value before the first incremental pass, in document order. The list does
    /// not change later.
    open: Vec<Path>,
    /// Nodes that the next pass evaluates, as indices into `open`.
    due: BTreeSet<usize>,
    /// For each path, the nodes whose expressions refer to the node at this path. Each of these nodes is stored as
    /// its index in `open`.
    readers: HashMap<Path, Vec<usize>>,
}

/// The effect of a pass on a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Unchanged,
    /// The document changed, and the next pass can be incremental too.
    Changed,
    /// The document changed, and this was the last incremental pass: the next pass must visit every node.
    Last,
}

impl<'e> Incremental<'e> {
    /// Prepares incremental passes over `document`. The previous pass has changed `before` to `document`. Returns
    /// `None` if all nodes have values, or if incremental passes are not possible. They are not possible, for example,
    /// if a later pass could change a node that has a value.
    pub(super) fn of(before: &Node, document: &Node, env: &'e Env) -> Option<Self> {
        if env.scope.is_some() || env.state().trace.is_some() {
            return None;
        }
        let mut survey = Survey { open: Vec::new(), path: Vec::new() };
        let found = matches!(document.value(), Value::Map(_)) && survey.visit(before, document);
        let open = survey.open;
        let due = (0..open.len()).collect();
        (found && !open.is_empty()).then(|| Self { env, open, due, readers: HashMap::new() })
    }

    /// Evaluates the nodes in [`due`](Self::due), and replaces the changed nodes in `document`. Then sets `due` to the
    /// nodes that the next pass must evaluate.
    pub(super) fn pass(&mut self, document: &mut Node) -> Progress {
        let mut changed = Vec::new();
        let mut always = Vec::new();
        for at in std::mem::take(&mut self.due) {
            let Some((node, env)) = self.place(document, &self.open[at]) else { continue };
            let Value::Expression(expression) = node.value() else { continue };
            let result = node::flow(&node, &env, true, false);
            if !identical(&node, &result) {
                changed.push((at, result));
            } else if !self.watch(at, expression, document) {
                always.push(at);
            }
        }
        self.due.extend(always);
        let mut progress = if changed.is_empty() { Progress::Unchanged } else { Progress::Changed };
        for (at, result) in changed {
            let path = &self.open[at];
            for end in 0..=path.len() {
                self.due.extend(self.readers.remove(&path[..end]).into_iter().flatten());
            }
            // The next pass evaluates the remaining expression of this node.
            self.due.insert(at);
            if !is_open(&result) && !is_plain(&result) {
                progress = Progress::Last;
            }
            document.replace(path, result);
        }
        progress
    }

    /// Returns a node of the document with its environment.
    fn place(&self, document: &Node, path: &[Arc<str>]) -> Option<(Node, Env)> {
        let mut env = self.env.clone();
        let mut node = document;
        for key in path {
            let Value::Map(map) = node.value() else { return None };
            env = env.with_fields(map.clone()).with_step(key.clone());
            node = map.get(key)?;
        }
        Some((node.clone(), env))
    }

    /// Records the nodes to which an expression refers. `at` is the index in `open` of the node that contains the
    /// expression. For each node to which the expression refers, the method adds `at` to
    /// [`readers`](Self::readers). Returns `false`, and records nothing, if the value of the expression may depend
    /// on anything besides references.
    fn watch(&mut self, at: usize, expression: &Arc<dyn Pending>, document: &Node) -> bool {
        let Some(references) = Expression::of(expression).and_then(waiting::references) else { return false };
        for reference in references {
            let Some(place) = end(reference, document, &self.open[at]) else { continue };
            let readers = self.readers.entry(place).or_default();
            if !readers.contains(&at) {
                readers.push(at);
            }
        }
        true
    }
}

/// Returns the path of the node to which a reference leads. `from` is the path of the node that contains the
/// reference. If the document does not contain the first name of the reference, the function returns `None`.
///
/// Some references can't be followed to their end yet. Such a reference stops at a node that is not a map, at a
/// map with a merge key, or at a map without the next field. The function then returns the path of this node.
fn end(reference: &Reference, document: &Node, from: &[Arc<str>]) -> Option<Path> {
    let (name, rest) = reference.path.split_first()?;
    let mut place;
    let mut rest = rest.iter();
    if name.is_empty() {
        place = Vec::new();
    } else {
        let mut maps: Vec<&Map> = Vec::with_capacity(from.len());
        let mut node = document;
        for key in from {
            let map = node.as_map()?;
            maps.push(map);
            node = map.get(key)?;
        }
        let depth = maps.iter().rposition(|map| map.contains_key(name))?;
        place = from[..depth].to_vec();
        place.push(name.clone());
    }
    let mut node = place.iter().try_fold(document, |node, key| node.get(key))?;
    while let Value::Map(map) = node.value()
        && is_map_complete(map, false)
        && let Some(name) = rest.next()
        && let Some(below) = map.get(name)
    {
        place.push(name.clone());
        node = below;
    }
    Some(place)
}

/// A search through a document for its open nodes: the nodes that have no value yet.
struct Survey {
    open: Vec<Path>,
    path: Path,
}

impl Survey {
    /// Searches the node `now` and the nodes below `now` for open nodes (nodes without a value). Records the paths
    /// of the open nodes. The previous pass has replaced the node `before` by the node `now` at the same path.
    ///
    /// Returns `false` if incremental passes are not possible. For example, they are not possible if a map with a
    /// merge key contains an open node. A later pass may then change the map, but an incremental pass would not
    /// visit the map, because the map itself is not open.
    fn visit(&mut self, before: &Node, now: &Node) -> bool {
        match (before.value(), now.value()) {
            (_, Value::Expression(_)) => {
                self.open.push(self.path.clone());
                is_open(now)
            }
            (Value::Map(old), Value::Map(map)) => {
                let known = self.open.len();
                let same = old.len() == map.len()
                    && before.annotations() == now.annotations()
                    && before.source() == now.source();
                same && with_stack(|| self.fields(old, map))
                    && (self.open.len() == known || (!now.has_annotations() && !has_merge_key(map)))
            }
            (_, Value::List(_)) => identical(before, now) && is_closed(now),
            _ => is_plain(now) || identical(before, now),
        }
    }

    fn fields(&mut self, before: &Map, now: &Map) -> bool {
        before.iter().zip(now).all(|((old_key, old), (key, node))| {
            if old_key != key {
                return false;
            }
            self.path.push(key.clone());
            let stays = self.visit(old, node);
            self.path.pop();
            stays
        })
    }
}

/// Tells whether a node is an expression that has no annotations, apart from annotations about a problem of the
/// expression.
fn is_open(node: &Node) -> bool {
    matches!(node.value(), Value::Expression(_)) && is_bare(node)
}

/// Tells whether a node is a scalar that no later pass changes.
fn is_plain(node: &Node) -> bool {
    !node.has_annotations()
        && match node.value() {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Bytes(_) => true,
            Value::String(text) => !text.contains("(("),
            _ => false,
        }
}

/// Tells whether a node contains no expressions.
fn is_closed(node: &Node) -> bool {
    match node.value() {
        Value::Expression(_) => false,
        Value::List(list) => with_stack(|| list.iter().all(is_closed)),
        Value::Map(map) => with_stack(|| map.values().all(is_closed)),
        _ => true,
    }
}

/// Tells whether a map contains a merge key or a key of a control structure.
fn has_merge_key(map: &Map) -> bool {
    map.range::<str, _>((Bound::Included("<<"), Bound::Unbounded))
        .next()
        .is_some_and(|(key, _)| key.starts_with("<<"))
}
