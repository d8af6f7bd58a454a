//! Where the control groups of supervisors are noted down, and how those of dead ones are ended.
//!
//! A supervisor that makes a group writes the place to a file beside its named pipe, before there is a job in it. Whoever
//! opens or tidies the folder of the jobs later, and finds that nobody reads the pipe, ends what is in these groups.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno};

use crate::{
    cgroup::end_all,
    process::layout::{StateDir, digest, entries},
};

/// How the names of these files begin: no pipe's does.
const PREFIX: &str = ".groups-";

/// The name that all groups of jobs of one folder begin with.
pub(crate) fn name_of(state: &Path) -> String {
    format!("windlass-{}", digest(state))
}

/// The file that says where the groups of a supervisor are.
pub(crate) fn note(state: &StateDir, supervisor: &str) -> PathBuf {
    state.control().join(format!("{PREFIX}{supervisor}"))
}

/// Ends and removes the groups of supervisors that are dead.
pub(crate) fn sweep(state: &StateDir) -> io::Result<()> {
    for name in entries(&state.control())? {
        let Some(supervisor) = name.strip_prefix(PREFIX).filter(|name| !lives(state, name)) else { continue };
        let note = note(state, supervisor);
        let folders = match fs::read_to_string(&note) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            folders => folders?,
        };
        for folder in folders.lines().map(Path::new) {
            if is_ours(state, folder) {
                end_all(folder)?;
            }
        }
        let _somebody_else_did = fs::remove_file(note);
    }
    Ok(())
}

/// Whatever is in the file, nothing is ended but what has our name.
fn is_ours(state: &StateDir, folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(&name_of(state.path()))
}

/// A supervisor lives as long as it reads its pipe.
fn lives(state: &StateDir, name: &str) -> bool {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    match File::options().write(true).custom_flags(flags).open(state.control().join(name)) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => Errno::from_io_error(&error) != Some(Errno::NXIO),
    }
}
