//! Locations with `max-jobs`: the number of jobs that run there at the same time never exceeds `max-jobs`. All calls
//! come to their end, and a stop ends the calls that wait.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, sleep};
use windlass_engine::{EngineError, Request, Seen, Stop};
use windlass_model::ElementName;
use windlass_model::record::{Effect, FailureKind, Intent, ProcessStatus};

use crate::support::{Rig, Sketch, assembly_name, element, literal};

/// The names of the parts. A test with n parts uses the first n names.
const PARTS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The locations of the parts. The location `free` has no limit.
const LOCATIONS: [&str; 3] = ["one", "two", "free"];

fn rig(max_jobs: u32) -> Rig {
    let mut rig = Rig::new(Effect::Repeatable);
    rig.max_jobs = max_jobs.try_into().ok();
    rig
}

/// Returns an assembly with one part for each location.
fn placed(locations: &[&str]) -> Sketch {
    let sketch = Sketch::new(&PARTS[..locations.len()]);
    PARTS.iter().zip(locations).fold(sketch, |sketch, (part, location)| {
        sketch.property(part, "deploymentLocation", literal(location))
    })
}

/// Returns the maximum number of jobs that ran at once at each location.
fn most_at_once(rig: &Rig, locations: &[&str]) -> [usize; 3] {
    let at = |program: &String| {
        let part = PARTS.iter().position(|part| program.starts_with(part)).expect("it is a part");
        locations[part]
    };
    let crowds = rig.jobs.crowds();
    LOCATIONS.map(|location| {
        let sizes = crowds.iter().map(|crowd| crowd.iter().filter(|program| at(program) == location).count());
        sizes.max().unwrap_or_default()
    })
}

#[tokio::test(start_paused = true)]
async fn calls_wait_in_the_order_of_the_plan() {
    let rig = rig(1);
    let ended = rig.up(placed(&["one"; 3]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(
        rig.jobs.effects(),
        [
            "a Install",
            "b Install",
            "c Install",
            "a Configure",
            "b Configure",
            "c Configure",
            "a Start",
            "b Start",
            "c Start"
        ]
    );
    assert_eq!(most_at_once(&rig, &["one"; 3]), [1, 0, 0]);
}

/// A full location takes no slot from other locations.
#[tokio::test(start_paused = true)]
async fn a_full_location_delays_no_other() {
    let mut rig = rig(1);
    rig.options.parallelism = 2;
    for part in ["a", "b", "c"] {
        rig.jobs.last(&format!("{part} Install"), Duration::from_secs(60));
    }
    let locations = ["one", "one", "one", "two", "free"];
    let (engine, holder) = rig.engine();
    let (name, stop) = (assembly_name("t"), Stop::default());
    let request = Request::up(placed(&locations).desired());
    let process = async { engine.prepare(&name, request, &holder, &stop).await?.run(&stop).await };
    let during = async {
        sleep(Duration::from_secs(30)).await;
        rig.states("t").await
    };
    let (ended, states) = tokio::join!(process, during);
    assert_eq!(states, "a Absent, b Absent, c Absent, d Installed, e Installed");
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Completed);
    assert_eq!(most_at_once(&rig, &locations), [1, 1, 1]);
}

/// A killed process leaves its jobs running. The next process counts these jobs before it begins other jobs.
#[tokio::test(start_paused = true)]
async fn jobs_of_a_killed_process_count() {
    let rig = rig(2);
    for part in ["a", "b"] {
        rig.jobs.last(&format!("{part} Install"), Duration::from_secs(60));
    }
    let sketch = placed(&["one"; 4]);
    assert!(rig.up_until_killed(sketch.desired(), Duration::from_secs(1)).await);
    assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Completed);
    assert_eq!(most_at_once(&rig, &["one"; 4]), [2, 0, 0]);
}

/// A killed process leaves calls open, and `max-jobs` is then lowered. The next process must apply the new limit to
/// these open calls, too.
#[tokio::test(start_paused = true)]
async fn calls_that_were_left_open_wait_too() {
    let mut rig = rig(3);
    for part in &PARTS[..3] {
        rig.jobs.last(&format!("{part} Install"), Duration::from_secs(1));
        rig.jobs.lose(&format!("{part} Install"));
    }
    let sketch = placed(&["one"; 3]);
    assert!(rig.up_until_killed(sketch.desired(), Duration::from_millis(500)).await);
    sleep(Duration::from_secs(1)).await;
    let before = rig.jobs.crowds().len();
    rig.max_jobs = 1.try_into().ok();
    assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Completed);
    assert!(rig.jobs.crowds()[before..].iter().all(|crowd| crowd.len() == 1), "{:?}", rig.jobs.crowds());
}

