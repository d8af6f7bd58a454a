//! Reads image files of several formats.
//!
//! Three formats are supported. Each of them may be a folder, a tar file, or a compressed tar file:
//!
//! | format | recognised by | blobs |
//! |---|---|---|
//! | docker archive (`docker save`) | `manifest.json` | names in `manifest.json` |
//! | OCI layout | `index.json` | `blobs/sha256/<hex>` |
//! | artifact set (component archive) | `index.json` or `artifact-descriptor.json` (old) | `blobs/sha256.<hex>` |
//!
//! If an image file matches several formats, the first matching row of the table applies.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Take, Write},
    os::{fd::OwnedFd, unix::fs::FileExt},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open, openat, openat2};
use serde::{Deserialize, de::DeserializeOwned};

use crate::image::{
    Digest, ImageError, ImageLimits, ImageName,
    budget::{Budget, HeaderGuard, HeaderRoom},
    config::{ConfigFile, host_architecture},
    error::io_error,
    stream::Plain,
};

/// Maximum depth of nested indexes.
const DEPTH: usize = 4;

const NO_IMAGE: &str = "it lists no image";

/// Annotation that names the main artifact of an artifact set.
const MAIN: &str = "software.ocm/main";

/// An opened file or folder that contains images.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    files: Files,
    limits: ImageLimits,
}

/// The description of one image in an archive.
#[derive(Debug)]
pub(crate) struct Described {
    /// Names that the archive states for the image. The list may be empty.
    pub(crate) names: Vec<ImageName>,
    /// Digest of the manifest; `None` for a docker archive, in which an image has no manifest of its own.
    pub(crate) manifest: Option<Digest>,
    /// Id of the image: the digest of its config.
    pub(crate) id: Digest,
    pub(crate) config_bytes: Vec<u8>,
    pub(crate) config: ConfigFile,
    /// Layers, the lowest first.
    pub(crate) layers: Vec<LayerFile>,
}

#[derive(Debug, Clone)]
pub(crate) struct LayerFile {
    /// Name of the file in the archive.
    pub(crate) name: String,
    /// Digest of the file; `None` if the archive states no digest. If the file is compressed, this is the digest of
    /// the compressed bytes.
    pub(crate) digest: Option<Digest>,
}

#[derive(Debug)]
enum Files {
    Folder(OwnedFd),
    Tar { file: File, index: BTreeMap<String, Place> },
}

#[derive(Debug, Clone)]
enum Place {
    At {
        offset: u64,
        size: u64,
    },
    /// The entry is a link to this target.
    Link(String),
}

/// A range of a file, with a read position of its own.
#[derive(Debug)]
pub(crate) struct Piece {
    file: File,
    offset: u64,
}

impl Read for Piece {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read_at(buffer, self.offset)?;
        self.offset += length as u64;
        Ok(length)
    }
}

