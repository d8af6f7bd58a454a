//! Pictures of assemblies, of those that are up and of those that are not.

use rstest::rstest;

use crate::env::TestEnv;

/// Each view in each form, of a descriptor and of what is up: the same parts, and what the form begins with.
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
    // By its name: the plan is that of its last process, which has ended.
    std::fs::rename(env.path("h_bta"), env.path("gone")).unwrap();
    draws("h_bta");
}
