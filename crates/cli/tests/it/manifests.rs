//! `windlass check` of application manifests.

use insta::assert_snapshot;

use crate::env::TestEnv;

const MANIFEST: &str = "\
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        factory.application: VM
        component.discoveryScript: /vm/discover.py
        component.discoverySchedule: 0/30 * * * * ? *
        access.pin: [hunter2]
      interfaces:
        access: {pin: {type: configuration(string), sensitive: true}}
";

#[test]
fn a_manifest_is_known_by_its_key_and_checked() {
    let env = TestEnv::bare();
    env.write("factory.yaml", MANIFEST);
    let run = env.run(&["check", "factory.yaml"]);
    assert_eq!(run.code(), Some(2), "{run}");
    assert_snapshot!(run.stderr, @"
    warning[WL0628]: `factory.application` is read as `component.application`
     --> factory.yaml:8:9
      |
    8 |         factory.application: VM
      |         ^^^^^^^^^^^^^^^^^^^
      |
      = help: write `component.application`

    warning[WL0630]: discovery runs more than once a minute
      --> factory.yaml:10:38
       |
    10 |         component.discoverySchedule: 0/30 * * * * ? *
       |                                      ^^^^^^^^^^^^^^^^
       |
       = help: each run starts a script; `0 0/5 * * * ? *` is every five minutes

    error[WL0615]: the value of `access.pin` does not fit: `string` is expected, and this is a list
      --> factory.yaml:11:21
       |
    11 |         access.pin: *********
       |                     ^^^^^^^^^

    1 error, 2 warnings
    `windlass explain CODE` explains a code
    ");
    let stdin = env.run_with(&["check", "-"], MANIFEST);
    assert_eq!(stdin.stderr, run.stderr.replace("factory.yaml", "<stdin>"));
    let explained = env.ok(&["explain", "WL0628"]).stdout;
    assert!(explained.starts_with("WL0628: old id of a pin\n"), "{explained}");
}

#[test]
fn a_manifest_is_repaired() {
    let env = TestEnv::bare();
    env.write("factory.yaml", MANIFEST.replace("[hunter2]", "hunter2"));
    let run = env.ok(&["check", "factory.yaml", "--fix"]);
    assert!(run.stdout.contains("write `component.application` (WL0628)"), "{run}");
    assert!(env.read("factory.yaml").contains("        component.application: VM\n"), "{run}");
}

#[test]
fn a_manifest_is_no_assembly() {
    let env = TestEnv::bare();
    env.write("factory.yaml", MANIFEST);
    assert_snapshot!(env.refuses(&["plan", "factory.yaml"]), @"
    error[WL0100]: this is not a descriptor: it looks like an application manifest
     --> factory.yaml:1:1
      |
    1 | application:
      | ^^^^^^^^^^^
      |
      = help: `windlass check` checks it; an assembly is needed here

    1 error; nothing was changed
    ");
}
