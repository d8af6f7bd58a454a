//! A project that lives through a few commands, each killed on its way a few times. Where its parts run is the affair of
//! whoever made the project.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
    ops::AddAssign,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::env::TestEnv;

/// One command of a life: what is asked, and how often it is killed at most before it is let be.
#[derive(Clone, Copy)]
pub(crate) struct Act {
    pub(crate) args: &'static [&'static str],
    pub(crate) kills: u32,
}

/// What a project must be like between acts.
#[derive(Clone, Copy)]
pub(crate) struct Checks {
    /// What the scripts have written to their trace so far.
    pub(crate) trace: fn(&TestEnv) -> Vec<String>,
    /// After every act but the last.
    pub(crate) up: fn(&TestEnv),
    /// After the last one, which takes everything down.
    pub(crate) down: fn(&TestEnv),
}

/// How often commands were killed while they ran, by act.
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

/// splitmix64: a few random numbers that one seed repeats.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// A seed that was given as `WINDLASS_TEST_SEED`, else another one each time.
pub(crate) fn seed() -> u64 {
    given("WINDLASS_TEST_SEED").unwrap_or_else(|| RandomState::new().hash_one(0))
}

/// How many kills are wanted in all: as many as `WINDLASS_TEST_KILLS` says, else a usual number.
pub(crate) fn wanted(usual: u32) -> u32 {
    given("WINDLASS_TEST_KILLS").and_then(|kills| kills.try_into().ok()).unwrap_or(usual)
}

pub(crate) fn given(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "how a test is run is no setting of the program")]
    std::env::var(name).ok()?.parse().ok()
}

/// A project and its acts.
pub(crate) struct Life {
    env: TestEnv,
    name: &'static str,
    acts: &'static [Act],
    checks: Checks,
    random: Random,
    /// How long each act takes undisturbed, and the state it ends in; the last one has none.
    undisturbed: Vec<(Duration, Value)>,
}

impl Life {
    /// Lives once undisturbed, to know how that is.
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

    /// Lives again and again until it was killed often enough. Returns how often it was.
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

    /// Runs a command that is killed a few times, and then to its end. Returns how often it was killed.
    fn disturbed(&mut self, at: usize) -> u32 {
        let since = self.processes().len();
        let mut killed = 0;
        for _ in 0..self.acts[at].kills {
            // Killed late enough, it has done everything, and another one would do it a second time.
            if self.is_done(since) {
                break;
            }
            killed += u32::from(self.killed(at, since));
        }
        self.finish(at, since);
        killed
    }

    /// Runs a command to its end, unless that was reached. The last one is run in any case: killed late enough it has
    /// taken everything down, and the next one tidies up after it.
    fn finish(&self, at: usize, since: usize) {
        let (is_last, is_done) = (at + 1 == self.acts.len(), self.is_done(since));
        if is_done && !is_last {
            return;
        }
        let run = self.unrepeated(since, |env| env.run(self.acts[at].args));
        let gone = is_done && run.stderr.contains("there is no assembly");
        assert!(run.code() == Some(0) || gone, "{run}");
    }

    /// Runs a command and kills it at a random moment. Tells whether it still ran then.
    fn killed(&mut self, at: usize, since: usize) -> bool {
        // What is left to do takes less time than all of it, and no two kills should hit the same moment.
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

    /// Does something that may not run a step again that has ended since the act began.
    fn unrepeated<T>(&self, since: usize, act: impl FnOnce(&TestEnv) -> T) -> T {
        let done = self.ended(since);
        let trace = self.checks.trace;
        let before = trace(&self.env).len();
        let result = act(&self.env);
        // What the last command has left running belongs to it.
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

    /// Tells whether a process has reached its end since the act began.
    fn is_done(&self, since: usize) -> bool {
        self.processes().iter().skip(since).any(|process| process["status"] == "completed")
    }

    /// Returns the lines that the trace has of steps that have ended well since the act began.
    fn ended(&self, since: usize) -> BTreeSet<String> {
        let processes = self.processes();
        let steps = processes.iter().skip(since).flat_map(|process| process["steps"].as_array().unwrap());
        let well = steps.filter(|step| step["state"] == "succeeded");
        well.flat_map(|step| step["jobs"].as_array().unwrap()).filter_map(line).collect()
    }

    /// Returns the assembly's status without what differs between two lives of it.
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

/// Returns the line of the trace that a job has written; none for operations, whose arguments the log doesn't tell.
fn line(job: &Value) -> Option<String> {
    let (action, element) = (job["action"].as_str()?, job["element"].as_str()?);
    let is_transition = !action.contains("Relationship");
    is_transition.then(|| format!("{action} {element}"))
}
