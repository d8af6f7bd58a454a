//! A progress display on the terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// A line at the bottom of the terminal, without colours. It disappears when it is dropped. If standard error
/// is not a terminal, nothing is shown.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Starts at zero of `steps` steps.
    pub(crate) fn of(steps: usize) -> Self {
        // indicatif detects by itself whether there is a terminal.
        let target = if steps == 0 { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar =
            ProgressBar::with_draw_target(Some(steps as u64), target).with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} steps, {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self(bar)
    }

    /// Counts steps as done.
    pub(crate) fn add(&self, steps: usize) {
        self.0.inc(steps as u64);
    }

    /// Prints something above the line.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}
