//! The processes of a test, according to `/proc`.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A process that [`below`] has found.
#[derive(Debug)]
pub(crate) struct Process {
    pid: i32,
    /// The arguments of the process, separated by blanks.
    pub(crate) command: String,
}

impl Process {
    /// Kills the process, which may have ended already.
    pub(crate) fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Tells whether the arguments or the environment of the process contain a text.
    pub(crate) fn shows(&self, text: &str) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        self.command.contains(text) || String::from_utf8_lossy(&environment).contains(text)
    }

    /// Tells whether the process supervises jobs.
    pub(crate) fn is_supervisor(&self) -> bool {
        self.command.split(' ').nth(1) == Some("windlass-supervise")
    }
}

/// Returns the prefix for a shell command that must not have the rights of root. The test may run as root,
/// which may read everything.
pub(crate) fn plainly() -> &'static str {
    if rustix::process::geteuid().is_root() {
        "setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all"
    } else {
        ""
    }
}

/// Lists the processes that name a folder in their arguments or environment, or run in it. Also lists the
/// supervisors of the folder's jobs, whose arguments and environment do not name the folder.
pub(crate) fn below(folder: &Path) -> Vec<Process> {
    let supervisors = supervisors(folder);
    let numbers =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid| process(pid, folder.as_os_str().as_bytes(), &supervisors)).collect()
}

/// Returns the pids of the supervisors that have a pipe below a folder.
fn supervisors(folder: &Path) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if folder.ends_with(".control") {
            found.extend(
                entry.file_name().to_str().and_then(|name| name.split('-').next()?.parse::<i32>().ok()),
            );
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(supervisors(&entry.path()));
        }
    }
    found
}

fn process(pid: i32, folder: &[u8], supervisors: &[i32]) -> Option<Process> {
    if pid == std::process::id().cast_signed() {
        return None;
    }
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let names = |text: &[u8]| text.windows(folder.len()).any(|window| window == folder);
    let within = || {
        let place = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        names(place.as_os_str().as_bytes())
    };
    let environment = || names(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default());
    // A zombie has neither arguments nor environment. The pid of a killed supervisor may have been reused.
    let supervises = || supervisors.contains(&pid) && arguments.starts_with(b"windlass-supervisor\0");
    (names(&arguments) || environment() || within() || supervises()).then(|| Process {
        pid,
        command: String::from_utf8_lossy(&arguments).trim_end_matches('\0').replace('\0', " "),
    })
}
