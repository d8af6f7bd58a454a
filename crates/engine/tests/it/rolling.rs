//! Changes of a group in batches: failed relationships, and nodes that leave the group.

use std::time::Duration;

use windlass_engine::{Consent, Desired, Ended, EngineError, Request, Stop};
use windlass_model::assembly::{Cluster, MaxUnavailable, OnFailure, Property, Update};
use windlass_model::record::{Effect, Intent, ProcessStatus};
use windlass_model::{State, Template};
use windlass_store::{Snapshot, Store as _};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element};

/// Returns a group of nodes that change one by one, related to a balancer.
fn nodes(count: u32, value: &str, update: Update) -> Desired {
    let update = Update { max_unavailable: Some(MaxUnavailable::ONE), ..update };
    let cluster = Cluster { minimum: 1, maximum: Some(3), increment: 1 };
    let group = Sketch::new(&["lb"]).group("g", count, cluster).updated("g", update);
    let group = group.relate("g", "lb").made_at(State::Active);
    let value = || Property { value: Some(Template::literal(value)), ..Property::default() };
    (1..=count).fold(group, |group, node| group.property(&format!("g__{node}"), "in", value())).desired()
}

fn rolls_back() -> Update {
    Update { on_failure: OnFailure::Rollback, ..Update::default() }
}

#[tokio::test(start_paused = true)]
async fn a_failed_relationship_is_a_failure_of_its_batch() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", rolls_back())).await.unwrap();
    rig.strings.act("lb Join", Act::Fail);
    let ended = rig.up(nodes(3, "b", rolls_back())).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(ended.failed_group, Some(element("t__g")));
    let stopped = rig.strings.calls().iter().filter(|call| call.ends_with("Stop")).count();
    assert_eq!(stopped, 1, "the next batch does not begin");
}

/// A node that is no longer desired can be excepted from every intent.
#[tokio::test(start_paused = true)]
async fn a_node_that_has_left_the_group_can_be_excepted_again() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", Update::default())).await.unwrap();
    let up = async |value: &str| -> Result<Ended, EngineError> {
        let mut desired = nodes(2, value, Update::default());
        desired.options.except = [element("t__g__3")].into();
        rig.up(desired).await
    };
    for value in ["a", "a", "b", "b"] {
        let ended = up(value).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed);
        assert_eq!(rig.look("t").await.elements[&element("t__g__3")].state, State::Active);
    }
    let error = rig.ask("t", Intent::Heal(element("t__g__3"))).await.unwrap_err().to_string();
    let told = "`g__3` is no longer a part of the assembly; `windlass up` removes it, or keeps it if the descriptor has it again";
    assert_eq!(error, told);
    rig.up(nodes(2, "b", Update::default())).await.unwrap();
    assert!(!rig.look("t").await.elements.contains_key(&element("t__g__3")));
}

/// Returns the rules of a rolling update that may create one additional node.
fn surges() -> Update {
    Update { max_surge: Some("1".parse().expect("valid")), ..Update::default() }
}

/// Executes an intent and the processes that continue it.
async fn whole(rig: &Rig, request: impl Into<Request>) -> Ended {
    let first = rig.ask("t", request).await.expect("it is prepared and runs");
    first.continued(|_, next| rig.ask("t", next)).await.expect("it runs")
}

/// Returns the nodes that exist, with their states.
async fn group(rig: &Rig) -> String {
    let states = rig.states("t").await;
    states.split(", ").filter(|node| node.starts_with("g__")).collect::<Vec<_>>().join(", ")
}

#[tokio::test(start_paused = true)]
async fn an_additional_node_works_while_the_others_change() {
    let rig = Rig::new(Effect::Once);
    // The first installation has no additional nodes.
    whole(&rig, Request::up(nodes(3, "a", surges()))).await;
    assert_eq!(group(&rig).await, "g__1 Active, g__2 Active, g__3 Active");
    let before = rig.strings.calls().len();
    let first = rig.up(nodes(3, "b", surges())).await.unwrap();
    assert_eq!(first.surge, [(element("t__g"), 1)].into());
    assert_eq!(group(&rig).await, "g__1 Active, g__2 Active, g__3 Active, g__4 Active");
    let calls = rig.strings.calls()[before..].to_vec();
    let at = |call: &str| calls.iter().position(|found| found == call).unwrap();
    assert!(at("g__4 Start") < at("g__1 Stop") && at("g__4 Join") < at("g__1 Stop"), "{calls:?}");
    // The removal of the additional node needs no consent, and another `up` makes it too.
    let last = whole(&rig, Request::from(Intent::Retry).with_consent(Consent::None)).await;
    assert_eq!((last.process.status, last.surge.len()), (ProcessStatus::Completed, 0));
    assert_eq!(group(&rig).await, "g__1 Active, g__2 Active, g__3 Active");
    assert!(!rig.look("t").await.elements.contains_key(&element("t__g__4")));
    let again = rig.up(nodes(3, "b", surges())).await.unwrap();
    assert_eq!((again.tally.succeeded, again.surge.len()), (0, 0));
}

