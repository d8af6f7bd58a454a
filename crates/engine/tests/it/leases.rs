//! A failing store does not prevent the end of work, and a program is not refused because of its own lease.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::time::Duration;

use tokio::time::sleep;
use windlass_engine::{Request, Stop};
use windlass_model::assembly::{Cluster, MaxUnavailable, OnFailure, Update};
use windlass_model::record::{Effect, Intent, ProcessStatus};
use windlass_model::rename::Renaming;
use windlass_store::{Batch, Holder, Store as _, StoreError};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, literal};

fn outage() -> StoreError {
    StoreError::Locked { path: "somewhere".into() }
}

/// Returns an assembly with the part `a`.
async fn part() -> Rig {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    rig
}

/// Returns a group with two nodes that demands a rollback.
fn nodes(size: &str) -> Sketch {
    let cluster = Cluster { minimum: 1, maximum: None, increment: 1 };
    let update = Update {
        max_unavailable: Some(MaxUnavailable::ONE),
        on_failure: OnFailure::Rollback,
        ..Update::default()
    };
    let sketch = Sketch::new(&[]).group("g", 2, cluster).updated("g", update);
    ["g__1", "g__2"].iter().fold(sketch, |sketch, node| sketch.property(node, "size", literal(size)))
}

/// The store fails for a moment when a process releases its lease. The demanded rollback, which the same program begins
/// next, must not be refused because of the program's own lease.
#[tokio::test(start_paused = true)]
async fn a_rollback_is_not_refused_because_of_its_own_lease() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes("a").desired()).await.unwrap();
    rig.strings.act("g__1 Start", Act::Fail);
    let (engine, holder) = rig.engine();
    let (name, stop) = (assembly_name("t"), Stop::default());
    let prepared = engine.prepare(&name, Request::up(nodes("b").desired()), &holder, &stop).await.unwrap();
    // The outage concerns only renewals and releases.
    rig.store.set_outage(Some(outage()));
    let failed = prepared.run(&stop).await.unwrap();
    rig.store.set_outage(None);
    assert!(failed.needs_rollback());
    let ended = failed
        .continued(async |_, request| engine.prepare(&name, request, &holder, &stop).await?.run(&stop).await)
        .await;
    let ended =
        ended.map(|ended| (ended.process.intent, ended.process.status)).map_err(|error| error.to_string());
    assert!(matches!(&ended, Ok((Intent::Rollback(_), ProcessStatus::Completed))), "{ended:?}");
}

/// A program could not release a lease, and has taken the lease again. The release of the old lease, which is tried again
/// in the background, must not release the new lease. Other programs are refused all the time.
#[tokio::test(start_paused = true)]
async fn a_late_release_does_not_concern_the_next_lease() {
    let rig = part().await;
    let (engine, holder) = rig.engine();
    let (name, stop) = (assembly_name("t"), Stop::default());
    let prepare = async || engine.prepare(&name, Intent::Down, &holder, &stop).await;
    let is_refused = async || {
        let error =
            rig.store.lease(&name, &Holder { pid: 4711, ..holder.clone() }).await.map(drop).unwrap_err();
        matches!(error, StoreError::Held { .. })
    };
    let prepared = prepare().await.unwrap();
    rig.store.set_outage(Some(outage()));
    let ended = prepared
        .run(&{
            let stop = Stop::default();
            stop.request();
            stop
        })
        .await
        .unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Cancelled);
    assert!(is_refused().await);
    let next = prepare().await.unwrap();
    rig.store.set_outage(None);
    sleep(Duration::from_secs(3)).await;
    assert!(is_refused().await);
    assert!(prepare().await.is_err(), "the program holds the lease");
    assert_eq!(next.run(&stop).await.unwrap().process.status, ProcessStatus::Completed);
    assert!(rig.store.holder(&name).await.unwrap().is_none());
}

/// The store fails only when a command releases its lease: its change is already stored. The command must succeed,
/// because an error means that nothing has changed. The lease is released after the outage.
#[tokio::test(start_paused = true)]
async fn a_lease_that_can_not_be_released_hides_no_result_of_upkeep() {
    let (name, other) = (assembly_name("t"), assembly_name("u"));
    let over = async |rig: &Rig| {
        rig.store.set_outage(None);
        sleep(Duration::from_secs(2)).await;
        assert!(rig.store.holder(&name).await.unwrap().is_none());
    };

    let rig = part().await;
    let (engine, holder) = rig.engine();
    rig.store.set_outage(Some(outage()));
    let renaming = Renaming { from: name.clone(), to: other.clone() };
    engine.upkeep().rename(&renaming, Batch::new(), &holder, &Stop::default()).await.unwrap();
    assert!(rig.store.load(&other).await.unwrap().is_some());
    over(&rig).await;

    let rig = part().await;
    let (engine, holder) = rig.engine();
    rig.store.set_outage(Some(outage()));
    engine.upkeep().forget(&name, None, &holder).await.unwrap();
    assert!(rig.store.load(&name).await.unwrap().is_none());
    over(&rig).await;

    let rig = part().await;
    let (engine, holder) = rig.engine();
    let given = engine.upkeep().hand_over(&name, &holder).await.unwrap();
    let bundle = given.bundle().clone();
    rig.store.set_outage(Some(outage()));
    given.complete("t.json").await.unwrap();
    assert!(rig.store.load(&name).await.unwrap().is_none());
    over(&rig).await;

    let rig = Rig::new(Effect::Once);
    let (engine, holder) = rig.engine();
    rig.store.set_outage(Some(outage()));
    engine.upkeep().take_over(bundle, "t.json", &holder, &Stop::default()).await.unwrap();
    assert!(rig.store.load(&name).await.unwrap().is_some());
    over(&rig).await;
}
