//! Benchmark of flushes and commits: `cargo bench -p windlass-store`.
//!
//! `flush` is one write of 4 KiB with `fdatasync`, the minimum for a durable commit. The other benchmarks
//! write batches. A batch records that one call has ended and that the next call starts. It contains two
//! records of calls, and one record each of a step, an element, an instance and an event.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use windlass_model::clock::SystemClock;
use windlass_model::record::{CallState, ProcessStatus};
use windlass_store::sqlite::Options;
use windlass_store::testing::{CountingEntropy, samples};
use windlass_store::{Batch, KeySource, Lease, SqliteStore, Store};

fn main() {
    divan::main();
}

/// A store with a leased assembly and a running process.
struct Bench {
    runtime: Runtime,
    store: SqliteStore,
    lease: Lease,
    _folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let runtime = Runtime::new().expect("there is room for a thread");
        let key = KeySource::File(folder.path().join("key"));
        let options =
            Options::new(key, Arc::new(SystemClock), Arc::new(CountingEntropy::default())).create(true);
        let store = SqliteStore::open(folder.path().join("store.db"), options).expect("a new store opens");
        let scope = samples::name("bench");
        let lease = runtime.block_on(store.lease(&scope, &samples::holder(1))).expect("no one else is here");
        let bench = Self { runtime, store, lease, _folder: folder };
        let process = samples::process(&scope, 1, ProcessStatus::InProgress);
        bench.commit([Batch::new().put_assembly(samples::assembly(&scope, &[])).put_process(process)]);
        bench
    }

    /// Queues all batches, then waits for all of them.
    fn commit(&self, batches: impl IntoIterator<Item = Batch>) {
        let tickets: Vec<_> =
            batches.into_iter().map(|batch| self.store.commit(&self.lease, batch)).collect();
        for ticket in tickets {
            self.runtime.block_on(ticket).expect("the batch is in order");
        }
    }

    fn batch(&self, n: u32) -> Batch {
        let scope = &self.lease.scope;
        let part = samples::part(scope, &format!("C{n}"));
        Batch::new()
            .put_step(samples::step(1, n))
            .put_call(samples::call(scope, 1, n, CallState::Open))
            .put_call(samples::call(scope, 1, n, CallState::Succeeded))
            .put_element(samples::element(&part, n))
            .put_instance(samples::instance(&part, 1))
            .event(samples::event(scope, "done"))
    }
}

#[divan::bench]
fn flush(bencher: Bencher<'_, '_>) {
    let file = tempfile::tempfile().expect("there is room for a file");
    let mut page = 0;
    bencher.bench_local(|| {
        write_and_flush(&file, page);
        page += 1;
    });
}

fn write_and_flush(file: &File, page: u64) {
    file.write_all_at(&[0x5a; 4096], page * 4096).expect("there is room for a page");
    file.sync_data().expect("the disk flushes");
}

#[divan::bench(args = [1, 8, 100, 1000])]
fn commit_and_wait(bencher: Bencher<'_, '_>, at_once: u32) {
    let bench = Bench::new();
    bencher
        .counter(ItemsCount::new(at_once))
        .bench_local(|| bench.commit((0..at_once).map(|n| bench.batch(n))));
}

#[divan::bench(args = [1000])]
fn load(bencher: Bencher<'_, '_>, elements: u32) {
    let bench = Bench::new();
    bench.commit((0..elements).map(|n| bench.batch(n)));
    bencher.bench_local(|| {
        let snapshot = bench.runtime.block_on(bench.store.load(&bench.lease.scope));
        black_box(snapshot.expect("the store is in order"))
    });
}
