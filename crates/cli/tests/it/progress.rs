//! The progress display, which appears only on a terminal.

use std::process::Command;

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::env::{TestEnv, until};
use crate::run::Running;

/// Starts a command of `windlass` on a terminal that `script` creates.
fn spawn_on_a_terminal(env: &TestEnv, command: &str) -> Running {
    let mut script = Command::new("script");
    env.settle(&mut script);
    script.env("TERM", "xterm");
    script.args(["-qec", &format!("{} {command}", env!("CARGO_BIN_EXE_windlass")), "/dev/null"]);
    env.start(script)
}

/// Runs a command of `windlass` on a terminal. Returns the terminal's content.
fn on_a_terminal(env: &TestEnv, command: &str) -> String {
    let run = spawn_on_a_terminal(env, command).end();
    assert_eq!(run.code(), Some(0), "{run}");
    run.stdout
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    let env = TestEnv::with("h_bta");
    let seen = on_a_terminal(&env, "up h_bta");
    assert!(seen.contains("0/7 steps") || seen.contains("1/7 steps"), "{seen}");
    // The progress line is gone at the end, and the output remains.
    assert!(seen.contains("done: h_bta is Active"), "{seen}");
    assert!(seen.contains("\u{1b}[2K"), "{seen}");
    // No colours, because NO_COLOR is set.
    assert!(!seen.contains("\u{1b}[3"), "{seen}");
}

/// Returns an assembly whose last call prints lines and waits for the file `go`.
fn slow() -> TestEnv {
    let gate = r#"
printf 'looking\nfound \033[2Jit\n' >&2
echo "instances: {$(printf '%s\n' "$input" | sed -n '/^instances:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;}'): {\$set: {status.flags.active: true}}}"
until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;
    TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Integrity", gate)])
}

#[test]
fn a_terminal_shows_the_running_calls() {
    let env = slow();
    let up = spawn_on_a_terminal(&env, "up small");
    let running = "box Start, Integrity 1/2 (";
    until("the call is shown", || up.stdout().contains(running));
    until("its output is shown", || up.stdout().contains(" s) | found \\u001b[2Jit"));
    env.write(".windlass/volumes/state/go", "");
    let run = up.end();
    assert!(run.stdout.contains("done: small is Active"), "{run}");
}

#[test]
fn a_status_shows_the_running_calls_and_is_watched() {
    let env = slow();
    let up = env.spawn(&["up", "small"]);
    until("the health check runs", || env.trace() == ["Install", "Start", "Integrity"]);
    let text = env.ok(&["status", "small"]).stdout;
    let (_, during) = text.split_once("Checking (").unwrap_or_else(|| panic!("{text}"));
    assert!(during.contains(" s)"), "{text}");
    let running = &env.json(&["status", "small"])["assemblies"][0]["components"][0]["running"];
    assert_eq!(running["action"], "Integrity");
    let piped = env.spawn(&["status", "small", "--watch"]);
    let json = env.spawn(&["status", "--watch", "--format", "json"]);
    let drawn = spawn_on_a_terminal(&env, "status small --watch");
    for watching in [&piped, &drawn] {
        until("the check is shown", || watching.stdout().contains("Checking ("));
    }
    until("it is drawn again", || drawn.stdout().matches("\u{1b}[H\u{1b}[2J").count() > 1);
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(up.end().code(), Some(0));
    for watching in [&piped, &drawn] {
        until("the end is shown", || watching.stdout().contains("small Active"));
    }
    let last = || serde_json::from_str::<serde_json::Value>(json.stdout().lines().last()?).ok();
    until("the end is shown as JSON", || {
        last().is_some_and(|last| last["assemblies"][0]["state"] == "Active")
    });
    for watching in [piped, json] {
        watching.signal(Signal::INT);
        let run = watching.end();
        assert_eq!((run.code(), run.stderr.as_str()), (Some(130), ""), "{run}");
        assert!(!run.stdout.contains('\u{1b}'), "{run}");
        assert!(
            run.stdout.matches("small").count() < 100,
            "it is printed only when something changes: {run}"
        );
    }
    drawn.signal(Signal::TERM);
    drawn.end();
}

/// A watch ends when the part or the assembly no longer exists, and prints the reason.
#[test]
fn a_watch_ends_with_what_it_watches() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.edit("small/assembly.yaml", "quantity: 1", "cluster: {initial-quantity: 2}");
    env.ok(&["up", "small"]);
    let watch = |args: &[&str]| {
        let watching = env.spawn(&[&["status", "--watch"], args].concat());
        until("the status is shown", || watching.stdout().contains("Active"));
        watching
    };
    let part = watch(&["small", "box__2"]);
    env.ok(&["scale", "small", "box", "1", "--yes"]);
    let part = part.end();
    assert_eq!(part.code(), Some(2), "{part}");
    assert_snapshot!(part.stderr, @"error[WL0554]: `small` has no part `box__2`; did you mean `box__1`?");
    let renamed = watch(&["small"]);
    env.ok(&["rename", "small", "shop"]);
    let renamed = renamed.end();
    assert_eq!(renamed.code(), Some(2), "{renamed}");
    assert_snapshot!(renamed.stderr, @"error[WL0500]: there is no assembly `small`; there is `shop`");
    let (removed, json) = (watch(&["shop"]), watch(&["shop", "--format", "json"]));
    env.ok(&["down", "shop"]);
    let (removed, json) = (removed.end(), json.end());
    assert_eq!((removed.code(), json.code()), (Some(2), Some(2)), "{removed}{json}");
    assert_snapshot!(removed.stderr, @"
    error[WL0500]: there is no assembly `shop`; the store has no assemblies
    note: `shop` has been removed; `windlass log shop` shows its last processes
    ");
    let last: serde_json::Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "WL0500", "{json}");
}

/// Escape sequences in the output of a job are escaped on a terminal; a pipe gets the raw bytes.
#[test]
fn a_job_that_is_run_by_hand_gives_no_orders_to_the_terminal() {
    let env = TestEnv::new();
    let job = r"printf 'a\033]0;title\007\tb\302\233m\233m\342\200\256c\n'; printf 'e\033[2Jf\n' >&2";
    env.write("job.sh", job);
    let seen = on_a_terminal(&env, "exec -- sh < job.sh");
    assert!(seen.contains("a\\u001b]0;title\\u0007\tb\\u009bm\\x9bm\\u202ec"), "{seen:?}");
    assert!(seen.contains("e\\u001b[2Jf"), "{seen:?}");
    assert!(!seen.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{seen:?}");
    let piped = env.run_with(&["exec", "--", "sh"], r"printf 'a\033\tb\302\233\r\n'; printf '\033[2J' >&2");
    assert_eq!((piped.stdout.as_str(), piped.stderr.as_str()), ("a\u{1b}\tb\u{9b}\r\n", "\u{1b}[2J"));
}

#[test]
fn without_a_terminal_there_is_nothing() {
    let env = TestEnv::with("h_bta");
    let run = env.ok(&["up", "h_bta"]);
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains("/7 steps"), "{run}");
    assert_eq!(run.stderr, "");
    // Standard output is a file, although standard error is a terminal.
    on_a_terminal(&env, "down h_bta > out.txt");
    let out = env.read("out.txt");
    assert!(!out.contains('\u{1b}') && out.ends_with(')') | out.ends_with(")\n"), "{out}");
}
