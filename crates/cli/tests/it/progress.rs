//! The progress display: on a terminal, and nowhere else.

use std::process::Command;

use crate::env::TestEnv;

/// Runs a command of `windlass` on a terminal that `script` creates. Returns the terminal's content.
fn on_a_terminal(env: &TestEnv, command: &str) -> String {
    let mut script = Command::new("script");
    env.settle(&mut script);
    script.env("TERM", "xterm");
    script.args(["-qec", &format!("{} {command}", env!("CARGO_BIN_EXE_windlass")), "/dev/null"]);
    let run = env.start(script).end();
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
    // Output to a file, although standard error is a terminal.
    on_a_terminal(&env, "down h_bta > out.txt");
    let out = env.read("out.txt");
    assert!(!out.contains('\u{1b}') && out.ends_with(')') | out.ends_with(")\n"), "{out}");
}
