//! Health checks of applications.

use insta::assert_snapshot;

use super::{cloud, count, publish, trace};
use crate::env::{TestEnv, until};

/// One run of the health check covers all applications of a factory. Applications that no longer exist are
/// removed, and records of unchanged applications are not written.
#[test]
fn a_check_covers_all_applications_of_a_factory() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "3"]);
    let machine = env.files().into_iter().find(|file| file.starts_with("cloud/i-")).unwrap();
    std::fs::remove_file(env.path(&machine)).unwrap();
    let before = trace(&env).len();
    let checked = env.json(&["app", "check"]);
    let results: Vec<&str> = checked["applications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|checked| checked["result"].as_str().unwrap())
        .collect();
    assert_eq!(results.iter().filter(|result| **result == "destroyed").count(), 1, "{checked}");
    assert_eq!(results.iter().filter(|result| **result == "unchanged").count(), 2, "{checked}");
    let checks: Vec<String> = trace(&env).split_off(before);
    assert_eq!(checks.len(), 1, "{checks:?}");
    assert_eq!(env.json(&["app", "check"])["applications"].as_array().unwrap().len(), 2);
}

/// The health check reports one of two machines as gone, and says nothing about the other machine. A health check that
/// finds no machine at all may be wrong. So windlass must keep both applications.
#[test]
fn an_application_is_kept_if_no_other_instance_is_found() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "2"]);
    let machines: Vec<String> = env.files().into_iter().filter(|file| file.starts_with("cloud/i-")).collect();
    env.write(&machines[0].replace("cloud/", "cloud/silent-"), "");
    std::fs::remove_file(env.path(&machines[1])).unwrap();
    let checked = env.run(&["app", "check"]);
    assert_eq!(checked.code(), Some(1), "{checked}");
    assert!(checked.stdout.contains("the health check finds no instance of `factory`"), "{checked}");
    for name in ["vm", "vm-2"] {
        env.ok(&["status", name]);
    }
}

