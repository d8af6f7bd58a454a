//! `--format json`: the versioned views.

use insta::assert_snapshot;

use crate::{env::TestEnv, run::Run};

fn small() -> TestEnv {
    TestEnv::small(
        "effect: repeatable",
        &[("Install", "answer"), ("Start", "echo hello >&2"), ("Uninstall", "")],
    )
}

#[test]
fn plan() {
    let env = small();
    assert_snapshot!(env.ok(&["plan", "small", "--format", "json"]).out(), @r#"
    {
      "version": 1,
      "assembly": "small",
      "steps": [
        {
          "id": 1,
          "element": "small__box",
          "action": "Install",
          "calls": true,
          "waits": []
        },
        {
          "id": 2,
          "element": "small__box",
          "action": "(Inactive)",
          "calls": false,
          "waits": [
            {
              "kind": "needs",
              "on": 1,
              "reason": "box is Installed first",
              "origin": null
            },
            {
              "kind": "after",
              "on": null,
              "reason": "all parts are Installed",
              "origin": null
            }
          ]
        },
        {
          "id": 3,
          "element": "small__box",
          "action": "Start",
          "calls": true,
          "waits": [
            {
              "kind": "needs",
              "on": 2,
              "reason": "box is Inactive first",
              "origin": null
            },
            {
              "kind": "after",
              "on": null,
              "reason": "all parts are Inactive",
              "origin": null
            }
          ]
        }
      ],
      "critical_path": [
        1,
        2,
        3
      ],
      "widest": 1,
      "changes": {
        "elements": [
          {
            "element": "small__box",
            "kind": "added",
            "from": "Absent",
            "to": "Active",
            "replaces": null,
            "descriptor": "resource::box::1.0",
            "repackaged": false,
            "properties": []
          }
        ],
        "relationships": [],
        "outdated": []
      },
      "parts": [
        {
          "part": "small__box",
          "kind": "added",
          "text": "+ box added (resource::box::1.0)"
        }
      ],
      "counts": {
        "added": 1,
        "changed": 0,
        "restarted": 0,
        "replaced": 0,
        "removed": 0,
        "relationships": 0
      },
      "undone": {
        "elements": [],
        "relationships": [],
        "outdated": []
      },
      "drift": null
    }
    "#);
}

#[test]
fn up_status_log_and_down() {
    let env = small();
    assert_snapshot!(env.ok(&["up", "small", "--format", "json"]), @r#"
    exit 0
    ----- stdout -----
    {
      "version": 1,
      "assembly": "small",
      "process": 1,
      "status": "completed",
      "reason": null,
      "succeeded": 3,
      "failed": 0,
      "skipped": 0,
      "outputs": {},
      "undone": {
        "elements": [],
        "relationships": [],
        "outdated": []
      }
    }
    "#);
    assert_snapshot!(env.ok(&["status", "--format", "json"]), @r#"
    exit 0
    ----- stdout -----
    {
      "version": 1,
      "assemblies": [
        {
          "name": "small",
          "descriptor": "assembly::small::1.0",
          "state": "Active",
          "goal": "Active",
          "created": "WHEN",
          "process": null,
          "outputs": {},
          "undecided": [],
          "relationships": [],
          "referenced_by": [],
          "parts": {
            "active": 1,
            "all": 1
          },
          "components": [
            {
              "name": "small__box",
              "kind": "resource",
              "descriptor": "resource::box::1.0",
              "state": "Active",
              "status": null,
              "message": null,
              "since": "WHEN",
              "id": "INSTANCE",
              "natural": "INSTANCE",
              "referent": null,
              "outputs": {},
              "failure": null,
              "left_alone": false,
              "components": []
            }
          ],
          "leaving": []
        }
      ]
    }
    "#);
    assert_snapshot!(env.ok(&["log", "small", "--format", "json"]), @r#"
    exit 0
    ----- stdout -----
    {
      "version": 1,
      "assembly": "small",
      "processes": [
        {
          "id": 1,
          "intent": "up",
          "status": "completed",
          "reason": null,
          "started": "WHEN",
          "ended": "WHEN",
          "steps": [
            {
              "id": 1,
              "title": "box Install",
              "state": "succeeded",
              "failure": null,
              "started": "WHEN",
              "millis": "LONG",
              "jobs": [
                {
                  "id": "STORE-p1-s1-c0-a1-launch",
                  "element": "small__box",
                  "action": "Install",
                  "command": "scripts/Install.sh",
                  "runtime": "process",
                  "location": "admin@local",
                  "submitted": "WHEN",
                  "millis": "LONG",
                  "end": "exited with code 0",
                  "exit": 0,
                  "stderr": ""
                }
              ]
            },
            {
              "id": 2,
              "title": "box (Inactive)",
              "state": "succeeded",
              "failure": null,
              "started": "WHEN",
              "millis": "LONG",
              "jobs": []
            },
            {
              "id": 3,
              "title": "box Start",
              "state": "succeeded",
              "failure": null,
              "started": "WHEN",
              "millis": "LONG",
              "jobs": [
                {
                  "id": "STORE-p1-s3-c0-a1-transition",
                  "element": "small__box",
                  "action": "Start",
                  "command": "scripts/Start.sh",
                  "runtime": "process",
                  "location": "admin@local",
                  "submitted": "WHEN",
                  "millis": "LONG",
                  "end": "exited with code 0",
                  "exit": 0,
                  "stderr": "hello\n"
                }
              ]
            }
          ],
          "activity": []
        }
      ],
      "dismissed": [],
      "moves": []
    }
    "#);
    assert_snapshot!(env.ok(&["down", "small", "--format", "json"]), @r#"
    exit 0
    ----- stdout -----
    {
      "version": 1,
      "assembly": "small",
      "process": 2,
      "status": "completed",
      "reason": null,
      "succeeded": 2,
      "failed": 0,
      "skipped": 0,
      "outputs": {},
      "undone": {
        "elements": [],
        "relationships": [],
        "outdated": []
      }
    }
    "#);
    assert_snapshot!(env.ok(&["status", "--format", "json"]), @r#"
    exit 0
    ----- stdout -----
    {
      "version": 1,
      "assemblies": []
    }
    "#);
}

#[test]
fn check() {
    let env = small();
    env.edit("small/assembly.yaml", "resource::box", "resource::bax");
    let run = env.run(&["check", "small", "--format", "json"]);
    assert_snapshot!(run, @r#"
    exit 0
    ----- stdout -----
    {
      "version": 1,
      "errors": 0,
      "warnings": 1,
      "diagnostics": [
        {
          "code": "WL0140",
          "severity": "warning",
          "message": "the descriptor of `box`, `resource::bax::1.0`, is not in the catalog; what depends on it is not checked",
          "primary": {
            "place": {
              "file": "small/assembly.yaml",
              "line": 4,
              "column": 11,
              "end_line": 4,
              "end_column": 29
            },
            "text": ""
          },
          "related": [],
          "help": "did you mean `resource::box::1.0`?",
          "fixes": []
        }
      ]
    }
    "#);
}

/// Times are RFC 3339 in UTC, with milliseconds.
#[test]
fn times_are_rfc_3339() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    let time = regex::Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$").unwrap();
    let (status, log, ps) = (env.json(&["status"]), env.json(&["log", "h_bta"]), env.json(&["ps"]));
    let process = &log["processes"][0];
    let step = process["steps"].as_array().unwrap().iter().find(|step| !step["jobs"][0].is_null()).unwrap();
    for found in [
        &status["assemblies"][0]["created"],
        &process["started"],
        &process["ended"],
        &step["started"],
        &step["jobs"][0]["submitted"],
        &process["activity"][0]["at"],
        &ps["processes"][0]["started"],
    ] {
        assert!(found.as_str().is_some_and(|found| time.is_match(found)), "{found}");
    }
}

/// `log --last` prints only the newest processes.
#[test]
fn the_last_processes_of_a_log() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    env.ok(&["up", "h_bta", "-p", "numOfServers=2"]);
    env.ok(&["down", "h_bta"]);
    let ids = |args: &[&str]| -> Vec<String> {
        let log = env.json(&[&["log", "h_bta"], args].concat());
        log["processes"].as_array().unwrap().iter().map(|process| format!("p{}", process["id"])).collect()
    };
    assert_eq!(ids(&[]), ["p1", "p2", "p3"]);
    assert_eq!(ids(&["--last", "2"]), ["p2", "p3"]);
    assert_eq!(ids(&["--last", "9"]), ["p1", "p2", "p3"]);
    let text = env.ok(&["log", "h_bta", "--last", "1"]).stdout;
    assert!(text.starts_with("p3 down completed"), "{text}");
    assert!(env.refuses(&["log", "h_bta", "--last", "0"]).contains("invalid value '0' for '--last <N>'"));
}

/// Returns the error that a command prints as JSON. Its standard output holds nothing else.
fn error_of(run: &Run) -> serde_json::Value {
    assert_ne!(run.code(), Some(0), "{run}");
    let printed = run.json();
    assert_eq!(printed["version"], 1, "{run}");
    assert!(printed["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{run}");
    printed["error"].clone()
}

#[test]
fn every_command_prints_its_error_as_json() {
    let env = TestEnv::bare();
    // Each command line is right, and names something that does not exist.
    let lines = [
        "up gone.yaml",
        "apply gone.plan",
        "down gone",
        "set-state gone Active",
        "scale out gone part",
        "heal gone part",
        "call gone part Backup",
        "adopt gone.yaml",
        "rollback gone",
        "cancel gone p1",
        "export gone --to gone.json",
        "import gone.json",
        "prune gone",
        "ps show p1",
        "history gone",
        "diff gone@p1 gone@p2",
        "status gone",
        "log gone",
        "plan gone.yaml",
        "graph gone",
        "resolve gone.yaml",
        "retry gone",
    ];
    for line in lines {
        let words: Vec<&str> = line.split(' ').chain(["--format", "json"]).collect();
        error_of(&env.run(&words));
    }
}

#[test]
fn errors_as_json_have_codes_that_are_explained() {
    let env = TestEnv::with("h_bta");
    let code = |run: &Run| error_of(run)["code"].as_str().unwrap_or_default().to_owned();
    let unknown = code(&env.run(&["status", "gone", "--format", "json"]));
    assert!(env.ok(&["explain", &unknown]).stdout.contains(&unknown));
    // A wrong command line has no code.
    let wrong = error_of(&env.run(&["status", "--format=json", "--colour"]));
    assert_eq!(wrong["code"], serde_json::Value::Null);
    assert!(wrong["message"].as_str().unwrap().contains("--colour"), "{wrong}");
    // Problems of a document have codes of their own.
    env.write("wrong.yaml", "name: assembly::wrong::1.0\ncompositon: {}\n");
    let problems = error_of(&env.run(&["up", "wrong.yaml", "--format", "json"]));
    assert!(problems["diagnostics"][0]["code"].as_str().unwrap().starts_with("WL01"), "{problems}");
}
