//! Holders of leases, and the check whether a holder is alive.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A running program that holds a lease, or requests one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The host name, for display.
    pub host: String,
    /// The scope in which the pid is unique: one boot of one machine, and one pid namespace. Pids of
    /// different realms can't be compared, for example the pids of two containers with the same host name.
    pub realm: String,
    /// The pid of the program.
    pub pid: u32,
    /// The start time of the program, in a unit of the operating system. windlass uses it to detect a reused pid.
    /// The field is 0 if the system does not report start times.
    pub started: u64,
    /// The command line of the program, for display: `windlass up h_bta`.
    pub command: String,
    /// Whether the holder executes the requests for the assemblies whose leases it holds. The daemon executes these
    /// requests, and other commands do not.
    #[serde(default)]
    pub serves: bool,
}

impl Holder {
    /// Describes this program. `command` is its command line, for display.
    pub fn current(command: impl Into<String>) -> Self {
        let pid = std::process::id();
        Self {
            host: system::host(),
            realm: system::realm(),
            pid,
            started: system::started(pid),
            command: command.into(),
            serves: false,
        }
    }

    /// Sets whether the holder executes the requests for the assemblies whose leases it holds.
    #[must_use]
    pub fn serving(self, serves: bool) -> Self {
        Self { serves, ..self }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (process {} on {})", self.command, self.pid, self.host)
    }
}

/// A source of information about processes of the operating system. A store asks this source whether the program that
/// holds a lease has ended.
pub trait Processes: Send + Sync {
    /// Tells whether the holder has provably ended. If the holder may be alive, returns `false`. The lease of
    /// such a holder becomes free only when it is released or expires.
    fn is_dead(&self, holder: &Holder) -> bool;
}

/// The implementation of [`Processes`] that asks the kernel of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemProcesses;

impl Processes for SystemProcesses {
    fn is_dead(&self, holder: &Holder) -> bool {
        !holder.realm.is_empty()
            && holder.realm == system::realm()
            && system::is_gone(holder.pid, holder.started)
    }
}

/// Detects dead holders on Linux, mainly through `/proc`.
#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    pub(super) fn host() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    /// Returns the boot id and the pid namespace. If `/proc` is missing, returns an empty text. The store then
    /// treats no holder as dead.
    pub(super) fn realm() -> String {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        format!("{} {}", boot.trim(), namespace.display()).trim().to_owned()
    }

    pub(super) fn started(pid: u32) -> u64 {
        stat(pid).map_or(0, |(_, started)| started)
    }

    pub(super) fn is_gone(pid: u32, started: u64) -> bool {
        match stat(pid) {
            Some((state, now)) => matches!(state, 'Z' | 'X' | 'x') || (started != 0 && now != started),
            None => absent(pid),
        }
    }

    /// Tells whether no process has this pid. The check calls `kill` with the signal number 0, which sends no
    /// signal. The check also finds a process that `/proc` hides (`hidepid`).
    fn absent(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }

    /// Reads the state (field 3) and the start in clock ticks since boot (field 22) from `/proc/<pid>/stat`.
    /// The command in field 2 may contain blanks and brackets, so fields are counted from its last bracket.
    fn stat(pid: u32) -> Option<(char, u64)> {
        let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = line.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let state = fields.next()?.chars().next()?;
        Some((state, fields.nth(18)?.parse().ok()?))
    }
}

/// Detects dead holders on systems other than Linux. A holder is dead if no process has its pid. The check
/// calls `kill` with the signal number 0, which sends no signal. If a new process has the pid of a dead
/// holder, the holder counts as alive. Then the lease of the holder becomes free only when the lease expires.
#[cfg(not(target_os = "linux"))]
mod system {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    pub(super) fn host() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    pub(super) fn realm() -> String {
        host()
    }

    pub(super) fn started(_pid: u32) -> u64 {
        0
    }

    pub(super) fn is_gone(pid: u32, _started: u64) -> bool {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }
}
