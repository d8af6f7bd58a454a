//! A store of images on this host.
//!
//! ```text
//! <store>/index.json               maps image names, digests of manifests, and paths of image files to ids of images
//! <store>/lock                     locked while a process replaces index.json
//! <store>/images/<hex>/            one image; <hex> is the id of the image, which is the digest of its config
//!                      config.json the config of the image, byte for byte
//!                      size        the total size of the files in all layers of the image, in bytes
//!                      root/       the file system of the image; later, only mount points are added
//! <store>/locks/<hex>              locked while a process unpacks the image with the id <hex>
//! <store>/fresh/<pid>-<n>/         an image that a process is unpacking or removing; locked by this process
//! ```
//!
//! A process unpacks an image in the folder `fresh`, flushes the image to the disk, and then moves it to `images` by
//! one rename. So an image in `images` is always complete. The index is replaced in the same way. If two processes need
//! the same image at the same time, only one of them unpacks it. While a job uses an image, or an import gives it a name,
//! the folder of the image is locked, and the image can't be pruned.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{FlockOperation, flock, syncfs},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    file_tree::remove_tree,
    image::{
        Digest, ImageConfig, ImageError, ImageLimits, ImageName, Reference,
        archive::{Archive, Described},
        budget::Budget,
        config::ConfigFile,
        error::io_error,
        files::ImageFiles,
        layer::apply_all,
        root::{Root, parts},
    },
    outcome::Version,
};

/// The mount points in an image: each job gets its own folders at these paths. If an image lacks a mount point, it is
/// created when the image is unpacked.
const MOUNT_POINTS: [&str; 4] = ["dev", "proc", "tmp", "work"];

/// A store of images on this host, in one folder. Any number of processes may use the store at the same time.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
    limits: ImageLimits,
}

/// An image in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image {
    /// Id of the image: the digest of its config.
    pub id: Digest,
    /// Settings with which the programs of the image are run.
    pub config: ImageConfig,
    /// Folder `<store>/images/<hex>` (see the [module](self)).
    folder: PathBuf,
}

/// An image in the list of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Id of the image: the digest of its config.
    pub id: Digest,
    /// Names of the image, sorted.
    pub names: Vec<ImageName>,
    /// Total size of the files in all layers of the image, in bytes.
    pub bytes: u64,
    /// Processor architecture of the image.
    pub architecture: String,
}

/// The selection of images to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// All images that have no name and that no job uses.
    Unnamed,
    /// All images that no job uses, with or without a name.
    Unused,
}

/// The result of a removal of images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Digests of the removed images.
    pub removed: Vec<Digest>,
    /// Total size of the files in all layers of the removed images, in bytes.
    pub bytes: u64,
    /// Images that were kept because jobs use them, or because they are being imported.
    pub in_use: Vec<Digest>,
}

/// The content of the store's document `index.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    version: Version,
    #[serde(default)]
    names: BTreeMap<ImageName, Digest>,
    /// Ids of images, by the digest of the manifest.
    #[serde(default)]
    manifests: BTreeMap<Digest, Digest>,
    /// Image files that jobs have used as their image, by absolute path.
    #[serde(default)]
    files: BTreeMap<PathBuf, FileEntry>,
}

/// The id of the image in a file, and the attributes of the file when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileEntry {
    id: Digest,
    stamp: Stamp,
}

/// The attributes of an image file, which show whether the file has changed. If a file is written twice within
/// one tick of the kernel's clock, its attributes may stay the same. For this reason, a file that [was written
/// recently](Self::is_recent) gets no entry in [`Index::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanos: i64,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.len(),
            seconds: metadata.mtime(),
            nanos: metadata.mtime_nsec(),
        }
    }

    /// Tells whether the file was written in the last two seconds, or has a time in the future. File systems store
    /// the time of a file in units of at most two seconds. So if a file is not recent, each later change also
    /// changes the stored time.
    fn is_recent(self, now: Timestamp) -> bool {
        i64::try_from(now.as_millis() / 1000).unwrap_or(i64::MAX) <= self.seconds.saturating_add(2)
    }
}

