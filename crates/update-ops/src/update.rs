//! Updates in normal form.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;

use serde_json::{Map, Value};

use crate::operator::Operator;
use crate::path::Path;

/// The operation of an update at one path.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Replaces the value, and creates the missing maps on the path.
    Replace(Value),
    /// Removes the value, and the maps on its path that become empty. A missing value is no error.
    Unset,
    /// Appends entries to the list. Creates the list and the maps on the path, if they are missing.
    Append(Vec<Value>),
}

/// An update in normal form: a map from paths to operations, in which no path is below another path. For example, an
/// update with an operation at `status` has no operation at `status.note`.
///
/// So no operation affects another operation, and their order has no meaning. An update is created from its
/// [wire form](Update::parse), from [operations](Update::from_ops), from the [difference](Update::diff) of two
/// documents, or from other updates. Two updates are equal if their operations are equal.
///
/// # Laws
///
/// These laws hold for updates and canonical, valid documents of one [`Shape`](crate::Shape). `U(D)` means
/// the result of applying `U` to `D`:
///
/// | law | |
/// |---|---|
/// | total | `U(D)` exists, and is canonical |
/// | order-free | applying the operations of `U` one by one, in any order, gives `U(D)` |
/// | identity | `{}(D) = D`; `U.then({}) = U = {}.then(U)` |
/// | composition | `U.then(V)` exists, and `U.then(V)(D) = V(U(D))` |
/// | associativity | `U.then(V).then(W) = U.then(V.then(W))` |
/// | idempotence | `U(U(D)) = U(D)`, if `U` contains no append |
/// | commutation | `V(U(D)) = U(V(D))`, if `U.commutes_with(V)` |
/// | difference | `diff(A, B)(A) = B` |
/// | inverse | `U.inverse(D)(U(D)) = D`, if `U` contains no append |
/// | locality | a path has the same value in `D` and in `U(D)`, unless `U` [touches](Update::touches) the path |
/// | round trip | `parse(U.to_value()) = U`, parsed under [`Shape::trusting`](crate::Shape::trusting) |
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Update(BTreeMap<Path, Op>);

impl Update {
    /// Creates the update that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells whether the update changes nothing in any document.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the operation at a path. Operations above or below the path don't count.
    pub fn get(&self, path: &Path) -> Option<&Op> {
        self.0.get(path)
    }