impl Archive {
    /// Opens a file or folder. If the file is compressed, it is first decompressed into an unnamed file in
    /// the folder `scratch`.
    ///
    /// # Errors
    /// When the path can't be opened, is neither a file nor a folder, is too large, or is no valid tar file.
    pub fn open(path: &Path, scratch: &Path, limits: ImageLimits) -> Result<Self, ImageError> {
        let metadata = std::fs::metadata(path).map_err(io_error("open", path))?;
        let files = if metadata.is_dir() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = openat(CWD, path, flags, Mode::empty());
            Files::Folder(folder.map_err(|errno| io_error("open", path)(errno.into()))?)
        } else if metadata.is_file() {
            let file = tar_file(path, scratch, &limits)?;
            let index = index(&file, &limits)
                .map_err(|problem| Document { path, name: "the archive" }.wrong(&problem))?;
            Files::Tar { file, index }
        } else {
            return Err(ImageError::NotAnImage { path: path.to_owned() });
        };
        Ok(Self { path: path.to_owned(), files, limits })
    }

    /// Returns the path under which the archive was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens one file of the archive; `None` if it does not exist.
    pub(crate) fn file(&self, name: &str) -> Result<Option<Take<Piece>>, ImageError> {
        let (file, offset, size) = match &self.files {
            Files::Folder(folder) => {
                let Some(file) = open_in(folder, name).map_err(io_error("open", self.path.join(name)))?
                else {
                    return Ok(None);
                };
                let size = file.metadata().map_err(io_error("read", self.path.join(name)))?.len();
                (file, 0, size)
            }
            Files::Tar { file, index } => {
                let mut place = index.get(name);
                for _ in 0..DEPTH {
                    place = match place {
                        Some(Place::Link(target)) => index.get(target),
                        other => other,
                    };
                }
                let Some(Place::At { offset, size }) = place else { return Ok(None) };
                (file.try_clone().map_err(io_error("read", &self.path))?, *offset, *size)
            }
        };
        Ok(Some(Piece { file, offset }.take(size)))
    }

    /// Lists the images of the archive. An index in the archive may state the platform of an image. Images for
    /// a platform other than that of this host are left out.
    pub(crate) fn images(&self) -> Result<Vec<Described>, ImageError> {
        if let Some(manifest) = self.json::<Vec<DockerManifest>>("manifest.json")? {
            if manifest.is_empty() {
                return Err(self.document("manifest.json").wrong(&NO_IMAGE));
            }
            return manifest.into_iter().map(|entry| self.docker_image(entry)).collect();
        }
        for name in ["index.json", "artifact-descriptor.json"] {
            if let Some(index) = self.json::<Index>(name)? {
                return self.indexed(name, index);
            }
        }
        Err(ImageError::NotAnImage { path: self.path.clone() })
    }

    fn docker_image(&self, entry: DockerManifest) -> Result<Described, ImageError> {
        let bytes = self.bytes(&entry.config)?.ok_or_else(|| self.missing("manifest.json", &entry.config))?;
        let id = Digest::of(&bytes);
        // In all versions of the format, the name of the config contains its digest. No other checksum
        // reveals damage of the config.
        let stem = Path::new(&entry.config).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        if let Some(named) = stem.and_then(|hex| format!("sha256:{hex}").parse::<Digest>().ok()) {
            self.same(&named, &id, "the config")?;
        }
        let layers = entry.layers.into_iter().map(|name| {
            let hex = name.strip_prefix("blobs/sha256/");
            let digest = hex.and_then(|hex| format!("sha256:{hex}").parse().ok());
            LayerFile { name, digest }
        });
        let names = entry.repo_tags.unwrap_or_default().iter().filter_map(|name| name.parse().ok()).collect();
        self.described(names, None, (id, bytes), layers.collect())
    }

    fn indexed(&self, name: &str, index: Index) -> Result<Vec<Described>, ImageError> {
        let annotations = index.annotations.unwrap_or_default();
        let main: Option<Digest> = annotations.get(MAIN).and_then(|text| text.parse().ok());
        let mut found = Vec::new();
        let mut refused = Vec::new();
        for descriptor in index.manifests {
            if main.as_ref().is_some_and(|main| *main != descriptor.digest) {
                continue;
            }
            let names = descriptor.names();
            if let Some(chosen) = self.choose(descriptor, DEPTH, &mut refused)? {
                found.push(self.oci_image(names, chosen)?);
            }
        }
        if found.is_empty() {
            let wanted = format!("linux/{}", host_architecture());
            if refused.is_empty() {
                return Err(self.document(name).wrong(&NO_IMAGE));
            }
            return Err(ImageError::Platform { path: self.path.clone(), wanted, found: refused });
        }
        Ok(found)
    }

    /// Finds the manifest to which an entry of an index leads. If the entry leads to another index, searches this
    /// index, too. Returns `None` if no manifest is for the platform of this host. Adds the platforms that do not
    /// match to `refused`.
    fn choose(
        &self,
        descriptor: Descriptor,
        depth: usize,
        refused: &mut Vec<String>,
    ) -> Result<Option<(Digest, Manifest)>, ImageError> {
        if let Some(platform) = &descriptor.platform
            && !platform.is_ours()
        {
            refused.push(platform.to_string());
            return Ok(None);
        }
        let name = self.blob_name(&descriptor.digest)?;
        let bytes = self.bytes(&name)?.ok_or_else(|| self.missing("index.json", &name))?;
        self.same(&descriptor.digest, &Digest::of(&bytes), "a manifest")?;
        let document = self.document(&name);
        match document.parse::<Either>(&bytes)? {
            Either { manifests: Some(manifests), .. } => {
                if depth == 0 {
                    return Err(document.wrong(&"indexes are nested too deeply"));
                }
                for inner in manifests {
                    if let Some(chosen) = self.choose(inner, depth - 1, refused)? {
                        return Ok(Some(chosen));
                    }
                }
                Ok(None)
            }
            Either { config: Some(config), layers, .. } => {
                Ok(Some((descriptor.digest, Manifest { config, layers: layers.unwrap_or_default() })))
            }
            Either { .. } => Err(document.wrong(&"it is neither a manifest nor an index")),
        }
    }

    fn oci_image(
        &self,
        names: Vec<ImageName>,
        (digest, manifest): (Digest, Manifest),
    ) -> Result<Described, ImageError> {
        let name = self.blob_name(&manifest.config.digest)?;
        let bytes = self.bytes(&name)?.ok_or_else(|| self.missing("the manifest", &name))?;
        let id = Digest::of(&bytes);
        self.same(&manifest.config.digest, &id, "the config")?;
        let layers = manifest
            .layers
            .into_iter()
            .map(|layer| Ok(LayerFile { name: self.blob_name(&layer.digest)?, digest: Some(layer.digest) }));
        let layers = layers.collect::<Result<_, ImageError>>()?;
        self.described(names, Some(digest), (id, bytes), layers)
    }

    fn described(
        &self,
        names: Vec<ImageName>,
        manifest: Option<Digest>,
        (id, config_bytes): (Digest, Vec<u8>),
        layers: Vec<LayerFile>,
    ) -> Result<Described, ImageError> {
        let document = self.document("the config");
        let config: ConfigFile = document.parse(&config_bytes)?;
        if config.diff_ids().len() != layers.len() {
            let (wanted, stored) = (config.diff_ids().len(), layers.len());
            return Err(document.wrong(&format!("it names {wanted} layers, the manifest {stored}")));
        }
        if layers.len() > self.limits.layers {
            return Err(ImageError::TooLarge { limit: self.limits.layers as u64, what: "layers" });
        }
        Ok(Described { names, manifest, id, config_bytes, config, layers })
    }

    /// Returns the path of a blob (a file that is named by its digest) in the archive. The path is `blobs/sha256/<hex>`
    /// if this file exists, as in an OCI layout. Otherwise the path is `blobs/sha256.<hex>`, as in an artifact set (the
    /// archive format of the Open Component Model).
    fn blob_name(&self, digest: &Digest) -> Result<String, ImageError> {
        let nested = format!("blobs/sha256/{}", digest.hex());
        let there = self.file(&nested)?.is_some();
        Ok(if there { nested } else { format!("blobs/sha256.{}", digest.hex()) })
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ImageError> {
        self.bytes(name)?.map(|bytes| self.document(name).parse(&bytes)).transpose()
    }

    fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, ImageError> {
        let Some(file) = self.file(name)? else { return Ok(None) };
        let limit = self.limits.document_bytes;
        if file.limit() > limit {
            return Err(ImageError::TooLarge { limit, what: "bytes in one document" });
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(io_error("read", self.path.join(name)))?;
        Ok(Some(bytes))
    }

    /// Returns an error if the two digests differ. `expected` is the digest that the archive states, and `found` is the
    /// digest of the bytes that were read. `what` names these bytes in the error, for example `the config`.
    pub(crate) fn same(&self, expected: &Digest, found: &Digest, what: &str) -> Result<(), ImageError> {
        if expected == found {
            return Ok(());
        }
        let (expected, found) = (expected.clone(), found.clone());
        Err(ImageError::Digest { path: self.path.clone(), what: what.to_owned(), expected, found })
    }

    pub(crate) fn missing(&self, document: &str, name: &str) -> ImageError {
        self.document(document).wrong(&format!("it names `{name}`, which isn't there"))
    }

    fn document<'a>(&'a self, name: &'a str) -> Document<'a> {
        Document { path: &self.path, name }
    }
}

/// The name of a document in an archive, for error messages.
struct Document<'a> {
    path: &'a Path,
    name: &'a str,
}