impl Image {
    /// Returns the folder with the image's file system. Callers must not write to it.
    pub fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// Returns the folder of the image. A process that uses the image locks the folder (`flock`, shared).
    /// While the lock is held, the image isn't pruned.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ensures that a folder can be mounted at this absolute path. If the image has no folder there, creates
    /// an empty folder. An image in a store is never changed in any other way.
    ///
    /// # Errors
    /// [`ImageError::MountPoint`] when the path is not absolute, leads upwards, or goes through a link or a file.
    pub fn mount_point(&self, path: &str) -> Result<(), ImageError> {
        let wrong = |problem: String| ImageError::MountPoint { path: path.to_owned(), problem };
        let parts = parts(path).map_err(|why| wrong(why.to_owned()))?;
        if !path.starts_with('/') || parts.is_empty() {
            return Err(wrong("it is no absolute path below `/`".to_owned()));
        }
        let root = self.root();
        for end in 1..=parts.len() {
            let there = root.join(parts[..end].join("/"));
            match fs::symlink_metadata(&there) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(wrong(format!("`/{}` is not a folder", parts[..end].join("/")))),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    // Several jobs may create the folder at the same time.
                    DirBuilder::new()
                        .recursive(true)
                        .mode(0o755)
                        .create(&there)
                        .map_err(io_error("make", there))?;
                }
                Err(error) => return Err(io_error("look at", there)(error)),
            }
        }
        Ok(())
    }
}

