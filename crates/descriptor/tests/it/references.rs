//! Tests references to existing resources: exactly one must match.

use insta::assert_snapshot;

use crate::support::World;

fn shop(properties: &str) -> String {
    format!(
        "name: assembly::shop::1.0
properties:
  network: {{default: VIDEO}}
  password: {{type: password, default: hunter2}}
  output: {{value: '${{web.url}}'}}
references:
  net:
    type: resource::net::^1.0
    properties: {properties}
composition:
  web: {{type: resource::web::1.0, properties: {{id: {{value: '${{net.id}}'}}}}}}
"
    )
}

fn world() -> World {
    World::of(&[
        "name: resource::web::1.0\nproperties: {url: {read-only: true}, id: {}}\nlifecycle: [Install]\n",
    ])
    .existing("resource::net::1.2", "VIDEO", &[("id", "net-1"), ("deploymentLocation", "here")])
    .existing("resource::net::1.2", "AUDIO", &[("id", "net-2"), ("deploymentLocation", "here")])
    .existing("resource::net::1.0", "OLD", &[("id", "net-0"), ("deploymentLocation", "here")])
    .existing("resource::net::2.0", "VIDEO", &[("id", "net-3")])
    .existing("resource::image::1.0", "VIDEO", &[("id", "image-1")])
}

#[test]
fn a_reference_with_one_match() {
    assert_snapshot!(world().tree(&shop("{name: {value: '${network}'}, deploymentLocation: {value: here}}")), @"
    test (assembly of assembly::shop::1.0)
      network: VIDEO
      password (sensitive): ***
      output: ${test__web.url}
      test__net (reference of resource::net::1.2)
        name: VIDEO
        deploymentLocation: here
        id: net-1
      test__web (resource of resource::web::1.0)
        url (read-only):
        id: ${test__net.id}
    ");
}

#[test]
fn a_reference_without_a_match() {
    assert_snapshot!(world().messages(&shop("{name: {value: VIDOE}}")), @"
    a.yaml:8:11: error[WL0160]: the reference `net` fits nothing: there is no `resource::net::^1.0` with name `VIDOE`
        help: did you mean `VIDEO`? these exist, but do not fit: `VIDEO` 1.2 (another name); `AUDIO` 1.2 (another name); `OLD` 1.0 (another name); `VIDEO` 2.0 (its version is not in `^1.0`, another name)
    a.yaml:8:11: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    ");
    assert_snapshot!(world().messages(&shop("{name: {value: VIDEO}, deploymentLocation: {value: there}}")), @"
    a.yaml:8:11: error[WL0160]: the reference `net` fits nothing: there is no `resource::net::^1.0` with deploymentLocation `there`, name `VIDEO`
        help: these exist, but do not fit: `VIDEO` 1.2 (its `deploymentLocation` is `here`); `AUDIO` 1.2 (its `deploymentLocation` is `here`, another name); `OLD` 1.0 (its `deploymentLocation` is `here`, another name); `VIDEO` 2.0 (its version is not in `^1.0`)
    a.yaml:8:11: note[WL0144]: the reference `net` doesn't say where to look: it has no `resourceManager`
        help: an instance at any location fits
    ");
    let nothing =
        World::of(&["name: resource::web::1.0\nproperties: {url: {}, id: {}}\nlifecycle: [Install]\n"]);
    assert_snapshot!(nothing.messages(&shop("{}")), @"
    a.yaml:8:11: error[WL0160]: the reference `net` fits nothing: there is no `resource::net::^1.0`
        help: declare it under `existing:` in `windlass.yaml`
    a.yaml:8:11: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    ");
}

/// A failed search does not show that a thing is missing, so its message must not say so.
#[test]
fn a_search_that_fails() {
    let text = "name: assembly::shop::1.0
references:
  net:
    type: resource::net::^1.0
    properties: {name: {value: VIDEO}, deploymentLocation: {value: here}, resourceManager: {value: rm}}
";
    let world = |why: &str| {
        World::of(&["name: resource::net::1.2
queries: {drivers: {script: {selector: {infrastructure-type: [Local]}}}}
lifecycle: [Install]
"])
        .existing("resource::net::1.2", "AUDIO", &[])
        .failed_search("test__net", why)
    };
    assert_snapshot!(world("its driver panicked").messages(text), @"
    a.yaml:4:11: error[WL0162]: the search for the reference `net` failed: `queries` of `resource::net::1.2`: its driver panicked
        help: correct the cause and repeat the command, or declare the thing under `existing:` in `windlass.yaml`
    ");
    assert_snapshot!(world("`find.sh` exited with code 3: trying\nthe cloud is away").messages(text), @"
    a.yaml:4:11: error[WL0162]: the search for the reference `net` failed: `queries` of `resource::net::1.2`: `find.sh` exited with code 3: trying
        help: correct the cause and repeat the command, or declare the thing under `existing:` in `windlass.yaml`; the whole reason is:
    `find.sh` exited with code 3: trying
    the cloud is away
    ");
}

#[test]
fn a_reference_with_several_matches() {
    assert_snapshot!(world().messages(&shop("{deploymentLocation: {value: here}}")), @"
    a.yaml:8:11: error[WL0161]: the reference `net` fits 2 things with deploymentLocation `here`: `VIDEO` and `AUDIO`
        help: give more of its properties, until one is left
    a.yaml:8:11: note[WL0144]: the reference `net` doesn't say where to look: it has no `resourceManager`
        help: an instance at any location fits
    ");
}

#[test]
fn secrets_are_masked_in_messages() {
    assert_snapshot!(world().messages(&shop("{name: {value: '${password}'}}")), @"
    a.yaml:8:11: error[WL0160]: the reference `net` fits nothing: there is no `resource::net::^1.0` with name `***`
        help: these exist, but do not fit: `VIDEO` 1.2 (another name); `AUDIO` 1.2 (another name); `OLD` 1.0 (another name); `VIDEO` 2.0 (its version is not in `^1.0`, another name)
    a.yaml:8:11: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    ");
}

#[test]
fn criteria_of_references_must_be_known_at_composition() {
    assert_snapshot!(world().messages(&shop("{name: {value: '${output}'}}")), @"
    a.yaml:8:11: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    a.yaml:9:32: error[WL0160]: `name` must be known before anything is made, and its value is not
    ");
}

#[test]
fn a_missing_parameter_is_not_followed_by_doubts() {
    let text = "name: assembly::shop::1.0
properties: {network: {required: true}}
references:
  net: {type: resource::net::^1.0, properties: {name: {value: '${network}'}}}
";
    assert_snapshot!(world().messages(text), @"
    a.yaml:2:14: error[WL0151]: `network` is required and has no value
        help: give it with `-p network=…`
    a.yaml:4:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    ");
}

#[test]
fn a_property_that_the_resolved_instance_lacks() {
    let text = "name: assembly::shop::1.0
properties:
  a: {value: '${net.idd}'}
references:
  net: {type: resource::net::^1.0, properties: {name: {value: VIDEO}}}
";
    assert_snapshot!(world().messages(text), @"
    a.yaml:3:14: error[WL0111]: the instance of the reference `net` has no property `idd`
        help: did you mean `id`?
    a.yaml:5:15: note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
        help: an instance at any location fits
    ");
}
