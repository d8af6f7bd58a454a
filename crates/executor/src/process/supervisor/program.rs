//! Finds the program of a job, and says why it can't be run.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, CWD, FileType, Mode, OFlags, ResolveFlags, access, openat, openat2},
    io::Errno,
};

use crate::{
    StartFailure,
    process::{layout::JobFolder, record::JobRecord, supervisor::room::Room},
    sandbox::plan::WORK,
};

/// The kernel reads no more of a `#!` line.
const FIRST_LINE: u64 = 255;

/// The files a job sees.
pub(crate) struct View<'a> {
    /// Its working folder, as it sees that itself.
    work: PathBuf,
    /// The root of its file system, if that isn't ours. Links in it lead nowhere else.
    root: Option<&'a OwnedFd>,
}

impl<'a> View<'a> {
    pub(crate) fn of(folder: &JobFolder, room: Option<&'a Room>) -> Self {
        match room {
            None => Self { work: folder.work(), root: None },
            Some(room) => Self { work: PathBuf::from(WORK), root: Some(&room.root) },
        }
    }

    fn open(&self, path: &Path, flags: OFlags) -> Option<File> {
        let (path, flags) = (self.work.join(path), flags | OFlags::CLOEXEC);
        let file = match self.root {
            None => openat(CWD, path, flags, Mode::empty()),
            Some(root) => {
                let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
                openat2(root, path, flags, Mode::empty(), within)
            }
        };
        file.ok().map(File::from)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        Some(rustix::fs::fstat(self.open(path, OFlags::PATH)?).ok()?.st_mode)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.mode(path).is_some_and(|mode| FileType::from_raw_mode(mode).is_file())
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.mode(path).is_some_and(|mode| FileType::from_raw_mode(mode).is_dir())
    }

    fn may_be_run(&self, path: &Path) -> bool {
        match self.root {
            None => access(self.work.join(path), Access::EXEC_OK).is_ok(),
            // All files there are ours, whoever we are there.
            Some(_) => self.mode(path).is_some_and(|mode| mode & 0o100 != 0),
        }
    }
}

/// Finds the file to run, as seen from the working folder: a path stays as the job spells it, so that a script finds the
/// same in `$0`; a name without `/` is looked up in the job's own `PATH`, as `execvp` does.
pub(crate) fn find(view: &View<'_>, record: &JobRecord) -> Result<PathBuf, StartFailure> {
    if record.program.contains('/') {
        return Ok(PathBuf::from(&record.program));
    }
    let candidates = || {
        let path = record.env.get("PATH").map_or("", String::as_str);
        let files = path.split(':').map(|dir| view.work.join(dir).join(&record.program));
        files.filter(|file| view.is_file(file))
    };
    candidates()
        .find(|file| view.may_be_run(file))
        .or_else(|| candidates().next())
        .ok_or_else(|| StartFailure::NotFound { program: record.program.clone() })
}

/// Says why a program could not be run, from what the kernel said and what is there.
pub(crate) fn why_not(view: &View<'_>, record: &JobRecord, path: &Path, error: &io::Error) -> StartFailure {
    let program = record.program.clone();
    let not_executable =
        |why: &str| StartFailure::NotExecutable { program: program.clone(), why: why.to_owned() };
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => match missing_interpreter(view, path) {
            Some(interpreter) => StartFailure::InterpreterNotFound { program, interpreter },
            None => StartFailure::NotFound { program },
        },
        Some(Errno::ACCESS) if view.is_folder(path) => not_executable("it is a folder"),
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
fn missing_interpreter(view: &View<'_>, path: &Path) -> Option<String> {
    if !view.is_file(path) {
        return None;
    }
    let mut start = Vec::new();
    view.open(path, OFlags::RDONLY)?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    match interpreter(&start) {
        Some(named) if view.mode(Path::new(&named)).is_some() => Some(format!("{named} (or what it needs)")),
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
