//! Durable state of windlass: records, leases, events, secrets, documents and pinned packages.
//!
//! An orchestrator, such as windlass, can crash at any point. Everything that it reported as done must survive the
//! crash completely. An orchestrator that lost its lease must not change the records of the next holder. The trait
//! [`Store`] states these guarantees, and two types fulfil them. `SqliteStore` keeps the state in one file.
//! `PostgresStore` keeps the state in a schema of a PostgreSQL database.
//!
//! A program, the [`Holder`], takes the [`Lease`] of an assembly, commits [`Batch`]es of changes under the
//! lease, and releases the lease:
//!
//! ```
//! # use std::error::Error;
//! # use std::sync::Arc;
//! use windlass_model::clock::SystemClock;
//! use windlass_model::{AssemblyName, Seq};
//! use windlass_store::sqlite::Options;
//! # use windlass_store::testing::{CountingEntropy, samples};
//! use windlass_store::{Batch, Holder, KeySource, SqliteStore, Store, StoreError};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn Error>> {
//! # let folder = tempfile::tempdir()?;
//! # // In a program: an entropy source that asks the kernel.
//! # let entropy = Arc::new(CountingEntropy::default());
//! let key = KeySource::File(folder.path().join("key"));
//! let options = Options::new(key, Arc::new(SystemClock), entropy).create(true);
//! let store = SqliteStore::open(folder.path().join("store.db"), options)?;
//!
//! // One program at a time writes to an assembly. A second program gets an error that names the first one.
//! let h_bta: AssemblyName = "h_bta".parse()?;
//! let lease = store.lease(&h_bta, &Holder::current("windlass up h_bta")).await?;
//! let second = store.lease(&h_bta, &Holder::current("windlass down h_bta")).await;
//! assert!(matches!(second, Err(StoreError::Held { by, .. }) if by.command == "windlass up h_bta"));
//!
//! // A batch is applied completely or not at all. Its ticket resolves once the batch is on the disk.
//! # let assembly = samples::assembly(&h_bta, &[]);
//! # let started = samples::event(&h_bta, "up");
//! let password = "h_bta/password".parse()?;
//! let batch = Batch::new()
//!     .put_assembly(assembly)
//!     .put_secret(password, h_bta.clone(), b"hunter2".to_vec().into())
//!     .event(started);
//! let last = store.commit(&lease, batch).await?;
//! assert_eq!(last, Seq(1));
//!
//! // Every program may read, now or after a crash. A snapshot shows the records at one point in time.
//! let snapshot = store.load(&h_bta).await?.expect("it was just put");
//! assert_eq!(snapshot.secrets[&"h_bta/password".parse()?].expose(), b"hunter2");
//! assert_eq!(store.events(Seq::START, 100).await?.len(), 1);
//!
//! store.release(lease).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The main types and modules:
//!
//! | | |
//! |---|---|
//! | [`Holder`], [`Lease`], [`LeaseTerms`] | the right to write, its expiry, and the detection of dead holders |
//! | [`Batch`], [`Change`], [`Ticket`] | changes to write, and the signal that they are durable |
//! | [`Snapshot`], [`History`] | records for resuming work, and records of past processes (executions of intents) |
//! | [`Watch`] | waiting for events of this and other programs |
//! | [`key`] | the key that seals secrets, and its file |
//! | [`codes`] | the codes of errors |
//! | `sqlite` | the store in one file (feature `sqlite`) |
//! | `postgres` | the store that several machines share (feature `postgres`) |
//! | `testing` | an in-memory store, and the conformance suite for every store (feature `testing`) |
//!
//! The crate never reads environment variables, the wall clock or a random source by itself: the caller
//! passes clock, entropy and key. Every failure is a [`StoreError`], whose message says what the user can do.

#![cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "stores share the rules of leases, and none of them is built")
)]

pub mod codes;
pub mod key;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "testing")]
pub mod testing;

mod address;
mod batch;
mod claim;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod delta;
mod error;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod fault;
mod fence;
mod holder;
mod lease;
mod options;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod queue;
mod rename;
mod request;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod seal;
mod snapshot;
mod store;
mod ticket;
mod uptime;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod version;
mod watch;

pub use address::without_password;
pub use batch::{Batch, Change};
pub use claim::{Claim, Claimant};
pub use error::StoreError;
pub use holder::{Holder, Processes, SystemProcesses};
pub use key::{KeyError, KeySource};
pub use lease::{EXPIRE_AFTER, Lease, LeaseTerms, RENEW_EVERY};
pub use options::{Options, POLL_EVERY};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use rename::Rename;
pub use snapshot::{History, Owned, ProcessHistory, Snapshot};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::Store;
pub use ticket::Ticket;
pub use uptime::{SystemUptime, Tick, Uptime};
pub use watch::Watch;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
