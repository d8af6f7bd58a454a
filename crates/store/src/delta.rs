//! Computes the difference between two JSON documents. The result is a JSON document whose size is proportional to
//! the difference.
//!
//! The record of an assembly version takes hundreds of kilobytes. A scaling inserts nodes into a list of elements,
//! and so changes only a few hundred bytes of the record. Crates for JSON patches (RFC 6902) compare arrays by
//! index. If one node is inserted, the patch repeats all elements after the node. So this module matches the items
//! of arrays by their `name`.
//!
//! If nothing changed, the delta is `null`. Otherwise, the delta has one of three forms:
//!
//! | | |
//! |---|---|
//! | `["=", new]` | the new value, which replaces the old value |
//! | `["{", {key: delta}, [key]]` | an object: deltas of the changed or added members, then the removed keys |
//! | `["[", [item]]` | an array: its items in the new order |
//!
//! In the third form, each `item` also has one of three forms. `from` is the index of an item in the old array:
//!
//! | | |
//! |---|---|
//! | `[from, count]` | `count` unchanged items, beginning with the item `from` |
//! | `[from, delta]` | the item `from`, changed by `delta` |
//! | `["+", new]` | a new item |

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// Returns the delta that turns `old` into `new`.
pub(crate) fn delta(old: &Value, new: &Value) -> Value {
    match (old, new) {
        _ if old == new => Value::Null,
        (Value::Object(old), Value::Object(new)) => of_objects(old, new),
        (Value::Array(old), Value::Array(new)) => of_arrays(old, new),
        _ => json!(["=", new]),
    }
}

fn of_objects(old: &Map<String, Value>, new: &Map<String, Value>) -> Value {
    let changed: Map<String, Value> = new
        .iter()
        .filter_map(|(key, value)| {
            let change = match old.get(key) {
                Some(old) if old == value => return None,
                Some(old) => delta(old, value),
                None => json!(["=", value]),
            };
            Some((key.clone(), change))
        })
        .collect();
    let gone: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
    json!(["{", changed, gone])
}

fn of_arrays(old: &[Value], new: &[Value]) -> Value {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, item) in old.iter().enumerate() {
        if let Some(name) = name_of(item) {
            places.entry(name).or_insert(place);
        }
    }
    let mut items: Vec<Value> = Vec::new();
    let mut used = vec![false; old.len()];
    // The current run of copied old items: index of the first, and count.
    let mut run: Option<(usize, usize)> = None;
    for (place, item) in new.iter().enumerate() {
        let from = match name_of(item) {
            Some(name) => places.get(name).copied(),
            // An item without a name most likely kept its position.
            None => Some(run.map_or(place, |(first, count)| first + count)),
        };
        // Each old item is used at most once, because `applied` moves it out of the old array.
        let from = from.filter(|from| used.get(*from) == Some(&false));
        if let Some(from) = from {
            used[from] = true;
        }
        let same = from.filter(|from| old[*from] == *item);
        run = match (same, run) {
            (Some(from), Some((first, count))) if first + count == from => Some((first, count + 1)),
            (same, run) => {
                items.extend(run.map(|(first, count)| json!([first, count])));
                same.map(|from| (from, 1))
            }
        };
        match (same, from) {
            (Some(_), _) => {}
            (None, Some(from)) => items.push(json!([from, delta(&old[from], item)])),
            (None, None) => items.push(json!(["+", item])),
        }
    }
    items.extend(run.map(|(first, count)| json!([first, count])));
    json!(["[", items])
}

fn name_of(item: &Value) -> Option<&str> {
    item.get("name")?.as_str()
}

/// Applies a delta to `value`. Returns `None` if the delta does not fit the value.
pub(crate) fn applied(mut value: Value, delta: Value) -> Option<Value> {
    if delta.is_null() {
        return Some(value);
    }
    let Value::Array(mut parts) = delta else { return None };
    let last = parts.pop()?;
    let mut parts = parts.into_iter();
    let kind = parts.next()?;
    match (kind.as_str()?, parts.next(), &mut value) {
        ("=", None, _) => return Some(last),
        ("{", Some(changed), Value::Object(members)) => {
            for key in last.as_array()? {
                members.remove(key.as_str()?)?;
            }
            let Value::Object(changed) = changed else { return None };
            for (key, change) in changed {
                let old = members.get_mut(&key).map(Value::take).unwrap_or_default();
                members.insert(key, applied(old, change)?);
            }
        }
        ("[", None, Value::Array(items)) => *items = rearranged(std::mem::take(items), last)?,
        _ => return None,
    }
    Some(value)
}

fn rearranged(old: Vec<Value>, items: Value) -> Option<Vec<Value>> {
    let Value::Array(items) = items else { return None };
    let mut old: Vec<Option<Value>> = old.into_iter().map(Some).collect();
    let mut new = Vec::new();
    for item in items {
        let Value::Array(mut parts) = item else { return None };
        let (second, first) = (parts.pop()?, parts.pop()?);
        if first == "+" {
            new.push(second);
            continue;
        }
        let from = usize::try_from(first.as_u64()?).ok()?;
        match second.as_u64() {
            Some(count) => {
                let end = from.checked_add(usize::try_from(count).ok()?)?;
                for kept in old.get_mut(from..end)? {
                    new.push(kept.take()?);
                }
            }
            None => new.push(applied(old.get_mut(from)?.take()?, second)?),
        }
    }
    Some(new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4_i64).prop_map(Value::from),
            "[ab=+\\[{]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            let named = ("[abcd]", inner.clone()).prop_map(|(name, of)| json!({"name": name, "of": of}));
            prop_oneof![
                proptest::collection::vec(prop_oneof![inner.clone(), named], 0..6).prop_map(Value::from),
                proptest::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn makes_the_new_of_the_old(old in document(), new in document()) {
            let change = delta(&old, &new);
            prop_assert_eq!(applied(old, change), Some(new));
        }

        /// Stored data may be damaged, so any document must be handled without a panic.
        #[test]
        fn anything_else_is_no_delta(old in document(), other in document()) {
            let _ = applied(old, other);
        }
    }

    #[test]
    fn a_node_in_the_middle_costs_a_node() {
        let elements = |nodes: &[u32]| -> Value {
            let part = |n: &u32| json!({"name": format!("web__{n}"), "properties": {"a": "x".repeat(100)}});
            json!({"topology": {"elements": nodes.iter().map(part).collect::<Vec<_>>()}, "updated": nodes.len()})
        };
        let (old, new) = (elements(&[1, 2, 3, 5, 6]), elements(&[1, 2, 3, 4, 5, 6]));
        let change = delta(&old, &new);
        assert_eq!(
            change.to_string().replace(&"x".repeat(100), "…"),
            r#"["{",{"topology":["{",{"elements":["[",[[0,3],["+",{"name":"web__4","properties":{"a":"…"}}],[3,2]]]},[]],"updated":["=",6]},[]]"#
        );
        let back = delta(&new, &old);
        assert_eq!(applied(new, back), Some(old));
    }
}
