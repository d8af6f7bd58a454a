//! Tests of records: a stored record can be loaded, a dropped record is removed, and the history stays.

use windlass_model::record::{CallState, ProcessStatus};
use windlass_model::{ElementName, ProcessId, Seq};

use super::{Harness, commit, leased, with_assembly};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::testing::samples;
use crate::testing::samples::{
    assembly, call, call_id, element, holder, instance, job, name, package, pair, part, process, secret,
    step, value, version,
};

/// One snapshot contains all records that were put for an assembly, and no records of other assemblies.
pub async fn load_brings_all_that_was_put(harness: &impl Harness) {
    let store = harness.open().await;
    for assembly in ["h_bta", "other", "h_bta2"] {
        let lease = with_assembly(&*store, assembly).await;
        let (scope, a) = (&lease.scope, part(&lease.scope, "A"));
        let batch = Batch::new()
            .put_element(element(&a, 1))
            .put_instance(instance(&a, 2))
            .put_pair(pair(scope, "A", "B"))
            .put_secret(secret(assembly), scope.clone(), value("x"));
        commit(&*store, &lease, batch).await;
    }
    let scope = name("h_bta");
    let a = part(&scope, "A");
    let snapshot = store.load(&scope).await.unwrap().unwrap();
    assert_eq!(snapshot.assembly, assembly(&scope, &[]));
    assert_eq!(snapshot.elements.into_values().collect::<Vec<_>>(), [element(&a, 1)]);
    assert_eq!(snapshot.instances.into_values().collect::<Vec<_>>(), [instance(&a, 2)]);
    assert_eq!(snapshot.pairs.into_values().collect::<Vec<_>>(), [pair(&scope, "A", "B")]);
    assert_eq!(snapshot.secrets.into_keys().collect::<Vec<_>>(), [secret("h_bta")]);
}

/// An assembly that was never stored does not exist, even if its lease is held.
pub async fn load_of_nothing_is_nothing(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    assert!(store.load(&lease.scope).await.unwrap().is_none());
    assert!(store.history(&lease.scope).await.unwrap().processes.is_empty());
    assert!(store.package(&package("none").digest).await.unwrap().is_none());
    assert_eq!(store.assemblies(None, 1).await.unwrap(), []);
}

/// A stored assembly, element, instance or pair replaces the earlier record with the same key.
pub async fn puts_replace(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let a = part(&lease.scope, "A");
    let mut joined = pair(&lease.scope, "A", "B");
    let batch =
        Batch::new().put_element(element(&a, 1)).put_instance(instance(&a, 1)).put_pair(joined.clone());
    commit(&*store, &lease, batch).await;
    joined.created = true;
    let changed = Batch::new()
        .put_assembly(assembly(&lease.scope, &[]))
        .put_element(element(&a, 2))
        .put_instance(instance(&a, 2))
        .put_pair(joined.clone());
    commit(&*store, &lease, changed).await;
    let snapshot = store.load(&lease.scope).await.unwrap().unwrap();
    assert_eq!(snapshot.elements.into_values().collect::<Vec<_>>(), [element(&a, 2)]);
    assert_eq!(snapshot.instances.into_values().collect::<Vec<_>>(), [instance(&a, 2)]);
    assert_eq!(snapshot.pairs.into_values().collect::<Vec<_>>(), [joined]);
}

/// If a batch drops an element, the store also drops the instance of the element. If a batch drops a pair, nothing else
/// is dropped. Dropping a missing record is not an error.
pub async fn drops_remove(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let (a, b) = (part(&lease.scope, "A"), part(&lease.scope, "B"));
    let (ab, ba) = (pair(&lease.scope, "A", "B"), pair(&lease.scope, "B", "A"));
    let filled = Batch::new()
        .put_element(element(&a, 1))
        .put_element(element(&b, 1))
        .put_instance(instance(&a, 1))
        .put_instance(instance(&b, 1))
        .put_pair(ab.clone())
        .put_pair(ba.clone());
    commit(&*store, &lease, filled).await;
    for _ in 0..2 {
        commit(&*store, &lease, Batch::new().drop_element(a.clone()).drop_pair(ab.key.clone())).await;
    }
    let snapshot = store.load(&lease.scope).await.unwrap().unwrap();
    assert_eq!(snapshot.elements.keys().collect::<Vec<_>>(), [&b]);
    assert_eq!(snapshot.instances.keys().collect::<Vec<_>>(), [&b]);
    assert_eq!(snapshot.pairs.into_keys().collect::<Vec<_>>(), [ba.key]);
}

