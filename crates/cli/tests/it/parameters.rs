//! Tests that windlass compares the values of parameters with the declared types. windlass validates the values against
//! a schema of the parameters, which contains these types.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::TestEnv;

const SHOP: &str = "\
name: assembly::shop::1.0
data-types:
  address:
    properties:
      host: {type: string}
      port: {type: integer}
  site:
    derived-from: address
    properties:
      ways: {type: list, entry-schema: address}
properties:
  replicas: {type: integer, default: 1, description: How many.}
  ratio: {type: float, default: 0.5}
  tls: {type: boolean, default: true}
  site: {type: site}
  tags: {type: map, entry-schema: integer}
  token: {type: password}
  anything: {default: x}
  fixed: {value: '${replicas}'}
composition: {}
";

fn env() -> TestEnv {
    let env = TestEnv::bare();
    env.write("shop.yaml", SHOP);
    env
}

/// Returns the first line and the place of each warning.
fn warnings(env: &TestEnv, args: &[&str]) -> String {
    let run = env.ok(&[&["plan", "shop.yaml"], args].concat());
    let mut out = String::new();
    for line in run.stderr.lines() {
        if line.starts_with("warning") || line.trim_start().starts_with("--> ") || line.contains("= help") {
            writeln!(out, "{line}").unwrap();
        }
    }
    out
}

#[test]
fn values_of_their_types_are_silent() {
    let env = env();
    env.write(
        "good.yaml",
        "replicas: 3\nratio: 1e3\ntls: off\nsite: {host: a, port: 80, ways: [{port: 1}]}\ntags: {a: 1}\nanything: [1]\n",
    );
    assert_eq!(warnings(&env, &["--params", "good.yaml"]), "");
    assert_eq!(
        warnings(&env, &["-p", "replicas=+3", "-p", "tls=YES", "-p", "tags={\"a\": 1}", "-p", "ratio="]),
        ""
    );
}

