//! Reads the processes of this host from `/proc`, and sends signals to them. If a process has ended and a later
//! process has the same id, the later process gets no signal.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process},
};

/// Environment variable of every process of a job. Its value is the path of the job's folder.
pub(crate) const MARK: &str = "WINDLASS_JOB";

/// One living process. A process that has ended and waits to be reaped does not count as living.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// Name of the executable, truncated by the kernel to 15 bytes.
    pub(crate) name: String,
    /// Start time in ticks since boot. It distinguishes the process from a later process with the same id.
    start: u64,
}

/// Maximum number of attempts to read the environment of a process. An empty environment is read again, because
/// the environment is empty for an instant during `execve`.
const ENVIRONMENT_TRIES: u32 = 5;
const ENVIRONMENT_PAUSE: Duration = Duration::from_micros(200);

/// Maximum time to wait until killed processes have disappeared, if the supervisor of their job is dead.
const KILL_LIMIT: Duration = Duration::from_secs(2);

/// Maximum number of ids that [`processes_since`] probes one by one. If there are more ids, the function lists all of
/// `/proc` instead.
const FEW: i32 = 512;

/// Lower bound for the average time between two process ids that the kernel assigns. The real average is longer, even
/// if all processors create processes at the same time.
const ASSIGNMENT: Duration = Duration::from_micros(2);

/// The default of the kernel's setting `pid_max`. It is used if the setting can't be read. On usual hosts, the setting
/// is at least this number.
const PID_MAX: u32 = 32_768;

/// The id of a process, and the approximate time of its start. If the supervisor has started the process, `at` is
/// never later than the real start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Birth {
    pub(crate) pid: i32,
    pub(crate) at: Instant,
}

impl Birth {
    /// Returns the birth of this process. The time in the result is the time of the first call of this function. The
    /// supervisor makes the first call when it starts, so this time is close to its real start.
    pub(crate) fn of_this_process() -> Self {
        static AT: OnceLock<Instant> = OnceLock::new();
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self { pid, at: *AT.get_or_init(Instant::now) }
    }

    /// Tells whether the time since this birth is too short for a full cycle of process ids. In a cycle, the kernel
    /// assigns increasing ids up to the highest one. Then the next cycle begins with low ids.
    ///
    /// If the result is `true` and the last assigned id is larger than `self.pid`, no new cycle has begun since this
    /// birth. So all later processes have larger ids than `self.pid`.
    fn is_recent(&self) -> bool {
        static CYCLE: OnceLock<Duration> = OnceLock::new();
        let cycle = CYCLE.get_or_init(|| {
            let most = fs::read_to_string("/proc/sys/kernel/pid_max");
            ASSIGNMENT * most.ok().and_then(|most| most.trim().parse().ok()).unwrap_or(PID_MAX)
        });
        self.at.elapsed() < *cycle
    }
}

/// Lists the living processes whose ids are at least the id of `oldest`. The function lists all living processes in two
/// cases: since `oldest`, the kernel has assigned more than [`FEW`] ids, or the kernel may have passed the highest id
/// and continued with low ids.
///
/// The kernel assigns ids in increasing order. So the ids of a process's descendants are between the id of the
/// process and the last assigned id. During a short job, the kernel assigns only a few ids. Probing each of these
/// ids takes less time than listing `/proc`.
///
/// The function stops when it has probed the last assigned id. A new process that starts afterwards is not in the
/// list. If such a process descends from `oldest`, the list contains its parent. If the parent is new, too, the
/// list contains the nearest ancestor that is not new.
pub(crate) fn processes_since(oldest: Birth) -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    let few = oldest.pid..oldest.pid.saturating_add(FEW);
    let mut next = oldest.pid;
    while let Some(last) = last_pid().filter(|last| few.contains(last) && oldest.is_recent()) {
        if next > last {
            return Ok(found);
        }
        found.extend((next..=last).filter(|pid| exists(*pid)).filter_map(read));
        next = last + 1;
    }
    processes()
}

/// Lists all living processes, sorted by id.
pub(crate) fn processes() -> io::Result<Vec<Process>> {
    let numbers =
        fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.filter_map(read).collect())
}

