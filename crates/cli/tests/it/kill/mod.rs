//! The command is killed at random times, and the next one resumes as if nothing had happened.

mod applications;
pub(crate) mod life;

use std::{collections::BTreeSet, thread};

use serde_json::Value;

use crate::env::{TestEnv, say, until};
use life::{Act, Checks, Kills, Life, Random, seed, wanted};

/// Number of concurrent projects.
const PROJECTS: u32 = 4;

/// The commands of the life of `h_bta`: up, scale out, changed values, scale in, down. Each script takes a
/// while, so that kills hit running scripts.
const LIFE: [Act; 5] = [
    Act { args: &["up", "h_bta", "-p", "numOfServers=2", "-p", "pause=0.03", "--no-refresh"], kills: 3 },
    Act { args: &["scale", "out", "h_bta", "B"], kills: 2 },
    Act {
        args: &[
            "up",
            "h_bta",
            "-p",
            "numOfServers=2",
            "-p",
            "pause=0.02",
            "-p",
            "data=other",
            "--yes",
            "--no-refresh",
        ],
        kills: 3,
    },
    Act { args: &["scale", "in", "h_bta", "B", "--yes"], kills: 2 },
    Act { args: &["down", "h_bta"], kills: 2 },
];

#[test]
fn killed_at_random_moments_it_ends_in_the_same_state() {
    let (seed, wanted) = (seed(), wanted(60));
    say(&format!("kill: seed {seed} (again with WINDLASS_TEST_SEED={seed})"));
    let mut killed = Kills(vec![0; LIFE.len()]);
    thread::scope(|scope| {
        let lives: Vec<_> = (0..PROJECTS)
            .map(|number| {
                let random = Random(seed ^ u64::from(number));
                let checks =
                    Checks { trace: TestEnv::trace, up: each_effect_is_there_once, down: nothing_is_left };
                let live = move || {
                    let env = TestEnv::with("h_bta");
                    Life::new(env, "h_bta", &LIFE, checks, random).live(wanted.div_ceil(PROJECTS))
                };
                scope.spawn(live)
            })
            .collect();
        for life in lives {
            killed += &life.join().unwrap();
        }
    });
    let Kills(by_act) = &killed;
    say(&format!("kill: {} times: up, scale out, upgrade, scale in, down {by_act:?}", killed.all()));
    assert!(killed.all() >= wanted && by_act.iter().all(|kills| *kills > 0), "{killed:?}");
}

/// Checks that the volume has exactly one folder for each existing instance.
fn each_effect_is_there_once(env: &TestEnv) {
    let volume = std::fs::read_dir(env.path(".windlass/volumes/state")).unwrap();
    let folders: BTreeSet<String> =
        volume.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(folders, servers(env), "one folder an instance");
}

/// Returns the ids of all servers of `h_bta`.
pub(crate) fn servers(env: &TestEnv) -> BTreeSet<String> {
    let status = env.json(&["status", "h_bta"]);
    let mut ids = BTreeSet::new();
    instances(&status["assemblies"][0], &mut ids);
    ids
}

/// Checks that only the store remains.
fn nothing_is_left(env: &TestEnv) {
    env.is_quiet();
    let left: Vec<String> = env.files().into_iter().filter(|file| file.starts_with(".windlass/")).collect();
    let known = |file: &String| {
        ["key", "state.db", "state.db-wal", "state.db-shm"]
            .iter()
            .any(|name| *file == format!(".windlass/{name}"))
    };
    assert!(left.iter().all(known), "{left:?}");
}

/// Collects the ids of all servers.
fn instances(element: &Value, ids: &mut BTreeSet<String>) {
    if element["kind"] == "resource" {
        ids.insert(element["id"].as_str().unwrap().to_owned());
    }
    element["components"].as_array().unwrap().iter().for_each(|inner| instances(inner, ids));
}

/// The command is killed while it records a call. No job of the call has begun, and the next command makes
/// the call once.
#[test]
fn a_job_does_not_begin_before_its_call_is_recorded() {
    let counted = r#"echo ran >>"$WINDLASS_VOLUME_STATE/times""#;
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", counted)]);
    env.ok(&["up", "small", "--name", "other"]);
    env.clear_trace();

    // Recording the second call blocks forever.
    let store = rusqlite::Connection::open(env.path(".windlass/state.db")).unwrap();
    let forever =
        "CREATE VIEW forever AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;
        CREATE TRIGGER stuck BEFORE INSERT ON call WHEN NEW.step > 1 BEGIN SELECT count(*) FROM forever; END";
    store.execute_batch(forever).unwrap();
    let up = env.spawn(&["up", "small"]);
    until("the first script has begun", || env.trace() == ["Install"]);
    // In this time a job would begin, if it did not wait for the record.
    std::thread::sleep(std::time::Duration::from_millis(500));
    up.kill();
    assert_eq!(env.trace(), ["Install"]);
    store.execute_batch("DROP TRIGGER stuck; DROP VIEW forever").unwrap();

    env.ok(&["up", "small"]);
    assert_eq!(env.read(".windlass/volumes/state/times"), "ran\n".repeat(2));
    let jobs = std::fs::read_dir(env.path(".windlass/jobs")).into_iter().flatten().count();
    assert_eq!(jobs, 0, "nothing is left of it");
}
