//! Runs each case in a process of its own, with limits of processor time and memory.

use std::process::Command;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Divisor of document sizes in a debug build.
pub(crate) const SCALE: usize = if cfg!(debug_assertions) { 20 } else { 1 };

/// Limit of processor time for a case. A debug build is 30 to 80 times slower than a release build, but its documents
/// are smaller by the factor [`SCALE`]. So ten times the release limit is enough.
const TIME: Duration = if cfg!(debug_assertions) { Duration::from_secs(10) } else { Duration::from_secs(1) };

/// Limit of memory for a case, in KiB.
const MEMORY: u64 = 256_000_000 / 1024;

/// Environment variable that contains the name of the case for a child process.
const CASE: &str = "WINDLASS_HOSTILE_CASE";

#[expect(clippy::disallowed_methods, reason = "the tests' own settings")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Number of random cases.
pub(crate) fn cases() -> usize {
    let usual = 100;
    variable("WINDLASS_HOSTILE_CASES").map_or(usual, |text| text.parse().expect("a number of cases"))
}

/// Seed of the first random case.
pub(crate) fn seed() -> u64 {
    variable("WINDLASS_FUZZ_SEED").map_or(1, |text| text.parse().expect("a number to begin with"))
}

/// Processor time and memory that an operation has used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    time: Duration,
    /// Memory in KiB beyond the memory at the start.
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

/// Returns the processor time of this thread. Other load of the machine affects it little.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("time runs forward")
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("Linux has it");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// A limit of time and memory. The use is measured from the creation of the limit.
pub(crate) struct Limit {
    start: Duration,
    before: u64,
}

impl Limit {
    pub(crate) fn of_case() -> Self {
        // Writing `5` resets the recorded peak of memory.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        Self { start: processor_time(), before: status("VmRSS:") }
    }

    fn cost(&self) -> Cost {
        let time = processor_time().saturating_sub(self.start);
        Cost { time, memory: status("VmHWM:").saturating_sub(self.before) }
    }

    /// Fails when the limit was exceeded.
    pub(crate) fn hold(&self, what: &str, text: &str) {
        let cost = self.cost();
        assert!(!cost.is_too_much(), "{what} takes {cost}: {}", text.chars().take(2000).collect::<String>());
    }
}

/// Returns the processor time and memory that an operation uses.
pub(crate) fn measured(act: impl FnOnce()) -> Cost {
    let limit = Limit::of_case();
    act();
    limit.cost()
}

/// Runs each case in a process of its own. If cases exceeded a limit, the function panics with a list of them.
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
