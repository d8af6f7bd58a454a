//! Functions that receive their arguments unevaluated.

use std::sync::Arc;

use super::closure::Closure;
use super::lambda;
use super::mapping::style;
use super::{Env, Eval, Info, Outcome, Parts};
use crate::syntax::ast::{Argument, Call, Child, Expr, Sync};
use crate::syntax::quote::go_quote;
use crate::value::{Map, Node, Value};

pub(super) fn is_one(name: &str) -> bool {
    matches!(name, "defined" | "valid" | "require" | "optional" | "stub" | "catch" | "sync")
}

pub(super) fn call(expr: &Child, name: &str, call: &Call, env: &Env) -> Eval {
    let arguments = &call.arguments[..];
    if !call.named.is_empty() {
        return Eval::error(format!("no named arguments for builtin function ({})", call.function));
    }
    match name {
        "defined" => defined(expr, arguments, env, false),
        "valid" => defined(expr, arguments, env, true),
        "require" => require(expr, arguments, env),
        "optional" => optional(expr, arguments, env),
        "stub" => stub(expr, arguments, env),
        "catch" => match arguments {
            // The next pass evaluates the argument, because its value may be known then.
            [argument] => Eval::later(Arc::new(Expr::Catch(argument.expr.clone(), None)), Info::default()),
            _ => Eval::error("catch requires a single argument"),
        },
        _ => sync(arguments),
    }
}

/// Evaluates `valid(…)` if the parameter `valid` is true, otherwise `defined(…)`. Both tell whether all arguments have
/// a value. For `valid(…)`, null does not count as a value.
fn defined(expr: &Child, arguments: &[Argument], env: &Env, valid: bool) -> Eval {
    let mut waiting = false;
    let mut all = true;
    for argument in arguments {
        let Eval { outcome, info } = super::eval(&argument.expr, env, true);
        match outcome {
            Outcome::Later(_) => waiting = true,
            _ if waiting => {}
            Outcome::Failed => return Eval::value(false),
            Outcome::Value(_) if info.undefined => return Eval::value(false),
            Outcome::Value(value) => all &= !valid || !matches!(value, Value::Null),
        }
    }
    if waiting { Eval::later(expr.clone(), Info::default()) } else { Eval::value(all) }
}

fn require(expr: &Child, arguments: &[Argument], env: &Env) -> Eval {
    let [argument] = arguments else { return Eval::error("one argument expected for 'require'") };
    let Eval { outcome, info } = super::eval(&argument.expr, env, true);
    match outcome {
        Outcome::Later(_) => Eval::later(expr.clone(), Info::default()),
        Outcome::Value(value) if !info.undefined && !matches!(value, Value::Null) => Eval::value(value),
        _ => {
            let shown = go_quote(&argument.expr.to_string());
            Eval::error(format!("required expression {shown} undefined"))
        }
    }
}

fn optional(expr: &Child, arguments: &[Argument], env: &Env) -> Eval {
    let [condition, argument] = arguments else {
        return Eval::error("condition and template required for optional()");
    };
    let Eval { outcome, info } = super::eval(&condition.expr, env, false);
    match outcome {
        Outcome::Later(_) => Eval::later(expr.clone(), info),
        Outcome::Value(value) if !info.undefined && value.is_true() => {
            let result = super::eval(&argument.expr, env, false);
            Eval { outcome: result.outcome, info: result.info.join(info) }
        }
        _ => Eval::undefined(),
    }
}

/// Evaluates `stub`: returns the value that the stubs contain at the path of the expression, or at the given
/// path.
fn stub(expr: &Child, arguments: &[Argument], env: &Env) -> Eval {
    let path: Vec<Arc<str>> = match arguments {
        [] => env.path.to_vec(),
        [argument] => match stub_path(expr, &argument.expr, env) {
            Ok(path) => path,
            Err(eval) => return eval,
        },
        _ => return Eval::error("a maximum of one argument expected for 'stub'"),
    };
    match env.in_stubs(&path) {
        Some(node) => Eval::value(node.into_value()),
        None => Eval::error(format!("'{}' not found in any stub", path.join("."))),
    }
}

