//! Tests the reading of files: regular files and inherited pipes, up to a maximum size, without blocking.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_source::files::{MAX_SIZE, ReadError, read, read_from, read_text};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room")
}

/// Creates a named pipe without a writer.
fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().expect("it is there").success());
    path
}

#[test]
fn a_file_is_read_up_to_a_size() {
    let folder = folder();
    let path = folder.path().join("file");
    std::fs::write(&path, "12345").unwrap();
    assert_eq!(read(&path, 5).unwrap(), b"12345");
    assert!(matches!(read(&path, 4), Err(ReadError::TooLarge { limit: 4 })));
    assert_eq!(read(&path, 4).unwrap_err().to_string(), "it has more than 4 bytes");
    std::fs::write(&path, b"\xff").unwrap();
    assert_eq!(read_text(&path, 5).unwrap_err().to_string(), "the text is not UTF-8");
}

#[test]
fn folders_pipes_and_devices_are_not_opened() {
    let folder = folder();
    let why = |path: &Path| read(path, MAX_SIZE).unwrap_err().to_string();
    assert_eq!(why(folder.path()), "it is a folder, and a file is needed");
    assert_eq!(why("/dev/zero".as_ref()), "it is a device, and a regular file is needed");
    assert_eq!(why("/dev/null".as_ref()), "it is a device, and a regular file is needed");
    // The pipe has no writer: a plain open would block forever.
    assert_eq!(why(&pipe(folder.path())), "it is a named pipe, and a regular file is needed");
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    assert_eq!(why(&socket), "it is a socket, and a regular file is needed");
}

#[test]
fn links_are_followed_and_dangling_ones_are_reported() {
    let folder = folder();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    symlink("file", &link).unwrap();
    assert_eq!(read(&link, 9).unwrap_err().to_string(), "it is a link to `file`, which is not there");
    assert!(!read(&link, 9).unwrap_err().is_missing());
    assert!(read(&file, 9).unwrap_err().is_missing());
    std::fs::write(&file, "x").unwrap();
    assert_eq!(read(&link, 9).unwrap(), b"x");
    // A link to a named pipe counts as a named pipe.
    let (pipe, other) = (pipe(folder.path()), folder.path().join("other"));
    symlink(&pipe, &other).unwrap();
    assert!(matches!(read(&other, 9), Err(ReadError::NotAFile("a named pipe"))));
}

#[test]
fn a_pipe_that_the_program_was_started_with_is_read() {
    use std::os::fd::AsRawFd as _;
    let (reader, mut writer) = std::io::pipe().unwrap();
    let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
    writer.write_all(b"from a shell").unwrap();
    // Both ends of the pipe are in this process. The pipe ends when its last writer is dropped.
    drop(writer);
    assert_eq!(read(&path, 99).unwrap(), b"from a shell");
    // Under another name, the same pipe is refused like any other pipe.
    let named = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), reader.as_raw_fd()));
    assert!(matches!(read(&named, 99), Err(ReadError::NotAFile("a named pipe"))));
}

#[test]
fn a_stream_without_end_is_left_at_the_limit() {
    let error = read_from(std::io::repeat(0), 1000).unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { limit: 1000 }), "{error}");
    assert_eq!(read_from(&b"abc"[..], 3).unwrap(), b"abc");
}