/// A rollback after a change with additional nodes leads to the version before the change.
#[tokio::test(start_paused = true)]
async fn a_rollback_skips_the_version_with_additional_nodes() {
    let rig = Rig::new(Effect::Once);
    whole(&rig, Request::up(nodes(3, "a", surges()))).await;
    whole(&rig, Request::up(nodes(3, "b", surges()))).await;
    assert_eq!(desired_value(&rig).await, Some(Template::literal("b")));
    whole(&rig, Intent::Rollback(None)).await;
    assert_eq!(desired_value(&rig).await, Some(Template::literal("a")));
    assert_eq!(group(&rig).await, "g__1 Active, g__2 Active, g__3 Active");
}

/// Returns the value `in` of the first node in the recorded desired topology.
async fn desired_value(rig: &Rig) -> Option<Template> {
    let topology = rig.look("t").await.assembly.topology;
    topology.get(&element("t__g__1")).expect("it is there").properties["in"].value.clone()
}

/// If a rollback fails, `retry` resumes the rollback. If the retry fails too, the assembly does not return to the
/// version whose failure caused the rollback.
#[tokio::test(start_paused = true)]
async fn a_retried_rollback_stays_a_rollback() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", rolls_back())).await.unwrap();
    for _ in 0..3 {
        rig.strings.act("g__1 Start", Act::Fail);
    }
    // The change, its rollback and the first retry fail.
    let rolled = whole(&rig, Request::up(nodes(3, "b", rolls_back()))).await;
    assert_eq!((rolled.process.status, rolled.process.id.0), (ProcessStatus::Failed, 3));
    let retried = whole(&rig, Intent::Retry).await;
    assert_eq!(retried.process.intent.to_string(), "rollback to p1");
    assert_eq!((retried.process.status, retried.process.id.0), (ProcessStatus::Failed, 4));
    assert_eq!(desired_value(&rig).await, Some(Template::literal("a")));
    let retried = whole(&rig, Intent::Retry).await;
    assert_eq!(retried.process.status, ProcessStatus::Completed);
    assert_eq!(desired_value(&rig).await, Some(Template::literal("a")));
    // A retry of the completed rollback is an `up`.
    let again = whole(&rig, Intent::Retry).await;
    assert_eq!((again.process.intent, again.tally.succeeded), (Intent::Up, 0));
}

/// A rollback by hand returns to no version that the assembly never reached. But it still returns to a version that a
/// retry has reached.
#[tokio::test(start_paused = true)]
async fn a_rollback_by_hand_skips_failed_versions() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", rolls_back())).await.unwrap();
    rig.strings.act("g__1 Start", Act::Fail);
    let rolled = whole(&rig, Request::up(nodes(3, "b", rolls_back()))).await;
    assert_eq!(rolled.process.intent.to_string(), "rollback to p1");
    let refused = rig.ask("t", Intent::Rollback(None)).await.unwrap_err();
    assert!(matches!(refused, EngineError::NoVersion { .. }), "{refused}");
    rig.strings.act("g__1 Start", Act::Fail);
    assert_eq!(rig.up(nodes(3, "c", Update::default())).await.unwrap().process.status, ProcessStatus::Failed);
    assert_eq!(rig.ask("t", Intent::Retry).await.unwrap().process.status, ProcessStatus::Completed);
    whole(&rig, Request::up(nodes(3, "d", Update::default()))).await;
    rig.ask("t", Intent::Rollback(None)).await.unwrap();
    assert_eq!(desired_value(&rig).await, Some(Template::literal("c")));
}

/// A group gets an additional node for a change, and the change fails. After the rollback, a further process removes the
/// node. The result must name the rollback.
#[tokio::test(start_paused = true)]
async fn the_result_of_a_rollback_with_additional_nodes_names_the_rollback() {
    let rig = Rig::new(Effect::Once);
    let update = || Update { on_failure: OnFailure::Rollback, ..surges() };
    whole(&rig, Request::up(nodes(3, "a", update()))).await;
    rig.strings.act("g__2 Start", Act::Fail);
    let rolled = whole(&rig, Request::up(nodes(3, "b", update()))).await;
    assert_eq!(rolled.process.status, ProcessStatus::Completed);
    assert!(matches!(rolled.process.intent, Intent::Rollback(_)), "{}", rolled.process.intent);
    assert!(rolled.rolled_back.is_some());
    assert_eq!(group(&rig).await, "g__1 Active, g__2 Active, g__3 Active");
}

