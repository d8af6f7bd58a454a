//! Misbehaving scripts: the step fails, with the script's message.

use insta::assert_snapshot;

use crate::{
    env::TestEnv,
    small::{RESOURCE, SCRIPTS},
};

/// Runs `up` with this `Install` script, and returns the output about the step.
fn up_with(install: &str) -> String {
    let env = TestEnv::small("effect: repeatable, timeout: 60s", &[("Install", install), ("Uninstall", "")]);
    failed(&env)
}

/// Runs `up`, which must fail and be recorded as failed. Returns the output about the failed step.
fn failed(env: &TestEnv) -> String {
    let run = env.run(&["up", "small"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert_eq!(run.stderr, "", "{run}");
    let status = env.json(&["status", "small"]);
    let part = &status["assemblies"][0]["components"][0];
    let state = part["state"].as_str().unwrap();
    assert_ne!(state, "Active");
    assert!(part["failure"]["message"].is_string(), "{status}");
    env.is_quiet();
    let out = run.out();
    let (_, rest) = out.split_once("\n\n").unwrap();
    let (step, _) = rest.split_once("\n\n").unwrap();
    format!("{step}\n({state})")
}

/// A package can't exceed the limits of its location.
#[test]
fn the_stricter_limit_of_location_and_package_counts() {
    for (location, package, counts) in [("90", "60", "60\n"), ("60", "90", "60\n")] {
        let ask = r#"ulimit -n >"$WINDLASS_VOLUME_STATE/files"; answer"#;
        let driver = format!("effect: repeatable, limits: {{open-files: {package}}}");
        let env = TestEnv::small(&driver, &[("Install", ask)]);
        let limits = format!("    runtime: process\n    limits: {{open-files: {location}}}\n");
        env.edit("windlass.yaml", "    runtime: process\n", &limits);
        env.ok(&["up", "small"]);
        assert_eq!(env.read(".windlass/volumes/state/files"), counts);
    }
}

#[test]
fn output_that_is_no_answer() {
    assert_snapshot!(up_with("echo hello"), @"
    failed    box Install: the output of `Install.sh` can't be used: expected a mapping with `instances`, found text
              | stdout of Install.sh:1:1: error[WL0420]: expected a mapping with `instances`, found text
              |     | hello
              |     help: print the document alone, and messages on stderr
    (Failed)
    ");
    assert_snapshot!(up_with("echo '{'"), @"
    failed    box Install: the output of `Install.sh` can't be used: `{` is never closed
              | stdout of Install.sh:1:1: error[WL0019]: `{` is never closed
              |     | {
              |     help: close it with `}`, or quote the text
    (Failed)
    ");
    assert_snapshot!(up_with(r"printf '\377\376\000'"), @r"
    failed    box Install: the output of `Install.sh` can't be used: the text is not UTF-8: byte 0xff at offset 0
              | stdout of Install.sh:1:1: error[WL0002]: the text is not UTF-8: byte 0xff at offset 0
              |     | ��\u0000
              |     help: print UTF-8 only
    (Failed)
    ");
    assert_snapshot!(up_with("answer; echo ---; answer"), @"
    failed    box Install: the output of `Install.sh` can't be used: expected one document, found a second
              | stdout of Install.sh:5:1: error[WL0004]: expected one document, found a second
              |     | instances:
              |     help: print all instances below one `instances`
    (Failed)
    ");
    assert_snapshot!(up_with(":"), @"
    failed    box Install: the output of `Install.sh` can't be used: the output has no entry for the instance `INSTANCE`
              | error[WL0423]: the output has no entry for the instance `INSTANCE`
              |     help: name it as `instanceId` of the instance that was launched
    (Failed)
    ");
    assert_snapshot!(up_with("answer; echo 'extra: 1'"), @"
    failed    box Install: the output of `Install.sh` can't be used: unknown key `extra` beside `instances`
              | stdout of Install.sh:4:1: error[WL0421]: unknown key `extra` beside `instances`
              |     | extra: 1
              |     help: put updates below `instances` and the id of their instance
    (Failed)
    ");
    assert_snapshot!(up_with(r"answer; echo '    $set: {status.flags.active: perhaps, status.flag: true}'"), @"
    failed    box Install: the output of `Install.sh` can't be used: instance `INSTANCE`: `status.flags.active`: expected a boolean, found a string (and 1 more)
              | stdout of Install.sh:4:33: error[WL0422]: instance `INSTANCE`: `status.flags.active`: expected a boolean, found a string
              |     |     $set: {status.flags.active: perhaps, status.flag: true}
              | stdout of Install.sh:4:42: error[WL0422]: instance `INSTANCE`: `status.flag`: no such path
              |     |     $set: {status.flags.active: perhaps, status.flag: true}
              |     help: did you mean `status.flags`?
    (Failed)
    ");
    assert_snapshot!(up_with("id=another; answer"), @r#"
    failed    box Install: the output of `Install.sh` can't be used: the instance `another` answers `another`, which was not requested
              | stdout of Install.sh:2:3: error[WL0424]: the instance `another` answers `another`, which was not requested
              |     |   "another":
              |     help: write `instanceId: INSTANCE`
    (Failed)
    "#);
}

#[test]
fn ends_that_are_no_success() {
    assert_snapshot!(up_with("echo 'no room' >&2; exit 3"), @"
    failed    box Install: `Install.sh` exited with code 3
              | no room
    (Failed)
    ");
    assert_snapshot!(up_with("kill -SEGV $$"), @"
    failed    box Install: `Install.sh` was ended by signal 11
    (Failed)
    ");
    assert_snapshot!(up_with("answer; echo '    $set: {status.flags.failed: true, status.message: disk is gone}'"), @"
    failed    box Install: `Install.sh` reported a failure: disk is gone
    (Failed)
    ");
}

#[test]
fn an_interpreter_that_is_not_there() {
    let env = TestEnv::small("effect: repeatable", &[("Install", ""), ("Uninstall", "")]);
    env.script(&format!("{SCRIPTS}/Install.sh"), "#!/no/such/interpreter\n");
    assert_snapshot!(failed(&env), @"
    failed    box Install: `Install.sh` could not be started: `scripts/Install.sh` is there, but its interpreter `/no/such/interpreter` is not
    (Absent)
    ");
    let log = env.ok(&["log", "small"]).stdout;
    assert!(log.contains("could not be started") && !log.contains("still running"), "{log}");
}

/// A timeout kills the script and its child process, although the child keeps the output stream open and
/// ignores SIGTERM.
#[test]
fn a_script_that_never_ends() {
    let forever = "(trap '' TERM; while :; do sleep 600 || :; done) & wait";
    let env = TestEnv::small("effect: repeatable, timeout: 1s", &[("Install", forever), ("Uninstall", "")]);
    assert_snapshot!(failed(&env), @"
    failed    box Install: `Install.sh` ran out of time (it had 1s)
    (Failed)
    ");
}

/// A script prints more than the limit for output. The call must fail, and windlass must show only a short message.
#[test]
fn a_script_that_never_stops_talking() {
    let env = TestEnv::small(
        "effect: repeatable, timeout: 60s",
        &[("Install", "answer; yes '# and so on' | head -c 50000000"), ("Uninstall", "")],
    );
    let said = failed(&env);
    assert!(said.len() < 2000, "{said}");
    assert!(said.starts_with("failed    box Install: "), "{said}");
}

/// Control characters of a script are escaped in its stderr, messages, outputs and names.
#[test]
fn control_characters_of_scripts_are_shown() {
    let shout = r#"
printf 'a\033[2J\033]0;t\007b\rc \302\233 \342\200\256d\342\201\251\n' >&2
answer
printf '    name: "x\\e[31m\\u202e"\n    status: {flags: {active: true}, message: "m\\e[2J\\u009b\\r\\u2066"}\n'
printf '    interfaces: {properties: {signals: {url: "u\\e[2J\\u202e"}}}\n'
printf '    $pushAll: {activityLog: [{severity: INFO, message: "l\\e[2J\\u009b\\u200f"}]}\n'
[ -e "$WINDLASS_VOLUME_STATE/well" ]
"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", shout), ("Uninstall", "")]);
    env.edit(RESOURCE, "lifecycle:\n", "properties: {url: {read-only: true}}\nlifecycle:\n");
    env.edit(
        "small/assembly.yaml",
        "composition:",
        "properties: {url: {read-only: true, value: '${box.url}'}}\ncomposition:",
    );
    let failed = env.run(&["up", "small"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert!(failed.stdout.contains(r"a\u001b[2J\u001b]0;t\u0007b\rc \u009b \u202ed\u2069"), "{failed}");
    env.write(".windlass/volumes/state/well", "");
    let mut said = vec![failed, env.ok(&["up", "small"])];
    for args in [
        &["status"][..],
        &["status", "small", "box"],
        &["log", "small"],
        &["log", "small", "--format", "json"],
        &["history", "small"],
    ] {
        said.push(env.ok(args));
    }
    env.edit("small/assembly.yaml", "quantity: 1", "quantity: \"1\u{202e}\"\n    \"typ\u{9b}\": x");
    said.push(env.run(&["check", "small"]));
    let mut shown = 0;
    for run in said {
        let is_odd = |c: &char| {
            (c.is_control() && !"\n\t".contains(*c))
                || ('\u{200e}'..='\u{200f}').contains(c)
                || ('\u{202a}'..='\u{202e}').contains(c)
                || ('\u{2066}'..='\u{2069}').contains(c)
        };
        let text = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(text.chars().find(is_odd), None, "{run}");
        shown += usize::from(text.contains("\\u001b"));
    }
    assert!(shown >= 4, "{shown}");
}

/// An undeclared output causes one warning, because no part can read it and its name is probably misspelled.
#[test]
fn an_output_that_is_not_declared_is_warned_of_once() {
    let publish = r#"answer
printf '    interfaces: {properties: {signals: {ulr: "http://here", url: x, a: 1, b: 2, c: 3}}}\n'"#;
    let again = r#"printf 'instances:\n  "%s":\n    interfaces: {properties: {signals: {ulr: "http://there", d: 1}}}\n' "$(printf '%s\n' "$input" | sed -n '/^instances:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;}')""#;
    let env =
        TestEnv::small("effect: repeatable", &[("Install", publish), ("Start", again), ("Uninstall", "")]);
    env.edit(RESOURCE, "lifecycle:\n", "properties: {url: {read-only: true}}\nlifecycle:\n");
    let up = env.ok(&["up", "small"]);
    let warned: Vec<&str> = up.stdout.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(
        warned,
        [
            "warning   box: it publishes `ulr` (did you mean `url`?), `a`, `b` and 1 more, which its descriptor does not declare; nothing can read that",
            "warning   box: it publishes `d`, which its descriptor does not declare; nothing can read that",
        ]
    );
}

/// A process that a script leaves in the background ends with the script; a warning names it.
#[test]
fn a_process_left_in_the_background_is_warned_of() {
    let env =
        TestEnv::small("effect: repeatable", &[("Install", "answer; sleep 600 & :"), ("Uninstall", "")]);
    let run = env.ok(&["up", "small"]);
    let warning =
        "warning   box: `Install.sh` left processes running in the background: `sleep`. They were stopped";
    assert!(run.stdout.contains(warning), "{run}");
    env.is_quiet();
}
