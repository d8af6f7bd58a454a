//! Model test: for any batches, the file and the server behave like the in-memory store, which is small
//! enough to be reviewed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use windlass_model::document::{DocumentDraft, DocumentScope, Expected};
use windlass_model::record::{CallState, ProcessStatus};
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, ProcessId, Seq};
use windlass_store::testing::conformance::Harness;
use windlass_store::testing::samples::{
    assembly, call, call_id, document, document_key, element, event, event_of, holder, instance, job, name,
    package, pair, part, process, secret, step, value, version,
};
use windlass_store::testing::{CountingEntropy, ManualClock, MemoryStore};
use windlass_store::{Batch, Lease, Rename, Store};

use crate::place::Place;
#[cfg(feature = "postgres")]
use crate::postgres::OnServer;

/// One change in a small world: two assemblies, two components, two processes with two steps each.
#[derive(Debug, Clone, Copy)]
struct Stroke {
    what: u8,
    which: bool,
    other: bool,
    number: u8,
}

fn strokes() -> impl Strategy<Value = Vec<Stroke>> {
    let stroke = (0..21_u8, any::<bool>(), any::<bool>(), 0..4_u8)
        .prop_map(|(what, which, other, number)| Stroke { what, which, other, number });
    vec(stroke, 0..5)
}

/// Generates batches, each under the lease of the first or the second assembly.
fn batches() -> impl Strategy<Value = Vec<(bool, Vec<Stroke>)>> {
    vec((any::<bool>(), strokes()), 1..25)
}

fn other_name(scope: &AssemblyName) -> AssemblyName {
    name(if *scope == name("first") { "second" } else { "first" })
}

fn draw(batch: Batch, scope: &AssemblyName, stroke: Stroke) -> Batch {
    let Stroke { what, which, other, number } = stroke;
    let component = if which { "A" } else { "B" };
    let (a, label) = (part(scope, component), if which { "one" } else { "two" });
    let (process_id, step_number) = (1 + u64::from(which), 1 + u32::from(other));
    let state = [CallState::Open, CallState::Undecided, CallState::Succeeded, CallState::AssumedDone];
    match what {
        0 | 1 if other => batch.put_package(package(label)).put_assembly(assembly(scope, &[&package(label)])),
        0 | 1 => batch.put_assembly(assembly(scope, &[])),
        2 if number == 0 => batch.drop_assembly(scope.clone()),
        2 => batch.put_assembly(assembly(scope, &[&package(label)])),
        3 => batch.put_element(element(&a, number.into())),
        4 => batch.drop_element(a),
        5 => batch.put_instance(instance(&a, number.into())),
        6 => batch.put_pair(pair(scope, component, label)),
        7 => batch.drop_pair(pair(scope, component, label).key),
        8 if other => batch.put_process(process(scope, process_id, ProcessStatus::InProgress)),
        8 => batch.put_process(process(scope, process_id, ProcessStatus::Completed)),
        9 => batch.put_step(step(process_id, step_number)),
        10 => batch.put_call(call(scope, process_id, step_number, state[usize::from(number)].clone())),
        11 => batch.put_job(job(label, &[call_id(process_id, step_number), call_id(process_id, 1)])),
        12 => batch.put_secret(secret(label), scope.clone(), value(&number.to_string())),
        13 => batch.drop_secret(secret(label)),
        14 if other => batch.put_version(version(scope, process_id, &[&package(label)])),
        14 => batch.put_version(version(scope, process_id, &[])),
        15 if number == 0 => batch.drop_version(ProcessId(process_id)),
        15 => batch.event(event_of(scope, process_id, number.to_string())),
        16 if number < 2 => batch.drop_process(ProcessId(process_id)),
        17 | 18 => {
            let of = if which { DocumentScope::Project } else { DocumentScope::Assembly(scope.clone()) };
            let packages = if other { BTreeSet::from([package(label).digest]) } else { BTreeSet::new() };
            let expected = if number == 0 { Expected::Absent } else { Expected::Any };
            let draft = document(&of, "a", &number.to_string());
            batch.put_document(DocumentDraft { packages, expected, ..draft })
        }
        20 => batch.rename(Rename {
            renaming: Renaming { from: other_name(scope), to: scope.clone() },
            others: BTreeSet::new(),
            plans: BTreeMap::new(),
        }),
        19 if other => {
            let of = if which { DocumentScope::Project } else { DocumentScope::Assembly(scope.clone()) };
            batch.drop_document(document_key(&of, "a"), Expected::Any)
        }
        _ => batch.event(event(scope, number.to_string())),
    }
}

