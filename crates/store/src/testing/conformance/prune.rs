//! Pruning: an ended process can be dropped with all its records, unless the store still needs the process.

use windlass_model::record::{CallState, ProcessStatus};
use windlass_model::{ProcessId, Seq};

use super::{Harness, commit, with_assembly};
use crate::batch::{Batch, Change};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::store::Store;
use crate::testing::samples::{
    call, call_id, event_of, job, message, name, package, process, request, step, value, version,
};

/// Stores a process with a step, a call, a job and an event.
async fn done(store: &dyn Store, lease: &Lease, id: u64, status: ProcessStatus, state: CallState) {
    let scope = &lease.scope;
    let batch = Batch::new()
        .put_process(process(scope, id, status))
        .put_step(step(id, 1))
        .put_call(call(scope, id, 1, state))
        .put_job(job(&format!("job-{id}"), &[call_id(id, 1)]))
        .event(event_of(scope, id, format!("{scope} {id}")));
    commit(store, lease, batch).await;
}

async fn events_of(store: &dyn Store) -> Vec<String> {
    let events = store.events(Seq::START, usize::MAX).await.unwrap();
    events.iter().map(|event| message(&event.draft).to_owned()).collect()
}

/// An ended process is dropped with its steps, calls, jobs, events and request. Other processes stay as they
/// are.
pub async fn processes_are_forgotten_with_all_of_them(harness: &impl Harness) {
    let store = harness.open().await;
    let (mine, theirs) = (with_assembly(&*store, "mine").await, with_assembly(&*store, "theirs").await);
    let asked = request(&mine.scope, 90);
    store.submit(&asked, value("x")).await.unwrap();
    for id in [1, 2, 4] {
        done(&*store, &mine, id, ProcessStatus::Completed, CallState::Succeeded).await;
    }
    done(&*store, &theirs, 3, ProcessStatus::Completed, CallState::Succeeded).await;
    let before = store.history(&theirs.scope).await.unwrap();
    store.ask_to_stop(&mine.scope, ProcessId(1)).await.unwrap();
    commit(&*store, &mine, Batch::new().drop_process(ProcessId(1)).drop_process(ProcessId(2))).await;
    assert_eq!(store.process(ProcessId(1)).await.unwrap(), None);
    assert!(store.process_history(ProcessId(2)).await.unwrap().is_none());
    let left = store.history(&mine.scope).await.unwrap().processes;
    assert_eq!(left.iter().map(|of| of.process.id).collect::<Vec<_>>(), [ProcessId(4)]);
    assert_eq!((left[0].steps.len(), left[0].calls.len(), left[0].jobs.len()), (1, 1, 1));
    assert_eq!(store.history(&theirs.scope).await.unwrap(), before);
    assert_eq!(events_of(&*store).await[1..], ["mine 4", "theirs 3"], "the request was reported first");
    // Dropping a process that no longer exists is accepted.
    commit(&*store, &mine, Batch::new().drop_process(ProcessId(1))).await;
    assert_eq!(store.remembered().await.unwrap(), [name("mine"), name("theirs")]);
    // The changes of a batch are made in order, so a process that is put after its drop exists.
    let anew = process(&mine.scope, 1, ProcessStatus::Completed);
    commit(&*store, &mine, Batch::new().drop_process(ProcessId(1)).put_process(anew)).await;
    assert!(store.process(ProcessId(1)).await.unwrap().is_some());
}

/// The store refuses to drop a process that is still needed. A process is needed if it has not ended, if it has an
/// open call, or if the store contains the version that the process tried to establish. The store also refuses to
/// drop processes and versions of any assembly other than the lease's assembly.
pub async fn needed_records_are_not_pruned(harness: &impl Harness) {
    let store = harness.open().await;
    let (mine, theirs) = (with_assembly(&*store, "mine").await, with_assembly(&*store, "theirs").await);
    done(&*store, &mine, 1, ProcessStatus::InProgress, CallState::Succeeded).await;
    done(&*store, &mine, 2, ProcessStatus::Failed, CallState::Undecided).await;
    done(&*store, &mine, 3, ProcessStatus::Completed, CallState::Succeeded).await;
    commit(&*store, &mine, Batch::new().put_version(version(&mine.scope, 3, &[]))).await;
    done(&*store, &theirs, 4, ProcessStatus::Completed, CallState::Succeeded).await;
    commit(&*store, &theirs, Batch::new().put_version(version(&theirs.scope, 4, &[]))).await;
    store.release(mine).await.unwrap();
    for change in [1, 2, 3, 4]
        .map(|id| Batch::new().drop_process(ProcessId(id)))
        .into_iter()
        .chain([Batch::new().drop_version(ProcessId(4))])
    {
        let lease = store.lease(&name("mine"), &crate::testing::samples::holder(1)).await.unwrap();
        let error = store.commit(&lease, change).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        store.release(lease).await.unwrap();
    }
    assert_eq!(events_of(&*store).await.len(), 4);
    assert_eq!(store.versions(&name("theirs")).await.unwrap().len(), 1);
}