impl Process {
    /// Sends a signal to this process, but never to a later process with the same id.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        // The descriptor always refers to the process that has this id now. If the start time matches, it is
        // the intended process. A process that has ended is no error.
        if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty())
            && read(self.pid).is_some_and(|now| now.start == self.start)
        {
            let _ended = pidfd_send_signal(descriptor, signal);
        }
    }

    /// Tells whether the process belongs to the job with the folder `folder`. The environment variable [`MARK`]
    /// of the process shows this.
    pub(crate) fn is_marked(&self, folder: &Path) -> bool {
        self.has_mark(|mark| mark.as_os_str() == folder.as_os_str())
    }

    /// Calls `is_wanted` with the value of the process's environment variable [`MARK`]: the folder of a job.
    /// Returns the answer of `is_wanted`, or `false` if the process does not have this variable.
    fn has_mark(&self, is_wanted: impl Fn(&Path) -> bool) -> bool {
        let mark = |variable: &[u8]| {
            let folder = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
            Some(is_wanted(Path::new(OsStr::from_bytes(folder))))
        };
        // Kernel threads have no session and no environment.
        self.session != 0
            && self.environment().split(|byte| *byte == 0).any(|variable| mark(variable).unwrap_or(false))
    }

    /// Reads the environment with which the process was started; empty if it can't be read.
    fn environment(&self) -> Vec<u8> {
        for _ in 0..ENVIRONMENT_TRIES {
            match fs::read(format!("/proc/{}/environ", self.pid)) {
                // The process has no environment, or it is in the middle of `execve`.
                Ok(environment) if environment.is_empty() => thread::sleep(ENVIRONMENT_PAUSE),
                environment => return environment.unwrap_or_default(),
            }
        }
        Vec::new()
    }
}

/// Kills all processes whose environment variable [`MARK`] contains a folder that `is_wanted` accepts. Repeats
/// this until no such process is left, or until `KILL_LIMIT` has passed.
pub(crate) fn end_marked(is_wanted: impl Fn(&Path) -> bool) -> io::Result<()> {
    let limit = Instant::now() + KILL_LIMIT;
    loop {
        let all = processes()?;
        let left: Vec<_> = all.iter().filter(|process| process.has_mark(&is_wanted)).collect();
        if left.is_empty() || Instant::now() > limit {
            return Ok(());
        }
        for process in left {
            process.signal(Signal::KILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Tells whether a process or a thread has this id.
fn exists(pid: i32) -> bool {
    // `getsid` is unusable: for a session outside of this PID namespace it returns 0, which rustix rejects.
    Pid::from_raw(pid).is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

/// Returns the id that was assigned last: the last field of `/proc/loadavg`, such as
/// `0.00 0.01 0.05 1/90 4430`.
fn last_pid() -> Option<i32> {
    fs::read_to_string("/proc/loadavg").ok()?.rsplit(' ').next()?.trim().parse().ok()
}

/// Reads a process; `None` if it has ended.
pub(crate) fn read(pid: i32) -> Option<Process> {
    parse(pid, &String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Parses `/proc/<pid>/stat` (proc_pid_stat(5)): `pid (name) state ppid pgrp session …`. The start time is
/// field 22. The name may contain any characters, including spaces and parentheses.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (name, fields) = stat.split_once(" (")?.1.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        name: name.to_owned(),
        start: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
impl Process {
    pub(crate) fn new(pid: i32, parent: i32, session: i32) -> Self {
        Self { pid, parent, session, name: String::new(), start: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_with_an_odd_name_is_read() {
        let stat = "7 ((a) (b) c) S 3 7 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 9900 2 3";
        let expected = Process { pid: 7, parent: 3, session: 5, name: "(a) (b) c".to_owned(), start: 9900 };
        assert_eq!(parse(7, stat), Some(expected));
    }

    #[test]
    fn who_has_ended_does_not_count() {
        assert_eq!(parse(7, "7 (a) Z 3 7 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 9900 2 3"), None);
    }

    #[test]
    fn we_are_among_the_processes_either_way() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(processes().unwrap().iter().any(|process| process.pid == me));
        let birth = Birth { pid: me, at: Instant::now() };
        assert!(processes_since(birth).unwrap().iter().any(|process| process.pid == me));
    }

    #[test]
    fn a_process_with_a_lower_id_is_found_when_the_ids_may_have_started_again() {
        let start = || std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = |child: &std::process::Child| i32::try_from(child.id()).unwrap();
        let mut children = [start(), start()];
        let at = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        let found = processes_since(Birth { pid: pid(&children[1]), at }).unwrap();
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(found.iter().any(|process| process.pid == pid(&children[0])));
    }
}
