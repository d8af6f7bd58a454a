//! `windlass resolve`: the descriptor with all known values.

use insta::assert_snapshot;
use rstest::rstest;

use crate::env::TestEnv;

/// The output is a valid descriptor, and resolving it again changes nothing.
#[rstest]
#[case("h_bta", &["-p", "numOfServers=3"])]
#[case("streamer_cluster", &["--params", "streamer_cluster/params.yaml"])]
fn the_printed_text_is_a_descriptor(#[case] assembly: &str, #[case] given: &[&str]) {
    let env = TestEnv::with(assembly);
    let args: Vec<&str> = ["resolve", assembly].iter().chain(given).copied().collect();
    let resolved = env.ok(&args).stdout;
    assert_eq!(env.ok(&args).stdout, resolved);
    // The output contains the parameters' values, so a `params.yaml` beside it would be refused.
    let _none = std::fs::remove_file(env.path(&format!("{assembly}/params.yaml")));
    env.write(&format!("{assembly}/assembly.yaml"), without_comments(&resolved));
    assert_eq!(env.ok(&["check", assembly]).stderr, "0 errors, 0 warnings\n");
    assert_eq!(env.ok(&["resolve", assembly]).stdout, resolved);
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("  # ").next().unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn json_has_what_is_left_and_why() {
    let env = TestEnv::bare();
    env.write(
        "shop.yaml",
        "name: assembly::shop::1.0\nproperties:\n  key: {type: password, default: hidden}\ncomposition:\n  web:\n    type: resource::web::1.0\n    properties:\n      name: {value: '${instance.name}'}\n      id: {value: '${instance.id}'}\n      key: {value: '${key}'}\n",
    );
    let run = env.ok(&["resolve", "shop.yaml", "--name", "test", "--format", "json"]);
    assert!(!run.to_string().contains("hidden"), "{run}");
    assert_snapshot!(run.out(), @r#"
    {
      "version": 1,
      "assembly": "test",
      "descriptor": {
        "composition": {
          "web": {
            "properties": {
              "id": {
                "value": "${instance.id}"
              },
              "key": {
                "value": "${key}"
              },
              "name": {
                "value": "test__web"
              }
            },
            "type": "resource::web::1.0"
          }
        },
        "name": "assembly::shop::1.0",
        "properties": {
          "key": {
            "default": "***",
            "type": "password"
          }
        }
      },
      "left": [
        {
          "reference": "instance.id",
          "reason": "known once it is made",
          "place": {
            "file": "shop.yaml",
            "line": 9,
            "column": 19,
            "end_line": 9,
            "end_column": 35
          }
        },
        {
          "reference": "key",
          "reason": "a secret",
          "place": {
            "file": "shop.yaml",
            "line": 10,
            "column": 20,
            "end_line": 10,
            "end_column": 28
          }
        }
      ]
    }
    "#);
}

#[test]
fn errors_are_refused() {
    let env = TestEnv::bare();
    env.write("shop.yaml", "name: assembly::shop::1.0\nproperties:\n  a: {value: '${nodes}'}\n");
    assert_snapshot!(env.refuses(&["resolve", "shop.yaml", "-p", "b=1"]), @"
    error[WL0111]: `${nodes}` names no property of this descriptor
     --> shop.yaml:3:15
      |
    3 |   a: {value: '${nodes}'}
      |               ^^^^^^^^
      |
      = help: declare it in `properties`, or give the value here

    error[WL0150]: the assembly has no property `b`
     |
     = help: it has none that can be set

    2 errors; nothing was changed
    ");
}
