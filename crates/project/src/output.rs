//! Writing files that the user names. A regular file is replaced atomically. Files of other kinds are never
//! replaced.
//!
//! The content is first written to a draft: a temporary file in the same folder. When the draft is flushed to
//! disk, it is renamed and so replaces the regular file. A device, a pipe or the target of a dangling link is
//! written directly. A killed program leaves at most a draft. The next write to the same folder removes this
//! draft.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::{NamedTempFile, TempPath};

/// Prefix and suffix of draft names, with six random characters between them.
const DRAFT: (&str, &str) = (".windlass-", ".new");

/// Writes a file. A new file gets the permissions `mode` minus the umask; a replaced file keeps its
/// permissions.
///
/// If the path is a link, the link stays, and its target is replaced.
///
/// # Errors
/// Returns an error if the file can't be written, or if the file is a pipe that no program reads. After an error, a
/// regular file has its old content or the complete new content.
pub fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {
            let path = path.canonicalize()?;
            let permissions = Permissions::from_mode(metadata.mode() & 0o7777);
            Draft::new(&path, content, Mode::Exact(permissions))?.replace(&path)
        }
        Ok(_) => write_to(path, content),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if path.is_symlink() {
                return write_through(path, content, mode);
            }
            Draft::new(path, content, Mode::LessUmask(mode))?.replace(path)
        }
        Err(error) => Err(error),
    }
}

/// The permissions of a file.
#[derive(Debug, Clone)]
pub enum Mode {
    /// These bits minus the umask of the process.
    LessUmask(u32),
    /// Exactly the given permissions.
    Exact(Permissions),
}

/// A temporary file in the folder of its target, with the complete new content, flushed to disk.
#[derive(Debug)]
pub struct Draft {
    path: TempPath,
    /// Locked while the draft is in use.
    file: File,
}

impl Draft {
    /// Writes `content` to a new draft for the file `target`, and flushes the draft to disk. A draft is a temporary
    /// file in the folder of `target`.
    ///
    /// # Errors
    /// Returns an error if the draft can't be written.
    pub fn new(target: &Path, content: &[u8], mode: Mode) -> io::Result<Self> {
        let folder = folder_of(target);
        sweep(folder);
        let (first, last) = match mode {
            Mode::LessUmask(mode) => (mode, None),
            Mode::Exact(permissions) => (0o600, Some(permissions)),
        };
        let mut draft = locked(folder, first)?;
        draft.write_all(content)?;
        if let Some(permissions) = last {
            draft.as_file().set_permissions(permissions)?;
        }
        draft.as_file().sync_all()?;
        let (file, path) = draft.into_parts();
        Ok(Self { path, file })
    }

    /// Replaces the target by the draft.
    ///
    /// # Errors
    /// Returns an error if the draft can't be renamed, or if its folder can't be flushed to disk.
    pub fn replace(self, target: &Path) -> io::Result<()> {
        let Self { path, file } = self;
        path.persist(target).map_err(|error| error.error)?;
        drop(file);
        sync_folder(target)
    }

    /// Returns the path of the draft.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the draft to the target, which must not exist.
    ///
    /// # Errors
    /// Returns an error if the target exists, if the draft can't be renamed, or if its folder can't be flushed to disk.
    pub fn name(self, target: &Path) -> io::Result<()> {
        let Self { path, file } = self;
        path.persist_noclobber(target).map_err(|error| error.error)?;
        drop(file);
        sync_folder(target)
    }
}

