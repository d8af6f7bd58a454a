//! Updates in normal form.

use std::collections::BTreeMap;
use std::collections::btree_map;

use serde_json::{Map, Value};

use crate::operator::Operator;
use crate::path::Path;

/// What an update does at one path.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Puts a value there, in place of whatever is there, making the maps on the way.
    Replace(Value),
    /// Removes what is there, and the maps on the way that this leaves empty. Nothing there: nothing happens.
    Unset,
    /// Appends entries to the list there, making it and the maps on the way.
    Append(Vec<Value>),
}

/// An update in normal form: operations on paths of which none is, or lies below, another.
///
/// So no operation sees what another one did, and their order means nothing. An update comes from its [wire
/// form](Update::parse), from [operations](Update::from_ops), from a [comparison](Update::diff) of two
/// documents, or from other updates; equality is equality of the operations.
///
/// # Laws
///
/// For updates and canonical, valid documents of one [`Shape`](crate::Shape), writing `U(D)` for "apply `U`
/// to `D`":
///
/// | law | |
/// |---|---|
/// | total | `U(D)` exists, and is canonical |
/// | order-free | applying the operations of `U` one by one, in any order, gives `U(D)` |
/// | identity | `{}(D) = D`; `U.then({}) = U = {}.then(U)` |
/// | composition | `U.then(V)` exists, and `U.then(V)(D) = V(U(D))` |
/// | associativity | `U.then(V).then(W) = U.then(V.then(W))` |
/// | idempotence | `U(U(D)) = U(D)` where `U` appends nothing |
/// | commutation | `V(U(D)) = U(V(D))` where `U.commutes_with(V)` |
/// | difference | `diff(A, B)(A) = B` |
/// | inverse | `U.inverse(D)(U(D)) = D` where `U` appends nothing |
/// | locality | what is at a path that is comparable with no path of `U` is the same in `D` and in `U(D)` |
/// | round trip | `parse(U.to_value()) = U` under the trusting shape |
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Update(BTreeMap<Path, Op>);

impl Update {
    /// The update that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it changes nothing, whatever the document.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What it does at exactly this path.
    pub fn get(&self, path: &Path) -> Option<&Op> {
        self.0.get(path)
    }

    /// The operations, in the order of their paths.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// The paths that it touches, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys()
    }

    /// Whether it touches `path`: some operation is at it, above it or below it.
    pub fn touches(&self, path: &Path) -> bool {
        self.around(path).next().is_some()
    }

    /// Whether it appends anything: then it can be neither repeated nor inverted.
    pub fn has_appends(&self) -> bool {
        self.0.values().any(|op| matches!(op, Op::Append(_)))
    }

    /// Whether applying the two in either order gives the same: no path of one is comparable with a path of
    /// the other.
    ///
    /// Sufficient, not necessary: two updates that set a path to the same value are told apart here.
    pub fn commutes_with(&self, other: &Update) -> bool {
        let (few, many) = if self.len() < other.len() { (self, other) } else { (other, self) };
        !few.paths().any(|path| many.touches(path))
    }

    /// Splits it by path: the operations whose path `choose` picks, and the rest.
    pub fn partition(self, mut choose: impl FnMut(&Path) -> bool) -> (Update, Update) {
        let (chosen, rest) = self.0.into_iter().partition(|(path, _)| choose(path));
        (Self(chosen), Self(rest))
    }

    /// Splits off what a newer update has made stale: the operations that commute with `newer`, and those
    /// that don't.
    ///
    /// A slow health check reports values that were read before `newer` was applied; only the first half
    /// should still be applied.
    pub fn without_stale(self, newer: &Update) -> (Update, Update) {
        self.partition(|path| !newer.touches(path))
    }

    /// Only the operations at or below `path`.
    pub fn restrict(self, path: &Path) -> Update {
        self.partition(|candidate| candidate.starts_with(path)).0
    }

    /// The wire form: plain fields for values at the top, the operators for everything else.
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

    /// The operations at, above and below `path`.
    pub(crate) fn around(&self, path: &Path) -> impl Iterator<Item = (&Path, &Op)> {
        let above = self.above(path).into_iter();
        above.chain(self.0.range(path..).take_while(move |(below, _)| below.starts_with(path)))
    }

    /// The operation strictly above `path`; in an antichain there is at most one.
    ///
    /// It is the greatest path before `path`: anything between an ancestor and `path` would lie below that
    /// ancestor.
    pub(crate) fn above(&self, path: &Path) -> Option<(&Path, &Op)> {
        self.0.range(..path).next_back().filter(|(above, _)| path.starts_with(above))
    }

    /// The caller promises an antichain of canonical operations.
    pub(crate) fn from_normal(ops: BTreeMap<Path, Op>) -> Self {
        Self(ops)
    }

    pub(crate) fn into_ops(self) -> BTreeMap<Path, Op> {
        self.0
    }
}

/// The operations of an [`Update`], in the order of their paths.
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
