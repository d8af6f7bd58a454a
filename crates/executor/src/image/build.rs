//! Builds images without a container engine and without a registry.
//!
//! The output is one tar archive that every container engine can load. The archive is a *docker archive* (a
//! `manifest.json` beside the layers). Docker before version 25 needs this format. At the same time, the archive is
//! an OCI layout. The build is deterministic: equal files give equal bytes, and so an equal image id on every
//! machine.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A builder of an image: its files and its config.
///
/// ```
/// use windlass_executor::image::build::ImageBuilder;
///
/// let build = || ImageBuilder::new("demo:1").file("bin/hello", 0o755, *b"#!/bin/sh\necho hello\n").env("A", "1").build();
/// assert_eq!(build()?.id(), build()?.id());
/// # Ok::<(), windlass_executor::image::build::BuildError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "an image is made by `build`"]
pub struct ImageBuilder {
    name: String,
    architecture: String,
    entries: BTreeMap<String, Entry>,
    env: BTreeMap<String, String>,
    entrypoint: Vec<String>,
    cmd: Vec<String>,
    user: Option<String>,
    working_dir: Option<String>,
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
enum Entry {
    Folder { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link { target: PathBuf },
}

/// A built image, as one archive.
#[derive(Clone)]
pub struct BuiltImage {
    id: String,
    name: String,
    archive: Vec<u8>,
}

/// An error of an image build.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A file or folder can't be read.
    #[error("can't read `{}`: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A path is not valid inside an image.
    #[error("`{path}` is no path inside an image: it must be relative and without `..`")]
    Path {
        /// The path as given.
        path: String,
    },
    /// The archive could not be written.
    #[error("can't write `{path}` into the image: {source}")]
    Write {
        /// The entry that was being written.
        path: String,
        /// The error of the library that writes the archive.
        source: io::Error,
    },
    /// The builder runs a program of the host to find the files that the image needs. This program failed.
    #[error("`{command}` failed: {problem}")]
    Tool {
        /// The program and its arguments.
        command: String,
        /// The problem, with the program's error text.
        problem: String,
    },
}

impl ImageBuilder {
    /// Creates a builder of an empty image with this name, for the processor architecture of this program.
    pub fn new(name: impl Into<String>) -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            name: name.into(),
            architecture: architecture.to_owned(),
            entries: BTreeMap::new(),
            env: BTreeMap::new(),
            entrypoint: Vec::new(),
            cmd: Vec::new(),
            user: None,
            working_dir: None,
            labels: BTreeMap::new(),
        }
    }

    /// Adds a file. The path is relative to the root of the image. Missing parent folders get mode 755.
    pub fn file(mut self, path: impl Into<String>, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        self.entries.insert(path.into(), Entry::File { mode, content: content.into() });
        self
    }

    /// Adds a folder to the image.
    pub fn folder(mut self, path: impl Into<String>, mode: u32) -> Self {
        self.entries.insert(path.into(), Entry::Folder { mode });
        self
    }

    /// Adds a symbolic link.
    pub fn link(mut self, path: impl Into<String>, target: impl Into<PathBuf>) -> Self {
        self.entries.insert(path.into(), Entry::Link { target: target.into() });
        self
    }

    /// Adds the content of a folder of this host to the root of the image.
    ///
    /// # Errors
    /// [`BuildError::Read`] when a file or folder can't be read.
    pub fn tree(mut self, folder: &Path) -> Result<Self, BuildError> {
        let mut folders = vec![(folder.to_owned(), String::new())];
        while let Some((folder, inside)) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(reading(&folder))? {
                let path = entry.map_err(reading(&folder))?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let place = if inside.is_empty() { name } else { format!("{inside}/{name}") };
                if self.add(&place, &path)? {
                    folders.push((path, place));
                }
            }
        }
        Ok(self)
    }

    /// Adds files of this host at the same paths in the image. Also adds the shared libraries of each program
    /// (as `ldd` lists them), and the target of each link.
    ///
    /// # Errors
    /// [`BuildError::Read`] when a file can't be read, or [`BuildError::Tool`] when `ldd` can't be run.
    pub fn host_files<P: AsRef<Path>>(
        mut self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Self, BuildError> {
        let mut waiting: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        while let Some(path) = waiting.pop() {
            let place = path.to_string_lossy().trim_start_matches('/').to_owned();
            if place.is_empty() || self.entries.contains_key(&place) {
                continue;
            }
            self.add(&place, &path)?;
            match self.entries.get(&place) {
                Some(Entry::Link { target }) => {
                    let target = path.parent().unwrap_or(Path::new("/")).join(target);
                    waiting.extend(target.exists().then(|| normal(&target)));
                }
                Some(Entry::File { content, .. }) if content.starts_with(b"\x7fELF") => {
                    waiting.extend(libraries(&path)?);
                }
                _ => {}
            }
        }
        Ok(self)
    }

    /// Adds the files of installed Debian packages, except documentation. Also adds the shared libraries that
    /// these files need.
    ///
    /// # Errors
    /// [`BuildError::Tool`] when a package isn't installed, or [`BuildError::Read`] when a file can't be
    /// read.
    pub fn debian_packages(self, packages: &[&str]) -> Result<Self, BuildError> {
        let listed = output("dpkg", &[&["-L"], packages].concat())?;
        let is_wanted = |path: &&str| {
            let left_out = ["/usr/share/doc", "/usr/share/man", "/usr/share/lintian", "/usr/share/locale"];
            path.starts_with('/') && !left_out.iter().any(|folder| path.starts_with(folder))
        };
        let there = |path: &&str| fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir());
        self.host_files(listed.lines().filter(is_wanted).filter(there))
    }

    /// Adds a static busybox of this host, with a link for each of its programs. Also adds `/tmp`,
    /// `/etc/passwd` and `/etc/group`, which programs expect.
    ///
    /// # Errors
    /// [`BuildError::Read`] or [`BuildError::Tool`] when the busybox can't be read or executed.
    pub fn busybox(mut self, busybox: &Path) -> Result<Self, BuildError> {
        let content = fs::read(busybox).map_err(reading(busybox))?;
        for name in output(&busybox.to_string_lossy(), &["--list"])?.lines() {
            self = self.link(format!("bin/{name}"), "busybox");
        }
        Ok(self
            .file("bin/busybox", 0o755, content)
            .link("usr/bin", "../bin")
            .folder("tmp", 0o1777)
            .file(
                "etc/passwd",
                0o644,
                *b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
            )
            .file("etc/group", 0o644, *b"root:x:0:\nnogroup:x:65534:\n")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin"))
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the entry point of the image.
    pub fn entrypoint<A: Into<String>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        self.entrypoint = words.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the default command of the image.
    pub fn cmd<A: Into<String>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        self.cmd = words.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the user: `uid`, `uid:gid` or a name.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets the working folder.
    pub fn working_dir(mut self, path: impl Into<String>) -> Self {
        self.working_dir = Some(path.into());
        self
    }

    /// Adds a label to the image.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Builds the image.
    ///
    /// # Errors
    /// [`BuildError::Path`] for a path that leads out of the image.
    pub fn build(&self) -> Result<BuiltImage, BuildError> {
        let layer = self.layer()?;
        let config = to_json(&json!({
            "architecture": self.architecture,
            "os": "linux",
            "config": self.config(),
            "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
        }));
        let manifest = to_json(&json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described("application/vnd.oci.image.config.v1+json", &config),
            "layers": [described("application/vnd.oci.image.layer.v1.tar", &layer)],
        }));
        let mut index = described("application/vnd.oci.image.manifest.v1+json", &manifest);
        index["annotations"] =
            json!({"org.opencontainers.image.ref.name": self.name, "io.containerd.image.name": self.name});
        let index = to_json(&json!({"schemaVersion": 2, "manifests": [index]}));
        let docker = json!([{"Config": blob(&config), "RepoTags": [self.name], "Layers": [blob(&layer)]}]);
        let mut archive = tar::Builder::new(Vec::new());
        for (path, content) in [
            ("oci-layout".to_owned(), &br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
            (blob(&config), &config),
            (blob(&layer), &layer),
            (blob(&manifest), &manifest),
            ("index.json".to_owned(), &index),
            ("manifest.json".to_owned(), &to_json(&docker)),
        ] {
            append(&mut archive, &path, 0o644, content)?;
        }
        let archive = archive.into_inner().map_err(writing("the end"))?;
        Ok(BuiltImage { id: digest(&config), name: self.name.clone(), archive })
    }

    fn config(&self) -> Value {
        let env: Vec<_> = self.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut config = json!({"Env": env});
        let list = |words: &[String]| (!words.is_empty()).then(|| json!(words));
        for (key, value) in [
            ("Entrypoint", list(&self.entrypoint)),
            ("Cmd", list(&self.cmd)),
            ("User", self.user.as_ref().map(|user| json!(user))),
            ("WorkingDir", self.working_dir.as_ref().map(|path| json!(path))),
            ("Labels", (!self.labels.is_empty()).then(|| json!(self.labels))),
        ] {
            if let Some(value) = value {
                config[key] = value;
            }
        }
        config
    }

    fn layer(&self) -> Result<Vec<u8>, BuildError> {
        let mut layer = tar::Builder::new(Vec::new());
        for (path, entry) in self.whole()? {
            match entry {
                Entry::Folder { mode } => {
                    let mut header = header(tar::EntryType::Directory, *mode, 0);
                    layer
                        .append_data(&mut header, format!("{path}/"), io::empty())
                        .map_err(writing(&path))?;
                }
                Entry::File { mode, content } => append(&mut layer, &path, *mode, content)?,
                Entry::Link { target } => {
                    let mut header = header(tar::EntryType::Symlink, 0o777, 0);
                    layer.append_link(&mut header, &path, target).map_err(writing(&path))?;
                }
            }
        }
        layer.into_inner().map_err(writing("the end"))
    }

    /// Returns all entries, and the parent folders that the caller did not add. Each folder comes before its
    /// content.
    fn whole(&self) -> Result<BTreeMap<String, &Entry>, BuildError> {
        const ABOVE: &Entry = &Entry::Folder { mode: 0o755 };
        let mut all = BTreeMap::new();
        for (path, entry) in &self.entries {
            let parts = path.split('/');
            if path.is_empty() || parts.clone().any(|part| matches!(part, "" | "." | "..")) {
                return Err(BuildError::Path { path: path.clone() });
            }
            for (at, _) in path.match_indices('/') {
                all.entry(path[..at].to_owned()).or_insert(ABOVE);
            }
            all.insert(path.clone(), entry);
        }
        Ok(all)
    }

    /// Adds one file, folder or link of the host. Returns `true` for a folder.
    fn add(&mut self, place: &str, path: &Path) -> Result<bool, BuildError> {
        let found = fs::symlink_metadata(path).map_err(reading(path))?;
        let mode = found.permissions().mode() & 0o7777;
        let entry = if found.is_dir() {
            Entry::Folder { mode }
        } else if found.is_symlink() {
            Entry::Link { target: fs::read_link(path).map_err(reading(path))? }
        } else if found.is_file() {
            Entry::File { mode, content: fs::read(path).map_err(reading(path))? }
        } else {
            return Ok(false);
        };
        self.entries.insert(place.to_owned(), entry);
        Ok(found.is_dir())
    }
}