/// Versions are dropped together with the packages that are no longer pinned. The remaining versions do not change,
/// even if they were stored as deltas to dropped versions.
pub async fn versions_are_forgotten_and_the_others_stay(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let scope = &lease.scope;
    let (old, new) = (package("old"), package("new"));
    let mut all = Vec::new();
    for id in 1..=40 {
        done(&*store, &lease, id, ProcessStatus::Completed, CallState::Succeeded).await;
        let pinned = if id < 6 { [&old] } else { [&new] };
        let version = version(scope, id, &pinned);
        let batch = Batch::new().put_package(pinned[0].clone()).put_assembly(version.assembly.clone());
        commit(&*store, &lease, batch.put_version(version.clone())).await;
        all.push(version);
    }
    assert_eq!(store.versions(scope).await.unwrap(), all);
    let goes = |id: u64| id < 5 || id == 9 || (20..35).contains(&id);
    let drop_all = (1..=40)
        .filter(|id| goes(*id))
        .fold(Batch::new(), |batch, id| batch.drop_version(ProcessId(id)).drop_process(ProcessId(id)));
    commit(&*store, &lease, drop_all).await;
    all.retain(|version| !goes(version.process.0));
    assert_eq!(store.versions(scope).await.unwrap(), all);
    assert!(store.package(&old.digest).await.unwrap().is_some(), "version 5 pins it");
    commit(&*store, &lease, Batch::new().drop_version(ProcessId(5))).await;
    assert!(store.package(&old.digest).await.unwrap().is_none());
    assert!(store.package(&new.digest).await.unwrap().is_some());
    assert_eq!(store.versions(scope).await.unwrap(), all[1..]);
    // If a version is put again, the versions whose deltas were based on it are still read unchanged.
    let again = version(scope, 35, &[&new]);
    commit(&*store, &lease, Batch::new().put_version(again)).await;
    assert_eq!(store.versions(scope).await.unwrap(), all[1..]);
}

/// All processes are dropped. The store must keep its last event, and must not give the number of that event to a new
/// event.
pub async fn numbers_of_events_are_not_given_out_again(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    done(&*store, &lease, 1, ProcessStatus::Completed, CallState::Succeeded).await;
    done(&*store, &lease, 2, ProcessStatus::Completed, CallState::Succeeded).await;
    let batch = Batch::new().drop_process(ProcessId(1)).drop_process(ProcessId(2));
    assert_eq!(store.commit(&lease, batch).await.unwrap(), Seq(2));
    drop(store);
    let store = harness.open().await;
    assert_eq!(store.last_event().await.unwrap(), Seq(2));
    done(&*store, &lease, 3, ProcessStatus::Completed, CallState::Succeeded).await;
    let events = store.events(Seq::START, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [Seq(2), Seq(3)]);
}

/// [`Change::DropEvent`] drops an event of the lease's assembly, and has no effect on an event of another assembly. The
/// store's last event always stays, even if that event belongs to the lease's assembly.
pub async fn events_are_forgotten(harness: &impl Harness) {
    let store = harness.open().await;
    let (mine, theirs) = (with_assembly(&*store, "mine").await, with_assembly(&*store, "theirs").await);
    for lease in [&mine, &theirs, &mine, &theirs] {
        commit(&*store, lease, Batch::new().event(event_of(&lease.scope, 1, lease.scope.to_string()))).await;
    }
    let drop_all = || -> Batch { (0..=4).map(|seq| Change::DropEvent(Seq(seq))).collect() };
    commit(&*store, &mine, drop_all()).await;
    assert_eq!(events_of(&*store).await, ["theirs", "theirs"]);
    commit(&*store, &theirs, drop_all()).await;
    assert_eq!(events_of(&*store).await, ["theirs"]);
    commit(&*store, &mine, Batch::new().event(event_of(&mine.scope, 1, "next"))).await;
    let events = store.events(Seq::START, usize::MAX).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [Seq(4), Seq(5)]);
}