/// A check finds none of the machines of a factory, as it would with the credentials of another account. windlass must
/// keep the applications until the operator names them in `app check`.
#[test]
fn applications_are_kept_if_no_instance_is_found() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "2"]);
    let machines: Vec<String> = env.files().into_iter().filter(|file| file.starts_with("cloud/i-")).collect();
    let texts: Vec<String> = machines.iter().map(|file| env.read(file)).collect();
    let lose = || machines.iter().for_each(|file| std::fs::remove_file(env.path(file)).unwrap());
    lose();
    let checked = env.run(&["app", "check"]);
    assert_eq!(checked.code(), Some(1), "{checked}");
    assert_snapshot!(checked.out(), @r"
    vm: failed: the health check finds no instance of `factory`, so the applications are kept; check the configuration of `factory`, or confirm that the instance is gone with `windlass app check vm`
    vm-2: failed: the health check finds no instance of `factory`, so the applications are kept; check the configuration of `factory`, or confirm that the instance is gone with `windlass app check vm-2`
    ");
    assert!(env.ok(&["status", "vm"]).out().contains("the health check finds no instance of `factory`"));
    machines.iter().zip(&texts).for_each(|(file, text)| env.write(file, text));
    assert_snapshot!(env.ok(&["app", "check"]).out(), @r"
    vm: changed, active
    vm-2: changed, active
    ");
    lose();
    assert_eq!(env.run(&["app", "check"]).code(), Some(1));
    assert_snapshot!(env.ok(&["app", "check", "vm", "vm-2"]).out(), @r"
    vm: destroyed
    vm-2: destroyed
    ");
    assert_eq!(env.run(&["status", "vm"]).code(), Some(2));
}

/// A health check finds that the machine of an application is gone. During the check, the user destroys the
/// application, and launches another one with the same name. windlass must not apply the result to the new application.
#[test]
fn a_check_does_not_change_a_later_application_of_the_same_name() {
    let env = cloud();
    env.edit(
        "scripts/vm/check.py",
        "answer(answers)",
        "if \"i-old\" in answers and os.path.exists(path(\"hold\")):\n    trace(\"held\")\n    \
         while os.path.exists(path(\"hold\")): time.sleep(0.05)\nanswer(answers)",
    );
    publish(&env);
    let launch = |id: &str| env.ok(&["app", "launch", "VM", "-p", &format!("configuration.id={id}")]);
    launch("i-old");
    std::fs::remove_file(env.path("cloud/i-old")).unwrap();
    env.write("cloud/hold", "");
    let check = env.spawn(&["app", "check", "vm"]);
    until("the machine is checked", || count(&env, "held") > 0);
    env.ok(&["app", "destroy", "vm"]);
    launch("i-new");
    std::fs::remove_file(env.path("cloud/hold")).unwrap();
    let run = check.end();
    assert_snapshot!(run.out(), @"vm: dropped: it was created again meanwhile");
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["application"]["natural_id"], "i-new");
    assert_snapshot!(env.ok(&["app", "check", "vm"]).out(), @"vm: unchanged, active");
}

/// If the output of a health check has no entry for an instance, its status and its failure stay.
#[test]
fn an_unanswered_check_changes_nothing() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-2"]);
    env.write("cloud/i-1", "{}");
    assert_eq!(env.run(&["app", "check", "vm"]).code(), Some(1));
    let failure =
        || env.json(&["status", "vm"])["assemblies"][0]["components"][0]["failure"]["message"].clone();
    let before = failure();
    assert!(before.as_str().unwrap().starts_with("the health check failed"), "{before}");
    env.write("cloud/silent-i-1", "");
    let checks = || trace(&env).iter().filter(|line| line.starts_with("check")).count();
    let count = checks();
    assert_snapshot!(env.ok(&["app", "check"]).out(), @r"
    vm: unchecked: the output of the health check has no entry for the instance
    vm-2: unchanged, active
    ");
    assert_eq!((failure(), checks()), (before, count + 2));
}

/// Line breaks in the texts of scripts are escaped, so that a script can't add lines to the output.
#[test]
fn texts_of_scripts_stay_in_their_lines() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    env.write(
        "cloud/i-1",
        r#"{"ip": "203.0.113.9\nvm: gone", "size": "big\nno", "ill": "full\nvm: destroyed"}"#,
    );
    assert_eq!(env.ok(&["app", "check"]).out(), "vm: changed, degraded: full\\nvm: destroyed\n");
    let status = env.ok(&["status", "vm"]).out();
    for line in ["  compute.ip: 203.0.113.9\\nvm: gone", "  compute.size: big\\nno"] {
        assert!(status.lines().any(|shown| shown == line), "{status}");
    }
    assert!(!status.lines().any(|line| line.starts_with("vm: ")), "{status}");
    env.write("cloud/i-1", r#"{"ip": "203.0.113.9", "size": "big\nno"}"#);
    let run = env.ok(&["app", "command", "vm", "control.resize", "-a", "size=small"]);
    assert!(run.out().ends_with("was: big\\nno\n"), "{run}");
}

/// The log contains the changes that a check has found. A check without changes writes nothing.
#[test]
fn what_a_check_has_found_is_logged() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    let found = |change: &str| {
        env.write("cloud/i-1", change);
        env.ok(&["app", "check"]);
        let log = env.json(&["log", "vm"]);
        let events = log["checks"].as_array().cloned().unwrap_or_default();
        let texts = events.iter().map(|event| format!("{} {}", event["severity"], event["message"]));
        texts.map(|text| text.replace('"', "")).collect::<Vec<_>>()
    };
    let moved = r#"{"ip": "203.0.113.9", "size": "small"}"#;
    let expected = ["INFO `compute.ip` is 203.0.113.9, and was 203.0.113.1"];
    assert_eq!(found(moved), expected);
    assert_eq!(found(moved), expected, "no change, no entry");
    // `prune` keeps the last event of the store, so another event is added first.
    env.ok(&["app", "launch", "VM"]);
    env.ok(&["prune", "vm"]);
    assert_eq!(found(moved), expected, "it is young");
    assert_snapshot!(env.ok(&["prune", "vm", "--older", "0s"]).out(), @"vm: removed 1 entry of health checks");
    assert_eq!(found(moved), [""; 0]);
}

/// Runs `app check`. Returns the number of instances in each run of the check script, the largest number first.
fn groups(env: &TestEnv) -> Vec<usize> {
    let before = trace(env).len();
    env.run(&["app", "check"]);
    let checks = trace(env).split_off(before);
    let mut sizes: Vec<usize> = checks.iter().map(|line| line.split(' ').count() - 1).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes
}

/// A batch that fails is halved until the failing instance is alone. It is checked alone until its check
/// succeeds.
#[test]
fn a_bad_one_is_checked_alone_until_it_is_well() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "4"]);
    let machine = env.files().into_iter().find(|file| file.starts_with("cloud/i-")).unwrap();
    let before = env.read(&machine);
    env.write(&machine, "no machine");
    assert_eq!(groups(&env), [4, 2, 2, 1, 1]);
    assert_eq!(groups(&env), [3, 1]);
    env.write(&machine, before);
    assert_eq!(groups(&env), [3, 1]);
    assert_eq!(groups(&env), [4]);
}

/// The output of the health check contains an instance that was not in the input. windlass must ignore this instance,
/// and must log one warning.
#[test]
fn an_answer_that_was_not_asked_for_is_a_warning() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--count", "2"]);
    env.write("cloud/extra", "");
    let checked = env.json(&["app", "check"]);
    for application in checked["applications"].as_array().unwrap() {
        assert_eq!(application["status"], "active", "{checked}");
    }
    let logs = env.ok(&["log", "vm"]).out() + &env.ok(&["log", "vm-2"]).out();
    assert_eq!(logs.matches("the instance `i-extra` was not requested").count(), 1, "{logs}");
}