impl BuiltImage {
    /// Returns the image's id: the digest of its config (`sha256:…`). The id is the same on every container
    /// engine.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the image's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the archive, for `docker load`, `podman load` and readers of OCI layouts.
    pub fn archive(&self) -> &[u8] {
        &self.archive
    }
}

impl std::fmt::Debug for BuiltImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BuiltImage({}, {}, {} bytes)", self.name, self.id, self.archive.len())
    }
}

fn append(
    archive: &mut tar::Builder<Vec<u8>>,
    path: &str,
    mode: u32,
    content: &[u8],
) -> Result<(), BuildError> {
    let mut header = header(tar::EntryType::Regular, mode, content.len() as u64);
    archive.append_data(&mut header, path, content).map_err(writing(path))
}

/// Creates the header of an archive entry. The entry belongs to root, and has the modification time 0.
fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn blob(bytes: &[u8]) -> String {
    format!("blobs/sha256/{}", hex::encode(Sha256::digest(bytes)))
}

fn described(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest(bytes), "size": bytes.len()})
}

fn to_json(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::Read { path, source }
}

fn writing(path: &str) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::Write { path, source }
}

/// Returns the paths of a program's shared libraries and of its loader.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let mut command = Command::new("ldd");
    let output = command.arg(program).output().map_err(|error| failed("ldd", &error.to_string()))?;
    // For a statically linked program, `ldd` fails and prints no path.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(text.lines().filter_map(path).collect())
}

