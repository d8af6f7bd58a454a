//! Changes of an existing assembly: upgrades, scaling, heals, other goals, and rollbacks.

use std::time::Duration;

use windlass_engine::{Consent, EngineError, Request, Selection, UpOptions};
use windlass_model::assembly::{Cluster, ElementKind, Property, Update};
use windlass_model::record::{Effect, Intent, ProcessStatus, StepEnd, StepState};
use windlass_model::retention::{Age, Retention};
use windlass_model::{Part, State, Template};
use windlass_store::{LeaseTerms, Store as _, StoreError};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element, literal};

fn sized(size: &str) -> Sketch {
    Sketch::new(&["a", "b"]).relate("a", "b").property("a", "size", literal(size))
}

/// Returns an assembly in which `a` reads the output `address` of `b`.
fn reads_address(volatile: bool) -> Sketch {
    let address = Part::Property { element: element("t__b"), property: "address".parse().expect("valid") };
    let reads = Property { value: Some(Template::Text(vec![address])), volatile, ..Property::default() };
    let publishes = Property { read_only: true, ..Property::default() };
    Sketch::new(&["a", "b"]).property("b", "address", publishes).property("a", "in", reads)
}

/// Returns the calls after the first `before` calls.
fn since(rig: &Rig, before: usize) -> Vec<String> {
    rig.strings.calls()[before..].to_vec()
}

