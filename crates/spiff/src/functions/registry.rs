//! The functions that templates can call, and their names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use super::{FunctionError, Host};
use crate::value::Node;

/// A function that templates can call. The function gets a host and the evaluated arguments, and returns a node.
///
/// The result of the call has the value of this node. Two [`Annotations`](crate::value::Annotations) of the node also
/// become part of the result: `key_name` and `undefined`. The other annotations have no effect.
pub type Builtin = Arc<dyn Fn(&mut dyn Host, &[Node]) -> Result<Node, FunctionError> + Send + Sync>;

/// The functions that templates can call, with their names.
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
    /// A registry with further functions, such as the standard functions; `None` if there are none. If `base` and
    /// `added` contain functions with the same name, the function in `added` is used. `base` is created when it is
    /// first needed, because a small template often calls no function.
    base: Option<&'static LazyLock<Registry>>,
    /// Functions that [`add`](Self::add) has added. An engine and all its sessions share them.
    added: Arc<BTreeMap<Cow<'static, str>, Builtin>>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates a registry with the functions of another registry.
    pub(super) fn of(base: &'static LazyLock<Self>) -> Self {
        Self { base: Some(base), added: Arc::default() }
    }

    /// Adds a function. If a function with the same name exists, the new function replaces it.
    pub fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        function: impl Fn(&mut dyn Host, &[Node]) -> Result<Node, FunctionError> + Send + Sync + 'static,
    ) -> &mut Self {
        Arc::make_mut(&mut self.added).insert(name.into(), Arc::new(function));
        self
    }

    /// Returns the function with this name.
    pub fn get(&self, name: &str) -> Option<&Builtin> {
        self.added.get(name).or_else(|| self.base?.get(name))
    }

    /// Returns the names of all functions, sorted.
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
