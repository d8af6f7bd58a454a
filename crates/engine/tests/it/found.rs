//! Health checks before a plan: `up` repairs the parts that the checks find gone or broken.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use windlass_driver::Observation;
use windlass_engine::{Condition, EngineError, Preview, Request};
use windlass_model::Template;
use windlass_model::assembly::Property;
use windlass_model::record::{Effect, Intent};

use crate::support::puppet::{Act, Spoil};
use crate::support::{Rig, Sketch, assembly_name, element};

const WITHIN: Duration = Duration::from_secs(30);

fn sketch() -> Sketch {
    Sketch::new(&["a", "b"]).relate("a", "b").left_by_both()
}

/// Returns a rig in which two related parts are Active, and the number of calls so far.
async fn up() -> (Rig, usize) {
    let rig = Rig::new(Effect::Repeatable);
    rig.strings.observe_in_batches();
    rig.up(sketch().desired()).await.expect("they come up");
    let calls = rig.strings.calls().len();
    (rig, calls)
}

fn refreshed() -> Request {
    Request::up(sketch().desired()).refreshed(Some(WITHIN))
}

fn since(rig: &Rig, before: usize) -> Vec<String> {
    rig.strings.calls().split_off(before)
}

async fn preview(rig: &Rig) -> Preview {
    rig.engine().0.preview(&assembly_name("t"), refreshed()).await.expect("there is a plan")
}

/// Nothing is called on an instance that no longer exists, not even to cease its relationships.
#[tokio::test(start_paused = true)]
async fn a_part_that_is_gone_is_installed_again() {
    let (rig, before) = up().await;
    rig.strings.see("b Start", Observation::Absent);
    rig.ask("t", refreshed()).await.unwrap();
    assert_eq!(since(&rig, before), ["a Leave", "b Install", "b Configure", "b Join", "a Join", "b Start"]);
    assert_eq!(rig.states("t").await, "a Active, b Active");
    assert!(rig.look("t").await.pairs.values().all(|pair| pair.created));
}