#[tokio::test(start_paused = true)]
async fn another_value_makes_a_part_anew_and_its_relationships_follow() {
    let rig = Rig::new(Effect::Once);
    rig.up(sized("1").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    let ended = rig.up(sized("2").desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    let calls = since(&rig, before);
    let place =
        |call: &str| calls.iter().position(|c| c == call).unwrap_or_else(|| panic!("{call}: {calls:?}"));
    assert!(place("b Leave") < place("a Stop") && place("a Uninstall") < place("a Install"), "{calls:?}");
    assert!(place("a Start") < place("b Join"), "{calls:?}");
    assert!(!calls.contains(&"b Uninstall".to_owned()), "{calls:?}");
    assert_eq!(rig.states("t").await, "a Active, b Active");
    // The version is already installed, so a second `up` calls nothing.
    let before = rig.strings.calls().len();
    rig.up(sized("2").desired()).await.unwrap();
    assert!(since(&rig, before).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_volatile_value_is_reconfigured() {
    let rig = Rig::new(Effect::Once);
    let volatile = |value: &str| {
        let property = Property { volatile: true, ..literal(value) };
        Sketch::new(&["a"]).property("a", "size", property).reconfigurable("a")
    };
    rig.up(volatile("1").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.up(volatile("2").desired()).await.unwrap();
    assert_eq!(since(&rig, before), ["a Reconfigure"]);
    let before = rig.strings.calls().len();
    rig.up(volatile("2").desired()).await.unwrap();
    assert!(since(&rig, before).is_empty());
}

/// A failed Reconfigure may have changed something, so the old values are applied again.
#[tokio::test(start_paused = true)]
async fn old_values_are_applied_again_after_a_failed_reconfigure() {
    let rig = Rig::new(Effect::Once);
    let sized = |value: &str| {
        let property = Property { volatile: true, ..literal(value) };
        Sketch::new(&["a"]).property("a", "size", property)
    };
    let volatile = |value: &str| sized(value).reconfigurable("a").desired();
    rig.up(volatile("1")).await.unwrap();
    for _ in 0..2 {
        rig.strings.act("a Reconfigure", Act::Fail);
    }
    for size in ["2", "1"] {
        let ended = rig.up(volatile(size)).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Failed);
    }
    let before = rig.strings.calls().len();
    rig.up(volatile("1")).await.unwrap();
    assert_eq!(since(&rig, before), ["a Reconfigure"]);
    rig.up(volatile("1")).await.unwrap();
    assert_eq!(since(&rig, before), ["a Reconfigure"], "its values are known now");
    // A part whose Reconfigure failed is replaced if it no longer declares Reconfigure. A failed replacement
    // is repeated.
    rig.strings.act("a Reconfigure", Act::Fail);
    rig.up(volatile("2")).await.unwrap();
    rig.strings.act("a Uninstall", Act::Fail);
    let fixed = || Request::up(sized("1").desired());
    rig.ask("t", fixed()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Inactive");
    let before = rig.strings.calls().len();
    rig.ask("t", fixed()).await.unwrap();
    assert!(since(&rig, before).contains(&"a Install".to_owned()));
    assert_eq!(rig.states("t").await, "a Active");
    let before = rig.strings.calls().len();
    rig.ask("t", fixed()).await.unwrap();
    assert!(since(&rig, before).is_empty());
}

#[tokio::test(start_paused = true)]
async fn parts_that_are_no_longer_wanted_go_and_are_forgotten() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a", "b"]).relate("a", "b").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.up(Sketch::new(&["a", "c"]).relate("a", "c").desired()).await.unwrap();
    let calls = since(&rig, before);
    assert!(calls.contains(&"b Uninstall".to_owned()) && calls.contains(&"c Start".to_owned()), "{calls:?}");
    let snapshot = rig.look("t").await;
    let names: Vec<&str> = snapshot.elements.keys().map(windlass_model::ElementName::local).collect();
    assert_eq!(names, ["t", "a", "c"]);
    assert!(snapshot.pairs.values().all(|pair| pair.created && pair.key.target.local() == "c"));
}

/// A plan that removes or replaces installed parts runs only with consent, and exactly as
/// it was agreed to.
#[tokio::test(start_paused = true)]
async fn a_plan_that_destroys_runs_as_it_was_agreed_to() {
    let rig = Rig::new(Effect::Once);
    rig.up(sized("1").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    let request = |size: &str, consent| Request::up(sized(size).desired()).with_consent(consent);
    let refused = |error: EngineError| match error {
        EngineError::NeedsConsent(plan) => plan,
        other => panic!("{other}"),
    };
    let plan = refused(rig.ask("t", request("2", Consent::None)).await.unwrap_err());
    assert_eq!(plan.changes.elements.len(), 1, "{}", plan.changes);
    let agreed = Consent::Plan(plan.fingerprint);
    let other = refused(rig.ask("t", request("3", agreed.clone())).await.unwrap_err());
    assert_ne!(Consent::Plan(other.fingerprint), agreed);
    assert!(since(&rig, before).is_empty() && rig.look("t").await.processes.is_empty());
    rig.ask("t", request("2", agreed)).await.unwrap();
    assert!(since(&rig, before).contains(&"a Install".to_owned()));
    // A failed part is repaired without consent.
    rig.strings.act("a Install", Act::Fail);
    rig.ask("t", request("3", Consent::Any)).await.unwrap();
    assert_eq!(rig.states("t").await, "a Failed, b Active");
    rig.ask("t", request("3", Consent::None)).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

/// A user has permitted a process to remove or replace certain parts, and the process is interrupted. A retry must need
/// no new consent for these parts, but must need consent for all others. After a completed process, a retry must need
/// consent again.
#[tokio::test(start_paused = true)]
async fn a_retry_destroys_what_its_process_was_permitted_to() {
    let rig = Rig::new(Effect::Repeatable);
    let retry = || Request::from(Intent::Retry).with_consent(Consent::None);
    rig.up(sized("1").desired()).await.unwrap();
    let refused = rig.ask("t", Request::up(sized("2").desired()).with_consent(Consent::None)).await;
    let Err(EngineError::NeedsConsent(plan)) = refused else { panic!("{refused:?}") };
    let agreed = Request::up(sized("2").desired()).with_consent(Consent::Plan(plan.fingerprint));
    assert!(rig.ask_until_killed("t", agreed, Duration::from_millis(1)).await);
    let interrupted = rig.look("t").await.processes.pop().unwrap();
    assert_eq!(interrupted.may_destroy, Some([element("t__a")].into()));
    assert_eq!(rig.states("t").await, "a Active, b Active");
    let retried = rig.ask("t", retry()).await.unwrap();
    assert_eq!(retried.process.may_destroy, interrupted.may_destroy);
    assert_eq!(retried.process.status, ProcessStatus::Completed);

    assert_eq!(rig.states("t").await, "a Active, b Active");
    // After the process has completed, its permission ends.
    let rig = Rig::new(Effect::Repeatable);
    let desired = reads_address(false).desired();
    rig.strings.act("b Install", Act::Publish(serde_json::json!({ "address": "one" })));
    rig.up(desired).await.unwrap();
    rig.strings.act("b Start", Act::PublishMore("address", "two".into()));
    rig.ask("t", Intent::Heal(element("t__b"))).await.unwrap();
    let refused = rig.ask("t", retry()).await;
    assert!(matches!(refused, Err(EngineError::NeedsConsent(_))), "{refused:?}");
}

/// While a process changes the assembly, a request is accepted without consent. The consent is checked when the request
/// is executed.
#[tokio::test(start_paused = true)]
async fn a_request_during_a_change_is_checked_at_its_turn() {
    let rig = Rig::new(Effect::Once);
    rig.up(sized("1").desired()).await.unwrap();
    let (engine, holder) = rig.engine();
    let name = assembly_name("t");
    let request = || Request::up(sized("2").desired()).with_consent(Consent::None);
    let refused = engine.request(&name, request(), &holder).await.unwrap_err();
    assert!(matches!(refused, EngineError::NeedsConsent(_)), "{refused}");
    assert!(rig.up_until_killed(sized("3").desired(), Duration::from_millis(5)).await);
    let pending = engine.request(&name, request(), &holder).await.unwrap();
    rig.up(sized("3").desired()).await.unwrap();
    let refused = engine.take_up(&pending, &holder, &windlass_engine::Stop::default()).await.err().unwrap();
    assert!(matches!(refused, EngineError::NeedsConsent(_)), "{refused}");
}

/// A completed change moves unchanged parts to the new version, too. If the same change is requested again, its preview
/// must contain no changes and no steps.
#[tokio::test(start_paused = true)]
async fn a_change_that_is_through_is_not_shown_again() {
    let rig = Rig::new(Effect::Once);
    let moved = |source: &str| {
        let mut desired = Sketch::new(&["a", "b", "c"]).relate(source, "c").desired();
        let mut relationships = desired.topology.relationships().to_vec();
        relationships[0].name = "uses".parse().unwrap();
        let elements = desired.topology.elements().to_vec();
        desired.topology = windlass_model::Topology::new(assembly_name("t"), elements, relationships);
        desired
    };
    rig.up(moved("a")).await.unwrap();
    rig.up(moved("b")).await.unwrap();
    let again = Request::up(moved("b"));
    let preview = rig.engine().0.preview(&assembly_name("t"), again).await.unwrap();
    assert!(preview.plan.is_empty() && preview.diff.is_empty(), "{}", preview.diff);
}

/// An upgrade that is cut at any moment is resumed or rolled back, and no effect occurs twice.
#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_cut_goes_on_or_back() {
    let old = || Sketch::new(&["a", "b"]).relate("a", "b").property("a", "size", literal("1"));
    let new = || Sketch::new(&["a", "c"]).relate("a", "c").property("a", "size", literal("2"));
    let mut cut = 0;
    for back in [false, true] {
        for after in (0..160).step_by(3) {
            let rig = Rig::new(Effect::Once);
            rig.up(old().desired()).await.unwrap();
            cut += u32::from(rig.up_until_killed(new().desired(), Duration::from_millis(after)).await);
            let wanted = if back { old() } else { new() };
            let ended = rig.up(wanted.desired()).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed, "cut after {after} ms");
            let expected = if back { "a Active, b Active" } else { "a Active, c Active" };
            assert_eq!(rig.states("t").await, expected, "cut after {after} ms");
            let snapshot = rig.look("t").await;
            assert_eq!(snapshot.elements.len(), 3, "cut after {after} ms");
            let effects = rig.jobs.effects();
            for part in ["a", "b", "c"] {
                let count = |what: &str| effects.iter().filter(|e| **e == format!("{part} {what}")).count();
                let there = usize::from(snapshot.elements.contains_key(&element(&format!("t__{part}"))));
                assert_eq!(
                    count("Install"),
                    count("Uninstall") + there,
                    "{part}, cut after {after} ms: {effects:?}"
                );
                assert!(count("Join") >= count("Leave"), "{part}, cut after {after} ms: {effects:?}");
            }
            rig.down("t").await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(rig.jobs.left(), 0);
        }
    }
    assert!(cut > 60, "{cut} cuts");
}

#[tokio::test(start_paused = true)]
async fn a_state_is_reached_from_above_and_below() {
    let rig = Rig::new(Effect::Once);
    let mut desired = sized("1").desired();
    desired.options = UpOptions { goal: State::Inactive, ..UpOptions::default() };
    rig.up(desired).await.unwrap();
    // `b` is Inactive. `a` is Active, because their relationship must be created before `b` becomes Active.
    let inactive = rig.states("t").await;
    assert!(inactive.contains("b Inactive"), "{inactive}");
    let ended = rig.ask("t", Intent::SetState(State::Active)).await.unwrap();
    assert_eq!(ended.process.intent, Intent::SetState(State::Active));
    assert_eq!(rig.states("t").await, "a Active, b Active");
    rig.ask("t", Intent::SetState(State::Installed)).await.unwrap();
    assert_eq!(rig.states("t").await, "a Installed, b Installed");
    // A retry repeats the last intent.
    let before = rig.strings.calls().len();
    rig.retry("t", None).await.unwrap();
    assert!(since(&rig, before).is_empty());
    rig.up(sized("1").desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

/// `g__1` has failed and can't be removed, so windlass must not create the pair of `g__1` with `b`. windlass must
/// create the pair of `g__2` with `b`. windlass must not install `g__2` yet, because its Install also waits for the
/// missing pair of `g__1`.
#[tokio::test(start_paused = true)]
async fn nothing_is_related_to_what_can_not_be_removed() {
    let rig = Rig::new(Effect::Once);
    let cluster = Cluster { minimum: 1, maximum: Some(2), increment: 1 };
    let sketch = Sketch::new(&["b"]).group("g", 2, cluster).relate("g", "b").made_before_source();
    for node in ["g__1 Install", "g__2 Install"] {
        rig.strings.act(node, Act::Fail);
    }
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "b Active, g__1 Failed, g__2 Failed");
    let before = rig.strings.calls().len();
    rig.strings.act("g__1 Uninstall", Act::Fail);
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "b Active, g__1 Failed, g__2 Absent");
    let joins = since(&rig, before).iter().filter(|call| *call == "b Join").count();
    assert_eq!(joins, 1, "{:?}", since(&rig, before));
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "b Active, g__1 Active, g__2 Active");
}

/// A balancer uses the other nodes even if some nodes can't be added.
#[tokio::test(start_paused = true)]
async fn a_failed_pair_does_not_prevent_the_other_pairs() {
    for failing in 1..=3 {
        let rig = Rig::new(Effect::Once);
        let cluster = Cluster { minimum: 1, maximum: Some(8), increment: 1 };
        let sketch = Sketch::new(&["lb"]).group("g", 4, cluster).relate("g", "lb");
        for node in 1..=failing {
            rig.strings.act(&format!("g__{node} Join"), Act::Fail);
        }
        let ended = rig.up(sketch.desired()).await.unwrap();
        assert_eq!((ended.process.status, ended.tally.failed), (ProcessStatus::Failed, 1));
        let created = rig.look("t").await.pairs.into_values().filter(|pair| pair.created).count();
        assert_eq!(created, 4 - failing);
        let history = rig.store.process_history(ended.process.id).await.unwrap().unwrap();
        let failure = history.steps.into_iter().find_map(|step| match step.state {
            StepState::Done(StepEnd::Failed(failure)) => Some(failure.message),
            _ => None,
        });
        let more = ["", "; another pair of nodes failed too", "; 2 other pairs of nodes failed too"];
        assert_eq!(failure, Some(format!("it was told to fail{}", more[failing - 1])));
        assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Completed);
    }
}

/// No pair is created with an element that failed during the same process.
#[tokio::test(start_paused = true)]
async fn nothing_is_related_to_what_has_failed_meanwhile() {
    for failed in ["a", "b"] {
        let mut rig = Rig::new(Effect::Once);
        rig.options.parallelism = 1;
        rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
        rig.strings.act(&format!("{failed} Stop"), Act::Fail);
        let mut desired = Sketch::new(&["a", "b"]).relate("a", "b").made_at(State::Inactive).desired();
        desired.options = UpOptions { goal: State::Inactive, ..UpOptions::default() };
        let before = rig.strings.calls().len();
        let ended = rig.up(desired.clone()).await.unwrap();
        assert_eq!((ended.process.status, ended.tally.failed), (ProcessStatus::Failed, 2));
        assert_eq!(since(&rig, before), ["a Stop", "b Stop"]);
        rig.up(desired).await.unwrap();
        let calls = since(&rig, before + 2);
        assert!(calls.contains(&"b Join".to_owned()), "{calls:?}");
        assert_eq!(rig.states("t").await, "a Inactive, b Inactive");
    }
}

#[tokio::test(start_paused = true)]
async fn a_part_is_healed_and_its_relationships_with_it() {
    let rig = Rig::new(Effect::Once);
    rig.up(sized("1").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    let ended = rig.ask("t", Intent::Heal(element("t__a"))).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    let calls = since(&rig, before);
    let place =
        |call: &str| calls.iter().position(|c| c == call).unwrap_or_else(|| panic!("{call}: {calls:?}"));
    assert!(place("a Stop") < place("a Start") && place("a Start") < place("b Join"), "{calls:?}");
    assert!(!calls.iter().any(|call| call.ends_with("Install")), "{calls:?}");
    let calls = rig.strings.calls().len();
    rig.ask("t", Intent::Heal(element("t"))).await.unwrap();
    assert_eq!(rig.strings.calls().len(), calls, "a heal of all leaves healthy parts alone");
    let error = rig.ask("t", Intent::Heal(element("t__z"))).await.unwrap_err();
    assert!(matches!(error, EngineError::Heal(_)), "{error}");
}

/// An interrupted heal leaves the part Broken in the records, so that the next process heals it.
#[tokio::test(start_paused = true)]
async fn a_heal_that_is_cut_goes_on() {
    for after in 0..30 {
        let rig = Rig::new(Effect::Once);
        rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
        let before = rig.jobs.effects().len();
        if !rig.ask_until_killed("t", Intent::Heal(element("t__a")), Duration::from_millis(after)).await {
            continue;
        }
        rig.retry("t", None).await.unwrap();
        assert_eq!(rig.states("t").await, "a Active");
        let effects = &rig.jobs.effects()[before..];
        assert!(effects.is_empty() || effects == ["a Stop", "a Start"], "cut after {after} ms: {effects:?}");
    }
}

fn cluster() -> Sketch {
    Sketch::new(&["a"]).group("web", 1, Cluster { minimum: 1, maximum: Some(4), increment: 3 })
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_scaled_and_keeps_its_size() {
    let rig = Rig::new(Effect::Once);
    rig.up(cluster().desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, web__1 Active");
    let web = || element("t__web");
    let ended = rig.ask("t", Intent::ScaleOut(web())).await.unwrap();
    assert_eq!(ended.process.intent, Intent::ScaleOut(element("t__web")));
    let grown = "a Active, web__1 Active, web__2 Active, web__3 Active, web__4 Active";
    assert_eq!(rig.states("t").await, grown);
    let error = rig.ask("t", Intent::ScaleOut(web())).await.unwrap_err();
    assert!(matches!(error, EngineError::Scale(_)), "{error}");

    // The same descriptor does not undo the scaling.
    let before = rig.strings.calls().len();
    rig.up(cluster().desired()).await.unwrap();
    assert!(since(&rig, before).is_empty());
    // A change of a property keeps the scaled size.
    rig.up(cluster().property("a", "size", literal("2")).desired()).await.unwrap();
    assert_eq!(rig.states("t").await, grown);
    rig.ask("t", Intent::ScaleIn(web())).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, web__1 Active");
    for nodes in [3, 2] {
        rig.ask("t", Intent::ScaleTo { cluster: web(), nodes }).await.unwrap();
    }
    assert_eq!(rig.states("t").await, "a Active, web__1 Active, web__2 Active");
    let error = rig.ask("t", Intent::ScaleTo { cluster: web(), nodes: 5 }).await.unwrap_err();
    assert!(matches!(error, EngineError::Scale(_)), "{error}");
    rig.ask("t", Intent::ScaleTo { cluster: web(), nodes: 1 }).await.unwrap();
    assert_eq!(rig.look("t").await.elements.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn rollback_restores_the_version() {
    let rig = Rig::new(Effect::Once);
    let first = rig.up(sized("1").desired()).await.unwrap();
    let error = rig.ask("t", Intent::Rollback(None)).await.unwrap_err();
    assert!(matches!(error, EngineError::NoVersion { .. }), "{error}");
    rig.up(Sketch::new(&["a", "b", "c"]).property("a", "size", literal("2")).desired()).await.unwrap();
    rig.up(Sketch::new(&["a", "b", "c"]).property("a", "size", literal("3")).desired()).await.unwrap();
    let back = rig.ask("t", Intent::Rollback(None)).await.unwrap();
    assert_eq!(back.process.intent.to_string(), "rollback to p2");
    assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
    rig.ask("t", Intent::Rollback(Some(first.process.id))).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active");
    let topology = rig.look("t").await.assembly.topology;
    assert_eq!(topology, sized("1").desired().topology);
    assert_eq!(rig.store.versions(&assembly_name("t")).await.unwrap().len(), 5);
}

/// A rollback also restores the goal of the earlier version.
#[tokio::test(start_paused = true)]
async fn rollback_restores_the_state() {
    let rig = Rig::new(Effect::Once);
    rig.up(sized("1").desired()).await.unwrap();
    rig.ask("t", Intent::SetState(State::Installed)).await.unwrap();
    assert_eq!(rig.states("t").await, "a Installed, b Installed");
    let back = rig.ask("t", Intent::Rollback(None)).await.unwrap();
    assert_eq!(back.process.intent.to_string(), "rollback to p1");
    assert_eq!(rig.states("t").await, "a Active, b Active");
    rig.ask("t", Intent::Rollback(None)).await.unwrap();
    assert_eq!(rig.states("t").await, "a Installed, b Installed");
    assert_eq!(rig.look("t").await.assembly.goal, State::Installed);
}

/// Another process requests the stop, without the lease.
#[tokio::test(start_paused = true)]
async fn a_process_that_is_asked_to_stop_stops() {
    let rig = Rig::new(Effect::Repeatable);
    rig.strings.act("a Install", Act::Converge(1000));
    let name = assembly_name("t");
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        rig.store.ask_to_stop(&name, windlass_model::ProcessId(1)).await.unwrap();
    };
    let (ended, ()) = futures::join!(rig.up(Sketch::new(&["a"]).desired()), stopping);
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active");
}

#[tokio::test(start_paused = true)]
async fn existing_instances_are_taken_over() {
    let rig = Rig::new(Effect::Once);
    let mut desired = Sketch::new(&["a", "b"]).relate("a", "b").adoptable().desired();
    desired.options.adopt = true;
    rig.up(desired).await.unwrap();
    assert_eq!(rig.strings.calls(), ["a Adopt", "b Adopt"]);
    assert_eq!(rig.states("t").await, "a Active, b Active");
    assert!(rig.look("t").await.pairs.values().all(|pair| pair.created), "what exists is joined already");
    let mut desired = Sketch::new(&["x"]).desired();
    desired.options.adopt = true;
    let error = Rig::new(Effect::Once).up(desired).await.unwrap_err();
    assert!(error.to_string().contains("`x` can't be adopted"), "{error}");
}

/// A failed adoption leaves nothing to remove: neither a repeated `adopt` nor a later `up` or `down` uninstalls the
/// existing instance.
#[tokio::test(start_paused = true)]
async fn a_failed_adoption_uninstalls_nothing() {
    let desired = |adopt: bool| {
        let mut desired = Sketch::new(&["a"]).adoptable().desired();
        desired.options.adopt = adopt;
        desired
    };
    for install_fails_first in [false, true] {
        let rig = Rig::new(Effect::Once);
        rig.strings.act("a Install", if install_fails_first { Act::Fail } else { Act::Refuse });
        rig.up(desired(false)).await.unwrap();
        rig.strings.act("a Adopt", Act::Fail);
        for status in [ProcessStatus::Failed, ProcessStatus::Completed] {
            assert_eq!(rig.up(desired(true)).await.unwrap().process.status, status);
        }
        assert_eq!(rig.strings.calls(), ["a Install", "a Adopt", "a Adopt"]);
        assert_eq!(rig.states("t").await, "a Active");
    }
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Refuse);
    rig.up(desired(false)).await.unwrap();
    rig.strings.act("a Adopt", Act::Fail);
    rig.up(desired(true)).await.unwrap();
    rig.up(desired(false)).await.unwrap();
    assert_eq!(rig.strings.calls()[2..], ["a Install", "a Configure", "a Start"]);
}

/// A part whose Stop failed may run, and may contain data. So windlass stops the part before it removes or replaces
/// the part. Only `up --replace` omits the Stop.
#[tokio::test(start_paused = true)]
async fn a_failed_stop_is_repeated_before_a_removal() {
    let part = |value: &str| Sketch::new(&["a"]).property("a", "in", literal(value)).creatable("a");
    let mut replaced = part("1").desired();
    replaced.options.replace.insert(element("t__a"));
    let up = |sketch: Sketch| Request::up(sketch.desired());
    let removal = ["a Stop", "a Uninstall", "a Delete"];
    let creation = ["a Create", "a Install", "a Configure", "a Start"];
    for (first, ask, expected) in [
        (Request::from(Intent::Down), Request::from(Intent::Down), removal.to_vec()),
        (Intent::Down.into(), Intent::Retry.into(), removal.to_vec()),
        (up(Sketch::new(&["b"])), up(Sketch::new(&["b"])), removal.to_vec()),
        (up(part("2")), up(part("2")), [&removal[..], &creation].concat()),
        (Intent::Down.into(), Request::up(replaced), [&removal[1..], &creation].concat()),
    ] {
        let rig = Rig::new(Effect::Once);
        rig.up(part("1").desired()).await.unwrap();
        rig.strings.act("a Stop", Act::Fail);
        assert_eq!(rig.ask("t", first).await.unwrap().process.status, ProcessStatus::Failed);
        let before = rig.strings.calls().len();
        assert_eq!(rig.ask("t", ask).await.unwrap().process.status, ProcessStatus::Completed);
        let mut calls = since(&rig, before);
        calls.retain(|call| call.starts_with('a'));
        assert_eq!(calls, expected);
    }
}

/// `set-state Installed` would uninstall a Failed part and install it again. If the part is protected, windlass must
/// refuse the command. Otherwise, windlass must require consent.
#[tokio::test(start_paused = true)]
async fn a_lower_state_replaces_a_failed_part_only_with_consent() {
    let desired = |protected: bool| {
        let mut desired = Sketch::new(&["a"]).desired();
        if protected {
            desired.topology.protect();
        }
        desired
    };
    for protected in [false, true] {
        let rig = Rig::new(Effect::Once);
        rig.up(desired(protected)).await.unwrap();
        rig.strings.act("a Stop", Act::Fail);
        let stopped = rig.ask("t", Intent::SetState(State::Inactive)).await.unwrap();
        assert_eq!(stopped.process.status, ProcessStatus::Failed);
        let lower = Request::from(Intent::SetState(State::Installed)).with_consent(Consent::None);
        let refused = rig.ask("t", lower).await;
        let is_refused = match refused {
            Err(EngineError::Protected(_)) => protected,
            Err(EngineError::NeedsConsent(_)) => !protected,
            _ => false,
        };
        assert!(is_refused, "{refused:?}");
        assert!(!rig.strings.calls().iter().any(|call| call == "a Uninstall"));
    }
}

/// Reconfigure applies only volatile properties. If another property has a new value, the part must stay outdated, even
/// if the Reconfigure call passes this value to the driver.
#[tokio::test(start_paused = true)]
async fn a_reconfigure_does_not_apply_other_properties() {
    let rig = Rig::new(Effect::Once);
    let motd = |text: &str| Property { volatile: true, ..literal(text) };
    let desired = |text: &str| {
        let address = Part::Property { element: element("t__b"), property: "address".parse().unwrap() };
        let reads = Property { value: Some(Template::Text(vec![address])), ..Property::default() };
        let publishes = Property { read_only: true, ..Property::default() };
        let update = Update { max_unavailable: Some("1".parse().unwrap()), ..Update::default() };
        let cluster = Cluster { minimum: 1, maximum: Some(2), increment: 1 };
        let sketch = Sketch::new(&["b"]).group("g", 2, cluster).updated("g", update);
        let sketch = sketch.property("b", "address", publishes).property("b", "motd", motd(text));
        let node = |sketch: Sketch, node| {
            sketch.property(node, "in", reads.clone()).property(node, "motd", motd(text)).reconfigurable(node)
        };
        ["g__1", "g__2"].into_iter().fold(sketch.reconfigurable("b"), node).desired()
    };
    rig.strings.act("b Install", Act::Publish(serde_json::json!({ "address": "one" })));
    rig.up(desired("x")).await.unwrap();
    rig.strings.act("b Reconfigure", Act::PublishMore("address", "two".into()));
    let before = rig.strings.calls().len();
    let first = rig.up(desired("y")).await.unwrap();
    let calls = since(&rig, before);
    assert_eq!(calls.last().unwrap(), "g__2 Reconfigure", "after b: {calls:?}");
    assert_eq!(first.outdated.parts, [element("t__g__1"), element("t__g__2")]);
    let next = Request::up(desired("y")).with_consent(Consent::None);
    assert!(matches!(rig.ask("t", next).await, Err(EngineError::NeedsConsent(_))));
}

/// An output of `b` changes while `a` exists. `a` must be stopped and uninstalled with the value that it was installed
/// with, and the new instance gets the new value.
#[tokio::test(start_paused = true)]
async fn an_instance_is_removed_with_the_values_that_it_has() {
    for removes in [false, true] {
        let rig = Rig::new(Effect::Once);
        let desired = reads_address(false).desired();
        rig.strings.act("b Install", Act::Publish(serde_json::json!({ "address": "one" })));
        rig.up(desired.clone()).await.unwrap();
        rig.strings.act("b Start", Act::PublishMore("address", "two".into()));
        rig.ask("t", Intent::Heal(element("t__b"))).await.unwrap();
        let before = rig.strings.inputs().len();
        let ended = if removes { rig.ask("t", Intent::Down).await } else { rig.up(desired).await };
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Completed);
        let mut expected = vec!["a Stop one", "a Uninstall one"];
        if !removes {
            expected.extend(["a Install two", "a Configure two", "a Start two"]);
        }
        assert_eq!(rig.strings.inputs()[before..], expected);
    }
}

/// A heal stops and starts a part, and leaves changed values to the next `up`. So it never replaces the part.
#[tokio::test(start_paused = true)]
async fn a_heal_leaves_changed_values_to_the_next_up() {
    for volatile in [false, true] {
        let rig = Rig::new(Effect::Once);
        let sketch = reads_address(volatile);
        let desired = if volatile { sketch.reconfigurable("a") } else { sketch }.desired();
        rig.strings.act("b Install", Act::Publish(serde_json::json!({ "address": "one" })));
        rig.up(desired.clone()).await.unwrap();
        rig.strings.act("b Start", Act::PublishMore("address", "two".into()));
        rig.ask("t", Intent::Heal(element("t__b"))).await.unwrap();
        let before = rig.strings.calls().len();
        let healed = rig.ask("t", Intent::Heal(element("t__a"))).await.unwrap();
        assert_eq!(healed.process.status, ProcessStatus::Completed);
        assert_eq!(since(&rig, before), ["a Stop", "a Start"], "volatile: {volatile}");
        let (before, next) = (rig.strings.calls().len(), rig.up(desired).await.unwrap());
        assert_eq!(next.process.status, ProcessStatus::Completed);
        assert!(!since(&rig, before).is_empty(), "the next up applies the value");
    }
}

/// The additional node of a rolling change is still an additional node after its removal has failed.
#[tokio::test(start_paused = true)]
async fn a_retry_of_up_knows_an_additional_node_that_is_left() {
    let rig = Rig::new(Effect::Once);
    let desired = |value: &str| {
        let update = Update { max_surge: Some("1".parse().unwrap()), ..Update::default() };
        let cluster = Cluster { minimum: 1, maximum: Some(3), increment: 1 };
        let group = Sketch::new(&[]).group("g", 2, cluster).updated("g", update);
        let group =
            ["g__1", "g__2"].iter().fold(group, |group, node| group.property(node, "in", literal(value)));
        group.desired()
    };
    rig.up(desired("a")).await.unwrap();
    rig.strings.act("g__3 Uninstall", Act::Fail);
    let first = rig.up(desired("b")).await.unwrap();
    let closed = first.continued(|_, next| rig.ask("t", next)).await.unwrap();
    assert_eq!(closed.process.status, ProcessStatus::Failed);
    let again = Request::up(desired("b")).with_consent(Consent::None);
    let again = rig.ask("t", again).await.unwrap();
    assert_eq!(again.process.status, ProcessStatus::Completed);
    assert_eq!(rig.states("t").await, "g__1 Active, g__2 Active");
}

/// The new version of an assembly no longer contains the protected part `b`. An `up` that is limited to `a` must leave
/// `b` protected.
#[tokio::test(start_paused = true)]
async fn a_left_part_keeps_its_protection() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a", "b"]).protected("b").desired()).await.unwrap();
    let without = |target: &[&str]| {
        let mut desired = Sketch::new(&["a"]).desired();
        desired.options.target = target.iter().map(|part| element(part)).collect();
        desired
    };
    assert!(matches!(rig.up(without(&[])).await, Err(EngineError::Protected(_))));
    rig.up(without(&["t__a"])).await.unwrap();
    let removed = rig.up(without(&[])).await;
    assert!(matches!(removed, Err(EngineError::Protected(_))), "{removed:?}");
    assert_eq!(rig.look("t").await.elements[&element("t__b")].state, State::Active);
}

/// A `down` is limited to some parts. Then a prune removes the records of old processes. A retry of the `down` must
/// still have the same limits.
#[tokio::test(start_paused = true)]
async fn a_prune_keeps_the_limits_of_the_last_process() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    let except = [element("t__b")].into();
    let down = Request::from(Intent::Down).limited_to(Selection { except, ..Selection::default() });
    rig.ask("t", down).await.unwrap();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let (engine, holder) = rig.engine();
    let keep = Retention { keep: 0, older: Age(Duration::ZERO) };
    engine.upkeep().prune(&assembly_name("t"), keep, &holder).await.unwrap();
    rig.ask("t", Intent::Retry).await.unwrap();
    assert_eq!(rig.states("t").await, "a Absent, b Active");
}

/// An element was created with a secret of an older version. The store must keep this secret as long as the element
/// exists.
#[tokio::test(start_paused = true)]
async fn versions_have_secrets_of_their_own() {
    let rig = Rig::new(Effect::Once);
    let secret = |value: &str| Sketch::new(&["a"]).secret("a", "password", value);
    rig.up(secret("one").desired()).await.unwrap();
    rig.up(secret("two").desired()).await.unwrap();
    let snapshot = rig.look("t").await;
    let mut values: Vec<_> =
        snapshot.secrets.values().map(|value| String::from_utf8_lossy(value.expose()).into_owned()).collect();
    values.sort();
    assert_eq!(values, ["one", "two"]);
    assert!(snapshot.assembly.topology.elements().iter().any(|e| e.kind == ElementKind::Resource));
    let before = rig.strings.calls().len();
    rig.up(secret("two").desired()).await.unwrap();
    assert!(since(&rig, before).is_empty());
}

/// A prune takes longer than the term of a lease. The prune must not lose its lease.
#[tokio::test(start_paused = true)]
async fn a_long_prune_keeps_its_lease() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    // The records of 200 processes are removed by one batch.
    for _ in 0..202 {
        rig.ask("t", Intent::Retry).await.unwrap();
    }
    tokio::time::sleep(Duration::from_hours(1)).await;
    let (engine, holder) = rig.engine();
    let expires = LeaseTerms::default().expire_after;
    rig.store.set_latency(expires);
    let keep = Retention { keep: 0, older: Age(Duration::ZERO) };
    let name = assembly_name("t");
    let upkeep = engine.upkeep();
    let (pruned, other) = tokio::join!(upkeep.prune(&name, keep, &holder), async {
        tokio::time::sleep(expires * 3 / 2).await;
        rig.store.lease(&name, &rig.engine().1).await
    });
    assert!(matches!(other, Err(StoreError::Held { .. })), "{other:?}");
    assert!(pruned.unwrap().processes.len() > 200);
}

/// A pair still exists, but the present version no longer declares its relationship. A prune must keep the older
/// version that declares the relationship, because this version contains the operations that remove the pair.
#[tokio::test(start_paused = true)]
async fn a_prune_keeps_the_version_of_a_left_pair() {
    let rig = Rig::new(Effect::Once);
    let unrelated = || Sketch::new(&["a", "b", "c"]).desired();
    rig.up(unrelated()).await.unwrap();
    let mut related = Sketch::new(&["a", "b", "c"]).relate("a", "b").made_at(State::Active).desired();
    related.options.target = [element("t__a"), element("t__b")].into();
    rig.up(related).await.unwrap();
    assert_eq!(rig.look("t").await.pairs.len(), 1);
    // This process removes the relationship from the desired version, and leaves its pair.
    let mut limited = unrelated();
    limited.options.target = [element("t__c")].into();
    limited.options.replace = [element("t__c")].into();
    rig.up(limited).await.unwrap();
    assert_eq!(rig.look("t").await.pairs.len(), 1);
    tokio::time::sleep(Duration::from_hours(1)).await;
    let (engine, holder) = rig.engine();
    let keep = Retention { keep: 0, older: Age(Duration::ZERO) };
    engine.upkeep().prune(&assembly_name("t"), keep, &holder).await.unwrap();
    let before = rig.strings.calls().len();
    rig.up(unrelated()).await.unwrap();
    assert_eq!(rig.strings.calls()[before..], ["b Leave"]);
    assert_eq!(rig.look("t").await.pairs.len(), 0);
}
