//! `windlass cron`: fire times and explanations.

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::json;

use crate::env::TestEnv;

#[test]
fn next_lists_fire_times() {
    let env = TestEnv::bare();
    let args = ["cron", "next", "0 30 2 L * ?", "--from", "2026-03-01", "-n", "3", "--zone", "Europe/Berlin"];
    assert_snapshot!(env.ok(&args).out(), @r"
    2026-03-31T02:30:00+02:00
    2026-04-30T02:30:00+02:00
    2026-05-31T02:30:00+02:00
    ");
}

#[test]
fn next_as_json() {
    let env = TestEnv::bare();
    let args = ["cron", "next", "0/30 * * * * ? *", "--from", "2026-01-31T08:15:30Z", "-n", "2"];
    let expected = json!({
        "version": 1,
        "expression": "0/30 * * * * ?",
        "zone": "UTC",
        "times": ["2026-01-31T08:16:00Z", "2026-01-31T08:16:30Z"],
    });
    assert_eq!(env.json(&args), expected);
}

/// Without a time, the list begins now.
#[test]
fn next_begins_now() {
    let env = TestEnv::bare();
    let view = env.json(&["cron", "next", "0 0 0 1 1 ?"]);
    let time = view["times"][0].as_str().unwrap();
    assert!(time > "2026-01-01T00:00:00Z" && time.ends_with("-01-01T00:00:00Z"), "{time}");
}

#[test]
fn next_tells_that_there_is_none() {
    let env = TestEnv::bare();
    let run = env.ok(&["cron", "next", "0 0 0 30 2 ?", "--from", "2026-01-01"]);
    assert_eq!(run.stdout, "");
    assert_snapshot!(run.stderr, @"note: `0 0 0 30 2 ?` has no fire time after 2026-01-01T00:00:00Z");
    let run = env.ok(&["cron", "next", "0 0 0 1 1 ? 2027", "--from", "2026-06-01", "-n", "2"]);
    assert_eq!(run.stdout, "2027-01-01T00:00:00Z\n");
    assert_snapshot!(run.stderr, @"note: `0 0 0 1 1 ? 2027` has no fire time after 2027-01-01T00:00:00Z");
}

#[test]
fn explain_writes_english() {
    let env = TestEnv::bare();
    assert_snapshot!(env.ok(&["cron", "explain", "0 15 10 ? * 2-6"]).out(), @"at 10:15, Monday to Friday");
    let expected = json!({"version": 1, "expression": "0 0/5 * * * ?", "explanation": "every 5 minutes"});
    assert_eq!(env.json(&["cron", "explain", "0 0/5 * * * ? *"]), expected);
}

#[test]
fn mistakes_have_a_place_and_advice() {
    let env = TestEnv::bare();
    assert_snapshot!(env.refuses(&["cron", "explain", "60 0 24 * JANN ?"]), @r"
    error[WL0807]: 60 is no second: expected 0 to 59
     --> EXPR:1:1
      |
    1 | 60 0 24 * JANN ?
      | ^^
      |
      = help: write 0

    error[WL0807]: 24 is no hour: expected 0 to 23
     --> EXPR:1:6
      |
    1 | 60 0 24 * JANN ?
      |      ^^
      |
      = help: midnight is 0

    error[WL0807]: `JANN` is no month
     --> EXPR:1:11
      |
    1 | 60 0 24 * JANN ?
      |           ^^^^
      |
      = help: write `JAN`
    ");
    assert_snapshot!(env.refuses(&["cron", "next", "0/5 * * * *"]), @r"
    error[WL0807]: expected 6 or 7 fields, found 5
     --> EXPR:1:12
      |
    1 | 0/5 * * * *
      |            ^
      |
      = help: other crons begin with the minute: write `0 0/5 * * * ?`
    ");
}

#[rstest]
#[case::zone(&["cron", "next", "0 * * * * ?", "--zone", "Berlin"], "error[WL0808]: there is no time zone `Berlin`: expected a name of the IANA database, such as `UTC` or `Europe/Berlin`")]
#[case::time(&["cron", "next", "0 * * * * ?", "--from", "noon"], "error[WL0808]: --from: `noon` is no time: expected one such as ")]
#[case::number(&["cron", "next", "0 * * * * ?", "-n", "0"], "expected a whole number from 1 to 65535")]
fn refuses(#[case] args: &[&str], #[case] message: &str) {
    let said = TestEnv::bare().refuses(args);
    assert!(said.contains(message), "{said}");
}

#[test]
fn mistakes_as_json() {
    let env = TestEnv::bare();
    let run = env.run(&["cron", "explain", "60 0 24 * * ?", "--format", "json"]);
    assert_eq!(run.code(), Some(2));
    let failure: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        failure["error"]["message"],
        "EXPR:1:1: 60 is no second: expected 0 to 59 (write 0); EXPR:1:6: 24 is no hour: expected 0 to 23 (midnight is 0)"
    );
}
