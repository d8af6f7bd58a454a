//! Drawings of assemblies, both existing and planned.

use insta::assert_snapshot;
use rstest::rstest;

use crate::env::TestEnv;

/// Each view can be drawn in each format. The drawings of a descriptor and of the existing assembly have the
/// same parts.
#[rstest]
#[case::dot("dot", "digraph ")]
#[case::mermaid("mermaid", "flowchart ")]
#[case::json("json", "{")]
#[case::svg("svg", "<svg ")]
#[case::html("html", "<!doctype html>")]
fn each_view_has_each_form(#[case] format: &str, #[case] begins: &str) {
    let env = TestEnv::with("h_bta");
    let views = [("topology", "xenial-image"), ("plan", "Start, Integrity"), ("properties", "h_simple")];
    let draws = |of: &str| {
        for (view, sign) in views {
            let drawn = env.ok(&["graph", of, "--view", view, "--format", format]);
            let text = drawn.stdout.to_lowercase();
            assert!(text.starts_with(begins), "{view}: {drawn}");
            assert!(drawn.stdout.contains(sign), "{view}: {drawn}");
        }
    };
    draws("h_bta/assembly.yaml");
    assert!(!env.path(".windlass").exists(), "to look makes no store");
    env.ok(&["up", "h_bta"]);
    // For a name, the plan of the last process is drawn, even if the process has ended.
    std::fs::rename(env.path("h_bta"), env.path("gone")).unwrap();
    draws("h_bta");
}

/// Returns an assembly that contains a nested assembly, and a cluster of nested assemblies.
fn nested() -> TestEnv {
    let env = TestEnv::bare();
    env.write(
        "shop/assembly.yaml",
        "name: assembly::shop::1.0
composition:
  wan: {type: resource::net::1.0}
  office: {type: assembly::site::1.0, properties: {uplink: {value: '${wan.address}'}}}
  branch:
    type: assembly::site::1.0
    cluster: {initial-quantity: 2, maximum-nodes: 4}
    properties: {uplink: {value: '${wan.address}'}}
",
    );
    env.write(
        "shop/Contains/site/assembly.yaml",
        "name: assembly::site::1.0
properties: {uplink: {}}
composition:
  lan: {type: resource::net::1.0, properties: {uplink: {value: '${uplink}'}}}
",
    );
    env.write(
        "shop/Contains/net/resource.yaml",
        "name: resource::net::1.0
properties: {uplink: {}, address: {read-only: true}}
lifecycle: [Install]
default-driver: {noop: {}}
",
    );
    env
}

