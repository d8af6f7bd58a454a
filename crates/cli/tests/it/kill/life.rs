//! The life of a project: a sequence of commands that a test executes. The test kills each command a few times.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
    ops::AddAssign,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::env::TestEnv;

/// A command that the test executes. The test kills the command at most `kills` times, and then runs the command to its
/// end.
#[derive(Clone, Copy)]
pub(crate) struct Act {
    pub(crate) args: &'static [&'static str],
    pub(crate) kills: u32,
}

/// The functions that inspect a project between acts.
#[derive(Clone, Copy)]
pub(crate) struct Checks {
    /// Returns the trace of the scripts so far.
    pub(crate) trace: fn(&TestEnv) -> Vec<String>,
    /// Runs after every act except the last.
    pub(crate) up: fn(&TestEnv),
    /// Runs after the last act. This act removes the assembly.
    pub(crate) down: fn(&TestEnv),
}

/// The number of kills of running commands, for each act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kills(pub(crate) Vec<u32>);

impl Kills {
    pub(crate) fn all(&self) -> u32 {
        self.0.iter().sum()
    }
}

impl AddAssign<&Self> for Kills {
    fn add_assign(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(kills, more)| *kills += more);
    }
}

/// SplitMix64: pseudo-random numbers that a seed reproduces.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// Returns the seed `WINDLASS_TEST_SEED`, or a new one each time.
pub(crate) fn seed() -> u64 {
    given("WINDLASS_TEST_SEED").unwrap_or_else(|| RandomState::new().hash_one(0))
}

/// Returns the total number of kills: `WINDLASS_TEST_KILLS`, or a default.
pub(crate) fn wanted(usual: u32) -> u32 {
    given("WINDLASS_TEST_KILLS").and_then(|kills| kills.try_into().ok()).unwrap_or(usual)
}

pub(crate) fn given(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "how a test is run is no setting of the program")]
    std::env::var(name).ok()?.parse().ok()
}

/// A project, and the acts that the test executes in this project.
pub(crate) struct Life {
    env: TestEnv,
    name: &'static str,
    acts: &'static [Act],
    checks: Checks,
    random: Random,
    /// The duration and the final state of each act, recorded in a run without kills. The last act has no state.
    undisturbed: Vec<(Duration, Value)>,
}

impl Life {
    /// Runs all acts once without kills, to record their durations and states.
    pub(crate) fn new(
        env: TestEnv,
        name: &'static str,
        acts: &'static [Act],
        checks: Checks,
        random: Random,
    ) -> Self {
        let mut life = Self { env, name, acts, checks, random, undisturbed: Vec::new() };
        for at in 0..acts.len() {
            let begun = Instant::now();
            life.env.ok(acts[at].args);
            let took = begun.elapsed();
            let state = if at + 1 == acts.len() { Value::Null } else { life.state() };
            life.undisturbed.push((took, state));
        }
        life
    }

    /// Repeats the acts until enough kills happened. Returns their number by act.
    pub(crate) fn live(mut self, enough: u32) -> Kills {
        let mut kills = Kills(vec![0; self.acts.len()]);
        while kills.all() < enough {
            for at in 0..self.acts.len() {
                kills.0[at] += self.disturbed(at);
                if at + 1 == self.acts.len() {
                    (self.checks.down)(&self.env);
                } else {
                    let args = self.acts[at].args.join(" ");
                    assert_eq!(self.state(), self.undisturbed[at].1, "after {args}");
                    (self.checks.up)(&self.env);
                }
            }
        }
        kills
    }

    /// Starts the command of an act a few times, and kills each run at a random time. Then runs the command to its end.
    /// Returns the number of kills.
    fn disturbed(&mut self, at: usize) -> u32 {
        let since = self.processes().len();
        let mut killed = 0;
        for _ in 0..self.acts[at].kills {
            // A command that was killed late may have completed; repeating it would do the work twice.
            if self.is_done(since) {
                break;
            }
            killed += u32::from(self.killed(at, since));
        }
        self.finish(at, since);
        killed
    }

    /// Runs a command to its end, unless its process has already completed. The last command removes the assembly. This
    /// command always runs, because an earlier run may have been killed after the removal, but before the cleanup.
    fn finish(&self, at: usize, since: usize) {
        let (is_last, is_done) = (at + 1 == self.acts.len(), self.is_done(since));
        if is_done && !is_last {
            return;
        }
        let run = self.unrepeated(since, |env| env.run(self.acts[at].args));
        assert_eq!(run.code(), Some(0), "{run}");
    }

    /// Runs a command and kills it at a random time. Tells whether it was still running.
    fn killed(&mut self, at: usize, since: usize) -> bool {
        // The kills should hit different points of the work. The remaining work takes less time after each
        // kill.
        let limit = self.undisturbed[at].0 * 2 / self.acts[at].kills.max(1);
        let limit = u64::try_from(limit.as_micros()).unwrap();
        let moment = Duration::from_micros(self.random.below(limit));
        self.unrepeated(since, |env| {
            let mut running = env.spawn(self.acts[at].args);
            thread::sleep(moment);
            let lives = !running.has_ended();
            running.kill();
            lives
        })
    }

    /// Runs the function `act`, and checks that it repeats no step that has already succeeded. The check ignores the
    /// steps of the first `since` processes.
    fn unrepeated<T>(&self, since: usize, act: impl FnOnce(&TestEnv) -> T) -> T {
        let done = self.ended(since);
        let trace = self.checks.trace;
        let before = trace(&self.env).len();
        let result = act(&self.env);
        // A job that the last command left running may write its line now. Its step had not ended, so the
        // line is no repetition.
        let again: Vec<String> =
            trace(&self.env).into_iter().skip(before).filter(|line| done.contains(line)).collect();
        assert_eq!(again, [""; 0], "these had ended before");
        result
    }

    /// Returns the processes of the assembly so far, oldest first.
    fn processes(&self) -> Vec<Value> {
        let log = self.env.run(&["log", self.name, "--format", "json"]);
        if log.code() != Some(0) {
            return Vec::new();
        }
        log.json()["processes"].as_array().unwrap().clone()
    }

    /// Tells whether a process has completed since the act began.
    fn is_done(&self, since: usize) -> bool {
        self.processes().iter().skip(since).any(|process| process["status"] == "completed")
    }

    /// Returns the trace lines of steps that have succeeded since the act began.
    fn ended(&self, since: usize) -> BTreeSet<String> {
        let processes = self.processes();
        let steps = processes.iter().skip(since).flat_map(|process| process["steps"].as_array().unwrap());
        let well = steps.filter(|step| step["state"] == "succeeded");
        well.flat_map(|step| step["jobs"].as_array().unwrap()).filter_map(line).collect()
    }

    /// Returns the status of the assembly, without values that differ between two executions.
    fn state(&self) -> Value {
        let mut status = self.env.json(&["status", self.name]);
        strip(&mut status);
        status
    }
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

/// Derives a job's trace line from the job's log entry. Returns `None` for an operation: its trace line contains
/// arguments, and the log does not contain these.
fn line(job: &Value) -> Option<String> {
    let (action, element) = (job["action"].as_str()?, job["element"].as_str()?);
    let is_transition = !action.contains("Relationship");
    is_transition.then(|| format!("{action} {element}"))
}
