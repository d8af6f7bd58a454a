//! Batches are durable, atomic, in order and without gaps.

use windlass_model::Seq;
use windlass_model::record::{CallState, ProcessStatus};

use super::{Harness, commit, leased, with_assembly};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::lease::Lease;
use crate::store::Store;
use crate::testing::samples::{
    self, assembly, call, call_id, element, event, instance, job, message, name, part, process, step,
};

async fn messages(store: &dyn Store) -> Vec<String> {
    let events = store.events(Seq::START, usize::MAX).await.expect("events can be read");
    events.iter().map(|event| message(&event.draft).to_owned()).collect()
}

/// A batch whose ticket has resolved is visible to the next program that opens the store.
pub async fn are_durable_when_acknowledged(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let a = part(&lease.scope, "A");
    commit(&*store, &lease, Batch::new().put_element(element(&a, 7))).await;
    drop(store);
    let snapshot = harness.open().await.load(&lease.scope).await.unwrap().unwrap();
    assert_eq!(snapshot.elements[&a], element(&a, 7));
}

/// Batches are applied in the order of the calls, regardless of the order in which their tickets are awaited.
pub async fn are_applied_in_order(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    let batch = |n: u64| Batch::new().event(event(&lease.scope, n.to_string()));
    let mut tickets: Vec<_> = (1..=100).map(|n| store.commit(&lease, batch(n))).collect();
    tickets.reverse();
    for (n, ticket) in (1..=100).rev().zip(tickets) {
        assert_eq!(ticket.await.unwrap(), Seq(n));
    }
    assert_eq!(messages(&*store).await, (1..=100).map(|n| n.to_string()).collect::<Vec<_>>());
}

/// A batch whose last change is refused leaves no trace.
pub async fn are_applied_whole_or_not_at_all(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let a = part(&lease.scope, "A");
    let batch = Batch::new().put_element(element(&a, 1)).event(event(&lease.scope, "never")).put_call(call(
        &lease.scope,
        99,
        1,
        CallState::Open,
    ));
    let error = store.commit(&lease, batch).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("`put call`"), "{error}");
    assert!(store.load(&lease.scope).await.unwrap().unwrap().elements.is_empty());
    assert_eq!(messages(&*store).await, [""; 0]);
}

/// After a failed batch, the store refuses all batches of the same lease. It accepts batches of a new lease.
pub async fn a_failed_batch_stops_its_lease(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    let orphan = Batch::new().put_element(element(&part(&lease.scope, "A"), 1));
    let failed = store.commit(&lease, orphan);
    let after = store.commit(&lease, Batch::new().event(event(&lease.scope, "after")));
    assert!(matches!(failed.await, Err(StoreError::Refused { .. })));
    assert!(matches!(after.await, Err(StoreError::AfterFailure { .. })));

    store.renew(&lease).await.unwrap();
    store.release(lease).await.unwrap();
    let lease = leased(&*store, "h_bta").await;
    commit(&*store, &lease, Batch::new().event(event(&lease.scope, "anew"))).await;
    assert_eq!(messages(&*store).await, ["anew"]);
}

/// Batches that wait together with a refused batch are applied.
pub async fn a_refused_batch_takes_no_other_with_it(harness: &impl Harness) {
    let store = harness.open().await;
    let (good, bad) = (leased(&*store, "good").await, leased(&*store, "bad").await);
    let before = store.commit(&good, Batch::new().event(event(&good.scope, "before")));
    let refused = store.commit(&bad, Batch::new().put_element(element(&part(&bad.scope, "A"), 1)));
    let after = store.commit(&good, Batch::new().event(event(&good.scope, "after")));
    assert!(refused.await.is_err());
    before.await.unwrap();
    after.await.unwrap();
    assert_eq!(messages(&*store).await, ["before", "after"]);
}

/// A batch that fails in the database does not affect the batches of other leases. These batches are applied,
/// whether they were committed before or after the failed batch.
pub async fn one_that_fails_fails_alone(harness: &impl Harness) {
    let store = harness.open().await;
    let (good, bad) = (leased(&*store, "good").await, leased(&*store, "bad").await);
    let other = leased(&*store, "other").await;
    harness.sabotage(&bad.scope).await;
    let event_of = |lease: &Lease, text: &str| Batch::new().event(event(&lease.scope, text));
    let mut tickets = Vec::new();
    for round in 0..20 {
        for lease in [&good, &bad, &other] {
            let ticket = store.commit(lease, event_of(lease, &format!("{} {round}", lease.scope)));
            tickets.push((lease, ticket));
        }
    }
    for (lease, ticket) in tickets {
        assert_eq!(ticket.await.is_ok(), *lease != bad, "{}", lease.scope);
    }
    let expected: Vec<String> =
        (0..20).flat_map(|round| [format!("good {round}"), format!("other {round}")]).collect();
    assert_eq!(messages(&*store).await, expected);
    store.renew(&bad).await.unwrap();
    store.release(bad).await.unwrap();
}

