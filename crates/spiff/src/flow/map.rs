//! A map in one pass.

use std::sync::Arc;

use super::control;
use super::node::{self, as_template, identical, with_issue};
use crate::eval::closure::Expression;
use crate::eval::find::is_merge_key;
use crate::eval::{Env, template};
use crate::syntax::ast::Expr;
use crate::syntax::embedded;
use crate::value::{Annotations, Flags, Issue, Map, Node, Redirect, Value};

/// A map on its way to the next pass.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a map")]
struct Work {
    /// What a merge key gave; then all fields, if they aren't those that were there.
    fields: Map,
    /// The fields of the map itself, in order.
    kept: Vec<(Arc<str>, Node)>,
    /// Fields that are undefined, which control structures still see.
    undefined: Map,
    flags: Flags,
    tag: Option<Arc<str>>,
    redirect: Redirect,
    replace: bool,
    merged: bool,
    /// The fields may be processed: no merge key is pending.
    processed: bool,
    is_template: bool,
    problem: Option<String>,
}

/// What a merge key means for its map.
enum Base {
    /// The map is undefined as a whole.
    Undefined,
    /// Go on with the fields.
    Continue,
    /// Nothing but what was inserted.
    Only,
    /// The key stays, with this value.
    Stay(Node),
}

/// Processes a map. The second part of the result tells whether a control structure gave it.
pub(super) fn flow(node: &Node, env: &Env, overriding: bool) -> (Node, bool) {
    let Value::Map(map) = node.value() else { return (node.clone(), false) };
    let annotations = node.annotations();
    let stub = env.here_in_stubs();
    let inherited = stub
        .as_ref()
        .map_or(Flags::NONE, |stub| stub.annotations().flags.only(Flags::TEMPORARY | Flags::STATE));
    let mut work = Work {
        fields: Map::new(),
        kept: Vec::with_capacity(map.len()),
        undefined: Map::new(),
        flags: inherited,
        tag: annotations.tag.clone(),
        redirect: annotations.redirect.clone(),
        replace: annotations.replace,
        merged: false,
        processed: true,
        is_template: false,
        problem: None,
    };
    let mut inner = env.with_fields(map.clone());
    let mut merge_found = false;
    for (key, child) in map.iter() {
        let child = if is_merge_key(key) {
            if merge_found {
                let issue = Arc::new(Issue::new("multiple merge keys not allowed"));
                return (with_issue(node.clone(), true, true, Some(issue), env), false);
            }
            merge_found = true;
            // What is inserted goes over fields that come before the merge key, as in the original.
            work.fields.extend(work.kept.drain(..));
            match base(&mut work, child, node, &mut inner) {
                Base::Undefined => return (node.clone().annotate(|a| a.undefined = true), false),
                Base::Continue => continue,
                Base::Only => break,
                Base::Stay(child) => child,
            }
        } else if work.processed && node::stays(child, &inner) {
            child.clone()
        } else if work.processed {
            let as_template = control::is_template_option(key, env);
            node::flow(child, &inner.with_step(key.clone()), overriding, as_template)
        } else {
            child.clone()
        };
        keep(&mut work, key, child, annotations.flags);
    }
    let same = work.fields.is_empty() && is_same(map, &work.kept);
    if !same {
        let kept = std::mem::take(&mut work.kept);
        if work.fields.is_empty() {
            work.fields = kept.into_iter().collect();
        } else {
            work.fields.extend(kept);
        }
    }
    let same = !inject(&mut work, same.then_some(map), stub.as_ref()) && same;
    finish(node, work, same, env, &inner)
}

fn keep(work: &mut Work, key: &Arc<str>, child: Node, own: Flags) {
    if child.annotations().undefined {
        work.undefined.insert(key.clone(), child);
        return;
    }
    let flags = work.flags | own;
    let implied = flags.has(Flags::DEFAULT) || flags.has(Flags::IMPLIED);
    let child = if implied && !child.annotations().flags.has(Flags::IMPLIED) {
        child.annotate(|annotations| annotations.flags |= Flags::IMPLIED)
    } else {
        child
    };
    work.kept.push((key.clone(), child));
}

