//! Functions of lists and maps. No function changes a list in place. `sort` and `reverse` create a new list.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::argument::{Outcome, done, fail, is_nil, list, shown, simple, texts};
use super::{FunctionError, Host, Registry};
use crate::value::{Map, Node, Value, equals};

pub(super) fn register(registry: &mut Registry) {
    registry.add("length", length).add("uniq", uniq).add("compact", compact).add("element", element);
    registry.add("contains", contains).add("sort", sort).add("reverse", reverse).add("intersect", intersect);
    registry.add("index", |host, arguments| index(host, arguments, true));
    registry.add("lastindex", |host, arguments| index(host, arguments, false));
    registry.add("keys", keys).add("makemap", makemap).add("list_to_map", list_to_map);
    registry.add("merge", merge).add("deepmerge", deepmerge);
}

fn length(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("length takes exactly 1 arguments") };
    let length = match argument.value() {
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        Value::String(text) => text.len(),
        _ => fail!("invalid type for function length"),
    };
    done(i64::try_from(length).unwrap_or(i64::MAX))
}

/// Tells whether two values are equal. Values that can't be compared count as different.
fn same(a: &Value, b: &Value) -> bool {
    equals(a, b).unwrap_or(false)
}

fn uniq(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("uniq takes exactly 1 argument") };
    let items = list(argument, "invalid type for function uniq")?;
    let mut kept: Vec<Node> = Vec::new();
    for item in items {
        host.spend(kept.len() as u64 + 1)?;
        if !kept.iter().any(|other| same(item, other)) {
            kept.push(item.clone());
        }
    }
    done(kept)
}

fn compact(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("compact takes exactly 1 argument") };
    let items = list(argument, "invalid type for function compact")?;
    let something = |node: &&Node| match node.value() {
        Value::Null | Value::Undefined => false,
        Value::String(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(map) => !map.is_empty(),
        _ => true,
    };
    done(items.iter().filter(something).cloned().collect::<Vec<_>>())
}

fn element(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [collection, which] = arguments else { fail!("element takes exactly two arguments") };
    if is_nil(collection) || is_nil(which) {
        fail!("function element does not take nil arguments");
    }
    match collection.value() {
        Value::List(items) => {
            let index = match which.value() {
                Value::Int(index) => *index,
                Value::String(text) => match text.parse() {
                    Ok(index) => index,
                    Err(_) => fail!("invalid value '{text}' of index argument for function element"),
                },
                _ => fail!("invalid type of index argument for function element"),
            };
            if index < 0 {
                fail!("index lower than 0");
            }
            match usize::try_from(index).ok().and_then(|index| items.get(index)) {
                Some(item) => done(item.value().clone()),
                None => fail!("index greater or equal list size"),
            }
        }
        Value::Map(map) => {
            let Some(key) = which.as_str() else {
                fail!("map key ({}) must be of type string", shown(which))
            };
            match map.get(key) {
                Some(item) => done(item.value().clone()),
                None => fail!("map key '{key}' not found"),
            }
        }
        _ => fail!("invalid type for first argument of function element"),
    }
}

fn contains(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [collection, what] = arguments else { fail!("function contains takes exactly two arguments") };
    match collection.value() {
        Value::List(_) if is_nil(what) => done(false),
        Value::List(items) => {
            host.spend(items.len() as u64)?;
            done(items.iter().any(|item| same(item, what)))
        }
        Value::Map(_) if is_nil(what) => done(false),
        Value::Map(map) => match simple(what) {
            Some(key) => done(map.contains_key(key.as_str())),
            None => fail!("invalid type for check key"),
        },
        Value::String(text) => match simple(what) {
            Some(part) => done(text.contains(&part)),
            None => fail!("invalid type for check string"),
        },
        _ => fail!("list or string expected for argument one of function contains"),
    }
}

