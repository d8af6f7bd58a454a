//! Packages, locations and calls for tests of the driver.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::{Binding, Bindings, Call, Failure, Location, Package, PrivateState, Question};
use windlass_model::record::PackageFile;
use windlass_model::resolve::Resolved;
use windlass_model::{Action, Transition};

/// The instance id of every call.
pub(crate) const INSTANCE: &str = "abcdefghijkmnpqrstuvwxyz";

/// A package under construction.
#[derive(Default)]
pub(crate) struct World {
    bindings: Bindings,
    files: Vec<PackageFile>,
    properties: BTreeMap<String, Value>,
    location: BTreeMap<String, Value>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Sets a driver property.
    pub(crate) fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.properties.insert(name.to_owned(), value.into());
        self
    }

    /// Sets a property of the location.
    pub(crate) fn at(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.location.insert(name.to_owned(), value.into());
        self
    }

    /// Declares transitions or operations.
    pub(crate) fn declares(mut self, names: &[&str]) -> Self {
        for name in names {
            match name.parse::<Transition>() {
                Ok(transition) => drop(self.bindings.transitions.insert(transition, Vec::new())),
                Err(_) => drop(self.bindings.operations.insert((*name).to_owned(), Vec::new())),
            }
        }
        self
    }

    /// Adds a shell script.
    pub(crate) fn script(self, name: &str, body: &str) -> Self {
        self.file(&format!("scripts/{name}"), true, format!("#!/bin/sh\n{body}\n"))
    }

    /// Adds a file to the driver's folder.
    pub(crate) fn file(mut self, path: &str, executable: bool, content: impl AsRef<[u8]>) -> Self {
        let path = format!("Lifecycle/script/{path}");
        self.files.push(PackageFile { path, executable, content: content.as_ref().to_vec() });
        self
    }

    pub(crate) fn package(&self) -> Package {
        let binding = Binding {
            driver: "script".parse().unwrap(),
            infrastructure: vec!["*".to_owned()],
            properties: self.properties.clone(),
        };
        let bindings = Bindings { default: vec![binding], ..self.bindings.clone() };
        Package::new("resource::web::1.0".parse().unwrap(), bindings, self.files.clone())
    }

    /// Returns a call of an action for an instance that has no natural id yet.
    pub(crate) fn call(&self, action: &str) -> Call {
        call(action, self.package(), self.location.clone())
    }
}

/// Parses an action.
pub(crate) fn action(word: &str) -> Action {
    match word.parse::<Transition>() {
        Ok(transition) => Action::Transition(transition),
        Err(_) => Action::Operation(word.parse().unwrap()),
    }
}

pub(crate) fn call(word: &str, package: Package, properties: BTreeMap<String, Value>) -> Call {
    let action = action(word);
    let location = Location { properties, ..Location::local("here") };
    let binding = package.bindings().find(&action, "Local").unwrap().clone();
    Call {
        id: "st1-p1-s3-c1".parse().unwrap(),
        attempt: 1,
        action,
        element: "shop__web__1".parse().unwrap(),
        instance: INSTANCE.parse().unwrap(),
        natural: None,
        document: json!({}),
        properties: BTreeMap::new(),
        sensitive: BTreeSet::new(),
        configuration: location.configuration(),
        arguments: BTreeMap::new(),
        pair: None,
        open_commands: Vec::new(),
        question: Question::Health,
        private: PrivateState::default(),
        package: Arc::new(package),
        binding,
        location: Arc::new(location),
    }
}

/// Formats a failure for snapshots.
pub(crate) fn shown(failure: &Failure) -> String {
    let detail = failure.detail.as_ref().map(|detail| format!("\n---\n{detail}")).unwrap_or_default();
    format!("{:?}: {}{detail}", failure.kind, failure.message)
}

/// Methods with which tests change a call.
pub(crate) trait With: Sized {
    fn natural(self, id: &str) -> Self;
    fn property(self, name: &str, value: impl Into<Value>) -> Self;
    fn secret(self, name: &str, value: &str) -> Self;
    fn argument(self, name: &str, value: impl Into<Value>) -> Self;
}

impl With for Call {
    fn natural(mut self, id: &str) -> Self {
        self.natural = Some(id.to_owned());
        self
    }

    fn property(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.properties.insert(name.parse().unwrap(), Resolved::plain(value));
        self
    }

    fn secret(mut self, name: &str, value: &str) -> Self {
        let value = Resolved { value: value.into(), sensitive: true };
        self.properties.insert(name.parse().unwrap(), value);
        self
    }

    fn argument(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.parse().unwrap(), Resolved::plain(value));
        self
    }
}
