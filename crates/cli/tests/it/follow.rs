//! `windlass log --follow`, and the filters of `windlass log`.

use rustix::process::Signal;
use windlass_store::testing::server::Server;

use crate::env::{TestEnv, until};
use crate::small::RESOURCE;

const SECRET: &str = "hunter2-Tr0ub4dor";

/// Returns an assembly whose script prints a line with its password, waits for the file `go`, and prints
/// another line.
fn talkative(properties: &str) -> TestEnv {
    let talk = r#"
password=$(printf '%s\n' "$input" | sed -n 's/^ *properties.password: "\(.*\)"$/\1/p')
printf 'first, with %s\n' "$password" >&2
answer
until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done
echo 'second' >&2
"#;
    let env = TestEnv::small("effect: once", &[("Install", talk), ("Start", "echo 'third' >&2")]);
    env.edit(
        "small/assembly.yaml",
        "composition:\n  box:\n    type: resource::box::1.0\n    quantity: 1\n",
        "properties:\n  password:\n    type: password\n    required: true\ncomposition:\n  box:\n    \
         type: resource::box::1.0\n    quantity: 1\n    properties:\n      password:\n        value: ${password}\n",
    );
    env.edit(
        RESOURCE,
        "lifecycle:\n",
        &format!("properties:\n  password:\n    type: password\n{properties}lifecycle:\n"),
    );
    env
}

const UP: [&str; 4] = ["up", "small", "-p", "password=hunter2-Tr0ub4dor"];

/// `log -f` follows processes of different durations. Each line of the processes must appear exactly once.
#[test]
fn no_line_of_an_ended_process_is_repeated() {
    let start = r#"
n=$(($(cat "$WINDLASS_VOLUME_STATE/n" 2>/dev/null || echo 0) + 1))
echo "$n" >"$WINDLASS_VOLUME_STATE/n"
sleep "$(printf '0.%02d' $((n * 2)))"
echo "start $n." >&2
"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", start), ("Stop", "")]);
    env.ok(&["up", "small"]);
    let log = env.spawn(&["log", "-f", "small"]);
    for process in 2..14 {
        env.ok(&["heal", "small", "box"]);
        until("the end is shown", || log.stdout().contains(&format!("p{process} completed")));
    }
    let said = log.stdout();
    log.signal(Signal::INT);
    log.end();
    for start in 2..14 {
        assert_eq!(said.matches(&format!("start {start}.")).count(), 1, "{said}");
    }
}

/// Lines of a running job of another process appear immediately, masked, and each once.
#[test]
fn a_running_job_is_followed_from_another_process() {
    let env = talkative("");
    let up = env.spawn(&UP);
    until("the script has begun", || env.trace() == ["Install"]);
    let log = env.spawn(&["log", "-f", "small"]);
    let json = env.spawn(&["log", "-f", "--format", "json"]);
    let other = env.spawn(&["log", "--follow", "small", "box", "--level", "error"]);
    until("the first line is shown", || log.stdout().contains("box Install | first, with ***\n"));
    until("the first line is shown as JSON", || json.stdout().contains("first, with ***"));
    assert!(log.stdout().contains("running   box Install\n"), "{}", log.stdout());
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(up.end().code(), Some(0));
    until("the end is shown", || log.stdout().contains("p1 completed"));
    until("the end is shown as JSON", || json.stdout().contains("process-ended"));
    let said = log.stdout();
    let order = ["running   box Install", "| first", "| second", "ok        box Install", "| third"];
    let at: Vec<usize> =
        order.iter().map(|part| said.find(part).unwrap_or_else(|| panic!("{part}: {said}"))).collect();
    assert!(at.is_sorted(), "{said}");
    for line in ["| first", "| second", "| third"] {
        assert_eq!(said.matches(line).count(), 1, "{said}");
    }
    for (run, lines) in [(log, 9), (json, 9), (other, 0)] {
        run.signal(Signal::INT);
        let run = run.end();
        assert_eq!((run.code(), run.stderr.as_str()), (Some(130), ""), "{run}");
        assert!(!run.stdout.contains(SECRET) && !run.stdout.contains('\u{1b}'), "{run}");
        assert!(run.stdout.lines().count() >= lines, "{run}");
        if lines == 0 {
            assert_eq!(run.stdout, "");
        }
    }
}