fn index(host: &mut dyn Host, arguments: &[Node], first: bool) -> Outcome {
    let [collection, what] = arguments else { fail!("function index takes exactly two arguments") };
    let found = match collection.value() {
        Value::List(_) if is_nil(what) => None,
        Value::List(items) => {
            host.spend(items.len() as u64)?;
            let is = |item: &Node| same(item, what);
            if first { items.iter().position(is) } else { items.iter().rposition(is) }
        }
        Value::String(text) => match simple(what) {
            Some(part) if first => text.find(&part),
            Some(part) => text.rfind(&part),
            None => fail!("invalid type for check string"),
        },
        _ => fail!("list or string expected for argument one of function index"),
    };
    done(found.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX)))
}

fn sort(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("sort takes one or two arguments");
    }
    let items = list(&arguments[0], "argument for sort must be a list")?;
    let sorted = match arguments.get(1).map(Node::value) {
        None => sorted(items, |a, b| {
            host.spend(1)?;
            by_value(a, b)
        }),
        Some(Value::Lambda(lambda)) => {
            let lambda = Arc::clone(lambda);
            sorted(items, |a, b| match host.call(lambda.as_ref(), &[a.clone(), b.clone()])?.value() {
                Value::Bool(less) => Ok(*less),
                Value::Int(order) => Ok(*order < 0),
                _ => fail!("lambda must return a bool or integer"),
            })
        }
        Some(_) => fail!("second argument for sort must be a lambda function"),
    };
    done(sorted.map_err(|error| FunctionError::because("sort failed", error))?)
}

fn by_value(a: &Node, b: &Node) -> Result<bool, FunctionError> {
    match (a.value(), b.value()) {
        (Value::String(a), Value::String(b)) => Ok(a < b),
        (Value::Int(a), Value::Int(b)) => Ok(a < b),
        _ => fail!("list elements must either be strings or integers"),
    }
}

/// Sorts a list by merging. The sort is stable. A comparison may fail or be inconsistent, which the sort of
/// the standard library does not allow.
pub(super) fn sorted<T: Clone, E>(
    items: &[T],
    mut less: impl FnMut(&T, &T) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    let mut from = items.to_vec();
    let mut width = 1;
    while width < from.len() {
        let mut to = Vec::with_capacity(from.len());
        for run in from.chunks(width * 2) {
            let (left, right) = run.split_at(width.min(run.len()));
            let (mut i, mut j) = (0, 0);
            while i < left.len() && j < right.len() {
                if less(&right[j], &left[i])? {
                    to.push(right[j].clone());
                    j += 1;
                } else {
                    to.push(left[i].clone());
                    i += 1;
                }
            }
            to.extend_from_slice(&left[i..]);
            to.extend_from_slice(&right[j..]);
        }
        from = to;
        width *= 2;
    }
    Ok(from)
}

fn reverse(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("reverse takes one list argument") };
    let items = list(argument, "argument for reverse must be a list")?;
    done(items.iter().rev().cloned().collect::<Vec<_>>())
}

fn intersect(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let mut result: Option<Vec<Node>> = None;
    for (at, argument) in arguments.iter().enumerate() {
        match argument.value() {
            Value::Null | Value::Undefined => {}
            Value::List(items) => {
                result = Some(match result {
                    None => items.to_vec(),
                    Some(kept) => {
                        host.spend((kept.len() as u64).saturating_mul(items.len() as u64))?;
                        kept.into_iter().filter(|node| items.iter().any(|other| same(node, other))).collect()
                    }
                });
            }
            other => fail!("intersect: argument {at}: type '{}' cannot be intersected", other.type_name()),
        }
    }
    done(result.unwrap_or_default())
}

fn keys(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("one argument required for keys") };
    match argument.as_map() {
        Some(map) => done(texts(map.keys())),
        None => fail!("map argument required for keys"),
    }
}

fn makemap(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let mut map: Map = BTreeMap::new();
    if let [argument] = arguments {
        let items = list(argument, "single argument flavor of mapentry requires a list")?;
        for (at, item) in items.iter().enumerate() {
            let Some(entry) = item.as_map() else { fail!("entry {at} is no map entry") };
            let Some(key) = entry.get("key") else { fail!("entry {at} has no entry 'key'") };
            let Some(key) = simple(key) else { fail!("invalid type for 'key' value of entry {at}") };
            let Some(value) = entry.get("value") else { fail!("entry {at} has no entry 'value'") };
            map.insert(key.into(), value.clone());
        }
    } else if arguments.len().is_multiple_of(2) {
        for (at, pair) in arguments.chunks(2).enumerate() {
            let Some(key) = simple(&pair[0]) else {
                fail!("invalid type for key value of arument pair {at}")
            };
            map.insert(key.into(), Node::new(pair[1].value().clone()));
        }
    } else {
        fail!("mapentry takes one or two arguments");
    }
    done(map)
}

