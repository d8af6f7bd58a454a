//! The processes of this host, as `/proc` tells, and signals that hit the one that was meant.

use std::{fs, io, os::unix::ffi::OsStrExt, path::Path, thread, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process},
};

/// The variable that marks every process of a job with the job's folder.
pub(crate) const MARK: &str = "WINDLASS_JOB";

/// One living process. Those that have ended and only wait to be reaped don't count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// The name of what it executes, cut by the kernel to 15 bytes.
    pub(crate) name: String,
    /// When it started, in ticks since boot: tells it from a later one with the same number.
    start: u64,
}

/// How long an environment may be empty because its process is being replaced by another program.
const ENVIRONMENT_TRIES: u32 = 5;
const ENVIRONMENT_PAUSE: Duration = Duration::from_micros(200);

/// Up to this many numbers are tried one by one before `/proc` is listed as a whole.
const FEW: i32 = 512;

/// Lists the living processes, or only those with numbers from `oldest` on where that is cheaper.
///
/// Numbers are given out in order, so that descendants of a process are above it and not above the number given out
/// last. For a short job these are a handful, and asking for each costs less than listing `/proc`.
///
/// Whoever lives throughout, or has a living ancestor in the list, is not missed: numbers are visited in order, to the
/// last one given out until then, so that a child is visited after its parent; was it not there yet, its parent was.
pub(crate) fn processes_since(oldest: i32) -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    let mut next = oldest;
    while let Some(last) = last_pid().filter(|last| (oldest..oldest.saturating_add(FEW)).contains(last)) {
        if next > last {
            return Ok(found);
        }
        found.extend((next..=last).filter(|pid| exists(*pid)).filter_map(read));
        next = last + 1;
    }
    processes()
}

/// Lists all living processes, in order.
pub(crate) fn processes() -> io::Result<Vec<Process>> {
    let numbers =
        fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.filter_map(read).collect())
}

impl Process {
    /// Sends a signal to this process and to no other that got its number since.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        // The descriptor holds on to whoever has the number now; if that is who we saw, it can't change any more.
        // That it has ended meanwhile is as good.
        if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty())
            && read(self.pid).is_some_and(|now| now.start == self.start)
        {
            let _ended = pidfd_send_signal(descriptor, signal);
        }
    }

    /// Tells whether the process was started with the mark of the job in this folder.
    pub(crate) fn is_marked(&self, folder: &Path) -> bool {
        // Threads of the kernel have no session, and no environment to wait for.
        self.session != 0
            && self.environment().split(|byte| *byte == 0).any(|variable| {
                variable.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
                    == Some(folder.as_os_str().as_bytes())
            })
    }

    /// Reads the environment the process was started with; empty if it may not be read.
    fn environment(&self) -> Vec<u8> {
        for _ in 0..ENVIRONMENT_TRIES {
            match fs::read(format!("/proc/{}/environ", self.pid)) {
                // It has none, or it is just about to execute something: then it has none for an instant.
                Ok(environment) if environment.is_empty() => thread::sleep(ENVIRONMENT_PAUSE),
                environment => return environment.unwrap_or_default(),
            }
        }
        Vec::new()
    }
}

/// Tells whether there is a process, or a thread, with this number.
fn exists(pid: i32) -> bool {
    // Not `getsid`: for a session outside our pid namespace it answers 0, which rustix takes for impossible.
    Pid::from_raw(pid).is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

/// The number that was given out last: the end of `0.00 0.01 0.05 1/90 4430`.
fn last_pid() -> Option<i32> {
    fs::read_to_string("/proc/loadavg").ok()?.rsplit(' ').next()?.trim().parse().ok()
}

/// Reads one; `None` if it has ended.
pub(crate) fn read(pid: i32) -> Option<Process> {
    parse(pid, &String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Reads `/proc/<pid>/stat` (proc_pid_stat(5)): `pid (name) state ppid pgrp session …`, start is field 22. The name
/// may be any text.
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
        assert!(processes_since(me).unwrap().iter().any(|process| process.pid == me));
    }
}
