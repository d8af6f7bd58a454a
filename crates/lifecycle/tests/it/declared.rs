//! Changes of declarations that need no call of a driver.

use insta::assert_snapshot;
use windlass_descriptor::MemoryCatalog;
use windlass_lifecycle::{DeclaredChange, Version, declared_changes};
use windlass_model::Topology;
use windlass_model::resolve::NothingYet;

use crate::support::{compose_with, descriptor};

const BEFORE: &str = "name: assembly::t::1.0
properties:
  port: {default: '80'}
  highest: {default: '90'}
  url: {read-only: true, value: 'http://${web.host}:${port}'}
  port-of-url: {read-only: true, value: ':${port}'}
composition:
  web:
    type: resource::web::1.0
    cluster: {initial-quantity: 1, minimum-nodes: 1, maximum-nodes: 3, scaling-increment: 1}
    update: {max-unavailable: 1}
policies:
  grow:
    type: policy::scale
    metric: web.load
    target: web
    properties: {scaleOut_threshold: '${highest}', scaleIn_threshold: 10, smoothing: 3}
";

fn version(text: &str, parameters: &[(&str, &str)]) -> Topology {
    let web = "name: resource::web::1.0
properties: {host: {read-only: true}}
metrics: {load: {type: 'metric::load'}}
lifecycle: [Install]
";
    let mut catalog = MemoryCatalog::new();
    catalog.insert(descriptor("web", web));
    compose_with(&catalog, text, &[], parameters)
}

fn changes(before: &Topology, after: &Topology) -> String {
    let side = |topology| Version { topology, lookup: &NothingYet };
    let changes = declared_changes(side(before), side(after));
    changes.iter().map(DeclaredChange::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn changed_outputs_rules_and_policies_are_listed() {
    let before = version(BEFORE, &[]);
    assert_eq!(changes(&before, &before), "");
    let edits = [
        ("t::1.0", "t::1.1"),
        ("http://", "https://"),
        ("maximum-nodes: 3", "maximum-nodes: 9"),
        ("max-unavailable: 1", "max-unavailable: 50%, pause: 10s"),
        ("scaleIn_threshold: 10, ", ""),
    ];
    let text = edits.iter().fold(BEFORE.to_owned(), |text, (from, to)| text.replace(from, to));
    assert_snapshot!(changes(&before, &version(&text, &[])), @"
    ~ t outputs.url: http://${web__1.host}:${port} → https://${web__1.host}:${port}
    ~ t descriptor: assembly::t::1.0 → assembly::t::1.1
    ~ web cluster.maximum-nodes: 3 → 9
    ~ web update.max-unavailable: 1 → 50%
    ~ web update.pause: (none) → 10s
    ~ t policies.grow.scaleIn_threshold: 10 → (none)
    ");
}

/// The text of the descriptor stays the same, but the values of parameters change.
#[test]
fn values_of_parameters_change_outputs_and_policies() {
    let (before, after) = (version(BEFORE, &[]), version(BEFORE, &[("port", "8080"), ("highest", "70")]));
    assert_snapshot!(changes(&before, &after), @"
    ~ t outputs.port-of-url: :80 → :8080
    ~ t policies.grow.scaleOut_threshold: 90 → 70
    ");
}

#[test]
fn added_and_removed_policies_are_listed() {
    let (without, _) = BEFORE.split_once("policies:").unwrap();
    let (before, after) = (version(BEFORE, &[]), version(without, &[]));
    assert_snapshot!(changes(&before, &after), @"~ t policies.grow: policy::scale → (none)");
    assert_snapshot!(changes(&after, &before), @"~ t policies.grow: (none) → policy::scale");
}
