//! Evaluates `sync`: repeats an expression until a condition holds.

use std::sync::Arc;

use super::closure::Closure;
use super::lambda;
use super::mapping::style;
use super::{Env, Eval, Info, Outcome, Parts};
use crate::syntax::ast::{Child, Sync};
use crate::value::{Map, Node, Value};

/// Default timeout in seconds.
const SECONDS: i64 = 300;

pub(super) fn eval(expr: &Child, sync: &Arc<Sync>, env: &Env, locally: bool) -> Eval {
    match attempt(expr, sync, env, locally) {
        Ok(eval) | Err(eval) => eval,
    }
}

fn attempt(expr: &Child, sync: &Arc<Sync>, env: &Env, locally: bool) -> Result<Eval, Eval> {
    let again = |info: Info| Eval::later(expr.clone(), info);
    let mut parts = Parts::default();
    let mut seconds = SECONDS;
    if let Some(timeout) = &sync.timeout {
        let value = parts.value(timeout, env, false)?;
        if !parts.resolved {
            return Ok(again(parts.info));
        }
        seconds = value.as_int().ok_or_else(|| Eval::error("integer operand required"))?;
    }
    let Eval { outcome, info } = super::eval(&sync.source, env, false);
    let failure = match &outcome {
        Outcome::Later(_) => return Ok(again(info)),
        Outcome::Failed => Some(info.message().to_owned()),
        Outcome::Value(_) => None,
    };
    let node = |value: Value| Node::new(value).with_source(env.source.clone());
    let mut names = Map::new();
    names.insert("valid".into(), node(failure.is_none().into()));
    names.insert("error".into(), node(failure.clone().unwrap_or_default().into()));
    let value = match outcome {
        Outcome::Value(value) => {
            names.insert("value".into(), node(value.clone()));
            value
        }
        _ => Value::Null,
    };
    let arguments = [node(value.clone()), node(failure.clone().unwrap_or_default().into())];
    match condition(sync, &names, &arguments, env, locally)? {
        None => return Ok(again(info)),
        Some(true) => {}
        Some(false) if env.state().wait_for(&format!("{}: {}", env.path.text(), sync.source), seconds) => {
            return Ok(again(info));
        }
        Some(false) if failure.is_some() => return Err(Eval::failed(info)),
        Some(false) => return Err(Eval::error("sync timeout reached")),
    }
    let Some(result) = &sync.value else { return Ok(Eval::with(value, info)) };
    let Eval { outcome, info } = super::eval(result, &env.with_locals(names), false);
    match outcome {
        Outcome::Failed => Err(Eval::failed(nested(&info, "value expression failed)"))),
        Outcome::Later(_) => Ok(again(info)),
        Outcome::Value(Value::Lambda(lambda)) if !sync.function => {
            called(&lambda, result, &arguments, "value", env, locally).map(|eval| match eval.outcome {
                Outcome::Later(_) => again(eval.info),
                _ => eval,
            })
        }
        Outcome::Value(_) if !sync.function => {
            Err(Eval::error("sync value expression must evaluate to lambda expression"))
        }
        Outcome::Value(value) => Ok(Eval::with(value, info)),
    }
}

/// Tells whether the condition of a `sync` expression holds; `None` if that is not known yet.
fn condition(
    sync: &Arc<Sync>,
    names: &Map,
    arguments: &[Node],
    env: &Env,
    locally: bool,
) -> Result<Option<bool>, Eval> {
    let scope = if sync.function { env.with_locals(names.clone()) } else { env.clone() };
    let Eval { outcome, info } = super::eval(&sync.condition, &scope, false);
    let value = match outcome {
        Outcome::Failed => return Err(Eval::failed(nested(&info, "condition evaluation failed)"))),
        Outcome::Later(_) => return Ok(None),
        Outcome::Value(Value::Lambda(lambda)) => {
            let result = called(&lambda, &sync.condition, arguments, "condition", env, locally)?;
            match result.outcome {
                Outcome::Failed => return Err(result),
                Outcome::Later(_) => return Ok(None),
                Outcome::Value(value) => value,
            }
        }
        Outcome::Value(_) if !sync.function => {
            return Err(Eval::error("sync condition must evaluate to a lambda value"));
        }
        Outcome::Value(value) => value,
    };
    match value {
        Value::Bool(holds) => Ok(Some(holds)),
        _ => Err(Eval::error("condition must evaluate to bool")),
    }
}

fn called(
    lambda: &Arc<dyn crate::value::Callable>,
    expr: &Child,
    arguments: &[Node],
    what: &str,
    env: &Env,
    locally: bool,
) -> Result<Eval, Eval> {
    let count = lambda.parameters();
    let closure = Closure::of(lambda).filter(|_| count == 1 || count == 2).ok_or_else(|| {
        Eval::error(format!(
            "lambda expression for sync {what} must take one or two arguments, found {count}"
        ))
    })?;
    Ok(lambda::call(closure, style(expr), &[], &arguments[..count], env, locally))
}

fn nested(info: &Info, message: &str) -> Info {
    let cause = info.issue.as_deref().cloned();
    let mut info = Info::default().with_error(message);
    if let (Some(issue), Some(cause)) = (info.issue.as_mut().and_then(Arc::get_mut), cause) {
        issue.nested = vec![cause];
    }
    info
}
