//! `noop` passes the conformance suite.

use serde_json::json;
use windlass_driver::noop::Noop;
use windlass_driver::testing::{Subject, sample};
use windlass_driver::{Binding, Bindings, Call, Driver, Package};
use windlass_model::resolve::Resolved;
use windlass_model::{Action, Transition};

/// Returns a call of a resource that publishes its sensitive input.
fn call(transition: Transition, number: u32) -> Call {
    let properties = json!({"effect": "once", "outputs": {"token": "given"}});
    let binding = Binding {
        driver: Noop.kind(),
        infrastructure: vec!["*".to_owned()],
        properties: serde_json::from_value(properties).unwrap(),
    };
    let transitions = [Transition::Install, Transition::Start].map(|transition| (transition, Vec::new()));
    let bindings =
        Bindings { transitions: transitions.into(), default: vec![binding], ..Bindings::default() };
    let package = Package::new("resource::data::1.0".parse().unwrap(), bindings, Vec::new());
    let mut call = sample::call(package, Action::Transition(transition), number);
    let secret = Resolved { value: json!("a-given-secret"), sensitive: true };
    call.properties.insert("given".parse().unwrap(), secret);
    call.sensitive.insert("token".parse().unwrap());
    call
}

async fn check(case: impl AsyncFnOnce(&Subject)) {
    let calls = [Transition::Install, Transition::Start].map(|transition| call(transition, 1));
    let second = call(Transition::Start, 2);
    Subject::new(Noop, calls.into_iter().chain([second]).collect()).check(case).await;
}

windlass_driver::conformance_tests!(check);
