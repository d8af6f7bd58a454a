//! The repeated duties of the daemon, and their times.

use std::time::Duration;

use windlass_cron::{CronExpression, Zone};
use windlass_engine::schedule::{Schedule, Timing};
use windlass_model::{AssemblyName, Timestamp};

/// Settings of the daemon.
#[derive(Debug, Clone)]
pub struct Watching {
    /// Interval of health checks of the assemblies whose policies read metrics; `None` disables them.
    pub health: Option<Duration>,
    /// Interval at which the daemon looks for changes by other processes.
    pub refresh: Duration,
    /// Whether old processes and versions are removed, at the start and then once a day.
    pub prunes: bool,
}

impl Default for Watching {
    /// Health every minute, changes every five seconds, and prunes.
    fn default() -> Self {
        Self { health: Some(Duration::from_secs(60)), refresh: Duration::from_secs(5), prunes: true }
    }
}

/// Interval between two prunes.
const PRUNE: Duration = Duration::from_secs(24 * 60 * 60);

/// A repeated duty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Duty {
    /// Looks for changes by other processes.
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

/// The duties and their times.
pub(super) struct Duties {
    schedule: Schedule<Duty>,
    health: Option<Duration>,
}

impl Duties {
    pub(super) fn new(now: Timestamp, watching: &Watching) -> Self {
        let mut schedule = Schedule::default();
        schedule.set(now, Duty::Refresh, Timing::every(watching.refresh));
        if watching.prunes {
            schedule.set(now, Duty::Prune, Timing::every(PRUNE));
        }
        Self { schedule, health: watching.health }
    }

    /// Begins checks of health. Those of many assemblies are spread over the interval.
    pub(super) fn check(&mut self, now: Timestamp, duty: Duty) {
        if let Some(period) = self.health {
            self.schedule.set(now, duty, Timing::Every { period, jitter: period });
        }
    }

    /// Begins to discover the instances of a factory, at the times of an expression in UTC.
    pub(super) fn discover(&mut self, now: Timestamp, factory: AssemblyName, expression: CronExpression) {
        let timing = Timing::Cron { expression, zone: Zone::UTC };
        self.schedule.set(now, Duty::Discover(factory), timing);
    }

    /// Ends a duty for ever.
    pub(super) fn remove(&mut self, duty: &Duty) {
        self.schedule.remove(duty);
    }

    /// Returns the time at which the next duty is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.schedule.due()
    }

    /// Returns the duties that are due. Each has to be [`ended`](Self::ended).
    pub(super) fn start(&mut self, now: Timestamp) -> Vec<Duty> {
        self.schedule.start(now)
    }

    pub(super) fn ended(&mut self, now: Timestamp, duty: &Duty) {
        self.schedule.ended(now, duty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the hours of two days in which a duty starts.
    fn hours(duties: &mut Duties, of: &Duty) -> Vec<i64> {
        let mut hours = Vec::new();
        while let Some(due) = duties.due().filter(|due| due.as_millis() <= 48 * 3_600_000) {
            for duty in duties.start(due) {
                duties.ended(due, &duty);
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
        let mut duties = Duties::new(Timestamp::default(), &watching);
        assert_eq!(hours(&mut duties, &Duty::Prune), [0, 24, 48]);
        let mut duties = Duties::new(Timestamp::default(), &Watching { prunes: false, ..watching });
        assert_eq!(hours(&mut duties, &Duty::Prune), [0; 0]);
    }

    #[test]
    fn a_removed_assembly_is_not_checked() {
        let mut duties =
            Duties::new(Timestamp::default(), &Watching { prunes: false, ..Watching::default() });
        let shop: AssemblyName = "shop".parse().unwrap();
        duties.check(Timestamp::default(), Duty::Check(shop.clone()));
        assert_eq!(duties.start(Timestamp::default()), [Duty::Refresh, Duty::Check(shop.clone())]);
        duties.remove(&Duty::Check(shop.clone()));
        duties.ended(Timestamp::default(), &Duty::Check(shop));
        assert_eq!(duties.start(Timestamp::from_millis(600_000)), []);
    }
}
