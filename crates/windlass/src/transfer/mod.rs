//! Moving an assembly to another store: export writes it to a file and deletes it from the store; import
//! adopts it into another store.
//!
//! An assembly has one owner. The handover takes four steps, each durable before the next:
//!
//! 1. Write the content to a draft beside the file.
//! 2. Write a note below `.windlass/exports` that names the assembly, the file and the draft.
//! 3. Rename the draft to the file.
//! 4. Delete the assembly from the store, then remove the note.
//!
//! If a machine crashes between two steps, the next command finds the note. It completes the export if the
//! file is complete and matches the assembly. Otherwise it rolls the export back, and the store still owns
//! the assembly.
//!
//! Secrets are sealed one by one, with the key of the project or with a key created for the file.

mod error;

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_engine::{Bundle, EngineError, HandOver, Stop};
use windlass_model::assembly::PackageDigest;
use windlass_model::id::Entropy as _;
use windlass_model::record::{PackageFile, PackageRecord};
use windlass_model::{AssemblyName, DescriptorName, Timestamp, TransferId};
use windlass_project::output::{self, Draft, Mode};
use windlass_secret::{Nonce, Sealed, SealingKey, SecretRef};
use windlass_source::files;
use windlass_store::{KeyError, KeySource, Store, StoreError};

use crate::document::{self, DocumentError, Format};
use crate::error::Error;
use crate::open::Windlass;
use crate::system::SystemEntropy;

pub use error::TransferError;

/// The format of an export.
const FORMAT: Format = Format::first("windlass assembly");

/// The format of the note about a running export.
const NOTE: Format = Format::first("windlass export under way");

/// The folder of these notes, below the state folder.
const NOTES: &str = "exports";

/// The content of an export file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    at: Timestamp,
    from: String,
    records: Bundle,
    packages: Vec<Packed>,
    /// Sealed values in hexadecimal digits, by name.
    secrets: BTreeMap<String, String>,
}

/// An export that is running or was interrupted.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnderWay {
    assembly: AssemblyName,
    transfer: TransferId,
    file: PathBuf,
    draft: PathBuf,
}

/// A package with its files in hexadecimal digits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed {
    digest: PackageDigest,
    name: DescriptorName,
    manifest: Value,
    files: Vec<PackedFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackedFile {
    path: String,
    executable: bool,
    content: String,
}

impl Packed {
    fn of(record: &PackageRecord) -> Self {
        let files = record.files.iter().map(|file| PackedFile {
            path: file.path.clone(),
            executable: file.executable,
            content: hex::encode(&file.content),
        });
        Self {
            digest: record.digest.clone(),
            name: record.name.clone(),
            manifest: record.manifest.clone(),
            files: files.collect(),
        }
    }

    fn unpack(self) -> Result<PackageRecord, DocumentError> {
        let file = |file: PackedFile| {
            let content = hex::decode(&file.content).map_err(|_| DocumentError::Damaged)?;
            Ok(PackageFile { path: file.path, executable: file.executable, content })
        };
        let files = self.files.into_iter().map(file).collect::<Result<_, _>>()?;
        Ok(PackageRecord { digest: self.digest, name: self.name, manifest: self.manifest, files })
    }
}

impl Windlass {
    /// Writes an assembly to a new file, and deletes it from the store. Its secrets are sealed with the key
    /// in the file `key`, which is created if missing. Without `key` they are sealed with the project's key.
    ///
    /// # Errors
    ///
    /// If another process holds the assembly, it was interrupted, other assemblies reference it, or the file
    /// can't be written. The store still owns the assembly then.
    pub async fn export(&self, name: &AssemblyName, file: &Path, key: Option<&Path>) -> Result<(), Error> {
        let store = self.store_of(name).await?;
        is_free(file)?;
        let hand_over = self.engine(store).hand_over(name, &self.holder()).await?;
        let note = match self.write_down(&hand_over, file, key) {
            Ok(note) => note,
            Err(error) => {
                hand_over.abandon().await;
                return Err(error);
            }
        };
        // If this fails, the next command reads the store's state and settles the export.
        hand_over.complete(&file.display().to_string()).await?;
        self.remove_note(&note)
    }

    /// Checks whether an assembly can be [exported](Self::export) to a file, without changing anything.
    ///
    /// # Errors
    ///
    /// All problems that prevent it.
    pub async fn can_export(&self, name: &AssemblyName, file: &Path) -> Result<(), Error> {
        let store = self.store_of(name).await?;
        is_free(file)?;
        Ok(self.engine(store).can_hand_over(name).await?)
    }