/// Two handles of one store commit batches, and at the same time take, renew and release leases. No deadlock
/// occurs.
pub async fn are_applied_while_leases_are_granted(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    let work = async |store: &dyn Store, own: &str, other: &str| {
        let mut lease = leased(store, own).await;
        for round in 0..30 {
            let first = store.commit(&lease, Batch::new().event(event(&lease.scope, round.to_string())));
            let (next, holder) = (name(&format!("{other}{round}")), samples::holder(1));
            let (granted, renewed) = futures::join!(store.lease(&next, &holder), store.renew(&lease));
            renewed.unwrap();
            let second = store.commit(&lease, Batch::new().event(event(&lease.scope, "more")));
            let (first, second, released) = futures::join!(first, second, store.release(lease.clone()));
            first.unwrap();
            second.unwrap();
            released.unwrap();
            lease = granted.unwrap();
        }
    };
    futures::join!(work(&*here, "a", "b"), work(&*there, "c", "d"));
    assert_eq!(messages(&*here).await.len(), 120);
}

/// A lease on one assembly allows no change of another assembly.
pub async fn are_refused_beyond_their_scope(harness: &impl Harness) {
    let store = harness.open().await;
    let victim = with_assembly(&*store, "victim").await;
    for batch in [
        Batch::new().put_assembly(assembly(&victim.scope, &[])),
        Batch::new().drop_assembly(victim.scope.clone()),
        Batch::new().put_instance(instance(&part(&victim.scope, "A"), 1)),
        Batch::new().event(event(&victim.scope, "not mine")),
    ] {
        let lease = leased(&*store, "other").await;
        let error = store.commit(&lease, batch).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("`victim`"), "{error}");
        store.release(lease).await.unwrap();
    }
    assert!(store.load(&name("victim")).await.unwrap().is_some());
}

/// A batch cannot change a process that belongs to another assembly, or the steps, calls and jobs of this
/// process.
pub async fn are_refused_under_another_process(harness: &impl Harness) {
    let store = harness.open().await;
    let victim = leased(&*store, "victim").await;
    let running = Batch::new()
        .put_process(process(&victim.scope, 1, ProcessStatus::InProgress))
        .put_step(step(1, 1))
        .put_call(call(&victim.scope, 1, 1, CallState::Open));
    commit(&*store, &victim, running).await;
    let before = store.history(&victim.scope).await.unwrap();
    for change in [
        Batch::new().put_process(process(&name("other"), 1, ProcessStatus::Completed)),
        Batch::new().put_step(step(1, 2)),
        Batch::new().put_call(call(&name("other"), 1, 1, CallState::Succeeded)),
        Batch::new().put_job(job("theirs", &[call_id(1, 1)])),
    ] {
        let lease = leased(&*store, "other").await;
        let error = store.commit(&lease, change).await.unwrap_err();
        assert!(error.to_string().contains("another assembly"), "{error}");
        store.release(lease).await.unwrap();
    }
    assert_eq!(store.history(&victim.scope).await.unwrap(), before);
}

/// The lease of a second assembly can be added to a batch. The batch can then also change elements, instances and
/// secrets of the second assembly, but no other records of the second assembly. If one of the two leases is lost,
/// the whole batch is refused.
pub async fn change_two_assemblies_under_two_leases(harness: &impl Harness) {
    let store = harness.open().await;
    let (first, second) = (with_assembly(&*store, "first").await, with_assembly(&*store, "second").await);
    let theirs = part(&second.scope, "A");
    let put = |revision| {
        Batch::new()
            .event(event(&first.scope, "done"))
            .put_instance(instance(&theirs, revision))
            .beside([&second])
    };
    commit(&*store, &first, put(1)).await;
    let snapshot = store.load(&second.scope).await.unwrap().unwrap();
    assert_eq!(snapshot.instances.into_values().collect::<Vec<_>>(), [instance(&theirs, 1)]);

    let dropped = Batch::new().drop_assembly(second.scope.clone()).beside([&second]);
    let error = store.commit(&first, dropped).await.unwrap_err();
    assert!(error.to_string().contains("`second`"), "{error}");
    // After a failure, batches under each of the two leases are refused.
    let after = store.commit(&second, Batch::new().event(event(&second.scope, "after"))).await;
    assert!(matches!(after, Err(StoreError::AfterFailure { .. })), "{after:?}");

    // If the added lease is lost, the whole batch is refused.
    let stale = with_assembly(&*store, "third").await;
    store.release(stale.clone()).await.unwrap();
    let _newer = leased(&*store, "third").await;
    let fourth = leased(&*store, "fourth").await;
    let batch = Batch::new()
        .event(event(&fourth.scope, "not done"))
        .put_instance(instance(&part(&stale.scope, "A"), 2))
        .beside([&stale]);
    let error = store.commit(&fourth, batch).await.unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    assert!(store.load(&stale.scope).await.unwrap().unwrap().instances.is_empty());
    assert_eq!(messages(&*store).await, ["done"]);
}

/// Dropping a ticket does not affect its batch.
pub async fn are_applied_without_their_ticket(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    drop(store.commit(&lease, Batch::new().event(event(&lease.scope, "unasked"))));
    commit(&*store, &lease, Batch::new().event(event(&lease.scope, "asked"))).await;
    assert_eq!(messages(&*store).await, ["unasked", "asked"]);
}

/// The ticket of an empty batch resolves when all earlier batches are durable.
pub async fn an_empty_one_is_a_barrier(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    drop(store.commit(&lease, Batch::new().event(event(&lease.scope, "before"))));
    assert_eq!(store.commit(&lease, Batch::new()).await.unwrap(), Seq(1));
    assert_eq!(messages(&*store).await, ["before"]);
}
