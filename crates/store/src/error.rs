//! What can go wrong, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use windlass_model::{AssemblyName, Epoch, ProcessId, Timestamp};

use crate::holder::Holder;
use crate::key::KeyError;

/// Why a store did not do what it was asked. In every case nothing of the request was applied.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another holder has the lease, or the caller itself.
    #[error("`{scope}` is held by {by} since {since}; wait until it ends, or stop it, and try again")]
    Held {
        /// The assembly.
        scope: AssemblyName,
        /// Who holds it.
        by: Box<Holder>,
        /// Since when.
        since: Timestamp,
    },
    /// The lease was released, or another holder has taken over.
    #[error("the lease on `{scope}` with epoch {epoch} is lost; take a new one and load what was done since")]
    LeaseLost {
        /// The assembly.
        scope: AssemblyName,
        /// The epoch of the lost lease.
        epoch: Epoch,
    },
    /// An earlier batch of this lease was not applied, and this one may build on it.
    #[error(
        "an earlier change of `{scope}` was not stored, so this one is not either; release the lease and load again"
    )]
    AfterFailure {
        /// The assembly.
        scope: AssemblyName,
    },
    /// The batch breaks a rule of the store: a fault of the program, not of the user.
    #[error("the change of `{scope}` is refused: {reason}; please report this as a bug")]
    Refused {
        /// The assembly.
        scope: AssemblyName,
        /// Which rule, as a sentence fragment.
        reason: String,
    },
    /// The assembly has no process of this number.
    #[error("`{scope}` has no process {process}; `windlass ps` lists those that there are")]
    NoProcess {
        /// The assembly.
        scope: AssemblyName,
        /// The number.
        process: ProcessId,
    },
    /// There is no store, and none was to be made.
    #[error("there is no store at `{}`; check the folder: a store is made when something is first brought up", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// What should be the address of a database is none.
    #[error("can't use `{address}` as the address of the state: {why}")]
    Address {
        /// The address, without its password.
        address: String,
        /// Why not, and what to do about it.
        why: String,
    },
    /// The file is something else, or damaged from the start.
    #[error("`{}` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// A newer windlass has changed the store.
    #[error(
        "the store `{}` has schema version {found}, and this windlass knows versions up to {known}; use the newer windlass that has opened it before", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// Another program holds the database.
    #[error(
        "the store `{}` is locked by another program; close what has it open, such as a `sqlite3` shell or a backup, and try again", path.display()
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// More was handed over than can wait to be written.
    #[error("the store `{}` is slower than what is to be stored; make its disk or network faster, or do less at once (`--parallelism`), and try again", path.display())]
    Behind {
        /// The file, or the address.
        path: PathBuf,
    },
    /// There is no room for the change.
    #[error("no room is left for the store `{}`; free some space on its disk and try again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder can't be written.
    #[error(
        "the store `{}` can't be written; make the file and its folder writable for this user", path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// What is stored can't be read.
    #[error(
        "the store `{}` is damaged: {detail}; keep a copy of the folder, then restore a backup or repair it with `sqlite3 … .recover`", path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The key can't be had, or does not fit.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The operating system refuses something.
    #[error("can't {action} `{}`", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: Arc<io::Error>,
    },
    /// The database refuses something that it should not.
    #[error("the store `{}` reports: {detail}; please report this as a bug", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Its own words.
        detail: String,
    },
    /// The store was closed, or its writer has ended.
    #[error("the store is closed; open it again")]
    Closed,
}

impl StoreError {
    /// Tells whether the store turned down this one request, and is itself well.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Held { .. }
                | Self::LeaseLost { .. }
                | Self::AfterFailure { .. }
                | Self::Refused { .. }
                | Self::NoProcess { .. }
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
        assert_snapshot!(StoreError::LeaseLost { scope: scope(), epoch }, @"the lease on `h_bta` with epoch 1 is lost; take a new one and load what was done since");
        assert_snapshot!(StoreError::AfterFailure { scope: scope() }, @"an earlier change of `h_bta` was not stored, so this one is not either; release the lease and load again");
        let reason = "what `put step` belongs to is not there, or another assembly's".into();
        assert_snapshot!(StoreError::Refused { scope: scope(), reason }, @"the change of `h_bta` is refused: what `put step` belongs to is not there, or another assembly's; please report this as a bug");
    }
}