impl Store {
    /// Opens the store in this folder. Creates the folder if it does not exist (mode 0700).
    ///
    /// # Errors
    /// [`ImageError::Io`] when the folder can't be created.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ImageError> {
        let path = path.into();
        let path = std::path::absolute(&path).map_err(io_error("find", path))?;
        for folder in ["", "images", "locks", "fresh"] {
            make(&path.join(folder))?;
        }
        Ok(Self { path, limits: ImageLimits::default() })
    }

    /// Sets the limits for images that are imported.
    #[must_use]
    pub fn with_limits(mut self, limits: ImageLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the folder of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Imports all images of a file or folder, under the names that the file states. If the file contains
    /// exactly one image, this image also gets the name `name`.
    ///
    /// # Errors
    /// All errors of reading the file, and [`Several`](ImageError::Several) when `name` is given and the file
    /// contains several images.
    pub fn import(&self, path: &Path, name: Option<&ImageName>) -> Result<Vec<Listed>, ImageError> {
        let archive = self.archive(path)?;
        let described = archive.images()?;
        if name.is_some() && described.len() != 1 {
            return Err(ImageError::Several { path: path.to_owned(), count: described.len() });
        }
        let mut imported = Vec::new();
        for image in described {
            let _used = self.unpack(&archive, &image)?;
            let names: Vec<_> = image.names.iter().chain(name).cloned().collect();
            self.change(|index| {
                index.names.extend(names.into_iter().map(|name| (name, image.id.clone())));
                index.manifests.extend(image.manifest.clone().map(|manifest| (manifest, image.id.clone())));
            })?;
            imported.push(image.id);
        }
        let all = self.list()?;
        Ok(imported.iter().filter_map(|id| all.iter().find(|image| image.id == *id).cloned()).collect())
    }

    /// Finds an image. If the reference is a file that is new or has changed since its last import, imports
    /// the file.
    ///
    /// # Errors
    /// [`ImageError::Unknown`], and all errors of reading a file.
    pub fn resolve(&self, reference: &Reference) -> Result<Image, ImageError> {
        let index = self.index()?;
        let id = match reference {
            Reference::Name(name) => index.names.get(name).cloned(),
            Reference::Digest(digest) => Some(index.manifests.get(digest).unwrap_or(digest).clone()),
            Reference::Path(path) => Some(self.file(&index, path)?),
        };
        let unknown = || ImageError::Unknown { reference: reference.to_string() };
        self.image(&id.ok_or_else(unknown)?)?.ok_or_else(unknown)
    }

    /// Lists the files of an image. If the reference is a file, the file is read and not imported.
    ///
    /// # Errors
    /// [`ImageError::Unknown`], and all errors of reading a file.
    pub fn files(&self, reference: &Reference) -> Result<ImageFiles, ImageError> {
        match reference {
            Reference::Path(path) => ImageFiles::of_archive(&self.archive(path)?, self.limits),
            _ => ImageFiles::of_folder(&self.resolve(reference)?.root()),
        }
    }

    /// Lists the images, sorted by id.
    ///
    /// # Errors
    /// [`ImageError::Io`], [`ImageError::Document`].
    pub fn list(&self) -> Result<Vec<Listed>, ImageError> {
        let index = self.index()?;
        let mut listed = Vec::new();
        for id in self.ids()? {
            let Some(image) = self.image(&id)? else { continue };
            let names = index.names.iter().filter(|(_, named)| **named == id);
            listed.push(Listed {
                names: names.map(|(name, _)| name.clone()).collect(),
                bytes: size(&image.folder),
                architecture: image.config.architecture,
                id,
            });
        }
        Ok(listed)
    }

    /// Removes the selected images, except images that a job uses.
    ///
    /// # Errors
    /// [`ImageError::Io`].
    pub fn prune(&self, which: Prune) -> Result<Pruned, ImageError> {
        self.sweep()?;
        let mut pruned = Pruned::default();
        for id in self.ids()? {
            let bytes = size(&self.folder(&id));
            match self.remove(&id, which)? {
                Removal::Named => {}
                Removal::InUse => pruned.in_use.push(id),
                Removal::Removed => {
                    pruned.bytes += bytes;
                    pruned.removed.push(id);
                }
            }
        }
        if !pruned.removed.is_empty() {
            self.drop_entries(&pruned.removed)?;
        }
        Ok(pruned)
    }

    /// Drops the index entries of removed images. An image may have been imported again after its removal. The entries
    /// of such an image stay.
    fn drop_entries(&self, removed: &[Digest]) -> Result<(), ImageError> {
        self.change(|index| {
            let is_gone = |id: &Digest| removed.contains(id) && !self.folder(id).exists();
            index.names.retain(|_, id| !is_gone(id));
            index.manifests.retain(|_, id| !is_gone(id));
            index.files.retain(|_, file| !is_gone(&file.id));
        })
    }

    fn archive(&self, path: &Path) -> Result<Archive, ImageError> {
        Archive::open(path, &self.path.join("fresh"), self.limits)
    }

    /// Returns the id of the image in a file. Imports the file, unless the index shows that it was imported
    /// and has not changed.
    fn file(&self, index: &Index, path: &Path) -> Result<Digest, ImageError> {
        let path = fs::canonicalize(path).map_err(io_error("open", path))?;
        let metadata = fs::metadata(&path).map_err(io_error("open", &path))?;
        let (stamp, now) = (Stamp::of(&metadata), Timestamp::now());
        let known = index.files.get(&path).filter(|known| known.stamp == stamp && metadata.is_file());
        if let Some(known) = known
            && self.folder(&known.id).exists()
        {
            return Ok(known.id.clone());
        }
        let archive = self.archive(&path)?;
        let described = archive.images()?;
        let [image] = described.as_slice() else {
            return Err(ImageError::Several { path, count: described.len() });
        };
        let _used = self.unpack(&archive, image)?;
        if !stamp.is_recent(now) {
            let entry = FileEntry { id: image.id.clone(), stamp };
            self.change(|index| drop(index.files.insert(path, entry)))?;
        }
        Ok(image.id.clone())
    }

    /// Unpacks an image, unless it is unpacked already. While the returned value exists, the image isn't pruned.
    fn unpack(&self, archive: &Archive, image: &Described) -> Result<Used, ImageError> {
        let place = self.folder(&image.id);
        let _one_at_a_time = lock(&self.path.join("locks").join(image.id.hex()))?;
        loop {
            if let Some(used) = Used::of(&place)? {
                return Ok(used);
            }
            self.unpack_at(&place, archive, image)?;
        }
    }

    fn unpack_at(&self, place: &Path, archive: &Archive, image: &Described) -> Result<(), ImageError> {
        let fresh = self.fresh()?;
        let bytes = fill(&fresh.path, archive, image, self.limits)?;
        let write = |name: &str, content: &[u8]| {
            let path = fresh.path.join(name);
            fs::write(&path, content).map_err(io_error("write", path))
        };
        write("config.json", &image.config_bytes)?;
        write("size", bytes.to_string().as_bytes())?;
        // The image is flushed to the disk, since it is kept for long and its files are not checked again
        // before use.
        syncfs(&fresh.lock).map_err(|errno| io_error("flush", &fresh.path)(errno.into()))?;
        let named = fs::rename(&fresh.path, place).and_then(|()| sync_folder(&self.path.join("images")));
        named.map_err(io_error("make", place))
    }

    fn image(&self, id: &Digest) -> Result<Option<Image>, ImageError> {
        let folder = self.folder(id);
        let path = folder.join("config.json");
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(io_error("read", &path))?,
        };
        let config: ConfigFile = serde_json::from_slice(&bytes).map_err(|error| ImageError::Document {
            path: folder.clone(),
            document: "config.json".to_owned(),
            problem: error.to_string(),
        })?;
        Ok(Some(Image { id: id.clone(), config: config.into_config(), folder }))
    }

    fn folder(&self, id: &Digest) -> PathBuf {
        self.path.join("images").join(id.hex())
    }

    fn ids(&self) -> Result<Vec<Digest>, ImageError> {
        let folder = self.path.join("images");
        let listing = fs::read_dir(&folder).map_err(io_error("list", folder))?;
        let names = listing.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<Digest> = names.filter_map(|hex| format!("sha256:{hex}").parse().ok()).collect();
        ids.sort();
        Ok(ids)
    }

    fn index(&self) -> Result<Index, ImageError> {
        let path = self.path.join("index.json");
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Index::default()),
            read => read.map_err(io_error("read", &path))?,
        };
        serde_json::from_slice(&bytes).map_err(|error| ImageError::Document {
            path: self.path.clone(),
            document: "index.json".to_owned(),
            problem: error.to_string(),
        })
    }

    /// Changes the index, under an exclusive lock.
    fn change(&self, change: impl FnOnce(&mut Index)) -> Result<(), ImageError> {
        let _alone = lock(&self.path.join("lock"))?;
        let mut index = self.index()?;
        change(&mut index);
        let (path, fresh) = (self.path.join("index.json"), self.path.join("index.json.new"));
        // Without the flush, a power cut after the rename could leave an empty index.
        let write = || {
            let mut file = File::create(&fresh)?;
            file.write_all(&serde_json::to_vec(&index).map_err(io::Error::other)?)?;
            file.sync_all()?;
            fs::rename(&fresh, &path)?;
            sync_folder(&self.path)
        };
        write().map_err(io_error("write", path))
    }

    /// Removes an image, unless a job uses it. If `which` is [`Prune::Unnamed`], an image with a name also stays.
    fn remove(&self, id: &Digest, which: Prune) -> Result<Removal, ImageError> {
        let folder = &self.folder(id);
        let file = match File::open(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Removal::Removed),
            opened => opened.map_err(io_error("open", folder))?,
        };
        let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // An import gives an image its name while it locks the image, so the names are read after the lock is taken.
        if which == Prune::Unnamed && self.index()?.names.values().any(|named| named == id) {
            return Ok(Removal::Named);
        }
        if !is_locked || !is_at(&file, folder) {
            return Ok(Removal::InUse);
        }
        let fresh = self.fresh()?;
        let away = fresh.path.join("image");
        fs::rename(folder, away).map_err(io_error("remove", folder))?;
        drop(fresh);
        Ok(Removal::Removed)
    }

    /// Creates a temporary folder. When the returned value is dropped, the folder is deleted, unless it was
    /// renamed.
    fn fresh(&self) -> Result<Fresh, ImageError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.path.join("fresh").join(format!("{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                // The folder may belong to a process in another PID namespace. That process may have the same id.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made.map_err(io_error("make", &path))?,
            }
            // Until the folder is locked, a prune takes it for the folder of a dead process, and removes it.
            match File::open(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                opened => {
                    let lock = opened.map_err(io_error("open", &path))?;
                    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                        Ok(()) if is_at(&lock, &path) => return Ok(Fresh { path, lock }),
                        Ok(()) | Err(Errno::WOULDBLOCK) => {}
                        Err(errno) => return Err(io_error("lock", &path)(errno.into())),
                    }
                }
            }
        }
    }

    /// Removes incomplete images that dead processes have left.
    fn sweep(&self) -> Result<(), ImageError> {
        let folder = self.path.join("fresh");
        for entry in fs::read_dir(&folder).map_err(io_error("list", folder))?.flatten() {
            if let Ok(file) = File::open(entry.path())
                && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
                && is_at(&file, &entry.path())
            {
                remove_tree(&entry.path()).map_err(io_error("remove", entry.path()))?;
            }
        }
        Ok(())
    }
}

