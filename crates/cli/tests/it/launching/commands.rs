//! Commands of applications, and their results.

use insta::assert_snapshot;

use super::{cloud, count, publish, trace};
use crate::env::{TestEnv, until};

/// The machine of an open command disappears. `app command --wait` checks only this machine, so the check finds no
/// machine at all. windlass must doubt such a result, and keep the application.
#[test]
fn a_wait_for_a_result_removes_no_application() {
    let env = cloud();
    let begun = backup(&env, "k");
    env.ok(&["app", "launch", "VM"]);
    let machine = format!("cloud/{}", begun.0);
    let text = env.read(&machine);
    std::fs::remove_file(env.path(&machine)).unwrap();
    let waiting = env.spawn(&["app", "command", "--wait", &begun.1]);
    let doubt = "the health check finds no instance of `factory`, so the applications are kept";
    until("its absence is doubted", || env.run(&["status", "vm"]).stdout.contains(doubt));
    env.write(&machine, text);
    end_backup(&env, &begun, r#"[{"file": "f"}]"#);
    let run = waiting.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(run.stdout.ends_with("file: f\n"), "{run}");
}

/// A command of one application runs, so the daemon checks only the other application. The check finds no machine at
/// all. windlass must doubt such a result, and keep the application.
#[test]
fn the_daemon_keeps_applications_if_it_checks_only_one_of_them() {
    let env = cloud();
    let begin = "for id, request in given[\"instances\"].items():\n    for";
    let hold = "while os.path.exists(path(\"hold\")): time.sleep(0.05)\n";
    env.edit("scripts/vm/resize.py", begin, &format!("trace(\"resize\")\n{hold}{begin}"));
    publish(&env);
    env.ok(&["app", "launch", "VM", "--count", "2", "-p", "configuration.size=small"]);
    env.write("cloud/hold", "");
    let command = env.spawn(&["app", "command", "vm", "control.resize", "-a", "size=large"]);
    until("the command runs", || count(&env, "resize") > 0);
    command.kill();
    let machines: Vec<String> = env.files().into_iter().filter(|file| file.starts_with("cloud/i-")).collect();
    let texts: Vec<String> = machines.iter().map(|file| env.read(file)).collect();
    for machine in &machines {
        std::fs::remove_file(env.path(machine)).unwrap();
    }
    let daemon = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| daemon.stdout().contains(text);
    until("the check fails", || {
        assert!(!said("its scripts say that it is destroyed"), "{}", daemon.stdout());
        said("vm-2: the health check fails: the health check finds no instance of `factory`")
    });
    machines.iter().zip(&texts).for_each(|(file, text)| env.write(file, text));
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    until("it works again", || said("vm-2: the health check works again"));
    daemon.signal(rustix::process::Signal::TERM);
    let run = daemon.end();
    assert_eq!(run.code(), Some(0), "{run}");
}

/// The script of a command reports that the machine is destroyed. windlass must remove the application.
#[test]
fn a_command_can_destroy() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["app", "command", "vm", "control.kill"]);
    assert_eq!(env.run(&["status", "vm"]).code(), Some(2));
    assert_eq!(trace(&env).last().map(|line| line.starts_with("destroy i-")), Some(true));
}

/// Launches a machine, and calls its command `control.backup` without waiting for the result. Returns the ids of the
/// machine and of the command.
pub(super) fn backup(env: &TestEnv, key: &str) -> (String, String) {
    env.ok(&["app", "launch", "VM"]);
    env.write("key", key);
    let run = env.ok(&["app", "command", "vm", "control.backup", "-a", "key=@key", "--async"]);
    let begun = trace(env).into_iter().rfind(|line| line.starts_with("backup")).unwrap();
    let [_, id, command] = begun.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    assert!(run.out().contains(&format!("{command}: `control.backup` is open")), "{run}");
    (id, command)
}

