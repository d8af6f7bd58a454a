//! One node in one pass.

use std::sync::Arc;

use super::{control, list, map};
use crate::eval::closure::{Expression, Template, short, shorten};
use crate::eval::{Env, Eval, Info, Outcome, eval, template};
use crate::syntax::ast::{Child, Expr};
use crate::syntax::{embedded, too_deep};
use crate::trace::TraceStep;
use crate::value::{Annotations, Flags, Issue, Node, Redirect, Value};

/// Processes a node and, if it is complete then, names it by its tag. `overriding`: the stubs' values win.
/// `as_template`: the content is kept for later.
pub(super) fn flow(node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node {
    let result = too_deep::with_stack(|| flow_untagged(node, env, overriding, as_template));
    if let Some(trace) = &env.state().trace {
        note(trace, node, &result, env);
    }
    let Some(tag) = result.annotations().tag.clone() else { return result };
    if !crate::eval::find::is_resolved_node(&result, env.state().features.control) {
        return result;
    }
    match env.state().tag(&tag, &result, &env.path) {
        Ok(()) => result,
        Err(message) => {
            // What is reported is the expression that gave the tag.
            let shown = if matches!(result.value(), Value::Null) {
                result.with_value(node.value().clone())
            } else {
                result
            };
            with_issue(shown, true, true, Some(Arc::new(Issue::new(message))), env)
        }
    }
}

/// Whether nothing can happen to a node: it is plain data, and there are no stubs that could override it.
pub(super) fn stays(node: &Node, env: &Env) -> bool {
    if !env.level.stubs.is_empty() || node.has_annotations() {
        return false;
    }
    match node.value() {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Bytes(_) => true,
        Value::String(text) => !text.contains("(("),
        _ => false,
    }
}

fn note(trace: &crate::trace::Trace, before: &Node, after: &Node, env: &Env) {
    if !trace.wants(&env.path.text()) || identical(before, after) {
        return;
    }
    let annotations = after.annotations();
    let event = match (after.value(), &annotations.issue) {
        _ if annotations.undefined => "is undefined, and goes".to_owned(),
        (Value::Expression(_), Some(issue)) if annotations.error => format!("failed: {}", issue.message),
        (Value::Expression(_), Some(issue)) => format!("waits: {}", issue.message),
        (Value::Expression(_), None) => "is an expression".to_owned(),
        (_, Some(issue)) if annotations.failed => format!("failed: {}", issue.message),
        _ if before.source() != after.source() && !after.source().is_empty() => {
            format!("taken from {}", after.source())
        }
        _ if matches!(before.value(), Value::Expression(_)) => "evaluated".to_owned(),
        _ => "processed".to_owned(),
    };
    trace.note(TraceStep {
        document: env.level.source.to_string(),
        pass: env.state().pass(),
        event,
        value: shorten(&short(after)),
    });
}

/// Adds what is wrong with a node; where it happened is here, unless that is known.
pub(super) fn with_issue(
    node: Node,
    error: bool,
    failed: bool,
    issue: Option<Arc<Issue>>,
    env: &Env,
) -> Node {
    node.annotate(|annotations| {
        annotations.error = error;
        annotations.failed = failed;
        if let Some(issue) = issue.filter(|issue| !issue.message.is_empty()) {
            let known = annotations.issue.as_ref().and_then(|issue| issue.path.clone());
            annotations.issue = Some(if issue.path.is_some() {
                issue
            } else {
                let path = known.unwrap_or_else(|| env.path.to_vec().into());
                Arc::new(Issue { path: Some(path), ..(*issue).clone() })
            });
        }
    })
}

/// What of a node carries over to its result.
struct Carried {
    flags: Flags,
    redirect: Redirect,
    replace: bool,
    merged: bool,
    key_name: Option<Arc<str>>,
}

pub(super) fn flow_untagged(node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node {
    if env.state().step().is_err() {
        return node.clone();
    }
    let annotations = node.annotations();
    let mut carried = Carried {
        flags: annotations.flags,
        redirect: annotations.redirect.clone(),
        replace: annotations.replace,
        merged: annotations.merged,
        key_name: annotations.key_name.clone(),
    };
    let redirected;
    let env = if annotations.redirect == Redirect::None {
        env
    } else {
        redirected = env.redirected(&annotations.redirect);
        &redirected
    };
    let mut node = node.clone();
    if !carried.replace {
        let is_expression = matches!(node.value(), Value::Expression(_));
        if carried.merged && !is_expression {
            return node;
        }
        if as_template && let Some(template) = enforced(&node, env) {
            return template;
        }
        match node.value() {
            Value::Map(_) => {
                if !control::is_one(&node, env) {
                    return map::flow(&node, env, true).0;
                }
                let (result, done) = map::flow(&node, env, false);
                if !done {
                    return result;
                }
                if matches!(result.value(), Value::Map(_)) {
                    return map::flow(&result, env, true).0;
                }
                carried.flags = result.annotations().flags;
                node = result;
            }
            Value::List(_) => return list::flow(&node, env),
            Value::String(text) => {
                if let Some(expr) = parse(text, env) {
                    // What it is has to be known before it is overridden.
                    return node.with_value(Expression::value(expr));
                }
            }
            Value::Expression(expression) => {
                let Some(expr) = Expression::of(expression).cloned() else { return node };
                match evaluated(node, &expr, env, overriding, &mut carried) {
                    Ok(done) => return done,
                    Err(open) => node = open,
                }
            }
            _ => {}
        }
    }
    overridden(node, env, overriding, carried)
}

/// The expression that a string is.
pub(super) fn parse(text: &str, env: &Env) -> Option<Child> {
    let inner = embedded::expression(text, env.state().features.interpolation)?;
    // What doesn't parse stays text, and is reported if it is there in the end.
    env.state().parse(&inner, &env.place()).ok()
}

/// The content of an option whose value is a template, whether it says so or not.
fn enforced(node: &Node, env: &Env) -> Option<Node> {
    match node.value() {
        Value::Map(map) if map.iter().any(|(key, node)| is_template_marker(key, node, env)) => None,
        Value::List(list)
            if list.iter().any(|entry| {
                crate::eval::find::insert(entry).is_some_and(|(key, node)| is_template_marker(key, node, env))
            }) =>
        {
            None
        }
        Value::String(text) => {
            let expr = parse(text, env)?;
            match &*expr {
                Expr::Marker(marker) if marker.has("&template") => None,
                _ => Some(as_template(node, node.clone(), env)),
            }
        }
        Value::Map(_) | Value::List(_) => Some(as_template(node, node.clone(), env)),
        _ => None,
    }
}

fn is_template_marker(key: &str, node: &Node, env: &Env) -> bool {
    if !crate::eval::find::is_merge_key(key) {
        return false;
    }
    let expr = match node.value() {
        Value::String(text) => parse(text, env),
        Value::Expression(expression) => Expression::of(expression).cloned(),
        _ => None,
    };
    matches!(expr.as_deref(), Some(Expr::Marker(marker)) if marker.has("&template"))
}

/// A node whose value is a template.
pub(super) fn as_template(node: &Node, prepared: Node, env: &Env) -> Node {
    let template = Template { path: env.path.text(), prepared, original: node.clone(), env: env.clone() };
    node.with_value(template.into_value())
}

/// An expression in this pass: what it became if that is final, or what the stubs may still override.
fn evaluated(
    node: Node,
    expr: &Child,
    env: &Env,
    overriding: bool,
    carried: &mut Carried,
) -> Result<Node, Node> {
    let own;
    let env = if node.source() == &*env.source {
        env
    } else {
        own = Env { source: node.source().into(), ..env.clone() };
        &own
    };
    let mut node = node;
    let mut flags = Flags::NONE;
    let result = match &**expr {
        Expr::Marker(marker) => {
            if let Some(tag) = marker.tag()
                && node.annotations().tag.is_none()
            {
                node = node.annotate(|annotations| annotations.tag = Some(tag.into()));
            }
            flags = template::flags(marker);
            if marker.has("&template") {
                match template::content(marker) {
                    Some(content) => {
                        let prepared = Node::new(content).with_source(env.source.clone());
                        let template = as_template(&node, prepared, env);
                        Eval::with(template.into_value(), Info { flags, ..Info::default() })
                    }
                    None => Eval::error("empty template value"),
                }
            } else {
                eval(expr, env, false)
            }
        }
        _ => eval(expr, env, false),
    };
    let Eval { mut outcome, mut info } = result;
    if flags.has(Flags::DYNAMIC)
        && let Outcome::Value(value) = &outcome
        && !matches!(value, Value::Template(_))
    {
        outcome = Outcome::Failed;
        info = info.with_error("dynamic marker for non-template value node");
    }
    carried.replace |= info.replace;
    carried.flags |= info.flags;
    let value = match outcome {
        Outcome::Failed => {
            let failed = with_issue(node, true, info.failed, info.issue, env);
            return if overriding { Err(failed) } else { Ok(failed) };
        }
        Outcome::Value(Value::String(text)) => match parse(&text, env) {
            Some(expr) => Expression::value(expr),
            None => Value::String(text),
        },
        Outcome::Value(value) => value,
        Outcome::Later(rest) => Expression::value(rest),
    };
    let is_expression = matches!(value, Value::Expression(_));
    let result = noted(value, &node, info, env, carried);
    let annotations = result.annotations();
    if is_expression || annotations.merged || !overriding || annotations.preferred {
        return Ok(result);
    }
    carried.replace = annotations.replace;
    Err(result)
}

/// The node of a value, with all that is known about it.
fn noted(value: Value, node: &Node, info: Info, env: &Env, carried: &mut Carried) -> Node {
    let before = node.annotations();
    if let Some(key_name) = info.key_name {
        carried.key_name = Some(key_name);
    }
    if info.redirect != Redirect::None {
        carried.redirect = info.redirect;
    }
    let issue = info.issue.filter(|issue| !issue.message.is_empty());
    let annotations = Annotations {
        undefined: info.undefined,
        preferred: before.preferred || info.preferred,
        key_name: carried.key_name.clone(),
        redirect: carried.redirect.clone(),
        replace: carried.replace,
        merged: !carried.replace && (carried.merged || info.merged),
        flags: carried.flags,
        tag: before.tag.clone(),
        ..Annotations::NONE
    };
    let result = Node::new(value)
        .with_source(info.source.unwrap_or_else(|| node.source().into()))
        .with_annotations(annotations);
    match issue {
        Some(issue) => with_issue(result, false, info.failed, Some(issue), env),
        None => result,
    }
}

/// What the first stub has at this place, if it may win.
fn overridden(node: Node, env: &Env, overriding: bool, carried: Carried) -> Node {
    let annotations = node.annotations();
    let redirects = matches!(annotations.redirect, Redirect::To(_));
    if carried.merged || annotations.merged || annotations.replace || redirects || !overriding || env.no_merge
    {
        return node;
    }
    let Some(stub) = env.here_in_stubs() else { return node };
    if stub.annotations().flags.is_default() || annotations.flags.has(Flags::INJECTED) {
        return node;
    }
    let mut stub = stub;
    let flags = if carried.flags.is_default() {
        (carried.flags | Flags::INJECT).without(Flags::DEFAULT)
    } else {
        carried.flags
    };
    let key_name = carried.key_name;
    let redirect = carried.redirect;
    let replace = carried.replace;
    stub = stub.annotate(|annotations| {
        if key_name.is_some() {
            annotations.key_name = key_name;
        }
        annotations.replace |= replace;
        if replace || redirect != Redirect::None {
            annotations.redirect = redirect;
        }
        annotations.flags |= flags;
    });
    stub
}

/// A dynamic template is made anew wherever it is used.
pub(super) fn instantiated(stub: Node) -> Node {
    if !stub.annotations().flags.has(Flags::DYNAMIC) {
        return stub;
    }
    match stub.value() {
        Value::Template(_) => {
            let template = Arc::new(Expr::Known(stub.value().clone()));
            let substitution = Expression::value(Arc::new(Expr::Substitution(template)));
            let node = stub.with_value(substitution);
            // It is what the stub has: there is nothing to override.
            node.annotate(|annotations| annotations.flags |= Flags::INJECTED)
        }
        _ => stub,
    }
}

/// Whether two nodes are the same, with all that is known about them. What is the same in memory isn't looked into.
pub(super) fn identical(a: &Node, b: &Node) -> bool {
    if a.annotations() != b.annotations() || a.source() != b.source() {
        return false;
    }
    match (a.value(), b.value()) {
        (Value::List(a), Value::List(b)) => {
            Arc::ptr_eq(a, b) || (a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| identical(a, b)))
        }
        (Value::Map(a), Value::Map(b)) => {
            Arc::ptr_eq(a, b)
                || (a.len() == b.len()
                    && a.iter().zip(b.iter()).all(|((ka, a), (kb, b))| ka == kb && identical(a, b)))
        }
        (Value::Lambda(a), Value::Lambda(b)) => Arc::ptr_eq(a, b) || a.text() == b.text(),
        (Value::Template(a), Value::Template(b)) => {
            Arc::ptr_eq(a, b) || identical(a.original(), b.original())
        }
        (a, b) => a == b,
    }
}
