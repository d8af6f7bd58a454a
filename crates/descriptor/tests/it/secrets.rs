//! Tests that composition removes sensitive literals from the topology.

use insta::assert_snapshot;
use serde_json::json;
use windlass_descriptor::Missing;

use crate::support::{World, tree};

const WEB: &str = "name: resource::web::1.0
properties:
  admin: {type: password}
  token: {sensitive: true, default: token-of-the-package}
  url: {read-only: true}
  late: {default: open-until-the-assembly-says-so}
lifecycle: [Install]
";

#[test]
fn sensitive_literals_become_secrets() {
    let world =
        World::of(&[WEB]).given("given", "given-by-hand").given("keys", json!(["first-key", {"k": 77}]));
    let composed = world.compose_text(
        "name: assembly::shop::1.0
properties:
  given: {type: password, required: true}
  keys: {sensitive: true}
  own: {type: Password, default: own-default}
  mixed: {sensitive: true, value: 'before ${given} after'}
  open: {default: open-text}
composition:
  web:
    type: resource::web::1.0
    quantity: 2
    properties:
      admin: {value: literal-in-the-assembly}
      late: {sensitive: true}
      extra: {sensitive: true, value: '${open}'}
relationships:
  r:
    source-capabilities: [web.a]
    target-requirements: [web.b]
    source-state: Active
    target-state: Active
    properties: {pin: {type: password, value: pin-of-the-relationship}}
",
    );
    assert_snapshot!(composed.diagnostics, @"a.yaml:15:40: warning[WL0174]: `extra` is a secret, but `open` is not: its value is stored and shown in clear");
    let topology = composed.topology.unwrap();
    assert_snapshot!(tree(&topology), @"
    test (assembly of assembly::shop::1.0)
      given (sensitive): ***
      keys (sensitive): [***, {k: ***}]
      own (sensitive): ***
      mixed (sensitive): ***${test.given}***
      open: open-text
      test__web (group of resource::web::1.0)
        test__web__1 (resource of resource::web::1.0)
          admin (sensitive): ***
          token (sensitive): ***
          url (read-only):
          late (sensitive): ***
          extra (sensitive): ${test.open}
        test__web__2 (resource of resource::web::1.0)
          admin (sensitive): ***
          token (sensitive): ***
          url (read-only):
          late (sensitive): ***
          extra (sensitive): ${test.open}
    r: test__web.a (Post Active) -> test__web.b (Pre Active)
      pin (sensitive): ***
    ");
    let stored = serde_json::to_string(&topology).unwrap();
    let mut kept: Vec<String> = composed.secrets.values().map(|secret| secret.expose().clone()).collect();
    kept.sort();
    kept.dedup();
    assert_eq!(
        kept,
        [
            " after",
            "77",
            "before ",
            "first-key",
            "given-by-hand",
            "literal-in-the-assembly",
            "open-until-the-assembly-says-so",
            "own-default",
            "pin-of-the-relationship",
            "token-of-the-package",
        ]
    );
    for secret in kept.iter().filter(|secret| secret.len() > 2) {
        assert!(!stored.contains(secret.trim()), "`{secret}` is in the topology");
    }
    assert!(stored.contains("open-text"));
    // The output of `Debug` doesn't reveal the secrets either.
    assert!(!format!("{:?}", composed.secrets).contains("given-by-hand"));
}

/// A secret property of a component reads a property that is not declared as a secret. The check must warn, because the
/// value of that property is stored in clear.
#[test]
fn a_secret_that_reads_an_open_property_is_warned_about() {
    let world = World::of(&[WEB, "name: resource::db::1.0\nproperties: {key: {read-only: true}}\n"]);
    let text = "name: assembly::shop::1.0
properties:
  licence: {type: string}
  password: {type: password}
composition:
  db: {type: resource::db::1.0}
  web:
    type: resource::web::1.0
    properties:
      admin: {value: '${licence}'}
      token: {value: 'with ${password} and ${db.key}'}
      late: {value: '${licence}', sensitive: true}
      extra: {value: '${licence}'}
";
    assert_snapshot!(world.check(text, Missing::Tolerated), @"
    a.yaml:10:23: warning[WL0174]: `admin` is a secret, but `licence` is not: its value is stored and shown in clear
        a.yaml:3:3: declared here
        help: declare `licence` with `type: password`, or with `sensitive: true`
    a.yaml:11:44: warning[WL0174]: `token` is a secret, but `db.key` is not: its value is stored and shown in clear
        help: declare `db.key` with `type: password`, or with `sensitive: true`
    a.yaml:12:22: warning[WL0174]: `late` is a secret, but `licence` is not: its value is stored and shown in clear
        a.yaml:3:3: declared here
        help: declare `licence` with `type: password`, or with `sensitive: true`
    ");
}
