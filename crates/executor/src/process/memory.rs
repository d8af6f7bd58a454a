//! Storage in memory for short output of jobs. Output may hold secrets, which should not reach the disk.
//!
//! ```text
//! /dev/shm/windlass-<user>/<device>-<inode>-<digest of the path of the jobs folder>/<supervisor>-<number>
//! ```
//!
//! `<user>` is a user id, and `<supervisor>` is a process id. `<device>` and `<inode>` are the device number and the
//! inode number of the jobs folder.
//!
//! Each stream in memory is one file. The job's folder contains a symbolic link to this file. So code that reads a
//! stream opens the same path for a stream in memory and for a stream on disk. A stream moves to the disk if the
//! stream becomes too long, or if the memory is full. When the supervisor exits, it moves the output of all ended jobs
//! to the disk, because memory is lost at a reboot. A file without a link belongs to a removed job.
//!
//! The name of the folder in memory contains the digest and the two numbers. The digest alone, or the numbers
//! alone, would not identify the jobs folder:
//!
//! - Two containers that share `/dev/shm` may each have a jobs folder with the same path, and so with the same digest.
//! - If a jobs folder was removed, a new jobs folder may get the same numbers.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Seek},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink},
    path::{Component, Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{OFlags, statfs},
    process::geteuid,
};

use crate::{
    Stream,
    process::{
        layout::{JobFolder, StateDir, digest, entries},
        record::create,
    },
};

/// The host's folder whose files are in memory.
const ROOT: &str = "/dev/shm";

/// Magic number of a tmpfs, a file system in memory.
const TMPFS: u64 = 0x0102_1994;

/// Maximum length in bytes of a stream that is kept in memory.
pub(crate) const FITS: u64 = 1 << 20;

const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

/// The storage in memory for one jobs folder.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    /// Folder below `/dev/shm` for the output. `None` if `/dev/shm` is not in memory, or if the jobs folder itself is
    /// in memory or can't be read.
    folder: Option<PathBuf>,
}

/// A file in memory. A symbolic link in the folder of a job refers to the file.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    pub(crate) file: File,
    target: PathBuf,
}

impl Memory {
    pub(crate) fn of(state: &StateDir) -> Self {
        let is_tmpfs = |path: &Path| statfs(path).is_ok_and(|found| u64::try_from(found.f_type) == Ok(TMPFS));
        let folder = fs::metadata(state.path())
            .ok()
            .map(|found| of_user().join(format!("{}-{}-{}", found.dev(), found.ino(), digest(state.path()))));
        Self { folder: folder.filter(|_| is_tmpfs(Path::new(ROOT)) && !is_tmpfs(state.path())) }
    }

    /// Creates a file in memory, and a symbolic link to this file. `link` is the path of the symbolic link.
    /// Returns `None` if the creation fails.
    pub(crate) fn create(&self, link: &Path) -> Option<MemoryFile> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = self.folder.as_ref()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let target = folder.join(format!("{}-{number}", std::process::id()));
        make(folder).ok()?;
        // The link is created first, since other processes remove a file without a link.
        symlink(&target, link).ok()?;
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600).custom_flags(no_link);
        let Ok(file) = options.open(&target) else {
            let _gone = fs::remove_file(link);
            return None;
        };
        Some(MemoryFile { file, target })
    }

    /// Moves the output of a job from memory to the disk.
    pub(crate) fn settle(job: &JobFolder) -> io::Result<()> {
        for link in STREAMS.map(|stream| job.spill(stream)) {
            if let Some(target) = target(&link) {
                let mut file = MemoryFile { file: File::open(&target)?, target };
                let length = file.file.metadata()?.len();
                file.move_to_disk(&link, length)?;
            }
        }
        Ok(())
    }

    /// Removes the output of a job from `/dev/shm`. The output may be in a folder other than `self.folder`, for
    /// example if the jobs folder was moved after the job had written the output. In this case, the function
    /// also removes this other folder if it is empty.
    pub(crate) fn forget(&self, job: &JobFolder) {
        for target in STREAMS.iter().filter_map(|stream| target(&job.spill(*stream))) {
            let _gone = fs::remove_file(&target);
            let former = target.parent().filter(|folder| Some(*folder) != self.folder.as_deref());
            let _in_use = former.map(fs::remove_dir);
        }
    }

    /// Deletes the files of removed jobs from `self.folder`. A file belongs to a removed job if no job's folder
    /// contains a symbolic link to the file. If `self.folder` is empty afterwards, the function removes this folder,
    /// too.
    pub(crate) fn sweep(&self, state: &StateDir) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        // The symbolic link in the job's folder is created before the file. If a listed file has no link, its
        // job was therefore removed. When a job is removed, its folder moves from the jobs folder to the
        // staging folder. If the staging folder were searched first, a folder that moves between the two
        // searches would not be found.
        let files = entries(folder)?;
        if !files.is_empty() {
            let mut jobs: Vec<PathBuf> =
                state.jobs()?.iter().map(|id| state.job(id).path().to_owned()).collect();
            let mut linked = linked(&jobs);
            let owners = entries(&state.staging())?.into_iter().map(|owner| state.staging().join(owner));
            jobs = owners.flat_map(|owner| below(&owner)).collect();
            linked.extend(self::linked(&jobs));
            for file in files.into_iter().map(|name| folder.join(name)).filter(|file| !linked.contains(file))
            {
                let _gone = fs::remove_file(file);
            }
        }
        self.leave();
        Ok(())
    }

    /// Removes `self.folder` if it is empty. Then removes its parent `/dev/shm/windlass-<user>` if that is empty, too.
    pub(crate) fn leave(&self) {
        let folders = self.folder.iter().flat_map(|folder| folder.ancestors().take(2));
        let _in_use = folders.map(fs::remove_dir).all(|removed| removed.is_ok());
    }
}

