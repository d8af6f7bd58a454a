//! Creates, references and calls lambdas.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::closure::Closure;
use super::find::Found;
use super::scope::SELF;
use super::short::{short_map, shorten};
use super::{Env, Eval, Info, Outcome, Parts};
use crate::syntax::ast::{Child, Expr, Lambda, Place};
use crate::value::{Callable, Issue, Map, Node, Value};

/// Returns the environment that a new lambda captures. In the body of the lambda, a path such as `_.a` begins in
/// this environment. `env` is the environment of the lambda expression.
///
/// The lambda expression may be in the body of an outer lambda, or in a template. The new lambda then captures the
/// environment that the outer lambda or template has captured. In all other cases, the new lambda captures `env`.
fn static_scope(env: &Env) -> Env {
    match env.name(SELF) {
        Some(Found::Own(_, own)) => own,
        _ => env.clone(),
    }
}

/// Evaluates a lambda expression such as `|x,y=2|->x + y` to a lambda.
///
/// The default values of the parameters are evaluated immediately. In the text of the lambda, the results replace the
/// expressions of the default values. If `locally` is true, a default value may contain nodes without values.
pub(super) fn make(lambda: &Arc<Lambda>, env: &Env, locally: bool) -> Eval {
    let mut defaults = Vec::with_capacity(lambda.parameters.len());
    let mut made = lambda.clone();
    for (position, parameter) in lambda.parameters.iter().enumerate() {
        let Some(default) = &parameter.default else {
            defaults.push(None);
            continue;
        };
        let Eval { outcome, info } = super::eval(default, env, locally);
        match outcome {
            Outcome::Value(value) => {
                let known = Arc::new(Expr::Known(value.clone()));
                Arc::make_mut(&mut made).parameters[position].default = Some(known);
                defaults.push(Some(value));
            }
            Outcome::Later(_) => {
                return Eval::later(Arc::new(Expr::Lambda(lambda.clone())), info);
            }
            Outcome::Failed => {
                let message = format!(
                    "evaluation of lambda call default argument {position} failed: {made}: {default}"
                );
                return Eval::failed(chained(info, message));
            }
        }
    }
    let env = static_scope(env).with_statics_of(env);
    let statics = env.statics.clone();
    Eval::value(Closure { lambda: made, defaults, statics, env }.into_value())
}

/// Replaces the problem in `info` by a new problem with this message. The new problem contains the old
/// problem as its cause, and [`Issue::chain`] marks the cause as a problem of an inner call.
pub(super) fn chained(mut info: Info, message: String) -> Info {
    let nested = info.issue.take().map(|issue| (*issue).clone()).unwrap_or_default();
    info.error = true;
    info.issue = Some(Arc::new(Issue { message, nested: vec![nested], chain: true, path: None }));
    info
}

/// Evaluates `lambda e`, where `source` is `e`. If the value of `e` is a lambda, the result is this lambda. If the
/// value is a text such as `|x|->x + 1`, the text is parsed as a lambda expression, and evaluated by [`make`].
///
/// `place` is the place of `lambda e` in the document. For `locally`, see [`make`].
pub(super) fn refer(source: &Child, place: &Place, env: &Env, locally: bool) -> Eval {
    // As in the Go program spiff++, the evaluation fails if `source` has no value yet. The next pass
    // evaluates the expression again.
    let (value, parts) = match Parts::only(source, env) {
        Ok(known) => known,
        Err(failed) => return failed,
    };
    match value {
        Value::Lambda(_) => Eval::with(value, parts.info),
        Value::String(text) => match env.state().parse(&text, place) {
            Err(error) => parts.error(format!("cannot parse lamba expression '{text}': {error}")),
            Ok(parsed) => match &*parsed {
                Expr::Lambda(lambda) => make(lambda, env, locally),
                _ => parts.error(format!("'{text}' is no lambda expression")),
            },
        },
        _ => parts.error("lambda reference must resolve to lambda value or string"),
    }
}