    /// Iterates over the operations, sorted by path.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// Returns the paths of the operations, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys()
    }

    /// Tells whether an operation of the update is at `path`, above it or below it.
    pub fn touches(&self, path: &Path) -> bool {
        self.around(path).next().is_some()
    }

    /// Tells whether the update appends entries. Such an update can't be inverted. If it is applied twice, it appends
    /// the entries twice.
    pub fn has_appends(&self) -> bool {
        self.0.values().any(|op| matches!(op, Op::Append(_)))
    }

    /// Tells whether two updates touch different parts of documents. This is the case if no path of one update is equal
    /// to, above or below a path of the other update. Such updates have the same result in both orders.
    ///
    /// Updates that touch the same part may also have the same result in both orders, for example if they set a
    /// path to the same value.
    pub fn commutes_with(&self, other: &Update) -> bool {
        let (few, many) = if self.len() < other.len() { (self, other) } else { (other, self) };
        !few.paths().any(|path| many.touches(path))
    }

    /// Returns the pairs of paths that prevent two updates from [commuting](Update::commutes_with). In each
    /// pair, the path of one update is equal to, above or below the path of the other update. The pairs are
    /// sorted by the paths of `self`.
    ///
    /// ```
    /// use serde_json::json;
    /// use windlass_update_ops::{Shape, Update};
    ///
    /// let update = |wire| Update::parse(&wire, &Shape::untyped()).expect("a valid update").update;
    /// let first = update(json!({"$set": {"status.active": true, "signals.flow": 8}}));
    /// let second = update(json!({"status": {"active": false}}));
    /// let conflicts: Vec<_> = first.conflicts(&second).map(|conflict| conflict.to_string()).collect();
    /// assert_eq!(conflicts, ["`status.active` is below `status`"]);
    /// ```
    pub fn conflicts<'u>(&'u self, other: &'u Update) -> impl Iterator<Item = Conflict<'u>> {
        let pairs = move |path| other.around(path).map(move |(other, _)| Conflict { path, other });
        self.paths().flat_map(pairs)
    }

    /// Splits the update into the operations whose path `choose` selects, and the rest.
    pub fn partition(self, mut choose: impl FnMut(&Path) -> bool) -> (Update, Update) {
        let (chosen, rest) = self.0.into_iter().partition(|(path, _)| choose(path));
        (Self(chosen), Self(rest))
    }

    /// Splits the update into the operations that commute with `newer`, and the operations that `newer` has
    /// made outdated.
    ///
    /// For example, a slow health check may report values that it has read before `newer` was applied. The
    /// caller then applies only the operations of the report that commute with `newer`.
    pub fn without_stale(self, newer: &Update) -> (Update, Update) {
        self.partition(|path| !newer.touches(path))
    }

    /// Returns only the operations at or below `path`.
    pub fn restrict(self, path: &Path) -> Update {
        self.partition(|candidate| candidate.starts_with(path)).0
    }

    /// Returns the wire form: plain fields for replacements at the top of the document, operators for all
    /// other operations.
    pub fn to_value(&self) -> Value {
        let mut plain = Map::new();
        let mut operators: BTreeMap<Operator, Map<String, Value>> = BTreeMap::new();
        for (path, op) in self {
            let (operator, value) = match op {
                Op::Replace(value) => (Operator::Set, value.clone()),
                Op::Unset => (Operator::Unset, Value::Null),
                Op::Append(entries) => (Operator::PushAll, Value::Array(entries.clone())),
            };
            match path.as_slice() {
                [field] if operator == Operator::Set && !field.starts_with('$') => {
                    plain.insert(field.clone(), value);
                }
                _ => {
                    operators.entry(operator).or_default().insert(path.to_string(), value);
                }
            }
        }
        plain.extend(
            operators.into_iter().map(|(operator, paths)| (operator.name().to_owned(), paths.into())),
        );
        Value::Object(plain)
    }

    /// Returns the operations at, above and below `path`.
    pub(crate) fn around(&self, path: &Path) -> impl Iterator<Item = (&Path, &Op)> {
        let above = self.above(path).into_iter();
        above.chain(self.0.range(path..).take_while(move |(below, _)| below.starts_with(path)))
    }

    /// Returns the operation at an ancestor of `path`, for example at `a` for the path `a.b`. An update contains at
    /// most one such operation, because no path of an update is below another path.
    ///
    /// The method examines only the last path before `path` in sorted order. For example, all paths between `a` and
    /// `a.b` are below `a`. If an update contains `a`, it contains none of these paths. So `a` is the last path before
    /// `a.b`.
    pub(crate) fn above(&self, path: &Path) -> Option<(&Path, &Op)> {
        self.0.range(..path).next_back().filter(|(above, _)| path.starts_with(above))
    }

    /// Creates an update from operations that are already in normal form. The caller must ensure this.
    pub(crate) fn from_normal(ops: BTreeMap<Path, Op>) -> Self {
        Self(ops)
    }

    pub(crate) fn into_ops(self) -> BTreeMap<Path, Op> {
        self.0
    }
}

/// Two paths of different updates that prevent the updates from [commuting](Update::commutes_with). The paths
/// are equal, or one path is above the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict<'u> {
    /// A path of the update on which the method [`conflicts`](Update::conflicts) was called.
    pub path: &'u Path,
    /// A path of the other update, which was the argument of [`conflicts`](Update::conflicts).
    pub other: &'u Path,
}

impl fmt::Display for Conflict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, other } = self;
        match (path.starts_with(other), other.starts_with(path)) {
            (true, true) => write!(f, "both touch `{path}`"),
            (true, false) => write!(f, "`{path}` is below `{other}`"),
            _ => write!(f, "`{path}` is above `{other}`"),
        }
    }
}

/// An iterator over the operations of an [`Update`], sorted by path.
#[derive(Clone, Debug)]
pub struct Iter<'a>(btree_map::Iter<'a, Path, Op>);

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Path, &'a Op);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Update {
    type Item = (&'a Path, &'a Op);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
