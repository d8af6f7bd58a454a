//! Truth: which values count as true.

use super::Value;

impl Value {
    /// Whether a condition of this value holds: null, `false`, `""`, `0`, `[]` and `{}` don't, all else does, also
    /// `0.0`.
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