/// Returns the folder in memory for the job output of the current user: `/dev/shm/windlass-<user>`.
fn of_user() -> PathBuf {
    Path::new(ROOT).join(format!("windlass-{}", geteuid().as_raw()))
}

/// Reads the symbolic links in the job folders `jobs`. Returns those targets that are files in memory.
fn linked(jobs: &[PathBuf]) -> BTreeSet<PathBuf> {
    let links = jobs.iter().flat_map(|job| STREAMS.map(|stream| JobFolder::at(job.clone()).spill(stream)));
    links.filter_map(|link| target(&link)).collect()
}

/// Reads the symbolic link `link`, and returns its target. Returns `None` if `link` is no symbolic link, or if the
/// target does not have the form of an output file in memory: `/dev/shm/windlass-<user>/<folder>/<file>`.
fn target(link: &Path) -> Option<PathBuf> {
    let target = fs::read_link(link).ok()?;
    let is_ours = target.parent().and_then(Path::parent) == Some(&of_user());
    let is_plain = target.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    (is_ours && is_plain).then_some(target)
}

impl MemoryFile {
    /// Copies the first `length` bytes of the file in memory to a new file on disk. The new file replaces the
    /// symbolic link `link`, and the file in memory is removed. Returns the new file, positioned at its end.
    pub(crate) fn move_to_disk(&mut self, link: &Path, length: u64) -> io::Result<File> {
        let fresh = link.with_extension("moved");
        let copied = self.file.rewind().and_then(|()| create(&fresh, 0o600)).and_then(|mut disk| {
            io::copy(&mut io::Read::take(&self.file, length), &mut disk)?;
            fs::rename(&fresh, link)?;
            Ok(disk)
        });
        match &copied {
            Ok(_) => drop(fs::remove_file(&self.target)),
            Err(_) => drop(fs::remove_file(&fresh)),
        }
        copied
    }
}

/// Opens the file of a stream, even if the stream is being moved to the disk at this moment.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    match File::open(path) {
        // The kernel read the link before the link was replaced, and looked for its target afterwards.
        Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_ok() => {
            File::open(path)
        }
        opened => opened,
    }
}

/// Creates a folder and its parent, if they do not exist. Only the current user can access the two folders. Returns
/// an error if an existing folder belongs to another user, or if other users can access it. Such a folder may exist,
/// because all users can write to `/dev/shm`.
fn make(folder: &Path) -> io::Result<()> {
    for path in folder.parent().into_iter().chain([folder]) {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = path.symlink_metadata()?;
        if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(io::Error::other("another user owns it"));
        }
    }
    Ok(())
}

fn below(folder: &Path) -> Vec<PathBuf> {
    entries(folder).unwrap_or_default().into_iter().map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_job_has_in_memory_goes_with_it_also_where_its_state_was_made_anew() {
        let (one, other, job) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let memory = Memory::of(&StateDir::new(one.path().to_owned()));
        let job = JobFolder::at(job.path().to_owned());
        let Some(MemoryFile { target, .. }) = memory.create(&job.spill(Stream::Stdout)) else { return };
        Memory::of(&StateDir::new(other.path().to_owned())).forget(&job);
        assert!(!target.exists() && !target.parent().unwrap().exists());
    }

    #[test]
    fn whoever_still_works_where_a_folder_was_leaves_the_next_with_its_number_alone() {
        let place = tempfile::tempdir().unwrap();
        let [former, next] = ["former", "next"].map(|name| StateDir::new(place.path().join(name)));
        fs::create_dir(former.path()).unwrap();
        let late = Memory::of(&former);
        fs::rename(former.path(), next.path()).unwrap();
        let job = next.job(&"job".parse().unwrap());
        fs::create_dir_all(job.path()).unwrap();
        let memory = Memory::of(&next);
        let Some(MemoryFile { target, .. }) = memory.create(&job.spill(Stream::Stdout)) else { return };
        late.sweep(&former).unwrap();
        assert!(target.exists());
        memory.forget(&job);
        memory.leave();
    }

    #[test]
    fn a_link_elsewhere_is_left_alone() {
        let job = tempfile::tempdir().unwrap();
        let job = JobFolder::at(job.path().to_owned());
        let file = job.path().join("file");
        fs::write(&file, "").unwrap();
        let link = job.spill(Stream::Stdout);
        let around = of_user().join("..").join(file.file_name().unwrap());
        for target in [&file, &around] {
            symlink(target, &link).unwrap();
            assert_eq!(super::target(&link), None);
            fs::remove_file(&link).unwrap();
        }
    }
}
