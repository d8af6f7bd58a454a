//! Leases: one holder, taken over only from the dead and the silent, fenced by epochs.

use std::time::Duration;

use windlass_model::ProcessId;
use windlass_model::record::ProcessStatus;

use super::{Harness, leased};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::testing::samples::{event, holder, name, process};

fn is_held(error: &StoreError) -> bool {
    matches!(error, StoreError::Held { .. })
}

fn is_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::LeaseLost { .. })
}

/// A lease that is held is refused to everyone, its own holder included, on every handle.
pub async fn has_one_holder(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    let _lease = leased(&*here, "h_bta").await;
    assert!(is_held(&here.lease(&name("h_bta"), &holder(1)).await.unwrap_err()));
    assert!(is_held(&there.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
}

/// The refusal says who holds it and since when.
pub async fn names_the_holder(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    harness.advance(Duration::from_secs(3)).await;
    let error = store.lease(&name("h_bta"), &holder(2)).await.unwrap_err();
    let StoreError::Held { scope, by, since } = error else { panic!("{error}") };
    assert_eq!((scope, *by, since), (lease.scope, lease.holder, lease.since));
}

/// What was given back can be taken.
pub async fn is_free_again_after_release(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    store.release(lease).await.unwrap();
    let _lease = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
}

/// Closing the store gives nothing back.
pub async fn outlives_its_handle(harness: &impl Harness) {
    let _lease = leased(&*harness.open().await, "h_bta").await;
    assert!(is_held(&harness.open().await.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
}

/// A lease ends when it was not renewed in time, and not before.
pub async fn is_taken_over_after_expiry(harness: &impl Harness) {
    let store = harness.open().await;
    let _lease = leased(&*store, "h_bta").await;
    let half = store.lease_terms().expire_after / 2;
    harness.advance(half).await;
    assert!(is_held(&store.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
    harness.advance(half + Duration::from_millis(1)).await;
    let _lease = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
}

/// A renewed lease lasts for another term.
pub async fn is_kept_by_renewal(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    for _ in 0..3 {
        harness.advance(store.lease_terms().expire_after / 2).await;
        store.renew(&lease).await.unwrap();
    }
    assert!(is_held(&store.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
}

/// A clock on the wall that is set, forwards or backwards, is no time that passes.
pub async fn is_not_lost_to_a_clock_that_is_set(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    harness.clock().advance(HOUR);
    assert!(is_held(&store.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
    assert_eq!(store.holder(&lease.scope).await.unwrap(), Some(holder(1)));
    store.renew(&lease).await.unwrap();
    harness.clock().turn_back(HOUR + HOUR);
    harness.advance(store.lease_terms().expire_after + Duration::from_millis(1)).await;
    assert_eq!(store.holder(&lease.scope).await.unwrap(), None);
    let _lease = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
}

/// Machines whose clocks are wrong take no live lease, lose none that they renew, and take what has expired.
pub async fn is_not_lost_to_a_clock_that_is_wrong(harness: &impl Harness) {
    let hour = i64::try_from(HOUR.as_millis()).expect("an hour is short");
    let stores = [harness.open().await, harness.open_askew(hour).await, harness.open_askew(-hour).await];
    let half = stores[0].lease_terms().expire_after / 2;
    for mine in &stores {
        let lease = leased(&**mine, "h_bta").await;
        for _ in 0..3 {
            harness.advance(half).await;
            for other in &stores {
                assert!(is_held(&other.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
                assert_eq!(other.holder(&lease.scope).await.unwrap(), Some(holder(1)));
            }
            mine.renew(&lease).await.unwrap();
        }
        for other in &stores {
            harness.advance(half * 2 + Duration::from_millis(1)).await;
            let next = other.lease(&name("h_bta"), &holder(2)).await.unwrap();
            assert!(next.epoch > lease.epoch);
            harness.advance(half * 2 + Duration::from_millis(1)).await;
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// A dead holder's lease is free at once.
pub async fn is_taken_over_from_the_dead(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    harness.graveyard().bury(&lease.holder);
    let next = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
    assert!(next.epoch > lease.epoch);
}

/// Epochs grow with every lease, however the one before it ended.
pub async fn every_lease_raises_the_epoch(harness: &impl Harness) {
    let store = harness.open().await;
    let first = leased(&*store, "h_bta").await;
    store.release(first.clone()).await.unwrap();
    let second = leased(&*store, "h_bta").await;
    harness.graveyard().bury(&second.holder);
    let third = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
    assert!(first.epoch < second.epoch && second.epoch < third.epoch);
}

/// A holder that was taken over can't commit, renew or release, and harms its successor in no way.
pub async fn a_lost_lease_can_do_nothing(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    let lost = leased(&*here, "h_bta").await;
    harness.graveyard().bury(&lost.holder);
    let lease = there.lease(&lost.scope, &holder(2)).await.unwrap();

    let late = Batch::new().event(event(&lost.scope, "late"));
    assert!(is_lost(&here.commit(&lost, late).await.unwrap_err()));
    assert!(is_lost(&here.renew(&lost).await.unwrap_err()));
    assert!(is_lost(&here.release(lost.clone()).await.unwrap_err()));
    there.commit(&lease, Batch::new().event(event(&lease.scope, "in time"))).await.unwrap();
    assert_eq!(there.events(windlass_model::Seq::START, 10).await.unwrap().len(), 1);
}

/// Leases on different assemblies have nothing to do with each other.
pub async fn scopes_do_not_meet(harness: &impl Harness) {
    let store = harness.open().await;
    let one = leased(&*store, "one").await;
    let two = store.lease(&name("two"), &holder(2)).await.unwrap();
    store.release(one).await.unwrap();
    store.renew(&two).await.unwrap();
}

/// Who holds the lease is told as long as nobody could take it over.
pub async fn holder_is_told_while_it_holds(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    assert_eq!(there.holder(&name("h_bta")).await.unwrap(), None);
    let lease = leased(&*here, "h_bta").await;
    assert_eq!(there.holder(&lease.scope).await.unwrap(), Some(holder(1)));
    assert_eq!(there.holder(&name("other")).await.unwrap(), None);
    harness.advance(here.lease_terms().expire_after + Duration::from_millis(1)).await;
    assert_eq!(there.holder(&lease.scope).await.unwrap(), None, "it has expired");
    here.renew(&lease).await.unwrap();
    assert_eq!(there.holder(&lease.scope).await.unwrap(), Some(holder(1)));
    harness.graveyard().bury(&holder(1));
    assert_eq!(there.holder(&lease.scope).await.unwrap(), None, "its holder is dead");
    here.release(lease).await.unwrap();
    assert_eq!(there.holder(&name("h_bta")).await.unwrap(), None);
}

/// Anybody may ask a process to stop, and whoever runs it is told.
pub async fn a_process_is_asked_to_stop_without_a_lease(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    let lease = leased(&*here, "h_bta").await;
    let running = process(&lease.scope, 7, ProcessStatus::InProgress);
    here.commit(&lease, Batch::new().put_process(running)).await.unwrap();
    assert!(!here.is_asked_to_stop(ProcessId(7)).await.unwrap());
    for _ in 0..2 {
        there.ask_to_stop(&lease.scope, ProcessId(7)).await.unwrap();
    }
    assert!(here.is_asked_to_stop(ProcessId(7)).await.unwrap());
    for (scope, process) in [("h_bta", 8), ("other", 7)] {
        let error = there.ask_to_stop(&name(scope), ProcessId(process)).await.unwrap_err();
        assert!(matches!(error, StoreError::NoProcess { .. }), "{error}");
    }
}
