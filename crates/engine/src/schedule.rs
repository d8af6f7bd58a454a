//! The schedule: a pure machine that takes the time, and returns the duties that are due. A
//! [`Scheduler`](crate::Scheduler) runs it.
//!
//! A duty is anything that is done repeatedly, such as the health check of an assembly. Two runs of one duty
//! never overlap. Several fire times of a duty may pass while the duty runs, or while nobody asks the schedule.
//! These fire times count as one: the duty starts once, as soon as possible.
//!
//! ```
//! # use std::time::Duration;
//! # use windlass_engine::schedule::{Schedule, Timing};
//! # use windlass_model::Timestamp;
//! let second = |second: i64| Timestamp::from_millis(second * 1000);
//! let mut schedule = Schedule::default();
//! schedule.set(second(0), "check", Timing::every(Duration::from_secs(60)));
//! assert_eq!(schedule.start(second(0)), ["check"]);
//!
//! // The check takes longer than its period, and three fire times pass.
//! assert!(schedule.start(second(200)).is_empty());
//! schedule.ended(second(215), &"check");
//! assert_eq!(schedule.start(second(215)), ["check"]);
//! schedule.ended(second(216), &"check");
//! assert_eq!(schedule.due(), Some(second(240)));
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_cron::{CronExpression, Zone};
use windlass_model::Timestamp;

use crate::host::{Input, Machine, Output};

/// The times at which a duty should start. A duty is anything that is done repeatedly, for example a health check.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Timing {
    /// At once, and then after each period.
    Every {
        /// The interval between two fire times, at least 1 ms.
        period: Duration,
        /// The maximum delay of a fire time. The first fire time has no delay. All later fire times of a duty have the
        /// same delay.
        ///
        /// A hash of the duty determines the delay. Duties that were added at the same time usually have different
        /// delays, so they do not always start together.
        jitter: Duration,
    },
    /// At the fire times of a cron expression. If the expression has no further fire time, the duty does not
    /// start again.
    Cron {
        /// The cron expression of the duty.
        expression: CronExpression,
        /// The time zone in which the expression is read.
        zone: Zone,
    },
}

impl Timing {
    /// Returns the timing of a duty that starts at once, and then after each period, without jitter.
    pub fn every(period: Duration) -> Self {
        Self::Every { period, jitter: Duration::ZERO }
    }

    /// Returns the first fire time of a new duty.
    fn first(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every { .. } => Some(now),
            Self::Cron { .. } => self.next(now, now, 0),
        }
    }

    /// Returns the next fire time of a duty, later than `now`. Returns `None` if a cron expression has no further fire
    /// time.
    ///
    /// For a cron expression, the result is the first of its fire times after `now`. For a periodic duty, `planned` is
    /// the previous fire time. The next fire time is one period plus `delay` milliseconds later. If this time has
    /// passed, the function adds the least number of whole periods that leads to a time after `now`.
    ///
    /// The caller passes the duty's delay only for the second fire time of a periodic duty, and otherwise passes 0. The
    /// later fire times are nevertheless delayed, because each of them is computed from the previous one.
    fn next(&self, planned: Timestamp, now: Timestamp, delay: i64) -> Option<Timestamp> {
        match self {
            Self::Every { period, .. } => {
                let period = millis(*period).max(1);
                let first = planned.plus_millis(period.saturating_add(delay));
                let late = i64::try_from(now.millis_since(first)).unwrap_or(i64::MAX);
                let passed = if first > now { 0 } else { late / period + 1 };
                Some(first.plus_millis(passed.saturating_mul(period)))
            }
            Self::Cron { expression, zone } => {
                let after = UNIX_EPOCH + Duration::from_millis(now.millis_since(Timestamp::default()));
                expression.next_in(zone, after).and_then(timestamp)
            }
        }
    }

    /// Returns the delay of a periodic duty in milliseconds, from 0 to the jitter. A hash of `key` determines the
    /// delay. For a cron expression, the result is 0.
    fn delay<K: Hash>(&self, key: &K) -> i64 {
        let Self::Every { jitter, .. } = self else { return 0 };
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let most = u64::try_from(millis(*jitter)).unwrap_or_default();
        i64::try_from(hasher.finish() % most.saturating_add(1)).unwrap_or_default()
    }
}

/// Contains repeated tasks, called duties, and determines when each duty starts next.
///
/// A value of type `K` identifies a duty. See the [module](self) for an example.
#[derive(Debug, Clone)]
pub struct Schedule<K> {
    duties: BTreeMap<K, Duty>,
    /// The duties (repeated tasks) that wait for their next fire time, sorted by this time. While a duty runs, it is
    /// not in this set.
    agenda: BTreeSet<(Timestamp, K)>,
    /// The argument `now` of the last call of [`set`](Self::set), [`start`](Self::start) or [`ended`](Self::ended).
    /// An earlier `now` in the next call shows that the clock was set back.
    now: Timestamp,
}

#[derive(Debug, Clone)]
struct Duty {
    /// The timing; `None` if the duty was removed during its run. Such a duty is kept until the run ends.
    timing: Option<Timing>,
    /// The next fire time; `None` if the duty has no further fire time.
    next: Option<Timestamp>,
    is_running: bool,
    /// The fire time for which the duty was last started. The start may be later than this time. `None` before the
    /// first start.
    fired: Option<Timestamp>,
}

impl<K> Default for Schedule<K> {
    fn default() -> Self {
        Self { duties: BTreeMap::new(), agenda: BTreeSet::new(), now: Timestamp::default() }
    }
}