/// Ends a backup, so that the next check reports its results.
fn end_backup(env: &TestEnv, (id, command): &(String, String), results: &str) {
    env.write("cloud/backup", format!(r#"{{"id": "{id}", "command": "{command}", "results": {results}}}"#));
}

/// An application has an open command, whose result an export would lose. windlass must refuse to export the
/// application without `--force`.
#[test]
fn an_open_command_is_not_lost_by_an_export() {
    let env = cloud();
    let begun = backup(&env, "k");
    let refused = env.refuses(&["export", "vm"]).replace(&begun.1, "COMMAND");
    assert_snapshot!(refused, @"error[WL0544]: `vm` has open commands, whose results an export would lose: `control.backup` (COMMAND); wait until `windlass app check vm` reports the results, or give them up with `--force`");
    assert!(env.refuses(&["export", "vm", "--dry-run"]).starts_with("error[WL0544]"));
    let status = &env.json(&["status", "vm"])["assemblies"][0]["application"]["commands"];
    assert_eq!(
        (&status[0]["id"], &status[0]["command"]),
        (&begun.1.as_str().into(), &"control.backup".into())
    );
    let waits = format!("`windlass app command --wait {}` waits for its result", begun.1);
    assert!(env.ok(&["status", "vm"]).out().contains(&waits));
    end_backup(&env, &begun, r#"[{"file": "f"}]"#);
    env.ok(&["app", "check"]);
    env.ok(&["export", "vm", "--dry-run"]);
    assert!(!env.ok(&["status", "vm"]).out().contains("--wait"), "the command has ended");
    backup(&env, "k");
    env.ok(&["export", "vm", "--force"]);
}

/// The final result of a command may come from a health check after the process of the command has ended. The
/// result is recorded, and the arguments of the command stay sealed until then.
#[test]
fn a_result_may_arrive_after_the_process_has_ended() {
    let env = cloud();
    let begun = backup(&env, "hunter22");
    assert_eq!(env.json(&["history", "vm"])["processes"][0]["status"], "completed", "the process has ended");
    end_backup(
        &env,
        &begun,
        r#"[{"$intermediate": true, "phase": "copied"}, {"file": "s3://b/hunter22.tar"}]"#,
    );
    assert_snapshot!(env.ok(&["app", "check"]).out(), @"vm: changed, active");
    let log = env.ok(&["log", "vm"]).out();
    for (text, times) in
        [("progress: phase: started", 1), ("progress: phase: copied", 1), ("result: file: s3://b/***.tar", 1)]
    {
        assert_eq!(log.matches(text).count(), times, "{text}: {log}");
    }
    let view = env.json(&["app", "command", "--wait", &begun.1]);
    assert_eq!(view["state"], "completed", "{view}");
    assert_eq!(view["results"][2]["file"], "s3://b/***.tar", "{view}");
    assert!(
        !env.ok(&["status", "vm", "--format", "json"]).out().contains("phase"),
        "it is not in the document"
    );

    end_backup(&env, &begun, r#"[{"file": "another"}]"#);
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "vm"]).out();
    assert!(log.contains("are ignored: no such command awaits them"), "{log}");
    assert_eq!(env.json(&["app", "command", "--wait", &begun.1])["results"].as_array().unwrap().len(), 3);
    env.is_quiet();
}

/// An application is renamed before a command of the application has a result. windlass must still record the result,
/// and mask the secret in the result.
#[test]
fn a_result_finds_a_renamed_application() {
    let env = cloud();
    let begun = backup(&env, "hunter22");
    env.ok(&["rename", "vm", "box"]);
    end_backup(&env, &begun, r#"[{"file": "s3://b/hunter22.tar"}]"#);
    env.ok(&["app", "check"]);
    let view = env.json(&["app", "command", "--wait", &begun.1]);
    assert_eq!(view["state"], "completed", "{view}");
    assert_eq!(view["results"][1]["file"], "s3://b/***.tar", "{view}");
}

/// A result that contradicts the manifest is recorded, and the log contains a warning.
#[test]
fn wrong_results_are_warned_of() {
    let env = cloud();
    env.edit("vm.yaml", "=> string file)", "=> int file)");
    publish(&env);
    let begun = backup(&env, "k");
    end_backup(&env, &begun, r#"[{"file": "f", "size": 3}]"#);
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "vm"]).out();
    for warning in [
        "the field `file` of the result has a wrong type: `int` is expected, and this is text",
        "the field `size` of the result is not declared by the manifest",
    ] {
        assert!(
            log.contains(&format!("WARNING vm command `control.backup` ({}): {warning}", begun.1)),
            "{log}"
        );
    }
    assert_eq!(env.json(&["app", "command", "--wait", &begun.1])["results"][1]["file"], "f");
}

/// `app command` waits for the result of its command. `app command --wait` waits for the result of a command that was
/// called earlier. Ctrl-C must end only the waiting, not the command.
#[test]
fn a_command_is_awaited() {
    let env = cloud();
    let begun = backup(&env, "k");
    let waiting = env.spawn(&["app", "command", "--wait", &begun.1]);
    until("it waits", || waiting.stderr().contains("waiting for the result of `control.backup`"));
    waiting.signal(rustix::process::Signal::INT);
    let run = waiting.end();
    assert_eq!(run.code(), Some(130), "{run}");
    assert!(run.stderr.contains("stopped waiting; the command goes on"), "{run}");

    end_backup(&env, &begun, r#"[{"file": "f"}]"#);
    let run = env.ok(&["app", "command", "--wait", &begun.1]);
    assert_snapshot!(run.out(), @r"
    phase: started
    file: f
    ");

    let second = env.spawn(&["app", "command", "vm", "control.backup", "-a", "key=k", "--format", "json"]);
    until("it waits", || second.stderr().contains("waiting for the result"));
    let command = trace(&env).into_iter().rfind(|line| line.starts_with("backup")).unwrap();
    end_backup(&env, &(begun.0, command.split(' ').next_back().unwrap().to_owned()), "[{}]");
    let run = second.end();
    assert_eq!(run.code(), Some(0), "{run}");
    let view: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&view["state"], &view["command"]), (&"completed".into(), &"control.backup".into()), "{view}");
}

/// Waiting for a command ends if the application is destroyed in the meantime.
#[test]
fn waiting_ends_with_the_application() {
    let env = cloud();
    let (_, command) = backup(&env, "k");
    let waiting = env.spawn(&["app", "command", "--wait", &command]);
    until("it waits", || waiting.stderr().contains("waiting for the result"));
    env.ok(&["app", "destroy", "vm"]);
    let run = waiting.end();
    assert_eq!(run.code(), Some(1), "{run}");
    let end = format!("failed: `control.backup` ({command}): its application is destroyed\n");
    assert!(run.stdout.ends_with(&end), "{run}");
}

/// A command without a result expires. Waiting for a command with an unknown id is refused.
#[test]
fn a_command_expires() {
    let env = cloud();
    env.edit("windlass.yaml", "version: 1\n", "version: 1\ndrivers:\n  script: {result-timeout: 1s}\n");
    let (_, command) = backup(&env, "k");
    let run = env.run(&["app", "command", "--wait", &command]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.out().contains("expired: no final result of `control.backup`"), "{run}");
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "vm"]).out();
    assert_eq!(log.matches("no final result arrived in time").count(), 1, "{log}");
    assert_snapshot!(env.refuses(&["app", "command", "--wait", "nothing"]), @"error[WL0759]: there is no command `nothing`; the last 20 commands of each application are kept");
}

