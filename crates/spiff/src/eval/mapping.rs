//! Evaluates `map`, `select`, `filter` and `sum` over lists and maps.

use std::sync::Arc;

use super::closure::Closure;
use super::lambda::{self, Style};
use super::{Env, Eval, Info, Outcome, Parts};
use crate::limits::{ENTRY, MAP};
use crate::syntax::ast::{Child, Expr, Mapping};
use crate::value::{Callable, Map, Node, Value};

/// Returns the entries of a list or map as pairs of key and node, in order. The key of a list entry is its index, which
/// begins at 0. The key of a map entry is a text. Any other value has no entries.
fn entries(source: &Value) -> Box<dyn Iterator<Item = (Value, &Node)> + '_> {
    match source {
        Value::List(list) => Box::new((0..).map(Value::Int).zip(list.iter())),
        Value::Map(map) => Box::new(map.iter().map(|(key, node)| (Value::String(key.clone()), node))),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns the way in which a mapping calls its lambda.
pub(super) fn style(lambda: &Child) -> Style {
    if matches!(**lambda, Expr::Lambda(_)) { Style::Inline } else { Style::Function }
}

/// Evaluates the source of a mapping, and the lambda that the mapping calls for each entry of the source.
fn operands(
    parts: &mut Parts,
    source: &Child,
    lambda: &Child,
    env: &Env,
) -> Result<(Value, Option<Arc<dyn Callable>>), Eval> {
    let source = parts.value(source, env, true)?;
    let lambda = match parts.value(lambda, env, false)? {
        Value::Lambda(lambda) => Some(lambda),
        _ => None,
    };
    Ok((source, lambda))
}

pub(super) fn mapping(expr: &Child, kind: Mapping, source: &Child, lambda: &Child, env: &Env) -> Eval {
    let mut parts = Parts::default();
    let (value, closure) = match operands(&mut parts, source, lambda, env) {
        Ok(found) => found,
        Err(failed) => return failed,
    };
    if !parts.resolved {
        return parts.later(|pushed| {
            let source = pushed.next();
            Expr::Mapping(kind, source, pushed.next())
        });
    }
    let Some(closure) = closure.as_ref().and_then(Closure::of) else {
        return parts.error("mapping requires a lambda value");
    };
    let supported = match value {
        Value::Map(_) => kind != Mapping::FilterList,
        Value::List(_) => !matches!(kind, Mapping::SelectMap | Mapping::FilterMap),
        _ => false,
    };
    if !supported {
        let (keyword, brackets) = kind.parts();
        return parts.error(format!("{keyword}{brackets} does not support {} values", value.type_name()));
    }
    let count = closure.lambda.parameters.len();
    if count == 0 || count > 2 {
        return Eval::error("mapping expression takes one or two arguments");
    }
    let mut results = Results { kind, list: Vec::new(), map: Map::new() };
    if let Err(limit) = env.state().spend(MAP) {
        return parts.error(limit);
    }
    for (key, node) in entries(&value) {
        let mut arguments = vec![Node::new(node.value().clone())];
        if count == 2 {
            arguments.insert(0, Node::new(key.clone()));
        }
        let Eval { outcome, info } = lambda::call(closure, style(lambda), &[], &arguments, env, false);
        match outcome {
            Outcome::Failed => return Eval::failed(info),
            Outcome::Later(_) => return Eval::later(expr.clone(), info),
            Outcome::Value(result) => {
                if let Err(limit) = env.state().spend(ENTRY) {
                    return Eval::error(limit);
                }
                if let Err(message) = results.add(&key, node, result, &info, env) {
                    return Eval::failed(info.with_error(message));
                }
            }
        }
    }
    Eval::value(results.value())
}

struct Results {
    kind: Mapping,
    list: Vec<Node>,
    map: Map,
}

impl Results {
    fn add(&mut self, key: &Value, node: &Node, result: Value, info: &Info, env: &Env) -> Result<(), String> {
        let empty = info.undefined || matches!(result, Value::Null | Value::Undefined);
        let made = |result: Value| Node::new(result).with_source(env.source.clone());
        match self.kind {
            Mapping::List if empty => {}
            Mapping::List => self.list.push(made(result)),
            Mapping::Map if empty => {}
            Mapping::Map => {
                let name = match key {
                    Value::String(name) => name.clone(),
                    _ => match node.value() {
                        Value::String(name) => name.clone(),
                        other => {
                            return Err(format!(
                                "list element must be string, but found {}",
                                other.type_name()
                            ));
                        }
                    },
                };
                self.map.insert(name, made(result));
            }
            _ if info.undefined || !result.is_true() => {}
            Mapping::SelectList | Mapping::FilterList => self.list.push(Node::new(node.value().clone())),
            _ => {
                if let Value::String(name) = key {
                    self.map.insert(name.clone(), Node::new(node.value().clone()));
                }
            }
        }
        Ok(())
    }

    fn value(self) -> Value {
        match self.kind {
            Mapping::List | Mapping::SelectList | Mapping::FilterList => self.list.into(),
            _ => self.map.into(),
        }
    }
}

pub(super) fn sum(expr: &Child, source: &Child, initial: &Child, lambda: &Child, env: &Env) -> Eval {
    let mut parts = Parts::default();
    let value = match parts.value(source, env, true) {
        Ok(value) => value,
        Err(failed) => return failed,
    };
    let mut sum = match parts.value(initial, env, false) {
        Ok(value) => value,
        Err(failed) => return failed,
    };
    let closure = match parts.value(lambda, env, false) {
        Ok(value) => value,
        Err(failed) => return failed,
    };
    if !parts.resolved {
        return parts.later(|pushed| {
            let (source, initial) = (pushed.next(), pushed.next());
            Expr::Sum(source, initial, pushed.next())
        });
    }
    let closure = match &closure {
        Value::Lambda(lambda) => Closure::of(lambda),
        _ => None,
    };
    let Some(closure) = closure else { return parts.error("sum requires a lambda value") };
    if !matches!(value, Value::List(_) | Value::Map(_)) {
        return parts.error("map or list required for sum");
    }
    match closure.lambda.parameters.len() {
        0 | 1 => return Eval::error("mapping expression take a minimum of 2 arguments"),
        2 | 3 => {}
        _ => return Eval::error("mapping expression take a maximum of 3 arguments"),
    }
    for (key, node) in entries(&value) {
        let mut arguments = vec![Node::new(sum), Node::new(node.value().clone())];
        if closure.lambda.parameters.len() == 3 {
            arguments.insert(1, Node::new(key));
        }
        let Eval { outcome, info } = lambda::call(closure, style(lambda), &[], &arguments, env, false);
        match outcome {
            Outcome::Failed => return Eval::failed(info),
            Outcome::Later(_) => return Eval::later(expr.clone(), info),
            Outcome::Value(result) => sum = result,
        }
    }
    Eval::value(sum)
}