#[test]
fn nested_assemblies_are_framed() {
    let env = nested();
    let drawn = |format: &str| env.ok(&["graph", "shop", "--view", "properties", "--format", format]).stdout;
    assert_snapshot!(drawn("dot"), @r#"
    digraph "shop: references between properties" {
      rankdir=LR;
      node [shape=box, fontname="sans-serif"];
      n0 [label="wan\nresource::net::1.0"];
      subgraph cluster_0 {
        label="office (assembly::site::1.0)";
        n1 [label="office__lan\nresource::net::1.0"];
      }
      subgraph cluster_1 {
        label="branch × 2 (assembly::site::1.0)";
        n2 [label="branch__1__lan\nresource::net::1.0"];
      }
      n0 -> n1 [label="uplink ← address", tooltip="uplink ← address"];
      n0 -> n2 [label="uplink ← address", tooltip="uplink ← address"];
    }
    "#);
    let picture = drawn("svg");
    let frames: Vec<&str> = picture.lines().filter(|line| line.contains("class=\"f\"")).collect();
    assert_snapshot!(frames.join("\n"), @r#"
    <g class="f"><rect x="272" y="10" width="244" height="78"/><text x="280" y="26">office (assembly::site::1.0)</text></g>
    <g class="f"><rect x="272" y="102" width="244" height="78"/><text x="280" y="118">branch × 2 (assembly::site::1.0)</text></g>
    "#);
}

/// The drawing of an existing assembly must show the states of its parts. The edge for a relationship must show the
/// name of the relationship.
#[test]
fn an_existing_assembly_is_drawn_with_its_states() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    let drawn = env.ok(&["graph", "h_bta", "--stored"]).stdout;
    assert!(drawn.contains(r#"label="A\nresource::h_simple::1.0\nActive", color=darkgreen"#), "{drawn}");
    assert!(drawn.contains(r#"label="B × 2\nresource::t_simple::1.0\nActive""#), "{drawn}");
    assert!(drawn.contains(r#"[label="third-relationship", "#), "{drawn}");
    env.ok(&["set-state", "h_bta", "Inactive", "--yes"]);
    let svg = env.ok(&["graph", "h_bta", "--stored", "--format", "svg"]).stdout;
    assert!(svg.contains("class=\"n pending\"") && svg.contains(">not Active yet</text>"), "{svg}");
    assert!(!svg.contains(">Failed or Broken</text>"), "{svg}");
    assert!(!env.ok(&["graph", "./h_bta"]).stdout.contains(r"\nActive"), "a descriptor has no states");
    let plan =
        env.ok(&["graph", "./h_bta", "--name", "other", "--view", "plan", "--format", "mermaid"]).stdout;
    assert!(plan.contains("-->|\"third-relationship\"| "), "{plan}");
}

/// The user gives the name of an existing assembly instead of a file. The error must explain that the argument names an
/// assembly.
#[test]
fn a_name_in_the_place_of_a_file() {
    let env = nested();
    env.ok(&["up", "shop", "--name", "mine"]);
    assert_snapshot!(env.refuses(&["up", "mine"]), @"
    error[WL0300]: there is no file or folder `mine`

    1 error; nothing was changed
    note: this command expects a descriptor, and `mine` is an existing assembly; `windlass status mine` shows it
    ");
    assert!(env.refuses(&["plan", "mine"]).contains("`windlass status mine` shows it"));
    assert!(!env.refuses(&["up", "other"]).contains("note:"));
}

#[test]
fn a_name_that_is_nearly_right() {
    let env = nested();
    env.ok(&["up", "shop", "--name", "mine"]);
    assert_snapshot!(env.run(&["graph", "mien"]), @"
    exit 2
    ----- stderr -----
    error[WL0500]: there is no assembly `mien`; did you mean `mine`?
    ");
}

/// If a folder and an assembly have the same name, the command reports which one it draws, and either can be
/// chosen.
#[test]
fn a_name_of_both_a_folder_and_an_assembly_is_explained() {
    let env = TestEnv::with("h_bta");
    let graph = |args: &[&str]| env.ok(&[&["graph"], args].concat());
    assert_eq!(graph(&["h_bta"]).stderr, "", "there is one only");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    let folder = graph(&["h_bta"]);
    assert_eq!(
        folder.stderr,
        "note: this is the folder `h_bta`; `windlass graph h_bta --stored` draws the existing assembly\n"
    );
    let stored = graph(&["h_bta", "--stored"]);
    assert_eq!(stored.stderr, "");
    let has_two = |drawn: &str| drawn.contains("B × 2");
    assert!(!has_two(&folder.stdout) && has_two(&stored.stdout), "{folder}{stored}");
    let explicit = graph(&["./h_bta"]);
    assert_eq!((&explicit.stdout, explicit.stderr.as_str()), (&folder.stdout, ""));
    // Without such a folder, the name alone selects the assembly.
    std::fs::rename(env.path("h_bta"), env.path("moved")).unwrap();
    assert_eq!(graph(&["h_bta"]).stdout, stored.stdout);
    assert_eq!(graph(&["moved"]).stderr, "");
    assert_snapshot!(env.refuses(&["graph", "h_bta", "-p", "numOfServers=3"]), @"error[WL0800]: there is no file or folder `h_bta`; --name, -p, --params, --inventory and --catalog apply to descriptors only");
    assert_snapshot!(env.refuses(&["graph", "h_bta", "--stored", "-p", "numOfServers=3"]), @"
    error[WL0800]: the argument '--stored' cannot be used with '--param <KEY=VALUE>'

    Usage: windlass graph --stored <FILE|DIR|NAME>

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["graph", "./moved", "--stored"]), @"error[WL0550]: the assembly name `./moved` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`");
}
