//! Processes one node in one pass.

use std::sync::Arc;

use super::{control, list, map};
use crate::eval::closure::Template;
use crate::eval::expression::Expression;
use crate::eval::resolved::is_resolved_node;
use crate::eval::short::{short, shorten};
use crate::eval::{Env, Eval, Info, Outcome, eval, template};
use crate::syntax::ast::{Child, Expr};
use crate::syntax::embedded;
use crate::too_deep;
use crate::trace::TraceStep;
use crate::value::{Annotations, Flags, Issue, Node, Redirect, TemplateValue, Value};

/// Processes a node and, if it is then complete, adds its tag. With `overriding`, values of stubs take
/// precedence. With `as_template`, the content is kept for later.
pub(super) fn flow(node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node {
    let result = too_deep::with_stack(|| flow_untagged(node, env, overriding, as_template));
    if let Some(trace) = &env.state().trace {
        note(trace, node, &result, env);
    }
    let Some(tag) = result.annotations().tag.clone() else { return result };
    if !is_resolved_node(&result, env.state().features.control) {
        return result;
    }
    match env.state().tag(&tag, &result, &env.path) {
        Ok(()) => result,
        Err(message) => {
            // The report shows the expression that set the tag.
            let shown = if matches!(result.value(), Value::Null) {
                result.with_value(node.value().clone())
            } else {
                result
            };
            wrong(shown, message)
        }
    }
}

/// Tells whether a node can't change: it is plain data, and no stub could override it.
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

/// Tells whether a node waits for others that are unchanged since it was found pending.
pub(super) fn waits(node: &Node, env: &Env) -> bool {
    let Value::Expression(expression) = node.value() else { return false };
    is_bare(node) && env.state().step().is_ok() && Expression::still_waits(expression, env)
}

/// Tells whether a node has no annotations other than a problem.
pub(super) fn is_bare(node: &Node) -> bool {
    let known = node.annotations();
    known.flags.is_empty()
        && known.tag.is_none()
        && known.redirect == Redirect::None
        && known.key_name.is_none()
        && known.template.is_none()
        && !(known.replace || known.merged || known.preferred || known.undefined)
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

/// Adds a problem to a node. Its origin is this node, unless an earlier problem has set one.
pub(super) fn with_issue(
    node: Node,
    error: bool,
    failed: bool,
    issue: Option<Arc<Issue>>,
    env: &Env,
) -> Node {
    let issue = issue.filter(|issue| !issue.message.is_empty()).map(|issue| {
        let known = node.annotations().issue.as_ref().and_then(|issue| issue.path.clone());
        let path = known.unwrap_or_else(|| env.path.to_vec().into());
        Arc::new(Issue { path: Some(path), ..(*issue).clone() })
    });
    with_issue_here(node, error, failed, issue)
}

/// Adds a problem to a node that is reported at its own path.
pub(super) fn with_issue_here(node: Node, error: bool, failed: bool, issue: Option<Arc<Issue>>) -> Node {
    node.annotate(|annotations| {
        annotations.error = error;
        annotations.failed = failed;
        if issue.is_some() {
            annotations.issue = issue;
        }
    })
}

/// Creates a failed node with a message.
pub(super) fn wrong(node: Node, message: impl Into<String>) -> Node {
    with_issue_here(node, true, true, Some(Arc::new(Issue::new(message))))
}

/// The annotations of a node that its result inherits.
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
    let redirected;
    let env = if annotations.redirect == Redirect::None {
        env
    } else {
        redirected = env.redirected(&annotations.redirect);
        &redirected
    };
    let mut carried = Carried {
        flags: annotations.flags,
        redirect: annotations.redirect.clone(),
        replace: annotations.replace,
        merged: annotations.merged,
        key_name: annotations.key_name.clone(),
    };
    let mut node = node.clone();
    if !carried.replace {
        let is_expression = matches!(node.value(), Value::Expression(_));
        if carried.merged && !is_expression {
            return node;
        }
        match node.value() {
            Value::Map(_) => {
                let is_control = match control::is_one(&node, env) {
                    Ok(is_control) => is_control,
                    Err(message) => {
                        return with_issue(node, true, true, Some(Arc::new(Issue::new(message))), env);
                    }
                };
                let result = map::flow(&node, env, !is_control, as_template);
                if !is_control || matches!(result.value(), Value::Map(_)) {
                    return result;
                }
                node = result;
            }
            Value::List(_) => return list::flow(&node, env, as_template),
            Value::String(text) => {
                if let Some(expr) = parse(text, env) {
                    // A node is parsed before it is overridden.
                    return node.with_value(Expression::value(expr));
                }
            }
            Value::Expression(expression) => {
                let Some(expr) = Expression::of(expression).cloned() else { return node };
                match evaluated(node, &expr, env, overriding, as_template, &mut carried) {
                    Ok(done) => return done,
                    Err(open) => node = open,
                }
            }
            _ => {}
        }
    }
    overridden(node, env, overriding, carried)
}

/// Parses the expression in a string, if it is one.
pub(super) fn parse(text: &str, env: &Env) -> Option<Child> {
    let inner = embedded::expression(text, env.state().features.interpolation)?;
    // Text that doesn't parse stays text, and is reported if it remains in the result.
    env.state().parse(&inner, &env.place()).ok()
}

/// Creates a node whose value is a template.
pub(super) fn as_template(node: &Node, prepared: Node, env: &Env) -> Node {
    let template = Template { path: env.path.text(), prepared, original: node.clone(), env: env.clone() };
    node.with_value(template.into_value())
}

/// Returns the value template that an expression declares, or that it becomes if one is required. `None` if
/// it is none, an error if it is empty.
fn declared_template(node: &Node, expr: &Child, required: bool, env: &Env) -> Option<Result<Eval, Eval>> {
    let (content, flags) = match &**expr {
        Expr::Marker(marker) if marker.has("&template") => {
            let flags = template::flags(marker);
            (template::content(marker, flags, node), flags)
        }
        // A marked expression is not a template itself.
        Expr::Marker(_) => return None,
        _ if required => {
            let text = format!("(( {expr} ))");
            (Some(node.with_value(text)), Flags::NONE)
        }
        _ => return None,
    };
    let info = Info { flags, ..Info::default() };
    Some(match content {
        Some(content) => Ok(Eval::with(as_template(node, content, env).into_value(), info)),
        None => Err(Eval::failed(info.with_error("empty template value"))),
    })
}

/// Evaluates an expression in this pass: returns its final value, or a node that the stubs may still
/// override.
fn evaluated(
    node: Node,
    expr: &Child,
    env: &Env,
    overriding: bool,
    required_template: bool,
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
    if let Expr::Marker(marker) = &**expr
        && let Some(tag) = marker.tag()
        && node.annotations().tag.is_none()
    {
        node = node.annotate(|annotations| annotations.tag = Some(tag.into()));
    }
    let Eval { mut outcome, mut info } = match declared_template(&node, expr, required_template, env) {
        Some(Err(empty)) if !overriding => return Ok(with_issue(node, true, false, empty.info.issue, env)),
        Some(Ok(template) | Err(template)) => template,
        None => eval(expr, env, false),
    };
    carried.flags |= info.flags;
    let mut template = node.annotations().template.clone();
    if carried.flags.has(Flags::DYNAMIC) && template.is_none() {
        if let Outcome::Value(Value::Template(value)) = &outcome {
            template = Some(value.clone());
            outcome = Outcome::Later(substitution(value));
        } else {
            outcome = Outcome::Failed;
            info = info.with_error("dynamic marker for non-template value node");
        }
    }
    carried.replace |= info.replace;
    let value = match outcome {
        Outcome::Failed => {
            let failed = with_issue(node, true, false, info.issue, env);
            return if overriding { Err(failed) } else { Ok(failed) };
        }
        Outcome::Value(Value::String(text)) => match parse(&text, env) {
            Some(expr) => Expression::value(expr),
            None => Value::String(text),
        },
        Outcome::Value(value) => value,
        Outcome::Later(rest) if Arc::ptr_eq(&rest, expr) => Expression::waiting(rest, env),
        Outcome::Later(rest) => Expression::value(rest),
    };
    let is_expression = matches!(value, Value::Expression(_));
    let result = noted(value, &node, info, env, template, carried);
    let annotations = result.annotations();
    if is_expression || annotations.merged || !overriding || annotations.preferred {
        return Ok(result);
    }
    carried.replace = annotations.replace;
    Err(result)
}

/// Creates the node of a value with all its annotations.
fn noted(
    value: Value,
    node: &Node,
    info: Info,
    env: &Env,
    template: Option<Arc<dyn TemplateValue>>,
    carried: &mut Carried,
) -> Node {
    let before = node.annotations();
    if let Some(key_name) = info.key_name {
        carried.key_name = Some(key_name);
    }
    if info.redirect != Redirect::None {
        carried.redirect = info.redirect;
    }
    let issue = info.issue.filter(|issue| !issue.message.is_empty());
    let dynamic = if template.is_some() { Flags::INJECTED | Flags::DYNAMIC } else { Flags::NONE };
    let annotations = Annotations {
        undefined: info.undefined,
        preferred: before.preferred || info.preferred,
        key_name: carried.key_name.clone(),
        redirect: carried.redirect.clone(),
        replace: carried.replace,
        merged: !carried.replace && (carried.merged || info.merged),
        flags: carried.flags | dynamic,
        tag: before.tag.clone(),
        template,
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

/// Returns the value of the first stub at this path, if it may override the node.
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
    let flags = if carried.flags.is_default() {
        (carried.flags | Flags::INJECT).without(Flags::DEFAULT)
    } else {
        carried.flags
    };
    let Carried { redirect, replace, key_name, .. } = carried;
    instantiated(stub).annotate(|annotations| {
        if key_name.is_some() {
            annotations.key_name = key_name;
        }
        annotations.replace |= replace;
        if replace || redirect != Redirect::None {
            annotations.redirect = redirect;
        }
        annotations.flags |= flags;
    })
}

/// Creates the expression that instantiates a template.
fn substitution(template: &Arc<dyn TemplateValue>) -> Child {
    Arc::new(Expr::Substitution(Arc::new(Expr::Known(Value::Template(template.clone())))))
}

/// Returns a stub's node for the next level: the value of a dynamic template is created again there.
pub(super) fn instantiated(stub: Node) -> Node {
    let annotations = stub.annotations();
    if !annotations.flags.has(Flags::DYNAMIC) {
        return stub;
    }
    let template = match stub.value() {
        Value::Template(template) => template.clone(),
        _ => match &annotations.template {
            Some(template) => template.clone(),
            None => return stub,
        },
    };
    let flags = annotations.flags | Flags::INJECTED;
    let annotations = Annotations { flags, template: Some(template.clone()), ..Annotations::NONE };
    Node::new(Expression::value(substitution(&template)))
        .with_source("<substitute>")
        .with_annotations(annotations)
}

/// Tells whether two nodes and their annotations are equal. Shared parts are not compared.
pub(super) fn identical(a: &Node, b: &Node) -> bool {
    if a.same(b) {
        return a.source() == b.source();
    }
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
