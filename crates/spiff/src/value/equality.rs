//! Two kinds of equality: of data (`PartialEq`), and of the operator `==` ([`equals`]).

use super::{Node, Value, number};

/// The operator `==` has no answer for these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotComparable {
    /// Null and something else. The original says nothing about it.
    #[error("")]
    Null,
    /// A string and something that has no text.
    #[error("types uncomparable")]
    Types,
}

/// Equality of data: annotations don't count, `1` and `1.0` differ, NaN is NaN. Lambdas are equal by their
/// syntax, templates by their original text.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => std::sync::Arc::ptr_eq(a, b) || same_list(a, b),
            (Self::Map(a), Self::Map(b)) => {
                std::sync::Arc::ptr_eq(a, b)
                    || (a.len() == b.len()
                        && a.iter().zip(b.iter()).all(|((ka, a), (kb, b))| ka == kb && **a == **b))
            }
            (Self::Lambda(a), Self::Lambda(b)) => a.equivalent(b.as_ref()),
            (Self::Template(a), Self::Template(b)) => **a.original() == **b.original(),
            (Self::Expression(a), Self::Expression(b)) => a.equivalent(b.as_ref()),
            _ => false,
        }
    }
}

fn same_list(a: &[Node], b: &[Node]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| **a == **b)
}

/// Whether two values are equal as the operator `==` has it, which converts the right one to the left one's type.
///
/// `1 == "1"` and `"true" == true` and `1 == true` hold, `true == 1` does not. Floats are never equal. Null equals
/// null only. Inside of lists and maps what can't be compared differs.
///
/// # Errors
/// Strings and null can't be compared with everything.
pub fn equals(left: &Value, right: &Value) -> Result<bool, NotComparable> {
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => return Err(NotComparable::Null),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::String(a), Value::Int(b)) => **a == *b.to_string(),
        (Value::String(a), Value::Bool(b)) => **a == *b.to_string(),
        (Value::String(_), _) => return Err(NotComparable::Types),
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Int(a), Value::String(b)) => number::parse_int(b).is_some_and(|b| *a == b),
        (Value::Int(a), Value::Bool(b)) => *a == i64::from(*b),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Bool(a), Value::String(b)) => number::parse_bool(b) == Some(*a),
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equals(a, b) == Ok(true))
        }
        (Value::Map(a), Value::Map(b)) => {
            let equal = |(key, a): (&std::sync::Arc<str>, &Node)| {
                b.get(key).is_some_and(|b: &Node| equals(a, b) == Ok(true))
            };
            a.len() == b.len() && a.iter().all(equal)
        }
        (Value::Lambda(_), Value::Lambda(_)) | (Value::Template(_), Value::Template(_)) => left == right,
        _ => false,
    })
}