/// The log of the factory contains the warnings and errors that a successful check wrote to stderr.
#[test]
fn stderr_of_checks_is_logged_by_level() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.write("cloud/warn", "");
    env.ok(&["app", "check"]);
    let log = env.ok(&["log", "factory"]).out();
    assert!(log.contains("WARNING factory the quota is low"), "{log}");
    assert!(!log.contains("all is well") && !log.contains("no level"), "{log}");
}

/// People see the beginning of a long message of a status, and JSON output contains all of it. An empty message is not
/// printed.
#[test]
fn a_long_message_of_a_status_is_shortened() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-1"]);
    let ill = |text: &str| {
        env.write("cloud/i-1", format!(r#"{{"ip": "203.0.113.9", "size": "small", "ill": "{text}"}}"#));
    };
    ill(&"x".repeat(3000));
    let short = format!("degraded: {}… (3000 characters; `--format json` shows all)\n", "x".repeat(300));
    assert_eq!(env.ok(&["app", "check"]).out(), format!("vm: changed, {short}"));
    for command in [&["status"][..], &["status", "vm"]] {
        let status = env.ok(command).out();
        assert!(status.contains("xxx… (3000 characters; ") && !status.contains(&"x".repeat(301)), "{status}");
    }
    assert!(env.ok(&["status", "--format", "json"]).out().contains(&"x".repeat(3000)));
    ill("");
    assert_eq!(env.ok(&["app", "check"]).out(), "vm: changed, degraded\n");
    let status = env.ok(&["status", "vm"]).out();
    assert!(!status.contains(", ,") && !status.contains(" ,"), "{status}");
}

/// A stop ends a health check that hangs.
#[test]
fn a_stop_ends_a_check() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    env.write("cloud/hang", "");
    let before = trace(&env).len();
    let check = env.spawn(&["app", "check"]);
    until("it runs", || trace(&env).len() > before);
    check.signal(rustix::process::Signal::INT);
    let run = check.end();
    assert_eq!(run.code(), Some(130), "{run}");
    assert!(
        run.stderr.ends_with("stopped on request before the checks ended; nothing is recorded of them\n"),
        "{run}"
    );
}

/// The configuration of the factory is read at each call.
#[test]
fn a_changed_factory_counts_at_once() {
    let env = cloud();
    env.ok(&["app", "launch", "VM"]);
    std::fs::rename(env.path("cloud"), env.path("moved")).unwrap();
    let folder = format!("configuration.cloud={}", env.path("moved").display());
    env.ok(&["app", "reconfigure", "factory", "-p", &folder]);
    env.ok(&["app", "check", "vm"]);
    env.ok(&["app", "destroy", "vm"]);
    assert!(env.read("moved/trace").lines().any(|line| line.starts_with("destroy i-")));
}

/// The first health check of a launched machine fails, so the machine does not become Active. `retry` must repeat only
/// the health check, and not the launch.
#[test]
fn a_machine_whose_first_check_has_failed_is_retried() {
    let env = cloud();
    env.edit(
        "scripts/vm/check.py",
        "trace(\"check \"",
        "os.path.exists(path(\"bad\")) and sys.exit(\"no answer\")\ntrace(\"check \"",
    );
    publish(&env);
    env.write("cloud/bad", "");
    assert_eq!(
        env.run(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=small"]).code(),
        Some(1)
    );
    std::fs::remove_file(env.path("cloud/bad")).unwrap();
    assert_snapshot!(env.refuses(&["app", "reconfigure", "a", "-p", "configuration.size=large"]), @"error[WL0762]: `a` is Inactive, so it can't be reconfigured; complete its last process with `windlass retry a` first");
    assert_eq!(env.run(&["app", "check", "a"]).code(), Some(1));
    env.ok(&["retry", "a"]);
    env.ok(&["app", "reconfigure", "a", "-p", "configuration.size=large"]);
    env.ok(&["app", "check", "a"]);
    assert_eq!((count(&env, "launch"), count(&env, "destroy")), (1, 0));
}

/// The output of the health check has no entry for a launched machine. The launch must print a warning.
#[test]
fn a_launch_warns_of_an_unanswered_check() {
    let env = cloud();
    env.write("cloud/silent-i-1", "");
    let run = env.ok(&["app", "launch", "VM", "--name", "a", "-p", "configuration.id=i-1"]);
    let warning =
        "warning   vm: it was not checked: the output of the health check has no entry for the instance";
    assert!(run.out().contains(warning), "{run}");
}
