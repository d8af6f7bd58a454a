//! Composes two updates into one that has the effect of both, applied in order.

use std::collections::BTreeMap;
use std::mem;

use serde_json::{Map, Value};

use crate::apply::{perform, viable};
use crate::check::sort_of;
use crate::path::Path;
use crate::problem::NotViable;
use crate::update::{Op, Update};

impl Update {
    /// Returns the composition: one update with the same effect as `self` followed by `later`. Composition can
    /// combine a stored history of updates into one update.
    ///
    /// For example, the composition has these operations:
    ///
    /// | `self` | `later` | composition |
    /// |---|---|---|
    /// | any operations at or below `status` | replaces or removes `status` | the operation of `later` |
    /// | replaces `status` by `{on: true}` | replaces `status.on` by `false` | replaces `status` by `{on: false}` |
    /// | removes `status` | replaces `status.on` by `true` | replaces `status` by `{on: true}` |
    /// | appends `a` to `log` | appends `b` to `log` | appends `a` and `b` to `log` |
    /// | replaces `log` by `[a]` | appends `b` to `log` | replaces `log` by `[a, b]` |
    ///
    /// # Errors
    /// When the two updates require different sorts of value at a path. For example, `self` sets `status` to a text,
    /// and `later` sets `status.on`. This can't happen if both updates have the same [`Shape`](crate::Shape), because
    /// the shape defines the sort of each value. The exception is the shape [`untyped`](crate::Shape::untyped), which
    /// defines no sorts.
    pub fn then(self, later: &Update) -> Result<Update, NotViable> {
        let mut ops = self.into_ops();
        for (path, op) in later {
            follow(&mut ops, path, op)?;
        }
        Ok(Update::from_normal(ops))
    }
}

/// Adds the operation `op` of a later update to `ops`, the operations of an earlier update. The changed `ops` have
/// the same effect as the old `ops` followed by `op` at `path`.
///
/// The operations of the later update are independent of each other. So the caller can add them in any order.
fn follow(ops: &mut BTreeMap<Path, Op>, path: &Path, op: &Op) -> Result<(), NotViable> {
    let above = ops.range(..path).next_back().filter(|(above, _)| path.starts_with(above));
    if let Some(above) = above.map(|(above, _)| above.clone()) {
        return inside(ops, above, path, op);
    }
    match op {
        Op::Append(entries) => append(ops, path, entries),
        Op::Replace(_) | Op::Unset => {
            forget(ops, path);
            ops.insert(path.clone(), op.clone());
            Ok(())
        }
    }
}

/// Combines the operation `op` at `path` with an earlier operation at `above`. The path `above` is a prefix of
/// `path`. The earlier operation determines the value at `above`, so `op` is performed inside this value.
fn inside(ops: &mut BTreeMap<Path, Op>, above: Path, path: &Path, op: &Op) -> Result<(), NotViable> {
    let depth = above.keys().len();
    let earlier = ops.entry(above).or_insert(Op::Unset);
    match earlier {
        Op::Unset | Op::Append(_) if *op == Op::Unset => return Ok(()),
        Op::Unset => *earlier = Op::Replace(Value::Object(Map::new())),
        Op::Append(entries) => *earlier = Op::Replace(mem::take(entries).into()),
        Op::Replace(_) => {}
    }
    let Op::Replace(left) = earlier else { return Ok(()) };
    let keys = &path.as_slice()[depth..];
    viable(left, keys, op).map_err(|obstacle| obstacle.below(depth).of(path))?;
    perform(left, keys, op);
    if left.as_object().is_some_and(Map::is_empty) {
        *earlier = Op::Unset;
    }
    Ok(())
}

/// Changes `ops` so that they also append `entries` to the list at `path`. The caller ensures that `ops` has no
/// operation above this path.
fn append(ops: &mut BTreeMap<Path, Op>, path: &Path, entries: &[Value]) -> Result<(), NotViable> {
    let not_a_list =
        |found| NotViable { path: path.clone(), obstacle: path.clone(), expected: "a list", found };
    if ops.range(path..).next().is_some_and(|(below, _)| below != path && below.starts_with(path)) {
        return Err(not_a_list("a map"));
    }
    match ops.get_mut(path) {
        Some(Op::Append(earlier) | Op::Replace(Value::Array(earlier))) => earlier.extend_from_slice(entries),
        Some(earlier @ (Op::Unset | Op::Replace(Value::Null))) => *earlier = Op::Replace(entries.into()),
        Some(Op::Replace(other)) => return Err(not_a_list(sort_of(other))),
        None => _ = ops.insert(path.clone(), Op::Append(entries.to_vec())),
    }
    Ok(())
}

/// Removes the operations at and below a path.
fn forget(ops: &mut BTreeMap<Path, Op>, path: &Path) {
    let moot: Vec<_> = ops
        .range(path..)
        .map(|(below, _)| below.clone())
        .take_while(|below| below.starts_with(path))
        .collect();
    for path in moot {
        ops.remove(&path);
    }
}
