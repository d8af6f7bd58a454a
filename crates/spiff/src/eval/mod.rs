//! Evaluates expressions.
//!
//! An evaluation has one of three outcomes: a value, a failure, or *later*. *Later* means that a required
//! value is not known yet. This outcome contains the remaining expression, which the next pass evaluates.

pub(crate) mod call;
pub(crate) mod closure;
pub(crate) mod expression;
mod find;
mod host;
pub(crate) mod info;
mod intrinsic;
mod lambda;
mod mapping;
mod network;
mod operator;
mod reference;
pub(crate) mod resolved;
pub(crate) mod scope;
pub(crate) mod short;
mod state;
mod sync;
pub(crate) mod template;
pub(crate) mod waiting;

use std::sync::Arc;

pub(crate) use info::{Eval, Info, Outcome};
pub(crate) use scope::{Env, Level, Processor};
pub(crate) use state::{State, Tag};

use crate::limits::{ENTRY, MAP};
use crate::syntax::ast::{Argument, Child, Expr, Marker, Operator};
use crate::too_deep;
use crate::value::{Map, Node, Redirect, Value};

/// Evaluates an expression. If `locally` is true, the result may be a list or map that contains nodes without
/// values.
pub(crate) fn eval(expr: &Child, env: &Env, locally: bool) -> Eval {
    if let Err(limit) = env.state().step() {
        return Eval::error(limit);
    }
    too_deep::with_stack(|| evaluate(expr, env, locally))
}

fn evaluate(expr: &Child, env: &Env, locally: bool) -> Eval {
    match &**expr {
        Expr::Known(value) => Eval::value(value.clone()),
        Expr::Int(value) => Eval::value(*value),
        Expr::Float(value) => Eval::value(*value),
        Expr::Str(text) => Eval::value(Value::String(text.clone())),
        Expr::Bool(value) => Eval::value(*value),
        Expr::Nil => Eval::value(Value::Null),
        Expr::Undefined => Eval::undefined(),
        Expr::Reference(reference) => reference::eval(expr, reference, env, locally),
        Expr::Binary(Operator::Or, left, right) => or(expr, left, right, env),
        Expr::Binary(Operator::ValidOr, left, right) => valid_or(expr, left, right, env),
        Expr::Binary(operator, left, right) => operator::eval(expr, *operator, left, right, env),
        Expr::Conditional(condition, yes, no) => conditional(condition, yes, no, env),
        Expr::Not(inner) => {
            let mut parts = Parts::default();
            match parts.value(inner, env, false) {
                Err(failed) => failed,
                Ok(_) if !parts.resolved => parts.later(|pushed| Expr::Not(pushed.next())),
                Ok(value) => Eval::with(!value.is_true(), parts.info),
            }
        }
        Expr::Group(inner) => eval(inner, env, locally),
        Expr::Call(call) => call::eval(expr, call, env, locally),
        Expr::List(items) => list(items, env),
        Expr::Map(entries) => match assignments(expr, entries, env, locally) {
            Ok(map) => Eval::value(map),
            Err(eval) => eval,
        },
        Expr::Scope(entries, body) => match assignments(expr, entries, env, locally) {
            Err(Eval { outcome: Outcome::Later(_), info }) => Eval::later(expr.clone(), info),
            Err(failed) => failed,
            Ok(map) => match eval(body, &env.with_locals(map), locally) {
                Eval { outcome: Outcome::Later(_), info } => Eval::later(expr.clone(), info),
                done => done,
            },
        },
        Expr::Range(start, end) => reference::range(expr, start.as_ref(), end.as_ref(), env),
        Expr::Qualified(base, path) => reference::qualified(expr, base, path, env, locally),
        Expr::Index(base, index) => reference::index(expr, base, index, env),
        Expr::Slice(base, start, end) => {
            reference::slice(expr, base, (start.as_ref(), end.as_ref()), env, locally)
        }
        Expr::Projection(source, rest) => reference::projection(expr, source, rest, env, locally),
        Expr::Item => Eval::value(env.state().item()),
        Expr::Substitution(template) => template::substitution(expr, template, env),
        Expr::Auto(path) => reference::auto(expr, path, env),
        Expr::Merge(merge) => self::merge(merge, env),
        Expr::Lambda(lambda) => lambda::make(lambda, env, locally),
        Expr::LambdaRef(source, place) => lambda::refer(source, place, env, locally),
        Expr::Mapping(kind, source, lambda) => mapping::mapping(expr, *kind, source, lambda, env),
        Expr::Sum(source, initial, lambda) => mapping::sum(expr, source, initial, lambda, env),
        Expr::Catch(source, lambda) => intrinsic::catch(expr, source, lambda.as_ref(), env),
        Expr::Sync(sync) => sync::eval(expr, sync, env, locally),
        Expr::Prefer(inner) => eval(inner, env, locally).noting(|info| info.preferred = true),
        Expr::Marker(marker) => self::marker(marker, env, locally),
    }
}