/// Returns a batch with process 1, its steps 1 and 2, and one call for each step. `states` contains the states of the
/// two calls. The job `z` serves both calls, and the job `a` serves only the call of step 1.
fn launched(scope: &windlass_model::AssemblyName, states: [CallState; 2]) -> Batch {
    let [first, second] = states;
    Batch::new()
        .put_process(process(scope, 1, ProcessStatus::InProgress))
        .put_step(step(1, 1))
        .put_step(step(1, 2))
        .put_call(call(scope, 1, 2, second))
        .put_call(call(scope, 1, 1, first))
        .put_job(job("z", &[call_id(1, 1), call_id(1, 2)]))
        .put_job(job("a", &[call_id(1, 1)]))
}

/// Only unfinished work is loaded: open calls with their jobs, and processes that have not ended.
pub async fn load_has_open_calls_with_their_jobs(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let scope = &lease.scope;
    commit(&*store, &lease, launched(scope, [CallState::Open, CallState::Undecided])).await;
    let snapshot = store.load(scope).await.unwrap().unwrap();
    assert_eq!(snapshot.processes.iter().map(|process| process.id).collect::<Vec<_>>(), [ProcessId(1)]);
    assert_eq!(
        snapshot.calls.iter().map(|call| &call.id).collect::<Vec<_>>(),
        [&call_id(1, 2), &call_id(1, 1)]
    );
    assert_eq!(snapshot.jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["z", "a"]);

    let settled = Batch::new().put_call(call(scope, 1, 1, CallState::Succeeded)).put_process(process(
        scope,
        1,
        ProcessStatus::Failed,
    ));
    commit(&*store, &lease, settled).await;
    let snapshot = store.load(scope).await.unwrap().unwrap();
    assert_eq!(snapshot.processes, []);
    assert_eq!(snapshot.calls, [call(scope, 1, 2, CallState::Undecided)]);
    assert_eq!(snapshot.jobs, [job("z", &[call_id(1, 1), call_id(1, 2)])]);
}

/// A job appears under each of its calls.
pub async fn a_job_serves_many_calls(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    commit(&*store, &lease, launched(&lease.scope, [CallState::Open, CallState::Open])).await;
    let snapshot = store.load(&lease.scope).await.unwrap().unwrap();
    let jobs = snapshot.jobs_by_call();
    let ids = |call| jobs[&call].iter().map(|job| job.id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids(call_id(1, 1)), ["z", "a"]);
    assert_eq!(ids(call_id(1, 2)), ["z"]);
}

/// The history contains every process, with its steps, calls and jobs. Steps are sorted by number. Calls and jobs are
/// in the order in which they were first recorded.
pub async fn history_tells_all_in_order(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    let scope = &lease.scope;
    commit(&*store, &lease, Batch::new().put_process(process(scope, 2, ProcessStatus::InProgress))).await;
    commit(&*store, &lease, launched(scope, [CallState::Open, CallState::Open])).await;
    commit(
        &*store,
        &lease,
        Batch::new().put_call(call(scope, 1, 1, CallState::Succeeded)).put_step(step(1, 1)),
    )
    .await;

    let history = store.history(scope).await.unwrap().processes;
    assert_eq!(history.iter().map(|done| done.process.id).collect::<Vec<_>>(), [ProcessId(1), ProcessId(2)]);
    assert_eq!(history[0].steps, [step(1, 1), step(1, 2)]);
    assert_eq!(
        history[0].calls,
        [call(scope, 1, 2, CallState::Open), call(scope, 1, 1, CallState::Succeeded)]
    );
    assert_eq!(history[0].jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["z", "a"]);
    assert!(history[1].steps.is_empty() && history[1].calls.is_empty() && history[1].jobs.is_empty());
}

