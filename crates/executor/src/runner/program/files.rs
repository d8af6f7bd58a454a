//! Creates, collects and removes the folders and files of a job.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::{
    folder_content::{self, Unlisted},
    output_file::{self, Unopened},
    protocol::{OutputSpec, OutputState},
    sys,
};

/// Maximum length in bytes of a stdin that is kept in memory.
const SHORT: u64 = 64 * 1024;

/// The folders of one job. `root` contains the working folder `work`, and the folder `tmp` for temporary files.
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

    /// Creates an unnamed file for `length` bytes of stdin. The folder of the job may be kept for long, and
    /// stdin may hold secrets. So the file has no name by which it could be found there.
    pub(crate) fn stdin(&self, length: u64) -> io::Result<File> {
        if length <= SHORT {
            return sys::memory_file();
        }
        let path = self.root.join("stdin");
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
    }

    /// Creates `root`, `work` and `tmp` with the mode 0700. A folder that exists already is not an error.
    pub(crate) fn make(&self) -> io::Result<()> {
        for folder in [&self.root, &self.work(), &self.tmp()] {
            make_folder(folder)?;
        }
        Ok(())
    }

    /// Creates a file in the working folder, with its parent folders. The function refuses a path that leads out of
    /// the working folder, so a mistake in one job harms no other job. This check is not a protection against the
    /// owner (the process that submits the jobs), who may do anything in this container.
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

/// Removes a folder with all its content, even if the job has made subfolders unwritable.
pub(crate) fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        make_writable(folder);
        let _gone_or_not_ours = fs::remove_dir_all(folder);
    }
}

/// Removes everything in a folder, but not the folder itself.
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

/// Creates the folder of an output, if the output is a folder.
pub(crate) fn make_output(work: &Path, request: &OutputSpec) -> io::Result<()> {
    if request.is_folder { make_folder(&work.join(&request.path)) } else { Ok(()) }
}

/// Writes the encoded files of an output folder to an unnamed file. Returns the length of the encoded form,
/// and the file.
fn list(work: &Path, request: &OutputSpec) -> Result<(u64, File), Unlisted> {
    let files = folder_content::read(work, Path::new(&request.path), request.max_bytes)?;
    let bytes = folder_content::encode(&files);
    let mut file = sys::memory_file()?;
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok((bytes.len() as u64, file))
}

/// Checks a requested output. If the state of the output is [`OutputState::Content`], the function also returns an
/// opened file with the content. For a requested folder, this file contains the encoded files of the folder.
pub(crate) fn output(work: &Path, request: &OutputSpec) -> (OutputState, Option<File>) {
    if request.is_folder {
        return match list(work, request) {
            Ok((length, file)) => (OutputState::Content(length), Some(file)),
            Err(Unlisted::Missing) => (OutputState::Missing, None),
            Err(Unlisted::Outside) => (OutputState::Outside, None),
            Err(Unlisted::NotAFolder) => (OutputState::NotAFile, None),
            Err(Unlisted::Unreadable(why)) => (OutputState::Unreadable(why), None),
        };
    }
    match output_file::open(work, Path::new(&request.path), request.max_bytes) {
        Ok((file, length)) => (OutputState::Content(length), Some(file)),
        Err(Unopened::Missing) => (OutputState::Missing, None),
        Err(Unopened::Outside) => (OutputState::Outside, None),
        Err(Unopened::NotAFile) => (OutputState::NotAFile, None),
        Err(Unopened::TooLarge(length)) => (OutputState::TooLarge(length), None),
        Err(Unopened::Unreadable(why)) => (OutputState::Unreadable(why), None),
    }
}
