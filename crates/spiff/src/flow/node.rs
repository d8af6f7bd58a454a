//! Processes one node in one pass.

use std::sync::Arc;

use super::issue::{with_issue, wrong};
use super::template::{declared_template, instantiated, substitution};
use super::unchanged::identical;
use super::visit::Visit;
use super::{control, list, map};
use crate::eval::expression::Expression;
use crate::eval::resolved::is_resolved_node;
use crate::eval::short::{short, shorten};
use crate::eval::{Env, Eval, Info, Outcome, eval};
use crate::syntax::ast::{Child, Expr};
use crate::syntax::embedded;
use crate::too_deep;
use crate::trace::{Trace, TraceStep};
use crate::value::{Annotations, Flags, Issue, Node, Redirect, TemplateValue, Value};

/// Implements [`Visit`]. The code for lists and maps calls the methods of this type to process the nodes below a list
/// or map.
#[derive(Clone, Copy)]
struct Below;

impl Visit for Below {
    fn visit(self, node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node {
        flow(node, env, overriding, as_template)
    }

    fn untagged(self, node: &Node, env: &Env) -> Node {
        flow_untagged(node, env, false, false)
    }
}

/// Processes a node in one pass over its document.
///
/// If `overriding` is true, a stub can override the node itself: the value in the stub replaces the value of the node.
/// If `as_template` is true, a map, list or expression becomes a template. The content of the template is evaluated
/// when an expression uses the template.
///
/// The marker `&tag:` gives a node a tag. A tag is a name by which expressions can refer to the node. The function
/// registers the tag when the node is completely evaluated.
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
            // If the value is null, the report shows the expression that has set the tag.
            let shown = if matches!(result.value(), Value::Null) {
                result.with_value(node.value().clone())
            } else {
                result
            };
            wrong(shown, message)
        }
    }
}

fn note(trace: &Trace, before: &Node, after: &Node, env: &Env) {
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

/// The annotations that a node keeps when a pass gives the node a new value.
struct Carried {
    flags: Flags,
    redirect: Redirect,
    replace: bool,
    merged: bool,
    key_name: Option<Arc<str>>,
}

fn flow_untagged(node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node {
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
                let result = map::flow(&node, env, !is_control, as_template, Below);
                if !is_control || matches!(result.value(), Value::Map(_)) {
                    return result;
                }
                node = result;
            }
            Value::List(_) => return list::flow(&node, env, as_template, Below),
            Value::String(text) => {
                if let Some(expr) = parse(text, env) {
                    // This pass only parses the expression. Stubs can override the node in later passes.
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

/// Returns the expression in a string. Returns `None` if the string contains no valid expression.
fn parse(text: &str, env: &Env) -> Option<Child> {
    let inner = embedded::expression(text, env.state().features.interpolation)?;
    // If the text is no valid expression, it stays text, and is reported if it remains in the result.
    env.state().parse(&inner, &env.place()).ok()
}

/// Evaluates an expression in this pass. Returns the resulting node in `Ok` or in `Err`.
///
/// `Err` is no error here: it means that a stub may still override the node with another value. A node in `Ok` is final
/// for this pass.
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

/// Creates the node that replaces `node` after this pass. `value` is the value of the expression in `node`, or the
/// expression that the next pass evaluates.
///
/// `info` is the information from the evaluation. The function first stores the fields `key_name` and `redirect` of
/// `info` in `carried`, each only if the field is set. The annotations of the new node then come from `node`, `info`
/// and `carried`.
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

/// Returns the node of a stub that overrides `node`, with the annotations in `carried` added. Returns `node` itself if
/// no stub contains a value for `node`.
///
/// Also returns `node` itself if stubs are not allowed to override `node`. For example, they are not allowed if
/// `overriding` is false, or if `node` comes from a merge.
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