/// Returns everything that a store reports, as text.
async fn telling(store: &dyn Store) -> String {
    let mut told = Vec::new();
    for assembly_name in ["first", "second"] {
        let scope = name(assembly_name);
        let snapshot = store.load(&scope).await.unwrap();
        let secrets = snapshot.iter().flat_map(|snapshot| snapshot.secrets.values());
        told.push(format!("{:?}", secrets.map(|secret| secret.expose().clone()).collect::<Vec<_>>()));
        told.push(format!("{snapshot:#?}\n{:#?}", store.history(&scope).await.unwrap()));
        told.push(format!("{:#?}", store.versions(&scope).await.unwrap()));
        told.push(format!("{:#?}", store.versions_since(&scope, ProcessId(2)).await.unwrap()));
        told.push(format!("{:#?}", store.processes_of(&scope, Some(ProcessId(2)), 1).await.unwrap()));
    }
    for label in ["one", "two"] {
        told.push(format!("{:?}", store.package(&package(label).digest).await.unwrap()));
        told.push(format!(
            "{:?}",
            store.secret(&secret(label)).await.unwrap().map(|secret| secret.expose().clone())
        ));
    }
    for scope in [
        DocumentScope::Project,
        DocumentScope::Assembly(name("first")),
        DocumentScope::Assembly(name("second")),
    ] {
        told.push(format!("{:?}", store.document(&document_key(&scope, "a")).await.unwrap()));
    }
    told.push(format!("{:#?}", store.events(Seq::START, usize::MAX).await.unwrap()));
    told.push(format!("{:?}", store.assemblies(None, usize::MAX).await.unwrap()));
    told.push(format!("{:?}", store.changed(Seq(2)).await.unwrap()));
    told.push(format!("{:?}", store.remembered().await.unwrap()));
    told.join("\n")
}

/// Commits a batch, and takes new leases if the batch is refused.
async fn commit(store: &dyn Store, [own, other]: [&mut Lease; 2], strokes: &[Stroke]) -> Result<Seq, String> {
    let batch = strokes.iter().fold(Batch::new(), |batch, stroke| draw(batch, &own.scope, *stroke));
    let outcome = store.commit(own, batch.beside([&*other])).await;
    if outcome.is_err() {
        for lease in [own, other] {
            store.release(lease.clone()).await.unwrap();
            *lease = store.lease(&lease.scope, &holder(1)).await.unwrap();
        }
    }
    outcome.map_err(|error| error.to_string())
}

async fn run(store: &dyn Store, batches: &[(bool, Vec<Stroke>)]) -> (Vec<Result<Seq, String>>, String) {
    let mut first = store.lease(&name("first"), &holder(1)).await.unwrap();
    let mut second = store.lease(&name("second"), &holder(1)).await.unwrap();
    let mut outcomes = Vec::new();
    for (one, strokes) in batches {
        let leases = if *one { [&mut first, &mut second] } else { [&mut second, &mut first] };
        outcomes.push(commit(store, leases, strokes).await);
    }
    (outcomes, telling(store).await)
}

/// Runs the batches in memory and in another store, and compares results and contents.
fn compare(place: &dyn Harness, clock: Arc<ManualClock>, batches: &[(bool, Vec<Stroke>)]) -> TestCaseResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let memory = MemoryStore::new(clock, &CountingEntropy::default());
        let (expected, told) = run(&memory, batches).await;
        let (outcomes, said) = run(&*place.open().await, batches).await;
        prop_assert_eq!(outcomes, expected);
        prop_assert_eq!(said, told);
        Ok(())
    })
}

/// Returns a configuration with one `share`-th of the usual cases, because they are slow.
fn one_of(share: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(share), failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(one_of(4))]

    #[test]
    fn a_file_says_the_same(batches in batches()) {
        let place = Place::new();
        compare(&place, place.shared_clock(), &batches)?;
    }
}

#[cfg(feature = "postgres")]
proptest! {
    #![proptest_config(one_of(10))]

    #[test]
    fn a_server_says_the_same(batches in batches()) {
        if let Some(place) = OnServer::get("a_server_says_the_same") {
            compare(&place, place.shared_clock(), &batches)?;
        }
    }
}