fn stub_path(expr: &Child, argument: &Child, env: &Env) -> Result<Vec<Arc<str>>, Eval> {
    if let Expr::Reference(reference) = &**argument {
        return Ok(reference.path.to_vec());
    }
    let Eval { outcome, info } = super::eval(argument, env, true);
    match outcome {
        Outcome::Later(_) => Err(Eval::later(expr.clone(), info)),
        Outcome::Failed => Err(Eval::failed(info)),
        Outcome::Value(_) if info.undefined => Ok(env.path.to_vec()),
        Outcome::Value(Value::String(text)) => Ok(text.split('.').map(Arc::from).collect()),
        Outcome::Value(Value::List(steps)) => {
            let steps: Option<Vec<Arc<str>>> =
                steps.iter().map(|step| step.as_str().map(Arc::from)).collect();
            steps.ok_or_else(|| Eval::error("stub() requires a string entries in list"))
        }
        Outcome::Value(_) => Err(Eval::error("stub() requires a string or reference argument")),
    }
}

fn sync(arguments: &[Argument]) -> Eval {
    let at = |position: usize| arguments.get(position).map(|argument| argument.expr.clone());
    let (2..=4, Some(source), Some(condition)) = (arguments.len(), at(0), at(1)) else {
        return Eval::error("2 or 3 arguments required for sync");
    };
    let sync = Sync { source, condition, value: at(2), timeout: at(3), function: true };
    Eval::later(Arc::new(Expr::Sync(Arc::new(sync))), Info::default())
}

/// Evaluates the expression `catch`, which handles a failure of another expression `e`:
///
/// - `catch[e|value,error|->r]` calls the lambda. If `e` has a value, `error` is null. If `e` fails, `value` is
///   null, and `error` is the error message.
/// - `catch(e)` without a lambda returns a map with the fields `valid` and `error`. If `e` has a value, the map
///   also has the field `value`.
pub(super) fn catch(expr: &Child, source: &Child, lambda: Option<&Child>, env: &Env) -> Eval {
    let mut closure = None;
    if let Some(lambda) = lambda {
        let Eval { outcome, info } = super::eval(lambda, env, false);
        match outcome {
            Outcome::Failed => return Eval::failed(info),
            Outcome::Later(_) => return Eval::later(expr.clone(), info),
            Outcome::Value(Value::Lambda(value)) => closure = Some((value, style(lambda))),
            Outcome::Value(_) => return Eval::error("catch requires a lambda value"),
        }
    }
    let mut parts = Parts::default();
    let tried = match parts.value(source, env, false) {
        Ok(value) => Ok(value),
        Err(failed) => Err(failed.info.message().to_owned()),
    };
    if let Some(limit) = env.state().exhausted() {
        return Eval::error(limit);
    }
    if tried.is_ok() && !parts.resolved {
        let lambda = lambda.cloned();
        return parts.later(|pushed| Expr::Catch(pushed.next(), lambda));
    }
    let node = |value: Value| Node::new(value).with_source(env.source.clone());
    let Some((value, style)) = closure else {
        let mut map = Map::new();
        map.insert("valid".into(), node(tried.is_ok().into()));
        match tried {
            Ok(value) => {
                map.insert("error".into(), node("".into()));
                map.insert("value".into(), node(value));
            }
            Err(message) => {
                map.insert("error".into(), node(message.into()));
            }
        }
        return Eval::value(map);
    };
    let Some(closure) = Closure::of(&value) else { return Eval::error("catch requires a lambda value") };
    let mut arguments = match tried {
        Ok(value) => vec![node(value), node(Value::Null)],
        Err(message) => vec![node(Value::Null), node(message.into())],
    };
    match closure.lambda.parameters.len() {
        1 | 2 => arguments.truncate(closure.lambda.parameters.len()),
        0 => {
            return Eval::error(
                "lambda expression for sync condition must take one or two arguments, found 0",
            );
        }
        _ => return Eval::error("catch function takes a maximum of 2 arguments"),
    }
    match lambda::call(closure, style, &[], &arguments, env, false) {
        Eval { outcome: Outcome::Later(_), info } => Eval::later(expr.clone(), info),
        done => done,
    }
}