/// A killed process leaves calls open. The next process is stopped when some of these calls still wait for a slot. The
/// stopped process must leave the waiting calls open.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_of_calls_that_were_left_open() {
    let mut rig = rig(3);
    for part in &PARTS[..3] {
        rig.jobs.last(&format!("{part} Install"), Duration::from_secs(60));
    }
    let sketch = placed(&["one"; 3]);
    assert!(rig.up_until_killed(sketch.desired(), Duration::from_secs(1)).await);
    rig.max_jobs = 1.try_into().ok();
    let stop = Stop::default();
    let stopping = async {
        sleep(Duration::from_secs(1)).await;
        stop.request();
    };
    let (ended, ()) = tokio::join!(rig.ask_until("t", Request::up(sketch.desired()), &stop), stopping);
    assert!(matches!(ended, Err(EngineError::Stopped)), "{ended:?}");
    assert_eq!(rig.look("t").await.calls.len(), 2);
    assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Completed);
    assert_eq!(rig.jobs.submitted().len(), 9, "no job ran twice");
}

/// If a health check gets no slot in time, windlass must report that the check could not run. The result says nothing
/// about the health of the part.
#[tokio::test(start_paused = true)]
async fn health_checks_count() {
    for (seconds, waited, unseen) in [(5, 5, 0), (60, 20, 3)] {
        let rig = rig(1);
        rig.strings.see("a Start", windlass_driver::Observation::Reached);
        rig.up(placed(&["one"; 4]).desired()).await.unwrap();
        rig.jobs.last("a Stop", Duration::from_secs(seconds));
        let heal = rig.ask("t", Intent::Heal(element("t__a")));
        let look = async {
            // The healed part is no longer Active then.
            sleep(Duration::from_millis(1)).await;
            let since = Instant::now();
            let seen = rig.engine().0.look(&assembly_name("t")).await.expect("the assembly is there");
            (seen, since.elapsed())
        };
        let (healed, (seen, took)) = tokio::join!(heal, look);
        assert_eq!(healed.unwrap().process.status, ProcessStatus::Completed);
        let parts: Vec<&ElementName> = seen.iter().map(|seen| &seen.element).collect();
        assert_eq!(parts, [&element("t__b"), &element("t__c"), &element("t__d")]);
        assert_eq!(seen.iter().filter(|seen| seen.is_unseen()).count(), unseen, "{seen:?}");
        let is_full = |seen: &Seen| seen.sight.as_ref().is_err_and(|why| why.kind == FailureKind::Capacity);
        assert_eq!(seen.iter().filter(|seen| is_full(seen)).count(), unseen, "{seen:?}");
        assert_eq!(took.as_millis().div_ceil(1000), waited);
    }
}

proptest! {
    #![proptest_config(windlass_lifecycle::testing::few(60))]

    /// With any limits, windlass must never run more jobs at once than permitted, and the last `up` must make all parts
    /// Active. This must hold even if earlier processes are stopped or killed at any moment. A stopped process must
    /// submit no more jobs, and must end as soon as its running jobs have ended.
    #[test]
    fn any_limits(
        at in proptest::collection::vec(0..LOCATIONS.len(), 1..=PARTS.len()),
        related in proptest::collection::vec((0..8_usize, 0..8_usize), 0..4),
        (max_jobs, parallelism) in (1..4_u32, 1..6_usize),
        durations in proptest::collection::vec(1..200_u64, PARTS.len()),
        stopped in proptest::option::of(0..1500_u64),
        killed in proptest::option::of(0..1500_u64),
        effect in prop_oneof![Just(Effect::Once), Just(Effect::Repeatable)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let locations: Vec<&str> = at.iter().map(|at| LOCATIONS[*at]).collect();
            let mut sketch = placed(&locations);
            let mut pairs: Vec<(usize, usize)> =
                related.iter().map(|(one, other)| (one % at.len(), other % at.len())).filter(|(one, other)| one < other).collect();
            pairs.sort_unstable();
            pairs.dedup();
            for (one, other) in pairs {
                sketch = sketch.relate(PARTS[one], PARTS[other]);
            }
            let mut rig = Rig::new(effect);
            rig.max_jobs = max_jobs.try_into().ok();
            rig.options.parallelism = parallelism;
            for (part, millis) in PARTS.iter().zip(&durations) {
                for action in ["Install", "Configure", "Start", "Join"] {
                    rig.jobs.last(&format!("{part} {action}"), Duration::from_millis(*millis));
                }
            }
            if let Some(after) = killed {
                rig.up_until_killed(sketch.desired(), Duration::from_millis(after)).await;
            }
            if let Some(after) = stopped {
                let stop = Stop::default();
                let stopping = async {
                    sleep(Duration::from_millis(after)).await;
                    stop.request();
                    Instant::now()
                };
                let (_, since) = tokio::join!(rig.ask_until("t", Request::up(sketch.desired()), &stop), stopping);
                assert!(since.elapsed() <= Duration::from_millis(210), "{:?}", since.elapsed());
                assert_eq!(rig.jobs.submitted_after(since), 0);
            }
            let ended = rig.up(sketch.desired()).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed);
            assert!(rig.states("t").await.split(", ").all(|part| part.ends_with(" Active")));
            let most = most_at_once(&rig, &locations);
            let limits = [max_jobs as usize, max_jobs as usize, usize::MAX];
            assert!(most.iter().zip(limits).all(|(most, limit)| *most <= limit), "{most:?} of {limits:?}");
            assert!(rig.jobs.crowds().iter().all(|crowd| crowd.len() <= parallelism));
        });
    }
}
