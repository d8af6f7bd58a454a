//! Evaluates references and postfix operations: paths, indices, slices, projections.

use std::sync::Arc;

use super::find::Found;
use super::resolved::is_locally_resolved;
use super::{Env, Eval, Info, Outcome, Parts, Tag};
use crate::syntax::ast::{Argument, Child, Expr, Path, Reference};
use crate::value::select;
use crate::value::{Node, Value};

pub(super) fn eval(expr: &Child, reference: &Reference, env: &Env, locally: bool) -> Eval {
    match &reference.tag {
        None => by_name(expr, reference, env, locally),
        Some(tag) if matches!(&**tag, "doc.0" | "doc:0") => {
            if is_whole(&reference.path) {
                return Eval::error("no reference to actual document possible");
            }
            from_root(expr, reference, env, locally)
        }
        Some(tag) => by_tag(expr, tag, reference, env, locally),
    }
}

fn is_whole(path: &Path) -> bool {
    path.len() == 1 && path[0].is_empty()
}

fn by_name(expr: &Child, reference: &Reference, env: &Env, locally: bool) -> Eval {
    if reference.path[0].is_empty() {
        return from_root(expr, reference, env, locally);
    }
    let mut found = None;
    walk(expr, reference, 0, env, locally, |name| {
        found = match &found {
            None => env.name(name),
            Some(found) => Found::step(found, name),
        };
        found.as_ref().map(Found::node)
    })
}

fn from_root(expr: &Child, reference: &Reference, env: &Env, locally: bool) -> Eval {
    let skip = usize::from(reference.path[0].is_empty());
    let Some(root) = env.root_node() else { return Eval::error("'' not found") };
    if !is_locally_resolved(&root, env.state().features.control) {
        return waiting(expr, &root, "'' not complete".to_owned());
    }
    if skip == reference.path.len() {
        return Eval::value(root.into_value());
    }
    let mut found = None;
    walk(expr, reference, skip, env, locally, |name| {
        found = match &found {
            None => env.root_name(name),
            Some(found) => Found::step(found, name),
        };
        found.as_ref().map(Found::node)
    })
}

/// Follows a path step by step. If a node does not exist, the evaluation fails. If a node on the path is not
/// evaluated yet, the whole expression `expr` is left for a later pass.
fn walk(
    expr: &Child,
    reference: &Reference,
    skip: usize,
    env: &Env,
    locally: bool,
    mut step: impl FnMut(&str) -> Option<Node>,
) -> Eval {
    let control = env.state().features.control;
    let until = |position: usize| reference.path[..=position].join(".");
    let mut here = None;
    for (position, name) in reference.path.iter().enumerate().skip(skip) {
        let Some(node) = step(name) else {
            return Eval::error(format!("'{}' not found", until(position)));
        };
        if !is_locally_resolved(&node, control) {
            let what =
                if matches!(node.value(), Value::Expression(_)) { "unresolved" } else { "not complete" };
            return waiting(expr, &node, format!("'{}' {what}", until(position)));
        }
        here = Some(node);
    }
    match here {
        Some(node) => finish(expr, reference, node, env, locally),
        None => Eval::error(format!("'{reference}' not found")),
    }
}

fn waiting(expr: &Child, node: &Node, message: String) -> Eval {
    let annotations = node.annotations();
    let failed = annotations.failed || annotations.error;
    Eval::later(expr.clone(), Info::default().waiting(message, failed))
}

fn finish(expr: &Child, reference: &Reference, node: Node, env: &Env, locally: bool) -> Eval {
    if !locally && !env.state().is_resolved(&node) {
        return waiting(expr, &node, format!("'{reference}' unresolved"));
    }
    let info = Info { key_name: node.annotations().key_name.clone(), ..Info::default() };
    Eval::with(node.into_value(), info)
}

