//! The command is killed at random moments: the next one goes on from there, as if nothing had been.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::env::{TestEnv, say, until};

/// How many projects are worked on at once.
const PROJECTS: u64 = 4;

/// How often each is killed during `up`, and during `down`, before it has had enough.
const ENOUGH: [usize; 2] = [8, 3];

/// How often one `up` is killed at most, and one `down`.
const KILLS: [usize; 2] = [3, 2];

/// How long each script takes, so that there is something to be killed in.
const PAUSE: &str = "pause=0.03";

/// splitmix64: a few random numbers that one seed repeats.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A seed that was given, else another one each time.
fn seed() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a seed for a test is no setting of the program")]
    let given = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| RandomState::new().hash_one(0))
}

#[test]
fn killed_at_random_moments_it_ends_in_the_same_state() {
    let seed = seed();
    say(&format!("kill: seed {seed} (again with WINDLASS_TEST_SEED={seed})"));
    let killed: [usize; 2] = thread::scope(|scope| {
        let projects: Vec<_> = (0..PROJECTS)
            .map(|number| scope.spawn(move || Project::new(Random(seed ^ number)).live()))
            .collect();
        let killed: Vec<[usize; 2]> = projects.into_iter().map(|project| project.join().unwrap()).collect();
        [0, 1].map(|command| killed.iter().map(|of| of[command]).sum())
    });
    say(&format!("kill: {} times during up, {} times during down", killed[0], killed[1]));
    assert!(killed[0] >= 30 && killed[1] >= 10, "{killed:?}");
}

struct Project {
    env: TestEnv,
    random: Random,
    /// How long an undisturbed `up` and `down` take.
    undisturbed: [Duration; 2],
    /// What an undisturbed `up` ends in.
    goal: Value,
}

const UP: [&str; 6] = ["up", "h_bta", "-p", "numOfServers=2", "-p", PAUSE];
const DOWN: [&str; 2] = ["down", "h_bta"];

impl Project {
    /// Comes up and goes down once, undisturbed.
    fn new(random: Random) -> Self {
        let env = TestEnv::with("h_bta");
        let timed = |args: &[&str]| {
            let begun = Instant::now();
            env.ok(args);
            begun.elapsed()
        };
        let up = timed(&UP);
        let goal = state(&env);
        let down = timed(&DOWN);
        Self { env, random, undisturbed: [up, down], goal }
    }

    /// Comes up and goes down again and again, killed on the way. Returns how often it was killed.
    fn live(mut self) -> [usize; 2] {
        let mut killed = [0, 0];
        while killed[0] < ENOUGH[0] || killed[1] < ENOUGH[1] {
            killed[0] += self.disturbed(&UP, 0);
            self.is_up();
            killed[1] += self.disturbed(&DOWN, 1);
            self.is_down();
        }
        killed
    }

    /// Runs a command that is killed a few times, and then to its end. Returns how often it was killed.
    fn disturbed(&mut self, args: &[&str], which: usize) -> usize {
        let mut killed = 0;
        for _ in 0..KILLS[which] {
            killed += usize::from(self.killed(args, which));
        }
        // Killed late enough, `down` has done everything, and a second one has nothing to take down.
        let run = self.unrepeated(|env| env.run(args));
        let gone = which == 1 && run.stderr.contains("there is no assembly");
        assert!(run.code() == Some(0) || gone, "{run}");
        killed
    }

    /// Runs a command and kills it at a random moment. Tells whether it still ran then.
    fn killed(&mut self, args: &[&str], which: usize) -> bool {
        // What is left to do takes less time than all of it, and no two kills should hit the same moment.
        let limit = self.undisturbed[which] * 2 / u32::try_from(KILLS[which]).unwrap();
        let limit = u64::try_from(limit.as_micros()).unwrap();
        let moment = Duration::from_micros(self.random.below(limit));
        self.unrepeated(|env| {
            let mut running = env.spawn(args);
            thread::sleep(moment);
            let lives = !running.has_ended();
            running.kill();
            lives
        })
    }

    /// Does something that may not run a step again that has ended before.
    fn unrepeated<T>(&self, act: impl FnOnce(&TestEnv) -> T) -> T {
        let done = ended(&self.env);
        let before = self.env.trace().len();
        let result = act(&self.env);
        // What the last command has left running belongs to it.
        let again: Vec<String> =
            self.env.trace().into_iter().skip(before).filter(|line| done.contains(line)).collect();
        assert_eq!(again, [""; 0], "these had ended before");
        result
    }

