//! The timers of a machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_model::Timestamp;

/// Timers by their identity, each with the time at which it is due.
pub(super) struct Timers<K> {
    times: BTreeMap<K, Instant>,
    /// The timers in the order in which they are due.
    agenda: BTreeSet<(Instant, K)>,
    /// Whether the run was stopped, so that each new timer is due at once. [`hurry`](Self::hurry) sets this flag.
    is_over: bool,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { times: BTreeMap::new(), agenda: BTreeSet::new(), is_over: false }
    }
}

impl<K: Clone + Ord> Timers<K> {
    /// Starts a timer, or changes the time of a running timer. A later change of the clock has no effect on a
    /// running timer.
    pub(super) fn start(&mut self, timer: K, now: Timestamp, at: Timestamp) {
        let wait = if self.is_over { Duration::ZERO } else { Duration::from_millis(at.millis_since(now)) };
        let at = Instant::now() + wait;
        if let Some(before) = self.times.insert(timer.clone(), at) {
            self.agenda.remove(&(before, timer.clone()));
        }
        self.agenda.insert((at, timer));
    }

    /// Makes all running timers due at once. From now on, a timer that starts is also due at once.
    pub(super) fn hurry(&mut self) {
        self.is_over = true;
        let now = Instant::now();
        self.agenda =
            std::mem::take(&mut self.agenda).into_iter().map(|(at, timer)| (at.min(now), timer)).collect();
        self.times = self.agenda.iter().map(|(at, timer)| (timer.clone(), *at)).collect();
    }

    /// Waits for the next timer, and removes it. Never returns if there is no timer.
    pub(super) async fn next(&mut self) -> K {
        let Some((at, _)) = self.agenda.first() else { return std::future::pending().await };
        sleep_until(*at).await;
        let Some((_, timer)) = self.agenda.pop_first() else { return std::future::pending().await };
        self.times.remove(&timer);
        timer
    }
}
