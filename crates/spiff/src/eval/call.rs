//! Evaluates calls. A call names a function, or it contains an expression whose value is a lambda.

use std::sync::Arc;

use super::closure::Closure;
use super::host::HostOf;
use super::lambda::{self, Style};
use super::scope::SELF;
use super::{Env, Eval, Info, Parts, expand, intrinsic, pushed_arguments};
use crate::functions::{FunctionError, Nested};
use crate::limits::{ExceededLimit, cost};
use crate::syntax::ast::{Argument, Call, Child, Expr, Lambda, Parameter, Reference};
use crate::value::{Issue, Node, Value};

/// Returns the name of the called function, if it is called by name.
fn function_name(call: &Call) -> Option<&str> {
    match &*call.function {
        Expr::Reference(Reference { tag: None, path }) if path.len() == 1 => {
            Some(&*path[0]).filter(|name| !name.is_empty() && *name != SELF)
        }
        _ => None,
    }
}

pub(super) fn eval(expr: &Child, call: &Call, env: &Env, locally: bool) -> Eval {
    match function_name(call) {
        Some(name) => by_name(expr, name, call, env, locally),
        None => by_value(expr, call, env),
    }
}

fn by_name(expr: &Child, name: &str, call: &Call, env: &Env, locally: bool) -> Eval {
    if intrinsic::is_one(name) {
        if call.curry {
            return Eval::error(format!("no currying for intrinsic builtin function ({})", call.function));
        }
        return intrinsic::call(expr, name, call, env);
    }
    let mut parts = Parts::default();
    let (named, values) = match arguments(&mut parts, call, env) {
        Ok(found) => found,
        Err(failed) => return failed,
    };
    if !parts.resolved {
        return parts.later(|pushed| pushed_call(call, call.function.clone(), pushed));
    }
    if !named.is_empty() {
        return parts.error(format!("no named arguments for builtin function ({})", call.function));
    }
    if call.curry {
        return Eval::value(curried(call, &values, env));
    }
    match name {
        "type" if parts.info.undefined => {
            parts.info.undefined = false;
            return Eval::with("undef", parts.info);
        }
        "eval" => return evaluated(expr, &values, parts, env, locally),
        _ => {}
    }
    let Some(function) = env.state().registry.get(name).cloned() else {
        return parts.error(format!("unknown function '{name}'"));
    };
    for value in &values {
        // The call of `is_resolved` has a side effect: if an argument is larger than the limit for the size
        // of a result, all processing ends.
        env.state().is_resolved(value);
    }
    if let Some(limit) = env.state().exhausted() {
        return parts.error(limit);
    }
    let mut host = HostOf::new(env);
    let result = function(&mut host, &values);
    let mut info = parts.info;
    if let Some(waiting) = host.waiting.take() {
        info = info.join(waiting);
    }
    finish(expr, result, info, env)
}

/// Converts the result of a function to the result of the expression that calls it.
fn finish(expr: &Child, result: Result<Node, FunctionError>, info: Info, env: &Env) -> Eval {
    match result {
        Ok(node) => {
            if let Err(limit) = env.state().spend(cost(&node)) {
                return Eval::error(limit);
            }
            let annotations = node.annotations();
            let own = Info {
                key_name: annotations.key_name.clone(),
                raw: true,
                undefined: annotations.undefined || matches!(node.value(), Value::Undefined),
                ..Info::default()
            };
            let value = match node.into_value() {
                Value::Undefined => Value::Null,
                value => value,
            };
            Eval::with(value, own.join(info))
        }
        Err(error) => failure(expr, error, info, env),
    }
}

pub(super) fn failure(expr: &Child, error: FunctionError, info: Info, env: &Env) -> Eval {
    match error {
        FunctionError::Pending => Eval::later(expr.clone(), info),
        FunctionError::Limit(limit) => {
            env.state().exhaust(ExceededLimit::Function, &limit);
            Eval::error(limit)
        }
        FunctionError::Failed { message, causes } => {
            let (chain, nested) = match causes {
                Nested::None => (false, Vec::new()),
                Nested::Chain(chain) => (true, chain),
                Nested::Nodes(lines) => (false, lines),
            };
            let nested = if chain { links(nested) } else { nested.into_iter().map(Issue::new).collect() };
            // If the evaluation of an argument has recorded a problem, that problem takes precedence.
            let known = info.issue.clone().filter(|issue| !issue.message.is_empty());
            let mut info = info.with_error("");
            let own = || Arc::new(Issue { message, nested, chain, path: None });
            info.issue = Some(known.unwrap_or_else(own));
            Eval::failed(info)
        }
    }
}

/// Creates a chain of problems: one problem for each message. The problem with the second message is the
/// cause of the problem with the first message, and so on.
fn links(chain: Vec<String>) -> Vec<Issue> {
    chain.into_iter().rev().fold(Vec::new(), |nested, message| {
        let chain = !nested.is_empty();
        vec![Issue { message, nested, chain, path: None }]
    })
}

