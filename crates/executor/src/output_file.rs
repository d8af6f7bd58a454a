//! Opens the file of a requested output below the working folder of an ended job.
//!
//! The build script compiles this file also into the programs that run inside containers. These programs have only
//! the standard library. So this file declares the system call `openat2` itself. The constants have the values of Linux
//! on x86-64 and 64-bit Arm, which are the same.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_long},
    fs::{self, File},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    path::Path,
};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

const ENOENT: i32 = 2;
const EPERM: i32 = 1;
const EXDEV: i32 = 18;
const ENOTDIR: i32 = 20;
const ENOSYS: i32 = 38;
const ELOOP: i32 = 40;

const O_NONBLOCK: u64 = 0o4000;
const O_CLOEXEC: u64 = 0o2_000_000;
const O_PATH: u64 = 0o10_000_000;
/// The number of the system call `openat2`. The number is the same on all architectures, because Linux now
/// assigns the number of a new call for all architectures together.
const SYS_OPENAT2: c_long = 437;
const RESOLVE_NO_MAGICLINKS: u64 = 0x02;
const RESOLVE_BENEATH: u64 = 0x08;

/// The reason why the file of an output can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    Missing,
    /// A link leads out of the working folder.
    Outside,
    /// The path names a folder, a device, a pipe or a socket.
    NotAFile,
    /// The file has more bytes than permitted. The number is the length of the file in bytes.
    TooLarge(u64),
    Unreadable(String),
}

impl From<io::Error> for Unopened {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error().unwrap_or(0) {
            ENOENT | ENOTDIR => Self::Missing,
            EXDEV | ELOOP => Self::Outside,
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// Opens the file `path` below the working folder `work`, and returns the file with its length.
///
/// Fails if the file has more than `max_bytes` bytes, if it is no regular file, or if a link in the path leads out of
/// `work`.
pub(crate) fn open(work: &Path, path: &Path, max_bytes: u64) -> Result<(File, u64), Unopened> {
    let opened = match open_below(work, path) {
        Err(Failure::NoSuchCall) => open_resolved(work, path),
        Err(Failure::Unopened(why)) => Err(why),
        Ok(file) => Ok(file),
    };
    let file = opened?;
    let found = file.metadata()?;
    match found.len() {
        _ if !found.is_file() => Err(Unopened::NotAFile),
        length if length > max_bytes => Err(Unopened::TooLarge(length)),
        length => Ok((file, length)),
    }
}

enum Failure {
    /// The kernel or a seccomp filter refuses the system call `openat2`.
    NoSuchCall,
    Unopened(Unopened),
}

/// Opens the file by `openat2`. The kernel ensures that no link leads out of `work`.
fn open_below(work: &Path, path: &Path) -> Result<File, Failure> {
    let unopened = |error: io::Error| Failure::Unopened(error.into());
    let folder = File::open(work).map_err(unopened)?;
    let path =
        CString::new(path.as_os_str().as_encoded_bytes()).map_err(io::Error::other).map_err(unopened)?;
    // Opening a device can have side effects, so the file type is checked before the file is opened.
    let named = openat2(folder.as_fd(), &path, O_PATH).map_err(|error| match error.raw_os_error() {
        Some(ENOSYS | EPERM) => Failure::NoSuchCall,
        _ => unopened(error),
    })?;
    if !File::from(named).metadata().map_err(unopened)?.is_file() {
        return Err(Failure::Unopened(Unopened::NotAFile));
    }
    // A pipe without a writer must not block this process.
    openat2(folder.as_fd(), &path, O_NONBLOCK).map(File::from).map_err(unopened)
}

/// Opens the file without `openat2`, for kernels or seccomp filters that refuse this call. All processes of
/// the job have ended, so no path can change between the check and the use.
fn open_resolved(work: &Path, path: &Path) -> Result<File, Unopened> {
    let (work, path) = (work.canonicalize()?, work.join(path));
    let is_link_to_the_outside = || fs::read_link(&path).is_ok_and(|target| target.is_absolute());
    let resolved = match path.canonicalize() {
        Err(_) if is_link_to_the_outside() => return Err(Unopened::Outside),
        resolved => resolved?,
    };
    if !resolved.starts_with(&work) {
        return Err(Unopened::Outside);
    }
    if !fs::metadata(&resolved)?.is_file() {
        return Err(Unopened::NotAFile);
    }
    Ok(File::open(resolved)?)
}

fn openat2(folder: BorrowedFd<'_>, path: &CStr, flags: u64) -> io::Result<OwnedFd> {
    // `struct open_how`: flags, mode, resolve.
    let how: [u64; 3] = [flags | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS];
    let path: *const c_char = path.as_ptr();
    // SAFETY: the path is a C string, and the struct has the size that is passed.
    let fd = unsafe { syscall(SYS_OPENAT2, folder.as_raw_fd(), path, how.as_ptr(), size_of_val(&how)) };
    match c_int::try_from(fd) {
        // SAFETY: the kernel has just returned this descriptor, and no other value owns it.
        Ok(fd @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn both_ways_to_open_an_output_agree() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join("folder")).unwrap();
        fs::write(dir.path().join("secret"), "no").unwrap();
        fs::write(work.join("file"), "four").unwrap();
        for (target, link) in [
            ("file", "link"),
            ("nowhere", "broken"),
            ("../secret", "up"),
            ("/etc/passwd", "away"),
            ("/no/such/file", "lost"),
            ("loop", "loop"),
        ] {
            symlink(target, work.join(link)).unwrap();
        }
        let _listener = std::os::unix::net::UnixListener::bind(work.join("socket")).unwrap();
        for (path, expected) in [
            ("file", None),
            ("link", None),
            ("folder/../file", None),
            ("missing", Some(Unopened::Missing)),
            ("file/below", Some(Unopened::Missing)),
            ("broken", Some(Unopened::Missing)),
            ("up", Some(Unopened::Outside)),
            ("away", Some(Unopened::Outside)),
            ("lost", Some(Unopened::Outside)),
            ("loop", Some(Unopened::Outside)),
            ("folder", Some(Unopened::NotAFile)),
            ("socket", Some(Unopened::NotAFile)),
        ] {
            let path = Path::new(path);
            let below = match open_below(&work, path) {
                Err(Failure::NoSuchCall) => panic!("this host refuses openat2"),
                Err(Failure::Unopened(why)) => Some(why),
                Ok(_) => None,
            };
            assert_eq!(below, expected, "{path:?}");
            assert_eq!(open_resolved(&work, path).err(), expected, "{path:?}, without openat2");
        }
        let large = open(&work, Path::new("file"), 3).unwrap_err();
        assert_eq!((large, open(&work, Path::new("file"), 4).unwrap().1), (Unopened::TooLarge(4), 4));
    }
}
