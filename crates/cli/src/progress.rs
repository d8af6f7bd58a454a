//! A progress display on the terminal.
//!
//! The display reads the running steps from the store. So a command also shows the progress of steps that the daemon
//! executes.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::stderr;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use rustix::termios::tcgetwinsize;
use windlass::Windlass;
use windlass::live::{RunningStep, RunningSteps};
use windlass::model::record::ProcessRecord;
use windlass::model::{StepId, Timestamp};
use windlass::view::plan::PlanView;

use crate::output::{elapsed, visible};

/// Maximum number of running steps that are shown.
const SHOWN: usize = 5;

/// Minimum pause before the running steps are read from the store again.
const PAUSE: Duration = Duration::from_millis(500);

/// The progress lines at the bottom of the terminal: the number of ended steps, and the running steps. If
/// standard error is not a terminal, nothing is shown. Dropping the value removes the lines.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Creates the display for a process of `steps` steps, of which none has ended.
    pub(crate) fn of(steps: usize) -> Self {
        // The crate `indicatif` itself detects whether standard error is a terminal.
        let target = if steps == 0 { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar =
            ProgressBar::with_draw_target(Some(steps as u64), target).with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} steps, {elapsed}{msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self(bar)
    }

    /// Adds ended steps to the count.
    pub(crate) fn add(&self, steps: usize) {
        self.0.inc(steps as u64);
    }

    /// Runs a function that prints, so that its output appears above the progress lines.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Shows the running steps of a process until the future is dropped. `calls` is the number of calls of
    /// each step. After a slow read from the store, the next read is delayed, to limit the load.
    pub(crate) async fn observe(
        &self,
        windlass: &Windlass,
        process: &ProcessRecord,
        own: bool,
        plan: &PlanView,
        calls: &HashMap<StepId, u64>,
    ) -> Infallible {
        if self.0.is_hidden() {
            return std::future::pending().await;
        }
        let mut running = RunningSteps::new(windlass, own);
        let mut pause = PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            let begun = Instant::now();
            // An error of the store is ignored here, because the code that prints the events also reports it.
            if let Ok(steps) = running.read(&process.assembly, process.id).await {
                // A terminal without a known width reports 0.
                let width = tcgetwinsize(stderr()).map_or(0, |size| usize::from(size.ws_col));
                let width = if width == 0 { 80 } else { width };
                let batches = batches(&steps, plan);
                self.0.set_message(batches + &message(&steps, calls, windlass.now(), width));
            }
            pause = PAUSE.max(begun.elapsed() * 10);
        }
    }
}

/// Returns a text that lists the batches of nodes to which the running steps belong. A comma precedes each batch.
fn batches(steps: &[RunningStep], plan: &PlanView) -> String {
    let steps = steps.iter().filter_map(|step| plan.step(step.id)).filter(|step| step.pause.is_none());
    let mut shown = HashSet::new();
    let batches = steps.filter_map(|step| step.batch.as_ref()).filter(|batch| shown.insert(*batch));
    let batches: Vec<String> = batches.take(SHOWN).map(ToString::to_string).collect();
    if batches.is_empty() { String::new() } else { format!(", {}", batches.join(", ")) }
}

/// Returns the lines of the running steps, each after a line break.
fn message(steps: &[RunningStep], calls: &HashMap<StepId, u64>, now: Timestamp, width: usize) -> String {
    let mut message = String::new();
    for step in steps.iter().take(SHOWN) {
        let count = match calls.get(&step.id) {
            Some(calls) if *calls > 1 => format!(" {}/{calls}", step.ended_calls),
            _ => String::new(),
        };
        let last = step.last_line.as_ref().map(|line| format!(" | {}", line.trim())).unwrap_or_default();
        let line = format!("{}{count} ({}){last}", step.title, elapsed(now, step.since));
        message.push_str("\n  ");
        // The line is cut, because a line longer than the terminal's width would take two lines.
        message.push_str(&cut(&visible(&line).replace(['\t', '\n'], " "), width.saturating_sub(3)));
    }
    if steps.len() > SHOWN {
        let _ = write!(message, "\n  and {} more", steps.len() - SHOWN);
    }
    message
}

/// Cuts a text to a number of characters.
fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_steps_fit_into_a_narrow_terminal() {
        let step = |id: u32, since: i64, last: Option<&str>| RunningStep {
            id: StepId(id),
            title: format!("web__{id} Install"),
            since: Timestamp::from_millis(since),
            ended_calls: 12,
            last_line: last.map(str::to_owned),
        };
        let now = Timestamp::from_millis(75_500);
        let steps = [step(1, 500, Some("fetching \u{1b}[2Jpackages\tnow")), step(2, 70_000, None)];
        let calls = HashMap::from([(StepId(1), 40), (StepId(2), 1)]);
        assert_eq!(
            message(&steps, &calls, now, 80),
            "\n  web__1 Install 12/40 (1 min 15 s) | fetching \\u001b[2Jpackages now\n  web__2 Install (5 s)"
        );
        for line in message(&steps, &calls, now, 20).lines() {
            assert!(line.chars().count() < 20, "{line}");
        }
        let many: Vec<RunningStep> = (1..=9).map(|id| step(id, 500, None)).collect();
        assert!(message(&many, &calls, now, 80).ends_with("\n  and 4 more"));
    }
}
