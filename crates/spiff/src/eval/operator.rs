//! Binary operators.

use std::cmp::Ordering;

use super::{Env, Eval, Info, Outcome, Parts, network};
use crate::limits::{ENTRY, MAP};
use crate::syntax::ast::{Child, Expr, Operator};
use crate::value::{Node, Value, equals};

pub(super) fn eval(expr: &Child, operator: Operator, left: &Child, right: &Child, env: &Env) -> Eval {
    if matches!(operator, Operator::LogAnd | Operator::LogOr) {
        return logic(expr, operator, left, right, env);
    }
    let mut parts = Parts::default();
    let a = match parts.value(left, env, false) {
        Ok(value) => value,
        Err(failed) => return failed,
    };
    if operator == Operator::Modulo && integer(&a).is_none() {
        return parts.error(NO_INTEGER);
    }
    let b = match parts.value(right, env, false) {
        Ok(value) => value,
        Err(failed) => return failed,
    };
    if operator == Operator::Modulo && integer(&b).is_none() {
        return parts.error(NO_INTEGER);
    }
    if !parts.resolved {
        return parts.later(|pushed| {
            let left = pushed.next();
            Expr::Binary(operator, left, pushed.next())
        });
    }
    let ordered =
        matches!(operator, Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual);
    if ordered && !matches!(a, Value::Int(_) | Value::String(_)) {
        // If the left operand is neither an integer nor a text, the comparison is false. The information
        // about the operands is dropped.
        return Eval::value(false);
    }
    let result = match operator {
        Operator::Concat => concat(&a, &b, left, right, env),
        Operator::Equal => equals(&a, &b).map(Value::from).map_err(|error| error.to_string()),
        Operator::NotEqual => equals(&a, &b).map(|equal| (!equal).into()).map_err(|error| error.to_string()),
        Operator::Add => add(&a, &b),
        Operator::Subtract => subtract(&a, &b),
        Operator::Multiply => multiply(&a, &b),
        Operator::Divide => divide(&a, &b),
        Operator::Modulo => modulo(&a, &b),
        other => compare(other, &a, &b).map(Value::from),
    };
    match result {
        Ok(value) => Eval::with(value, parts.info),
        Err(message) => parts.error(message),
    }
}

/// Evaluates `a -and b` or `a -or b`. If `a` fails, the whole expression fails without a message. If `a` has a value,
/// `b` is always evaluated. If `a` alone decides the result, a failure of `b` is ignored. For example, `false -and b`
/// is false even if `b` fails.
///
/// An integer `a` never decides the result alone, because two integers are combined bit by bit.
fn logic(expr: &Child, operator: Operator, left: &Child, right: &Child, env: &Env) -> Eval {
    let first = super::eval(left, env, false);
    let a = match first.outcome {
        Outcome::Value(value) => value,
        Outcome::Later(_) => return Eval::later(expr.clone(), first.info),
        Outcome::Failed => return Eval::failed(Info::default()),
    };
    let second = super::eval(right, env, false);
    let info = first.info.join(second.info);
    if matches!(second.outcome, Outcome::Later(_)) {
        return Eval::later(expr.clone(), info);
    }
    let Outcome::Value(b) = second.outcome else {
        let decided = match operator {
            Operator::LogAnd => !matches!(a, Value::Int(_)) && !a.is_true(),
            _ => !matches!(a, Value::Int(_)) && a.is_true(),
        };
        return if decided { Eval::with(operator == Operator::LogOr, info) } else { Eval::failed(info) };
    };
    let value = match (operator, &a, &b) {
        (Operator::LogAnd, Value::Int(a), Value::Int(b)) => Value::Int(a & b),
        (_, Value::Int(a), Value::Int(b)) => Value::Int(a | b),
        (Operator::LogAnd, a, b) => Value::Bool(a.is_true() && b.is_true()),
        (_, a, b) => Value::Bool(a.is_true() || b.is_true()),
    };
    Eval::with(value, info)
}

fn concat(a: &Value, b: &Value, left: &Child, right: &Child, env: &Env) -> Result<Value, String> {
    if let Some(text) = concat_text(a, b) {
        env.state().spend(text.len() as u64)?;
        return Ok(text.into());
    }
    let impossible = || {
        format!(
            "type '{}'({right}) cannot be concatenated with type '{}'({left})",
            b.type_name(),
            a.type_name()
        )
    };
    match (a, b) {
        (Value::Map(_) | Value::List(_), Value::Null | Value::Undefined) => Ok(a.clone()),
        (Value::Map(a), Value::Map(b)) => {
            env.state().spend(MAP + ENTRY * (a.len() + b.len()) as u64)?;
            let mut map = (**a).clone();
            map.extend(b.iter().map(|(key, node)| (key.clone(), node.clone())));
            Ok(map.into())
        }
        (Value::List(a), b) => {
            let mut list = Vec::with_capacity(a.len() + 1);
            list.extend(a.iter().cloned());
            match b {
                Value::List(b) => list.extend(b.iter().cloned()),
                other => list.push(Node::new(other.clone()).with_source(env.source.clone())),
            }
            env.state().spend(ENTRY * list.len() as u64)?;
            Ok(list.into())
        }
        _ => Err(impossible()),
    }
}