fn by_tag(expr: &Child, name: &str, reference: &Reference, env: &Env, locally: bool) -> Eval {
    let tags = env.state().tags(name);
    if tags.is_empty() {
        return Eval::error(format!("tag '{name}' not found"));
    }
    let exact = |tag: &Tag| *tag.name == *name.replace(':', ".");
    if is_whole(&reference.path) {
        if tags.len() == 1 || exact(&tags[0]) {
            return Eval::value(tags[0].node.value().clone());
        }
        let names: Vec<&str> = tags.iter().map(|tag| &*tag.name).collect();
        return Eval::error(format!("found multiple tags for '{name}': {}", names.join(", ")));
    }
    let mut best: Option<(&Tag, Eval)> = None;
    for tag in &tags {
        if best.as_ref().is_some_and(|(best, _)| best.level() < tag.level()) {
            break;
        }
        let result = below_tag(expr, tag, reference, env, locally);
        if matches!(result.outcome, Outcome::Failed) {
            continue;
        }
        if exact(tag) {
            return result;
        }
        if let Some((other, _)) = &best {
            return Eval::error(format!(
                "ambigious tag resolution for {reference}: {} <-> {}",
                other.name, tag.name
            ));
        }
        best = Some((tag, result));
    }
    // If the path exists below none of the tagged nodes, the evaluation fails without a message.
    best.map_or_else(|| Eval::failed(Info::default()), |(_, result)| result)
}

fn below_tag(expr: &Child, tag: &Tag, reference: &Reference, env: &Env, locally: bool) -> Eval {
    let control = env.state().features.control;
    let path = reference.path.iter().map(|step| &**step).filter(|step| !step.is_empty());
    match select::path(&tag.node, path, control) {
        Some(node) => {
            if !is_locally_resolved(&node, control) {
                return waiting(expr, &node, format!("'{reference}' unresolved"));
            }
            finish(expr, reference, node, env, locally)
        }
        None => Eval::error(format!("'{}' not found", reference.path[0])),
    }
}

/// Evaluates `[a..b]`.
pub(super) fn range(expr: &Child, start: Option<&Child>, end: Option<&Child>, env: &Env) -> Eval {
    let (Some(start), Some(end)) = (start, end) else {
        return Eval::error("range expression requires start and end index");
    };
    let mut parts = Parts::default();
    let (start, end) =
        match integer(&mut parts, start, env).and_then(|start| Ok((start, integer(&mut parts, end, env)?))) {
            Ok(limits) => limits,
            Err(failed) => return failed,
        };
    if !parts.resolved {
        return Eval::later(expr.clone(), parts.info);
    }
    let count = start.abs_diff(end).saturating_add(1);
    if let Err(limit) = env.state().spend(count.saturating_mul(crate::limits::ENTRY)) {
        return parts.error(limit);
    }
    let node = |value: i64| Node::new(value).with_source(env.source.clone());
    let nodes: Vec<Node> = if start <= end {
        (start..=end).map(node).collect()
    } else {
        (end..=start).rev().map(node).collect()
    };
    Eval::with(nodes, parts.info)
}

fn integer(parts: &mut Parts, expr: &Child, env: &Env) -> Result<i64, Eval> {
    let resolved = parts.resolved;
    match parts.value(expr, env, false)? {
        Value::Int(value) => Ok(value),
        // If the value is not known yet, `Parts::value` returns null. Here, this null counts as zero, like each
        // other null.
        Value::Null => Ok(0),
        _ if resolved != parts.resolved => Ok(0),
        _ => Err(Eval::failed(parts.info.clone().with_error("integer operand required"))),
    }
}

/// Evaluates the base of a path, an index or a slice: the expression before the path, index or slice. If the base
/// has no value, `Err` contains the outcome of the whole expression `expr`.
///
/// If the value of the base is not known yet, the base is replaced by another expression for the next pass (see
/// [`Outcome::Later`]). `rebuild` creates the whole expression from this new base.
fn base(
    expr: &Child,
    base: &Child,
    env: &Env,
    locally: bool,
    rebuild: impl FnOnce(Child) -> Expr,
) -> Result<(Value, Info), Eval> {
    let Eval { outcome, info } = super::eval(base, env, locally);
    match outcome {
        Outcome::Failed => Err(Eval::failed(info)),
        Outcome::Later(rest) if Arc::ptr_eq(&rest, base) => Err(Eval::later(expr.clone(), info)),
        Outcome::Later(rest) => Err(Eval::later(Arc::new(rebuild(rest)), info)),
        Outcome::Value(value) => {
            let control = env.state().features.control;
            let locally = locally || info.raw;
            if !is_locally_resolved(&value, control) || (!locally && !env.state().is_resolved(&value)) {
                return Err(Eval::later(expr.clone(), info));
            }
            Ok((value, info))
        }
    }
}