type Arguments = (Vec<(Arc<str>, Value)>, Vec<Node>);

fn arguments(parts: &mut Parts, call: &Call, env: &Env) -> Result<Arguments, Eval> {
    let mut named = Vec::with_capacity(call.named.len());
    for (name, value) in &call.named {
        named.push((name.clone(), parts.value(value, env, false)?));
    }
    let mut values = Vec::with_capacity(call.arguments.len());
    let mut keys = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        values.push(parts.value(&argument.expr, env, false)?);
        keys.push(parts.key_name.take());
    }
    if !parts.resolved {
        return Ok((named, Vec::new()));
    }
    let expanded = call.arguments.iter().any(|argument| argument.expand);
    match expand(&call.arguments, values, &env.source) {
        Ok(mut values) if !expanded => {
            for (value, key) in values.iter_mut().zip(keys).filter(|(_, key)| key.is_some()) {
                *value = value.clone().annotate(|annotations| annotations.key_name = key);
            }
            Ok((named, values))
        }
        Ok(values) => Ok((named, values)),
        Err(message) => Err(Eval::failed(parts.info.clone().with_error(message))),
    }
}

fn pushed_call(call: &Call, function: Child, pushed: &mut Parts) -> Expr {
    Expr::Call(Call {
        function,
        named: call.named.iter().map(|(name, _)| (name.clone(), pushed.next())).collect(),
        arguments: pushed_arguments(&call.arguments, pushed),
        curry: call.curry,
    })
}

/// Creates the lambda that is the value of the call `f*(…)` of a function `f`. The lambda calls `f` with `values`,
/// followed by its own arguments.
fn curried(call: &Call, values: &[Node], env: &Env) -> Value {
    const REST: &str = "__args";
    let mut arguments: Vec<Argument> = values
        .iter()
        .map(|node| Argument { expr: Arc::new(Expr::Known(node.value().clone())), expand: false })
        .collect();
    let rest = Reference { tag: None, path: Arc::from([Arc::from(REST)]) };
    arguments.push(Argument { expr: Arc::new(Expr::Reference(rest)), expand: true });
    let body =
        Expr::Call(Call { function: call.function.clone(), named: Vec::new(), arguments, curry: false });
    let parameters = vec![Parameter { name: Arc::from(REST), default: None }];
    let lambda = Arc::new(Lambda { parameters, varargs: true, body: Arc::new(body) });
    Closure { lambda, defaults: vec![None], statics: None, env: env.clone() }.into_value()
}

fn by_value(expr: &Child, call: &Call, env: &Env) -> Eval {
    let mut parts = Parts::default();
    let function = match parts.value(&call.function, env, false) {
        Ok(value) => value,
        Err(failed) => return failed,
    };
    if parts.resolved && !matches!(function, Value::Lambda(_)) {
        return parts
            .error(format!("function call '{}' requires function name or lambda value", call.function));
    }
    // `parts.info` contains information from the evaluation of `call.function`, such as its flags. The result of
    // the call does not get this information, no matter whether the value of `call.function` is known.
    parts.info = Info::default();
    let (named, values) = match arguments(&mut parts, call, env) {
        Ok(found) => found,
        Err(failed) => return failed,
    };
    if !parts.resolved {
        return parts.later(|pushed| {
            let function = pushed.next();
            pushed_call(call, function, pushed)
        });
    }
    let Value::Lambda(lambda) = &function else { return Eval::later(expr.clone(), parts.info) };
    let Some(closure) = Closure::of(lambda) else {
        return parts.error("a lambda of another engine can't be called");
    };
    let style = if call.curry { Style::Curry } else { Style::Call };
    let mut result = lambda::call(closure, style, &named, &values, env, false);
    result.info = result.info.join(parts.info);
    if matches!(result.outcome, super::Outcome::Later(_)) {
        return Eval::later(expr.clone(), result.info);
    }
    result
}

/// Evaluates the call `eval(text)`: parses the text as an expression, and evaluates this expression.
///
/// `expr` is the whole call. `values` contains the evaluated arguments of the call, and `parts` the information from
/// their evaluation. For `locally`, see [`eval`](super::eval).
fn evaluated(expr: &Child, values: &[Node], parts: Parts, env: &Env, locally: bool) -> Eval {
    let [value] = values else { return parts.error("one argument required for 'eval'") };
    let Value::String(text) = value.value() else {
        return parts.error("string argument required for 'eval'");
    };
    match env.state().parse(text, &env.place()) {
        Ok(parsed) => match super::eval(&parsed, env, locally) {
            Eval { outcome: super::Outcome::Later(_), info } => {
                Eval::later(expr.clone(), info.join(parts.info))
            }
            done => done.noting(|info| *info = std::mem::take(info).join(parts.info)),
        },
        Err(error) => parts.error(format!("({text})\t {error}")),
    }
}
