//! Processes a map during one of the passes over its document.

use std::sync::Arc;

use super::control;
use super::issue::wrong;
use super::template::{as_template, instantiated};
use super::unchanged::{identical, stays, waits};
use super::visit::Visit;
use crate::eval::expression::Expression;
use crate::eval::{Env, template};
use crate::syntax::ast::Expr;
use crate::syntax::embedded;
use crate::value::merge_key::is_merge_key;
use crate::value::{Annotations, Flags, Map, Node, Redirect, Value};

/// The state of a map during a pass.
struct Work {
    /// During the pass, `fields` contains only the fields that the merge key inserts. At the end of the pass, `fields`
    /// contains all fields of the new map. If the pass does not change the map, `fields` stays empty.
    fields: Map,
    /// Fields that the map itself contains, with their values after this pass, sorted by key. Fields that the merge key
    /// inserts are not included.
    kept: Vec<(Arc<str>, Node)>,
    /// Fields whose values are undefined after this pass. A map loses these fields, unless the map is a control
    /// structure. A control structure can have undefined parts, such as its condition.
    undefined: Map,
    flags: Flags,
    tag: Option<Arc<str>>,
    redirect: Redirect,
    replace: bool,
    merged: bool,
    problem: Option<String>,
}

/// The effect of a merge key on its map.
enum Base {
    /// The whole map is undefined.
    Undefined,
    /// This pass removes the merge key from the map. The other fields of the map stay.
    Gone,
    /// This pass removes the merge key and all fields of the map itself. The map then contains only the fields that the
    /// merge key inserts.
    Only,
    /// The merge key stays, with this node as its value. The current pass over the document does not evaluate the
    /// other fields of the map.
    Pending(Node),
    /// The merge key stays, with this node as its value. This pass evaluates the other fields of the map.
    Stay(Node),
    /// The map becomes a template. If this variant contains a node, this node becomes the value of the merge key in
    /// the template. If this variant contains no node, the template has no merge key.
    Template(Option<Node>),
}

/// Processes a map during one of the passes over its document. Returns the node that replaces the map after this pass.
/// If `overriding` is true, stubs may override the fields of the map. If `template_required` is true, the map becomes a
/// template.
pub(super) fn flow(
    node: &Node,
    env: &Env,
    overriding: bool,
    template_required: bool,
    visit: impl Visit,
) -> Node {
    let Value::Map(map) = node.value() else { return node.clone() };
    if map.contains_key("<<") && map.contains_key("<<<") {
        return wrong(node.clone(), "multiple merge keys not allowed");
    }
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
        problem: None,
    };
    let mut inner = env.with_fields(map.clone());
    let (mut processed, mut is_template, mut only) = (true, template_required, false);
    let mut merge_value = None;
    if let Some(value) = ["<<", "<<<"].iter().find_map(|key| map.get(*key)) {
        match base(&mut work, value, node, template_required, &mut inner, visit) {
            Base::Undefined => return node.clone().annotate(|a| a.undefined = true),
            Base::Gone => {}
            Base::Only => only = true,
            Base::Pending(value) => {
                processed = false;
                merge_value = Some(value);
            }
            Base::Stay(value) => merge_value = Some(value),
            Base::Template(value) => {
                is_template = true;
                merge_value = value;
            }
        }
    }
    processed &= !is_template;
    if !only {
        for (key, child) in map.iter() {
            let child = if is_merge_key(key) {
                match &merge_value {
                    Some(value) => value.clone(),
                    None => continue,
                }
            } else if !processed || stays(child, &inner) || waits(child, &inner) {
                child.clone()
            } else {
                let as_template = control::is_template_option(key);
                visit.visit(child, &inner.with_step(key.clone()), overriding, as_template)
            };
            keep(&mut work, key, child);
        }
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
    finish(node, work, same, is_template, env, &inner)
}

fn keep(work: &mut Work, key: &Arc<str>, child: Node) {
    if child.annotations().undefined {
        work.undefined.insert(key.clone(), child);
        return;
    }
    // If a map has the marker `&default`, its fields get the flag `IMPLIED`, which marks a part of a default. The
    // nodes below the fields do not get this flag. `work` contains the flag `DEFAULT` only in the pass that reads
    // the marker.
    let implied = work.flags.has(Flags::DEFAULT) || work.flags.has(Flags::IMPLIED);
    let child = if implied && !child.annotations().flags.has(Flags::IMPLIED) {
        child.annotate(|annotations| annotations.flags |= Flags::IMPLIED)
    } else {
        child
    };
    work.kept.push((key.clone(), child));
}