impl Document<'_> {
    fn parse<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, ImageError> {
        serde_json::from_slice(bytes).map_err(|error| self.wrong(&error))
    }

    fn wrong(&self, problem: &dyn std::fmt::Display) -> ImageError {
        ImageError::Document {
            path: self.path.to_owned(),
            document: self.name.to_owned(),
            problem: problem.to_string(),
        }
    }
}

/// Opens a tar file for random access. If the file is compressed, it is decompressed first.
fn tar_file(path: &Path, scratch: &Path, limits: &ImageLimits) -> Result<File, ImageError> {
    let mut file = File::open(path).map_err(io_error("open", path))?;
    let plain = Plain::new(&file).map_err(io_error("read", path))?;
    if plain.is_compressed() {
        // An unnamed file disappears even if this process is killed.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let spool = open(scratch, flags, Mode::RUSR | Mode::WUSR);
        let mut spool = File::from(spool.map_err(|errno| io_error("make a file in", scratch)(errno.into()))?);
        let copied = io::copy(&mut plain.take(limits.bytes + 1), &mut spool);
        if copied.map_err(io_error("decompress", path))? > limits.bytes {
            return Err(ImageError::TooLarge { limit: limits.bytes, what: "bytes" });
        }
        spool.flush().map_err(io_error("decompress", path))?;
        file = spool;
    }
    file.seek(SeekFrom::Start(0)).map_err(io_error("read", path))?;
    Ok(file)
}

