//! Records the control groups of supervisors, and ends the groups of dead supervisors.
//!
//! Before a supervisor creates a group, it writes the group's path to a file beside its named pipe. As long as the
//! supervisor lives, it reads the pipe. A program that opens or tidies the jobs folder calls [`sweep`]. If a pipe has
//! no reader, `sweep` kills all processes in the groups of the pipe's supervisor.

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

/// Prefix of the names of the files that list the control groups of supervisors (see [`note`]). The prefix
/// distinguishes these files from the named pipes of supervisors, which are in the same folder.
const PREFIX: &str = ".groups-";

/// Returns the prefix of the names of control groups: `windlass-` and a digest of `state`, the path of a jobs folder.
/// Each supervisor of this jobs folder gives this prefix to the names of its control groups.
pub(crate) fn name_of(state: &Path) -> String {
    format!("windlass-{}", digest(state))
}

/// Returns the path of the file to which a supervisor writes the paths of its control groups. `supervisor` is
/// the name of the supervisor's named pipe.
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

/// Tells whether `folder` is a control group of the jobs folder `state`. The name of such a group begins with the
/// prefix that [`name_of`] returns. [`sweep`] reads the paths of groups from files, and ignores each path for which
/// this function returns `false`.
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