/// The result of an attempt to remove an image.
enum Removal {
    Removed,
    /// The image has a name, and only images without a name are removed.
    Named,
    /// A job uses the image, or a running import gives the image a name at this moment.
    InUse,
}

/// A lock on the folder of an image: while this value exists, the image isn't pruned.
struct Used(#[expect(dead_code, reason = "the lock is released when the file is closed")] File);

impl Used {
    /// Locks the folder of an image. Returns `None` if the image does not exist. Waits while a prune removes the image.
    fn of(folder: &Path) -> Result<Option<Self>, ImageError> {
        let file = match File::open(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(io_error("open", folder))?,
        };
        flock(&file, FlockOperation::LockShared).map_err(|errno| io_error("lock", folder)(errno.into()))?;
        Ok(is_at(&file, folder).then_some(Self(file)))
    }
}

/// Tells whether this open folder is still the folder at `path`. Another process may have moved or deleted the folder
/// before this process has locked it.
fn is_at(folder: &File, path: &Path) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (opened, there) = (folder.metadata().map(id), fs::metadata(path).map(id));
    matches!((opened, there), (Ok(opened), Ok(there)) if opened == there)
}

/// A temporary folder: an image that is being unpacked or removed.
struct Fresh {
    path: PathBuf,
    lock: File,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // If the folder was renamed, another process may have created a folder with its old name.
        if is_at(&self.lock, &self.path) {
            // If the folder can't be removed now, a later call of `prune` removes it.
            let _left = remove_tree(&self.path);
        }
    }
}

