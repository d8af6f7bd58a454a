//! Who holds a lease, and whether that process still lives.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A process that holds a lease, or wants one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The host's name, for people.
    pub host: String,
    /// Where its pid means something: one boot of one machine, one pid namespace. Pids of different realms, as of two
    /// containers of one host name, can't be compared.
    pub realm: String,
    /// The process id.
    pub pid: u32,
    /// When the process started, in the realm's own units, so that a reused pid is told apart; 0 when the system
    /// doesn't say.
    pub started: u64,
    /// What it runs, for people: `windlass up h_bta`.
    pub command: String,
    /// Whether it carries out what others ask of the assemblies that it holds: the long-running mode does.
    #[serde(default)]
    pub serves: bool,
}

impl Holder {
    /// Describes the running process, which runs `command`.
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

    /// Says that the holder carries out what others ask of the assemblies that it holds.
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

/// Knows which processes are dead.
pub trait Processes: Send + Sync {
    /// Tells whether the holder has provably ended. What can't be known counts as alive: its lease expires.
    fn is_dead(&self, holder: &Holder) -> bool;
}

/// The processes of this machine, as the kernel tells.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemProcesses;

impl Processes for SystemProcesses {
    fn is_dead(&self, holder: &Holder) -> bool {
        !holder.realm.is_empty()
            && holder.realm == system::realm()
            && system::is_gone(holder.pid, holder.started)
    }
}

/// Asks the kernel through `/proc`.
#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    pub(super) fn host() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    /// The boot's id and the pid namespace. Empty where `/proc` is not there: nothing is then provable.
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

    /// A process that `/proc` hides (`hidepid`) still answers to a signal that is not sent.
    fn absent(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }

    /// Reads the state (field 3) and the start in ticks since boot (field 22) of `/proc/<pid>/stat`. The command,
    /// field 2, may hold blanks and brackets, so fields are counted from its last bracket.
    fn stat(pid: u32) -> Option<(char, u64)> {
        let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = line.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let state = fields.next()?.chars().next()?;
        Some((state, fields.nth(18)?.parse().ok()?))
    }
}

/// Asks by a signal that is not sent; a reused pid is not told apart, so such a lease has to expire.
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
