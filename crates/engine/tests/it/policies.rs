//! Processes that nobody has requested by hand, and heals: they change the instances of no other parts.

use std::time::Duration;

use windlass_engine::{Ended, EngineError, Prepared, Request, Resumed, Stop, resume};
use windlass_model::State;
use windlass_model::assembly::{Cluster, MaxUnavailable, Update};
use windlass_model::record::{Effect, Intent, ProcessStatus};
use windlass_store::Store as _;

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element, literal};

const CHECKS: Duration = Duration::from_secs(30);

/// Returns a database and a group of servers whose nodes change one by one.
fn shop(servers: u32, value: &str) -> Sketch {
    let cluster = Cluster { minimum: 1, maximum: Some(5), increment: 1 };
    let update = Update { max_unavailable: Some(MaxUnavailable::ONE), ..Update::default() };
    let shop = Sketch::new(&["db"]).group("g", servers, cluster).updated("g", update);
    let shop =
        (1..=servers).fold(shop, |shop, node| shop.property(&format!("g__{node}"), "in", literal(value)));
    shop.property("db", "in", literal(value))
}

async fn prepared(rig: &Rig, intent: Intent) -> Result<Prepared, EngineError> {
    let (engine, holder) = rig.engine();
    let request = Request::of_policy(intent, CHECKS);
    engine.prepare(&assembly_name("t"), request, &holder.serving(true), &Stop::default()).await
}

/// Executes the intent of a policy. Returns the result, and the omitted changes.
async fn policy(rig: &Rig, intent: Intent) -> (Ended, Option<String>) {
    let prepared = prepared(rig, intent).await.expect("it is not refused");
    let omitted = prepared.omitted().map(ToString::to_string);
    (prepared.run(&Stop::default()).await.expect("the store works"), omitted)
}

fn scale_out() -> Intent {
    Intent::ScaleOut(element("t__g"))
}

fn scale_in() -> Intent {
    Intent::ScaleIn(element("t__g"))
}

/// An `up` has left a part as it is. A scale policy must leave this part, too, and must say so. A further process of the
/// daemon must not replace the part either.
#[tokio::test(start_paused = true)]
async fn a_scale_policy_leaves_the_parts_that_an_up_has_excepted() {
    for excepted in ["t__db", "t__g"] {
        let rig = Rig::new(Effect::Once);
        rig.up(shop(3, "a").desired()).await.unwrap();
        let mut up = shop(3, "b").desired();
        up.options.except = [element(excepted)].into();
        rig.up(up).await.unwrap();
        let before = rig.strings.calls().len();
        let (out, omitted) = policy(&rig, scale_out()).await;
        let omitted = omitted.unwrap();
        assert!(
            omitted.starts_with(if excepted == "t__db" { "`db` (replaced" } else { "`g__1` (replaced" }),
            "{omitted}"
        );
        assert_eq!(out.process.status, ProcessStatus::Completed);
        let ended = out.continued(|_, next| rig.ask("t", next)).await.unwrap();
        assert!(ended.process.intent == scale_out() && ended.limited);
        let (scaled_in, _) = policy(&rig, scale_in()).await;
        assert_eq!(scaled_in.process.status, ProcessStatus::Completed);
        let calls = rig.strings.calls().split_off(before);
        assert!(calls.iter().all(|call| call.starts_with("g__4 ")), "{calls:?}");
        assert_eq!(rig.states("t").await, "db Active, g__1 Active, g__2 Active, g__3 Active");
        // The user can still complete the change.
        rig.ask("t", Intent::Retry).await.unwrap();
        assert!(rig.strings.calls().len() > before + calls.len());
    }
}

/// A change of the nodes has stopped at a node that could not be started. A scale policy must not continue the change.
/// But it may start the node again.
#[tokio::test(start_paused = true)]
async fn a_scale_policy_does_not_continue_a_change_that_has_failed() {
    let rig = Rig::new(Effect::Once);
    rig.up(shop(3, "a").desired()).await.unwrap();
    rig.strings.act("g__2 Start", Act::Fail);
    assert_eq!(rig.up(shop(3, "b").desired()).await.unwrap().process.status, ProcessStatus::Failed);
    let before = rig.strings.calls().len();
    let (scaled, omitted) = policy(&rig, scale_out()).await;
    assert_eq!(scaled.process.status, ProcessStatus::Completed);
    assert_eq!(omitted.as_deref(), Some("`g__3` (replaced: `in` changes)"));
    let calls = rig.strings.calls().split_off(before);
    assert!(calls.iter().all(|call| call.starts_with("g__4 ") || call == "g__2 Start"), "{calls:?}");
    assert_eq!(rig.states("t").await, "db Active, g__1 Active, g__2 Active, g__3 Active, g__4 Active");
}