/// A dropped assembly leaves nothing for the next assembly with the same name, not even open calls.
pub async fn drop_assembly_forgets(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let (scope, a) = (&lease.scope, part(&lease.scope, "A"));
    let filled = launched(scope, [CallState::Open, CallState::Open])
        .put_element(element(&a, 1))
        .put_element(element(&ElementName::from(scope), 1))
        .put_instance(instance(&a, 1))
        .put_pair(pair(scope, "A", "B"))
        .put_secret(secret("key"), scope.clone(), value("x"));
    commit(&*store, &lease, filled).await;
    let ended = process(scope, 1, ProcessStatus::Completed);
    commit(&*store, &lease, Batch::new().drop_assembly(scope.clone()).put_process(ended)).await;
    assert!(store.load(scope).await.unwrap().is_none());

    commit(&*store, &lease, Batch::new().put_assembly(assembly(scope, &[]))).await;
    let snapshot = store.load(scope).await.unwrap().unwrap();
    assert!(snapshot.elements.is_empty() && snapshot.instances.is_empty() && snapshot.pairs.is_empty());
    assert!(snapshot.calls.is_empty() && snapshot.jobs.is_empty() && snapshot.processes.is_empty());
    assert!(snapshot.secrets.is_empty());
}

/// The history of a dropped assembly is unchanged.
pub async fn history_outlives_its_assembly(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    commit(&*store, &lease, launched(&lease.scope, [CallState::Succeeded, CallState::Open])).await;
    let before = store.history(&lease.scope).await.unwrap();
    commit(&*store, &lease, Batch::new().drop_assembly(lease.scope.clone())).await;
    let processes = harness.open().await.processes().await.unwrap();
    assert_eq!(processes, [before.processes[0].process.clone()]);
    assert_eq!(harness.open().await.history(&lease.scope).await.unwrap(), before);
    assert_eq!(before.processes[0].jobs.len(), 2);
}

/// The store keeps a package until the last assembly that pins the package is dropped.
pub async fn packages_are_kept_once_while_pinned(harness: &impl Harness) {
    let store = harness.open().await;
    let (shared, own) = (package("shared"), package("own"));
    let pins = [("one", vec![&shared, &own]), ("two", vec![&shared])];
    for (assembly_name, packages) in &pins {
        let lease = leased(&*store, assembly_name).await;
        let batch =
            packages.iter().fold(Batch::new(), |batch, package| batch.put_package((*package).clone()));
        commit(&*store, &lease, batch.put_assembly(assembly(&lease.scope, packages))).await;
        store.release(lease).await.unwrap();
    }
    assert_eq!(store.package(&shared.digest).await.unwrap(), Some(shared.clone()));

    let kept = [("one", (true, false)), ("two", (false, false))];
    for (assembly_name, expected) in kept {
        let lease = leased(&*store, assembly_name).await;
        commit(&*store, &lease, Batch::new().drop_assembly(lease.scope.clone())).await;
        let found = (store.package(&shared.digest).await.unwrap(), store.package(&own.digest).await.unwrap());
        assert_eq!((found.0.is_some(), found.1.is_some()), expected, "after dropping {assembly_name}");
    }
}

/// Versions are read oldest first, also after the assembly was dropped.
pub async fn versions_are_kept_in_order(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let scope = &lease.scope;
    assert!(store.versions(scope).await.unwrap().is_empty());
    for id in [2, 1] {
        let asked = Batch::new().put_process(process(scope, id, ProcessStatus::Completed));
        commit(&*store, &lease, asked.put_version(version(scope, id, &[]))).await;
    }
    let expected = [version(scope, 1, &[]), version(scope, 2, &[])];
    assert_eq!(store.versions(scope).await.unwrap(), expected);
    assert!(store.versions(&name("other")).await.unwrap().is_empty());
    commit(&*store, &lease, Batch::new().drop_assembly(scope.clone())).await;
    assert_eq!(harness.open().await.versions(scope).await.unwrap(), expected);
}