/// Unpacks all layers, and checks the digests of each layer. Returns the total size of the files in all layers, in
/// bytes.
fn fill(folder: &Path, archive: &Archive, image: &Described, limits: ImageLimits) -> Result<u64, ImageError> {
    let path = folder.join("root");
    DirBuilder::new().mode(0o755).create(&path).map_err(io_error("make", &path))?;
    let mut root = Root::open(&path).map_err(io_error("open", &path))?;
    let mut budget = Budget::new(limits);
    apply_all(&mut root, archive, image, &mut budget)?;
    for point in MOUNT_POINTS {
        let made = root
            .place(&[point])
            .and_then(|place| if place.is_folder() { Ok(()) } else { place.folder(0o755) });
        made.map_err(io_error("make a mount point in", &path))?;
    }
    // This file is a mount point: for a job with the host's network, the host's `/etc/resolv.conf` is mounted
    // here.
    let resolver = root.place(&["etc", "resolv.conf"]);
    if let Ok(place) = resolver
        && !place.is_there()
    {
        place.file(0o644).map_err(io_error("make a mount point in", &path))?;
    }
    Ok(budget.bytes())
}

fn make(path: &Path) -> Result<(), ImageError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_error("make", path))
}

/// Flushes the names in a folder to the disk, so that they survive a power cut.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Waits for a lock on a file. The kernel releases the lock when the process that holds it dies.
fn lock(path: &Path) -> Result<File, ImageError> {
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = file.map_err(io_error("open", path))?;
    flock(&file, FlockOperation::LockExclusive).map_err(|errno| io_error("lock", path)(errno.into()))?;
    Ok(file)
}

fn size(folder: &Path) -> u64 {
    fs::read_to_string(folder.join("size")).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
