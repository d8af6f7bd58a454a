//! Limits of processor time and memory, and cases in processes of their own.

use std::process::Command;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How much smaller documents are in a debug build.
pub(crate) const SCALE: usize = if cfg!(debug_assertions) { 20 } else { 1 };

/// The processor time of a case: a debug build is thirty to eighty times slower, with a twentieth of the document.
const TIME: Duration = if cfg!(debug_assertions) { Duration::from_secs(10) } else { Duration::from_secs(1) };

/// The memory of a case, in KiB.
const MEMORY: u64 = 256_000_000 / 1024;

/// The variable that tells a process which case it is.
const CASE: &str = "WINDLASS_HOSTILE_CASE";

#[expect(clippy::disallowed_methods, reason = "the tests' own settings")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// How many random cases are tried.
pub(crate) fn cases() -> usize {
    let usual = 100;
    variable("WINDLASS_HOSTILE_CASES").map_or(usual, |text| text.parse().expect("a number of cases"))
}

/// Where the random cases begin.
pub(crate) fn seed() -> u64 {
    variable("WINDLASS_FUZZ_SEED").map_or(1, |text| text.parse().expect("a number to begin with"))
}

/// What something has taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    time: Duration,
    /// In KiB, beyond what was there before.
    memory: u64,
}

impl Cost {
    fn is_too_much(self) -> bool {
        self.time > TIME || self.memory > MEMORY
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ms, {} MB", self.time.as_millis(), self.memory * 1024 / 1_000_000)
    }
}

/// The processor time that this thread has had: what others do on the machine changes it little.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("time runs forward")
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("Linux has it");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// A limit that runs from now on.
pub(crate) struct Limit {
    start: Duration,
    before: u64,
}

impl Limit {
    pub(crate) fn of_case() -> Self {
        // Forgets the peak that was.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        Self { start: processor_time(), before: status("VmRSS:") }
    }

    fn cost(&self) -> Cost {
        let time = processor_time().saturating_sub(self.start);
        Cost { time, memory: status("VmHWM:").saturating_sub(self.before) }
    }

    /// Fails when it was passed.
    pub(crate) fn hold(&self, what: &str, text: &str) {
        let cost = self.cost();
        assert!(!cost.is_too_much(), "{what} takes {cost}: {}", text.chars().take(2000).collect::<String>());
    }
}

/// Measures something.
pub(crate) fn measured(act: impl FnOnce()) -> Cost {
    let limit = Limit::of_case();
    act();
    limit.cost()
}

/// Runs each case in a process of its own, and fails with all that took too much.
#[expect(clippy::print_stdout, reason = "what the cases take is of interest")]
pub(crate) fn in_child(test: &str, names: &[&str], run: impl Fn(&str) -> Cost) {
    if let Some(name) = variable(CASE) {
        let Cost { time, memory } = run(&name);
        println!("cost {} {memory}", time.as_nanos());
        return;
    }
    let mut failed = Vec::new();
    for name in names {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(CASE, name);
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let cost = printed.lines().find_map(|line| line.split_once("cost ")).map(|(_, cost)| {
            let numbers: Vec<u64> = cost.split_whitespace().map(|number| number.parse().unwrap()).collect();
            Cost { time: Duration::from_nanos(numbers[0]), memory: numbers[1] }
        });
        match cost.filter(|_| output.status.success()) {
            Some(cost) => {
                println!("{name}: {cost}");
                failed.extend(cost.is_too_much().then(|| format!("{name}: {cost}")));
            }
            None => failed.push(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
    assert!(failed.is_empty(), "these take too much:\n{}", failed.join("\n"));
}