/// The evaluated parts of an expression, such as the two operands of `a + b`.
///
/// If the value of a part is not known yet, the next pass evaluates the whole expression again. For that pass,
/// `Parts` stores a new expression for each part. For example, the expression is `(a || b) + c`, and `a` has
/// failed. Then the new expression for the part `a || b` is `b`; see [`Outcome::Later`].
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) info: Info,
    /// Whether the values of all parts so far are known.
    pub(crate) resolved: bool,
    /// If the value of the last evaluated operand is a list with a key field, the name of this field; otherwise `None`.
    /// A key field, such as `id`, identifies the entries of a list.
    pub(crate) key_name: Option<Arc<str>>,
    /// The new expressions for the parts that were evaluated so far, in the order of evaluation. The next pass
    /// evaluates these expressions instead of the parts.
    pushed: Vec<Child>,
    /// Number of entries of `pushed` that [`next`](Self::next) has returned.
    taken: usize,
}

impl Default for Parts {
    fn default() -> Self {
        Self { info: Info::default(), resolved: true, key_name: None, pushed: Vec::new(), taken: 0 }
    }
}

impl Parts {
    /// Evaluates the part `expr`, and returns the value of the part. If the value is not known yet, the method sets
    /// `resolved` to false, and returns null.
    ///
    /// If the evaluation of the part fails, the whole expression fails, too. `Err` then contains the outcome
    /// [`Outcome::Failed`] of the whole expression. For `locally`, see [`eval`].
    pub(crate) fn value(&mut self, expr: &Child, env: &Env, locally: bool) -> Result<Value, Eval> {
        let Eval { outcome, info } = eval(expr, env, locally);
        self.key_name.clone_from(&info.key_name);
        self.info = std::mem::take(&mut self.info).join(info);
        match outcome {
            Outcome::Value(value) => {
                self.pushed.push(expr.clone());
                Ok(value)
            }
            Outcome::Later(rest) => {
                self.pushed.push(rest);
                self.resolved = false;
                Ok(Value::Null)
            }
            Outcome::Failed => Err(Eval::failed(self.info.clone())),
        }
    }

    /// Evaluates `expr`, the only part of an expression. Returns the value of `expr`, and a `Parts` that contains
    /// the [`Info`] from the evaluation.
    ///
    /// If the evaluation of `expr` fails, `Err` contains the outcome [`Outcome::Failed`] of the whole expression. A
    /// value that is not known yet also counts as a failure.
    pub(crate) fn only(expr: &Child, env: &Env) -> Result<(Value, Self), Eval> {
        let mut parts = Self::default();
        let value = parts.value(expr, env, false)?;
        if parts.resolved { Ok((value, parts)) } else { Err(Eval::failed(parts.info)) }
    }