/// The packages of an older version stay available for rollback until the assembly is dropped.
pub async fn packages_of_versions_stay_while_the_assembly_does(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    let scope = &lease.scope;
    let (old, new) = (package("old"), package("new"));
    for (id, package) in [(1, &old), (2, &new)] {
        let batch = Batch::new()
            .put_package(package.clone())
            .put_assembly(assembly(scope, &[package]))
            .put_process(process(scope, id, ProcessStatus::Completed))
            .put_version(version(scope, id, &[package]));
        commit(&*store, &lease, batch).await;
    }
    let other = with_assembly(&*store, "other").await;
    commit(&*store, &other, Batch::new().drop_assembly(other.scope.clone())).await;
    assert_eq!(store.package(&old.digest).await.unwrap(), Some(old.clone()));
    commit(&*store, &lease, Batch::new().drop_assembly(scope.clone())).await;
    assert_eq!(store.package(&old.digest).await.unwrap(), None);
    assert_eq!(store.package(&new.digest).await.unwrap(), None);
}

/// An assembly can't pin a missing package.
pub async fn a_pin_needs_its_package(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = leased(&*store, "h_bta").await;
    let batch = Batch::new().put_assembly(assembly(&lease.scope, &[&package("missing")]));
    assert!(store.commit(&lease, batch).await.is_err());
    assert!(store.load(&lease.scope).await.unwrap().is_none());
}

/// The store finds all processes that have not ended, oldest first. The processes may belong to different
/// assemblies.
pub async fn open_processes_are_found(harness: &impl Harness) {
    let store = harness.open().await;
    for (id, assembly, status) in [
        (4, "shop", ProcessStatus::InProgress),
        (3, "h_bta", ProcessStatus::Completed),
        (2, "h_bta", ProcessStatus::InProgress),
    ] {
        let lease = leased(&*store, assembly).await;
        commit(&*store, &lease, Batch::new().put_process(process(&lease.scope, id, status))).await;
        store.release(lease).await.unwrap();
    }
    let open = store.open_processes().await.unwrap();
    assert_eq!(open.iter().map(|process| process.id.0).collect::<Vec<_>>(), [2, 4]);
}

/// Process ids are reserved through several open handles, and again after the store was closed and opened again. The
/// store must give out no id twice.
pub async fn process_ids_are_given_out_once(harness: &impl Harness) {
    let mut ids = Vec::new();
    for _ in 0..2 {
        let (here, there) = (harness.open().await, harness.open().await);
        for store in [&here, &there, &here] {
            ids.push(store.reserve_process().await.unwrap());
        }
        let several = there.reserve_processes(3).await.unwrap();
        assert_eq!(several.len(), 3);
        ids.extend(several);
        assert_eq!(here.reserve_processes(0).await.unwrap(), []);
    }
    assert!(ids.is_sorted_by(|earlier, later| earlier < later), "{ids:?}");
}

/// `Store::create` commits one batch, which creates an assembly. The method changes nothing if the assembly exists,
/// if another holder has the lease, or if the batch breaks a rule. After the call, the caller holds no lease.
pub async fn an_assembly_is_created_once(harness: &impl Harness) {
    let (here, there) = (harness.open().await, harness.open().await);
    let new = name("h_bta");
    let batch =
        |message: &str| Batch::new().put_assembly(assembly(&new, &[])).event(samples::event(&new, message));
    let foreign = batch("foreign").put_assembly(assembly(&name("shop"), &[]));
    let refused = here.create(&new, &holder(1), foreign).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(here.assembly(&new).await.unwrap(), None, "nothing of the batch is applied");

    let lease = leased(&*there, "h_bta").await;
    let held = here.create(&new, &holder(1), batch("held")).await;
    assert!(matches!(held, Err(StoreError::Held { .. })), "{held:?}");
    there.release(lease.clone()).await.unwrap();

    assert!(here.create(&new, &holder(1), batch("created")).await.unwrap());
    assert!(!there.create(&new, &holder(2), batch("again")).await.unwrap());
    assert_eq!(there.holder(&new).await.unwrap(), None);
    let told: Vec<_> = there.events(Seq::START, 9).await.unwrap();
    let told: Vec<&str> = told.iter().map(|event| samples::message(&event.draft)).collect();
    assert_eq!(told, ["created"]);
    let next = leased(&*there, "h_bta").await;
    assert!(next.epoch > lease.epoch);
    commit(&*there, &next, batch("changed")).await;
}

