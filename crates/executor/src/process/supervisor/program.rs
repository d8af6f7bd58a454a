//! Finds the program of a job, and says why it can't be run.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access},
    io::Errno,
};

use crate::{
    StartFailure,
    process::{layout::JobFolder, record::JobRecord},
};

/// The kernel reads no more of a `#!` line.
const FIRST_LINE: u64 = 255;

/// Finds the file to run, as seen from the working folder: a path stays as the job spells it, so that a script finds the
/// same in `$0`; a name without `/` is looked up in the job's own `PATH`, as `execvp` does.
pub(crate) fn find(folder: &JobFolder, record: &JobRecord) -> Result<PathBuf, StartFailure> {
    let work = folder.work();
    if record.program.contains('/') {
        return Ok(PathBuf::from(&record.program));
    }
    let candidates = || {
        let path = record.env.get("PATH").map_or("", String::as_str);
        path.split(':').map(|dir| work.join(dir).join(&record.program)).filter(|file| file.is_file())
    };
    candidates()
        .find(|file| access(file, Access::EXEC_OK).is_ok())
        .or_else(|| candidates().next())
        .ok_or_else(|| StartFailure::NotFound { program: record.program.clone() })
}

/// Says why a program could not be run, from what the kernel said and what is there.
pub(crate) fn why_not(
    folder: &JobFolder,
    record: &JobRecord,
    path: &Path,
    error: &io::Error,
) -> StartFailure {
    let (program, work) = (record.program.clone(), folder.work());
    let path = work.join(path);
    let not_executable =
        |why: &str| StartFailure::NotExecutable { program: program.clone(), why: why.to_owned() };
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => match missing_interpreter(&work, &path) {
            Some(interpreter) => StartFailure::InterpreterNotFound { program, interpreter },
            None => StartFailure::NotFound { program },
        },
        Some(Errno::ACCESS) if path.is_dir() => not_executable("it is a folder"),
        Some(Errno::ACCESS | Errno::PERM) => not_executable("permission denied (is its mode executable?)"),
        Some(Errno::NOEXEC) => {
            not_executable("it is neither a program for this host nor a script with a `#!` line")
        }
        Some(Errno::TXTBSY) => not_executable("it is being written"),
        Some(Errno::TOOBIG) => {
            StartFailure::Other("arguments and environment are too long for the host".to_owned())
        }
        _ => StartFailure::Other(error.to_string()),
    }
}

/// Names the interpreter of a program that is there itself: a script's `#!`, else the loader of a binary.
fn missing_interpreter(work: &Path, path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut start = Vec::new();
    File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    match interpreter(&start) {
        Some(named) if work.join(&named).exists() => Some(format!("{named} (or what it needs)")),
        Some(named) => Some(named),
        None => Some("its dynamic loader".to_owned()),
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
}
