//! The goals of the benchmark, their check and their output.

use std::io::{self, Write};

use crate::Line;

/// One goal with its measured value.
pub(crate) struct Goal {
    text: String,
    met: bool,
}

/// Returns a goal that is met when `value` is at most `limit`.
pub(crate) fn at_most(what: &str, value: f64, limit: f64) -> Goal {
    Goal { text: format!("{what}: {value:.2} (at most {limit})"), met: value <= limit }
}

/// Returns a goal that is met when `value` is at least `limit`.
pub(crate) fn at_least(what: &str, value: f64, limit: f64) -> Goal {
    Goal { text: format!("{what}: {value:.2} (at least {limit})"), met: value >= limit }
}

/// Returns the goals that compare the median durations of two contestants. Each [`Line`] contains the median of
/// one contestant. A goal is left out if `lines` lacks one of its two contestants.
pub(crate) fn of_medians(lines: &[Line]) -> Vec<Goal> {
    let median =
        |name: &str| lines.iter().find(|line| line.name == name).map(|line| line.median.as_secs_f64());
    let mut goals = Vec::new();
    let mut at_most_times = |of: &str, than: &str, limit: f64| {
        if let (Some(of_median), Some(than_median)) = (median(of), median(than)) {
            goals.push(at_most(&format!("{of} / {than}"), of_median / than_median, limit));
        }
    };
    at_most_times("process", "bare", 1.5);
    at_most_times("sandbox", "bare", 4.0);
    at_most_times("sandbox", "docker run", 1.0 / 20.0);
    at_most_times("docker", "docker run, no network", 0.6);
    at_most_times("pool", "docker run", 1.0 / 50.0);
    at_most_times("pool", "bare", 2.0);
    goals
}

/// Prints the goals. Returns `false` if a goal is missed.
pub(crate) fn print(out: &mut impl Write, goals: &[Goal]) -> io::Result<bool> {
    for goal in goals {
        writeln!(out, "{}  {}", if goal.met { "met   " } else { "MISSED" }, goal.text)?;
    }
    Ok(goals.iter().all(|goal| goal.met))
}
