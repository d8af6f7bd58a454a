//! The files of a transfer: the export, its draft, and the note about a running export.
//!
//! All functions of this module may block.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_engine::Bundle;
use windlass_model::assembly::PackageDigest;
use windlass_model::id::Entropy as _;
use windlass_model::record::{PackageFile, PackageRecord};
use windlass_model::{AssemblyName, DescriptorName, Timestamp, TransferId};
use windlass_project::output::{self, Draft, Mode};
use windlass_secret::{Nonce, Sealed, SealingKey, SecretRef, Sensitive};
use windlass_source::files;
use windlass_store::{KeyError, KeySource, StoreError};

use super::TransferError;
use crate::document::{self, DocumentError, Format};
use crate::error::Error;
use crate::system::SystemEntropy;

/// The format of export files.
const FORMAT: Format = Format::first("windlass assembly");

/// The format of the note about a running or interrupted export.
const NOTE: Format = Format::first("windlass export under way");

/// The folder of the notes about exports, below the state folder.
const NOTES: &str = "exports";

/// The content of an export file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    at: Timestamp,
    from: String,
    records: Bundle,
    packages: Vec<Packed>,
    /// The sealed values of the secrets, by the names of the secrets. A sealed value is written in hexadecimal digits.
    secrets: BTreeMap<String, String>,
}

/// An export that is running or was interrupted.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnderWay {
    pub(super) assembly: AssemblyName,
    pub(super) transfer: TransferId,
    pub(super) file: PathBuf,
    draft: PathBuf,
    /// The id of the store that owns the assembly. None in notes of an older windlass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) store: Option<String>,
}

/// A package whose files are written in hexadecimal digits.
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

/// The paths, the keys and the size limit for writing and reading the export files of a project.
pub(super) struct TransferFiles {
    /// The root folder of the project. Each export file contains this path, to show where the export was made.
    pub(super) root: PathBuf,
    /// The state folder of the project. Its subfolder `exports` contains the notes about running and interrupted
    /// exports.
    pub(super) state: PathBuf,
    pub(super) store_key: KeySource,
    /// The file with the key that seals the export; `None` if the key of the store seals the export.
    pub(super) key: Option<PathBuf>,
    /// Maximum size in bytes of the file from which an assembly is imported.
    pub(super) limit: usize,
}

