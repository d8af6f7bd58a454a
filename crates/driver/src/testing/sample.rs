//! A call without values, as the base for the calls of a [`Subject`](super::Subject).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use windlass_model::Action;

use crate::{Call, Location, Package, PrivateState, Question};

/// Creates a call at a local location. The call requests `action` of the resource in `package`. Calls with
/// different numbers are for different instances.
///
/// The call has no natural id, an empty document, and no properties.
///
/// # Panics
/// When the package names no driver for the action at infrastructure type `Local`.
pub fn call(package: Package, action: Action, number: u32) -> Call {
    let binding = package.bindings().find(&action, "Local").expect("the package names a driver").clone();
    let name = "the names of samples are valid";
    Call {
        id: format!("trial-p1-s{number}-c0").parse().expect(name),
        attempt: 1,
        action,
        element: format!("trial__part__{number}").parse().expect(name),
        instance: format!("instance-{number}").parse().expect(name),
        natural: None,
        document: json!({}),
        properties: BTreeMap::new(),
        sensitive: BTreeSet::new(),
        configuration: BTreeMap::new(),
        arguments: BTreeMap::new(),
        pair: None,
        open_commands: Vec::new(),
        question: Question::Health,
        private: PrivateState::default(),
        package: Arc::new(package),
        binding,
        location: Arc::new(Location::local("here")),
    }
}