    /// Writes the note, and the file under its final name. Returns the note's path. After an error neither of
    /// them exists.
    fn write_down(&self, hand_over: &HandOver, file: &Path, key: Option<&Path>) -> Result<PathBuf, Error> {
        let bundle = hand_over.bundle();
        let failed = |source| Error::Write { path: file.to_owned(), source };
        let text = self.written(bundle, file, key)?;
        let file = std::path::absolute(file).map_err(failed)?;
        let draft = Draft::new(&file, text.as_bytes(), Mode::LessUmask(0o600)).map_err(failed)?;
        let transfer =
            bundle.transfer.clone().ok_or_else(|| failed(std::io::Error::other("it has no id")))?;
        let under_way = UnderWay {
            assembly: bundle.assembly.name.clone(),
            transfer,
            file: file.clone(),
            draft: draft.path().to_owned(),
        };
        let note = self.write_note(&under_way)?;
        if let Err(error) = draft.name(&file) {
            self.remove_note(&note)?;
            return Err(match error.kind() {
                std::io::ErrorKind::AlreadyExists => TransferError::Exists(file).into(),
                _ => failed(error),
            });
        }
        Ok(note)
    }

    /// Returns the text of the export file.
    fn written(&self, bundle: &Bundle, file: &Path, key: Option<&Path>) -> Result<String, Error> {
        let mut secrets = BTreeMap::new();
        if !bundle.secrets.is_empty() {
            let key = self.sealing_key(key, true)?;
            for (secret, value) in &bundle.secrets {
                let Ok(nonce) = Nonce::generate(|bytes| {
                    SystemEntropy.fill(bytes);
                    Ok::<_, std::convert::Infallible>(())
                });
                let sealed = key.seal(secret, value.expose(), nonce);
                secrets.insert(secret.id().to_owned(), hex::encode(sealed.as_bytes()));
            }
        }
        let exported = Exported {
            at: self.now(),
            from: self.project.root().display().to_string(),
            records: bundle.clone(),
            packages: bundle.packages.iter().map(Packed::of).collect(),
            secrets,
        };
        let failed = |error: serde_json::Error| Error::Write { path: file.to_owned(), source: error.into() };
        document::write(&FORMAT, &exported).map_err(failed)
    }