fn concat_text(a: &Value, b: &Value) -> Option<String> {
    let simple = |value: &Value| match value {
        Value::String(text) => Some(text.to_string()),
        Value::Int(value) => Some(value.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    };
    let second = match b {
        Value::Lambda(lambda) => Some(lambda.text()),
        other => simple(other),
    };
    let mut text = simple(a)?;
    text.push_str(&second?);
    Some(text)
}

fn compare(operator: Operator, a: &Value, b: &Value) -> Result<bool, String> {
    let ordering = match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Int(_), _) => {
            return Err(format!("comparision {} only for integers or strings", operator.sign()));
        }
        (Value::String(_), _) => {
            return Err(format!("comparision {} only for strings or integers", operator.sign()));
        }
        _ => return Ok(false),
    };
    Ok(match operator {
        Operator::LessEqual => ordering != Ordering::Greater,
        Operator::GreaterEqual => ordering != Ordering::Less,
        Operator::Less => ordering == Ordering::Less,
        _ => ordering == Ordering::Greater,
    })
}

/// Two numbers of the same type.
enum Numbers {
    Ints(i64, i64),
    Floats(f64, f64),
}

#[expect(clippy::cast_precision_loss, reason = "as the language has it: an integer beside a float is one")]
fn numbers(a: &Value, b: &Value) -> Option<Numbers> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Numbers::Ints(*a, *b),
        (Value::Int(a), Value::Float(b)) => Numbers::Floats(*a as f64, *b),
        (Value::Float(a), Value::Int(b)) => Numbers::Floats(*a, *b as f64),
        (Value::Float(a), Value::Float(b)) => Numbers::Floats(*a, *b),
        _ => return None,
    })
}

/// Applies `ints` to two integers, or `floats` to two floats. If only one of the numbers is a float, the other number
/// is converted to a float. Returns `None` if a value is no number.
fn calculate(a: &Value, b: &Value, ints: fn(i64, i64) -> i64, floats: fn(f64, f64) -> f64) -> Option<Value> {
    Some(match numbers(a, b)? {
        Numbers::Ints(a, b) => ints(a, b).into(),
        Numbers::Floats(a, b) => floats(a, b).into(),
    })
}

fn add(a: &Value, b: &Value) -> Result<Value, String> {
    if let Value::String(text) = a {
        return network::add(text, b);
    }
    calculate(a, b, i64::wrapping_add, |a, b| a + b)
        .ok_or_else(|| "non-IP address addition requires number arguments".into())
}

fn subtract(a: &Value, b: &Value) -> Result<Value, String> {
    if let Value::String(text) = a {
        return network::subtract(text, b);
    }
    calculate(a, b, i64::wrapping_sub, |a, b| a - b)
        .ok_or_else(|| "non-IP address subtration requires number arguments".into())
}

fn multiply(a: &Value, b: &Value) -> Result<Value, String> {
    if let Value::String(text) = a {
        return network::multiply(text, b);
    }
    calculate(a, b, i64::wrapping_mul, |a, b| a * b)
        .ok_or_else(|| "non-CIDR multiplication requires number arguments".into())
}

fn divide(a: &Value, b: &Value) -> Result<Value, String> {
    if let Value::String(text) = a {
        return network::divide(text, b);
    }
    match numbers(a, b) {
        Some(Numbers::Ints(_, 0)) => Err("division by zero".into()),
        Some(Numbers::Ints(a, b)) => Ok(a.wrapping_div(b).into()),
        Some(Numbers::Floats(_, 0.0)) => Err("division by zero".into()),
        Some(Numbers::Floats(a, b)) => Ok((a / b).into()),
        None => Err("non-CIDR division requires number arguments".into()),
    }
}

const NO_INTEGER: &str = "integer operand required";

/// Returns the integer of a value; null counts as zero.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::Null | Value::Undefined => Some(0),
        _ => None,
    }
}

fn modulo(a: &Value, b: &Value) -> Result<Value, String> {
    match (integer(a), integer(b)) {
        (Some(_), Some(0)) => Err("division by zero".into()),
        (Some(a), Some(b)) => Ok(a.wrapping_rem(b).into()),
        _ => Err(NO_INTEGER.into()),
    }
}