/// If windlass is stopped or killed between a failed change and its rollback, `retry` executes the rollback.
#[tokio::test(start_paused = true)]
async fn a_retry_executes_a_rollback_that_was_not_begun() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", rolls_back())).await.unwrap();
    rig.strings.act("g__1 Start", Act::Fail);
    let failed = rig.up(nodes(3, "b", rolls_back())).await.unwrap();
    assert!(failed.needs_rollback());
    let stop = Stop::default();
    stop.request();
    let stopped = failed.continued(|_, next| rig.ask_until("t", next, &stop)).await;
    assert!(matches!(stopped, Err(EngineError::Stopped)), "{stopped:?}");
    let preview = rig.engine().0.preview(&assembly_name("t"), Intent::Retry).await.unwrap();
    assert_eq!(preview.intent.to_string(), "rollback to p1");
    // A heal in between changes nothing about that.
    rig.ask("t", Intent::Heal(element("t__lb"))).await.unwrap();
    let retried = whole(&rig, Intent::Retry).await;
    assert_eq!(retried.process.intent.to_string(), "rollback to p1");
    assert_eq!(retried.process.status, ProcessStatus::Completed);
    assert_eq!(desired_value(&rig).await, Some(Template::literal("a")));
    let again = whole(&rig, Intent::Retry).await;
    assert_eq!((again.process.intent, again.tally.succeeded), (Intent::Up, 0));
}

/// If windlass is stopped during an automatic rollback, `retry` continues the rollback.
#[tokio::test(start_paused = true)]
async fn a_retry_continues_a_stopped_rollback() {
    for after in 0.. {
        let rig = Rig::new(Effect::Repeatable);
        rig.up(nodes(3, "a", rolls_back())).await.unwrap();
        rig.strings.act("g__1 Start", Act::Fail);
        let failed = rig.up(nodes(3, "b", rolls_back())).await.unwrap();
        let stop = Stop::default();
        let signals = async {
            tokio::time::sleep(Duration::from_millis(after)).await;
            stop.request();
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            () = signals => unreachable!("they wait for ever"),
            ended = failed.continued(|_, next| rig.ask_until("t", next, &stop)) => ended,
        };
        if ended.is_ok_and(|ended| ended.process.status == ProcessStatus::Completed) {
            assert!(after > 3);
            return;
        }
        let retried = whole(&rig, Intent::Retry).await;
        assert_eq!(retried.process.intent.to_string(), "rollback to p1", "stopped after {after} ms");
        assert_eq!(retried.process.status, ProcessStatus::Completed, "stopped after {after} ms");
        assert_eq!(desired_value(&rig).await, Some(Template::literal("a")), "stopped after {after} ms");
        assert_eq!(group(&rig).await, "g__1 Active, g__2 Active, g__3 Active");
    }
}

/// An automatic rollback has restored the previous version. Then a repair without a new version fails. Windlass must
/// not roll back again: a failed group causes a rollback only after a change of the version.
#[tokio::test(start_paused = true)]
async fn a_repair_without_a_new_version_does_not_roll_back() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", rolls_back())).await.unwrap();
    rig.strings.act("g__1 Start", Act::Fail);
    let rolled = whole(&rig, Request::up(nodes(3, "b", rolls_back()))).await;
    assert_eq!((rolled.process.status, rolled.process.id.0), (ProcessStatus::Completed, 3));
    rig.strings.act("g__2 Start", Act::Fail);
    let mut replace = nodes(3, "a", rolls_back());
    replace.options.replace = [element("t__g__2")].into();
    let failed = whole(&rig, Request::up(replace)).await;
    assert_eq!((failed.process.status, failed.process.id.0), (ProcessStatus::Failed, 4));
    assert_eq!(failed.failed_group, None);
    assert_eq!(desired_value(&rig).await, Some(Template::literal("a")));
}

/// An automatic rollback returns to the last version that all parts have reached, and not to a version that has failed.
#[tokio::test(start_paused = true)]
async fn an_automatic_rollback_skips_failed_versions() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", Update::default())).await.unwrap();
    rig.strings.act("g__1 Start", Act::Fail);
    let failed = whole(&rig, Request::up(nodes(3, "b", Update::default()))).await;
    assert_eq!((failed.process.status, failed.process.id.0), (ProcessStatus::Failed, 2));
    rig.strings.act("g__1 Start", Act::Fail);
    let rolled = whole(&rig, Request::up(nodes(3, "c", rolls_back()))).await;
    assert_eq!(rolled.process.intent.to_string(), "rollback to p1");
    assert_eq!(rolled.process.status, ProcessStatus::Completed);
    assert_eq!(desired_value(&rig).await, Some(Template::literal("a")));
}