/// A script may print a secret before it publishes it. So the output of such a script is shown only at its
/// end, masked.
#[test]
fn output_that_may_contain_a_new_secret_is_shown_at_the_end() {
    let env = talkative("  token:\n    type: password\n    read-only: true\n");
    let up = env.spawn(&UP);
    until("the script has begun", || env.trace() == ["Install"]);
    let log = env.spawn(&["log", "-f", "small"]);
    until("it is said", || {
        log.stdout().contains("it may contain new secrets; its output is shown when it has ended")
    });
    assert!(!log.stdout().contains("first"), "{}", log.stdout());
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(up.end().code(), Some(0));
    until("the end is shown", || log.stdout().contains("p1 completed"));
    assert_eq!(log.stdout().matches("box Install | first, with ***").count(), 1, "{}", log.stdout());
    log.signal(Signal::TERM);
    assert_eq!(log.end().code(), Some(130));
}

#[test]
fn a_job_of_another_machine_is_named_with_its_place() {
    let Some(server) = Server::own() else {
        println!(
            "SKIPPED follow::a_job_of_another_machine_is_named_with_its_place: PostgreSQL is not installed"
        );
        return;
    };
    let (here, there) = (talkative(""), talkative(""));
    let key = there.path("key");
    let of = |env: &TestEnv, args: &[&str]| {
        let mut command = env.command(args);
        command.env("WINDLASS_STATE", server.url()).env("WINDLASS_KEY_FILE", &key);
        env.start(command)
    };
    let up = of(&there, &UP);
    until("the script has begun", || there.trace() == ["Install"]);
    let log = of(&here, &["log", "-f", "small"]);
    let place = format!(
        ":{}; its output is shown when it has ended",
        there.path("").canonicalize().unwrap().display()
    );
    until("the place is named", || log.stdout().contains(&place));
    there.write(".windlass/volumes/state/go", "");
    assert_eq!(up.end().code(), Some(0));
    until("the output is shown", || log.stdout().contains("box Install | second"));
    log.signal(Signal::INT);
    assert_eq!(log.end().code(), Some(130));
}

/// The command ends when the reader closes its output.
#[test]
fn following_ends_with_its_reader() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    let mut command = std::process::Command::new("sh");
    env.settle(&mut command);
    command.args(["-c", &format!("{} log -f h_bta --since 1h | head -1", env!("CARGO_BIN_EXE_windlass"))]);
    let run = env.start(command).end();
    assert!(run.stdout.contains("p1 up: "), "{run}");
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
}

#[test]
fn old_and_minor_entries_are_left_out() {
    let env =
        TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", "echo no >&2; exit 3")]);
    assert_eq!(env.run(&["up", "small"]).code(), Some(1));
    let errors = env.ok(&["log", "small", "--level", "error"]).out();
    assert!(errors.contains("failed box Start") && !errors.contains("box Install"), "{errors}");
    assert!(env.ok(&["log", "small", "--since", "1h"]).stdout.contains("box Install"));
    assert_eq!(env.ok(&["log", "small", "--since", "0s"]).stdout, "");
    let refused = env.refuses(&["log"]);
    assert!(refused.contains("<NAME"), "{refused}");
    assert!(env.refuses(&["log", "-f", "samll"]).contains("did you mean `small`?"));
    assert!(env.refuses(&["log", "-f", "small", "bxo"]).contains("bxo"));
}

/// A step of a relationship names its pairs, and entries are in the order of time.
#[test]
fn relationships_name_their_pairs() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    let log = env.ok(&["log", "h_bta"]).stdout;
    assert!(log.contains("source.CreateRelationship3 (A → B__1)"), "{log}");
    assert!(log.contains("source.CreateRelationship3 (A → B__2)"), "{log}");
    let related = log.find("INFO B__1 h_bta__A and h_bta__B__1 are related").unwrap();
    assert!(related < log.find("B__1 Start, Integrity").unwrap(), "{log}");
    let step = env.json(&["log", "h_bta"])["processes"][0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["title"].as_str().unwrap().starts_with("B__2 Create"))
        .cloned()
        .unwrap();
    assert_eq!(step["pairs"], serde_json::json!([{"source": "h_bta__A", "target": "h_bta__B__2"}]));
}