    fn write_note(&self, under_way: &UnderWay) -> Result<PathBuf, Error> {
        let folder = self.project.state_dir().join(NOTES);
        let note = folder.join(under_way.assembly.as_str());
        let failed = |source| Error::Write { path: note.clone(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        output::sync_folder(&folder).map_err(failed)?;
        let text = document::write(&NOTE, under_way).map_err(|error| failed(error.into()))?;
        output::write(&note, text.as_bytes(), 0o600).map_err(failed)?;
        Ok(note)
    }

    fn remove_note(&self, note: &Path) -> Result<(), Error> {
        let removed = std::fs::remove_file(note).and_then(|()| output::sync_folder(note));
        removed.map_err(|source| Error::Write { path: note.to_owned(), source })?;
        let _others_are_there = std::fs::remove_dir(self.project.state_dir().join(NOTES));
        Ok(())
    }

    /// Completes or rolls back interrupted exports, and reports each. Running exports are left alone.
    pub(crate) async fn settle_exports(&self, store: &Arc<dyn Store>) -> Result<(), Error> {
        let Ok(entries) = std::fs::read_dir(self.project.state_dir().join(NOTES)) else { return Ok(()) };
        let mut notes: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        notes.retain(|note| note.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
        notes.sort();
        for note in notes {
            self.settle_export(store, &note).await?;
        }
        Ok(())
    }

    async fn settle_export(&self, store: &Arc<dyn Store>, note: &Path) -> Result<(), Error> {
        let text = match files::read_text(note, files::MAX_SIZE) {
            Ok(text) => text,
            // The other process has finished the export.
            Err(error) if error.is_missing() => return Ok(()),
            Err(error) => return Err(Error::File { path: note.to_owned(), source: error.into() }),
        };
        let wrong = |cause| TransferError::File { file: note.to_owned(), cause };
        let under_way: UnderWay = document::read(&NOTE, &text).map_err(wrong)?;
        let UnderWay { assembly, transfer, file, draft } = &under_way;
        let mut engine = self.engine(store.clone());
        engine.options.force = true;
        let is_finished = match engine.hand_over(assembly, &self.holder()).await {
            Ok(hand_over) if Self::is_written(&under_way, hand_over.bundle()) => {
                hand_over.of(transfer.clone()).complete(&file.display().to_string()).await?;
                true
            }
            Ok(hand_over) => {
                hand_over.abandon().await;
                false
            }
            // The store had already deleted the assembly.
            Err(EngineError::Unknown { .. }) => true,
            // The assembly has changed since.
            Err(EngineError::Unfinished(_)) => false,
            // Another process is running the export.
            Err(EngineError::Store(StoreError::Held { .. })) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let shown = file.display();
        let said = if is_finished {
            format!(
                "windlass completed the interrupted export of `{assembly}` to `{shown}`; the assembly is now in the file only"
            )
        } else {
            if Self::transfer_of(file).as_ref() == Some(transfer) {
                let removed = std::fs::remove_file(file).and_then(|()| output::sync_folder(file));
                removed.map_err(|source| Error::Write { path: file.clone(), source })?;
            }
            format!(
                "windlass rolled back the interrupted export of `{assembly}` to `{shown}`; the assembly stays in this store"
            )
        };
        let _gone_already = std::fs::remove_file(draft);
        self.remove_note(note)?;
        self.tell(&said);
        Ok(())
    }

    /// Tells whether the file of an export exists and matches the current state of its assembly.
    fn is_written(under_way: &UnderWay, bundle: &Bundle) -> bool {
        let Some(Exported { records, .. }) = exported_in(&under_way.file) else { return false };
        let now = Bundle { transfer: records.transfer.clone(), ..bundle.clone() };
        let as_value = |bundle: &Bundle| serde_json::to_value(bundle).ok();
        records.transfer.as_ref() == Some(&under_way.transfer) && as_value(&records) == as_value(&now)
    }

    /// Returns the id of the export that wrote a file.
    fn transfer_of(file: &Path) -> Option<TransferId> {
        exported_in(file)?.records.transfer
    }

    /// Imports an assembly from a file that [`export`](Self::export) has written.
    ///
    /// # Errors
    ///
    /// If the file is damaged, its secrets can't be opened, or it was imported into this store before. Also
    /// if an assembly of its name exists, or an assembly that it references is missing. Nothing has been
    /// changed then.
    pub async fn import(&self, file: &Path, key: Option<&Path>, stop: &Stop) -> Result<AssemblyName, Error> {
        let records = self.exported(file, key)?;
        let name = records.assembly.name.clone();
        let store = self.store_or_new().await?;
        Box::pin(self.engine(store).take_over(records, &file.display().to_string(), &self.holder(), stop))
            .await?;
        Ok(name)
    }

    /// Checks whether a file can be [imported](Self::import), without changing anything.
    ///
    /// # Errors
    ///
    /// All problems that prevent it.
    pub async fn can_import(&self, file: &Path, key: Option<&Path>) -> Result<AssemblyName, Error> {
        let records = self.exported(file, key)?;
        let name = records.assembly.name.clone();
        match self.store(false).await? {
            Some(store) => self.engine(store).can_take_over(&records).await?,
            None => nobody_is_missed(&records)?,
        }
        Ok(name)
    }

    /// Reads an assembly from an export file.
    fn exported(&self, file: &Path, key: Option<&Path>) -> Result<Bundle, Error> {
        let text = files::read_text(file, self.project.overlay().limit())
            .map_err(|source| Error::File { path: file.to_owned(), source: source.into() })?;
        let wrong = |cause| TransferError::File { file: file.to_owned(), cause };
        let Exported { mut records, packages, secrets, .. } =
            document::read(&FORMAT, &text).map_err(wrong)?;
        let packages: Result<Vec<_>, _> = packages.into_iter().map(Packed::unpack).collect();
        records.packages = packages.map_err(wrong)?;
        if !secrets.is_empty() {
            let key = self.sealing_key(key, false)?;
            for (name, sealed) in &secrets {
                let (name, value) = open(&key, name, sealed)?;
                records.secrets.insert(name, value);
            }
        }
        Ok(records)
    }

    fn sealing_key(&self, file: Option<&Path>, make: bool) -> Result<SealingKey, Error> {
        let source = match file {
            Some(file) => KeySource::File(file.to_owned()),
            None => self.key(),
        };
        match source.obtain(make && file.is_some(), &SystemEntropy) {
            Err(KeyError::Missing { .. }) if file.is_none() && !make => Err(TransferError::OtherKey.into()),
            other => Ok(other.map_err(StoreError::from)?),
        }
    }
}

/// Maximum size in bytes of an export that is read again. This program wrote it, so its size is not an
/// attack.
const LARGEST: usize = 1 << 31;

/// Reads an export if the file contains one.
fn exported_in(file: &Path) -> Option<Exported> {
    document::read(&FORMAT, &files::read_text(file, LARGEST).ok()?).ok()
}

fn is_free(file: &Path) -> Result<(), TransferError> {
    if file.exists() { Err(TransferError::Exists(file.to_owned())) } else { Ok(()) }
}

/// Refuses an assembly with references, because a new store contains no other assemblies.
fn nobody_is_missed(records: &Bundle) -> Result<(), EngineError> {
    let by = records.assembly.name.clone();
    match records.assembly.references.first() {
        Some(name) => Err(EngineError::ReferenceGone { name: name.clone(), by, why: "is not here" }),
        None => Ok(()),
    }
}

fn open(
    key: &SealingKey,
    name: &str,
    sealed: &str,
) -> Result<(SecretRef, windlass_secret::Sensitive<Vec<u8>>), TransferError> {
    let secret: SecretRef = name.parse().map_err(|_| TransferError::OtherKey)?;
    let bytes = hex::decode(sealed).map_err(|_| TransferError::OtherKey)?;
    let value = Sealed::from_bytes(bytes).and_then(|sealed| key.open(&secret, &sealed));
    Ok((secret, value.map_err(|_| TransferError::OtherKey)?))
}