#[tokio::test(start_paused = true)]
async fn heals_leave_additional_nodes_and_down_removes_them() {
    let rig = Rig::new(Effect::Once);
    whole(&rig, Request::up(nodes(3, "a", surges()))).await;
    rig.strings.act("g__2 Start", Act::Fail);
    let failed = rig.up(nodes(3, "b", surges())).await.unwrap();
    assert_eq!(failed.process.status, ProcessStatus::Failed);
    assert!(!failed.needs_closing());
    let healed = whole(&rig, Intent::Heal(element("t__g__4"))).await;
    assert_eq!(healed.surge, [(element("t__g"), 1)].into());
    assert_eq!(group(&rig).await, "g__1 Active, g__2 Inactive, g__3 Active, g__4 Active");
    rig.down("t").await.unwrap();
    assert_eq!(rig.jobs.left(), 0);
    assert!(rig.store.load(&assembly_name("t")).await.unwrap().is_none());
}

/// The nodes of a protected group change, and the group gets an additional node during the change. Windlass must start
/// the additional node first, and remove this node at the end. Windlass must reconfigure the other nodes without
/// stopping them.
#[tokio::test(start_paused = true)]
async fn a_protected_group_has_an_additional_node_too() {
    let rig = Rig::new(Effect::Once);
    let desired = |value: &str| {
        let update = Update { max_unavailable: Some(MaxUnavailable::ONE), ..surges() };
        let cluster = Cluster { minimum: 1, maximum: Some(3), increment: 1 };
        let group = Sketch::new(&["lb"]).group("g", 2, cluster).updated("g", update).relate("g", "lb");
        let value =
            || Property { value: Some(Template::literal(value)), volatile: true, ..Property::default() };
        let nodes = ["g__1", "g__2"].iter();
        let group = nodes.fold(group, |group, node| group.property(node, "in", value()).reconfigurable(node));
        let mut desired = group.desired();
        desired.topology.protect();
        desired
    };
    whole(&rig, Request::up(desired("a"))).await;
    let before = rig.strings.calls().len();
    let last = whole(&rig, Request::up(desired("b")).with_consent(Consent::None)).await;
    assert_eq!((last.process.status, last.surge.len()), (ProcessStatus::Completed, 0));
    let calls = rig.strings.calls()[before..].to_vec();
    let at = |call: &str| calls.iter().position(|found| found == call).unwrap();
    assert!(
        at("g__3 Start") < at("g__1 Reconfigure") && at("g__2 Reconfigure") < at("g__3 Stop"),
        "{calls:?}"
    );
    assert_eq!(group(&rig).await, "g__1 Active, g__2 Active");
    assert!(!calls.contains(&"g__1 Stop".to_owned()), "{calls:?}");
    // The other nodes are still protected.
    let removed = rig.ask("t", Intent::Down).await;
    assert!(matches!(removed, Err(EngineError::Protected(_))), "{removed:?}");
}

/// A process that changes a group of three nodes is killed at any moment. At most one additional node may exist at this
/// moment. The repeated command must complete the change, and remove the additional node.
#[tokio::test(start_paused = true)]
async fn a_killed_change_with_an_additional_node_resumes() {
    for cut in 1..200 {
        let rig = Rig::new(Effect::Once);
        whole(&rig, Request::up(nodes(3, "a", surges()))).await;
        let (engine, holder, life) = rig.mortal(cut, cut % 2 == 0);
        let name = assembly_name("t");
        let stop = Stop::default();
        let one =
            async |request: Request| engine.prepare(&name, request, &holder, &stop).await?.run(&stop).await;
        let whole_change = async {
            let first = one(Request::up(nodes(3, "b", surges()))).await.unwrap();
            first.continued(|_, next| one(next)).await.unwrap()
        };
        let survives = tokio::select! {
            biased;
            () = life.dead() => false,
            _ended = whole_change => true,
        };
        rig.bury(&holder);
        let names = |snapshot: &Snapshot| {
            let there = snapshot.elements.values().filter(|record| record.state != State::Absent);
            there.filter(|record| record.name.as_str().contains("__g__")).count()
        };
        assert!(names(&rig.look("t").await) <= 4);
        let last = whole(&rig, Request::up(nodes(3, "b", surges()))).await;
        assert_eq!((last.process.status, last.surge.len()), (ProcessStatus::Completed, 0), "cut {cut}");
        assert_eq!(group(&rig).await, "g__1 Active, g__2 Active, g__3 Active", "cut {cut}");
        assert!(!rig.look("t").await.elements.contains_key(&element("t__g__4")), "cut {cut}");
        if survives {
            assert!(cut > 20, "the process is killed");
            return;
        }
    }
    panic!("the change has no end");
}
