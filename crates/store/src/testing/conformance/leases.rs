//! Checks of leases. A lease has one holder. Another program can take over the lease only if the holder is dead, or
//! if the lease has expired. A holder that lost its lease can't change the assembly any more.

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

/// If a lease is held, the store refuses the lease to other programs, and also to the holder itself.
pub async fn has_one_holder(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    let _lease = leased(&*here, "h_bta").await;
    assert!(is_held(&here.lease(&name("h_bta"), &holder(1)).await.unwrap_err()));
    assert!(is_held(&there.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
}

/// The error for a held lease names the holder, and the time at which the holder took the lease.
pub async fn names_the_holder(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    harness.advance(Duration::from_secs(3)).await;
    let error = store.lease(&name("h_bta"), &holder(2)).await.unwrap_err();
    let StoreError::Held { scope, by, since } = error else { panic!("{error}") };
    assert_eq!((scope, *by, since), (lease.scope, lease.holder, lease.since));
}

/// A released lease can be taken.
pub async fn is_free_again_after_release(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    store.release(lease).await.unwrap();
    let _lease = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
}

/// Closing the store releases no lease.
pub async fn outlives_its_handle(harness: &impl Harness) {
    let _lease = leased(&*harness.open().await, "h_bta").await;
    assert!(is_held(&harness.open().await.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
}

/// A lease that is not renewed expires after the time `expire_after`. Another holder can take it only then.
pub async fn is_taken_over_after_expiry(harness: &impl Harness) {
    let store = harness.open().await;
    let _lease = leased(&*store, "h_bta").await;
    let half = store.lease_terms().expire_after / 2;
    harness.advance(half).await;
    assert!(is_held(&store.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
    harness.advance(half + Duration::from_millis(1)).await;
    let _lease = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
}

/// Each renewal restarts the time after which the lease expires.
pub async fn is_kept_by_renewal(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    for _ in 0..3 {
        harness.advance(store.lease_terms().expire_after / 2).await;
        store.renew(&lease).await.unwrap();
    }
    assert!(is_held(&store.lease(&name("h_bta"), &holder(2)).await.unwrap_err()));
}

/// Setting the wall clock, forwards or backwards, does not count as elapsed time.
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

/// A program on a machine with a wrong clock can't take a lease whose holder renews it in time. If the program
/// holds a lease and renews it in time, the program keeps the lease. The program can take an expired lease.
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

/// The lease of a dead holder is free at once.
pub async fn is_taken_over_from_the_dead(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    harness.graveyard().bury(&lease.holder);
    let next = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
    assert!(next.epoch > lease.epoch);
}

/// Every new lease has a higher epoch, however the previous one ended.
pub async fn every_lease_raises_the_epoch(harness: &impl Harness) {
    let store = harness.open().await;
    let first = leased(&*store, "h_bta").await;
    store.release(first.clone()).await.unwrap();
    let second = leased(&*store, "h_bta").await;
    harness.graveyard().bury(&second.holder);
    let third = store.lease(&name("h_bta"), &holder(2)).await.unwrap();
    assert!(first.epoch < second.epoch && second.epoch < third.epoch);
}

/// A holder that lost its lease can't commit, renew or release, and does not affect the next holder.
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

/// Leases on different assemblies are independent.
pub async fn scopes_do_not_meet(harness: &impl Harness) {
    let store = harness.open().await;
    let one = leased(&*store, "one").await;
    let two = store.lease(&name("two"), &holder(2)).await.unwrap();
    store.release(one).await.unwrap();
    store.renew(&two).await.unwrap();
}

/// The holder of a lease is reported as long as the lease can't be taken over.
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

/// A program without a lease can request the stop of a process. The program that executes the process sees
/// the request.
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
