//! `up` after scripts have failed: which calls `up` repeats, and whether `up` uses the old or the corrected scripts.

use crate::env::TestEnv;

const SCRIPTS: &str = "Contains/box/Lifecycle/script/scripts";

/// Returns a project with one part, whose scripts record their transition.
fn part(resource: &str, scripts: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "shop.yaml",
        "name: assembly::shop::1.0
properties: {size: {default: '1'}}
composition:
  web: {type: resource::box::1.0, properties: {size: {value: '${size}'}}}
",
    );
    let names: Vec<&str> = scripts.iter().map(|(name, _)| *name).collect();
    env.write(
        "Contains/box/resource.yaml",
        format!(
            "name: resource::box::1.0
{resource}lifecycle: [{}]
default-driver: {{script: {{selector: {{infrastructure-type: ['*']}}, properties: {{style: plain, effect: repeatable}}}}}}
",
            names.join(", ")
        ),
    );
    for (name, body) in scripts {
        let text = format!("#!/bin/sh\necho {name} >>\"$(cat \"$WINDLASS_LOCATION/trace\")\"\n{body}\n");
        env.script(&format!("{SCRIPTS}/{name}.sh"), text);
    }
    env
}

/// A Reconfigure that failed may have changed the instance, so `up` applies the old values again.
#[test]
fn a_failed_reconfigure_is_called_again_with_the_old_values() {
    let env = part(
        "properties: {size: {volatile: true}}\n",
        &[
            ("Install", ""),
            ("Reconfigure", r#"[ "$(cat "$WINDLASS_IN/size")" = 1 ] || exit 7"#),
            ("Uninstall", ""),
        ],
    );
    env.ok(&["up", "shop.yaml"]);
    assert_eq!(env.run(&["up", "shop.yaml", "-p", "size=2"]).code(), Some(1));
    let status = env.ok(&["status", "shop"]);
    assert!(status.stdout.contains("its last Reconfigure did not succeed"), "{status}");
    env.clear_trace();
    let plan = env.ok(&["plan", "shop.yaml"]);
    assert!(plan.stdout.contains("~ web changed, its last Reconfigure did not succeed"), "{plan}");
    env.ok(&["up", "shop.yaml"]);
    assert_eq!(env.trace(), ["Reconfigure"]);
    assert!(!env.ok(&["status", "shop"]).stdout.contains("Reconfigure"));
    assert_eq!(env.ok(&["plan", "shop.yaml"]).out(), "shop: nothing to do\n");
}

/// Broken scripts of the very first `up` are corrected on disk, and the next `up` uses the corrected ones.
#[test]
fn corrected_scripts_clean_up_after_a_broken_install() {
    let env = part("properties: {size: {}}\n", &[("Install", "exit 7"), ("Uninstall", "exit 8")]);
    for _ in 0..2 {
        assert_eq!(env.run(&["up", "shop.yaml"]).code(), Some(1));
    }
    for (script, broken) in [("Install", "exit 7"), ("Uninstall", "exit 8")] {
        env.edit(&format!("{SCRIPTS}/{script}.sh"), broken, "exit 0");
    }
    env.clear_trace();
    env.ok(&["up", "shop.yaml"]);
    assert_eq!(env.trace(), ["Uninstall", "Install"]);
}

/// A part that exists is removed with its old scripts. If these fail, the message names the option that uses
/// the current scripts.
#[test]
fn current_packages_replace_a_part_whose_old_scripts_fail() {
    let env = part("properties: {size: {}}\n", &[("Install", ""), ("Uninstall", "exit 8")]);
    env.ok(&["up", "shop.yaml"]);
    env.edit(&format!("{SCRIPTS}/Uninstall.sh"), "exit 8", "exit 0");
    let change = ["up", "shop.yaml", "-p", "size=2", "--yes"];
    let failed = env.run(&change);
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert!(
        failed.stdout.contains("`windlass up FILE --current-packages` runs the current ones"),
        "{failed}"
    );
    env.ok(&["up", "shop.yaml", "-p", "size=2", "--yes", "--current-packages"]);
    assert_eq!(env.ok(&["plan", "shop.yaml", "-p", "size=2"]).out(), "shop: nothing to do\n");
}

/// `history` shows each process with its result, steps and changes. The heading of the changes is "changes to the
/// desired assembly", because a failed process may not have carried out all changes.
#[test]
fn history_shows_each_process_with_its_end() {
    let env = part("properties: {size: {}}\n", &[("Install", "exit 7"), ("Uninstall", "")]);
    env.run(&["up", "shop.yaml"]);
    env.ok(&["down", "shop"]);
    insta::assert_snapshot!(env.ok(&["history", "shop"]).out(), @"
    p1 up, failed WHEN assembly::shop::1.0, 1 resource
      steps: 1 failed
      changes to the desired assembly:
      + web added (resource::box::1.0)

    p2 down, completed WHEN
      steps: 1 succeeded
    ");
    let view = env.json(&["history", "shop"]);
    assert_eq!(
        (&view["processes"][0]["failed"], &view["processes"][1]["intent"]),
        (&1.into(), &"down".into())
    );
}
