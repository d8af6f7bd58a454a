//! Tests that reading a document with mistakes returns all readable parts and all errors.

use insta::assert_snapshot;
use windlass_descriptor::{Descriptor, read};
use windlass_source::{Source, apply_fixes};

use crate::support::{read_text, show};

#[test]
fn a_syntax_error_hides_nothing_else() {
    let read = read_text(
        "name: assembly::shop::1.0
properties:
  size: {default: [}
  region: {requird: true}
composition:
  web:
    type: resource:: web::1.0
    quantity: 2
  db: {}
relationships:
  joined:
    source-capabilities: [web.a]
    target-requirements: [db.a]
    source-state: active
    target-state: Active
",
    );
    assert_snapshot!(show(&read.diagnostics), @"
    a.yaml:3:20: error[WL0019]: `[` is closed by `}`
        a.yaml:3:19: opened here
        help: write `]`, or quote the text
    a.yaml:4:12: error[WL0103]: a property has no `requird`
        help: did you mean `required`?
    a.yaml:7:20: error[WL0009]: colon and space inside the text `resource:: web::1.0`
        help: write `resource::web::1.0`
    a.yaml:9:3: error[WL0105]: the component `db` has no `type`
        help: name its descriptor, as `type: resource::web_server::1.0`
    a.yaml:14:19: error[WL0131]: `active` is no state that can be asked for: one of Installed, Inactive, Active
        help: did you mean `Active`?
    ");
    let Some(Descriptor::Assembly(assembly)) = read.descriptor else { panic!("it is an assembly") };
    let names = |keys: Vec<String>| keys.join(" ");
    // Only the property on the line with the syntax error is lost.
    assert_eq!(names(assembly.properties.keys().map(ToString::to_string).collect()), "region");
    assert_eq!(names(assembly.composition.keys().map(ToString::to_string).collect()), "web db");
    assert_eq!(assembly.relationships.len(), 1);
}

#[test]
fn every_section_of_the_wrong_sort() {
    let read = read_text(
        "name: assembly::shop::1.0
properties: [a]
composition: text
references: 7
relationships: [r]
operations: [o]
policies: p
capabilities: c
requirements: [r]
",
    );
    assert_snapshot!(show(&read.diagnostics), @"
    a.yaml:2:13: error[WL0104]: `properties` must be a mapping, and this is a list
    a.yaml:3:14: error[WL0104]: `composition` must be a mapping, and this is text
    a.yaml:4:13: error[WL0104]: `references` must be a mapping, and this is text
    a.yaml:5:16: error[WL0104]: `relationships` must be a mapping, and this is a list
    a.yaml:6:13: error[WL0104]: `operations` must be a mapping, and this is a list
    a.yaml:7:11: error[WL0104]: `policies` must be a mapping, and this is text
    a.yaml:8:15: error[WL0104]: `capabilities` must be a mapping, and this is text
    a.yaml:9:15: error[WL0104]: `requirements` must be a mapping, and this is a list
    ");
    assert!(read.descriptor.is_some());
}

#[test]
fn empty_sections_are_fine() {
    let text =
        "name: assembly::shop::1.0\nproperties:\ncomposition:\nreferences:\nrelationships:\noperations:\n";
    assert_eq!(show(&read_text(text).diagnostics), "");
    let text = "name: resource::web::1.0\nproperties:\n  a: {}\nlifecycle:\noperations:\ndefault-driver:\n";
    assert_eq!(show(&read_text(text).diagnostics), "");
}

#[test]
fn deviations_of_vendors_are_warnings() {
    let read = read(&Source::new(
        "vendor.yaml",
        "name: resource::web::1.0
descripion: misspelled in the wild
properties:
  a: {type: read_only}
  b: {read_only: true, type: stirng}
  c: {readOnly: true, require: true}
  d:
  e: plain text
  f: {default: 1, value: 2}
  g.h: {default: x}
  i: {default: yes, required: 'no'}
lifecycle:
  - Install
  - 'Start'
  - Adopt
  - CreateInfrastructure
operations:
  Join:
default-driver:
  ansible:
    infrastructure-type: ['*']
",
    ));
    assert!(!read.diagnostics.has_errors());
    assert_snapshot!(show(&read.diagnostics), @"
    vendor.yaml:2:1: warning[WL0103]: `descripion` is read as `description`
        help: write `description`
    vendor.yaml:4:13: warning[WL0116]: `read_only` is no type; it is read as `read-only: true`
        help: write the flag
    vendor.yaml:5:7: warning[WL0103]: `read_only` is read as `read-only`
        help: write `read-only`
    vendor.yaml:6:7: warning[WL0103]: `readOnly` is read as `read-only`
        help: write `read-only`
    vendor.yaml:6:23: warning[WL0103]: `require` is read as `required`
        help: write `required`
    vendor.yaml:7:3: warning[WL0118]: the property `d` is declared with nothing
        help: give it a `value`, a `default` or a `type`, or write `{}` if it needs none
    vendor.yaml:8:6: warning[WL0104]: the property `e` should be a mapping; what stands here is taken as its value
        help: write `value:` before it, on a line of its own
    vendor.yaml:9:16: warning[WL0123]: the `default` is never used, since `value` decides
        vendor.yaml:9:26: the value
    vendor.yaml:10:3: warning[WL0101]: the property name `g.h` has a dot, which separates component and property
    vendor.yaml:16:5: warning[WL0146]: `CreateInfrastructure` is a transition of older descriptors; it is ignored
    vendor.yaml:21:5: warning[WL0139]: `infrastructure-type` stands in the driver itself, as old descriptors have it
        help: write it below `selector`
    ");
    let Some(Descriptor::Resource(resource)) = read.descriptor else { panic!("it is a resource") };
    let read_only: Vec<_> =
        resource.properties.iter().filter(|(_, decl)| decl.read_only).map(|(n, _)| n.as_str()).collect();
    assert_eq!(read_only, ["a", "b", "c"]);
}

#[test]
fn a_place_inside_a_folded_scalar() {
    let read = read_text(
        "name: assembly::a::1.0
properties:
  plain: {value: 'x ${} y'}
  folded:
    value: >
      some text
      ${ a b }
",
    );
    assert_snapshot!(show(&read.diagnostics), @"
    a.yaml:3:21: error[WL0110]: `${}` is not a reference
        help: write `${property}` or `${component.property}`, without blanks
    a.yaml:7:7: error[WL0110]: `${ a b }` is not a reference
        help: write `${property}` or `${component.property}`, without blanks
    ");
}

#[test]
fn a_section_lost_to_a_syntax_error_is_not_reported_as_empty() {
    let read = read_text(
        "name: assembly::shop::1.0\nproperties:\n  x:\n    value: '${y}\n  y:\n  z: {default: 1}\n",
    );
    assert_snapshot!(show(&read.diagnostics), @"
    a.yaml:4:12: error[WL0018]: the quote `'` is never closed
        a.yaml:5:3: this was read as part of it
        help: close it, or write an apostrophe inside single quotes twice
    a.yaml:5:3: warning[WL0118]: the property `y` is declared with nothing
        help: give it a `value`, a `default` or a `type`, or write `{}` if it needs none
    ");
}

#[test]
fn quotes_of_a_word_processor() {
    let read = read_text("name: “assembly::shop::1.0”\n");
    assert_snapshot!(show(&read.diagnostics), @r#"
    a.yaml:1:7: error[WL0101]: `“assembly` is neither `assembly` nor `resource`
        help: typographic quotes are part of the text; write `"`, or none
    "#);
}

#[test]
fn typographic_quotes_are_reported_at_their_place() {
    let text = "name: assembly::shop::1.0
description: “a shop”
properties:
  port: {default: “80”}
  kept: {default: '“80”'}
  part: {default: the “web” server}
  “odd name”: {default: 1}
composition:
  web: {type: “resource::web::1.0”}
relationships:
  r:
    source-capabilities: [web.a]
    target-requirements: [web.b]
    source-state: “Active”
    target-state: Active
";
    let read = read_text(text);
    assert_snapshot!(show(&read.diagnostics), @r#"
    a.yaml:4:19: warning[WL0147]: this text stands between typographic quotes
        help: typographic quotes are part of the text; write `"`, or none
    a.yaml:7:3: error[WL0101]: the property name `“odd name”` has blanks or control characters
        help: typographic quotes are part of the text; write `"`, or none
    a.yaml:9:15: error[WL0106]: `“resource` is neither `assembly` nor `resource`
        help: typographic quotes are part of the text; write `"`, or none
    a.yaml:14:19: error[WL0131]: `“Active”` is no state that can be asked for: one of Installed, Inactive, Active
        help: typographic quotes are part of the text; write `"`, or none
    "#);
    let repaired = apply_fixes(text, read.diagnostics.fixes());
    assert!(repaired.contains(r#"port: {default: "80"}"#), "{repaired}");
    assert!(repaired.contains(r#"source-state: "Active""#), "{repaired}");
}