#[test]
fn other_values_are_warned_of_at_their_places() {
    let env = env();
    env.write(
        "bad.yaml",
        "replicas: many\nratio: a half\nsite:\n  prot: 80\n  port: eighty\n  ways: [{port: 1}, {port: x}]\ntags: {a: one}\n",
    );
    assert_snapshot!(warnings(&env, &["--params", "bad.yaml", "-p", "tls=perhaps"]), @r"
    warning[WL0117]: the value that is given for `replicas` is not a whole number
      --> bad.yaml:1:1
       = help: the value is taken as it stands; types are advice
    warning[WL0117]: the value that is given for `ratio` is not a number
      --> bad.yaml:2:1
       = help: the value is taken as it stands; types are advice
    warning[WL0117]: `site` is given the field `prot`, which its type does not have
      --> bad.yaml:3:1
       = help: did you mean `port`?
    warning[WL0117]: the value that is given for `site.port` is not a whole number
      --> bad.yaml:3:1
       = help: the value is taken as it stands; types are advice
    warning[WL0117]: the value that is given for `site.ways.1.port` is not a whole number
      --> bad.yaml:3:1
       = help: the value is taken as it stands; types are advice
    warning[WL0117]: the value that is given for `tags.a` is not a whole number
      --> bad.yaml:7:1
       = help: the value is taken as it stands; types are advice
    warning[WL0117]: the value that is given for `tls` is not `true` or `false`
      --> shop.yaml:14:3
       = help: the value is taken as it stands; types are advice
    ");
}

/// A parameter without a value keeps the default, as if the file did not name it.
#[test]
fn null_is_no_value() {
    let env = TestEnv::bare();
    let text = "name: assembly::shop::1.0
properties:
  region: {default: eu-1, required: true}
  token: {default: hunter22, sensitive: true}
  free: {}
  where: {read-only: true, value: '${region} [${free}]'}
composition: {}
";
    env.write("shop.yaml", text);
    env.write("null.yaml", "region:\ntoken: null\nfree: ~\n");
    env.ok(&["up", "shop.yaml", "--params", "null.yaml"]);
    assert_eq!(env.ok(&["output", "shop", "where", "--raw"]).stdout.trim(), "eu-1 []");
    let plan = env.ok(&["plan", "shop.yaml"]).stdout;
    assert!(!plan.contains('→'), "{plan}");
}

/// Messages do not show the values of a parameter file, because they may be secrets.
#[test]
fn values_are_not_shown() {
    let env = env();
    env.write("bad.yaml", "replicas: hunter2\nsite: hunter3\n");
    let run = env.ok(&["plan", "shop.yaml", "--params", "bad.yaml"]);
    assert!(run.stderr.contains("for `replicas` is not a whole number"), "{run}");
    assert!(run.stderr.contains("for `site` is not a mapping"), "{run}");
    assert!(!run.stderr.contains("hunter"), "{run}");
}

#[test]
fn the_schema_of_the_parameters_is_printed() {
    let env = env();
    let schema: Value = serde_json::from_str(&env.ok(&["schema", "parameters", "shop.yaml"]).stdout).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good = serde_json::json!({"replicas": 2, "site": {"ways": [{"port": "80"}]}, "anything": {"a": 1}});
    assert!(validator.is_valid(&good));
    for bad in [
        serde_json::json!({"replicas": 2.5}),
        serde_json::json!({"unknown": 1}),
        serde_json::json!({"fixed": 1}),
        serde_json::json!({"site": {"ways": [{"port": "http"}]}}),
        serde_json::json!({"tags": {"a": "b"}}),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
    assert_eq!(schema["properties"]["replicas"]["description"], "How many.");
    assert_eq!(schema["title"], "Parameters of assembly::shop::1.0");
}

#[test]
fn only_the_schema_of_parameters_has_a_file() {
    let env = env();
    assert_snapshot!(env.refuses(&["schema", "project", "shop.yaml"]), @"error[WL0800]: `shop.yaml` has no use here: only `windlass schema parameters` takes a file");
}

/// A schema exists for a type that contains itself, and for types whose names need escapes in a JSON pointer.
#[test]
fn unusual_types_have_a_schema() {
    let env = TestEnv::bare();
    let text = "\
name: assembly::shop::1.0
data-types:
  tree/~ %41:
    properties:
      next: {type: tree/~ %41}
      size: {type: integer}
  open: {derived-from: map, properties: {x: {type: integer}}}
properties:
  tree: {type: tree/~ %41}
  open: {type: open}
composition: {}
";
    env.write("shop.yaml", text);
    env.write("bad.yaml", "tree: {next: {next: {size: x}}}\nopen: {y: 1, x: z}\n");
    let run = env.run(&["plan", "shop.yaml", "--params", "bad.yaml"]);
    assert!(run.stderr.contains("`tree.next.next.size` is not a whole number"), "{run}");
    assert!(run.stderr.contains("`open.x` is not a whole number"), "{run}");
    assert!(!run.stderr.contains("`y`"), "{run}");
}

/// `params.yaml` and `*.auto.params.yaml` beside the descriptor are read, and options take precedence.
#[test]
fn files_beside_the_descriptor_are_read() {
    let env = env();
    env.edit(
        "shop.yaml",
        "composition: {}",
        "  out: {read-only: true, value: '${anything} ${replicas} ${ratio}'}\ncomposition: {}",
    );
    env.write("params.yaml", "anything: main\nreplicas: 2\nratio: 0.2\n");
    env.write("a.auto.params.yaml", "replicas: 3\nratio: 0.3\n");
    env.write("b.auto.params.yaml", "ratio: 0.4\n");
    env.write("other.yaml", "anything: other\n");
    let out = |args: &[&str]| {
        let run = env.ok(&[&["resolve"], args, &["--format", "json"]].concat());
        let text = run.json().to_string();
        let shown =
            run.stderr.lines().filter_map(|line| line.strip_prefix("note: parameters are read from "));
        (text, shown.map(str::to_owned).collect::<Vec<_>>())
    };
    let (text, shown) = out(&["shop.yaml"]);
    assert!(text.contains("main 3 0.4"), "{text}");
    assert_eq!(shown, ["`params.yaml`", "`a.auto.params.yaml`", "`b.auto.params.yaml`"]);
    let (text, shown) = out(&["shop.yaml", "--params", "other.yaml", "-p", "ratio=0.9"]);
    assert!(text.contains("other 3 0.9") && shown.len() == 3, "{text}");
    // A file that is named by `--params` takes precedence over files that are read automatically.
    let (text, shown) = out(&["shop.yaml", "--params", "params.yaml"]);
    assert!(text.contains("main 2 0.2"), "{text}");
    assert_eq!(shown, ["`a.auto.params.yaml`", "`b.auto.params.yaml`"]);
    env.ok(&["check", "shop.yaml", "--deny", "warnings"]);
}
