//! Processes a list during one of the passes over its document.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::control;
use super::issue::wrong;
use super::template::as_template;
use super::unchanged::{identical, stays};
use super::visit::Visit;
use crate::eval::expression::Expression;
use crate::eval::{Env, template};
use crate::syntax::ast::Expr;
use crate::syntax::embedded;
use crate::value::merge_key;
use crate::value::select::KEY;
use crate::value::{Annotations, Flags, Map, Node, Redirect, Value};

/// The state of a list during a pass.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a list")]
struct Work {
    entries: Vec<Node>,
    flags: Flags,
    tag: Option<Arc<str>>,
    key_name: Option<Arc<str>>,
    /// Whether the list has no key field, not even the default `name`. Positions then identify the entries. A list
    /// has no key field if two entries declare different key fields, or if a key such as `key:!id` forbids a key
    /// field.
    keyless: bool,
    redirect: Redirect,
    replaced: bool,
    merged: bool,
    processed: bool,
    is_template: bool,
    /// Whether an entry without a key gets the value of the stub's entry at the same position. The flag is false
    /// if a merge can insert entries, because the positions can then differ.
    by_position: bool,
}

/// Processes a list during one of the passes over its document. Returns the list after this pass. If
/// `template_required` is true, the list becomes a template.
pub(super) fn flow(node: &Node, env: &Env, template_required: bool, visit: impl Visit) -> Node {
    let Value::List(list) = node.value() else { return node.clone() };
    let annotations = node.annotations();
    let stub = env.here_in_stubs();
    let inherited = stub
        .as_ref()
        .map_or(Flags::NONE, |stub| stub.annotations().flags.only(Flags::TEMPORARY | Flags::STATE));
    let is_root = env.path.len() == 0 && env.scope.as_ref().is_none_or(|scope| scope.path.is_none());
    let scoped;
    let env = if is_root {
        scoped = env.with_items(list.clone());
        &scoped
    } else {
        env
    };
    let mut work = Work {
        entries: Vec::with_capacity(list.len()),
        flags: inherited,
        tag: annotations.tag.clone(),
        key_name: annotations.key_name.clone(),
        keyless: annotations.flags.has(Flags::NO_MERGE),
        redirect: annotations.redirect.clone(),
        replaced: annotations.replace,
        merged: false,
        processed: true,
        is_template: template_required,
        by_position: !annotations.flags.has(Flags::NO_POSITION),
    };
    splice(&mut work, node, env, visit);
    if work.is_template {
        return template_of(node, work, env);
    }
    controls(&mut work, env, visit);
    if work.processed {
        process(&mut work, node, stub.as_ref(), env, visit);
    }
    finish(node, list, work)
}

/// Copies the entries of the list `node` to `work`. An entry that consists of a merge key, such as
/// `- <<: (( merge ))`, inserts another list. The function copies the entries of that list in place of the entry.
///
/// An entry with a key such as `key:id` declares that the field `id` identifies the entries of the list. The function
/// stores the name of this field in `work`, and removes the prefix `key:`.
fn splice(work: &mut Work, node: &Node, env: &Env, visit: impl Visit) {
    for entry in node.as_list().unwrap_or_default() {
        let entry = match merge_key::insert(entry) {
            Some((qualifier, inline)) => {
                match insertion(work, qualifier, inline, &visit.untagged(inline, env), node, env) {
                    Inserted::Done => continue,
                    Inserted::Only => break,
                    Inserted::Stay(entry) => entry,
                }
            }
            None => entry.clone(),
        };
        let entry = declared(work, entry);
        work.entries.push(entry);
    }
}

enum Inserted {
    Done,
    /// The insertion replaces the whole list.
    Only,
    Stay(Node),
}

