//! A program for tests. The tests kill the program, give it too little disk space, or deny it access to the folder of
//! the store.
//!
//!     windlass-store-victim commit FOLDER    commits batch after batch, and prints the number of each durable one
//!     windlass-store-victim fill FOLDER      commits until the disk is full, makes room, and commits again
//!     windlass-store-victim open FOLDER      opens or creates a store, and prints the result

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_model::clock::SystemClock;
use windlass_store::sqlite::Options;
use windlass_store::testing::{CountingEntropy, samples};
use windlass_store::{Batch, Holder, KeySource, Lease, SqliteStore, Store, StoreError, Ticket};

type Outcome = Result<(), Box<dyn Error>>;

/// Number of concurrent batches.
const AHEAD: usize = 8;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let (what, folder) =
        (arguments.next().unwrap_or_default(), PathBuf::from(arguments.next().unwrap_or_default()));
    match what.as_str() {
        "commit" => commit_for_ever(&folder).await,
        "fill" => fill(&folder).await,
        "open" => match open(&folder) {
            Ok(_) => say("opened"),
            Err(error) => say(&error.to_string()),
        },
        _ => Err("the first argument is `commit`, `fill` or `open`".into()),
    }
}

fn open(folder: &Path) -> Result<SqliteStore, StoreError> {
    let entropy = CountingEntropy::seeded(u64::from(std::process::id()));
    let options = Options::new(KeySource::File(folder.join("key")), Arc::new(SystemClock), Arc::new(entropy));
    SqliteStore::open(folder.join("store.db"), options.create(true))
}

fn say(line: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Returns batch `n`, which stores `n` in three places: an element, an instance and an event.
fn batch(lease: &Lease, n: u32) -> Batch {
    let a = samples::part(&lease.scope, "A");
    Batch::new()
        .put_element(samples::element(&a, n))
        .event(samples::event(&lease.scope, n.to_string()))
        .put_instance(samples::instance(&a, u64::from(n)))
}

/// Continues after the last stored batch.
async fn commit_for_ever(folder: &Path) -> Outcome {
    let store = open(folder)?;
    let lease = store.lease(&samples::name("h_bta"), &Holder::current("victim")).await?;
    let done = store.load(&lease.scope).await?.and_then(|snapshot| snapshot.elements.into_values().next());
    let mut next = done.map_or(1, |element| element.progress + 1);
    store.commit(&lease, Batch::new().put_assembly(samples::assembly(&lease.scope, &[]))).await?;
    let mut tickets: VecDeque<(u32, Ticket)> = VecDeque::new();
    loop {
        tickets.push_back((next, store.commit(&lease, batch(&lease, next))));
        next += 1;
        if tickets.len() == AHEAD
            && let Some((n, ticket)) = tickets.pop_front()
        {
            ticket.await?;
            say(&n.to_string())?;
        }
    }
}

async fn fill(folder: &Path) -> Outcome {
    let ballast = folder.join("ballast");
    std::fs::write(&ballast, vec![0; 256 * 1024])?;
    let store = open(folder)?;
    let holder = Holder::current("victim");
    let mut lease = store.lease(&samples::name("h_bta"), &holder).await?;
    let mut stored = 0_u32;
    let error = loop {
        match store.commit(&lease, Batch::new().event(samples::event(&lease.scope, "x".repeat(10_000)))).await
        {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    say(&error.to_string())?;
    std::fs::remove_file(ballast)?;
    store.release(lease).await?;
    lease = store.lease(&samples::name("h_bta"), &holder).await?;
    let last = store.commit(&lease, Batch::new().event(samples::event(&lease.scope, "again"))).await?;
    say(&format!("stored {stored}, then event {last}"))
}
