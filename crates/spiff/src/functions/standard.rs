//! The registry of all functions of the language.

use super::registry::Registry;
use super::{
    address, archive, convert, digest, document, encrypt, lists, network, numbers, outside, printf, random,
    strings, validate, versions, x509,
};

impl Registry {
    /// Creates a registry of all functions of the language, except those that need their arguments
    /// unevaluated (`defined`, `valid`, `require`, `optional`, `stub`, `catch`, `sync`), which the evaluator
    /// implements.
    ///
    /// ```
    /// use windlass_spiff::functions::Registry;
    ///
    /// assert!(Registry::standard().get("join").is_some());
    /// ```
    pub fn standard() -> Self {
        let mut registry = Self::empty();
        register(&mut registry);
        registry
    }
}

/// Adds the functions of the language.
fn register(registry: &mut Registry) {
    address::register(registry);
    archive::register(registry);
    convert::register(registry);
    digest::register(registry);
    document::register(registry);
    encrypt::register(registry);
    lists::register(registry);
    network::register(registry);
    numbers::register(registry);
    outside::register(registry);
    printf::register(registry);
    random::register(registry);
    strings::register(registry);
    validate::register(registry);
    versions::register(registry);
    x509::register(registry);
}
