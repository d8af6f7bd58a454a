//! The permitted keys of a map.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The rule for the keys of a map.
#[derive(Clone, Debug)]
#[must_use]
pub struct Keys(Rule);

#[derive(Clone, Debug)]
enum Rule {
    Any,
    OneOf(BTreeSet<String>),
    Matching(Cow<'static, str>, fn(&str) -> bool),
}

impl Keys {
    /// Permits any key.
    pub fn any() -> Self {
        Self(Rule::Any)
    }

    /// Permits only these names. An error about another name suggests the nearest permitted name.
    pub fn one_of<K: Into<String>>(names: impl IntoIterator<Item = K>) -> Self {
        Self(Rule::OneOf(names.into_iter().map(Into::into).collect()))
    }

    /// Permits keys that pass a test. `expected` describes such a key, for example `a name of letters and digits`.
    /// In error messages, this description stands after the words "the key is not".
    pub fn matching(expected: impl Into<Cow<'static, str>>, test: fn(&str) -> bool) -> Self {
        Self(Rule::Matching(expected.into(), test))
    }

    pub(crate) fn allows(&self, key: &str) -> bool {
        match &self.0 {
            Rule::Any => true,
            Rule::OneOf(names) => names.contains(key),
            Rule::Matching(_, test) => test(key),
        }
    }

    /// Returns the names that were passed to [`Keys::one_of`]; empty if these `Keys` were created in another way.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let names = if let Rule::OneOf(names) = &self.0 { Some(names) } else { None };
        names.into_iter().flatten().map(String::as_str)
    }

    /// Returns the description of a permitted key. Returns `None` if the keys were not restricted by
    /// [`Keys::matching`].
    pub(crate) fn expected(&self) -> Option<&Cow<'static, str>> {
        if let Rule::Matching(expected, _) = &self.0 { Some(expected) } else { None }
    }
}
