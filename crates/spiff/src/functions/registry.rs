//! The registry of functions by name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

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
    /// Shared by an engine and all its sessions.
    functions: Arc<BTreeMap<Cow<'static, str>, Builtin>>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a function, or replaces the function of that name.
    pub fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        function: impl Fn(&mut dyn Host, &[Node]) -> Result<Node, FunctionError> + Send + Sync + 'static,
    ) -> &mut Self {
        Arc::make_mut(&mut self.functions).insert(name.into(), Arc::new(function));
        self
    }

    /// Returns the function of a name.
    pub fn get(&self, name: &str) -> Option<&Builtin> {
        self.functions.get(name)
    }

    /// Returns all names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(|name| &**name)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
