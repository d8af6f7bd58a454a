//! Consent to plans that remove or replace installed parts: by `--yes`, or on a terminal.

use std::fs::File;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};

use crate::env::{TestEnv, until};
use crate::run::Run;

/// Returns a project in which `h_bta` is up with two nodes. An earlier version had one node.
fn up() -> TestEnv {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    env.clear_trace();
    env
}

/// Returns a command that runs `windlass` on a terminal. `before` is a shell prefix of the command.
fn on_a_terminal(env: &TestEnv, command: &str, before: &str) -> Command {
    let mut script = Command::new("script");
    env.settle(&mut script);
    let line = format!("{before} {} {command}", env!("CARGO_BIN_EXE_windlass"));
    script.env("TERM", "xterm").args(["-qec", &line, "/dev/null"]);
    script
}

/// Runs a command of `windlass` on a terminal, and types an answer.
fn answered(env: &TestEnv, command: &str, answer: &str) -> Run {
    let mut script = on_a_terminal(env, command, "");
    env.write("answer", answer);
    script.stdin(File::open(env.path("answer")).unwrap());
    env.start(script).end()
}

#[rstest]
#[case::changed_value(
    &["up", "h_bta", "-p", "numOfServers=2", "-p", "data=other"],
    "(3 to replace): `A` (replaced: `data` changes), `B__1` (replaced: `data` changes), `B__2` (replaced: `data` changes)"
)]
#[case::fewer_nodes(&["up", "h_bta", "-p", "numOfServers=1"], "(1 to remove): `B__2` (removed)")]
#[case::replaced(
    &["up", "h_bta", "-p", "numOfServers=2", "--replace", "A"],
    "(1 to replace): `A` (replaced: its replacement was requested)"
)]
#[case::scaled_in(&["scale", "in", "h_bta", "B"], "(1 to remove): `B__2` (removed)")]
#[case::rolled_back(&["rollback", "h_bta"], "(1 to remove): `B__2` (removed)")]
#[case::lowered(
    &["set-state", "h_bta", "Installed"],
    "(3 to replace): `A` (replaced: its state becomes Installed), `B__1` (replaced: its state becomes Installed), `B__2` (replaced: its state becomes Installed)"
)]
fn a_plan_that_destroys_needs_a_yes(#[case] command: &[&str], #[case] counts: &str) {
    let env = up();
    let before = env.json(&["status"]);
    for queue in [&[][..], &["--queue"]] {
        let refused = env.refuses(&[command, queue].concat());
        assert_eq!(
            refused,
            format!(
                "error[WL0541]: the plan for `h_bta` removes or replaces existing parts {counts}; review it with `--dry-run`, and agree to it with `--yes`\n"
            )
        );
    }
    assert_eq!((env.changes(), env.json(&["status"])), (Vec::new(), before), "nothing was changed");
    let json = env.run(&[command, &["--format", "json"]].concat());
    let (code, error) = (json.code(), json.json());
    assert_eq!((code, &error["error"]["code"]), (Some(2), &"WL0541".into()), "{error:#}");
    env.ok(&[command, &["--dry-run", "-o", "agreed.plan"]].concat());
    env.ok(&[command, &["--yes"]].concat());
    assert_ne!(env.changes(), [""; 0]);
}

/// `apply` does not ask, because the user has reviewed the saved plan.
#[test]
fn a_saved_plan_needs_no_yes() {
    let env = up();
    env.ok(&["scale", "in", "h_bta", "B", "--dry-run", "-o", "in.plan"]);
    let applied = env.ok(&["apply", "in.plan"]);
    assert!(applied.stdout.contains("- B__2 removed"), "{applied}");
}

#[test]
fn a_plan_that_destroys_nothing_needs_no_yes() {
    let env = up();
    for command in [
        &["scale", "out", "h_bta", "B"][..],
        &["set-state", "h_bta", "Inactive"],
        &["rollback", "h_bta"],
        &["heal", "h_bta", "A"],
        &["retry", "h_bta"],
        &["up", "h_bta", "-p", "numOfServers=2"],
        &["down", "h_bta"],
    ] {
        env.ok(command);
    }
}

/// windlass does not ask before it re-creates a failed part.
#[test]
fn a_repair_needs_no_yes() {
    let env = TestEnv::with("h_bta");
    env.location("fail: Install:2");
    assert_eq!(env.run(&["up", "h_bta", "-p", "numOfServers=2"]).code(), Some(1));
    let failed = env.ok(&["status", "h_bta"]);
    assert!(failed.stdout.contains("Failed"), "{failed}");
    let plan = env.ok(&["up", "h_bta", "-p", "numOfServers=2", "--dry-run"]);
    assert!(plan.stdout.contains("1 to replace"), "{plan}");
    env.location("");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
}

