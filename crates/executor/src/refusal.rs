//! Why a program can't be run, from what the kernel said and what is there.
//!
//! One answer for all who start jobs: the supervisor, and the two programs inside containers, which `rustc` compiles alone
//! with this file among theirs. So it needs the standard library only, and is told what is there by whoever asks, since
//! each of them sees the job's files in another way.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
};

/// The kernel reads no more of a `#!` line.
const FIRST_LINE: u64 = 255;

/// Not a format that the kernel knows; the standard library has no name for it.
const ENOEXEC: i32 = 8;

/// Why a program can't be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is none.
    NotFound,
    /// It is there, and what runs it is not: this interpreter, or its dynamic loader.
    InterpreterNotFound(String),
    /// It is there, and can't be run.
    NotExecutable(&'static str),
    /// All else.
    Other(String),
}

/// What is where a program should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing, or nothing that can be looked at.
    Nothing,
    /// A folder.
    Folder,
    /// A file, with its first [`FIRST_LINE`] bytes.
    File(Vec<u8>),
}

impl Found {
    /// Takes what is there: whether it is a folder, else the file if it is one.
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

/// Says why the kernel has refused to run a program. `exists` tells whether a file is there for the job.
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
        _ => Refusal::Other(error.to_string()),
    }
}

/// Reads the `#!` line.
fn interpreter(start: &[u8]) -> Option<String> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    // A line that ends with a carriage return names an interpreter with one: worth to be shown.
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
            let told = refusal(&io::Error::from_raw_os_error(error), found, |name| name == "/bin/sh");
            assert_eq!(told, expected, "{error}");
        }
    }
}
