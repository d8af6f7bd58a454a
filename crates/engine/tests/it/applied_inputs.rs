//! The values that relationships were created with. The operations that remove a pair must receive the same values as
//! the operations that created the pair. If a value changes, windlass must re-create the pair.

use std::time::Duration;

use serde_json::json;
use windlass_engine::{Desired, OutdatedInputs};
use windlass_model::State;
use windlass_model::assembly::Property;
use windlass_model::record::{Assumption, Effect, Given, Intent, ProcessStatus};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, element, literal};

/// Returns an assembly in which `a` publishes `out`. If `size` changes, windlass reconfigures `a`.
///
/// The relationship of `a` and `b` reads `out`. The relationship calls Join of `b` first, then Join of `a`.
fn related(size: &str) -> Sketch {
    let volatile = Property { volatile: true, ..literal(size) };
    let output = Property { read_only: true, ..Property::default() };
    let sketch = Sketch::new(&["a", "b"]).property("a", "size", volatile).property("a", "out", output);
    sketch.reconfigurable("a").relate("a", "b").made_at(State::Inactive).told("out")
}

/// Returns a rig in which `a` publishes 1 on Install and 2 on Reconfigure, even on repeated attempts.
fn rig(effect: Effect) -> Rig {
    let rig = Rig::new(effect);
    for _ in 0..5 {
        rig.strings.act("a Install", Act::Publish(json!({"out": "1"})));
        rig.strings.act("a Reconfigure", Act::Publish(json!({"out": "2"})));
    }
    rig
}

/// Runs `up` and the retries that the CLI would then start automatically. Returns the number of processes.
async fn up(rig: &Rig, desired: Desired) -> u32 {
    let mut processes = 1;
    let first = rig.up(desired).await.expect("nothing stands against it");
    let retry = |_, _| {
        processes += 1;
        rig.retry("t", None)
    };
    let ended = Box::pin(first.continued(retry)).await.expect("nothing stands against it");
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(ended.outdated, OutdatedInputs::default());
    processes
}

/// Returns the arguments of all operations in order; repeated attempts count once.
fn told(rig: &Rig) -> Vec<String> {
    let mut told = rig.strings.told();
    told.dedup();
    told
}

#[tokio::test(start_paused = true)]
async fn a_relationship_is_ceased_with_old_and_created_with_new_values() {
    let rig = rig(Effect::Once);
    up(&rig, related("1").desired()).await;
    assert_eq!(told(&rig), ["b Join 1", "a Join 1"]);
    let made = rig.look("t").await.pairs.into_values().next().unwrap();
    let given = made.given.unwrap();
    assert_eq!(given.into_values().collect::<Vec<_>>(), [Given::Plain("1".into())]);
    assert_eq!(up(&rig, related("2").desired()).await, 2);
    assert_eq!(told(&rig)[2..], ["b Leave 1", "b Join 2", "a Join 2"]);
    // Without another change, nothing is called.
    let calls = rig.strings.calls().len();
    assert_eq!(up(&rig, related("2").desired()).await, 1);
    assert_eq!(rig.strings.calls().len(), calls);
    rig.down("t").await.unwrap();
    assert_eq!(told(&rig)[5..], ["b Leave 2"]);
}

/// The process that re-creates a pair with a new value is killed at any moment. In total, windlass must remove the pair
/// once with the old value, and create it once with the new value.
#[tokio::test(start_paused = true)]
async fn a_killed_process_that_re_creates_it_is_resumed() {
    let mut killed = 0;
    for after in 0..40 {
        let rig = rig(Effect::Once);
        rig.up(related("1").desired()).await.unwrap();
        let ended = rig.up(related("2").desired()).await.unwrap();
        assert_ne!(ended.outdated, OutdatedInputs::default());
        let retry = Intent::Retry;
        killed += u32::from(rig.ask_until_killed("t", retry, Duration::from_millis(after)).await);
        up(&rig, related("2").desired()).await;
        let expected = ["b Join 1", "a Join 1", "b Leave 1", "b Join 2", "a Join 2"];
        assert_eq!(told(&rig), expected, "killed after {after} ms");
        let effects = rig.jobs.effects();
        let count = |what: &str| effects.iter().filter(|effect| *effect == what).count();
        assert_eq!(
            (count("b Leave"), count("b Join"), count("a Join")),
            (1, 2, 2),
            "killed after {after} ms"
        );
    }
    assert!(killed > 20, "{killed}");
}

