//! The effects of closing a handle of a store.

use std::path::Path;
use std::time::{Duration, Instant};

use windlass_model::Seq;
use windlass_secret::Sensitive;
use windlass_store::testing::samples::{self, event, holder, name};
use windlass_store::{Batch, Store, StoreError};

use crate::place::Place;

/// Committed batches are stored even if their tickets are dropped.
#[tokio::test]
async fn closing_waits_for_what_was_committed() {
    let place = Place::new();
    let store = place.store();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    for n in 0..500 {
        drop(store.commit(&lease, Batch::new().event(event(&lease.scope, n.to_string()))));
    }
    drop(store);
    assert_eq!(place.store().events(Seq::START, usize::MAX).await.unwrap().len(), 500);
}

/// A watch ends when its store is closed.
#[tokio::test]
async fn a_watch_ends_with_its_store() {
    let place = Place::new();
    let store = place.store();
    let mut watch = store.watch(Seq::START);
    let closing = async { drop(store) };
    let (seen, ()) = futures::join!(watch.next(), closing);
    assert!(matches!(seen, Err(StoreError::Closed)), "{seen:?}");
}

/// A user removes the folder of the state while a program has the store open. Nothing more is acknowledged or read, and
/// the program does not hold its lease any more: another program may create a new store at the same path.
#[tokio::test]
async fn a_removed_store_acknowledges_nothing() {
    let place = Place::new();
    let store = place.store();
    let scope = name("h_bta");
    let lease = store.lease(&scope, &holder(1)).await.unwrap();
    store.commit(&lease, Batch::new().put_assembly(samples::assembly(&scope, &[]))).await.unwrap();
    assert!(store.load(&scope).await.unwrap().is_some());
    place.remove();
    for is_replaced in [false, true] {
        let other = is_replaced.then(|| place.store());
        let refused = |outcome: Option<StoreError>| match outcome {
            Some(StoreError::Missing { path }) => !is_replaced && path == place.path(),
            Some(StoreError::Closed) => is_replaced,
            _ => false,
        };
        let written: Vec<_> =
            (0..3).map(|n| store.commit(&lease, Batch::new().event(event(&scope, n.to_string())))).collect();
        for ticket in written {
            assert!(refused(ticket.await.err()));
        }
        assert!(refused(store.renew(&lease).await.err()));
        assert!(refused(store.lease(&name("other"), &holder(1)).await.err()));
        assert!(refused(store.load(&scope).await.err()));
        assert!(refused(store.events(Seq::START, 1).await.err()));
        if let Some(other) = other {
            let lease = other.lease(&scope, &holder(2)).await.unwrap();
            drop(store);
            other.commit(&lease, Batch::new().event(event(&scope, "new"))).await.unwrap();
            assert_eq!(place.store().events(Seq::START, 9).await.unwrap().len(), 1);
            return;
        }
    }
}

/// A program that reads the log prevents its truncation. The store truncates the log as soon as the program has ended,
/// so that the sealed text of a dropped secret is in no file.
#[tokio::test]
async fn the_log_is_truncated_after_its_last_reader() {
    let place = Place::new();
    let store = place.store();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    let secret = "h_bta:password".parse().unwrap();
    let value = Sensitive::new(b"hunter2".to_vec());
    let batch = Batch::new().put_assembly(samples::assembly(&lease.scope, &[])).put_secret(
        secret,
        lease.scope.clone(),
        value,
    );
    store.commit(&lease, batch).await.unwrap();
    let log = place.path().with_extension("db-wal");
    is_truncated(&log).await;
    let reader = place.stranger();
    reader.execute_batch("BEGIN; SELECT count(*) FROM event").unwrap();
    store.commit(&lease, Batch::new().drop_assembly(lease.scope.clone())).await.unwrap();
    assert_ne!(log.metadata().unwrap().len(), 0, "the reader prevents the truncation");
    reader.execute_batch("COMMIT").unwrap();
    is_truncated(&log).await;
}

async fn is_truncated(log: &Path) {
    let end = Instant::now() + Duration::from_secs(20);
    while log.metadata().unwrap().len() != 0 {
        assert!(Instant::now() < end, "the log is not truncated");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