/// Assemblies are listed by name, in pages.
pub async fn assemblies_are_read_in_pages(harness: &impl Harness) {
    let store = harness.open().await;
    for assembly in ["b", "c", "a", "B", "a_b"] {
        let _lease = with_assembly(&*store, assembly).await;
    }
    let page = async |after: Option<&str>, limit| {
        let page = store.assemblies(after.map(name).as_ref(), limit).await.unwrap();
        page.into_iter().map(|assembly| assembly.name).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, [name("B"), name("a")]);
    assert_eq!(page(Some("a"), 2).await, [name("a_b"), name("b")]);
    assert_eq!(page(Some("b"), 2).await, [name("c")]);
    assert_eq!(page(Some("c"), 2).await, []);
    assert_eq!(page(Some("aa"), 9).await, [name("b"), name("c")], "an assembly that is not there");
}

/// `load_all` returns the same snapshots as `load`, and leaves out assemblies that do not exist.
pub async fn assemblies_are_loaded_together(harness: &impl Harness) {
    let store = harness.open().await;
    for assembly in ["b", "a"] {
        let _lease = with_assembly(&*store, assembly).await;
    }
    let loaded = store.load_all(&[name("b"), name("missing"), name("a")]).await.unwrap();
    assert_eq!(loaded.len(), 2);
    for snapshot in loaded {
        let alone = store.load(&snapshot.assembly.name).await.unwrap().expect("it is there");
        assert_eq!((snapshot.assembly, snapshot.elements), (alone.assembly, alone.elements));
    }
}

/// `referrers` finds the assemblies that refer to an assembly. If an assembly is put again without a reference,
/// `referrers` no longer finds it.
pub async fn referrers_are_told(harness: &impl Harness) {
    let store = harness.open().await;
    let put = async |assembly: &str, references: &[&str]| {
        let lease = leased(&*store, assembly).await;
        let mut record = samples::assembly(&lease.scope, &[]);
        record.references = references.iter().map(|reference| name(reference)).collect();
        commit(&*store, &lease, Batch::new().put_assembly(record)).await;
        store.release(lease).await.unwrap();
    };
    put("a", &[]).await;
    put("c", &["a", "b"]).await;
    put("b", &["a"]).await;
    assert_eq!(store.referrers(&name("a")).await.unwrap(), [name("b"), name("c")]);
    assert_eq!(store.referrers(&name("b")).await.unwrap(), [name("c")]);
    assert_eq!(store.referrers(&name("c")).await.unwrap(), []);
    put("b", &[]).await;
    assert_eq!(store.referrers(&name("a")).await.unwrap(), [name("c")]);
}

/// An assembly no longer refers to `a`, but one of its stored versions does. `former_referrers` must find this
/// assembly.
pub async fn former_referrers_are_told(harness: &impl Harness) {
    let store = harness.open().await;
    let put = async |assembly: &str, id: u64, references: &[&str]| {
        let lease = leased(&*store, assembly).await;
        let mut made = samples::version(&lease.scope, id, &[]);
        made.assembly.references = references.iter().map(|reference| name(reference)).collect();
        let batch = Batch::new()
            .put_assembly(made.assembly.clone())
            .put_process(samples::process(&lease.scope, id, ProcessStatus::Completed))
            .put_version(made);
        commit(&*store, &lease, batch).await;
        store.release(lease).await.unwrap();
    };
    put("a", 1, &[]).await;
    put("b", 2, &["a"]).await;
    put("c", 3, &["a-2"]).await;
    put("d", 4, &["a"]).await;
    assert_eq!(store.former_referrers(&name("a")).await.unwrap(), []);
    put("b", 5, &[]).await;
    put("c", 6, &[]).await;
    put("d", 7, &[]).await;
    let lease = leased(&*store, "d").await;
    commit(&*store, &lease, Batch::new().drop_assembly(name("d"))).await;
    assert_eq!(store.former_referrers(&name("a")).await.unwrap(), [name("b")]);
}

