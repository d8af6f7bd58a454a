//! Checks of requests. A program submits a request without a lease. A batch ends the request, and the store then drops
//! the sealed content of the request.

use futures::future::join_all;
use windlass_model::record::{Event, EventRecord};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{ProcessId, RequestId, Seq};

use super::{Harness, commit, leased};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::holder::Holder;
use crate::store::Store;
use crate::testing::samples::{name, request, value};

/// The content of the requests.
const TEXT: &str = "correct horse battery staple";

async fn submit(store: &dyn Store, request: &RequestRecord) {
    store.submit(request, value(TEXT)).await.expect("requests need no lease");
}

fn begun(request: RequestRecord) -> RequestRecord {
    RequestRecord { status: RequestStatus::Begun(ProcessId(9)), ..request }
}

/// A program without a lease can submit requests. Another program reads all open requests, sorted by id, and the
/// content of each request.
pub async fn are_left_without_a_lease(harness: &impl Harness) {
    let (store, other) = (harness.open().await, harness.open().await);
    let _lease = leased(&*store, "h_bta").await;
    let (late, early) = (request(&name("h_bta"), 12), request(&name("shop"), 3));
    submit(&*other, &late).await;
    submit(&*other, &early).await;
    drop(other);
    assert_eq!(store.requests().await.unwrap(), [early, late.clone()]);
    assert_eq!(store.request(RequestId(12)).await.unwrap(), Some(late));
    assert_eq!(store.asked(RequestId(12)).await.unwrap().unwrap().expose(), TEXT.as_bytes());
    assert_eq!(store.request(RequestId(4)).await.unwrap(), None);
    assert!(store.asked(RequestId(4)).await.unwrap().is_none());
}

/// Several requests for the same name arrive at the same time. The store must accept exactly one of them. The store
/// must refuse a request if an assembly has the name, or if the name is leased.
pub async fn reserve_a_name_once(harness: &impl Harness) {
    let stores = [harness.open().await, harness.open().await, harness.open().await];
    let requests = [3, 4, 5].map(|id| request(&name("h_bta"), id));
    let submitted =
        stores.iter().zip(&requests).map(|(store, request)| store.submit_new(request, value(TEXT)));
    let submitted: Vec<bool> = join_all(submitted).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(submitted.iter().filter(|is_first| **is_first).count(), 1, "{submitted:?}");
    let [store, ..] = stores;
    let open = store.requests().await.unwrap();
    let [first] = &open[..] else { panic!("there are {} requests", open.len()) };
    assert_eq!(store.asked(first.id).await.unwrap().unwrap().expose(), TEXT.as_bytes());
    // The name is free again after the request has ended without an assembly.
    store.withdraw(first.id).await.unwrap();
    assert!(store.submit_new(&request(&name("h_bta"), 6), value(TEXT)).await.unwrap());
    let lease = leased(&*store, "shop").await;
    commit(&*store, &lease, Batch::new().put_assembly(crate::testing::samples::assembly(&lease.scope, &[])))
        .await;
    assert!(!store.submit_new(&request(&name("shop"), 7), value(TEXT)).await.unwrap());
    assert_eq!(store.requests().await.unwrap().len(), 1);
    // The holder of the lease may be creating an assembly.
    let lease = leased(&*store, "fresh").await;
    assert!(!store.submit_new(&request(&name("fresh"), 8), value(TEXT)).await.unwrap());
    store.release(lease).await.unwrap();
    assert!(store.submit_new(&request(&name("fresh"), 9), value(TEXT)).await.unwrap());
    let batch = Batch::new().put_assembly(crate::testing::samples::assembly(&name("fresh"), &[]));
    assert!(!store.create(&name("fresh"), &Holder::current("test"), batch.clone()).await.unwrap());
    assert!(store.assembly(&name("fresh")).await.unwrap().is_none());
    store.withdraw(RequestId(9)).await.unwrap();
    assert!(store.create(&name("fresh"), &Holder::current("test"), batch).await.unwrap());
}

