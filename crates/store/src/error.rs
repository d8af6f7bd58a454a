//! Errors of a store, with the action that resolves each.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use windlass_model::document::DocumentKey;
use windlass_model::{AssemblyName, Epoch, ProcessId, Timestamp};
use windlass_source::Code;

use crate::codes;
use crate::holder::Holder;
use crate::key::KeyError;

/// The reason why an operation of a store failed. Nothing of the operation was applied, unless the message
/// says that the outcome is unknown.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another holder, or the caller itself, holds the lease.
    #[error("`{scope}` is held by {by} since {since}; wait until it ends, or stop it, and try again")]
    Held {
        /// The assembly that the lease is for.
        scope: AssemblyName,
        /// The holder of the lease.
        by: Box<Holder>,
        /// The time at which the holder took the lease.
        since: Timestamp,
    },
    /// The lease was released, or another holder has taken it over.
    #[error(
        "the lease on `{scope}` with epoch {epoch} is lost: another program took it, or the store did not answer; run the same command to resume"
    )]
    LeaseLost {
        /// The assembly that the lost lease was for.
        scope: AssemblyName,
        /// The epoch of the lost lease.
        epoch: Epoch,
    },
    /// An earlier batch of this lease was not applied, and this batch may depend on it.
    #[error(
        "an earlier change of `{scope}` was not stored, so this change is not stored either; release the lease and reload the assembly"
    )]
    AfterFailure {
        /// The assembly that the batch changes.
        scope: AssemblyName,
    },
    /// The batch breaks a rule of the store. This is a bug in the program, not a mistake of the user.
    #[error("the change of `{scope}` is refused: {reason}; please report this as a bug")]
    Refused {
        /// The assembly that the batch changes.
        scope: AssemblyName,
        /// The broken rule, as a sentence fragment.
        reason: String,
    },
    /// The assembly has no process with this id.
    #[error("`{scope}` has no process {process}; `windlass ps` lists all processes")]
    NoProcess {
        /// The name of the assembly.
        scope: AssemblyName,
        /// The id of the process.
        process: ProcessId,
    },
    /// A document needs a package that is not stored: a bug in the program.
    #[error("a package of the {key} is not stored; please report this as a bug")]
    NoPackage {
        /// The key of the document.
        key: Box<DocumentKey>,
    },
    /// A document does not meet the [condition](windlass_model::document::Expected) of a change, because another
    /// program has changed the document.
    #[error(
        "the {key} was changed by another command at the same time; nothing of this change was stored; run the command again"
    )]
    DocumentChanged {
        /// The key of the document.
        key: Box<DocumentKey>,
    },
    /// An assembly claims a natural id that already belongs to another assembly.
    #[error("the natural id `{natural_id}` of `{owner}` belongs to `{by}`; `windlass status {by}` shows it")]
    Claimed {
        /// The owner of the assembly in the field `by`.
        owner: AssemblyName,
        /// The claimed natural id.
        natural_id: String,
        /// The assembly that already has the natural id.
        by: AssemblyName,
    },
    /// The store does not exist, and the options forbid creating it. Or the file of the open store was removed.
    #[error("there is no store at `{}`; check the folder; the first `windlass up` creates the store", path.display())]
    Missing {
        /// The path at which the store was expected.
        path: PathBuf,
    },
    /// The text is not a valid database address.
    #[error("can't use `{address}` as the address of the state: {why}")]
    Address {
        /// The address, without its password.
        address: String,
        /// The reason why the address can't be used. In most cases, the text also says how to write the address.
        why: String,
    },
    /// The path does not name a windlass store, or the header of the file is damaged.
    #[error("`{}` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`", path.display())]
    NotAStore {
        /// The path of the file.
        path: PathBuf,
    },
    /// A newer windlass has changed the store.
    #[error(
        "the store `{}` has schema version {found}, and this windlass knows versions up to {known}; use the newer windlass that opened it before", path.display()
    )]
    Newer {
        /// The file or the address of the store.
        path: PathBuf,
        /// The schema version of the store.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// Another program has locked the database.
    #[error(
        "the store `{}` is locked by another program; close that program, such as a `sqlite3` shell or a backup, and try again", path.display()
    )]
    Locked {
        /// The file or the address of the store.
        path: PathBuf,
    },
    /// The write queue is full.
    #[error("the store `{}` is too slow; make its disk or network faster, or lower `--parallelism`, and try again", path.display())]
    Behind {
        /// The file or the address of the store.
        path: PathBuf,
    },
    /// The disk has no space for the change.
    #[error("no space is left for the store `{}`; free some space on its disk and try again", path.display())]
    Full {
        /// The file or the address of the store.
        path: PathBuf,
    },
    /// The store can be read, but not written.
    #[error("the store `{}` can't be written; {advice}", path.display())]
    ReadOnly {
        /// The file or the address of the store.
        path: PathBuf,
        /// The advice for the user, as a part of a sentence.
        advice: &'static str,
    },
    /// Stored data can't be read.
    #[error(
        "the store `{}` is damaged: {detail}; keep a copy of the folder, then restore a backup or repair it with `sqlite3 … .recover`", path.display()
    )]
    Corrupt {
        /// The file of the store.
        path: PathBuf,
        /// The damage that was found.
        detail: String,
    },
    /// The key can't be obtained, or does not belong to this store.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// An operating system call failed.
    #[error("can't {action} `{}`", path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file, the folder or the address of the store.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// The database reports an error that should not occur.
    #[error("the store `{}` reports: {detail}; please report this as a bug", path.display())]
    Database {
        /// The file or the address of the store.
        path: PathBuf,
        /// The database's own message.
        detail: String,
    },
    /// The store was closed, its writer has stopped, or another file has replaced the file of the store.
    #[error("the store is closed; open it again")]
    Closed,
}

