//! The operators of updates: `$set`, `$unset` and `$pushAll`.

use std::fmt;

/// The operation that an update requests at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// Replaces the value. In an update, this operator is written as `$set`, or as a field of the document:
    /// `{"name": "pump"}`.
    Set,
    /// Removes the value. In an update, this operator is written as `$unset`.
    Unset,
    /// Appends entries to a list. In an update, this operator is written as `$pushAll`.
    PushAll,
}

impl Operator {
    /// All operators, in the order in which messages list them.
    pub const ALL: [Self; 3] = [Self::Set, Self::Unset, Self::PushAll];

    /// Returns the operator's name, such as `$set`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "$set",
            Self::Unset => "$unset",
            Self::PushAll => "$pushAll",
        }
    }

    /// Returns the operator whose name is `name`, such as `$set`. Returns `None` if no operator has this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.name() == name)
    }

    /// Returns the participle that completes the message "it may not be …", for example `replaced`.
    pub(crate) fn participle(self) -> &'static str {
        match self {
            Self::Set => "replaced",
            Self::Unset => "removed",
            Self::PushAll => "appended to",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