    /// Creates the outcome [`Outcome::Later`] for an expression with a part whose value is not known yet. The closure
    /// `rebuild` returns the expression that the next pass evaluates. `rebuild` calls [`next`](Self::next) once for
    /// each part, and gets the remaining expression of this part.
    ///
    /// For example, the parts of `(a || b) + c` are `a || b` and `c`. If `a` has failed, and the value of `b` is not
    /// known yet, only `b` remains of the first part. So `next` returns first `b` and then `c`, and `rebuild` returns
    /// `b + c`.
    pub(crate) fn later(mut self, rebuild: impl FnOnce(&mut Self) -> Expr) -> Eval {
        let info = std::mem::take(&mut self.info);
        Eval::later(Arc::new(rebuild(&mut self)), info)
    }

    /// Returns the remaining expression of the next part. The parts come in the order in which they were evaluated. For
    /// an example, see [`later`](Self::later).
    pub(crate) fn next(&mut self) -> Child {
        self.taken += 1;
        self.pushed[self.taken - 1].clone()
    }

    pub(crate) fn error(self, message: impl Into<String>) -> Eval {
        Eval::failed(self.info.with_error(message))
    }
}

/// Evaluates `a || b`: the left side, or the right side if the left side fails or is undefined. Null counts
/// as a value.
fn or(expr: &Child, left: &Child, right: &Child, env: &Env) -> Eval {
    let first = eval(left, env, false);
    match first.outcome {
        Outcome::Value(_) if !first.info.undefined => return first,
        Outcome::Later(_) if !first.info.undefined => return Eval::later(expr.clone(), first.info),
        _ => {}
    }
    instead(first.info.without_problem(), eval(right, env, false))
}

/// Evaluates `a // b`: the left side, or the right side if the left side fails, is undefined or is null.
fn valid_or(expr: &Child, left: &Child, right: &Child, env: &Env) -> Eval {
    let first = eval(left, env, false);
    match &first.outcome {
        Outcome::Later(rest) if Arc::ptr_eq(rest, left) || rest == left => return Eval::failed(first.info),
        Outcome::Later(_) => return Eval::later(expr.clone(), first.info),
        Outcome::Value(value) if !matches!(value, Value::Null | Value::Undefined) => return first,
        _ => {}
    }
    // The problem of the left side is kept, and is reported if an expression around this one fails.
    instead(first.info, eval(right, env, false))
}

/// Returns the result of `a || b` or `a // b` if the value of `b` is used. `first` is the information from the
/// evaluation of `a`, and `second` is the result of `b`. The returned information combines the information from
/// both evaluations. Only `b` decides whether the value is undefined.
fn instead(first: Info, second: Eval) -> Eval {
    let undefined = second.info.undefined;
    let mut info = first.join(second.info);
    info.undefined = undefined;
    Eval { outcome: second.outcome, info }
}

fn conditional(condition: &Child, yes: &Child, no: &Child, env: &Env) -> Eval {
    let mut parts = Parts::default();
    let chosen = match parts.value(condition, env, false) {
        Err(failed) => return failed,
        Ok(_) if !parts.resolved => {
            return parts.later(|pushed| Expr::Conditional(pushed.next(), yes.clone(), no.clone()));
        }
        Ok(value) if value.is_true() => yes,
        Ok(_) => no,
    };
    let Eval { outcome, info } = eval(chosen, env, false);
    Eval { outcome, info: info.join(parts.info) }
}

/// Converts the values of arguments to nodes. For an argument `e...`, each entry of its list becomes a node.
pub(crate) fn expand(
    arguments: &[Argument],
    values: Vec<Value>,
    source: &Arc<str>,
) -> Result<Vec<Node>, String> {
    let mut nodes = Vec::with_capacity(values.len());
    for (argument, value) in arguments.iter().zip(values) {
        if argument.expand {
            let Value::List(items) = value else {
                return Err("argument expansion required list argument".into());
            };
            nodes
                .extend(items.iter().map(|item| Node::new(item.value().clone()).with_source(source.clone())));
        } else {
            nodes.push(Node::new(value).with_source(source.clone()));
        }
    }
    Ok(nodes)
}