/// The id of a store never changes.
pub async fn ids_are_kept(harness: &impl Harness) {
    let id = harness.open().await.id().clone();
    assert_eq!(*harness.open().await.id(), id);
}

/// `processes_of` reads up to `limit` processes of an assembly that are older than a given process, newest first.
pub async fn processes_are_read_in_pages(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let other = with_assembly(&*store, "other").await;
    for id in 1..=9 {
        let lease = if id % 3 == 0 { &other } else { &lease };
        commit(&*store, lease, Batch::new().put_process(process(&lease.scope, id, ProcessStatus::Completed)))
            .await;
    }
    let page = async |before: Option<u64>, limit| {
        let page = store.processes_of(&lease.scope, before.map(ProcessId), limit).await.unwrap();
        page.iter().map(|process| process.id.0).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, [8, 7]);
    assert_eq!(page(Some(7), 2).await, [5, 4]);
    assert_eq!(page(Some(4), 100).await, [2, 1]);
    assert_eq!(page(Some(1), 100).await, [0_u64; 0]);
    assert_eq!(store.process(ProcessId(3)).await.unwrap().map(|of| of.assembly), Some(other.scope.clone()));
    assert_eq!(
        store.process_history(ProcessId(7)).await.unwrap().map(|of| of.process.id),
        Some(ProcessId(7))
    );
    assert_eq!(store.remembered().await.unwrap(), [name("h_bta"), name("other")]);
}

/// The list of `versions_since` begins with the newest version whose process id is at most the given id. All later
/// versions follow. If there is no such version, the list contains all versions.
pub async fn versions_are_read_from_one_on(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    for id in 1..=60 {
        let mut batch = Batch::new().put_process(process(&lease.scope, id, ProcessStatus::Completed));
        if id % 2 == 0 {
            batch = batch.put_version(version(&lease.scope, id, &[]));
        }
        commit(&*store, &lease, batch).await;
    }
    let all = store.versions(&lease.scope).await.unwrap();
    assert_eq!(all.len(), 30);
    for (since, first) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (37, 17), (60, 29), (99, 29)] {
        let found = store.versions_since(&lease.scope, ProcessId(since)).await.unwrap();
        assert_eq!(found, all[first..], "since {since}");
    }
    assert_eq!(store.versions_since(&name("other"), ProcessId(5)).await.unwrap(), []);
}

/// [`Store::changed`](crate::Store::changed) lists the assemblies with events after a given event.
/// [`Store::assembly`](crate::Store::assembly) reads the record of one assembly.
pub async fn changed_assemblies_are_listed(harness: &impl Harness) {
    let store = harness.open().await;
    let mut leases = Vec::new();
    for assembly in ["c", "a", "b"] {
        leases.push(with_assembly(&*store, assembly).await);
    }
    for (lease, text) in [(&leases[0], "1"), (&leases[1], "2"), (&leases[0], "3"), (&leases[2], "4")] {
        commit(&*store, lease, Batch::new().event(samples::event(&lease.scope, text))).await;
    }
    let after = async |seq| store.changed(windlass_model::Seq(seq)).await.unwrap();
    assert_eq!(after(0).await, [name("a"), name("b"), name("c")]);
    assert_eq!(after(2).await, [name("b"), name("c")]);
    assert_eq!(after(4).await, []);
    assert_eq!(store.assembly_names().await.unwrap(), [name("a"), name("b"), name("c")]);
    assert_eq!(store.assembly(&name("b")).await.unwrap(), Some(assembly(&name("b"), &[])));
    assert_eq!(store.assembly(&name("d")).await.unwrap(), None);
}