#[tokio::test(start_paused = true)]
async fn a_total_outage_ends_active_by_one_up() {
    let (rig, before) = up().await;
    for part in ["a", "b"] {
        rig.strings.see(&format!("{part} Start"), Observation::Absent);
    }
    rig.ask("t", refreshed()).await.unwrap();
    let calls = since(&rig, before);
    assert!(
        !calls.iter().any(|call| ["Leave", "Stop", "Uninstall"].iter().any(|word| call.ends_with(word))),
        "{calls:?}"
    );
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

#[tokio::test(start_paused = true)]
async fn a_broken_part_is_restarted() {
    let (rig, before) = up().await;
    rig.strings.see("b Start", Observation::Differs("it is not active".to_owned()));
    rig.ask("t", refreshed()).await.unwrap();
    let calls = since(&rig, before);
    assert!(calls.contains(&"b Stop".to_owned()) && !calls.contains(&"b Uninstall".to_owned()), "{calls:?}");
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

/// A check that could not run, or gives no answer in time, heals nothing.
#[tokio::test(start_paused = true)]
async fn a_check_that_tells_nothing_heals_nothing() {
    for spoil in [Spoil::NotRun, Spoil::Hangs, Spoil::Fails, Spoil::Panics] {
        let (rig, before) = up().await;
        rig.strings.spoil("b", spoil);
        rig.strings.see("b Start", Observation::Absent);
        let started = tokio::time::Instant::now();
        rig.ask("t", refreshed()).await.unwrap();
        assert_eq!(since(&rig, before), [""; 0], "{spoil:?}");
        assert!(started.elapsed() < WITHIN + Duration::from_secs(10), "{spoil:?}: {:?}", started.elapsed());
    }
}

/// Killed at any millisecond, the repair is resumed, and calls nothing on the lost instance.
#[tokio::test(start_paused = true)]
async fn an_interrupted_repair_is_resumed() {
    for after in 0.. {
        let (rig, before) = up().await;
        rig.strings.see("b Start", Observation::Absent);
        let killed = rig.ask_until_killed("t", refreshed(), Duration::from_millis(after)).await;
        rig.strings.see("b Start", Observation::Absent);
        rig.ask("t", refreshed()).await.unwrap();
        let calls = since(&rig, before);
        assert!(
            !calls.iter().any(|call| ["b Leave", "b Uninstall", "b Stop"].contains(&call.as_str())),
            "killed after {after} ms: {calls:?}"
        );
        assert_eq!(rig.states("t").await, "a Active, b Active", "killed after {after} ms");
        if !killed {
            assert!(after > 3);
            return;
        }
    }
}

/// The part `b` no longer exists. The process that heals `b` is killed at any millisecond, and then resumed. The new
/// instance of `b` publishes the same output as before. Therefore, windlass must not change the part that reads this
/// output.
#[tokio::test(start_paused = true)]
async fn an_interrupted_heal_with_the_same_outputs_leaves_the_readers() {
    let output = Property { read_only: true, ..Property::default() };
    let value = Template::property(element("t__b"), "out".parse().expect("valid"));
    let reads = Property { value: Some(value), ..Property::default() };
    let sketch = Sketch::new(&["a", "b"]).property("b", "out", output).property("a", "in", reads);
    let heal = || Request::from(Intent::Heal(element("t__b"))).refreshed(Some(WITHIN));
    for (after, publisher) in (0..).flat_map(|after| [(after, "b Install"), (after, "b Start")]) {
        let rig = Rig::new(Effect::Repeatable);
        rig.strings.observe_in_batches();
        for _ in 0..4 {
            rig.strings.act(publisher, Act::Publish(json!({"out": "1"})));
        }
        // If Start publishes the output, then `a` gets the output only by the second `up`.
        for _ in 0..2 {
            rig.up(sketch.desired()).await.unwrap();
        }
        let before = rig.strings.calls().len();
        rig.strings.see("b Start", Observation::Absent);
        let killed = rig.ask_until_killed("t", heal(), Duration::from_millis(after)).await;
        rig.strings.see("b Start", Observation::Absent);
        rig.ask("t", heal()).await.unwrap();
        rig.up(sketch.desired()).await.unwrap();
        let calls = since(&rig, before);
        assert!(
            !calls.iter().any(|call| call.starts_with("a ")),
            "{publisher}, killed after {after} ms: {calls:?}"
        );
        assert_eq!(rig.states("t").await, "a Active, b Active", "killed after {after} ms");
        if !killed && publisher == "b Start" {
            assert!(after > 3);
            return;
        }
    }
}

/// A part that was re-created publishes another value first, and then the value of its former instance. The part that
/// reads the output still has this value, so it is not changed.
#[tokio::test(start_paused = true)]
async fn an_interim_output_leaves_the_readers() {
    let output = Property { read_only: true, ..Property::default() };
    let value = Template::property(element("t__b"), "out".parse().expect("valid"));
    let reads = Property { value: Some(value), ..Property::default() };
    let sketch = Sketch::new(&["a", "b"]).property("b", "out", output).property("a", "in", reads);
    let rig = Rig::new(Effect::Repeatable);
    rig.strings.observe_in_batches();
    let publish = |call: &str, value: &str| rig.strings.act(call, Act::Publish(json!({"out": value})));
    publish("b Install", "1");
    rig.up(sketch.desired()).await.unwrap();
    for (last, is_changed) in [("1", false), ("2", true)] {
        publish("b Install", "interim");
        publish("b Start", last);
        let before = rig.strings.calls().len();
        rig.strings.see("b Start", Observation::Absent);
        let heal = Request::from(Intent::Heal(element("t__b"))).refreshed(Some(WITHIN));
        rig.ask("t", heal).await.unwrap();
        rig.up(sketch.desired()).await.unwrap();
        let calls = since(&rig, before);
        assert_eq!(calls.iter().any(|call| call.starts_with("a ")), is_changed, "{last}: {calls:?}");
    }
}

/// The health checks of a preview find that a part no longer exists. The preview must not record this result.
#[tokio::test(start_paused = true)]
async fn a_preview_records_nothing() {
    let (rig, before) = up().await;
    let records = rig.look("t").await;
    rig.strings.see("b Start", Observation::Absent);
    let preview = preview(&rig).await;
    assert_eq!(preview.diff.elements[0].to_string(), "+ b added again, it no longer exists");
    let after = rig.look("t").await;
    assert_eq!(
        (after.elements, after.pairs, since(&rig, before)),
        (records.elements, records.pairs, Vec::new())
    );
}

/// A request that expects other conditions is refused.
#[tokio::test(start_paused = true)]
async fn other_conditions_than_observed_are_refused() {
    let (rig, before) = up().await;
    let expected: BTreeMap<_, _> = [(element("t__b"), Condition::Gone)].into();
    let refused = rig.ask("t", refreshed().as_observed(expected.clone())).await.unwrap_err();
    assert!(
        matches!(&refused, EngineError::OtherConditions(_, parts) if *parts == [element("t__b")]),
        "{refused}"
    );
    assert_eq!(since(&rig, before), [""; 0]);
    rig.strings.see("b Start", Observation::Absent);
    rig.ask("t", refreshed().as_observed(expected)).await.unwrap();
}

/// A heal of the assembly repairs what is not up, and leaves the rest alone.
#[tokio::test(start_paused = true)]
async fn a_heal_of_all_repairs_only_what_is_not_up() {
    let sketch = Sketch::new(&["a", "b", "c"]);
    let rig = Rig::new(Effect::Repeatable);
    rig.strings.observe_in_batches();
    rig.strings.act("c Start", Act::Fail);
    rig.up(sketch.desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.strings.see("b Start", Observation::Differs("it is not active".to_owned()));
    let all = || Request::from(Intent::Heal(element("t"))).refreshed(Some(WITHIN));
    rig.ask("t", all()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
    assert!(!since(&rig, before).iter().any(|call| call.starts_with("a ")));
    let before = rig.strings.calls().len();
    rig.ask("t", all()).await.unwrap();
    assert_eq!(since(&rig, before), [""; 0]);
}