/// A change of a [`Schedule`]. If a [host](crate::host) runs the schedule, the host passes the change to the
/// schedule as an event. `K` identifies a duty, which is a repeated task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Change<K> {
    /// Adds a duty, or changes its timing, as [`Schedule::set`] does.
    Set(K, Box<Timing>),
    /// Removes a duty, as [`Schedule::remove`] does.
    Remove(K),
    /// Records that the run of a duty has ended, as [`Schedule::ended`] does. The duty may then start again.
    Ended(K),
}

/// A duty that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started<K> {
    /// The duty that starts.
    pub duty: K,
    /// The fire time, at which the duty should start. The actual start may be later, for example because the previous
    /// run of the duty has just ended.
    pub fired: Timestamp,
}

/// Makes the schedule a state machine; see [`Machine`]. The commands of this machine start the duties that are due.
impl<K: Ord + Clone + Hash> Machine for Schedule<K> {
    type Event = Change<K>;
    type Command = Started<K>;
    type Timer = ();

    fn on(&mut self, now: Timestamp, input: Input<Self>) -> Vec<Output<Self>> {
        match input {
            Input::Begin | Input::Due(()) => {}
            Input::Event(Change::Set(key, timing)) => self.set(now, key, *timing),
            Input::Event(Change::Remove(key)) => self.remove(&key),
            Input::Event(Change::Ended(key)) => self.ended(now, &key),
            Input::Cancel => return vec![Output::Finished],
        }
        let mut outputs = Vec::new();
        for duty in self.start(now) {
            let fired = self.fired(&duty).unwrap_or(now);
            outputs.push(Output::Command(Started { duty, fired }));
        }
        // Each input starts the timer again, because the clock of the system may have been set in the meantime.
        outputs.extend(self.due().map(|at| Output::Wake { timer: (), at }));
        outputs
    }
}

impl<K: Ord + Clone + Hash> Schedule<K> {
    /// Adds a duty, or changes its timing. If the duty has this timing already, nothing changes.
    pub fn set(&mut self, now: Timestamp, key: K, timing: Timing) {
        self.tell(now);
        if self.duties.get(&key).is_some_and(|duty| duty.timing.as_ref() == Some(&timing)) {
            return;
        }
        self.remove(&key);
        // `remove` keeps the entry of a duty that still runs.
        let running = self.duties.get(&key);
        let is_running = running.is_some_and(|duty| duty.is_running);
        let fired = running.and_then(|duty| duty.fired);
        let next = timing.first(now);
        if let Some(next) = next.filter(|_| !is_running) {
            self.agenda.insert((next, key.clone()));
        }
        self.duties.insert(key, Duty { timing: Some(timing), next, is_running, fired });
    }

    /// Removes a duty (a repeated task). If a running duty is removed and added again, its next run starts only after
    /// the present run has ended.
    pub fn remove(&mut self, key: &K) {
        let Some(mut duty) = self.duties.remove(key) else { return };
        if let Some(next) = duty.next.take() {
            self.agenda.remove(&(next, key.clone()));
        }
        if duty.is_running {
            self.duties.insert(key.clone(), Duty { timing: None, ..duty });
        }
    }

    /// Returns the time at which the next duty is due; `None` if no duty will be due.
    pub fn due(&self) -> Option<Timestamp> {
        self.agenda.first().map(|(next, _)| *next)
    }

    /// Returns the fire time for which a duty was last started; `None` before its first start.
    pub fn fired(&self, key: &K) -> Option<Timestamp> {
        self.duties.get(key)?.fired
    }

    /// Starts the duties that are due, and returns them in the order of their fire times. A duty counts as
    /// running until [`ended`](Self::ended) is called for it.
    pub fn start(&mut self, now: Timestamp) -> Vec<K> {
        self.tell(now);
        let mut started = Vec::new();
        while let Some((next, key)) = self.agenda.first().filter(|(next, _)| *next <= now).cloned() {
            self.agenda.remove(&(next, key.clone()));
            if let Some(duty) = self.duties.get_mut(&key) {
                let timing = duty.timing.as_ref();
                let delay = timing.filter(|_| duty.fired.is_none()).map_or(0, |timing| timing.delay(&key));
                duty.next = timing.and_then(|timing| timing.next(next, now, delay));
                (duty.is_running, duty.fired) = (true, Some(next));
                started.push(key);
            }
        }
        started
    }

    /// Records that a run of the duty `key` has ended. A *duty* is a repeated task, and a *fire time* is a time at
    /// which the duty should start. If a fire time has passed during the run, the next run is due at once.
    pub fn ended(&mut self, now: Timestamp, key: &K) {
        self.tell(now);
        let Some(duty) = self.duties.get_mut(key).filter(|duty| duty.is_running) else { return };
        duty.is_running = false;
        match (&duty.timing, duty.next) {
            (None, _) => drop(self.duties.remove(key)),
            (_, Some(next)) => drop(self.agenda.insert((next, key.clone()))),
            (_, None) => {}
        }
    }

    /// Records the time. If the clock was set back, periodic duties get earlier fire times. So no periodic duty
    /// waits longer than the sum of its period and its jitter.
    fn tell(&mut self, now: Timestamp) {
        let last = std::mem::replace(&mut self.now, now);
        if now >= last {
            return;
        }
        for (key, duty) in &mut self.duties {
            let (Some(Timing::Every { period, jitter }), Some(next)) = (&duty.timing, duty.next) else {
                continue;
            };
            let latest = now.plus_millis(millis(*period).saturating_add(millis(*jitter)));
            if next > latest {
                duty.next = Some(latest);
                if self.agenda.remove(&(next, key.clone())) {
                    self.agenda.insert((latest, key.clone()));
                }
            }
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
}