#[test]
fn a_terminal_is_asked() {
    let env = up();
    for answer in ["\n", "n\n", "maybe\n", ""] {
        let refused = answered(&env, "scale in h_bta B", answer);
        assert_eq!(refused.code(), Some(2), "{refused}");
        let text = refused.stdout.replace('\r', "");
        assert!(
            text.contains("  - B__2 removed\n1 to remove\nh_bta: run this plan? [y/N] "),
            "{answer:?}: {refused}"
        );
        assert!(text.contains("not agreed; nothing was changed"), "{answer:?}: {refused}");
    }
    assert_eq!(env.trace(), [""; 0]);
    let agreed = answered(&env, "scale in h_bta B", "y\n");
    assert!(agreed.code() == Some(0) && agreed.stdout.contains("done: h_bta is Active"), "{agreed}");
    assert_ne!(env.trace(), [""; 0]);
    // No question is asked with `--yes`, or if the output is JSON.
    let sure = answered(&env, "up h_bta --replace A --yes", "");
    assert!(sure.code() == Some(0) && !sure.stdout.contains("[y/N]"), "{sure}");
    let json = answered(&env, "up h_bta --replace A --format json", "y\n");
    assert!(json.code() == Some(2) && json.stdout.contains("WL0541"), "{json}");
    let piped = answered(&env, "up h_bta --replace A | cat", "y\n");
    assert!(piped.stdout.contains("agree to it with `--yes`"), "{piped}");
}

/// A signal ends a command that waits for an answer.
#[test]
fn a_question_can_be_interrupted() {
    let env = up();
    let mut script = on_a_terminal(&env, "scale in h_bta B", "echo $$ > pid; exec");
    script.stdin(Stdio::piped());
    let asking = env.start(script);
    until("it asks", || asking.stdout().contains("[y/N]"));
    let pid = Pid::from_raw(env.read("pid").trim().parse().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let asked = asking.end();
    assert!(asked.code() == Some(130) && asked.stdout.contains("stopped on request"), "{asked}");
    assert_eq!(env.trace(), [""; 0]);
}

/// A queued request carries the consent to the daemon.
#[test]
fn a_queued_request_carries_its_consent() {
    let env = up();
    let queued = env.ok(&["scale", "in", "h_bta", "B", "--yes", "--queue"]);
    assert_snapshot!(queued.out(), @"h_bta: scale in B is queued for `windlass run`, as q3; `windlass cancel h_bta q3` withdraws it");
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it is executed", || keeper.stdout().contains("p4 completed"));
    keeper.signal(Signal::TERM);
    keeper.end();
}

/// A process changes a part. The inputs of another part are then outdated, and a second process updates them. `--yes`
/// must also permit the second process. A confirmation on the terminal permits only one process.
#[test]
fn a_reader_of_a_new_value_is_not_replaced_by_surprise() {
    let env = crate::outdated::row("volatile: true, ", "", "Install, Reconfigure, Stop, Start, Uninstall");
    // The second part can't be reconfigured, so it must be replaced.
    let (part, fixed) = ("row/Contains/part", "row/Contains/fixed");
    let resource = env.read(&format!("{part}/resource.yaml"));
    let resource = resource.replace("resource::part", "resource::fixed").replace("volatile: true, ", "");
    env.write(&format!("{fixed}/resource.yaml"), resource);
    for script in ["Install", "Reconfigure", "Stop", "Start", "Uninstall"] {
        let path = format!("Lifecycle/script/scripts/{script}.sh");
        env.script(&format!("{fixed}/{path}"), env.read(&format!("{part}/{path}")));
    }
    env.edit("row/assembly.yaml", "b: {type: resource::part", "b: {type: resource::fixed");
    env.ok(&["up", "row"]);
    env.clear_trace();
    let up = ["up", "row", "-p", "size=large"];
    let stopped = env.run(&up);
    assert_eq!(stopped.code(), Some(1), "{stopped}");
    assert_eq!(env.trace(), ["Reconfigure large"]);
    assert!(
        stopped.stderr.contains("removes or replaces existing parts (1 to change, 1 to replace)"),
        "{stopped}"
    );
    assert!(stopped.stdout.contains("b has outdated inputs; `windlass retry row` updates them"), "{stopped}");
    let json = env.run(&[&up[..], &["--format", "json"]].concat());
    assert_eq!(json.code(), Some(2), "it is the first plan now: {json}");
    env.ok(&[&up[..], &["--yes"]].concat());
    // JSON output tells which inputs are outdated, and why no further process updates them.
    let json = env.run(&["up", "row", "-p", "size=medium", "--format", "json"]);
    assert_eq!(json.code(), Some(1), "{json}");
    let ended: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(ended["status"], "completed", "{json}");
    assert_eq!(ended["outdated"], serde_json::json!({"elements": ["row__b"], "relationships": []}), "{json}");
    assert_eq!(ended["error"]["code"], "WL0541", "{json}");
    assert!(
        ended["error"]["message"].as_str().unwrap().contains("removes or replaces existing parts"),
        "{json}"
    );
    let again = env.run(&["up", "row", "-p", "size=huge", "--yes"]);
    assert_eq!(again.code(), Some(0), "{again}");
    assert!(
        again.stdout.matches("resuming:").count() >= 1 && again.stdout.contains("-/+ b replaced"),
        "{again}"
    );
}
