//! `WINDLASS_PARAM_<NAME>`: property values from the environment.

use crate::env::TestEnv;
use crate::run::Run;

const ASSEMBLY: &str = "\
name: assembly::shop::1.0
properties:
  node-count: {type: integer, default: 1}
  region: {default: nowhere}
  zone: {default: none}
  secret: {type: password, default: none}
  fixed: {value: stays}
composition: {}
";

/// Runs `resolve` with variables, and returns its result.
fn resolve(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut all = vec!["resolve", "shop.yaml", "--format", "json"];
    all.extend_from_slice(args);
    let mut command = env.command(&all);
    command.envs(variables.iter().copied());
    env.start(command).end()
}

fn shop() -> TestEnv {
    let env = TestEnv::bare();
    env.write("shop.yaml", ASSEMBLY);
    env
}

fn value(run: &Run, property: &str) -> String {
    let body = &run.json()["descriptor"]["properties"][property];
    let value = body.get("value").or_else(|| body.get("default")).unwrap_or(&serde_json::Value::Null);
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[test]
fn a_name_is_in_upper_case_with_underlines() {
    let env = shop();
    let run = resolve(&env, &[], &[("WINDLASS_PARAM_NODE_COUNT", "3"), ("WINDLASS_PARAM_REGION", "eu-1")]);
    assert_eq!((value(&run, "node-count"), value(&run, "region")), ("3".into(), "eu-1".into()), "{run}");
    assert_eq!(value(&run, "zone"), "none", "{run}");
}

#[test]
fn arguments_come_first_then_files_then_the_environment() {
    let env = shop();
    env.write("values.yaml", "region: file\nzone: file\n");
    let variables = [
        ("WINDLASS_PARAM_REGION", "variable"),
        ("WINDLASS_PARAM_ZONE", "variable"),
        ("WINDLASS_PARAM_NODE_COUNT", "4"),
    ];
    let run = resolve(&env, &["-p", "region=argument", "--params", "values.yaml"], &variables);
    let found = ["region", "zone", "node-count"].map(|property| value(&run, property));
    assert_eq!(found, ["argument", "file", "4"], "{run}");
}

#[test]
fn other_names_and_fixed_properties_are_passed_over() {
    let env = shop();
    let variables = [
        ("WINDLASS_PARAM_FIXED", "x"),
        ("WINDLASS_PARAM_OTHER", "x"),
        ("WINDLASS_PARAM_region", "x"),
        ("WINDLASS_PARAM_ZONE", ""),
    ];
    let run = resolve(&env, &[], &variables);
    assert_eq!(run.code(), Some(0), "{run}");
    let found = ["fixed", "region", "zone"].map(|property| value(&run, property));
    // An empty variable is a value, too.
    assert_eq!(found, ["stays", "nowhere", ""], "{run}");
}

/// Values from the environment are checked like those on the command line. The messages differ only in the words that
/// name the source of the value.
#[test]
fn a_value_of_the_wrong_type_is_refused() {
    let env = TestEnv::with("h_bta");
    let by_hand = env.run(&["plan", "h_bta", "-p", "numOfServers=many"]);
    let mut command = env.command(&["plan", "h_bta"]);
    command.env("WINDLASS_PARAM_NUMOFSERVERS", "many");
    let run = env.start(command).end();
    let expected = by_hand.to_string().replace("`-p numOfServers`", "an environment variable");
    assert_eq!((run.code(), run.to_string()), (by_hand.code(), expected));
    assert_eq!(run.code(), Some(2), "{run}");
}

/// `up` uses values from the environment. A secret among them causes a warning.
#[test]
fn an_assembly_comes_up_with_them() {
    let env = TestEnv::with("h_bta");
    let mut command = env.command(&["up", "h_bta"]);
    command.env("WINDLASS_PARAM_NUMOFSERVERS", "2");
    let run = env.start(command).end();
    assert!(run.stdout.contains("B__2 Install"), "{run}");

    let shop = shop();
    let mut command = shop.command(&["plan", "shop.yaml"]);
    command.env("WINDLASS_PARAM_SECRET", "hidden");
    let run = shop.start(command).end();
    assert!(
        run.stderr.contains("`secret` is a secret, and its value was passed in the environment"),
        "{run}"
    );
    assert!(!run.stdout.contains("hidden") && !run.stderr.contains("hidden"), "{run}");
}