/// Flushes the folder of the target to disk, so that a new file name in this folder is durable.
///
/// # Errors
/// Returns an error if the folder can't be opened or flushed.
pub fn sync_folder(target: &Path) -> io::Result<()> {
    File::open(folder_of(target))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates an empty draft, which is a temporary file in `folder`, and locks it. If another program removes the
/// draft before the lock, the function creates another draft.
fn locked(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    loop {
        let mut draft = tempfile::Builder::new();
        draft.prefix(DRAFT.0).suffix(DRAFT.1).permissions(Permissions::from_mode(mode));
        let draft = draft.tempfile_in(folder)?;
        draft.as_file().lock()?;
        if draft.as_file().metadata()?.nlink() > 0 {
            return Ok(draft);
        }
    }
}

/// Removes drafts that no running program uses. Files that can't be removed stay.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_draft = |name: &str| name.starts_with(DRAFT.0) && name.ends_with(DRAFT.1);
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let drafts = names.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_draft));
    for path in drafts.filter(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())) {
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock() {
            Ok(()) => drop(fs::remove_file(&path)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

/// Writes to an existing path that is not a regular file.
fn write_to(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.metadata()?.file_type().is_fifo() {
        return write_to_pipe(path, content);
    }
    OpenOptions::new().write(true).open(path)?.write_all(content)
}

/// Writes to a pipe, without waiting for a reader.
fn write_to_pipe(path: &Path, content: &[u8]) -> io::Result<()> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let pipe = OpenOptions::new().write(true).custom_flags(nonblocking).open(path);
    let mut pipe = pipe.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
            io::Error::other("it is a pipe without a reader")
        }
        _ => error,
    })?;
    let flags = rustix::fs::fcntl_getfl(&pipe)?;
    rustix::fs::fcntl_setfl(&pipe, flags - rustix::fs::OFlags::NONBLOCK)?;
    pipe.write_all(content)
}

/// Writes to the target of a dangling link.
fn write_through(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn drafts(folder: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.display().to_string().ends_with(DRAFT.1)).collect()
    }

    #[test]
    fn a_file_is_replaced_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan");
        write(&path, b"one", 0o600).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), path.metadata().unwrap().mode() & 0o777),
            (b"one".into(), 0o600)
        );
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&path, b"two", 0o600).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), path.metadata().unwrap().mode() & 0o777),
            (b"two".into(), 0o640)
        );
        assert_eq!(drafts(folder.path()), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "old").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("new", at("dangling")).unwrap();
        for (link, file) in [("link", "file"), ("dangling", "new")] {
            write(&at(link), b"content", 0o666).unwrap();
            assert!(at(link).is_symlink());
            assert_eq!(fs::read(at(file)).unwrap(), b"content");
        }
    }

    /// The test uses a link to a device, because only a privileged user can create a device.
    #[test]
    fn a_device_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("null");
        symlink("/dev/null", &link).unwrap();
        for path in [Path::new("/dev/null"), &link] {
            write(path, b"content", 0o666).unwrap();
            assert!(path.metadata().unwrap().file_type().is_char_device());
        }
        assert!(link.is_symlink());
        assert_eq!(write(folder.path(), b"content", 0o666).unwrap_err().kind(), ErrorKind::IsADirectory);
    }

    #[test]
    fn a_pipe_is_written_to_unless_nobody_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let error = write(&path, b"content", 0o666).unwrap_err();
        assert_eq!(error.to_string(), "it is a pipe without a reader");
        let long = vec![b'x'; 1 << 20];
        let reader = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut read = Vec::new();
                File::open(path).unwrap().read_to_end(&mut read).map(|_| read)
            }
        });
        // Retry until the reader has opened the pipe.
        while let Err(error) = write(&path, &long, 0o666) {
            assert_eq!(error.to_string(), "it is a pipe without a reader");
            std::thread::yield_now();
        }
        assert_eq!(reader.join().unwrap().unwrap(), long);
        assert!(path.metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_draft_of_the_dead_is_swept_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan");
        fs::write(folder.path().join(".windlass-abcdef.new"), "half").unwrap();
        let in_use = Draft::new(&path, b"mine", Mode::LessUmask(0o600)).unwrap();
        write(&path, b"other", 0o600).unwrap();
        assert_eq!(drafts(folder.path()), [in_use.path.to_path_buf()]);
        assert_eq!(in_use.name(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap(), drafts(folder.path())), (b"other".into(), vec![]));
    }
}