fn insertion(
    work: &mut Work,
    qualifier: &Arc<str>,
    inline: &Node,
    result: &Node,
    whole: &Node,
    env: &Env,
) -> Inserted {
    let initial = matches!(inline.value(), Value::String(_));
    let annotations = result.annotations();
    if let Some(key_name) = &annotations.key_name {
        work.key_name = Some(key_name.clone());
    }
    let stay = |value: Node| {
        let map: Map = [(qualifier.clone(), value)].into_iter().collect();
        // The insertion stays in the list as an entry. This entry gets the annotations of the list.
        Inserted::Stay(whole.with_value(Value::from(map)))
    };
    let expr = match result.value() {
        Value::Expression(expression) => Expression::of(expression).cloned(),
        _ => None,
    };
    if let Some(expr) = expr {
        if expr.includes_direct_merge() {
            work.by_position = false;
        }
        if let Expr::Merge(merge) = &*expr
            && !initial
            && !merge.required
        {
            return Inserted::Done;
        }
        work.processed = false;
        match &*expr {
            Expr::Marker(marker) => {
                let flags = template::flags(marker);
                work.flags |= flags;
                if let Some(tag) = marker.tag() {
                    work.tag = Some(tag.into());
                }
                if marker.has("&template") {
                    work.is_template = true;
                    return match template::content(marker, flags, whole) {
                        Some(content) => stay(content),
                        None => Inserted::Done,
                    };
                }
            }
            _ if work.is_template => return stay(whole.with_value(format!("(( {expr} ))"))),
            _ => {}
        }
        return stay(result.clone());
    }
    if annotations.merged {
        work.merged = true;
    }
    match result.value() {
        Value::List(inserted) => {
            let new = new_entries(
                inserted,
                whole.as_list().unwrap_or_default(),
                work.key_name.as_deref(),
                work.keyless,
            );
            work.merged = true;
            work.replaced = annotations.replace;
            work.redirect = annotations.redirect.clone();
            if work.replaced {
                work.entries = new;
                work.processed = false;
                return Inserted::Only;
            }
            work.entries.extend(new);
            Inserted::Done
        }
        Value::String(text) if embedded::expression(text, env.state().features.interpolation).is_some() => {
            stay(result.clone())
        }
        _ => {
            work.redirect = annotations.redirect.clone();
            Inserted::Done
        }
    }
}

/// Evaluates the control structures among the entries of a list.
///
/// If the result of a control structure is a list, the entries of the result replace the control structure. Any other
/// result replaces the control structure as a single entry.
///
/// After a result that is not a list, the function sets `work.processed` to false, and a later pass processes all
/// entries of the list. Such a result may be the control structure itself, if it can't be evaluated yet.
///
/// The paths of nodes in a control structure do not contain the position of the control structure in the list. The Go
/// program spiff++ has the same rule.
fn controls(work: &mut Work, env: &Env, visit: impl Visit) {
    if !env.state().features.control {
        return;
    }
    let entries = std::mem::take(&mut work.entries);
    for entry in entries {
        match control::is_one(&entry, env) {
            Ok(false) => work.entries.push(entry),
            Err(message) => work.entries.push(wrong(entry, message)),
            Ok(true) => {
                let result = visit.untagged(&entry, env);
                if let Value::List(list) = result.value() {
                    work.entries.extend(list.iter().cloned());
                } else {
                    work.processed = false;
                    work.entries.push(result);
                }
            }
        }
    }
}

/// Returns the inserted entries whose keys don't occur in the list. If the list has no key field, returns all
/// inserted entries.
fn new_entries(inserted: &[Node], list: &[Node], key_name: Option<&str>, keyless: bool) -> Vec<Node> {
    let key = key_name.unwrap_or(KEY);
    let names = |node: &Node| {
        let map = node.as_map()?;
        let declared = format!("key:{key}");
        Some(map.get(key).or_else(|| map.get(&*declared))?.as_str()?.to_owned())
    };
    let known: BTreeSet<String> = list.iter().filter_map(names).collect();
    inserted
        .iter()
        .filter(|entry| keyless || !names(entry).is_some_and(|name| known.contains(&name)))
        .map(|entry| entry.clone().annotate(|annotations| annotations.merged = true))
        .collect()
}

/// Removes the prefix `key:` from the names of an entry's fields. A field with this prefix becomes the key
/// field of the list. If a field has the prefix `key:!`, or if two entries declare different key fields, the
/// list has no key field.
fn declared(work: &mut Work, entry: Node) -> Node {
    let Some(map) = entry.as_map() else { return entry };
    if !map.keys().any(|key| key.starts_with("key:")) {
        return entry;
    }
    let mut fields = Map::new();
    for (key, node) in map {
        let Some(field) = key.strip_prefix("key:") else {
            fields.insert(key.clone(), node.clone());
            continue;
        };
        if let Some(field) = field.strip_prefix('!') {
            work.keyless = true;
            fields.insert(field.into(), node.clone());
            continue;
        }
        work.keyless |= work.key_name.as_deref().is_some_and(|known| known != field);
        work.key_name = Some(field.into());
        fields.insert(field.into(), node.clone());
    }
    entry.with_value(Value::from(fields))
}

/// Value of the key field in an entry, such as `x` in the entry `{name: x}`.
enum Key {
    Name(Arc<str>),
    /// The key is not evaluated yet, so a later pass processes the entry.
    Pending,
    None,
}