/// Evaluates `child`, the value of the merge key in the map `whole`. Stores in `work` the fields that the merge key
/// inserts. Returns the effect of the merge key on the map.
///
/// The merge key may select a path in the stubs, such as `other.path` in `<<: (( merge other.path ))`. In this case,
/// the function changes `env`: the fields of the map, which the caller evaluates later with `env`, read the stubs at
/// this path.
fn base(
    work: &mut Work,
    child: &Node,
    whole: &Node,
    template_required: bool,
    env: &mut Env,
    visit: impl Visit,
) -> Base {
    let initial = matches!(child.value(), Value::String(_));
    let base = visit.untagged(child, env);
    let annotations = base.annotations();
    if annotations.undefined {
        return Base::Undefined;
    }
    let expr = match base.value() {
        Value::Expression(expression) => Expression::of(expression).cloned(),
        _ => None,
    };
    if let Some(expr) = expr {
        return match &*expr {
            Expr::Marker(marker) => {
                if let Some(tag) = marker.tag() {
                    work.tag = Some(tag.into());
                }
                let flags = template::flags(marker);
                work.flags |= flags;
                if marker.has("&template") {
                    Base::Template(template::content(marker, flags, whole))
                } else {
                    Base::Pending(base)
                }
            }
            _ if template_required => Base::Template(Some(whole.with_value(format!("(( {expr} ))")))),
            // The expression of the merge key is an optional merge, and the stubs contain no value for the merge.
            // This is not an error. The merge key is removed.
            Expr::Merge(merge) if !initial && !merge.required => Base::Gone,
            _ => Base::Pending(base),
        };
    }
    if annotations.redirect != Redirect::None {
        work.redirect = annotations.redirect.clone();
        *env = env.redirected(&annotations.redirect);
    }
    work.merged |= annotations.merged;
    work.replace = annotations.replace;
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
    if work.replace { Base::Only } else { Base::Gone }
}

/// Tells whether `map` consists of `fields`. Both must have the same keys in the same order, and the node of each key
/// must be [`identical`] in both.
fn is_same(map: &Map, fields: &[(Arc<str>, Node)]) -> bool {
    map.len() == fields.len()
        && map
            .iter()
            .zip(fields)
            .all(|((ka, a), (kb, b))| (Arc::ptr_eq(ka, kb) || ka == kb) && identical(a, b))
}

/// Tells whether two maps are equal: both have the same keys, and the node of each key is [`identical`] in both.
/// The caller must make sure that both maps have the same number of entries.
fn is_same_map(a: &Map, b: &Map) -> bool {
    a.iter().zip(b).all(|((ka, a), (kb, b))| ka == kb && identical(a, b))
}

/// Adds the fields of the stub that have the marker `&inject` or `&default`. Fields that the map already has are not
/// added. Returns whether at least one field was added.
///
/// `same` is the map if this pass has not changed it so far; `work.fields` is then empty. If the pass has changed the
/// map, `same` is `None`, and `work.fields` contains the fields of the changed map.
fn inject(work: &mut Work, same: Option<&Arc<Map>>, stub: Option<&Node>) -> bool {
    if work.merged {
        work.flags |= Flags::INJECTED;
        return false;
    }
    let Some(Value::Map(map)) = stub.map(Node::value) else { return false };
    let mut injected = false;
    for (key, node) in map.iter().filter(|(_, node)| node.annotations().flags.is_inject()) {
        if !injected && let Some(same) = same {
            if same.contains_key(key) {
                continue;
            }
            work.fields = (**same).clone();
        }
        if !work.fields.contains_key(key) {
            // The map may be in a stub of another document. The flag `INJECT` makes the node override a value of
            // that document, even if the node has the marker `&default`.
            let node = instantiated(node.clone())
                .annotate(|annotations| annotations.flags |= Flags::INJECT | Flags::INJECTED);
            work.fields.insert(key.clone(), node);
            injected = true;
        }
    }
    injected
}

/// Creates the node that replaces the map `node` after this pass. If `is_template` is true, the new node is a
/// template. If the map is a control structure, the new node is the result of the control structure. In all other
/// cases, the new node is a map with the fields in `work`.
///
/// If `same` is true, the pass has not changed the fields of the map. `env` is the environment of the map, and `inner`
/// is the environment of the fields.
fn finish(node: &Node, work: Work, same: bool, is_template: bool, env: &Env, inner: &Env) -> Node {
    let before = node.annotations();
    let Work { fields, undefined, flags, tag, redirect, replace, problem, .. } = work;
    let Value::Map(old) = node.value() else { return node.clone() };
    let unchanged = same || (old.len() == fields.len() && is_same_map(old, &fields));
    let fields = if unchanged { old.clone() } else { Arc::new(fields) };
    let annotations = Annotations { redirect, replace: before.replace || replace, ..before.clone() };
    let annotated = |value: Value| {
        let result = node.with_value(value);
        if annotations == *before { result } else { result.with_annotations(annotations.clone()) }
    };
    let mut result = if is_template {
        let prepared = match node.source_name() {
            Some(source) => Node::new(Value::Map(fields)).with_source(source.clone()),
            None => Node::new(Value::Map(fields)),
        };
        annotated(as_template(node, prepared, env).into_value())
    } else {
        annotated(Value::Map(fields))
    };
    if let Some(problem) = problem {
        result = wrong(result, problem);
    } else if before.failed {
        result = result.annotate(|annotations| annotations.error = true);
    } else if !is_template && let Some((given, done)) = control::run(&result, &undefined, inner) {
        let flags = result.annotations().flags;
        let with_flags = done && !flags.is_empty();
        result = if with_flags { given.annotate(|annotations| annotations.flags |= flags) } else { given };
    }
    updated(result, flags, tag)
}

/// Adds `flags` to the flags of a node, and sets its tag to `tag`. If `tag` is `None`, the node keeps its tag.
pub(super) fn updated(node: Node, flags: Flags, tag: Option<Arc<str>>) -> Node {
    let known = node.annotations();
    let node = if known.flags.has(flags) { node } else { node.annotate(|known| known.flags |= flags) };
    match tag {
        Some(tag) if node.annotations().tag.as_ref() != Some(&tag) => {
            node.annotate(|known| known.tag = Some(tag))
        }
        _ => node,
    }
}
