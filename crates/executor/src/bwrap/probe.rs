//! Probes whether sandboxes work on this host, and reports their features.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{bwrap::advice, confine::Confinement};

/// The result of [`probe`]: the features of the sandboxes that this host can create.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sandboxes {
    /// Program that creates sandboxes.
    pub bwrap: PathBuf,
    /// Version that the program prints.
    pub version: String,
    /// Whether the system calls of jobs are filtered; `false` if the kernel can't filter.
    pub seccomp: bool,
}

/// Probes whether a sandbox can be created on this host, by creating one.
///
/// # Errors
/// The reason and the remedy, in one sentence.
pub fn probe(bwrap: &Path) -> Result<Sandboxes, String> {
    let path = find(bwrap).ok_or_else(|| advice::missing(bwrap))?;
    let said = |args: &[&str]| -> io::Result<std::process::Output> {
        Command::new(&path).args(args).stdin(Stdio::null()).output()
    };
    let version = said(&["--version"]).map_err(|error| error.to_string())?;
    let version =
        String::from_utf8_lossy(&version.stdout).trim().trim_start_matches("bubblewrap ").to_owned();
    // The program after `--` never exists. If the error is that this program is missing, then `bwrap` has
    // created the sandbox.
    let sandboxed = ["--unshare-user", "--unshare-pid", "--unshare-net", "--size", "4096", "--tmpfs", "/"];
    let made =
        said(&[&sandboxed[..], &["--", "/windlass-probe"]].concat()).map_err(|error| error.to_string())?;
    let words = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    if words.contains("/windlass-probe") {
        return Ok(Sandboxes { bwrap: path, version, seccomp: Confinement::probe().seccomp });
    }
    Err(advice::unmade(&words))
}

/// Returns the path of a program. A name without `/` is looked up in the system's program folders. Any other path
/// is returned unchanged, if it leads to a file. Returns `None` if there is no such file.
pub(crate) fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    // `PATH` is not used: the environment of the embedding program must not decide which `bwrap` runs.
    let folders = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
    folders.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}
