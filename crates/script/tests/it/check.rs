//! Results of `check` for packages.

use std::time::Duration;

use windlass_driver::{Driver, Effect};
use windlass_script::Script;

use crate::world::{World, action};

fn problems(world: &World) -> String {
    let shown = |problem: windlass_driver::PackageProblem| {
        let problem = problem.diagnostic;
        let help = problem.help.as_ref().map(|help| format!("    help: {help}\n")).unwrap_or_default();
        format!("{problem}\n{help}")
    };
    Script::default().check(&world.package()).into_iter().map(shown).collect()
}

#[test]
fn a_package_that_is_in_order() {
    let world = World::new()
        .declares(&["Install", "Start", "Integrity", "Uninstall", "Join"])
        .script("launch.sh", "")
        .script("Start.sh", "")
        .script("healthCheck.sh", "")
        .file("scripts/Uninstall", true, b"\x7fELF\x02")
        .file("scripts/Join.py", true, "#!/usr/bin/env python3\n")
        .file("scripts/README.md", false, "# Scripts\n")
        .set("effect", "repeatable")
        .set("timeout", "10m");
    assert_eq!(problems(&world), "");
}

#[test]
fn scripts_that_are_missing() {
    let world =
        World::new().declares(&["Install", "Start", "Delete", "Integrity", "Join"]).script("start.sh", "");
    insta::assert_snapshot!(problems(&world), @"
    error[WL0400]: `resource::web::1.0` declares Install, and `Lifecycle/script/scripts` has no script `Install` or `launch` for it
        help: add `Lifecycle/script/scripts/Install.sh`, or remove Install from the descriptor
    error[WL0400]: `resource::web::1.0` declares Start, and `Lifecycle/script/scripts` has no script `Start` for it
        help: there is `start.sh`: did you mean that?
    error[WL0400]: `resource::web::1.0` declares Integrity, and `Lifecycle/script/scripts` has no script `Integrity` or `healthCheck` or `health-check` for it
        help: add `Lifecycle/script/scripts/Integrity.sh`, or remove Integrity from the descriptor
    error[WL0400]: `resource::web::1.0` declares Delete, and `Lifecycle/script/scripts` has no script `Delete` or `destroy` for it
        help: add `Lifecycle/script/scripts/Delete.sh`, or remove Delete from the descriptor
    error[WL0400]: `resource::web::1.0` declares Join, and `Lifecycle/script/scripts` has no script `Join` for it
        help: add `Lifecycle/script/scripts/Join.sh`, or remove Join from the descriptor
    ");
}

/// A script that serves another action is not taken for a misspelling of a missing one.
#[test]
fn a_missing_script_is_not_taken_for_another() {
    let world = World::new().declares(&["Install", "Uninstall"]).script("Uninstall.sh", "");
    insta::assert_snapshot!(problems(&world), @"
    error[WL0400]: `resource::web::1.0` declares Install, and `Lifecycle/script/scripts` has no script `Install` or `launch` for it
        help: add `Lifecycle/script/scripts/Install.sh`, or remove Install from the descriptor
    ");
}

#[test]
fn what_is_not_declared_needs_no_script() {
    assert_eq!(problems(&World::new().declares(&["Configure"]).script("Configure.sh", "")), "");
}

#[test]
fn scripts_that_nobody_runs() {
    let world = World::new()
        .declares(&["Start"])
        .script("Start.sh", "")
        .script("Stop.sh", "")
        .script("launch.sh", "");
    insta::assert_snapshot!(problems(&world), @"
    Lifecycle/script/scripts/Stop.sh:1:1: warning[WL0405]: `Stop.sh` is never run: nothing that `resource::web::1.0` declares leads to it
        help: declare the transition in the descriptor, or remove the file
    Lifecycle/script/scripts/launch.sh:1:1: warning[WL0405]: `launch.sh` is never run: nothing that `resource::web::1.0` declares leads to it
        help: declare the transition in the descriptor, or remove the file
    ");
}

#[test]
fn two_scripts_for_one_action() {
    let world = World::new().declares(&["Start"]).script("Start.sh", "").script("Start.py", "");
    insta::assert_snapshot!(problems(&world), @"
    Lifecycle/script/scripts/Start.sh:1:1: error[WL0401]: `Start.py` and `Start.sh` of `resource::web::1.0` both serve Start
        help: remove or rename one of them
    ");
}

#[test]
fn the_name_of_the_transition_wins() {
    let world = World::new().declares(&["Install"]).script("Install.sh", "").script("launch.sh", "");
    insta::assert_snapshot!(problems(&world), @"
    Lifecycle/script/scripts/launch.sh:1:1: warning[WL0405]: `launch.sh` is never run: nothing that `resource::web::1.0` declares leads to it
        help: declare the transition in the descriptor, or remove the file
    ");
}

#[test]
fn scripts_that_cannot_run() {
    let names = ["Install", "Configure", "Start", "Stop", "Uninstall"];
    let world = World::new()
        .declares(&names)
        .file("scripts/Install.sh", false, "#!/bin/sh\n")
        .file("scripts/Configure.sh", true, "echo hello\n")
        .file("scripts/Start.sh", true, "#!/bin/sh\r\n")
        .file("scripts/Stop.sh", true, "\u{feff}#!/bin/sh\n")
        .file("scripts/Uninstall.sh", true, "#! sh\n");
    insta::assert_snapshot!(problems(&world), @"
    Lifecycle/script/scripts/Configure.sh:1:1: error[WL0403]: the script `Configure.sh` does not name its interpreter
        help: begin the file with `#!/bin/sh`, or with the interpreter that it is written for
    Lifecycle/script/scripts/Install.sh:1:1: error[WL0402]: the script `Install.sh` has no run bit
        help: chmod +x Lifecycle/script/scripts/Install.sh
    Lifecycle/script/scripts/Start.sh:1:1: error[WL0403]: the script `Start.sh` ends its first line with a carriage return
        help: save the file with Unix line ends, such as with `sed -i 's/\\r$//' FILE`
    Lifecycle/script/scripts/Stop.sh:1:1: error[WL0403]: the script `Stop.sh` begins with a byte-order mark
        help: save the file without one: `#!` must be its first bytes
    Lifecycle/script/scripts/Uninstall.sh:1:1: error[WL0403]: the script `Uninstall.sh` does not name its interpreter by an absolute path
        help: begin the file with `#!/bin/sh`, or with the interpreter that it is written for
    ");
}

#[test]
fn driver_properties() {
    let world = World::new()
        .declares(&["Start", "Stop"])
        .script("Start.sh", "")
        .script("Stop.sh", "")
        .set("effect", "twice")
        .set("timeout", "10");
    insta::assert_snapshot!(problems(&world), @"
    error[WL0404]: in `resource::web::1.0`: the driver property `effect` is `repeatable` or `once`, not `twice`
    error[WL0404]: in `resource::web::1.0`: the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `10`
    ");
}

#[test]
fn files_that_no_runtime_can_place() {
    let world = World::new().declares(&["Start"]).script("Start.sh", "").file("../x", false, "");
    insta::assert_snapshot!(problems(&world), @"Lifecycle/script/../x:1:1: error[WL0406]: `Lifecycle/script/../x` can't be placed: `../x` is no path inside the working folder: it contains `..`");
}

#[test]
fn natures() {
    let world = World::new()
        .declares(&["Install", "Start", "Integrity", "Join"])
        .script("Integrity.sh", "")
        .set("effect", serde_json::json!({"value": "repeatable"}))
        .set("timeout", "90s");
    let nature = |world: &World, word: &str| Script::default().nature(&world.package(), &action(word));
    let set = nature(&world, "Install").unwrap();
    assert_eq!(
        (set.effect, set.timeout, set.observable),
        (Effect::Repeatable, Duration::from_secs(90), true)
    );
    assert_eq!(nature(&world, "Stop"), None);

    let plain = World::new().declares(&["Install", "Start", "Integrity", "Join"]);
    for word in ["Install", "Start", "Join"] {
        let nature = nature(&plain, word).unwrap();
        assert_eq!((nature.effect, nature.timeout), (Effect::Once, Duration::from_secs(3600)), "{word}");
        assert!(!nature.observable);
    }
    assert_eq!(nature(&plain, "Integrity").unwrap().effect, Effect::Repeatable);
}