    /// All is as after an undisturbed `up`, and each effect is there once.
    fn is_up(&self) {
        assert_eq!(state(&self.env), self.goal);
        let status = self.env.json(&["status", "h_bta"]);
        let mut ids = BTreeSet::new();
        instances(&status["assemblies"][0], &mut ids);
        let volume = std::fs::read_dir(self.env.path(".windlass/volumes/state")).unwrap();
        let folders: BTreeSet<String> =
            volume.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(folders, ids, "one folder an instance");
    }

    /// Nothing is left but the store.
    fn is_down(&self) {
        until("nothing runs any more", || self.env.processes().is_empty());
        let left: Vec<String> =
            self.env.files().into_iter().filter(|file| file.starts_with(".windlass/")).collect();
        let known = |file: &String| {
            ["key", "state.db", "state.db-wal", "state.db-shm"]
                .iter()
                .any(|name| *file == format!(".windlass/{name}"))
        };
        assert!(left.iter().all(known), "{left:?}");
    }
}

/// Returns the assembly's status without what differs between two lives of it.
fn state(env: &TestEnv) -> Value {
    let mut status = env.json(&["status", "h_bta"]);
    strip(&mut status);
    status
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|name, _| !["created", "since", "id", "natural"].contains(&name.as_str()));
            entries.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Collects the ids of all servers.
fn instances(element: &Value, ids: &mut BTreeSet<String>) {
    if element["kind"] == "resource" {
        ids.insert(element["id"].as_str().unwrap().to_owned());
    }
    element["components"].as_array().unwrap().iter().for_each(|inner| instances(inner, ids));
}

/// Returns the lines that the trace has of steps that have ended well since the assembly was last down: nothing of them
/// may run again until it is down once more.
fn ended(env: &TestEnv) -> BTreeSet<String> {
    let log = env.run(&["log", "h_bta", "--format", "json"]);
    if log.code() != Some(0) {
        return BTreeSet::new();
    }
    let log = log.json();
    let mut lines = BTreeSet::new();
    let mut direction = Value::Null;
    for process in log["processes"].as_array().unwrap() {
        if process["intent"] != direction {
            direction = process["intent"].clone();
            lines.clear();
        }
        if process["intent"] == "down" && process["status"] == "completed" {
            lines.clear();
            continue;
        }
        let steps = process["steps"].as_array().unwrap().iter().filter(|step| step["state"] == "succeeded");
        for job in steps.flat_map(|step| step["jobs"].as_array().unwrap()) {
            lines.extend(line(job));
        }
    }
    lines
}

/// Returns the line of the trace that a job has written; none for operations, whose arguments the log doesn't tell.
fn line(job: &Value) -> Option<String> {
    let (action, element) = (job["action"].as_str()?, job["element"].as_str()?);
    let is_transition = !action.contains("Relationship3");
    is_transition.then(|| format!("{action} {element}"))
}

/// The command is killed when it has handed over a job and its call is not recorded yet. Whoever comes next waits for
/// what still runs, instead of running it a second time beside it.
#[test]
fn a_job_that_nobody_has_recorded_is_waited_for() {
    let slow = r#"echo in >>"$WINDLASS_VOLUME_STATE/times"
until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done
sleep 0.3
echo out >>"$WINDLASS_VOLUME_STATE/times""#;
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", slow)]);
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small", "--name", "other"]);
    std::fs::remove_file(env.path(".windlass/volumes/state/go")).unwrap();
    env.clear_trace();

    // To record the second call takes forever.
    let store = rusqlite::Connection::open(env.path(".windlass/state.db")).unwrap();
    let forever =
        "CREATE VIEW forever AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;
        CREATE TRIGGER stuck BEFORE INSERT ON call WHEN NEW.step > 1 BEGIN SELECT count(*) FROM forever; END";
    store.execute_batch(forever).unwrap();
    let up = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install", "Start"]);
    up.kill();
    store.execute_batch("DROP TRIGGER stuck; DROP VIEW forever").unwrap();

    let up = env.spawn(&["up", "small"]);
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(up.end().code(), Some(0));
    assert_eq!(env.read(".windlass/volumes/state/times"), "in\nout\n".repeat(3));
    let jobs = std::fs::read_dir(env.path(".windlass/jobs")).into_iter().flatten().count();
    assert_eq!(jobs, 0, "nothing is left of it");
}
