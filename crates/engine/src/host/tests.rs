use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use windlass_model::Timestamp;

use super::*;

/// A clock that follows the paused time of tokio.
struct Paused(tokio::time::Instant);

impl Clock for Paused {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

/// A machine that starts the timers `first` at its beginning. Each time a timer is due, the machine starts one
/// timer of `later`. The machine ends at a stop.
#[derive(Default)]
struct Alarms {
    first: Vec<(u8, i64)>,
    later: Vec<(u8, i64)>,
    due: Vec<(i64, u8)>,
    cancelled: Option<i64>,
}

impl Alarms {
    fn wake(now: Timestamp, (timer, wait): (u8, i64)) -> Output<Self> {
        Output::Wake { timer, at: now.plus_millis(wait) }
    }
}

impl Machine for Alarms {
    type Event = ();
    type Command = ();
    type Timer = u8;

    fn on(&mut self, now: Timestamp, input: Input<Self>) -> Vec<Output<Self>> {
        match input {
            Input::Begin => self.first.iter().map(|timer| Self::wake(now, *timer)).collect(),
            Input::Event(()) => Vec::new(),
            Input::Due(timer) => {
                self.due.push((now.as_millis(), timer));
                self.later.pop().map(|timer| Self::wake(now, timer)).into_iter().collect()
            }
            Input::Cancel => {
                self.cancelled = Some(now.as_millis());
                vec![Output::Command(()), Output::Finished]
            }
        }
    }
}

/// A dispatcher whose commands take 10 ms each.
struct Slow;

impl Dispatcher<Alarms> for Slow {
    fn dispatch(&mut self, (): ()) -> Option<Work<()>> {
        Some(Box::pin(async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(None)
        }))
    }

    async fn incoming(&mut self) -> Incoming<()> {
        std::future::pending().await
    }
}

/// Runs a machine, and requests a stop after `stop` milliseconds. Returns the time at which the run ends.
fn run(machine: &mut Alarms, stop: u64) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let clock = Arc::new(Paused(tokio::time::Instant::now()));
        let asked = Stop::default();
        let host = Host::new(clock.clone(), asked.clone());
        let later = async {
            tokio::time::sleep(Duration::from_millis(stop)).await;
            asked.request();
        };
        let mut slow = Slow;
        let (ended, ()) = tokio::join!(host.run(machine, &mut slow, std::future::pending()), later);
        ended.unwrap();
        clock.now().as_millis()
    })
}

#[test]
fn a_timer_that_is_started_again_has_a_new_time() {
    let mut alarms = Alarms { first: vec![(1, 30), (2, 20), (1, 50), (2, 5)], ..Alarms::default() };
    assert_eq!(run(&mut alarms, 100), 110);
    assert_eq!(alarms.due, [(5, 2), (50, 1)]);
}

#[test]
fn a_stop_makes_all_timers_due_and_awaits_work() {
    let mut alarms = Alarms { first: vec![(1, 1000), (2, 500)], later: vec![(3, 1000)], ..Alarms::default() };
    assert_eq!(run(&mut alarms, 40), 50);
    assert_eq!(alarms.cancelled, Some(40));
    assert_eq!(alarms.due, [(40, 1), (40, 2), (40, 3)]);
}

/// Returns the expected value of [`Alarms::due`]. Each entry of the result is a time in milliseconds, and the timer
/// that is due at this time. Each entry of `first` and `later` is a timer, and its wait in milliseconds. The timers
/// `first` start at the time 0. Whenever a timer is due, the function removes the last entry from `later`, and
/// starts the timer of this entry immediately.
fn expected(first: &[(u8, i64)], mut later: Vec<(u8, i64)>) -> Vec<(i64, u8)> {
    let mut running: BTreeMap<u8, i64> = first.iter().copied().collect();
    let mut due = Vec::new();
    while let Some((at, timer)) = running.iter().map(|(timer, at)| (*at, *timer)).min() {
        running.remove(&timer);
        due.push((at, timer));
        running.extend(later.pop().map(|(timer, wait)| (timer, at + wait)));
    }
    due
}

fn timers() -> impl Strategy<Value = Vec<(u8, i64)>> {
    proptest::collection::vec((0..6_u8, 0..200_i64), 0..20)
}

proptest! {
    #[test]
    fn each_timer_is_due_once_and_at_its_time(first in timers(), later in timers()) {
        let mut alarms = Alarms { first: first.clone(), later: later.clone(), ..Alarms::default() };
        run(&mut alarms, 100_000);
        prop_assert_eq!(alarms.due, expected(&first, later));
    }
}
