//! The registry of functions by name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use super::{FunctionError, Host};
use crate::value::Node;

/// A function: takes arguments and returns a node. The node's annotations (the key field of a list, flags)
/// are passed on.
pub type Builtin = Arc<dyn Fn(&mut dyn Host, &[Node]) -> Result<Node, FunctionError> + Send + Sync>;

/// A registry of functions by name.
///
/// ```
/// use windlass_spiff::functions::Registry;
/// use windlass_spiff::value::Node;
///
/// let mut registry = Registry::empty();
/// registry.add("answer", |_host, _arguments| Ok(Node::new(42)));
/// assert!(registry.get("answer").is_some());
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    /// Functions that [`Registry::add`] may replace. They are collected when the first of them is looked up: a
    /// small template often calls none.
    base: Option<&'static LazyLock<Registry>>,
    /// Shared by an engine and all its sessions.
    added: Arc<BTreeMap<Cow<'static, str>, Builtin>>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates a registry of the functions of another registry.
    pub(super) fn of(base: &'static LazyLock<Self>) -> Self {
        Self { base: Some(base), added: Arc::default() }
    }

    /// Adds a function, or replaces the function of that name.
    pub fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        function: impl Fn(&mut dyn Host, &[Node]) -> Result<Node, FunctionError> + Send + Sync + 'static,
    ) -> &mut Self {
        Arc::make_mut(&mut self.added).insert(name.into(), Arc::new(function));
        self
    }

    /// Returns the function of a name.
    pub fn get(&self, name: &str) -> Option<&Builtin> {
        self.added.get(name).or_else(|| self.base?.get(name))
    }

    /// Returns all names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut names: BTreeSet<&str> = self.added.keys().map(|name| &**name).collect();
        if let Some(base) = self.base {
            names.extend(base.added.keys().map(|name| &**name));
        }
        names.into_iter()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
