//! A prepared process keeps its lease while a person decides whether it runs.

use std::time::Duration;

use tokio::time::sleep;
use windlass_engine::{EngineError, Prepared, Request, Stop};
use windlass_model::record::{Effect, ProcessStatus};
use windlass_store::testing::Cut;
use windlass_store::{Store as _, StoreError};

use crate::support::{Rig, Sketch, assembly_name};

const HOUR: Duration = Duration::from_secs(3600);

fn sketch() -> Sketch {
    Sketch::new(&["a"])
}

/// Prepares `up` in a process that can be killed.
async fn prepared(rig: &Rig) -> (Prepared, Cut) {
    let (engine, holder, life) = rig.mortal(u64::MAX, true);
    let up = Request::up(sketch().desired());
    (engine.prepare(&assembly_name("t"), up, &holder, &Stop::default()).await.expect("it is prepared"), life)
}

/// Tells whether another process is refused because the lease is held.
async fn is_held(rig: &Rig) -> bool {
    match rig.up(sketch().desired()).await {
        Err(EngineError::Store(StoreError::Held { .. })) => true,
        Ok(ended) => {
            assert_eq!(ended.process.status, ProcessStatus::Completed);
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_may_take_an_hour() {
    let rig = Rig::new(Effect::Once);
    let (prepared, _) = prepared(&rig).await;
    sleep(HOUR).await;
    assert!(is_held(&rig).await);
    let ended = prepared.run(&Stop::default()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.states("t").await, "a Active");
    assert_eq!(rig.store.holder(&assembly_name("t")).await.unwrap(), None);
}

/// A process waits for the decision of a person. The process is killed, and no other process can prove its death. The
/// killed process must keep its lease until the term of the lease ends.
#[tokio::test(start_paused = true)]
async fn a_killed_process_keeps_its_lease_until_the_term_ends() {
    let rig = Rig::new(Effect::Once);
    let (prepared, life) = prepared(&rig).await;
    let killed = prepared.process().id;
    sleep(HOUR).await;
    life.kill();
    drop(prepared);
    let terms = rig.store.lease_terms();
    sleep(terms.expire_after.saturating_sub(terms.renew_every)).await;
    assert!(is_held(&rig).await);
    sleep(terms.renew_every + Duration::from_millis(1)).await;
    let ended = rig.up(sketch().desired()).await.unwrap();
    assert_eq!((ended.process.status, ended.process.continues), (ProcessStatus::Completed, Some(killed)));
    assert_eq!(rig.jobs.effects(), ["a Install", "a Configure", "a Start"]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_process_releases_its_lease() {
    let rig = Rig::new(Effect::Once);
    let (prepared, _) = prepared(&rig).await;
    sleep(HOUR).await;
    drop(prepared);
    tokio::task::yield_now().await;
    assert!(!is_held(&rig).await);
}

/// If a person decides against a prepared process, it is recorded as cancelled, and its lease is released.
#[tokio::test(start_paused = true)]
async fn a_process_that_is_stopped_before_it_runs_is_cancelled() {
    let rig = Rig::new(Effect::Once);
    let (prepared, _) = prepared(&rig).await;
    let stop = Stop::default();
    stop.request();
    assert_eq!(prepared.run(&stop).await.unwrap().process.status, ProcessStatus::Cancelled);
    assert!(rig.jobs.effects().is_empty());
    assert!(!is_held(&rig).await);
}

/// The store is unreachable until the lease of a process has expired. Another process may then hold the lease, so the
/// first process must not start a job.
#[tokio::test(start_paused = true)]
async fn a_process_whose_lease_was_not_renewed_does_not_run() {
    let rig = Rig::new(Effect::Once);
    let (prepared, _) = prepared(&rig).await;
    let outage = StoreError::Locked { path: "somewhere".into() };
    rig.store.set_outage(Some(outage));
    sleep(rig.store.lease_terms().expire_after + Duration::from_secs(1)).await;
    rig.store.set_outage(None);
    assert!(!is_held(&rig).await);
    let effects = rig.jobs.effects();
    let error = prepared.run(&Stop::default()).await.unwrap_err();
    assert!(matches!(error, EngineError::Store(StoreError::Locked { .. })), "{error}");
    assert_eq!(rig.jobs.effects(), effects);
}
