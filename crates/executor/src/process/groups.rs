//! Records the control groups of supervisors, and ends the groups of dead supervisors.
//!
//! Before a supervisor creates a group, it writes the group's path to a file beside its named pipe. Each
//! process that opens or tidies the jobs folder checks whether the pipe has a reader. If the pipe has no
//! reader, the supervisor is dead, and the process kills all processes in the groups.

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

/// Prefix of the names of the files with the paths of groups. No pipe has a name with this prefix.
const PREFIX: &str = ".groups-";

/// Returns the common prefix of the names of all groups for the jobs of one jobs folder.
pub(crate) fn name_of(state: &Path) -> String {
    format!("windlass-{}", digest(state))
}

/// Returns the file with the paths of a supervisor's groups.
pub(crate) fn note(state: &StateDir, supervisor: &str) -> PathBuf {
    state.control().join(format!("{PREFIX}{supervisor}"))
}

/// Kills the processes in the groups of dead supervisors, and removes these groups.
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

/// Tells whether a group was created for a job of this jobs folder, as the prefix of the group's name shows.
/// Other groups are never killed, even if a file that [`note`] names contains their paths.
fn is_ours(state: &StateDir, folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(&name_of(state.path()))
}

/// Tells whether a supervisor lives. It lives if its pipe has a reader.
fn lives(state: &StateDir, name: &str) -> bool {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    match File::options().write(true).custom_flags(flags).open(state.control().join(name)) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => Errno::from_io_error(&error) != Some(Errno::NXIO),
    }
}
