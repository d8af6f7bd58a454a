//! Tests of locations that use the runtimes of this crate. The tests cover every message about the settings of such
//! locations.

use insta::assert_snapshot;
use rstest::rstest;
use windlass::driver::Location;

use crate::project::{messages, open};

/// Returns the first location in the text of a `windlass.yaml`.
fn location(text: &str) -> Location {
    let (_folder, windlass) = open(text);
    windlass.unwrap().project().locations().next().unwrap().clone()
}

#[test]
fn unknown_runtimes() {
    let text = "version: 1\nlocations:\n  a: {runtime: Docker}\n  b: {runtime: vmware}\n";
    assert_snapshot!(messages(text), @"
    windlass.yaml:3:16: error[WL0315]: there is no runtime `Docker`
        help: did you mean `docker`?
    windlass.yaml:4:16: error[WL0315]: there is no runtime `vmware`
        help: there are `process`, `sandbox` and `docker`
    ");
}

#[rstest]
#[case::process("process")]
#[case::sandbox("sandbox")]
#[case::docker("docker")]
fn known_runtimes(#[case] runtime: &str) {
    let text = format!("version: 1\nlocations:\n  a: {{runtime: {runtime}}}\n");
    assert_eq!(location(&text).runtime, runtime);
}

#[test]
fn engines_pools_and_networks() {
    let text = "version: 1
locations:
  a: {runtime: docker, engine: dcoker, pool: 0, network: -x, image: i}
  b: {runtime: docker, engine: 'tcp://', pool: many, network: 'a b', image: i}
  c: {runtime: docker, engine: '/run/docker.sock', pool: [1], network: '*', image: i}
  d: {runtime: docker, engine: podman, pool: 256, network: my_net.1, image: i}
";
    assert_snapshot!(messages(text), @"
    windlass.yaml:3:32: error[WL0322]: `dcoker` is not a container engine
        help: did you mean `docker`?
    windlass.yaml:3:46: error[WL0323]: `pool` is a number from 1 to 256, and this is `0`
    windlass.yaml:3:58: error[WL0325]: `-x` can't be a network
        help: write `none`, `bridge`, `host`, or the name of a network of the engine
    windlass.yaml:4:32: error[WL0322]: `tcp://` is not a container engine
        help: write `docker`, `podman`, or an address such as `unix:///run/user/1000/docker.sock`, `tcp://machine:2376` or `ssh://user@machine`
    windlass.yaml:4:48: error[WL0323]: `pool` is a number from 1 to 256, and this is `many`
    windlass.yaml:4:63: error[WL0325]: `a b` can't be a network
        help: write `none`, `bridge`, `host`, or the name of a network of the engine
    windlass.yaml:5:32: error[WL0322]: `/run/docker.sock` is not a container engine
        help: write `docker`, `podman`, or an address such as `unix:///run/user/1000/docker.sock`, `tcp://machine:2376` or `ssh://user@machine`
    windlass.yaml:5:58: error[WL0312]: `pool` must be text, and this is a list
    windlass.yaml:5:72: error[WL0325]: `*` can't be a network
        help: write `none`, `bridge`, `host`, or the name of a network of the engine
    ");
    for engine in
        ["docker", "podman", "unix:///run/x.sock", "tcp://host:2375", "ssh://me@host", "context:build"]
    {
        let text = format!("version: 1\nlocations:\n  a: {{runtime: docker, engine: '{engine}', pool: 4}}\n");
        let location = location(&text);
        assert_eq!((&*location.settings["engine"], &*location.settings["pool"]), (engine, "4"));
    }
}

#[test]
fn keys_of_other_runtimes() {
    let text = "version: 1
locations:
  a: {runtime: process, engine: docker, pool: 2, image: 'demo:1', network: none}
  b: {runtime: sandbox, engine: docker, pool: 2, image: 'demo:1', network: none}
  c: {runtime: vm, engine: docker, pool: 2}
  d: {network: host}
";
    assert_snapshot!(messages(text), @"
    windlass.yaml:3:33: error[WL0324]: `engine` has no meaning for the runtime `process`
        help: set `runtime: docker`, or remove it
    windlass.yaml:3:47: error[WL0324]: `pool` has no meaning for the runtime `process`
        help: set `runtime: docker`, or remove it
    windlass.yaml:3:57: error[WL0324]: `image` has no meaning for the runtime `process`
        help: set `runtime: sandbox` or `runtime: docker`, or remove it
    windlass.yaml:3:76: error[WL0324]: the runtime `process` can't give `network`: scripts run on this host as they are
        help: set a `runtime` that isolates jobs, or remove it
    windlass.yaml:4:33: error[WL0324]: `engine` has no meaning for the runtime `sandbox`
        help: set `runtime: docker`, or remove it
    windlass.yaml:4:47: error[WL0324]: `pool` has no meaning for the runtime `sandbox`
        help: set `runtime: docker`, or remove it
    windlass.yaml:5:16: error[WL0315]: there is no runtime `vm`
        help: there are `process`, `sandbox` and `docker`
    ");
}

#[test]
fn an_image_needs_no_engine() {
    for (keys, runtime) in [
        ("{}", "process"),
        ("{image: 'demo:1'}", "sandbox"),
        ("{image: 'demo:1', network: none, volumes: {state: /var/state}}", "sandbox"),
        ("{image: 'demo:1', runtime: docker}", "docker"),
        ("{image: 'demo:1', engine: podman}", "docker"),
        ("{image: 'demo:1', pool: 2}", "docker"),
        ("{image: 'demo:1', pool: 2, pool-secrets: shared}", "docker"),
    ] {
        assert_eq!(location(&format!("version: 1\nlocations:\n  a: {keys}\n")).runtime, runtime, "{keys}");
    }
}

#[test]
fn secrets_in_pools() {
    let text = "version: 1
locations:
  a: {image: 'demo:1', pool-secrets: fresh}
  b: {image: 'demo:1', pool: 2, pool-secrets: some}
";
    assert_snapshot!(messages(text), @"
    windlass.yaml:3:38: error[WL0324]: `pool-secrets` has no meaning without `pool`
        help: set `pool` to the number of warm containers, or remove it
    windlass.yaml:4:47: error[WL0323]: `pool-secrets` is `fresh` or `shared`, and this is `some`
    ");
}

#[test]
fn a_pool_may_have_volumes() {
    let text = "version: 1
locations:
  a: {image: 'demo:1', pool: 2, volumes: {state: /var/state}}
";
    assert_eq!(messages(text), "");
}

#[test]
fn scripts_need_an_image() {
    let text = "version: 1
locations:
  a: {runtime: docker}
  b: {runtime: sandbox}
  c: {engine: podman, image: 'demo:1'}
";
    let shown = messages(text);
    for (name, runtime) in [("a", "docker"), ("b", "sandbox")] {
        let warning =
            format!("warning[WL0327]: the location `{name}` has the runtime `{runtime}` and no `image`");
        assert!(shown.contains(&warning), "{shown}");
    }
    assert!(!shown.contains("location `c`"), "{shown}");
}
