//! The registry of all functions of the language.

use std::sync::LazyLock;

use super::registry::Registry;
#[cfg(feature = "x509")]
use super::x509;
use super::{
    address, archive, convert, document, left_out, lists, network, numbers, outside, printf, random, strings,
    validate, versions,
};
#[cfg(feature = "crypto")]
use super::{digest, encrypt, wireguard};

impl Registry {
    /// Creates a registry with all functions of the language that get evaluated arguments. The evaluator
    /// itself implements `defined`, `valid`, `require`, `optional`, `stub`, `catch` and `sync`. If a function
    /// needs a Cargo feature that is turned off, a call of the function fails, and the message names the
    /// feature.
    ///
    /// ```
    /// use windlass_spiff::functions::Registry;
    ///
    /// assert!(Registry::standard().get("join").is_some());
    /// ```
    pub fn standard() -> Self {
        static STANDARD: LazyLock<Registry> = LazyLock::new(|| {
            let mut registry = Registry::empty();
            register(&mut registry);
            registry
        });
        Self::of(&STANDARD)
    }
}

/// Adds the functions of the language.
fn register(registry: &mut Registry) {
    address::register(registry);
    archive::register(registry);
    convert::register(registry);
    document::register(registry);
    lists::register(registry);
    network::register(registry);
    numbers::register(registry);
    outside::register(registry);
    printf::register(registry);
    random::register(registry);
    strings::register(registry);
    validate::register(registry);
    versions::register(registry);
    #[cfg(feature = "crypto")]
    {
        digest::register(registry);
        encrypt::register(registry);
        wireguard::register(registry);
    }
    #[cfg(feature = "x509")]
    x509::register(registry);
    left_out::register(registry);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each Cargo feature, the module `left_out` lists exactly the functions that the feature adds.
    #[test]
    #[cfg(all(feature = "crypto", feature = "x509"))]
    fn each_feature_has_its_functions() {
        let names = |register: &[fn(&mut Registry)]| {
            let mut registry = Registry::empty();
            for register in register {
                register(&mut registry);
            }
            registry.names().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&[digest::register, encrypt::register, wireguard::register]),
            left_out::CRYPTO.functions
        );
        assert_eq!(names(&[x509::register]), left_out::X509.functions);
    }
}
