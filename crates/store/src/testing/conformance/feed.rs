//! Tests of events: they are numbered without gaps, can be read in pages, and can be watched from every handle.

use futures::future::join_all;
use windlass_model::Seq;
use windlass_model::record::EventRecord;

use super::{Harness, commit, leased};
use crate::batch::Batch;
use crate::testing::samples::{element, event, message, part};

/// If several programs commit batches at the same time, the numbers of their events have neither gaps nor duplicates.
/// The events of each program keep their order.
pub async fn numbers_have_no_holes_under_concurrent_committers(harness: &impl Harness) {
    const EACH: usize = 40;
    let mut handles = Vec::new();
    for assembly in ["one", "two", "three", "four"] {
        let store = harness.open().await;
        let lease = leased(&*store, assembly).await;
        handles.push((store, lease));
    }
    join_all(handles.iter().map(|(store, lease)| async move {
        let batch = |n: usize| Batch::new().event(event(&lease.scope, n.to_string()));
        let tickets: Vec<_> = (0..EACH).map(|n| store.commit(lease, batch(n))).collect();
        for outcome in join_all(tickets).await {
            outcome.unwrap();
        }
    }))
    .await;

    let events = handles[0].0.events(Seq::START, usize::MAX).await.unwrap();
    let numbers: Vec<_> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=(handles.len() * EACH) as u64).collect::<Vec<_>>());
    for (_, lease) in &handles {
        let own = events.iter().filter(|event| event.draft.assembly == lease.scope);
        let own: Vec<_> = own.map(|event| message(&event.draft).to_owned()).collect();
        assert_eq!(own, (0..EACH).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

/// Pages of events follow each other without gap or overlap. Only the last page may be shorter than requested.
pub async fn events_are_read_in_pages(harness: &impl Harness) {
    let store = harness.open().await;
    assert_eq!(store.last_event().await.unwrap(), Seq::START);
    let lease = leased(&*store, "h_bta").await;
    let batch = (1..=5).fold(Batch::new(), |batch, n| batch.event(event(&lease.scope, n.to_string())));
    commit(&*store, &lease, batch).await;
    let mut after = Seq::START;
    let mut sizes = Vec::new();
    loop {
        let page = store.events(after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        assert_eq!(page[0].seq, Seq(after.0 + 1));
        after = last.seq;
        sizes.push(page.len());
    }
    assert_eq!((sizes, after), (vec![2, 2, 1], Seq(5)));
    assert_eq!(store.last_event().await.unwrap(), after);
}

/// A [`Watch`](crate::Watch) reports events of the program that watches, not only events of other programs. The
/// program commits an event through the same [`Store`](crate::Store) handle that has created the watch. After the
/// commit, the event can be read at once.
pub async fn a_watch_sees_its_own_handle(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    let mut watch = store.watch(Seq::START);
    let (seen, ()) =
        futures::join!(watch.next(), commit(&*store, &lease, Batch::new().event(event(&lease.scope, "x"))));
    assert_eq!(seen.unwrap(), Seq(1));
    assert_eq!(store.events(Seq::START, 10).await.unwrap().len(), 1);
}

/// The events of one assembly can be read in pages, without the events of other assemblies. The numbers of the
/// events may have gaps, because the events of all assemblies are numbered in one sequence.
pub async fn events_are_read_by_assembly(harness: &impl Harness) {
    let store = harness.open().await;
    let (one, two) = (leased(&*store, "one").await, leased(&*store, "two").await);
    for n in 1..=3 {
        for lease in [&one, &two] {
            commit(&*store, lease, Batch::new().event(event(&lease.scope, n.to_string()))).await;
        }
    }
    let numbers = |events: Vec<EventRecord>| events.iter().map(|event| event.seq.0).collect::<Vec<_>>();
    let of = async |after, limit| numbers(store.events_of(&two.scope, Seq(after), limit).await.unwrap());
    assert_eq!(of(0, 10).await, [2, 4, 6]);
    assert_eq!(of(0, 2).await, [2, 4]);
    assert_eq!(of(4, 10).await, [6]);
    assert_eq!(of(6, 10).await, [0; 0]);
}

/// A watch wakes for a commit of another handle.
pub async fn a_watch_sees_other_handles(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    let lease = leased(&*there, "h_bta").await;
    let mut watch = here.watch(Seq::START);
    for n in 1..=3 {
        let batch = Batch::new().event(event(&lease.scope, n.to_string()));
        let (seen, ()) = futures::join!(watch.next(), commit(&*there, &lease, batch));
        assert_eq!(seen.unwrap(), Seq(n));
        assert_eq!(watch.seen(), Seq(n));
    }
}

/// `watch(Seq(3))` waits for events with numbers greater than 3. If such events exist already, it reports them at
/// once.
pub async fn a_watch_tells_what_is_there_at_once(harness: &impl Harness) {
    let store = harness.open().await;
    assert_eq!(store.last_event().await.unwrap(), Seq::START);
    let lease = leased(&*store, "h_bta").await;
    let batch = (1..=5).fold(Batch::new(), |batch, n| batch.event(event(&lease.scope, n.to_string())));
    commit(&*store, &lease, batch).await;
    assert_eq!(harness.open().await.watch(Seq(3)).next().await.unwrap(), Seq(5));
}

/// The events of a refused batch take no number.
pub async fn refused_batches_leave_no_hole(harness: &impl Harness) {
    let store = harness.open().await;
    let bad = leased(&*store, "bad").await;
    let orphan = element(&part(&bad.scope, "A"), 1);
    let refused = Batch::new().event(event(&bad.scope, "never")).put_element(orphan);
    assert!(store.commit(&bad, refused).await.is_err());
    let good = leased(&*store, "good").await;
    assert_eq!(store.commit(&good, Batch::new().event(event(&good.scope, "first"))).await.unwrap(), Seq(1));
}