fn output(program: &str, args: &[&str]) -> Result<String, BuildError> {
    let line = format!("{program} {}", args.join(" "));
    let output =
        Command::new(program).args(args).output().map_err(|error| failed(&line, &error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&line, String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn failed(command: &str, problem: &str) -> BuildError {
    BuildError::Tool { command: command.to_owned(), problem: problem.to_owned() }
}

/// Removes `..` and `.` from a path, without access to the file system.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                parts.pop();
            }
            std::path::Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(archive: &[u8]) -> Vec<String> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap();
        entries.map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
    }

    #[test]
    fn the_same_files_give_the_same_bytes_in_any_order() {
        let one = ImageBuilder::new("a:1").file("b/c", 0o644, *b"x").folder("tmp", 0o1777).build().unwrap();
        let two = ImageBuilder::new("a:1").folder("tmp", 0o1777).file("b/c", 0o644, *b"x").build().unwrap();
        assert_eq!(one.archive(), two.archive());
        let other = ImageBuilder::new("a:1").folder("tmp", 0o1777).file("b/c", 0o600, *b"x").build().unwrap();
        assert_ne!(one.id(), other.id());
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        let image =
            ImageBuilder::new("a:1").file("b-c", 0o644, "").file("b/c/d", 0o644, "").folder("b", 0o700);
        assert_eq!(names(&image.layer().unwrap()), ["b/", "b-c", "b/c/", "b/c/d"]);
    }

    #[test]
    fn the_archive_is_a_docker_archive_and_an_oci_layout() {
        let image = ImageBuilder::new("a:1").file("b", 0o644, "").build().unwrap();
        let names = names(image.archive());
        for name in ["oci-layout", "index.json", "manifest.json"] {
            assert!(names.iter().any(|found| found == name), "{names:?}");
        }
        let config = format!("blobs/sha256/{}", image.id().trim_start_matches("sha256:"));
        assert!(names.contains(&config), "{names:?}");
    }

    #[test]
    fn no_path_leads_out_of_the_image() {
        for path in ["", "/etc/passwd", "../x", "a//b", "a/./b"] {
            let error = ImageBuilder::new("a:1").file(path, 0o644, "").build().unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("`{path}` is no path inside an image")),
                "{error}"
            );
        }
    }
}
