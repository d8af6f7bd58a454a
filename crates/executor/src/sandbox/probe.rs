//! Whether sandboxes work on this host, and how well.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{confine::Confinement, sandbox::advice};

/// What sandboxes are on this host, for people who are to rely on them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sandboxes {
    /// The program that makes rooms.
    pub bwrap: PathBuf,
    /// Its version, as it says itself.
    pub version: String,
    /// Whether the system calls of jobs are filtered; else the kernel can't.
    pub seccomp: bool,
}

/// Finds out whether a sandbox can be made on this host, by making one.
///
/// # Errors
/// Why not, and what to do, in one sentence.
pub fn probe(bwrap: &Path) -> Result<Sandboxes, String> {
    let path = find(bwrap).ok_or_else(|| advice::missing(bwrap))?;
    let said = |args: &[&str]| -> io::Result<std::process::Output> {
        Command::new(&path).args(args).stdin(Stdio::null()).output()
    };
    let version = said(&["--version"]).map_err(|error| error.to_string())?;
    let version =
        String::from_utf8_lossy(&version.stdout).trim().trim_start_matches("bubblewrap ").to_owned();
    // What follows `--` is never there: that it is missed is the room's first sign of life.
    let room = ["--unshare-user", "--unshare-pid", "--unshare-net", "--size", "4096", "--tmpfs", "/"];
    let made = said(&[&room[..], &["--", "/windlass-probe"]].concat()).map_err(|error| error.to_string())?;
    let words = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    if words.contains("/windlass-probe") {
        return Ok(Sandboxes { bwrap: path, version, seccomp: Confinement::probe().seccomp });
    }
    Err(advice::unmade(&words))
}

/// Finds a program as a shell does.
pub(crate) fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    // Not the environment of whoever embeds us: it is no matter of taste which `bwrap` is run.
    let folders = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
    folders.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}
