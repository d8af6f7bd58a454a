//! Commands of components, called by hand.

use insta::assert_snapshot;

use crate::env::TestEnv;
use crate::small::{HEAD, RESOURCE, SCRIPTS};

/// Creates the assembly `small`, whose component declares the commands `backup`, `broken` and `slow`.
fn small(driver: &str) -> TestEnv {
    let scripts = [("Install", "answer"), ("Start", ""), ("Stop", ""), ("Uninstall", "")];
    let env = TestEnv::small(driver, &scripts);
    let commands = [
        ("backup", "printf '%s\\n' \"$input\" >\"${trace%/*}/input\"; echo \"key: $input\" >&2"),
        ("broken", "echo 'no space' >&2; exit 3"),
        ("slow", "[ -e \"${trace%/*}/quick\" ] || exec sleep 600"),
    ];
    for (name, body) in commands {
        env.script(&format!("{SCRIPTS}/{name}.sh"), format!("{HEAD}{body}\n"));
    }
    env.edit(
        RESOURCE,
        "default-driver:",
        "commands:\n  backup: {}\n  broken: {}\n  slow: {}\ndefault-driver:",
    );
    env
}

#[test]
fn a_command_reaches_its_script_with_its_arguments() {
    let env = small("effect: once");
    env.ok(&["check", "small"]);
    env.ok(&["up", "small"]);
    env.clear_trace();
    assert_snapshot!(env.ok(&["call", "small", "box", "backup", "--dry-run"]).out(), @r"
    small: 1 step, up to 1 at once
       s1 box backup
    longest chain: s1
    ");
    assert_eq!(env.trace(), [""; 0]);
    assert_snapshot!(env.ok(&["call", "small", "box", "backup", "-a", "target=s3://nightly", "-a", "keep=3"]).out(), @r"
    small: 1 step, up to 1 at once (p2 call box backup)
       s1 box backup

    ok        box backup LONG

    done: small is Active (LONG)
    ");
    assert_eq!(env.trace(), ["backup"]);
    let trace = env.trace_file();
    let input = std::fs::read_to_string(trace.with_file_name("input")).unwrap();
    assert!(input.contains("target: \"s3://nightly\"") && input.contains("keep: \"3\""), "{input}");
    // The command is a process, and `up` has nothing to do after it.
    assert!(env.ok(&["ps", "small"]).stdout.contains("call box backup"));
    assert!(env.ok(&["log", "small"]).stdout.contains("box backup"));
    assert!(env.ok(&["up", "small"]).stdout.contains("nothing to call"));
    env.ok(&["down", "small"]);
}

/// The arguments of a command are checked against its declaration before the command runs.
#[test]
fn declared_arguments_are_checked() {
    let env = small("effect: once");
    env.edit(
        RESOURCE,
        "  backup: {}",
        "  backup: {properties: {target: {required: true}, keep: {default: 7}, key: {type: password}}}",
    );
    env.ok(&["check", "small"]);
    env.ok(&["up", "small"]);
    env.clear_trace();
    let call = ["call", "small", "box", "backup"];
    assert_snapshot!(env.refuses(&[&call[..], &["-a", "targte=/srv"]].concat()), @"error[WL0522]: command `backup` of `box` can't be called: it has no argument `targte`; did you mean `target`?");
    assert_snapshot!(env.refuses(&[&call[..], &["-a", "target=/srv", "-a", "zip=yes"]].concat()), @"error[WL0522]: command `backup` of `box` can't be called: it has no argument `zip`; it declares only `keep`, `key`, `target`");
    assert_snapshot!(env.refuses(&call), @"error[WL0522]: command `backup` of `box` can't be called: it needs the argument `target`; pass `-a target=VALUE`");
    assert_snapshot!(env.refuses(&[&call[..], &["--dry-run"]].concat()), @"error[WL0522]: command `backup` of `box` can't be called: it needs the argument `target`; pass `-a target=VALUE`");
    assert_eq!(env.trace(), [""; 0]);
    env.ok(&[&call[..], &["-a", "target=/srv", "-a", "key=hunter2hunter2"]].concat());
    let input = std::fs::read_to_string(env.trace_file().with_file_name("input")).unwrap();
    assert!(input.contains("target: \"/srv\"") && input.contains("keep: \"7\""), "{input}");
    let log = env.ok(&["log", "small", "box"]).stdout;
    assert!(log.contains("/srv") && !log.contains("hunter2"), "{log}");

    env.edit(RESOURCE, "default: 7", "default: '${name}'");
    let error = env.refuses(&["check", "small"]);
    assert!(error.contains("the default of a command's argument must be a text without `${…}`"), "{error}");
}

/// Only a command uses a driver, and a property of this driver is wrong. `check` must report the property.
#[test]
fn the_driver_of_a_command_is_checked() {
    let env = small("effect: once");
    env.edit(
        RESOURCE,
        "  backup: {}",
        "  backup: {drivers: {script: {selector: {infrastructure-type: ['*']}, properties: {timeout: 10}}}}",
    );
    env.edit(RESOURCE, "default-driver:\n  script:", "default-driver:\n  noop:");
    env.edit(RESOURCE, "    properties: {effect: once}\n", "");
    let error = env.refuses(&["check", "small"]);
    assert!(
        error.contains("error[WL0404]: in `resource::box::1.0`: the driver property `timeout`"),
        "{error}"
    );
}

/// Arguments from files are secrets: they are sealed, masked, and deleted when the process ends.
#[test]
fn arguments_from_files_are_secrets() {
    let env = small("effect: repeatable");
    env.ok(&["up", "small"]);
    env.write("key.txt", "hunter2hunter2");
    env.ok(&["call", "small", "box", "backup", "-a", "key=@key.txt"]);
    let log = env.ok(&["log", "small", "box"]).stdout;
    assert!(!log.contains("hunter2"), "{log}");
    for file in env.files().iter().filter(|file| file.starts_with(".windlass/")) {
        let bytes = std::fs::read(env.path(file)).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{file}");
    }
}

#[test]
fn a_failed_command_leaves_the_state_of_its_component() {
    let env = small("effect: once");
    env.ok(&["up", "small"]);
    let run = env.run(&["call", "small", "box", "broken"]);
    assert_eq!(run.code(), Some(1));
    assert!(run.stdout.contains("no space") || run.stderr.contains("no space"), "{run}");
    assert_eq!(env.json(&["status", "small"])["assemblies"][0]["state"], "Active");
    assert!(env.ok(&["up", "small"]).stdout.contains("nothing to call"));
}

#[test]
fn an_impossible_call_is_refused() {
    let env = small("effect: once");
    assert_snapshot!(env.refuses(&["call", "small", "box", "backup"]), @"error[WL0500]: there is no assembly `small`: the folder `PROJECT` has no state; run windlass in the folder of the project, or name the state's database by `--state`");
    env.ok(&["up", "small"]);
    assert_snapshot!(env.refuses(&["call", "small", "box", "bakcup"]), @"error[WL0522]: command `bakcup` of `box` can't be called: `resource::box::1.0` declares only `backup`, `broken`, `slow`");
    assert_snapshot!(env.refuses(&["call", "small", "small", "backup"]), @"error[WL0522]: command `backup` of `small` can't be called: it consists of parts; name a resource, such as `box`");
    assert_snapshot!(env.refuses(&["call", "small", "bix", "backup"]), @"error[WL0554]: `small` has no part `bix`; did you mean `box`?");
    assert_snapshot!(env.refuses(&["call", "small", "box", "backup", "-a", "key"]), @"error[WL0800]: `-a key` has no `=`: write `-a name=value`, `-a name=@FILE` or `-a name=-`");
    env.ok(&["down", "small"]);
}

/// A command that may have run is not called again. The operator is asked instead.
#[test]
fn a_command_that_was_killed_is_not_repeated() {
    let env = small("effect: once");
    env.ok(&["up", "small"]);
    env.clear_trace();
    env.cut_when(&["call", "small", "box", "slow"], &["slow"]);
    assert_snapshot!(env.run(&["retry", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box slow (started WHEN): its job ended while windlass did not watch it, and left no result
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    ");
    env.ok(&["retry", "small", "--assume", "not-done"]);
    assert_eq!(env.trace(), ["slow"]);
    assert!(env.ok(&["up", "small"]).stdout.contains("nothing to call"));
}

/// A second call is a call of its own: it does not resume the process of a killed call.
#[test]
fn a_call_after_a_killed_one_is_a_new_call() {
    let env = small("effect: repeatable");
    env.ok(&["up", "small"]);
    env.clear_trace();
    env.cut_when(&["call", "small", "box", "slow"], &["slow"]);
    std::fs::write(env.trace_file().with_file_name("quick"), "").unwrap();
    let run = env.ok(&["call", "small", "box", "slow"]);
    assert!(run.out().contains("(p3 call box slow)"), "{run}");
    let history = env.ok(&["history", "small"]);
    assert!(!history.out().contains("resumes"), "{history}");
}
