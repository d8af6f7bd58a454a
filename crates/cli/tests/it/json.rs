//! `--format json`: the versioned views.

use insta::assert_snapshot;

use crate::small::SCRIPTS;
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
          "action": "Start",
          "calls": true,
          "waits": [
            {
              "kind": "needs",
              "on": 3,
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
        },
        {
          "id": 3,
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
        }
      ],
      "critical_path": [
        1,
        3,
        2
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

/// The result of a failed process names its failed steps.
#[test]
fn a_failed_up_names_its_failures() {
    let env = small();
    env.script(&format!("{SCRIPTS}/Install.sh"), "#!/bin/sh\necho 'the disk is full' >&2\nexit 3\n");
    let run = env.run(&["up", "small", "--format", "json"]);
    assert_eq!(run.code(), Some(1), "{run}");
    let view: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let failures = view["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{view:#}");
    assert_eq!((&failures[0]["process"], &failures[0]["step"]), (&1.into(), &"box Install".into()));
    assert!(failures[0]["failure"].to_string().contains("the disk is full"), "{view:#}");
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
              "ended": "WHEN",
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
              "title": "box Start",
              "state": "succeeded",
              "failure": null,
              "started": "WHEN",
              "ended": "WHEN",
              "millis": "LONG",
              "jobs": [
                {
                  "id": "STORE-p1-s2-c0-a1-transition",
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
            },
            {
              "id": 3,
              "title": "box (Inactive)",
              "state": "succeeded",
              "failure": null,
              "started": "WHEN",
              "ended": "WHEN",
              "millis": "LONG",
              "jobs": []
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

/// A failing command line for each command. The test inserts its options after the words of the command.
const FAILING: &[&str] = &[
    "up|gone.yaml",
    "apply|gone.plan",
    "down|gone",
    "set-state|gone Active",
    "scale|gone part 3",
    "scale out|gone part",
    "scale in|gone part",
    "rename|gone|went",
    "forget|gone",
    "fmt|gone.yaml",
    "heal|gone part",
    "call|gone part Backup",
    "adopt|gone.yaml",
    "rollback|gone",
    "cancel|gone p1",
    "export|gone -o gone.json",
    "import|gone.json",
    "prune|gone",
    "ps|--state nowhere",
    "ps show|p1",
    "run|--state nowhere",
    "metric push|gone.load 92",
    "history|gone",
    "diff|gone@p1 gone@p2",
    "status|gone",
    "output|gone",
    "log|gone",
    "plan|gone.yaml",
    "app publish|gone.yaml",
    "app ls|--state nowhere",
    "app show|gone",
    "app unpublish|gone",
    "app launch|gone",
    "app destroy|gone",
    "app reconfigure|gone -p a.b=c",
    "app command|gone a.b",
    "app commands|gone",
    "app check|gone",
    "app discover|gone",
    "app forget|gone",
    "env create|default",
    "env rm|default",
    "env ls|--state nowhere",
    "env show|gone",
    "env import|default gone.yaml",
    "env service add|default gone",
    "env service rm|default gone",
    "env bind|default gone part other",
    "env marker set|gone eu",
    "env marker rm|default eu",
    "env property set|gone a=b",
    "env property rm|default a",
    "init|. --name a__b",
    "check|- gone.yaml",
    "graph|gone",
    "resolve|gone.yaml",
    "retry|gone",
    "schema|assembly gone.yaml",
    "schema|parameters gone.yaml",
    "simulate|gone.yaml",
    "exec|--setting wrong -- true",
    "job ls|gone",
    "job show|gone",
    "job replay|gone",
    "doctor|--wrong",
    "explain|WL9999",
    "spiff merge|gone.yaml",
    "spiff eval|a+",
    "spiff parse|a+",
    "spiff convert|gone.yaml",
    "spiff diff|gone.yaml gone.yaml",
    "cron next|* *",
    "cron explain|* *",
    "update apply|gone.yaml gone.yaml",
    "update compose|gone.yaml gone.yaml",
    "update diff|gone.yaml gone.yaml",
    "update invert|gone.yaml gone.yaml",
    "update conflicts|gone.yaml gone.yaml",
    "image build|gone -t demo:1",
    "image import|gone",
    "image ls|",
    "image prune|",
    "script new|file",
    "script run|launch gone.sh",
    "script test|gone",
    "completions|no-shell",
    "man|file/man1",
];

/// Returns the words of all commands that have no subcommands.
fn commands(env: &TestEnv) -> Vec<String> {
    let (mut open, mut found) = (vec![String::new()], Vec::new());
    while let Some(command) = open.pop() {
        let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = env.ok(&args).stdout;
        let Some((_, list)) = help.split_once("\nCommands:\n") else {
            found.push(command.trim().to_owned());
            continue;
        };
        let names = list.lines().take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        open.extend(
            names.filter(|name| !["", "help"].contains(name)).map(|name| format!("{command} {name}")),
        );
    }
    found
}

/// Returns a project where every line of [`FAILING`] fails.
fn failing() -> TestEnv {
    let env = TestEnv::bare();
    env.write("file", "");
    // The folder of images can't be created, because a file has the path of its parent folder.
    std::fs::write(env.home().join(".cache"), "").unwrap();
    env
}

fn words(line: &'static str, options: &[&'static str]) -> Vec<&'static str> {
    let (command, rest) = line.split_once('|').unwrap();
    let rest: Vec<&str> = match command {
        "cron next" | "cron explain" => vec![rest],
        _ => rest.split_whitespace().collect(),
    };
    command.split(' ').chain(options.iter().copied()).chain(rest).collect()
}

#[test]
fn every_command_prints_its_error_as_json() {
    let env = failing();
    let missing: Vec<String> = commands(&env)
        .into_iter()
        .filter(|command| !FAILING.iter().any(|line| line.starts_with(&format!("{command}|"))))
        .collect();
    assert_eq!(missing, Vec::<String>::new(), "commands without a failing line");
    for line in FAILING {
        let run = env.run(&words(line, &["--format", "json"]));
        let error = error_of(&run);
        let own = error["code"].as_str();
        let code = own.or_else(|| error["diagnostics"][0]["code"].as_str());
        let code = code.unwrap_or_else(|| panic!("{line} has no code: {run}"));
        assert!(env.ok(&["explain", code]).stdout.starts_with(code), "{line}");
    }
}

#[test]
fn every_command_shows_the_code_of_its_error() {
    let env = failing();
    for line in FAILING {
        let run = env.run(&words(line, &[]));
        assert_eq!(run.stdout, "", "{line}: {run}");
        assert!(run.stderr.starts_with("error[WL"), "{line}: {run}");
    }
}

#[test]
fn errors_as_json_have_codes_that_are_explained() {
    let env = TestEnv::with("h_bta");
    let wrong = error_of(&env.run(&["status", "--format=json", "--colour"]));
    assert_eq!(wrong["code"], "WL0800");
    assert!(wrong["message"].as_str().unwrap().contains("--colour"), "{wrong}");
    // Each problem of a document has its own code.
    env.write("wrong.yaml", "name: assembly::wrong::1.0\ncompositon: {}\n");
    let problems = error_of(&env.run(&["up", "wrong.yaml", "--format", "json"]));
    assert!(problems["diagnostics"][0]["code"].as_str().unwrap().starts_with("WL01"), "{problems}");
    let explained = env.json(&["explain", "800"]);
    assert_eq!((&explained["version"], &explained["code"]), (&1.into(), &"WL0800".into()));
}