/// Follows `path` below the value `root`, and returns the outcome of the whole expression `expr`. If a node does
/// not exist, the evaluation fails. If a node on the path is not evaluated yet, the next pass evaluates `expr`
/// again. For `locally`, see [`eval`](super::eval).
fn below(expr: &Child, root: Value, path: &[Arc<str>], env: &Env, locally: bool) -> Eval {
    let control = env.state().features.control;
    let reference = Reference { tag: None, path: path.into() };
    let mut here = Node::new(root);
    walk(expr, &reference, 0, env, locally, |name| {
        here = select::step(&here, name, Some(control))?;
        Some(here.clone())
    })
}

pub(super) fn qualified(expr: &Child, on: &Child, path: &Path, env: &Env, locally: bool) -> Eval {
    match base(expr, on, env, locally, |on| Expr::Qualified(on, path.clone())) {
        Ok((value, info)) => below(expr, value, path, env, locally || info.raw),
        Err(eval) => eval,
    }
}

pub(super) fn index(expr: &Child, on: &Child, index: &[Argument], env: &Env) -> Eval {
    let (root, info) = match base(expr, on, env, true, |on| Expr::Index(on, index.to_vec())) {
        Ok(found) => found,
        Err(eval) => return eval,
    };
    let mut parts = Parts::default();
    let mut values = Vec::with_capacity(index.len());
    for argument in index {
        match parts.value(&argument.expr, env, false) {
            Ok(value) => values.push(value),
            Err(failed) => return failed,
        }
    }
    if !parts.resolved {
        return Eval::later(expr.clone(), info.join(parts.info));
    }
    let error = |message: &str| Eval::failed(info.clone().with_error(message));
    let step = |value: &Value| match value {
        Value::Int(at) => Some(Arc::from(format!("[{at}]"))),
        Value::String(name) => Some(name.clone()),
        _ => None,
    };
    let path: Option<Vec<Arc<str>>> = match (&values[..], index[0].expand) {
        ([Value::Int(_)], false) if !matches!(root, Value::List(_)) => {
            return error("index requires array expression");
        }
        ([Value::List(steps)], _) => steps.iter().map(|node| step(node)).collect(),
        (values, _) => values.iter().map(step).collect(),
    };
    match path {
        Some(path) if !path.is_empty() => match below(expr, root, &path, env, true) {
            Eval { outcome: Outcome::Value(value), info } if !env.state().is_resolved(&value) => {
                Eval::later(expr.clone(), info)
            }
            found => found,
        },
        _ => error("index or field name required for reference qualifier"),
    }
}

