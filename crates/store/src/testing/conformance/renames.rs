//! Renaming of an assembly: all of its records get the new name, and nothing else changes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use windlass_model::document::{DocumentDraft, DocumentScope};
use windlass_model::record::{
    AssemblyRecord, CallState, InstanceRecord, PairKey, PairRecord, PlanText, ProcessStatus,
};
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, ProcessId, Seq};

use super::{Harness, commit, leased};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::lease::Lease;
use crate::rename::Rename;
use crate::store::Store;
use crate::testing::samples::{
    assembly, call, call_id, document, document_key, element, event_of, instance, job, name, package, pair,
    part, process, secret, step, value, version,
};

fn rename(from: &str, to: &str, others: &[&str]) -> Rename {
    Rename {
        renaming: Renaming { from: name(from), to: name(to) },
        others: others.iter().map(|other| name(other)).collect(),
        plans: BTreeMap::new(),
    }
}

/// Stores an assembly that belongs to `owner`. Also stores 20 versions of it, and records of each kind.
async fn filled(store: &dyn Store, assembly_name: &str, owner: &str) -> Lease {
    let lease = leased(store, assembly_name).await;
    let scope = &lease.scope;
    let (a, one) = (part(scope, "A"), package("one"));
    let marker = secret(&format!("{scope}:given/1"));
    let record = AssemblyRecord { owner: Some(name(owner)), ..assembly(scope, &[&one]) };
    let document_of = DocumentScope::Assembly(scope.clone());
    let note = DocumentDraft {
        secrets: Some(value("hidden")),
        packages: BTreeSet::from([one.digest.clone()]),
        ..document(&document_of, "a", "text")
    };
    let mut batch = Batch::new()
        .put_package(one.clone())
        .put_assembly(record)
        .put_element(element(&a, 1))
        .put_instance(InstanceRecord { document: json!({"token": marker.to_value()}), ..instance(&a, 1) })
        .put_pair(pair(scope, "A", "B"))
        .put_secret(marker, scope.clone(), value("hunter2"))
        .put_secret(secret(&format!("other-of-{scope}")), scope.clone(), value("12345"))
        .put_document(note);
    let offset = if assembly_name == "shop" { 0 } else { 100 };
    for number in 1..=20 {
        let id = offset + number;
        let made = version(scope, id, &[&one]);
        let made = AssemblyRecord { owner: Some(name(owner)), ..made.assembly };
        batch = batch
            .put_process(process(scope, id, ProcessStatus::Completed))
            .put_version(windlass_model::record::VersionRecord { process: ProcessId(id), assembly: made })
            .put_step(step(id, 1))
            .put_call(call(scope, id, 1, CallState::Succeeded))
            .put_job(job(&format!("job-{id}"), &[call_id(id, 1)]))
            .event(event_of(scope, id, "done"));
    }
    commit(store, &lease, batch).await;
    store.claim(&lease, &format!("i-{scope}").into()).await.unwrap();
    lease
}

/// Returns the names of the assemblies that have a natural id.
async fn claimants(store: &dyn Store, natural_id: &str) -> Vec<AssemblyName> {
    store.claimants(natural_id).await.unwrap().into_iter().map(|claimant| claimant.assembly).collect()
}

