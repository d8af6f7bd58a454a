//! Tests of small details that users see.

use insta::assert_snapshot;

use crate::env::TestEnv;
use crate::small::RESOURCE;

/// Returns a project with an assembly whose component declares no actions.
fn still() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "still/assembly.yaml",
        "name: assembly::still::1.0\ncomposition:\n  box:\n    type: resource::box::1.0\n    quantity: 1\n",
    );
    env.write(
        "still/Contains/box/resource.yaml",
        "name: resource::box::1.0\nlifecycle: {Install: {}, Uninstall: {}}\ndefault-driver: {noop: {}}\n",
    );
    env
}

#[test]
fn steps_without_a_call_are_told_to_have_ended() {
    let env = still();
    for (args, line) in [
        (["up", "still"], "ok        box Install nothing to call"),
        (["down", "still"], "ok        box Uninstall nothing to call"),
    ] {
        let run = env.ok(&args);
        assert_eq!(
            run.stdout.lines().filter(|found| found.starts_with("ok")).collect::<Vec<_>>(),
            [line],
            "{run}"
        );
    }
}

#[test]
fn the_picture_of_a_process_that_called_nothing_says_so() {
    let env = still();
    env.ok(&["up", "still"]);
    env.ok(&["up", "still"]);
    let drawn = env.ok(&["graph", "still", "--stored", "--view", "plan"]);
    assert!(drawn.stdout.contains("still: p2 up had nothing to do"), "{drawn}");
}

#[test]
fn log_tells_what_was_wrong_with_an_answer() {
    let wrong = "answer; echo '    statsu: {}'; echo 'that was it' >&2";
    let env = TestEnv::small("effect: repeatable", &[("Install", wrong), ("Uninstall", "")]);
    let up = env.run(&["up", "small"]);
    let log = env.ok(&["log", "small"]);
    let said: Vec<&str> = up.stdout.lines().filter(|line| line.contains("stdout of Install.sh:")).collect();
    assert_eq!(said.len(), 1, "{up}");
    let (_, detail) = said[0].split_once("| ").unwrap();
    assert!(log.stdout.contains(detail), "{log}");
    assert_eq!(log.stdout.matches("that was it").count(), 1, "{log}");
}

#[test]
fn an_assembly_inside_itself_is_an_error_of_check() {
    let env = TestEnv::new();
    for (name, inner) in [("a", "b"), ("b", "c"), ("c", "b")] {
        env.write(
            &format!("{name}/assembly.yaml"),
            format!("name: assembly::{name}::1.0\ncomposition:\n  part:\n    type: assembly::{inner}::1.0\n    quantity: 1\n"),
        );
    }
    for path in ["a", "b", "."] {
        let checked = env.run(&["check", path]);
        assert_eq!(checked.code(), Some(2), "{checked}");
        assert_eq!(checked.stderr.matches("error[WL0141]").count(), 1, "{path}: {checked}");
    }
    let said = env.run(&["check", "a"]).stderr;
    assert!(
        said.contains(
            "the assembly is inside itself: `assembly::b::1.0` -> `assembly::c::1.0` -> `assembly::b::1.0`"
        ),
        "{said}"
    );
    assert!(said.contains("c/assembly.yaml:4:11"), "{said}");
}

#[test]
fn a_descriptor_that_is_a_dangling_link_is_an_error() {
    let env = TestEnv::small("", &[("Install", "answer"), ("Uninstall", "")]);
    std::fs::remove_file(env.path(RESOURCE)).unwrap();
    std::os::unix::fs::symlink("nowhere.yaml", env.path(RESOURCE)).unwrap();
    let checked = env.run(&["check", "small"]);
    assert_eq!(checked.code(), Some(2), "{checked}");
    assert!(checked.stderr.contains("is a link to `nowhere.yaml`, which is not there"), "{checked}");
    std::os::unix::fs::symlink("nowhere.yaml", env.path("assembly.yaml")).unwrap();
    let checked = env.run(&["check", "assembly.yaml"]);
    assert_eq!(checked.code(), Some(2), "{checked}");
    assert!(checked.stderr.contains("is a link to `nowhere.yaml`, which is not there"), "{checked}");
}

/// `up`, `plan`, `check`, `graph` and `resolve` use the working folder.
#[test]
fn the_working_folder_is_the_default() {
    let env = TestEnv::with("h_bta");
    for command in ["check", "plan", "graph", "resolve", "up"] {
        let run = env.run_in("h_bta", &[command]);
        assert_eq!(run.code(), Some(0), "{command}: {run}");
    }
    assert_eq!(env.json(&["status"])["assemblies"][0]["state"], "Active");
}

#[test]
fn outputs_are_printed_for_people_and_programs() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    assert_eq!(env.ok(&["output", "h_bta"]).stdout, "output: \"A_output\"\n");
    assert_eq!(env.ok(&["output", "h_bta", "output"]).stdout, "\"A_output\"\n");
    assert_eq!(env.ok(&["output", "h_bta", "output", "--raw"]).stdout, "A_output");
    assert_snapshot!(env.ok(&["output", "h_bta", "--format", "json"]).out(), @r#"
    {
      "version": 1,
      "assembly": "h_bta",
      "outputs": {
        "output": "A_output"
      }
    }
    "#);
    assert_snapshot!(env.refuses(&["output", "h_bta", "outptu"]), @"error[WL0805]: `h_bta` has no output `outptu` with a known value; did you mean `output`?");
    assert_snapshot!(env.refuses(&["output", "h_bat"]), @"error[WL0500]: there is no assembly `h_bat`; did you mean `h_bta`?");
}
