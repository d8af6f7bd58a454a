//! What windlass must not forget: records, leases, events, secrets and pinned packages.

pub mod key;
pub mod sqlite;
#[cfg(feature = "testing")]
pub mod testing;

mod batch;
mod error;
mod fence;
mod holder;
mod lease;
mod snapshot;
mod store;
mod ticket;
mod watch;

pub use batch::{Batch, Change};
pub use error::StoreError;
pub use holder::{Holder, Processes, SystemProcesses};
pub use key::{KeyError, KeySource};
pub use lease::{EXPIRE_AFTER, Lease, LeaseTerms, RENEW_EVERY};
pub use snapshot::{History, ProcessHistory, Snapshot};
pub use sqlite::SqliteStore;
pub use store::Store;
pub use ticket::Ticket;
pub use watch::Watch;
