//! The effects of closing a handle of a store.

use windlass_model::Seq;
use windlass_store::testing::samples::{event, holder, name};
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
