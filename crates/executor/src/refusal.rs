//! Finds the reason why the kernel refused to run a program. The reason follows from the kernel's error and
//! from the program's file.
//!
//! This source file is part of three programs: the supervisor, and two programs inside containers, which are the runner
//! (`runner/program`) and `docker/init`. `rustc` compiles the two programs inside containers without other crates, so
//! this source file uses the standard library only. The three programs open the files of a job in different ways. So
//! the caller opens the file that the kernel refused to run, and passes the opened file.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
};

/// Maximum number of bytes of a `#!` line that the kernel reads.
const FIRST_LINE: u64 = 255;

/// The error "exec format error", for which the standard library has no name.
const ENOEXEC: i32 = 8;

/// The error (`EDOM`) that a child reports if its limit of open files can't be set. The child does not report the
/// kernel's own error, which would look like an error of the program's file. The error `EDOM` is unambiguous, because
/// no system call of the child returns it.
pub(crate) const OPEN_FILES: i32 = 33;

/// The reason why a program can't be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing exists at the program's path, or a parent of this path is not a folder.
    NotFound,
    /// The program exists, but its interpreter or its dynamic loader does not exist. The text describes the
    /// missing file.
    InterpreterNotFound(String),
    /// The program exists, but it can't be executed, for this reason.
    NotExecutable(&'static str),
    /// Any other reason, such as `Input/output error (os error 5)`.
    Other(String),
}

/// The kind of file at the path of a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There is no file, or the file can't be opened or read.
    Nothing,
    Folder,
    /// A file, with its first [`FIRST_LINE`] bytes.
    File(Vec<u8>),
}

impl Found {
    /// Finds out what kind of file is at the path of a program. `is_folder` tells whether the path is a folder. `file`
    /// is the opened file at this path; `None` if no file exists there, or if the file can't be opened. The function
    /// reads the first bytes of `file`.
    pub(crate) fn new(is_folder: bool, file: Option<File>) -> Self {
        if is_folder {
            return Self::Folder;
        }
        let mut start = Vec::new();
        match file.map(|file| file.take(FIRST_LINE).read_to_end(&mut start)) {
            Some(Ok(_)) => Self::File(start),
            _ => Self::Nothing,
        }
    }
}

/// Finds the reason why the kernel refused to run a program. `error` is the kernel's error. `found` describes the
/// path of the program. `exists` tells whether a path exists in the job's file system. The function calls `exists`
/// only with the interpreter from the `#!` line of a script.
pub(crate) fn refusal(error: &io::Error, found: Found, exists: impl FnOnce(&str) -> bool) -> Refusal {
    match (error.kind(), found) {
        (ErrorKind::NotFound | ErrorKind::NotADirectory, Found::File(start)) => {
            Refusal::InterpreterNotFound(match interpreter(&start) {
                Some(named) if exists(&named) => format!("{named} (or what it needs)"),
                Some(named) => named,
                None => "its dynamic loader".to_owned(),
            })
        }
        (ErrorKind::NotFound | ErrorKind::NotADirectory, _) => Refusal::NotFound,
        (ErrorKind::PermissionDenied, Found::Folder) => Refusal::NotExecutable("it is a folder"),
        (ErrorKind::PermissionDenied, _) => {
            Refusal::NotExecutable("permission denied (is its mode executable?)")
        }
        (ErrorKind::ExecutableFileBusy, _) => Refusal::NotExecutable("it is being written"),
        (ErrorKind::ArgumentListTooLong, _) => {
            Refusal::Other("arguments and environment are too long for the host".to_owned())
        }
        _ if error.raw_os_error() == Some(ENOEXEC) => {
            Refusal::NotExecutable("it is neither a program for this host nor a script with a `#!` line")
        }
        _ if error.raw_os_error() == Some(OPEN_FILES) => {
            Refusal::Other("its limit of open files can't be set: the host allows fewer".to_owned())
        }
        _ => Refusal::Other(error.to_string()),
    }
}

/// Parses the interpreter from a `#!` line.
fn interpreter(start: &[u8]) -> Option<String> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    // If the line ends with a carriage return, the kernel takes this character as a part of the interpreter's
    // name. The escaped form makes the character visible.
    let named = line.trim_matches([' ', '\t']).split([' ', '\t']).next()?;
    Some(named.escape_debug().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_the_first_word_after_the_mark() {
        for (start, expected) in [
            (&b"#!/bin/sh\necho"[..], Some("/bin/sh")),
            (b"#! /usr/bin/env python3\n", Some("/usr/bin/env")),
            (b"#!/bin/sh\r\n", Some("/bin/sh\\r")),
            (b"#!/bin/sh", Some("/bin/sh")),
            (b"\x7fELF", None),
        ] {
            assert_eq!(interpreter(start).as_deref(), expected, "{start:?}");
        }
    }
    #[test]
    fn what_the_kernel_says_is_told_by_what_is_there() {
        let script = || Found::File(b"#!/bin/none\n".to_vec());
        let interpreter = |name: &str| Refusal::InterpreterNotFound(name.to_owned());
        let permission = Refusal::NotExecutable("permission denied (is its mode executable?)");
        for (error, found, expected) in [
            (2, Found::Nothing, Refusal::NotFound),
            (20, Found::Nothing, Refusal::NotFound),
            (2, script(), interpreter("/bin/none")),
            (2, Found::File(b"#!/bin/sh\n".to_vec()), interpreter("/bin/sh (or what it needs)")),
            (2, Found::File(b"\x7fELF".to_vec()), interpreter("its dynamic loader")),
            (13, Found::Folder, Refusal::NotExecutable("it is a folder")),
            (13, script(), permission),
            (26, script(), Refusal::NotExecutable("it is being written")),
            (
                8,
                script(),
                Refusal::NotExecutable("it is neither a program for this host nor a script with a `#!` line"),
            ),
            (7, script(), Refusal::Other("arguments and environment are too long for the host".to_owned())),
            (5, script(), Refusal::Other("Input/output error (os error 5)".to_owned())),
        ] {
            let found = refusal(&io::Error::from_raw_os_error(error), found, |name| name == "/bin/sh");
            assert_eq!(found, expected, "{error}");
        }
    }
}