impl TransferFiles {
    /// Writes the export file. Before the file gets its final name, a note is written, which records that the
    /// export is running. Returns the path of the note. After an error, neither the note nor the export file
    /// exists.
    pub(super) fn write_down(
        &self,
        bundle: Bundle,
        (store, file): (String, &Path),
        now: Timestamp,
    ) -> Result<PathBuf, Error> {
        let failed = |source| Error::Write { path: file.to_owned(), source };
        let assembly = bundle.assembly.name.clone();
        let transfer =
            bundle.transfer.clone().ok_or_else(|| failed(std::io::Error::other("it has no id")))?;
        let text = self.written(bundle, file, now)?;
        let file = std::path::absolute(file).map_err(failed)?;
        let draft = Draft::new(&file, text.as_bytes(), Mode::LessUmask(0o600)).map_err(failed)?;
        let (draft_path, store) = (draft.path().to_owned(), Some(store));
        let under_way = UnderWay { assembly, transfer, file: file.clone(), draft: draft_path, store };
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
    fn written(&self, bundle: Bundle, file: &Path, at: Timestamp) -> Result<String, Error> {
        let mut secrets = BTreeMap::new();
        if !bundle.secrets.is_empty() {
            let key = self.sealing_key(true)?;
            for (secret, value) in &bundle.secrets {
                let Ok(nonce) = Nonce::generate(|bytes| {
                    SystemEntropy.fill(bytes);
                    Ok::<_, std::convert::Infallible>(())
                });
                let sealed = key.seal(secret, value.expose(), nonce);
                secrets.insert(secret.id().to_owned(), hex::encode(sealed.as_bytes()));
            }
        }
        let packages = bundle.packages.iter().map(Packed::of).collect();
        let from = self.root.display().to_string();
        let exported = Exported { at, from, records: bundle, packages, secrets };
        let failed = |error: serde_json::Error| Error::Write { path: file.to_owned(), source: error.into() };
        document::write(&FORMAT, &exported).map_err(failed)
    }

    fn notes_folder(&self) -> PathBuf {
        self.state.join(NOTES)
    }

    fn write_note(&self, under_way: &UnderWay) -> Result<PathBuf, Error> {
        let folder = self.notes_folder();
        let note = folder.join(under_way.assembly.as_str());
        let failed = |source| Error::Write { path: note.clone(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        output::sync_folder(&folder).map_err(failed)?;
        let text = document::write(&NOTE, under_way).map_err(|error| failed(error.into()))?;
        output::write(&note, text.as_bytes(), 0o600).map_err(failed)?;
        Ok(note)
    }

    pub(super) fn remove_note(&self, note: &Path) -> Result<(), Error> {
        remove(note)?;
        let _others_are_there = std::fs::remove_dir(self.notes_folder());
        Ok(())
    }

    /// Lists the notes about running and interrupted exports.
    pub(super) fn notes(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.notes_folder()) else { return Vec::new() };
        let mut notes: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        notes.retain(|note| note.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
        notes.sort();
        notes
    }

    /// Rolls an interrupted export back. Removes the export file, if this export has written it. Also removes the
    /// temporary files of the export: the draft of the export file, and the file `note`.
    pub(super) fn roll_back(&self, note: &Path, under_way: &UnderWay) -> Result<(), Error> {
        let written = exported_in(&under_way.file).and_then(|exported| exported.records.transfer);
        if written.as_ref() == Some(&under_way.transfer) {
            remove(&under_way.file)?;
        }
        self.clear(note, under_way)
    }

    /// Removes the temporary files of an export after its end: the draft of the export file, and the file `note`.
    pub(super) fn clear(&self, note: &Path, under_way: &UnderWay) -> Result<(), Error> {
        let _gone_already = std::fs::remove_file(&under_way.draft);
        self.remove_note(note)
    }

    /// Reads an assembly from an export file.
    pub(super) fn exported(&self, file: &Path) -> Result<Bundle, Error> {
        let text = files::read_text(file, self.limit)
            .map_err(|source| Error::File { path: file.to_owned(), source: source.into() })?;
        let wrong = |cause| TransferError::File { file: file.to_owned(), cause };
        let Exported { mut records, packages, secrets, .. } =
            document::read(&FORMAT, &text).map_err(wrong)?;
        let packages: Result<Vec<_>, _> = packages.into_iter().map(Packed::unpack).collect();
        records.packages = packages.map_err(wrong)?;
        if !secrets.is_empty() {
            let key = self.sealing_key(false)?;
            for (name, sealed) in &secrets {
                let (name, value) = open(&key, name, sealed)?;
                records.secrets.insert(name, value);
            }
        }
        Ok(records)
    }

    fn sealing_key(&self, make: bool) -> Result<SealingKey, Error> {
        let source = match &self.key {
            Some(file) => KeySource::File(file.clone()),
            None => self.store_key.clone(),
        };
        match source.obtain(make && self.key.is_some(), &SystemEntropy) {
            Err(KeyError::Missing { .. }) if self.key.is_none() && !make => {
                Err(TransferError::OtherKey.into())
            }
            other => Ok(other.map_err(StoreError::from)?),
        }
    }
}

impl UnderWay {
    /// Reads the file `note` of an export. Returns `None` if the file is gone because another process has finished the
    /// export.
    pub(super) fn read(note: &Path) -> Result<Option<Self>, Error> {
        let text = match files::read_text(note, files::MAX_SIZE) {
            Ok(text) => text,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(Error::File { path: note.to_owned(), source: error.into() }),
        };
        let wrong = |cause| TransferError::File { file: note.to_owned(), cause };
        Ok(Some(document::read(&NOTE, &text).map_err(wrong)?))
    }

    /// Tells whether the export file exists, belongs to this export, and contains the same records as `bundle`.
    /// `bundle` contains the current records of the assembly in the store.
    pub(super) fn is_written(&self, bundle: Bundle) -> bool {
        let Some(Exported { records, .. }) = exported_in(&self.file) else { return false };
        let now = Bundle { transfer: records.transfer.clone(), ..bundle };
        let as_value = |bundle: &Bundle| serde_json::to_value(bundle).ok();
        records.transfer.as_ref() == Some(&self.transfer) && as_value(&records) == as_value(&now)
    }
}

/// Refuses a file that already exists.
pub(super) fn is_free(file: &Path) -> Result<(), TransferError> {
    if file.exists() { Err(TransferError::Exists(file.to_owned())) } else { Ok(()) }
}

/// Removes a file durably. A missing file is no error, because another windlass program may have removed the file at
/// the same time.
fn remove(file: &Path) -> Result<(), Error> {
    match std::fs::remove_file(file).and_then(|()| output::sync_folder(file)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| Error::Write { path: file.to_owned(), source }),
    }
}

/// Maximum size in bytes of an export file that windlass reads after an interrupted export. This limit is higher than
/// the limit for an import, because windlass itself has written the file.
const LARGEST: usize = 1 << 31;

/// Reads an export file. Returns `None` if the file is missing or contains no export.
fn exported_in(file: &Path) -> Option<Exported> {
    document::read(&FORMAT, &files::read_text(file, LARGEST).ok()?).ok()
}

fn open(
    key: &SealingKey,
    name: &str,
    sealed: &str,
) -> Result<(SecretRef, Sensitive<Vec<u8>>), TransferError> {
    let secret: SecretRef = name.parse().map_err(|_| TransferError::OtherKey)?;
    let bytes = hex::decode(sealed).map_err(|_| TransferError::OtherKey)?;
    let value = Sealed::from_bytes(bytes).and_then(|sealed| key.open(&secret, &sealed));
    Ok((secret, value.map_err(|_| TransferError::OtherKey)?))
}