/// Returns everything that a store reports of an assembly, as text.
async fn dump(store: &dyn Store, scope: &AssemblyName) -> String {
    let snapshot = store.load(scope).await.unwrap();
    let secrets: Vec<_> = snapshot.iter().flat_map(|of| &of.secrets).collect();
    let secrets: Vec<_> = secrets.into_iter().map(|(name, value)| (name, value.expose())).collect();
    let key = document_key(&DocumentScope::Assembly(scope.clone()), "a");
    let hidden = store.document_secrets(&key).await.unwrap().map(|value| value.expose().clone());
    let text = format!(
        "{snapshot:#?}\n{secrets:?}\n{:#?}\n{:#?}\n{:?}\n{hidden:?}\n{:#?}\n{:?}\n{:?}",
        store.history(scope).await.unwrap(),
        store.versions(scope).await.unwrap(),
        store.document(&key).await.unwrap(),
        store.events_of(scope, Seq::START, usize::MAX).await.unwrap(),
        store.referrers(scope).await.unwrap(),
        store.owned(&name("vms"), None, 9).await.unwrap(),
    );
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// After an assembly is renamed, the store finds all records of the assembly under the new name, and none under the old
/// name. The secrets of the assembly can be opened under their new names.
pub async fn all_records_get_the_new_name(harness: &impl Harness) {
    let store = harness.open().await;
    let before = filled(&*store, "shop", "vms").await;
    let after = leased(&*store, "store").await;
    let expected = dump(&*store, &before.scope).await;
    commit(&*store, &after, Batch::new().rename(rename("shop", "store", &[])).beside([&before])).await;

    // Another handle, which has nothing in memory.
    let store = harness.open().await;
    let found = dump(&*store, &after.scope).await.replace("store", "shop");
    assert_eq!(found.replace("made_as: Some( \"shop\", )", "made_as: None"), expected);
    let snapshot = store.load(&after.scope).await.unwrap().unwrap();
    assert_eq!(snapshot.assembly.topology.instance_name(&part(&after.scope, "A")), part(&before.scope, "A"));
    let names: Vec<String> = snapshot.secrets.keys().map(|name| name.id().to_owned()).collect();
    assert_eq!(names, ["other-of-shop", "store:given/1"]);
    assert!(store.secret(&secret("shop:given/1")).await.unwrap().is_none());
    assert_eq!(claimants(&*store, "i-shop").await, [name("store")]);
    let gone = dump(&*store, &before.scope).await;
    assert!(gone.starts_with("None [] History { processes: [], } [] None None [] []"), "{gone}");
    assert_eq!(store.remembered().await.unwrap(), [name("store")]);
}

/// The records of another assembly may contain the name of the renamed assembly, for example as owner. A renaming
/// writes the new name into these records, too. A renaming also replaces plans: each process in [`Rename::plans`]
/// gets the plan from this map.
pub async fn records_that_name_it_follow(harness: &impl Harness) {
    let store = harness.open().await;
    let before = filled(&*store, "shop", "malls").await;
    let other = filled(&*store, "web", "shop").await;
    let key = PairKey {
        assembly: (&other.scope).into(),
        relationship: "uses".parse().unwrap(),
        source: part(&before.scope, "A"),
        target: part(&other.scope, "A"),
    };
    let record = store.assembly(&other.scope).await.unwrap().unwrap();
    let record = AssemblyRecord { references: [name("shop")].into(), ..record };
    let pair = PairRecord::new(key.clone(), crate::testing::samples::TIME);
    commit(&*store, &other, Batch::new().put_assembly(record.clone()).put_pair(pair)).await;
    let after = leased(&*store, "store").await;
    let plan = PlanText::new(&json!({"version": 1, "element": "store__A"})).unwrap();
    let plans = [(ProcessId(1), plan.clone())].into();
    let change = Rename { plans, ..rename("shop", "store", &["web"]) };
    let batch = Batch::new().rename(change).beside([&before, &other]);
    commit(&*store, &after, batch).await;

    assert_eq!(store.process(ProcessId(1)).await.unwrap().unwrap().plan, plan);
    let found = store.load(&other.scope).await.unwrap().unwrap();
    let (references, owner) = ([name("store")].into(), Some(name("store")));
    assert_eq!(found.assembly, AssemblyRecord { references, owner, ..record });
    let key = PairKey { source: part(&after.scope, "A"), ..key };
    assert!(found.pairs.contains_key(&key), "{:?}", found.pairs);
    assert_eq!(store.referrers(&after.scope).await.unwrap(), [name("web")]);
    assert_eq!(store.referrers(&before.scope).await.unwrap(), []);
    let found = store.owned(&after.scope, None, 9).await.unwrap();
    assert_eq!(found.into_iter().map(|of| of.assembly).collect::<Vec<_>>(), [name("web")]);
    assert_eq!(claimants(&*store, "i-web").await, [name("web")]);
    let versions = store.versions(&other.scope).await.unwrap();
    assert!(versions.iter().all(|version| version.assembly.owner == Some(name("store"))), "{versions:?}");
    // The renamed assembly can be dropped, although the assembly `web` refers to it.
    commit(&*store, &after, Batch::new().drop_assembly(after.scope.clone())).await;
    assert!(store.load(&after.scope).await.unwrap().is_none());
}

/// If an assembly is renamed back, it has the same records as before.
pub async fn the_old_name_brings_all_back(harness: &impl Harness) {
    let store = harness.open().await;
    let before = filled(&*store, "shop", "vms").await;
    let after = leased(&*store, "store").await;
    let expected = dump(&*store, &before.scope).await;
    commit(&*store, &after, Batch::new().rename(rename("shop", "store", &[])).beside([&before])).await;
    commit(&*store, &before, Batch::new().rename(rename("store", "shop", &[])).beside([&after])).await;
    assert_eq!(dump(&*store, &before.scope).await, expected);
}

/// A batch that renames an assembly is refused in three cases: the new name is in use, the assembly does not exist,
/// or a lease is missing. A refused batch changes nothing.
pub async fn renames_need_a_free_name_and_all_leases(harness: &impl Harness) {
    let store = harness.open().await;
    let before = filled(&*store, "shop", "vms").await;
    let other = filled(&*store, "web", "vms").await;
    let expected = dump(&*store, &before.scope).await;
    let refused = async |lease: &Lease, batch: Batch| match store.commit(lease, batch).await {
        Err(StoreError::Refused { reason, .. }) => reason,
        outcome => panic!("it was not refused: {outcome:?}"),
    };
    let reason = refused(&other, Batch::new().rename(rename("shop", "web", &[])).beside([&before])).await;
    assert_eq!(reason, "an assembly with the name `web` exists");
    for (lease, assembly_name) in [(&before, "shop"), (&other, "web")] {
        store.release(lease.clone()).await.unwrap();
        drop(leased(&*store, assembly_name).await);
    }
    let after = leased(&*store, "store").await;
    let reason = refused(&after, Batch::new().rename(rename("shop", "store", &[]))).await;
    assert_eq!(reason, "`rename` changes the assembly `shop`, whose lease it does not have");
    store.release(after).await.unwrap();
    let (after, none) = (leased(&*store, "store").await, leased(&*store, "none").await);
    let reason = refused(&after, Batch::new().rename(rename("none", "store", &[])).beside([&none])).await;
    assert_eq!(reason, "an assembly that `rename` changes does not exist: `none`");
    assert_eq!(dump(&*store, &before.scope).await, expected);
}