/// Creates the arguments of a call, or the entries of a list expression, for the next pass. `arguments` contains
/// the arguments or entries of this pass. The expressions for the next pass come from [`Parts::next`].
pub(crate) fn pushed_arguments(arguments: &[Argument], pushed: &mut Parts) -> Vec<Argument> {
    arguments.iter().map(|argument| Argument { expr: pushed.next(), expand: argument.expand }).collect()
}

fn list(items: &[Argument], env: &Env) -> Eval {
    let mut parts = Parts::default();
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        match parts.value(&item.expr, env, false) {
            Ok(value) => values.push(value),
            Err(failed) => return failed,
        }
    }
    if !parts.resolved {
        return parts.later(|pushed| Expr::List(pushed_arguments(items, pushed)));
    }
    match expand(items, values, &env.source) {
        Ok(nodes) => match env.state().spend(ENTRY * nodes.len() as u64) {
            Ok(()) => Eval::with(nodes, parts.info),
            Err(limit) => parts.error(limit),
        },
        Err(message) => parts.error(message),
    }
}

/// Evaluates the assignments `k = v` in the map literal `{ k = v }`, or in the expression `( k = v ) e` with local
/// values. Returns a map from each name `k` to the value of `v`.
///
/// `expr` is the whole expression. If the map can't be created in this pass, `expr` gets no value either. `Err` then
/// contains the outcome of `expr`: a failure, or the expression for the next pass. For `locally`, see [`eval`].
fn assignments(expr: &Child, entries: &[(Child, Child)], env: &Env, locally: bool) -> Result<Map, Eval> {
    env.state().spend(MAP).map_err(Eval::error)?;
    let mut map = Map::new();
    let mut info = Info::default();
    for (key, value) in entries {
        let mut parts = Parts { info, ..Parts::default() };
        let key = parts.value(key, env, locally)?;
        if !parts.resolved {
            return Err(Eval::later(expr.clone(), parts.info));
        }
        let Value::String(key) = key else {
            return Err(parts.error("assignment target must evaluate to string"));
        };
        let value = parts.value(value, env, locally)?;
        if !parts.resolved {
            return Err(Eval::later(expr.clone(), parts.info));
        }
        map.insert(key, Node::new(value).with_source(env.source.clone()));
        info = parts.info;
    }
    Ok(map)
}

fn merge(merge: &crate::syntax::ast::Merge, env: &Env) -> Eval {
    let mut info = Info { key_name: merge.key.clone(), ..Info::default() };
    if merge.redirect {
        info.redirect =
            if merge.path.is_empty() { Redirect::Nowhere } else { Redirect::To(merge.path.clone()) };
    }
    if merge.none {
        info.merged = true;
        return Eval::with(Value::Null, info);
    }
    match env.in_stubs(&merge.path) {
        Some(node) => {
            info.replace = merge.replace;
            info.merged = true;
            info.source = node.source_name().cloned();
            info.flags = node.annotations().flags;
            Eval::with(node.into_value(), info)
        }
        None => Eval::failed(info.with_error(format!("'{}' not found in any stub", merge.path.join(".")))),
    }
}

fn marker(marker: &Marker, env: &Env, locally: bool) -> Eval {
    if marker.has("&template") {
        return Eval::error("&template only usable as marker for templates");
    }
    let flags = template::flags(marker);
    match &marker.expr {
        None => Eval::value(Value::Null).noting(|info| info.flags = flags),
        // `merge replace` sets `info.replace`. In an expression with a marker such as `&temporary`,
        // `merge replace` does not have this effect.
        Some((_, inner)) => eval(inner, env, locally).noting(|info| {
            info.flags |= flags;
            info.replace = false;
        }),
    }
}

/// Calls a lambda in the way in which built-in functions call lambdas (see [`lambda::Style::Function`]).
pub(crate) fn call_lambda(closure: &closure::Closure, arguments: &[Node], env: &Env) -> Eval {
    lambda::call(closure, lambda::Style::Function, &[], arguments, env, false)
}