/// A process of a scale policy is killed at each moment. The daemon must complete it, and must leave the other parts as
/// they are.
#[tokio::test(start_paused = true)]
async fn a_killed_scaling_of_a_policy_is_resumed_alone() {
    let mut resumed = 0;
    for (intent, nodes) in [(scale_out(), 4), (scale_in(), 2)] {
        for after in 1..40 {
            let rig = Rig::new(Effect::Repeatable);
            rig.up(shop(3, "a").desired()).await.unwrap();
            let mut up = shop(3, "b").desired();
            up.options.except = [element("t__g")].into();
            rig.up(up).await.unwrap();
            let before = rig.strings.calls().len();
            let (engine, holder, life) = rig.mortal(u64::MAX, true);
            let holder = holder.serving(true);
            let request = Request::of_policy(intent.clone(), CHECKS);
            let (name, stop) = (assembly_name("t"), Stop::default());
            let whole =
                Box::pin(async { engine.prepare(&name, request, &holder, &stop).await?.run(&stop).await });
            let _ = tokio::time::timeout(Duration::from_millis(after), whole).await;
            life.kill();
            rig.bury(&holder);
            let Some(open) = rig.store.open_processes().await.unwrap().pop() else { continue };
            let (engine, holder) = rig.engine();
            let continued = resume(&engine, &open, CHECKS, &holder.serving(true), &stop).await.unwrap();
            let Resumed::Continued(prepared) = continued else { panic!("nothing is left to do") };
            let ended = prepared.run(&stop).await.unwrap();
            assert_eq!(
                (ended.process.status, ended.process.intent),
                (ProcessStatus::Completed, intent.clone())
            );
            let topology = rig.look("t").await.assembly.topology;
            assert_eq!(topology.children(&element("t__g")).count(), nodes, "after {after} ms");
            let calls = rig.strings.calls().split_off(before);
            let own = if nodes == 4 { "g__4 " } else { "g__3 " };
            assert!(calls.iter().all(|call| call.starts_with(own)), "{calls:?}");
            resumed += 1;
        }
    }
    assert!(resumed > 10, "{resumed}");
}

/// The removal of a node has failed. A heal of the balancer must leave this node to the user, and must restart the
/// balancer with the nodes that are ready.
#[tokio::test(start_paused = true)]
async fn a_heal_leaves_a_node_whose_removal_is_incomplete() {
    for is_of_policy in [false, true] {
        let rig = Rig::new(Effect::Once);
        let nodes = |value: &str| {
            let cluster = Cluster { minimum: 1, maximum: Some(5), increment: 1 };
            let shop = Sketch::new(&["lb"]).group("g", 3, cluster).relate("g", "lb");
            (1..=3).fold(shop, |shop, node| shop.property(&format!("g__{node}"), "in", literal(value)))
        };
        rig.up(nodes("a").desired()).await.unwrap();
        rig.strings.act("g__1 Uninstall", Act::Fail);
        assert_eq!(rig.up(nodes("b").desired()).await.unwrap().process.status, ProcessStatus::Failed);
        let states = rig.states("t").await;
        let before = rig.strings.calls().len();
        let heal = Intent::Heal(element("t__lb"));
        let ended = if is_of_policy { policy(&rig, heal).await.0 } else { rig.ask("t", heal).await.unwrap() };
        assert_eq!(ended.process.status, ProcessStatus::Completed);
        let calls = rig.strings.calls().split_off(before);
        assert!(calls.contains(&"lb Start".to_owned()), "{calls:?}");
        let is_kept = |call: &&String| call.ends_with("stall") || call.starts_with("g__1 ");
        assert_eq!(calls.iter().find(is_kept), None, "{calls:?}");
        assert_eq!(rig.states("t").await, states);
        let retried = rig.ask("t", Intent::Retry).await.unwrap();
        assert_eq!(retried.process.status, ProcessStatus::Completed);
        assert_eq!(rig.states("t").await, "lb Active, g__1 Active, g__2 Active, g__3 Active");
    }
}

/// A part depends on another part, whose removal is incomplete. A heal of the first part must be refused, because it
/// would have to replace the second part.
#[tokio::test(start_paused = true)]
async fn a_heal_that_needs_the_replacement_of_another_part_is_refused() {
    for is_of_policy in [false, true] {
        let rig = Rig::new(Effect::Once);
        let parts = |value: &str| {
            Sketch::new(&["app", "db"]).relate("db", "app").property("db", "in", literal(value))
        };
        rig.up(parts("a").desired()).await.unwrap();
        rig.strings.act("db Uninstall", Act::Fail);
        assert_eq!(rig.up(parts("b").desired()).await.unwrap().process.status, ProcessStatus::Failed);
        let before = rig.strings.calls().len();
        let heal = Intent::Heal(element("t__app"));
        let refused =
            if is_of_policy { prepared(&rig, heal).await.err() } else { rig.ask("t", heal).await.err() };
        assert_eq!(
            refused.unwrap().to_string(),
            "it needs changes of other parts that nobody has agreed to: `db` (replaced: `in` changes); to make them, \
             run `windlass retry t`"
        );
        assert_eq!(rig.strings.calls().len(), before);
        assert_eq!(
            rig.states("t").await.split(", ").last(),
            Some(format!("db {}", State::Inactive)).as_deref()
        );
    }
}