/// Evaluates `a.[1..2]`.
pub(super) fn slice(
    expr: &Child,
    on: &Child,
    (start, end): (Option<&Child>, Option<&Child>),
    env: &Env,
    locally: bool,
) -> Eval {
    let rebuild = |on| Expr::Slice(on, start.cloned(), end.cloned());
    let (root, info) = match base(expr, on, env, locally, rebuild) {
        Ok(found) => found,
        Err(eval) => return eval,
    };
    let Value::List(items) = root else {
        return Eval::failed(info.with_error("slice requires array expression"));
    };
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    // If the evaluation of `start` or `end` fails, the slice also fails, but without a message about the
    // cause.
    let mut operands = Parts { info: info.clone(), ..Parts::default() };
    let (mut from, mut until) = (0, length - 1);
    if let Some(begin) = start {
        match integer(&mut operands, begin, env) {
            Ok(value) => from = value,
            Err(_) => return Eval::failed(info),
        }
        if from < 0 && end.is_none() {
            until = -1;
        }
    }
    if let Some(end) = end {
        match integer(&mut operands, end, env) {
            Ok(value) => until = value,
            Err(_) => return Eval::failed(info),
        }
        if until < 0 && start.is_none() {
            from = -length;
        }
    }
    if start.is_none() && end.is_none() {
        return Eval::failed(info);
    }
    let operands = Parts { info, ..operands };
    if !operands.resolved {
        return Eval::later(expr.clone(), operands.info);
    }
    if from > until {
        return Eval::with(Vec::new(), operands.info);
    }
    if from < 0 {
        if until >= 0 {
            return operands.error("mixed negative and non-negative range not possible for slice");
        }
        if from < -length {
            return operands.error(format!("slice out of range ({from} < -length {length})"));
        }
        from += length;
        until += length;
    } else if until >= length {
        return operands.error(format!("slice out of range ({until} >= length {length})"));
    }
    let range = usize::try_from(from).and_then(|from| usize::try_from(until).map(|until| from..=until));
    match range.ok().and_then(|range| items.get(range)) {
        Some(chosen) => Eval::with(chosen.to_vec(), operands.info),
        None => operands.error("slice out of range"),
    }
}

/// Evaluates `a.[*].b`.
pub(super) fn projection(expr: &Child, source: &Child, rest: &Child, env: &Env, locally: bool) -> Eval {
    // As in the Go program spiff++, the evaluation fails if the value of `source` is not known yet. In this
    // case, `a.[*].b || c` is `c`.
    let (value, parts) = match Parts::only(source, env) {
        Ok(known) => known,
        Err(failed) => return failed,
    };
    let entries: Vec<Value> = match &value {
        Value::List(_) if matches!(**rest, Expr::Item) => return Eval::with(value, parts.info),
        Value::List(list) => list.iter().map(|node| node.value().clone()).collect(),
        Value::Map(map) => map.values().map(|node| node.value().clone()).collect(),
        _ => return parts.error("only map or list allowed for projection"),
    };
    let mut nodes = Vec::with_capacity(entries.len());
    for entry in entries {
        let outer = env.state().set_item(entry);
        let Eval { outcome, .. } = super::eval(rest, env, locally);
        env.state().set_item(outer);
        // If the evaluation of `rest` fails for an entry, the projection also fails, but without a message
        // about the cause.
        match outcome {
            Outcome::Value(value) => nodes.push(Node::new(value).with_source(env.source.clone())),
            Outcome::Later(_) => return Eval::later(expr.clone(), parts.info),
            Outcome::Failed => return Eval::failed(parts.info),
        }
    }
    Eval::with(nodes, parts.info)
}

/// Evaluates `auto`, which gives the size of a resource pool in a manifest of BOSH. The size is the sum of the
/// fields `instances` of all jobs that use the resource pool.
pub(super) fn auto(expr: &Child, path: &Path, env: &Env) -> Eval {
    let pool = match &path[..] {
        [pools, pool, size] if &**pools == "resource_pools" && &**size == "size" => pool,
        _ => return Eval::error("auto only allowed for size entry in resource pools"),
    };
    let pool = pool.split_once(':').map_or(&**pool, |(_, name)| name);
    let Some(jobs) = env.root_name("jobs") else { return Eval::error("no jobs found") };
    let jobs = jobs.node();
    if !env.state().is_resolved(&jobs) {
        return Eval::later(expr.clone(), Info::default());
    }
    let Some(jobs) = jobs.as_list() else { return Eval::error("jobs must be a list") };
    let mut size = 0_i64;
    for job in jobs {
        if job.get("resource_pool").and_then(|name| name.as_str()) == Some(pool) {
            match job.get("instances").and_then(|count| count.as_int()) {
                Some(count) => size = size.wrapping_add(count),
                None => return Eval::failed(Info::default()),
            }
        }
    }
    Eval::value(size)
}
