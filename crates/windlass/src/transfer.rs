//! Moving an assembly to another store: export writes it to a file and lets the store forget it, import takes it over.
//!
//! An assembly has one owner. It is the store, then the file, then the other store: the file is on the disk, under a
//! name of its own (`….part`), before the store forgets the assembly, and gets its name after that. So a machine that
//! dies in the middle leaves a store that owns it and a part that nobody asked for, or a part that owns it.
//!
//! Secrets are sealed one by one, by the key of the project or by one that is made for the file.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use windlass_engine::{Bundle, EngineError, HandOver, Stop};
use windlass_model::assembly::PackageDigest;
use windlass_model::id::Entropy as _;
use windlass_model::record::{PackageFile, PackageRecord};
use windlass_model::{AssemblyName, DescriptorName, Timestamp};
use windlass_secret::{Nonce, Sealed, SealingKey, SecretRef};
use windlass_store::{KeyError, KeySource, StoreError};

use crate::document::{self, DocumentError};
use crate::error::Error;
use crate::open::Windlass;
use crate::system::SystemEntropy;

/// The kind of the document.
const KIND: &str = "windlass assembly";

/// Why an exported assembly can't be written or read. Nothing has been changed then.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// There is a file of that name.
    #[error("`{}` is there already; choose another name with `-o`", .0.display())]
    Exists(PathBuf),
    /// The file can't be used.
    #[error("`{}` {cause}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: DocumentError,
    },
    /// Its secrets can't be opened.
    #[error(
        "its secrets can't be opened: they were sealed with another key; give that of the export with `--key`"
    )]
    OtherKey,
}

/// An assembly in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    at: Timestamp,
    from: String,
    records: Bundle,
    packages: Vec<Packed>,
    /// Sealed, in hexadecimal digits, by name.
    secrets: BTreeMap<String, String>,
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
    /// Writes an assembly to a file that is not there yet, and lets the store forget it. Its secrets are sealed with the
    /// key in the file `key`, which is made where it is not there; without one with the project's.
    ///
    /// # Errors
    ///
    /// When somebody works on it, it was interrupted, others reference it, or the file can't be written. The store owns
    /// it still then.
    pub async fn export(&self, name: &AssemblyName, file: &Path, key: Option<&Path>) -> Result<(), Error> {
        let store = self.store_of(name).await?;
        is_free(file)?;
        let hand_over = self.engine(store).hand_over(name, &self.holder()).await?;
        let part = PathBuf::from(format!("{}.part", file.display()));
        if let Err(error) = self.write_down(&hand_over, &part, key) {
            hand_over.abandon().await;
            return Err(error);
        }
        hand_over.complete(&file.display().to_string()).await?;
        std::fs::rename(&part, file).map_err(|source| Error::Write { path: file.to_owned(), source })
    }

    /// Looks whether an assembly can be [exported](Self::export) to a file, and changes nothing.
    ///
    /// # Errors
    ///
    /// What stands against it.
    pub async fn can_export(&self, name: &AssemblyName, file: &Path) -> Result<(), Error> {
        let store = self.store_of(name).await?;
        is_free(file)?;
        Ok(self.engine(store).can_hand_over(name).await?)
    }

    fn write_down(&self, hand_over: &HandOver, part: &Path, key: Option<&Path>) -> Result<(), Error> {
        let bundle = hand_over.bundle();
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
        let failed = |source| Error::Write { path: part.to_owned(), source };
        let text = document::write(KIND, &exported).map_err(|error| failed(error.into()))?;
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o600).open(part).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        let folder = part.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }

    /// Takes over an assembly from a file that [`export`](Self::export) has written.
    ///
    /// # Errors
    ///
    /// When the file is damaged or its secrets can't be opened, when it was imported here before, when there is an assembly
    /// of its name, or what it references is not here. Nothing has been changed then.
    pub async fn import(&self, file: &Path, key: Option<&Path>, stop: &Stop) -> Result<AssemblyName, Error> {
        let records = self.exported(file, key)?;
        let name = records.assembly.name.clone();
        let store = self.store_or_new().await?;
        Box::pin(self.engine(store).take_over(records, &file.display().to_string(), &self.holder(), stop))
            .await?;
        Ok(name)
    }

    /// Looks whether a file can be [imported](Self::import), and changes nothing.
    ///
    /// # Errors
    ///
    /// What stands against it.
    pub async fn can_import(&self, file: &Path, key: Option<&Path>) -> Result<AssemblyName, Error> {
        let records = self.exported(file, key)?;
        let name = records.assembly.name.clone();
        match self.store(false).await? {
            Some(store) => self.engine(store).can_take_over(&records).await?,
            None => nobody_is_missed(&records)?,
        }
        Ok(name)
    }

    /// Reads an assembly from a file.
    fn exported(&self, file: &Path, key: Option<&Path>) -> Result<Bundle, Error> {
        let text =
            std::fs::read_to_string(file).map_err(|source| Error::File { path: file.to_owned(), source })?;
        let wrong = |cause| TransferError::File { file: file.to_owned(), cause };
        let Exported { mut records, packages, secrets, .. } = document::read(KIND, &text).map_err(wrong)?;
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

fn is_free(file: &Path) -> Result<(), TransferError> {
    if file.exists() { Err(TransferError::Exists(file.to_owned())) } else { Ok(()) }
}

/// Refuses what references others, where there are none yet.
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
