//! Functions of Cargo features that are turned off in a build. A call of such a function fails, and the
//! message names the feature.

use super::{FunctionError, Host, Registry};
use crate::value::Node;

/// A Cargo feature of this crate, and the names of the functions that need it, sorted.
pub(super) struct Feature {
    name: &'static str,
    is_on: bool,
    pub(super) functions: &'static [&'static str],
}

pub(super) const CRYPTO: Feature = Feature {
    name: "crypto",
    is_on: cfg!(feature = "crypto"),
    functions: &[
        "bcrypt",
        "bcrypt_check",
        "decrypt",
        "encrypt",
        "hash",
        "md5",
        "md5crypt",
        "md5crypt_check",
        "wggenkey",
        "wgpublickey",
    ],
};

pub(super) const X509: Feature = Feature {
    name: "x509",
    is_on: cfg!(feature = "x509"),
    functions: &["x509cert", "x509genkey", "x509parsecert", "x509publickey"],
};

/// Adds replacements for the functions that this build lacks because their features are turned off. A call of a
/// replacement fails with the message that names the feature.
pub(super) fn register(registry: &mut Registry) {
    for feature in [CRYPTO, X509].iter().filter(|feature| !feature.is_on) {
        add(registry, feature);
    }
}

fn add(registry: &mut Registry, feature: &Feature) {
    let needed = feature.name;
    for function in feature.functions {
        registry.add(*function, move |_: &mut dyn Host, _: &[Node]| {
            Err(error(&format!("function '{function}'"), needed))
        });
    }
}

/// Returns the error for a function or condition whose Cargo feature is turned off.
pub(super) fn error(subject: &str, feature: &str) -> FunctionError {
    FunctionError::failed(format!(
        "{subject} is not in this program: it was built without the feature `{feature}` of windlass-spiff"
    ))
}

#[cfg(test)]
mod tests {
    use windlass_source::Source;

    use super::*;
    use crate::Engine;

    #[test]
    fn a_function_that_was_left_out_names_its_feature() {
        let mut registry = Registry::empty();
        for feature in [CRYPTO, X509] {
            add(&mut registry, &feature);
        }
        let mut engine = Engine::new();
        for name in registry.names() {
            let function = registry.get(name).expect("it has this name").clone();
            engine = engine.with_function(name.to_owned(), move |host, arguments| function(host, arguments));
        }
        for (call, feature) in [("md5(\"a\")", "crypto"), ("x509genkey()", "x509")] {
            let template = Source::new("t.yaml", format!("a: (( {call} ))\n"));
            let report = engine.process_texts(&template, &[]).unwrap_err().to_string();
            assert!(report.contains("is not in this program"), "{report}");
            assert!(report.contains(&format!("the feature `{feature}` of windlass-spiff")), "{report}");
            assert!(!report.contains("unknown function"), "{report}");
        }
    }

    /// If the build lacks a feature, the registry contains replacements for the functions of this feature.
    #[test]
    fn the_standard_registry_has_every_function() {
        let registry = Registry::standard();
        for function in CRYPTO.functions.iter().chain(X509.functions) {
            assert!(registry.get(function).is_some(), "{function}");
        }
    }
}