/// Indexes the positions of all files in a tar file.
fn index(file: &File, limits: &ImageLimits) -> io::Result<BTreeMap<String, Place>> {
    let mut places = BTreeMap::new();
    // The iterator skips the content of entries without reading it, so all bytes that it reads are headers.
    let room = HeaderRoom::new();
    let mut budget = Budget::new(*limits);
    let mut archive = tar::Archive::new(HeaderGuard::new(file, &room));
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let header_bytes = room.end_headers();
        room.end_content();
        let name = normal(&entry.path()?);
        let path_bytes = name.len() + entry.link_name_bytes().map_or(0, |target| target.len());
        // The content stays in the file.
        budget.take_entry(0, path_bytes, header_bytes).map_err(io::Error::other)?;
        let place = match entry.header().entry_type() {
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                Place::At { offset: entry.raw_file_position(), size: entry.size() }
            }
            kind @ (tar::EntryType::Symlink | tar::EntryType::Link) => {
                let Some(target) = entry.link_name()? else { continue };
                let base = if kind == tar::EntryType::Symlink { Path::new(&name).parent() } else { None };
                Place::Link(normal(&base.unwrap_or(Path::new("")).join(target)))
            }
            _ => continue,
        };
        places.insert(name, place);
    }
    Ok(places)
}

/// Removes `.`, `..` and empty parts from a path in a tar file. For example, `./a/b`, `/a//b` and `c/../a/b` all become
/// `a/b`. The keys of the map that [`index`] returns have this form.
fn normal(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            std::path::Component::ParentDir => drop(parts.pop()),
            _ => {}
        }
    }
    parts.join("/")
}

/// Opens a regular file below a folder. The kernel ensures that no link leads out of the folder.
fn open_in(folder: &OwnedFd, name: &str) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, name, flags, Mode::empty(), within) {
        Ok(file) => {
            let file = File::from(file);
            Ok(file.metadata()?.is_file().then_some(file))
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DockerManifest {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    #[serde(default)]
    layers: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Vec<Descriptor>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

/// A manifest or an index. Both have the same type here, because the media type that distinguishes them is
/// optional.
#[derive(Debug, Deserialize)]
struct Either {
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

#[derive(Debug)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Debug, Clone, Deserialize)]
struct Descriptor {
    digest: Digest,
    #[serde(default)]
    platform: Option<Platform>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    /// Returns the image names that the index states for this image. A tag without a repository is ignored.
    fn names(&self) -> Vec<ImageName> {
        let is_name =
            |key: &str| matches!(key, "org.opencontainers.image.ref.name" | "io.containerd.image.name");
        let annotations = self.annotations.iter().flatten();
        let mut names: Vec<ImageName> = annotations
            .filter(|(key, _)| is_name(key))
            .filter(|(_, name)| name.contains([':', '/']))
            .filter_map(|(_, name)| name.parse().ok())
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
}

impl Platform {
    fn is_ours(&self) -> bool {
        self.os == "linux" && self.architecture == host_architecture()
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_in_an_archive_is_refused_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image.tar");
        let mut tar = tar::Builder::new(File::create(&path).unwrap());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(2 << 20);
        header.set_cksum();
        tar.append(&header, io::repeat(b'x').take(2 << 20)).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        tar.append_data(&mut header, "a", io::empty()).unwrap();
        drop(tar.into_inner().unwrap());
        let error = Archive::open(&path, dir.path(), ImageLimits::default()).unwrap_err();
        assert!(error.to_string().contains("more than 1048576 bytes in the headers of one entry"), "{error}");
    }

    #[test]
    fn names_in_archives_are_spelled_in_one_way() {
        for (name, expected) in
            [("./a/b", "a/b"), ("/a", "a"), ("a/../b", "b"), ("../../a", "a"), ("a/./b/", "a/b")]
        {
            assert_eq!(normal(Path::new(name)), expected);
        }
    }
}