/// After Ctrl-C, windlass waits for the script of a command, and the script succeeds. windlass must report the command
/// as completed. If it reported a cancelled command, the user would call the command again.
#[test]
fn a_command_that_ends_after_a_stop_is_done() {
    let env = cloud();
    env.edit(
        "scripts/vm/resize.py",
        "answers = {}",
        "answers = {}\ntrace(\"resize\")\nwhile os.path.exists(path(\"hold\")): time.sleep(0.05)",
    );
    publish(&env);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.write("cloud/hold", "");
    let command = env.spawn(&["app", "command", "vm", "control.resize", "-a", "size=large"]);
    until("the script has begun", || trace(&env).contains(&"resize".to_owned()));
    command.signal(rustix::process::Signal::INT);
    until("the stop is noticed", || command.stderr().contains("interrupt again"));
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let run = command.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(run.out().ends_with("was: small\n"), "{run}");
}

/// A command is called without an argument that its manifest declares.
#[test]
fn a_missing_argument_of_a_command_is_a_warning() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let run = env.ok(&["app", "command", "vm", "control.backup", "--async"]);
    assert!(
        run.stderr.contains(
            "warning[WL0756]: `control.backup` declares the argument `key`, which is not given\n |\n = help: pass `-a key=VALUE`\n"
        ),
        "{run}"
    );
    let run = env.ok(&["app", "command", "vm", "control.backup", "-a", "key=k", "--async"]);
    assert!(!run.stderr.contains("warning"), "{run}");
}
