//! The folders and files of a job: made, brought back, removed.

use std::{
    ffi::CString,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use crate::{
    protocol::{OutputSpec, OutputState},
    sys,
};

/// What a job reads is in memory if it is no longer than this.
const SHORT: u64 = 64 * 1024;

/// Where a job's files are.
#[derive(Clone)]
pub(crate) struct Folders {
    pub(crate) root: PathBuf,
}

impl Folders {
    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Makes a file for what the job reads, of so many bytes, that has no name: the folder may be kept for long, and
    /// secrets need not.
    pub(crate) fn stdin(&self, length: u64) -> io::Result<File> {
        if length <= SHORT {
            return sys::memory_file();
        }
        let path = self.root.join("stdin");
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
    }

    /// Makes the folders.
    pub(crate) fn make(&self) -> io::Result<()> {
        for folder in [&self.root, &self.work(), &self.tmp()] {
            make_folder(folder)?;
        }
        Ok(())
    }

    /// Makes a file of the working folder, with the folders above it. A path that leads out of it is refused: whoever
    /// sends jobs is trusted with this container, but a mistake should not cost more than the job.
    pub(crate) fn place(&self, path: &str, mode: u32) -> io::Result<File> {
        if path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(io::Error::other(format!("`{path}` is no path inside the working folder")));
        }
        let path = self.work().join(path);
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        file.set_permissions(Permissions::from_mode(mode & 0o777))?;
        Ok(file)
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(folder)
}

/// Removes a folder with everything in it, also what a job made unwritable for itself.
pub(crate) fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        make_writable(folder);
        let _gone_or_not_ours = fs::remove_dir_all(folder);
    }
}

/// Removes everything in a folder, which itself stays.
pub(crate) fn scrub(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if fs::remove_file(entry.path()).is_err() {
            remove(&entry.path());
        }
    }
}

fn make_writable(folder: &Path) {
    let _not_ours = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

/// Looks at an output, and opens it if it is one.
pub(crate) fn output(work: &Path, request: &OutputSpec) -> (OutputState, Option<File>) {
    match open(work, &request.path) {
        Ok(file) => match file.metadata() {
            Ok(found) if !found.is_file() => (OutputState::NotAFile, None),
            Ok(found) if found.len() > request.max_bytes => (OutputState::TooLarge(found.len()), None),
            Ok(found) => (OutputState::Content(found.len()), Some(file)),
            Err(error) => (OutputState::Unreadable(error.to_string()), None),
        },
        Err(Refused::NotAFile) => (OutputState::NotAFile, None),
        Err(Refused::Error(error)) => match error.raw_os_error().unwrap_or(0) {
            sys::ENOENT | sys::ENOTDIR => (OutputState::Missing, None),
            sys::EXDEV | sys::ELOOP => (OutputState::Outside, None),
            _ => (OutputState::Unreadable(error.to_string()), None),
        },
    }
}

enum Refused {
    NotAFile,
    Error(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}

fn open(work: &Path, path: &str) -> Result<File, Refused> {
    let folder = File::open(work)?;
    let name = CString::new(path).map_err(io::Error::other)?;
    // What a device does when it is opened is its own affair, so that it is looked at first.
    let named = match sys::open_below(folder.as_fd(), &name, sys::Open::Named) {
        Err(error) if matches!(error.raw_os_error(), Some(sys::ENOSYS | sys::EPERM)) => {
            return open_resolved(work, path);
        }
        named => named?,
    };
    let seen = fs::metadata(format!("/proc/self/fd/{}", named.as_raw_fd()));
    if !seen.map_or_else(|_| File::from(named).metadata(), Ok)?.is_file() {
        return Err(Refused::NotAFile);
    }
    Ok(File::from(sys::open_below(folder.as_fd(), &name, sys::Open::ForReading)?))
}

/// The same where the kernel, or a filter before it, doesn't know the call: nobody of the job is left who could change
/// a path between the two looks.
fn open_resolved(work: &Path, path: &str) -> Result<File, Refused> {
    let (work, path) = (work.canonicalize()?, work.join(path));
    let is_link_to_the_outside = || fs::read_link(&path).is_ok_and(|target| target.is_absolute());
    let resolved = match path.canonicalize() {
        Err(_) if is_link_to_the_outside() => return Err(io::Error::from_raw_os_error(sys::EXDEV).into()),
        resolved => resolved?,
    };
    if !resolved.starts_with(&work) {
        return Err(io::Error::from_raw_os_error(sys::EXDEV).into());
    }
    if !fs::metadata(&resolved)?.is_file() {
        return Err(Refused::NotAFile);
    }
    Ok(File::open(resolved)?)
}
