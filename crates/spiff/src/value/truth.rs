//! Decides whether a value counts as true in a condition.

use super::node::Value;

impl Value {
    /// Tells whether a value counts as true. The values `~~`, null, `false`, `""`, `0`, `[]` and `{}` count
    /// as false. All other values, such as `0.0`, count as true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::String(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(map) => !map.is_empty(),
            _ => true,
        }
    }
}
