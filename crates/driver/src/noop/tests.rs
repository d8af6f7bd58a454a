use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use windlass_model::CallId;
use windlass_model::resolve::Resolved;

use super::*;
use crate::{Bindings, Location, PrivateState, Question, Settled};

/// Returns the package of a resource that declares the given transitions. The default driver of the resource is
/// `noop`, and `properties` contains the driver properties.
fn package(transitions: &[Transition], properties: Value) -> Package {
    let default = vec![Binding {
        driver: Noop.kind(),
        infrastructure: vec!["*".to_owned()],
        properties: serde_json::from_value(properties).unwrap(),
    }];
    let transitions = transitions.iter().map(|transition| (*transition, Vec::new())).collect();
    let operations = BTreeMap::from([("Join".to_owned(), Vec::new())]);
    let bindings = Bindings { transitions, operations, default, ..Bindings::default() };
    Package::new("resource::data::1.0".parse().unwrap(), bindings, Vec::new())
}

fn effect(package: &Package, action: &Action) -> Option<Effect> {
    Noop.nature(package, action).map(|nature| nature.effect)
}

fn call(package: Package, action: Action, properties: &[(&str, Resolved)]) -> Call {
    let binding = package.bindings().default[0].clone();
    Call {
        id: "st-p1-s1-c0".parse::<CallId>().unwrap(),
        attempt: 1,
        action,
        element: "t__a".parse().unwrap(),
        instance: "inst-1".parse().unwrap(),
        natural: None,
        document: json!({}),
        properties: properties.iter().map(|(name, value)| (name.parse().unwrap(), value.clone())).collect(),
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

const INSTALL: Action = Action::Transition(Transition::Install);
const CREATE: Action = Action::Transition(Transition::Create);
const START: Action = Action::Transition(Transition::Start);

#[test]
fn nothing_set_is_no_call() {
    let package = package(&[Transition::Install, Transition::Start], json!({}));
    for action in [INSTALL, START, Action::Operation("Join".parse().unwrap())] {
        assert_eq!(effect(&package, &action), None, "{action}");
    }
}

#[test]
fn an_effect_is_that_of_every_declared_action() {
    for (word, expected) in [("repeatable", Effect::Repeatable), ("once", Effect::Once)] {
        let package = package(&[Transition::Install], json!({ "effect": word }));
        assert_eq!(effect(&package, &INSTALL), Some(expected));
        assert_eq!(effect(&package, &Action::Operation("Join".parse().unwrap())), Some(expected));
        assert_eq!(effect(&package, &START), None, "it isn't declared");
    }
}

#[test]
fn outputs_alone_make_the_call_that_publishes_them() {
    let outputs = json!({"outputs": {"out": "in"}});
    let both = package(&[Transition::Create, Transition::Install, Transition::Start], outputs.clone());
    assert_eq!(effect(&both, &CREATE), Some(Effect::Repeatable));
    assert_eq!(effect(&both, &INSTALL), None);
    assert_eq!(effect(&both, &START), None);
    assert_eq!(effect(&package(&[Transition::Install], outputs), &INSTALL), Some(Effect::Repeatable));
}

#[test]
fn outputs_are_published_where_the_part_is_made() {
    let outputs = json!({"effect": "once", "outputs": {"out": "in", "net.id": "in"}});
    let package = package(&[Transition::Install, Transition::Start], outputs);
    let value = [("in", Resolved::plain(json!(["a", 1])))];
    let made = report(&call(package.clone(), INSTALL, &value)).unwrap();
    assert_eq!(made.settled, Settled::Yes);
    assert_eq!(
        made.updates,
        json!({"$set": {
            "interfaces.properties.signals.out": ["a", 1],
            r"interfaces.properties.signals.net\.id": ["a", 1],
        }})
    );
    assert_eq!(report(&call(package, START, &value)).unwrap(), Report::settled());
}

#[test]
fn a_package_with_other_outputs_is_not_kept() {
    let of = |outputs: Value, effect: &str| {
        package(&[Transition::Install], json!({"outputs": outputs, "effect": effect}))
    };
    let old = of(json!({"out": "in"}), "once");
    assert!(Noop.keeps(&old, &of(json!({"out": "in"}), "repeatable")));
    assert!(!Noop.keeps(&old, &of(json!({"out": "other"}), "once")));
    assert!(!Noop.keeps(&old, &package(&[Transition::Install], json!({}))));
}

#[test]
fn an_input_without_a_value_is_refused() {
    let package = package(&[Transition::Install], json!({"outputs": {"out": "in"}}));
    let failure = report(&call(package, INSTALL, &[])).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert_eq!(failure.message, "`out` is taken from its property `in`, which has no value");
}

#[test]
fn what_is_wrong_is_said_once() {
    let wrong = package(&[Transition::Install, Transition::Start], json!({"outputs": 1, "effect": "x"}));
    let said: Vec<_> =
        Noop.check(&wrong).into_iter().map(|of| (of.diagnostic.code, of.diagnostic.is_error())).collect();
    assert_eq!(said, [(codes::NOOP_VALUE, true), (codes::NOOP_VALUE, true)]);
}

#[test]
fn outputs_that_nothing_publishes_are_worth_a_warning() {
    let outputs = json!({"outputs": {"out": "in"}});
    let said = |transitions: &[Transition]| {
        let problems = Noop.check(&package(transitions, outputs.clone()));
        problems.iter().map(|problem| problem.diagnostic.code).collect::<Vec<_>>()
    };
    assert_eq!(said(&[Transition::Install]), []);
    assert_eq!(said(&[Transition::Start]), [codes::NOOP_UNPUBLISHED]);
}