/// Returns the last step of the path of each entry:
///
/// - If the key of the entry is not known yet, the entry has no step.
/// - If all entries have keys and all keys differ, the step is the key, such as `name:x`.
/// - In all other cases, the step is the position of the entry, such as `[0]`.
fn steps(work: &Work, env: &Env, visit: impl Visit) -> Vec<Option<Arc<str>>> {
    let by_index = |at: usize| Arc::from(format!("[{at}]"));
    if work.keyless {
        return (0..work.entries.len()).map(|at| Some(by_index(at))).collect();
    }
    let key = work.key_name.as_deref().unwrap_or(KEY);
    let key_of = |(at, entry): (usize, &Node)| {
        let Some(field) = entry.as_map().and_then(|map| map.get(key)) else { return Key::None };
        let evaluated = match field.value() {
            Value::Expression(_) => visit.visit(field, &env.with_step(by_index(at)), false, false),
            _ => field.clone(),
        };
        match evaluated.value() {
            Value::Expression(_) => Key::Pending,
            Value::String(name) => Key::Name(name.clone()),
            _ => Key::None,
        }
    };
    let keys: Vec<Key> = work.entries.iter().enumerate().map(key_of).collect();
    let mut known = BTreeSet::new();
    let all_differ = keys.iter().all(|key| match key {
        Key::Name(name) => known.insert(name.clone()),
        Key::Pending | Key::None => false,
    });
    let step = |(at, found): (usize, &Key)| match found {
        Key::Pending => None,
        Key::Name(name) if all_differ => Some(Arc::from(format!("{key}:{name}"))),
        Key::Name(_) | Key::None => Some(by_index(at)),
    };
    keys.iter().enumerate().map(step).collect()
}

fn process(work: &mut Work, node: &Node, stub: Option<&Node>, env: &Env, visit: impl Visit) {
    let redirected;
    let env = if work.redirect == Redirect::None {
        env
    } else {
        redirected = env.redirected(&work.redirect);
        &redirected
    };
    let steps = steps(work, env, visit);
    let by_position = work.by_position;
    let raw_entries = env.state().mistakes.raw_entries;
    let mut entries = Vec::with_capacity(work.entries.len());
    for (entry, step) in work.entries.iter().zip(steps) {
        if stays(entry, env) {
            entries.push(entry.clone());
            continue;
        }
        let Some(step) = step else {
            entries.push(entry.clone());
            continue;
        };
        let mut inner = env.with_step(step.clone());
        if !by_position && step.starts_with('[') {
            if raw_entries {
                entries.push(entry.clone());
                continue;
            }
            inner.no_merge = true;
        }
        let result = visit.visit(entry, &inner, false, false);
        if !result.annotations().undefined {
            entries.push(result);
        }
    }
    if work.merged {
        work.flags |= Flags::INJECTED;
    } else if let Some(stub) = stub
        && !node.annotations().flags.has(Flags::INJECTED)
    {
        if let Value::List(list) = stub.value() {
            let injected = list.iter().filter(|entry| entry.annotations().flags.is_inject()).cloned();
            entries.splice(0..0, injected);
        }
        work.flags |= Flags::INJECTED;
    }
    work.entries = entries;
}

fn annotations(node: &Node, work: &Work) -> Annotations {
    let before = node.annotations();
    let keyless = if work.keyless { Flags::NO_MERGE } else { Flags::NONE };
    let by_name = if work.by_position { Flags::NONE } else { Flags::NO_POSITION };
    Annotations {
        key_name: if work.keyless { None } else { work.key_name.clone().or_else(|| before.key_name.clone()) },
        redirect: work.redirect.clone(),
        replace: before.replace || work.replaced,
        flags: before.flags | work.flags | keyless | by_name,
        tag: work.tag.clone(),
        ..before.clone()
    }
}

fn template_of(node: &Node, work: Work, env: &Env) -> Node {
    let annotations = annotations(node, &work);
    let prepared = Node::new(work.entries).with_source(node.source());
    as_template(node, prepared, env).with_annotations(annotations)
}

fn finish(node: &Node, old: &Arc<Vec<Node>>, work: Work) -> Node {
    let annotations = annotations(node, &work);
    let unchanged = old.len() == work.entries.len()
        && old.iter().zip(&work.entries).all(|(old, new)| identical(old, new));
    let result = if unchanged { node.clone() } else { node.with_value(work.entries) };
    if annotations == *node.annotations() { result } else { result.with_annotations(annotations) }
}