/// Handles a merge key.
fn base(work: &mut Work, child: &Node, whole: &Node, env: &mut Env) -> Base {
    let initial = matches!(child.value(), Value::String(_));
    let base = node::flow_untagged(child, env, false, false);
    let annotations = base.annotations();
    if annotations.undefined {
        return Base::Undefined;
    }
    let expr = match base.value() {
        Value::Expression(expression) => Expression::of(expression).cloned(),
        _ => None,
    };
    if let Some(expr) = expr {
        work.processed = false;
        return match &*expr {
            Expr::Marker(marker) => {
                if let Some(tag) = marker.tag() {
                    work.tag = Some(tag.into());
                }
                work.flags |= template::flags(marker);
                if !marker.has("&template") {
                    return Base::Stay(base);
                }
                work.is_template = true;
                match template::content(marker) {
                    Some(content) => Base::Stay(whole.with_value(content)),
                    None => Base::Continue,
                }
            }
            // A plain merge that found nothing is no problem.
            Expr::Merge(merge) if !initial && !merge.required => {
                work.processed = true;
                Base::Continue
            }
            _ => Base::Stay(base),
        };
    }
    if annotations.redirect != Redirect::None {
        work.redirect = annotations.redirect.clone();
        *env = env.redirected(&annotations.redirect);
    }
    work.merged |= annotations.merged;
    work.replace = annotations.replace;
    work.flags |= annotations.flags.without(Flags::INJECTED);
    if let Some(tag) = &annotations.tag {
        work.tag = Some(tag.clone());
    }
    let unparsable = match base.value() {
        Value::String(text) => embedded::expression(text, env.state().features.interpolation).is_some(),
        _ => false,
    };
    match base.value() {
        Value::Map(map) => work.fields.extend(map.iter().map(|(key, node)| (key.clone(), node.clone()))),
        Value::Null => {}
        _ if unparsable => return Base::Stay(base),
        other => {
            work.problem = Some(format!("require map value for '<<' insert, found '{}'", other.type_name()));
        }
    }
    if work.replace { Base::Only } else { Base::Continue }
}

/// Whether fields are those of a map.
fn is_same(map: &Map, fields: &[(Arc<str>, Node)]) -> bool {
    map.len() == fields.len()
        && map
            .iter()
            .zip(fields)
            .all(|((ka, a), (kb, b))| (Arc::ptr_eq(ka, kb) || ka == kb) && identical(a, b))
}

/// Whether two maps have the same fields.
fn is_same_map(a: &Map, b: &Map) -> bool {
    a.iter().zip(b).all(|((ka, a), (kb, b))| ka == kb && identical(a, b))
}

/// Adds what the stub injects, and tells whether there was anything. `same`: the fields, if they are still those.
fn inject(work: &mut Work, same: Option<&Arc<Map>>, stub: Option<&Node>) -> bool {
    if work.merged {
        work.flags |= Flags::INJECTED;
        return false;
    }
    let Some(stub) = stub else { return false };
    if work.flags.has(Flags::INJECTED) {
        return false;
    }
    let mut injected = false;
    if let Value::Map(map) = stub.value() {
        for (key, node) in map.iter().filter(|(_, node)| node.annotations().flags.is_inject()) {
            if !injected && let Some(same) = same {
                if same.contains_key(key) {
                    continue;
                }
                work.fields = (**same).clone();
            }
            if !work.fields.contains_key(key) {
                let node = node.clone().annotate(|annotations| annotations.flags |= Flags::INJECTED);
                work.fields.insert(key.clone(), node);
                injected = true;
            }
        }
    }
    work.flags |= Flags::INJECTED;
    injected
}

/// The map of this pass.
fn finish(node: &Node, work: Work, same: bool, env: &Env, inner: &Env) -> (Node, bool) {
    let before = node.annotations();
    let Work { fields, undefined, flags, tag, redirect, replace, processed, is_template, problem, .. } = work;
    let Value::Map(old) = node.value() else { return (node.clone(), false) };
    let unchanged = same || (old.len() == fields.len() && is_same_map(old, &fields));
    let fields = if unchanged { old.clone() } else { Arc::new(fields) };
    let annotations = Annotations {
        redirect,
        replace: before.replace || replace,
        flags: before.flags | flags,
        tag,
        ..before.clone()
    };
    let annotated = |value: Value| {
        let result = node.with_value(value);
        if annotations == *before { result } else { result.with_annotations(annotations.clone()) }
    };
    if is_template {
        let prepared = match node.source_name() {
            Some(source) => Node::new(Value::Map(fields)).with_source(source.clone()),
            None => Node::new(Value::Map(fields)),
        };
        let template = as_template(node, prepared, env);
        return (annotated(template.into_value()), false);
    }
    let mut result = annotated(Value::Map(fields));
    if let Some(problem) = problem {
        result = with_issue(result, true, true, Some(Arc::new(Issue::new(problem))), env);
    }
    if !processed {
        return (result, false);
    }
    let flags = result.annotations().flags;
    match control::run(&result, &undefined, inner) {
        None => (result, false),
        Some((result, done)) if done && flags != Flags::NONE => {
            (result.annotate(|annotations| annotations.flags |= flags.without(Flags::INJECTED)), true)
        }
        Some(done) => done,
    }
}