/// The way in which a lambda is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// The lambda is called by `f(…)`. In the body, `_` refers to the lambda. If arguments are missing, the result
    /// is a lambda with the remaining parameters.
    Call,
    /// The lambda is called by `f*(…)`. This call does not evaluate the body. The result is a lambda with the
    /// remaining parameters.
    Curry,
    /// The lambda is called by a function, or by a mapping that refers to the lambda, such as `map[a|f]`. In the
    /// body, `_` refers to the lambda.
    Function,
    /// The lambda is called by a mapping that contains the text of the lambda, such as `map[a|x|->e]`. In the body, `_`
    /// has the same meaning as outside of the mapping.
    Inline,
}

/// Calls a lambda. `named` contains the arguments with names, such as `x=1`, and `arguments` contains the other
/// arguments.
///
/// The body of the lambda is evaluated in the scope of the caller, not in the scope in which the lambda was
/// created. The body can also refer to the parameters of the lambda, and to the names that the lambda captured at
/// its creation. The captured names are the parameters and local values that were visible to the lambda expression.
/// For `locally`, see [`eval`](super::eval).
pub(super) fn call(
    closure: &Closure,
    style: Style,
    named: &[(Arc<str>, Value)],
    arguments: &[Node],
    env: &Env,
    locally: bool,
) -> Eval {
    let bound = match bind(closure, named, arguments, env) {
        Ok(bound) => bound,
        Err(message) => return Eval::error(message),
    };
    let parameters = &closure.lambda.parameters;
    let given = if closure.lambda.varargs { arguments.len().min(parameters.len()) } else { arguments.len() };
    let last_is_plain = parameters.last().is_some_and(|last| last.default.is_none());
    let too_few = named.is_empty() && given < parameters.len() && !closure.lambda.varargs && last_is_plain;
    if style == Style::Curry || (style == Style::Call && too_few) {
        return curried(closure, bound, given, env);
    }
    let mut locals = bound.locals;
    if let Err(message) = complete(closure, &mut locals, &bound.named, given, env) {
        return Eval::error(message);
    }
    if style != Style::Inline {
        let own = Node::new(Value::Lambda(Arc::new(closure.clone())));
        locals.insert(Arc::from(SELF), own);
    }
    let _guard = match env.state().enter() {
        Ok(guard) => guard,
        Err(limit) => return Eval::error(limit),
    };
    let inner = env.with_locals(locals);
    let Eval { outcome, info } = super::eval(&closure.lambda.body, &inner, locally);
    if let Outcome::Value(value) = &outcome {
        // The call of `is_resolved` has a side effect: if nested calls have created a value with too many
        // levels, all processing ends.
        env.state().is_resolved(value);
    }
    if !matches!(outcome, Outcome::Failed) || env.state().exhausted().is_some() {
        return Eval { outcome, info };
    }
    let bindings = inner.scope.as_ref().map(|scope| short_map(&scope.fields())).unwrap_or_default();
    let message =
        format!("evaluation of lambda expression failed: {}: {}", closure.text(), shorten(&bindings));
    Eval::failed(chained(info, message))
}

/// The parameters to which a call gives values.
struct Bound {
    locals: Map,
    named: BTreeMap<Arc<str>, Value>,
}

fn bind(
    closure: &Closure,
    given_names: &[(Arc<str>, Value)],
    arguments: &[Node],
    env: &Env,
) -> Result<Bound, String> {
    let parameters = &closure.lambda.parameters;
    let varargs = closure.lambda.varargs;
    let mut named = BTreeMap::new();
    for (name, value) in given_names {
        let name = parameter_name(closure, name)?;
        if named.insert(name.clone(), value.clone()).is_some() {
            return Err(format!("named argument {name} given by name and index"));
        }
    }
    let required = parameters.len() - usize::from(varargs);
    if !varargs && arguments.len() > parameters.len() {
        return Err(format!("found {} argument(s), but expects {}", arguments.len(), parameters.len()));
    }
    let mut locals = closure.statics.as_deref().cloned().unwrap_or_default();
    let node = |value: Value| Node::new(value).with_source(env.source.clone());
    for (name, value) in &named {
        let Some(position) = parameters.iter().position(|parameter| parameter.name == *name) else {
            return Err(format!("no lambda parameter found for named argument {name}"));
        };
        if position < arguments.len() {
            return Err(format!(
                "both, positional ({}) and named argument found for lambda parameter {name}",
                position + 1
            ));
        }
        if varargs && position + 1 == parameters.len() && !matches!(value, Value::List(_)) {
            return Err(format!("named varargs argument {} ({name}) must be a list", position + 1));
        }
        locals.insert(name.clone(), node(value.clone()));
    }
    for (parameter, argument) in parameters.iter().take(required).zip(arguments) {
        locals.insert(parameter.name.clone(), argument.clone());
    }
    if varargs
        && arguments.len() > required
        && let Some(last) = parameters.last()
    {
        locals.insert(last.name.clone(), node(arguments[required..].to_vec().into()));
    }
    Ok(Bound { locals, named })
}

