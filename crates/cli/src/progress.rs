//! How far a process is, for somebody who watches it on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// A line at the bottom of the terminal that is gone when this is dropped. Where standard error is no terminal, it is
/// nothing at all. It has no colours.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Begins with no step done of so many.
    pub(crate) fn of(steps: usize) -> Self {
        // indicatif itself sees whether there is a terminal.
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

    /// Prints something above it.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}
