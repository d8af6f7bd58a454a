//! Moving an assembly to another store. An export writes the assembly to a file, and deletes it from the
//! store. An import adds the assembly of a file to a store.
//!
//! At any time, an assembly has one owner: a store or a file. An export takes four steps. Each step is
//! durable before the next step begins:
//!
//! 1. Write the content to a draft beside the file.
//! 2. Write a note below `.windlass/exports` that names the assembly, the file and the draft.
//! 3. Rename the draft to the file.
//! 4. Delete the assembly from the store, then remove the note.
//!
//! If a machine crashes between two steps, the next command finds the note. If the file is complete and
//! matches the assembly, the command completes the export. In all other cases, the command rolls the export
//! back, and the store still owns the assembly.
//!
//! Secrets are sealed one by one, with the key of the project or with a key created for the file.

mod error;
mod files;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_engine::{Bundle, EngineError, Loss, Stop};
use windlass_model::AssemblyName;
use windlass_store::{Store, StoreError};

use self::files::{TransferFiles, UnderWay, is_free};
use crate::blocking::blocking;
use crate::error::Error;
use crate::upkeep::Upkeep;
use crate::wiring::Removal;

pub use error::TransferError;

impl Upkeep<'_> {
    /// Writes an assembly to a new file, and then deletes the assembly from the store. The secrets of the assembly
    /// are sealed with the key in the file `key`. If this file does not exist, the method creates it. If `key` is
    /// `None`, the secrets are sealed with the project's key.
    ///
    /// # Errors
    ///
    /// Fails if another program holds the lease of the assembly, or if other assemblies reference the assembly.
    /// Fails if the last process of the assembly was interrupted. Also fails if the file can't be written. In all
    /// these cases, the store still owns the assembly.
    pub async fn export(&self, name: &AssemblyName, file: &Path, key: Option<&Path>) -> Result<(), Error> {
        let store = self.windlass.store_of(name).await?;
        self.is_free(file).await?;
        self.may_leave(&store, name).await?;
        let from = store.id().as_str().to_owned();
        let hand_over = self.windlass.engine(store).upkeep().hand_over(name, &self.windlass.holder()).await?;
        let (bundle, target, now) = (hand_over.bundle().clone(), file.to_owned(), self.windlass.now());
        let written = self.on_files(key, move |files| files.write_down(bundle, (from, &target), now));
        let note = match written.await {
            Ok(note) => note,
            Err(error) => {
                hand_over.abandon().await;
                return Err(error);
            }
        };
        // Deletes the assembly from the store. If this fails, the note about the running export remains. The next
        // command reads the note, and completes the export or rolls it back.
        hand_over.complete(&file.display().to_string()).await?;
        self.on_files(key, move |files| files.remove_note(&note)).await
    }

    /// Checks whether an assembly can be [exported](Self::export) to a file. The check changes nothing.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the export.
    pub async fn can_export(&self, name: &AssemblyName, file: &Path) -> Result<(), Error> {
        let store = self.windlass.store_of(name).await?;
        self.is_free(file).await?;
        self.may_leave(&store, name).await?;
        Ok(self.windlass.engine(store).upkeep().can_hand_over(name).await?)
    }

    /// Refuses the export of an application to which other applications refer.
    async fn may_leave(&self, store: &Arc<dyn Store>, name: &AssemblyName) -> Result<(), Error> {
        let removal = Removal::of(store, name).await?;
        Ok(removal.refuse(Loss::Exported, self.windlass.is_forced())?)
    }

    async fn is_free(&self, file: &Path) -> Result<(), TransferError> {
        let file = file.to_owned();
        blocking(move || is_free(&file)).await
    }

    /// Runs blocking work on the files of a transfer. `key` is the file with the key of the export.
    async fn on_files<T: Send + 'static>(
        &self,
        key: Option<&Path>,
        work: impl FnOnce(TransferFiles) -> T + Send + 'static,
    ) -> T {
        let files = TransferFiles {
            root: self.windlass.project.root().to_owned(),
            state: self.windlass.project.state_dir(),
            store_key: self.windlass.key(),
            key: key.map(Path::to_owned),
            limit: self.windlass.project.overlay().limit(),
        };
        blocking(move || work(files)).await
    }

    /// Completes or rolls back interrupted exports of this store, and reports each of them. Running exports are left
    /// alone. If the store can't be changed at present, reports this, and leaves the rest to a later command.
    pub(crate) async fn settle_exports(&self, store: &Arc<dyn Store>) -> Result<(), Error> {
        for note in self.on_files(None, |files| files.notes()).await {
            match self.settle_export(store, note).await {
                Err(Error::Engine(EngineError::Store(error)) | Error::Store(error)) => {
                    self.windlass.tell(&format!("an interrupted export is left to a later command: {error}"));
                }
                settled => settled?,
            }
        }
        Ok(())
    }

    async fn settle_export(&self, store: &Arc<dyn Store>, note: PathBuf) -> Result<(), Error> {
        let path = note.clone();
        let Some(under_way) = blocking(move || UnderWay::read(&path)).await? else { return Ok(()) };
        let under_way = Arc::new(under_way);
        let UnderWay { assembly, transfer, file, store: from, .. } = &*under_way;
        if from.as_ref().is_some_and(|from| from != store.id().as_str()) {
            // The assembly belongs to another store, which this command does not use.
            return Ok(());
        }
        let mut engine = self.windlass.engine(store.clone());
        engine.options.force = true;
        let is_finished = match engine.upkeep().hand_over(assembly, &self.windlass.holder()).await {
            Ok(hand_over) => {
                let (read, bundle) = (under_way.clone(), hand_over.bundle().clone());
                let is_written = blocking(move || read.is_written(bundle)).await;
                if is_written {
                    hand_over.of(transfer.clone()).complete(&file.display().to_string()).await?;
                } else {
                    hand_over.abandon().await;
                }
                is_written
            }
            // The store had already deleted the assembly.
            Err(EngineError::Unknown { .. }) => true,
            // The assembly has changed since the export was interrupted.
            Err(EngineError::Unfinished(_) | EngineError::Converging { .. }) => false,
            // Another process is running the export.
            Err(EngineError::Store(StoreError::Held { .. })) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let settled = under_way.clone();
        self.on_files(None, move |files| {
            if is_finished { files.clear(&note, &settled) } else { files.roll_back(&note, &settled) }
        })
        .await?;
        let shown = file.display();
        self.windlass.tell(&if is_finished {
            format!(
                "windlass completed the interrupted export of `{assembly}` to `{shown}`; the assembly is now in the file only"
            )
        } else {
            format!(
                "windlass rolled back the interrupted export of `{assembly}` to `{shown}`; the assembly stays in this store"
            )
        });
        Ok(())
    }

    /// Imports an assembly from a file that [`export`](Self::export) has written.
    ///
    /// # Errors
    ///
    /// Fails in these cases:
    ///
    /// - The file is damaged, or `key` is not the key of the secrets in the file.
    /// - The same export was imported into this store before.
    /// - The store contains an assembly of the same name.
    /// - The store contains another application of the same factory with the same natural id.
    /// - The store lacks an assembly to which the assembly in the file refers.
    /// - `stop` is triggered before the import has begun. The error is then `EngineError::Stopped`.
    ///
    /// In all these cases, the records in the store do not change.
    pub async fn import(&self, file: &Path, key: Option<&Path>, stop: &Stop) -> Result<AssemblyName, Error> {
        let records = self.exported(file, key).await?;
        let name = records.assembly.name.clone();
        // A refused import must not create a store.
        if self.windlass.store(false).await?.is_none() {
            nobody_is_missed(&records)?;
        }
        let store = tokio::select! {
            store = self.windlass.store_or_new() => store?,
            () = stop.requested() => return Err(EngineError::Stopped.into()),
        };
        Box::pin(self.windlass.engine(store).upkeep().take_over(
            records,
            &file.display().to_string(),
            &self.windlass.holder(),
            stop,
        ))
        .await?;
        Ok(name)
    }

    /// Checks whether a file can be [imported](Self::import), without changing anything.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the import.
    pub async fn can_import(&self, file: &Path, key: Option<&Path>) -> Result<AssemblyName, Error> {
        let records = self.exported(file, key).await?;
        let name = records.assembly.name.clone();
        match self.windlass.store(false).await? {
            Some(store) => self.windlass.engine(store).upkeep().can_take_over(records).await?,
            None => nobody_is_missed(&records)?,
        }
        Ok(name)
    }

    async fn exported(&self, file: &Path, key: Option<&Path>) -> Result<Bundle, Error> {
        let file = file.to_owned();
        self.on_files(key, move |files| files.exported(&file)).await
    }
}

/// Refuses the import of an assembly that refers to another assembly. This check is for an import into a new store,
/// because a new store does not contain the other assembly.
fn nobody_is_missed(records: &Bundle) -> Result<(), EngineError> {
    let by = records.assembly.name.clone();
    match records.assembly.references.first() {
        Some(name) => Err(EngineError::ReferenceGone { name: name.clone(), by, why: "is not here" }),
        None => Ok(()),
    }
}