/// Returns the name of the parameter to which a named argument such as `x=1` belongs. `name` is the text before
/// `=`: the name of the parameter, or its position. For example, the argument `2=1` belongs to the second parameter.
fn parameter_name(closure: &Closure, name: &Arc<str>) -> Result<Arc<str>, String> {
    let Ok(index) = name.parse::<i32>() else { return Ok(name.clone()) };
    let parameters = &closure.lambda.parameters;
    match usize::try_from(index).ok().filter(|index| *index > 0) {
        None => Err(format!("invalid argument index {index}")),
        Some(index) => match parameters.get(index - 1) {
            Some(parameter) => Ok(parameter.name.clone()),
            None => Err(format!("argument index {index} too large for {} parameters", parameters.len())),
        },
    }
}

/// Creates a lambda from `closure` and the arguments of a call. The new lambda has only those parameters to which the
/// call gives no value. The values of the other parameters become part of the new lambda.
///
/// For example, if `f` is `|x,y|->x + y`, the call `f(1)` creates the lambda `|y|->x + y`, which contains the value 1
/// for `x`. `given` is the number of parameters that get their values from positional arguments.
fn curried(closure: &Closure, bound: Bound, given: usize, _env: &Env) -> Eval {
    let parameters = &closure.lambda.parameters;
    let mut rest = Vec::new();
    let mut defaults = Vec::new();
    let mut varargs = false;
    for (position, parameter) in parameters.iter().enumerate().skip(given) {
        if !bound.named.contains_key(&parameter.name) {
            rest.push(parameter.clone());
            defaults.push(closure.defaults.get(position).cloned().flatten());
            varargs |= closure.lambda.varargs && position + 1 == parameters.len();
        }
    }
    let lambda = Lambda { parameters: rest, varargs, body: closure.lambda.body.clone() };
    let statics = Some(Arc::new(bound.locals));
    Eval::value(
        Closure { lambda: Arc::new(lambda), defaults, statics, env: closure.env.clone() }.into_value(),
    )
}

/// Adds a value to `locals` for each parameter that has no argument. The value is the default value of the
/// parameter. If the last parameter accepts any number of arguments, and has no default value, its value is an
/// empty list. If any other parameter has no default value, the function returns an error message.
fn complete(
    closure: &Closure,
    locals: &mut Map,
    named: &BTreeMap<Arc<str>, Value>,
    given: usize,
    env: &Env,
) -> Result<(), String> {
    let parameters = &closure.lambda.parameters;
    for (position, parameter) in parameters.iter().enumerate().skip(given) {
        if named.contains_key(&parameter.name) {
            continue;
        }
        let last = position + 1 == parameters.len();
        let value = match closure.defaults.get(position) {
            Some(Some(default)) => default.clone(),
            _ if closure.lambda.varargs && last => Vec::<Node>::new().into(),
            _ if !named.is_empty() => return Err(format!("missing named argument for {}", parameter.name)),
            _ => {
                return Err(match closure.optional() {
                    0 => format!("expected {} arguments, but found {given}", parameters.len()),
                    optional => format!(
                        "expected at least {} arguments ({optional} optional), but found {given}",
                        parameters.len() - optional
                    ),
                });
            }
        };
        locals.insert(parameter.name.clone(), Node::new(value).with_source(env.source.clone()));
    }
    Ok(())
}