/// After the end of a request, the store keeps the final record of the request, and drops the sealed content of the
/// request.
pub async fn are_ended_under_a_lease(harness: &impl Harness) {
    let store = harness.open().await;
    let asked = request(&name("h_bta"), 12);
    submit(&*store, &asked).await;
    let lease = leased(&*store, "h_bta").await;
    let ended = begun(asked);
    commit(&*store, &lease, Batch::new().end_request(ended.clone())).await;
    assert_eq!(store.request(RequestId(12)).await.unwrap(), Some(ended));
    assert!(store.asked(RequestId(12)).await.unwrap().is_none());
    assert_eq!(store.requests().await.unwrap(), []);
}

/// A batch that ends a request a second time is refused completely.
pub async fn end_once(harness: &impl Harness) {
    let store = harness.open().await;
    let asked = request(&name("h_bta"), 12);
    submit(&*store, &asked).await;
    let lease = leased(&*store, "h_bta").await;
    let end = Batch::new().end_request(begun(asked));
    commit(&*store, &lease, end.clone()).await;
    let more = end.put_assembly(crate::testing::samples::assembly(&lease.scope, &[]));
    assert!(matches!(store.commit(&lease, more).await, Err(StoreError::Refused { .. })));
    assert_eq!(store.assemblies(None, 1).await.unwrap(), []);
}

/// A request can be withdrawn until a process begins it. If a request was begun or withdrawn already, `withdraw` must
/// return its record unchanged.
pub async fn are_withdrawn_unless_begun(harness: &impl Harness) {
    let store = harness.open().await;
    let [first, second] = [3, 4].map(|id| request(&name("h_bta"), id));
    submit(&*store, &first).await;
    submit(&*store, &second).await;
    let lease = leased(&*store, "h_bta").await;
    commit(&*store, &lease, Batch::new().end_request(begun(first.clone()))).await;
    assert_eq!(store.withdraw(RequestId(3)).await.unwrap(), Some(begun(first)));
    let withdrawn = RequestRecord { status: RequestStatus::Withdrawn, ..second };
    for _ in 0..2 {
        assert_eq!(store.withdraw(RequestId(4)).await.unwrap().as_ref(), Some(&withdrawn));
    }
    assert!(store.asked(RequestId(4)).await.unwrap().is_none());
    assert_eq!(store.withdraw(RequestId(5)).await.unwrap(), None);
    let end = Batch::new().end_request(begun(withdrawn));
    assert!(matches!(store.commit(&lease, end).await, Err(StoreError::Refused { .. })));
}

/// A batch under the lease of one assembly cannot end the requests of another assembly.
pub async fn are_ended_by_their_assembly_alone(harness: &impl Harness) {
    let store = harness.open().await;
    let theirs = request(&name("shop"), 3);
    submit(&*store, &theirs).await;
    let lease = leased(&*store, "h_bta").await;
    for strange in [theirs.clone(), RequestRecord { assembly: lease.scope.clone(), ..theirs.clone() }] {
        let end = Batch::new().end_request(begun(strange));
        store.commit(&lease, end).await.unwrap_err();
    }
    assert_eq!(store.requests().await.unwrap(), [theirs]);
}

/// The submission and the withdrawal of a request each add an event. A [`Watch`](crate::Watch), which waits for
/// new events, reports both events.
pub async fn are_told_in_the_feed(harness: &impl Harness) {
    let (store, other) = (harness.open().await, harness.open().await);
    let mut watch = store.watch(Seq::START);
    submit(&*other, &request(&name("h_bta"), 3)).await;
    assert_eq!(watch.next().await.unwrap(), Seq(1));
    other.withdraw(RequestId(3)).await.unwrap();
    assert_eq!(watch.next().await.unwrap(), Seq(2));
    // A second withdrawal has no effect.
    other.withdraw(RequestId(3)).await.unwrap();
    let events: Vec<EventRecord> = store.events(Seq::START, 10).await.unwrap();
    let [asked, dismissed] = &events[..] else { panic!("there are {} events", events.len()) };
    assert!(matches!(asked.draft.body, Event::Asked { request: RequestId(3), .. }));
    assert!(matches!(dismissed.draft.body, Event::Dismissed { request: RequestId(3), why: None, .. }));
}
