//! Pauses between the batches of a rolling change.

use std::time::Duration;

use tokio::time::Instant;
use windlass_engine::{Desired, Stop};
use windlass_model::assembly::{Cluster, MaxUnavailable, Property, Update};
use windlass_model::record::{Effect, Event, ProcessStatus, StepState};
use windlass_model::{ProcessId, Seq, Template};
use windlass_store::Store as _;

use crate::support::{Rig, Sketch, assembly_name};

const PAUSE: Duration = Duration::from_secs(60);

/// A duration that is shorter than a pause, and longer than the total duration of all calls of a change.
const HALF: Duration = Duration::from_secs(30);

/// Returns three nodes that change one by one, with a pause between them.
fn nodes(value: &str) -> Desired {
    let update = Update {
        max_unavailable: Some(MaxUnavailable::ONE),
        pause: Some("60s".parse().expect("valid")),
        ..Update::default()
    };
    let cluster = Cluster { minimum: 1, maximum: None, increment: 1 };
    let group = Sketch::new(&["a"]).group("g", 3, cluster).updated("g", update).relate("g", "a");
    let value = || Property { value: Some(Template::literal(value)), ..Property::default() };
    ["g__1", "g__2", "g__3"].iter().fold(group, |group, node| group.property(node, "in", value())).desired()
}

/// Returns a rig in which the nodes are up with the value `a`.
async fn brought_up() -> Rig {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes("a")).await.expect("they come up");
    rig
}

/// Returns the nodes that have stopped so far, in order.
fn stopped(rig: &Rig) -> Vec<String> {
    let calls = rig.strings.calls();
    calls.iter().filter_map(|call| Some(call.strip_suffix(" Stop")?.to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn the_next_batch_begins_after_the_pause() {
    let rig = brought_up().await;
    let begun = Instant::now();
    let ended = rig.up(nodes("b")).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(stopped(&rig), ["g__1", "g__2", "g__3"]);
    let passed = begun.elapsed();
    assert!(passed >= 2 * PAUSE && passed < 2 * PAUSE + HALF, "{passed:?}");
    let events = rig.store.events_of(&assembly_name("t"), Seq::START, usize::MAX).await.unwrap();
    let pauses: Vec<String> = events
        .into_iter()
        .filter_map(|event| match event.draft.body {
            Event::StepEnded { title, millis, .. } if title.contains("pause") => {
                Some(format!("{title}: {millis}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        pauses,
        ["g pause of 1m before batch 2 of 3: 60000", "g pause of 1m before batch 3 of 3: 60000"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_pause_at_once() {
    let rig = brought_up().await;
    let (stop, begun) = (Stop::default(), Instant::now());
    let signal = async {
        tokio::time::sleep(HALF).await;
        stop.request();
    };
    let (ended, ()) =
        tokio::join!(rig.ask_until("t", windlass_engine::Request::up(nodes("b")), &stop), signal);
    let ended = ended.unwrap();
    assert_eq!((ended.process.status, ended.tally.cancelled), (ProcessStatus::Cancelled, 1));
    assert!(begun.elapsed() < HALF + Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(stopped(&rig), ["g__1"]);
    let begun = Instant::now();
    rig.up(nodes("b")).await.unwrap();
    assert_eq!(stopped(&rig), ["g__1", "g__2", "g__3"]);
    assert!(begun.elapsed() >= 2 * PAUSE, "the stopped pause begins anew: {:?}", begun.elapsed());
}

/// A process is killed during a pause. The next process must begin the pause anew, and then continue with the next
/// batch.
#[tokio::test(start_paused = true)]
async fn a_killed_pause_begins_anew_before_the_next_batch() {
    let rig = brought_up().await;
    assert!(rig.up_until_killed(nodes("b"), HALF).await);
    let process = rig.look("t").await.processes.last().map(|process| process.id);
    let steps = rig.store.process_history(process.unwrap_or(ProcessId(0))).await.unwrap().unwrap().steps;
    let running: Vec<&str> = steps
        .iter()
        .filter(|step| step.state == StepState::Running)
        .map(|step| step.title.as_str())
        .collect();
    assert_eq!(running, ["g pause of 1m before batch 2 of 3"]);
    // The process is killed in the same pause again.
    assert!(rig.up_until_killed(nodes("b"), HALF).await);
    assert_eq!(stopped(&rig), ["g__1"]);
    let begun = Instant::now();
    let ended = rig.up(nodes("b")).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(stopped(&rig), ["g__1", "g__2", "g__3"]);
    let passed = begun.elapsed();
    assert!(passed >= 2 * PAUSE && passed < 2 * PAUSE + HALF, "{passed:?}");
}

/// A process is killed during a pause, and the next process starts after the end of this pause. The next process must
/// not repeat the pause.
#[tokio::test(start_paused = true)]
async fn a_killed_pause_that_would_be_over_is_over() {
    let rig = brought_up().await;
    assert!(rig.up_until_killed(nodes("b"), HALF).await);
    tokio::time::sleep(PAUSE).await;
    let begun = Instant::now();
    rig.up(nodes("b")).await.unwrap();
    assert_eq!(stopped(&rig), ["g__1", "g__2", "g__3"]);
    let passed = begun.elapsed();
    assert!(passed >= PAUSE && passed < PAUSE + HALF, "{passed:?}");
}
