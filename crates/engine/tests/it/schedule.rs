//! Tests the schedule machine. Duties must start at their fire times. Two runs of the same duty must never overlap,
//! whatever happens.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use windlass_cron::Zone;
use windlass_engine::schedule::{Schedule, Timing};
use windlass_model::Timestamp;

/// The time 2026-01-01T00:00:00Z in milliseconds.
const BEGIN: i64 = 1_767_225_600_000;

fn second(second: i64) -> Timestamp {
    Timestamp::from_millis(BEGIN + second * 1000)
}

fn every(seconds: u64) -> Timing {
    Timing::every(Duration::from_secs(seconds))
}

fn cron(text: &str, zone: Zone) -> Timing {
    Timing::Cron { expression: text.parse().expect("it is an expression"), zone }
}

/// Plays a schedule in which each duty ends immediately after its start. Returns the times of all starts, in seconds
/// after `BEGIN`.
fn starts(schedule: &mut Schedule<&'static str>, until: i64) -> Vec<i64> {
    let mut seconds = Vec::new();
    while let Some(due) = schedule.due().filter(|due| *due <= second(until)) {
        for duty in schedule.start(due) {
            seconds.push((due.as_millis() - BEGIN) / 1000);
            schedule.ended(due, &duty);
        }
    }
    seconds
}

#[test]
fn a_period_begins_at_once_and_does_not_drift() {
    let mut schedule = Schedule::default();
    schedule.set(second(0), "check", every(60));
    assert_eq!(starts(&mut schedule, 200), [0, 60, 120, 180]);
}

#[test]
fn cron_expressions_fire_in_their_zone() {
    let mut schedule = Schedule::default();
    schedule.set(second(0), "discover", cron("0 0 1 * * ?", Zone::UTC));
    assert_eq!(starts(&mut schedule, 100_000), [3600, 90_000]);
    // Berlin is an hour ahead in winter.
    schedule.set(second(100_000), "discover", cron("0 0 1 * * ?", "Europe/Berlin".parse().expect("a zone")));
    assert_eq!(starts(&mut schedule, 200_000), [172_800]);
    schedule.set(second(200_000), "discover", cron("0 0 1 * * ? 2025", Zone::UTC));
    assert_eq!(schedule.due(), None);
}

#[test]
fn fire_times_that_pass_during_a_run_count_as_one() {
    let mut schedule = Schedule::default();
    schedule.set(second(0), "check", every(10));
    assert_eq!(schedule.start(second(0)), ["check"]);
    assert_eq!(schedule.due(), None);
    assert!(schedule.start(second(45)).is_empty());
    schedule.ended(second(45), &"check");
    assert_eq!(schedule.start(second(45)), ["check"]);
    schedule.ended(second(46), &"check");
    assert_eq!(schedule.due(), Some(second(50)));
}

#[test]
fn fire_times_while_nobody_asked_count_as_one() {
    let mut schedule = Schedule::default();
    schedule.set(second(0), "check", every(10));
    schedule.set(second(0), "discover", cron("0/10 * * * * ?", Zone::UTC));
    for duty in schedule.start(second(0)) {
        schedule.ended(second(0), &duty);
    }
    assert_eq!(schedule.start(second(3605)), ["check", "discover"]);
    for duty in ["check", "discover"] {
        schedule.ended(second(3605), &duty);
    }
    assert_eq!(schedule.due(), Some(second(3610)));
}

#[test]
fn jitter_spreads_duties_that_begin_together() {
    let mut schedule = Schedule::default();
    let minute = Duration::from_secs(60);
    for duty in 0..600 {
        schedule.set(second(0), duty, Timing::Every { period: minute, jitter: minute });
    }
    let mut busiest = 0;
    for duty in schedule.start(second(0)) {
        schedule.ended(second(0), &duty);
    }
    for at in 1..=240 {
        let started = schedule.start(second(at));
        busiest = busiest.max(started.len());
        for duty in started {
            schedule.ended(second(at), &duty);
        }
    }
    assert!(busiest < 30, "{busiest} start in one second, and 10 on average");
}

#[test]
fn a_clock_that_is_set_back_delays_by_one_period_at_most() {
    let mut schedule = Schedule::default();
    schedule.set(second(7200), "check", every(60));
    assert_eq!(schedule.start(second(7200)), ["check"]);
    schedule.ended(second(7200), &"check");
    assert!(schedule.start(second(3600)).is_empty());
    assert_eq!(schedule.due(), Some(second(3660)));
}

