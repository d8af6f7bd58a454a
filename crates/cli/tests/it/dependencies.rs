//! `depends-on` of a component orders its transitions.

use crate::env::TestEnv;

/// Returns a project whose `web` depends on `db`. The scripts record their component and transition.
fn shop(more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "shop.yaml",
        format!(
            "name: assembly::shop::1.0
composition:
  web: {{type: resource::box::1.0, quantity: 2, depends-on: [db], properties: {{part: {{value: web}}}}}}
  db: {{type: resource::box::1.0{more}, properties: {{part: {{value: db}}}}}}
"
        ),
    );
    env.write(
        "Contains/box/resource.yaml",
        "name: resource::box::1.0
properties: {part: {}}
lifecycle: [Install, Start, Stop, Uninstall]
default-driver: {script: {selector: {infrastructure-type: ['*']}, properties: {style: plain}}}
",
    );
    for transition in ["Install", "Start", "Stop", "Uninstall"] {
        let script = format!(
            "#!/bin/sh\necho \"$(cat \"$WINDLASS_IN/part\") {transition}\" >>\"$(cat \"$WINDLASS_LOCATION/trace\")\"\n"
        );
        env.script(&format!("Contains/box/Lifecycle/script/scripts/{transition}.sh"), script);
    }
    env
}

#[test]
fn a_dependency_is_active_first_and_stops_last() {
    let env = shop("");
    env.ok(&["up", "shop.yaml"]);
    let up = ["db Install", "db Start", "web Install", "web Install", "web Start", "web Start"];
    assert_eq!(env.trace(), up);
    env.clear_trace();
    env.ok(&["set-state", "shop", "Inactive"]);
    assert_eq!(env.trace(), ["web Stop", "web Stop", "db Stop"]);
    env.ok(&["set-state", "shop", "Active"]);
    env.clear_trace();
    env.ok(&["down", "shop"]);
    // The two nodes of `web` go down side by side, so only their calls as a whole have an order.
    let mut web = env.trace();
    let db = web.split_off(4);
    assert_eq!(web[0], "web Stop");
    web.sort();
    assert_eq!(web, ["web Stop", "web Stop", "web Uninstall", "web Uninstall"]);
    assert_eq!(db, ["db Stop", "db Uninstall"]);
}

#[test]
fn a_dependency_is_drawn_and_explained() {
    let env = shop("");
    let graph = env.ok(&["graph", "shop.yaml", "--format", "dot"]);
    assert!(graph.stdout.contains("web depends on db"), "{graph}");
    let why = env.ok(&["plan", "shop.yaml", "--why", "s4"]);
    assert!(why.stdout.contains("web-depends-on-db: db must be Active"), "{why}");
    let circle = shop(", depends-on: web").refuses(&["up", "shop.yaml"]);
    assert!(circle.contains("components depend on each other in a circle: web -> db -> web"), "{circle}");
}
