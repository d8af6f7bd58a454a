//! Settings of drivers in `windlass.yaml`, driver properties of resources, and data in log entries.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::small::RESOURCE;

const SLOW: &str = "case ${name%.sh} in Install) exec sleep 600 ;; esac";

fn with_settings(env: &TestEnv, settings: &str) {
    let text = std::fs::read_to_string(env.path("windlass.yaml")).unwrap();
    env.write("windlass.yaml", format!("{text}\ndrivers:\n{settings}"));
}

#[test]
fn a_project_sets_the_timeout_of_its_scripts() {
    let env = TestEnv::small("effect: repeatable", &[("Install", SLOW), ("Uninstall", "")]);
    with_settings(&env, "  script: {timeout: 300ms}\n");
    let run = env.run(&["up", "small"]);
    let failed = "failed    box Install: `Install.sh` ran out of time (it had 300ms)";
    assert!(run.stdout.contains(failed), "{run}");
    env.ok(&["down", "small"]);
}

/// The timeout of a descriptor takes precedence over the timeout of the project: the health check takes
/// longer than the project's, and less than the descriptor's.
#[test]
fn a_descriptor_precedes_the_settings_of_a_project() {
    let scripts = [("Install", "answer"), ("Start", ""), ("Integrity", "sleep 2"), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    with_settings(&env, "  script: {health-check-timeout: 200ms}\n");
    let run = env.run(&["up", "small"]);
    assert!(run.stdout.contains("`Integrity.sh` ran out of time (it had 200ms)"), "{run}");
    env.edit(RESOURCE, "{effect: repeatable}", "{effect: repeatable, timeout: 1m}");
    env.ok(&["up", "small"]);
    env.ok(&["down", "small"]);
}

#[test]
fn wrong_settings_have_a_place() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer")]);
    env.write(
        "windlass.yaml",
        "version: 1
drivers:
  scirpt: {timeout: 1m}
  terraform: {}
  script:
    timeout: soon
    health-check-timeuot: 5s
  noop: {timeout: 1m}
",
    );
    assert_snapshot!(env.refuses(&["check", "small"]), @"
    error[WL0334]: there is no driver `scirpt`
     --> windlass.yaml:3:3
      |
    3 |   scirpt: {timeout: 1m}
      |   ^^^^^^
      |
      = help: did you mean `script`?

    error[WL0334]: there is no driver `terraform`
     --> windlass.yaml:4:3
      |
    4 |   terraform: {}
      |   ^^^^^^^^^
      |
      = help: there are `noop` and `script`

    error[WL0335]: `timeout` is a time such as `30s`, `10m` or `1h30m`, not `soon`
     --> windlass.yaml:6:14
      |
    6 |     timeout: soon
      |              ^^^^

    error[WL0311]: the driver `script` has no key `health-check-timeuot`
     --> windlass.yaml:7:5
      |
    7 |     health-check-timeuot: 5s
      |     ^^^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `health-check-timeout`?

    error[WL0311]: the driver `noop` has no key `timeout`
     --> windlass.yaml:8:10
      |
    8 |   noop: {timeout: 1m}
      |          ^^^^^^^
      |
      = help: remove it: there are no keys

    5 errors, 0 warnings
    `windlass explain CODE` explains a code
    ");
}

#[test]
fn a_driver_property_is_found_by_the_drivers_description() {
    let env = TestEnv::small("effect: repeatable, timout: 1m, colour: red", &[("Install", "answer")]);
    env.edit(
        RESOURCE,
        "Install: {}",
        "Install: {drivers: {noop: {properties: {output: {}}}, ansible: {properties: {tiemout: 1}}}}",
    );
    assert_snapshot!(env.refuses(&["check", "small"]), @"
    error[WL0450]: the driver `noop` has no property `output`
     --> small/Contains/box/Definitions/lm/resource.yaml:3:43
      |
    3 |   Install: {drivers: {noop: {properties: {output: {}}}, ansible: {properties: {tiemout: 1}}}}
      |                                           ^^^^^^
      |
      = help: did you mean `outputs`?

    error[WL0450]: the driver `script` has no property `timout`
     --> small/Contains/box/Definitions/lm/resource.yaml:8:38
      |
    8 |     properties: {effect: repeatable, timout: 1m, colour: red}
      |                                      ^^^^^^
      |
      = help: did you mean `timeout`?

    warning[WL0450]: the driver `script` has no property `colour`
     --> small/Contains/box/Definitions/lm/resource.yaml:8:50
      |
    8 |     properties: {effect: repeatable, timout: 1m, colour: red}
      |                                                  ^^^^^^
      |
      = help: it is ignored; the properties are `effect`, `timeout`, `limits`, `style` and `input`

    warning[WL0405]: `Install.sh` is never run: nothing that `resource::box::1.0` declares leads to it
     --> small/Contains/box/Lifecycle/script/scripts/Install.sh:1:1
      |
    1 | #!/bin/sh
      | ^
      |
      = help: declare the transition in the descriptor, or remove the file

    2 errors, 2 warnings
    `windlass explain CODE` explains a code
    ");
}

#[test]
fn the_schemas_have_the_settings_and_the_driver_properties() {
    let env = TestEnv::new();
    let schema = |of: &str| -> Value { serde_json::from_str(&env.ok(&["schema", of]).stdout).unwrap() };
    let project = jsonschema::validator_for(&schema("project")).unwrap();
    let settings = |drivers: Value| project.is_valid(&json!({"version": 1, "drivers": drivers}));
    assert!(settings(json!({"script": {"timeout": "30m", "health-check-timeout": "10s"}, "noop": null})));
    assert!(!settings(json!({"script": {"timeout": "soon"}})));
    assert!(!settings(json!({"script": {"timeuot": "1m"}})));
    assert!(!settings(json!({"terraform": {}})));

    let resource = jsonschema::validator_for(&schema("resource")).unwrap();
    let properties = |properties: Value| {
        let drivers = json!({"script": {"properties": properties}, "ansible": {"properties": {"effect": 1}}});
        resource.is_valid(&json!({"name": "resource::box::1.0", "default-driver": drivers}))
    };
    assert!(properties(json!({"effect": "once", "timeout": {"value": "10m"}, "limits": {"memory": "1G"}})));
    assert!(!properties(json!({"effect": "twice"})));
    assert!(!properties(json!({"timeout": {"default": "soon"}})));
    assert!(!properties(json!({"limits": {"disk": "1G"}})));
}

/// A log entry may contain JSON data. Text output shows it in compact form, and JSON output shows all of it.
/// Secrets are masked.
#[test]
fn entries_of_the_log_have_data() {
    let install = r"answer
cat <<'END'
    $pushAll:
      activityLog:
        - {severity: INFO, message: it is made, data: {exit: 3, url: 'tcp://me:hunter22@db', pin: 47114711}}
        - {message: plain}
END";
    let env = TestEnv::small("effect: repeatable", &[("Install", install), ("Uninstall", "")]);
    env.location("token: hunter22\npin-token: 47114711");
    let up = env.ok(&["up", "small"]).stdout;
    let line = r#"box: it is made {"exit":3,"pin":"***","url":"tcp://me:***@db"}"#;
    assert!(up.contains(&format!("info      {line}")), "{up}");
    let log = env.ok(&["log", "small"]).stdout;
    assert!(log.contains(&line.replace("box:", "INFO box")), "{log}");
    let log: Value = serde_json::from_str(&env.ok(&["log", "small", "--format", "json"]).stdout).unwrap();
    let activity = log["processes"][0]["activity"].as_array().unwrap();
    assert_eq!(activity[0]["data"], json!({"exit": 3, "pin": "***", "url": "tcp://me:***@db"}));
    assert_eq!(activity[1].get("data"), None, "{activity:?}");
}