/// A process is killed during the creation of a pair, and the value then changes. The next process must complete the
/// creation with the old value, and then re-create the pair with the new value.
///
/// The operation that removes the pair must receive the old value, too.
#[tokio::test(start_paused = true)]
async fn half_of_it_is_finished_with_what_it_was_begun_with() {
    let mut half = 0;
    // An Active part is reconfigured instead of re-created. Only in this case does a partly created pair
    // remain.
    let related = |size| related(size).made_at(State::Active).desired();
    for after in 0..120 {
        let rig = rig(Effect::Once);
        rig.up_until_killed(related("1"), Duration::from_millis(after)).await;
        let begun = told(&rig);
        up(&rig, related("2")).await;
        let told = told(&rig);
        let once = ["b Join 1", "a Join 1"];
        let anew = ["b Join 1", "a Join 1", "b Leave 1", "b Join 2", "a Join 2"];
        let first = ["b Join 2", "a Join 2"];
        assert!(told == once || told == anew || told == first, "killed after {after} ms: {told:?}");
        if begun == once[..1] {
            half += 1;
            assert_eq!(told, anew, "killed after {after} ms");
        }
        let now = rig.look("t").await.instances[&element("t__a")].document.clone();
        let now = now["interfaces"]["properties"]["signals"]["out"].as_str().unwrap().to_owned();
        assert_eq!(told.last(), Some(&format!("a Join {now}")), "killed after {after} ms");
    }
    assert!(half > 0);
}

/// A failed creation is undone with its own values, and the next attempt uses the current values.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_failed_is_undone_with_its_values() {
    let rig = rig(Effect::Once);
    rig.strings.act("a Join", Act::Fail);
    rig.up(related("1").desired()).await.unwrap();
    let pair = rig.look("t").await.pairs.into_values().next().unwrap();
    assert!(pair.is_half_made() && pair.given.is_some(), "{pair:?}");
    up(&rig, related("2").desired()).await;
    assert_eq!(told(&rig), ["b Join 1", "a Join 1", "b Leave 1", "b Join 2", "a Join 2"]);
}

/// An operator answers that a lost operation of a pair was done. The pair must then count as created with the arguments
/// of this operation.
#[tokio::test(start_paused = true)]
async fn a_call_answered_as_done_counts_with_its_inputs() {
    let rig = rig(Effect::Once);
    rig.jobs.lose("a Join");
    rig.up(related("1").desired()).await.unwrap();
    rig.retry("t", Some(Assumption::Done)).await.unwrap();
    up(&rig, related("2").desired()).await;
    assert_eq!(told(&rig)[2..], ["b Leave 1", "b Join 2", "a Join 2"]);
}

/// `up` adopts two related parts. windlass must record their pair as created with the current value. If the value then
/// changes, windlass must re-create the pair.
#[tokio::test(start_paused = true)]
async fn an_adopted_part_is_replaced_when_its_values_change() {
    let rig = rig(Effect::Once);
    rig.strings.act("a Adopt", Act::Publish(json!({"out": "1"})));
    let mut desired = related("1").adoptable().desired();
    desired.options.adopt = true;
    rig.up(desired).await.unwrap();
    assert!(told(&rig).is_empty());
    up(&rig, related("2").adoptable().desired()).await;
    assert_eq!(told(&rig), ["b Leave 1", "b Join 2", "a Join 2"]);
}

/// An older windlass did not record the values that a pair was created with. If the values change, windlass must not
/// re-create such a pair. `down` must pass the current values to the operations that remove the pair.
#[tokio::test(start_paused = true)]
async fn a_record_without_values_is_resumed() {
    let rig = rig(Effect::Once);
    up(&rig, related("1").desired()).await;
    rig.forget_given("t").await;
    assert_eq!(up(&rig, related("2").desired()).await, 1);
    assert_eq!(told(&rig).len(), 2);
    rig.down("t").await.unwrap();
    assert_eq!(told(&rig)[2..], ["b Leave 2"]);
}

/// Automatic retries end even if operations change their own arguments.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_served_stays() {
    let rig = rig(Effect::Once);
    for number in 2..10 {
        rig.strings.act("a Join", Act::PublishMore("out", number.to_string().into()));
    }
    let first = rig.up(related("1").desired()).await.unwrap();
    let mut retries = 0;
    let retry = |_, _| {
        retries += 1;
        rig.retry("t", None)
    };
    let last = first.continued(retry).await.unwrap();
    assert_eq!((retries, last.outdated.pairs.len()), (1, 1));
    assert_eq!(told(&rig), ["b Join 1", "a Join 1", "b Leave 1", "b Join 2", "a Join 2"]);
}