impl StoreError {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Held { .. } => codes::HELD,
            Self::LeaseLost { .. } => codes::LEASE_LOST,
            Self::AfterFailure { .. } => codes::AFTER_FAILURE,
            Self::Refused { .. } => codes::REFUSED,
            Self::NoProcess { .. } => codes::NO_PROCESS,
            Self::NoPackage { .. } => codes::NO_PACKAGE,
            Self::DocumentChanged { .. } => codes::DOCUMENT_CHANGED,
            Self::Claimed { .. } => codes::CLAIMED,
            Self::Missing { .. } => codes::MISSING,
            Self::Address { .. } => codes::ADDRESS,
            Self::NotAStore { .. } => codes::NOT_A_STORE,
            Self::Newer { .. } => codes::NEWER,
            Self::Locked { .. } => codes::LOCKED,
            Self::Behind { .. } => codes::BEHIND,
            Self::Full { .. } => codes::FULL,
            Self::ReadOnly { .. } => codes::READ_ONLY,
            Self::Corrupt { .. } => codes::CORRUPT,
            Self::Key(error) => error.code(),
            Self::Io { .. } => codes::IO,
            Self::Database { .. } => codes::DATABASE,
            Self::Closed => codes::CLOSED,
        }
    }

    /// Tells whether the same operation may succeed later, even if no user changes anything. Examples are a held lease,
    /// and a database that does not answer at present.
    pub fn will_pass(&self) -> bool {
        match self {
            Self::Held { .. } | Self::LeaseLost { .. } | Self::AfterFailure { .. } => true,
            Self::DocumentChanged { .. } => true,
            // After a failover, a database can be read-only for some seconds.
            Self::Locked { .. } | Self::Behind { .. } | Self::Full { .. } | Self::ReadOnly { .. } => true,
            Self::Io { .. } | Self::Closed => true,
            Self::Refused { .. } | Self::NoProcess { .. } | Self::NoPackage { .. } | Self::Claimed { .. } => {
                false
            }
            Self::Missing { .. } | Self::Address { .. } | Self::NotAStore { .. } | Self::Newer { .. } => {
                false
            }
            Self::Corrupt { .. } | Self::Key(_) | Self::Database { .. } => false,
        }
    }

    /// Tells whether the store refused only this operation, and still works.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Held { .. }
                | Self::LeaseLost { .. }
                | Self::AfterFailure { .. }
                | Self::Refused { .. }
                | Self::NoProcess { .. }
                | Self::NoPackage { .. }
                | Self::DocumentChanged { .. }
                | Self::Claimed { .. }
                | Self::Key(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::testing::samples::{TIME, holder, name};

    #[test]
    fn refusals_say_who_and_what_to_do() {
        let scope = || name("h_bta");
        let by = Box::new(Holder { command: "windlass up h_bta".into(), ..holder(4711) });
        assert_snapshot!(StoreError::Held { scope: scope(), by, since: TIME }, @"`h_bta` is held by `windlass up h_bta` (process 4711 on box) since 2026-01-31T08:15:30Z; wait until it ends, or stop it, and try again");
        let epoch = Epoch(std::num::NonZeroU64::MIN);
        assert_snapshot!(StoreError::LeaseLost { scope: scope(), epoch }, @"the lease on `h_bta` with epoch 1 is lost: another program took it, or the store did not answer; run the same command to resume");
        assert_snapshot!(StoreError::AfterFailure { scope: scope() }, @"an earlier change of `h_bta` was not stored, so this change is not stored either; release the lease and reload the assembly");
        let reason = "`put step` belongs to a record that is missing or of another assembly".into();
        assert_snapshot!(StoreError::Refused { scope: scope(), reason }, @"the change of `h_bta` is refused: `put step` belongs to a record that is missing or of another assembly; please report this as a bug");
    }
}
