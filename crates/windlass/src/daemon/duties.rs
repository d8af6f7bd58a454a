//! The repeated duties of the daemon, and their times.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_cron::CronExpression;
use windlass_engine::schedule::{Started, Timing};
use windlass_engine::{Scheduler, Stop};
use windlass_model::AssemblyName;

use crate::duty_timing;
use crate::open::Windlass;

/// Settings of the daemon's repeated duties.
#[derive(Debug, Clone)]
pub struct Watching {
    /// Interval of the health checks of applications, and of assemblies whose policies read metrics. `None`
    /// disables these health checks.
    pub health: Option<Duration>,
    /// Interval at which the daemon reads the changes that other windlass programs have recorded.
    pub refresh: Duration,
    /// Whether the daemon removes old processes and versions, at its start and then once a day.
    pub prunes: bool,
}

impl Default for Watching {
    /// Returns the default settings. The daemon runs health checks every minute, reads changes of other windlass
    /// programs every five seconds, and removes old processes and versions every day.
    fn default() -> Self {
        Self { health: Some(Duration::from_secs(60)), refresh: Duration::from_secs(5), prunes: true }
    }
}

/// Interval between two prunes, which remove old processes and versions.
const PRUNE: Duration = Duration::from_secs(24 * 60 * 60);

/// A repeated duty of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Duty {
    /// Reads the changes that other windlass programs have recorded in the store.
    Refresh,
    /// Removes old processes and versions.
    Prune,
    /// Checks the health of an assembly.
    Check(AssemblyName),
    /// Checks the health of the applications of a factory.
    CheckApplications(AssemblyName),
    /// Runs the discovery of a factory.
    Discover(AssemblyName),
}

/// The schedule of the daemon's duties.
pub(super) struct Duties {
    scheduler: Scheduler<Duty>,
    health: Option<Duration>,
}

impl Duties {
    /// Starts the schedule with the duties that do not depend on assemblies. The returned receiver yields each duty
    /// when the duty is due. After the end of the duty, the caller must call [`ended`](Self::ended).
    pub(super) async fn begin(
        windlass: &Windlass,
        watching: &Watching,
        stop: Stop,
    ) -> (Self, mpsc::Receiver<Started<Duty>>) {
        let (scheduler, started) = Scheduler::start(windlass.settings.clock.clone(), stop);
        for (duty, timing) in own_duties(watching) {
            scheduler.set(duty, timing).await;
        }
        (Self { scheduler, health: watching.health }, started)
    }

    /// Schedules a health check that runs once in each [`period`](Self::period). The checks of different assemblies
    /// are spread over the period.
    pub(super) async fn check(&self, duty: Duty) {
        if let Some(period) = self.health {
            self.scheduler.set(duty, duty_timing::of_checks(period)).await;
        }
    }

    /// Schedules the discovery of a factory. `expression` contains the times of the discovery in UTC.
    pub(super) async fn discover(&self, factory: AssemblyName, expression: CronExpression) {
        self.scheduler.set(Duty::Discover(factory), duty_timing::of_discovery(expression)).await;
    }

    /// Removes a duty from the schedule. If the duty is running, its run continues.
    pub(super) async fn remove(&self, duty: Duty) {
        self.scheduler.remove(duty).await;
    }

    /// Returns the period of health checks; `None` if there are no health checks.
    pub(super) fn checks(&self) -> Option<Duration> {
        self.health
    }

    /// Returns the period of health checks, or zero if there are no health checks.
    pub(super) fn period(&self) -> Duration {
        self.health.unwrap_or_default()
    }

    pub(super) async fn ended(&self, duty: Duty) {
        self.scheduler.ended(duty).await;
    }
}

/// Returns the duties that do not depend on assemblies.
fn own_duties(watching: &Watching) -> Vec<(Duty, Timing)> {
    let prune = watching.prunes.then(|| (Duty::Prune, Timing::every(PRUNE)));
    [(Duty::Refresh, Timing::every(watching.refresh))].into_iter().chain(prune).collect()
}

#[cfg(test)]
mod tests {
    use windlass_engine::schedule::Schedule;
    use windlass_model::Timestamp;

    use super::*;

    /// Returns the times at which a duty starts during the first two days, in hours since the start of the
    /// daemon.
    fn hours(watching: &Watching, of: &Duty) -> Vec<i64> {
        let mut schedule = Schedule::default();
        for (duty, timing) in own_duties(watching) {
            schedule.set(Timestamp::default(), duty, timing);
        }
        let mut hours = Vec::new();
        while let Some(due) = schedule.due().filter(|due| due.as_millis() <= 48 * 3_600_000) {
            for duty in schedule.start(due) {
                schedule.ended(due, &duty);
                if duty == *of {
                    hours.push(due.as_millis() / 3_600_000);
                }
            }
        }
        hours
    }

    #[test]
    fn the_daemon_prunes_at_once_and_then_once_a_day() {
        let watching = Watching { refresh: Duration::from_secs(600), ..Watching::default() };
        assert_eq!(hours(&watching, &Duty::Prune), [0, 24, 48]);
        assert_eq!(hours(&Watching { prunes: false, ..watching }, &Duty::Prune), [0; 0]);
    }
}
