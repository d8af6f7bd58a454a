//! Resolved values, and the outputs that values await.

use std::sync::Arc;

use serde_json::Value;

use crate::name::{ElementName, PropertyName};
use crate::sorted;

/// A value, and whether it is sensitive.
#[derive(Clone, PartialEq)]
pub struct Resolved {
    /// The value. [`Lookup::secret`](super::Lookup::secret) may return `None`, for example because the key of the store
    /// is missing. The value then contains `***` in place of the secret.
    pub value: Value,
    /// Whether the value is sensitive, or was computed from a sensitive value.
    pub sensitive: bool,
}

impl std::fmt::Debug for Resolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shown().fmt(f)
    }
}

impl Resolved {
    /// Creates a value that is not sensitive.
    pub fn plain(value: impl Into<Value>) -> Self {
        Self { value: value.into(), sensitive: false }
    }

    /// Returns the value for display: `***` if it is sensitive and not null.
    pub fn shown(&self) -> Value {
        if self.sensitive && !self.value.is_null() { Value::from("***") } else { self.value.clone() }
    }
}

/// An output or an instance id that is not known yet. A value that depends on it is not known either.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Missing {
    /// A property that a driver publishes.
    Output {
        /// The element that publishes the property.
        element: ElementName,
        /// The name of the property.
        property: PropertyName,
        /// The element's position in the topology.
        place: usize,
    },
    /// The instance id that this element will get.
    InstanceId(ElementName),
}

/// The result of resolving a property or a template: a value, or the missing outputs and instance ids.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The value is known.
    Known(Resolved),
    /// The value is not known yet, because it depends on these outputs and instance ids.
    Waiting(Awaited),
}

/// The missing outputs and instance ids on which a value depends: at least one, sorted and without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited(Sorted);

/// The content of an [`Awaited`]. Most unknown values await exactly one output or instance id. This case has a variant
/// of its own, which needs no allocation. Copies of a longer list share the memory of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sorted {
    One(Missing),
    Many(Arc<[Missing]>),
}

impl Awaited {
    /// Returns the missing outputs and instance ids, sorted.
    pub fn iter(&self) -> std::slice::Iter<'_, Missing> {
        match &self.0 {
            Sorted::One(missing) => std::slice::from_ref(missing).iter(),
            Sorted::Many(missing) => missing.iter(),
        }
    }

    /// Returns the number of missing outputs and instance ids.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.iter().len()
    }
}

impl<'a> IntoIterator for &'a Awaited {
    type Item = &'a Missing;
    type IntoIter = std::slice::Iter<'a, Missing>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Missing> for Awaited {
    fn from(missing: Missing) -> Self {
        Self(Sorted::One(missing))
    }
}

impl Awaited {
    /// Sorts the missing outputs and instance ids, and removes duplicates. Returns `None` if nothing is missing.
    pub(super) fn of(mut missing: Vec<Missing>) -> Option<Self> {
        missing.sort_unstable();
        missing.dedup();
        match missing.len() {
            0 => None,
            1 => missing.pop().map(Self::from),
            _ => Some(Self(Sorted::Many(missing.into()))),
        }
    }
}

/// Converts a value to the text that replaces its reference `${…}` inside a longer text. Text stays as it is, and null
/// becomes an empty text. Numbers, booleans, lists and maps become JSON; the members of
/// maps are sorted.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => sorted::Sorted(other).to_string(),
    }
}
