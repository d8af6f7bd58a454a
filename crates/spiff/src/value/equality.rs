//! Two kinds of equality: equality of data (`PartialEq`), and equality by the operator `==` of the language
//! ([`equals`]).

use std::sync::Arc;

use super::node::{Annotations, Node, Value};
use super::number;

/// An error for two values that the operator `==` can't compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotComparable {
    /// One of the values is null, and the other is not. As in the Go program spiff++, the message is empty.
    #[error("")]
    Null,
    /// The left value is a string, and the right value is neither a string nor an integer nor a boolean.
    #[error("types uncomparable")]
    Types,
}

/// Equality of data. Annotations are ignored. `1` and `1.0` differ, and NaN equals NaN. Lambdas are equal if
/// their syntax is equal, and templates if their original content is equal.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => Arc::ptr_eq(a, b) || same_list(a, b),
            (Self::Map(a), Self::Map(b)) => {
                Arc::ptr_eq(a, b)
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

impl PartialEq for Annotations {
    fn eq(&self, other: &Self) -> bool {
        let template = match (&self.template, &other.template) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a.original().value() == b.original().value(),
            _ => false,
        };
        template
            && self.flags == other.flags
            && self.redirect == other.redirect
            && (self.replace, self.merged, self.preferred) == (other.replace, other.merged, other.preferred)
            && (self.undefined, self.error, self.failed) == (other.undefined, other.error, other.failed)
            && self.key_name == other.key_name
            && self.tag == other.tag
            && self.issue == other.issue
    }
}

/// Compares two values as the operator `==` does. If possible, the operator converts the right value to the type of the
/// left value.
///
/// `1 == "1"`, `"true" == true` and `1 == true` are true, and `true == 1` is false. A float equals no value, not even
/// itself. Two nulls are equal. Inside of lists and maps, two values that can't be compared count as different.
///
/// # Errors
/// - [`NotComparable::Null`] if only one of the values is null.
/// - [`NotComparable::Types`] if the left value is a string, and the right value is no string, integer or boolean.
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
            let equal =
                |(key, a): (&Arc<str>, &Node)| b.get(key).is_some_and(|b: &Node| equals(a, b) == Ok(true));
            a.len() == b.len() && a.iter().all(equal)
        }
        (Value::Lambda(_), Value::Lambda(_)) | (Value::Template(_), Value::Template(_)) => left == right,
        _ => false,
    })
}
