//! Which keys a map may have.

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
    /// Any key.
    pub fn any() -> Self {
        Self(Rule::Any)
    }

    /// One of these names. An error about another name suggests the nearest of them.
    pub fn one_of<K: Into<String>>(names: impl IntoIterator<Item = K>) -> Self {
        Self(Rule::OneOf(names.into_iter().map(Into::into).collect()))
    }

    /// Keys that pass a test. `expected` completes the sentence "expected …": `a name of letters and digits`.
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

    /// The names to choose from, where they can be listed.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let names = if let Rule::OneOf(names) = &self.0 { Some(names) } else { None };
        names.into_iter().flatten().map(String::as_str)
    }

    /// What a key must look like, where it can be said.
    pub(crate) fn expected(&self) -> Option<&Cow<'static, str>> {
        if let Rule::Matching(expected, _) = &self.0 { Some(expected) } else { None }
    }
}