fn list_to_map(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("list_to_map takes 1 or 2 arguments");
    }
    let items = list(&arguments[0], "list_to_map requires a list as first argument")?;
    let field = match arguments.get(1) {
        None => arguments[0].annotations().key_name.as_deref().unwrap_or("name"),
        Some(name) => name.as_str().ok_or("second argument of list_to_map must be a key name")?,
    };
    let mut map: Map = BTreeMap::new();
    for item in items {
        let Some(fields) = item.as_map() else { fail!("list entries must by maps") };
        let Some(key) = fields.get(field) else { fail!("key field '{field}' not found") };
        let Value::String(key) = key.value() else { fail!("key field '{field}' contains no string value") };
        let mut rest = fields.clone();
        rest.remove(field);
        map.insert(Arc::clone(key), item.with_value(rest));
    }
    done(map)
}

/// Returns the arguments of a call of the function `name`. If the only argument is a list, returns the entries of
/// this list instead.
///
/// Each argument or entry must be a map, or a template whose content is a map. If there is any other argument or
/// entry, or if the list is empty, the result is an error.
fn maps(name: &str, arguments: &[Node]) -> Result<Vec<Node>, FunctionError> {
    let check = |at: usize, node: &Node| {
        let at = at + 1;
        match node.value() {
            Value::Map(_) => Ok(node.clone()),
            Value::Template(template) if template.original().as_map().is_some() => Ok(node.clone()),
            Value::Template(_) => Err(format!("{at}: template is not a map template")),
            other => Err(format!("{at}: no map or map template, but {}", other.type_name())),
        }
    };
    let all = |nodes: &[Node], what: &str| -> Result<Vec<Node>, FunctionError> {
        let checked: Result<Vec<Node>, String> =
            nodes.iter().enumerate().map(|(at, node)| check(at, node)).collect();
        checked.map_err(|error| FunctionError::failed(format!("{name}: {what} {error}")))
    };
    match arguments {
        [only] if only.as_list().is_some_and(<[Node]>::is_empty) => fail!("{name}: no map found for merge"),
        [only] if only.as_list().is_some() => {
            all(only.as_list().unwrap_or_default(), "entry of list argument:")
        }
        _ => all(arguments, "argument"),
    }
}

fn merge(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if arguments.is_empty() {
        fail!("at least one argument required for merge function");
    }
    host.merge(&maps("merge", arguments)?)
}

fn deepmerge(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if arguments.is_empty() {
        fail!("");
    }
    let mut result = Map::new();
    for node in maps("deepmerge", arguments)? {
        host.spend(1)?;
        match node.value() {
            Value::Map(map) => overlay(&mut result, map),
            Value::Template(template) => {
                if let Some(map) = template.original().as_map() {
                    let fields = map.iter().filter(|(key, _)| !matches!(key.as_ref(), "<<" | "<<<"));
                    overlay(
                        &mut result,
                        &fields.map(|(key, node)| (Arc::clone(key), node.clone())).collect(),
                    );
                }
            }
            _ => {}
        }
    }
    done(result)
}

/// Adds the fields of the map `above` to the map `below`. A field of `above` replaces the field of `below`
/// with the same key. If both fields are maps, they are merged in the same way.
fn overlay(below: &mut Map, above: &Map) {
    for (key, node) in above {
        let merged = match (below.get(key).and_then(|node| node.as_map()), node.as_map()) {
            (Some(lower), Some(upper)) => {
                let mut both = lower.clone();
                overlay(&mut both, upper);
                Node::new(both)
            }
            _ => node.clone(),
        };
        below.insert(Arc::clone(key), merged);
    }
}