#[test]
fn a_duty_knows_the_fire_time_of_its_start() {
    let mut schedule = Schedule::default();
    schedule.set(second(0), "discover", cron("0 0 1 * * ?", Zone::UTC));
    assert_eq!(schedule.fired(&"discover"), None);
    assert_eq!(schedule.start(second(3700)), ["discover"]);
    assert_eq!(schedule.fired(&"discover"), Some(second(3600)), "not the time at which it started late");
    schedule.ended(second(3800), &"discover");
    assert_eq!(schedule.fired(&"discover"), Some(second(3600)));
}

#[test]
fn a_changed_timing_waits_for_the_end_of_the_run() {
    let mut schedule = Schedule::default();
    schedule.set(second(0), "check", every(60));
    assert_eq!(schedule.start(second(0)), ["check"]);
    schedule.set(second(5), "check", every(10));
    assert!(schedule.start(second(20)).is_empty());
    schedule.ended(second(21), &"check");
    assert_eq!(schedule.start(second(21)), ["check"]);
}

#[test]
fn a_removed_duty_that_is_added_again_waits_for_its_end() {
    let mut schedule = Schedule::default();
    schedule.set(second(0), "check", every(60));
    assert_eq!(schedule.start(second(0)), ["check"]);
    schedule.remove(&"check");
    assert_eq!(schedule.due(), None);
    schedule.set(second(1), "check", every(60));
    assert!(schedule.start(second(1)).is_empty());
    schedule.ended(second(2), &"check");
    assert_eq!(schedule.start(second(2)), ["check"]);
    schedule.remove(&"check");
    schedule.ended(second(3), &"check");
    assert_eq!(schedule.due(), None);
}

#[derive(Debug, Clone)]
enum Happening {
    Set(u8, u64, u64),
    Remove(u8),
    /// The time advances by this many milliseconds, or is set back.
    Time(i64),
    /// All running duties end, except those in a bit mask.
    Ended(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        2 => (0..6_u8, 1..5000_u64, 0..5000_u64).prop_map(|(duty, period, jitter)| Happening::Set(duty, period, jitter)),
        1 => (0..6_u8).prop_map(Happening::Remove),
        6 => (0..9000_i64).prop_map(Happening::Time),
        1 => (-90_000_000..0_i64).prop_map(Happening::Time),
        4 => any::<u8>().prop_map(Happening::Ended),
    ]
}

proptest! {
    /// Two runs of the same duty must never overlap. A removed duty must not start. Each waiting duty must start within
    /// its period plus its jitter.
    #[test]
    fn duties_run_on_time_and_never_beside_themselves(happenings in proptest::collection::vec(happening(), 1..80)) {
        let mut schedule = Schedule::default();
        let mut now = second(0);
        let mut timings: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
        let mut running = BTreeSet::new();
        for happening in happenings {
            match happening {
                Happening::Set(duty, period, jitter) => {
                    let (every, spread) = (Duration::from_millis(period), Duration::from_millis(jitter));
                    schedule.set(now, duty, Timing::Every { period: every, jitter: spread });
                    timings.insert(duty, (period, jitter));
                }
                Happening::Remove(duty) => {
                    schedule.remove(&duty);
                    timings.remove(&duty);
                }
                Happening::Time(by) => now = now.plus_millis(by),
                Happening::Ended(mask) => {
                    let ended: Vec<u8> = running.iter().copied().filter(|duty| mask & (1_u8 << *duty) == 0).collect();
                    for duty in ended {
                        running.remove(&duty);
                        schedule.ended(now, &duty);
                    }
                }
            }
            for duty in schedule.start(now) {
                prop_assert!(timings.contains_key(&duty));
                prop_assert!(running.insert(duty), "{} runs beside itself", duty);
            }
            // Every due duty has been started, and every waiting duty is due within its period.
            prop_assert!(schedule.due().is_none_or(|due| due > now));
            let idle = timings.iter().filter(|(duty, _)| !running.contains(duty));
            if let Some(latest) = idle.map(|(_, (period, jitter))| period + jitter).min() {
                let due = schedule.due().expect("something waits");
                prop_assert!(due.millis_since(now) <= latest, "{} ms", due.millis_since(now));
            }
        }
    }
}
