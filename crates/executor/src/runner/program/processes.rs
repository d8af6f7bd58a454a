//! Finds the processes of a job, and ends them.
//!
//! A job's processes are its main process, the session of that process, and all their descendants. The runner
//! inherits orphans. An orphan belongs to a job if its variable `WINDLASS_JOB` names the job, or if no other
//! job runs. If the runner has a PID namespace of its own and runs one job, all other processes belong to
//! this job. Then one call kills all of them, and none can escape.

use std::{
    collections::HashSet,
    fs,
    time::{Duration, Instant},
};

use crate::{
    left_behind,
    process_list::{self, Process, own_id},
    sys,
};

/// First pause between two checks for remaining processes.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// Maximum time from SIGKILL to the end of a process. Some processes never end after SIGKILL, for example because they
/// wait for a broken disk.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// The processes of one job, and the progress of ending them.
pub(crate) struct Processes {
    main: i32,
    mark: String,
    terminated: HashSet<(i32, String)>,
    killing_since: Option<Instant>,
    look_at: Instant,
    pause: Duration,
}

/// The main processes of all running jobs. With this list, a job distinguishes its own processes from the processes
/// of other jobs.
#[derive(Clone, Copy)]
pub(crate) struct Others<'a> {
    /// Process ids of the main processes of all running jobs, including the job that uses the list.
    pub(crate) mains: &'a [i32],
    /// Whether the runner (this program) has no children at all.
    pub(crate) childless: bool,
}

impl Processes {
    pub(crate) fn new(main: i32, mark: &str) -> Self {
        Self {
            main,
            mark: format!("WINDLASS_JOB={mark}"),
            terminated: HashSet::new(),
            killing_since: None,
            look_at: Instant::now(),
            pause: FIRST_PAUSE,
        }
    }

    /// Returns the time of the next check for remaining processes.
    pub(crate) fn look_at(&self) -> Instant {
        self.look_at
    }

    /// Tells whether [`kill`](Self::kill) was called.
    pub(crate) fn are_being_killed(&self) -> bool {
        self.killing_since.is_some()
    }

    /// Tells whether [`kill`](Self::kill) has given up the remaining processes. It gives up when [`KILL_LIMIT`] has
    /// passed since its first call.
    pub(crate) fn cannot_be_killed(&self) -> bool {
        self.killing_since.is_some_and(|since| since.elapsed() > KILL_LIMIT)
    }

    /// Sends SIGTERM to the processes of the job. Returns `true` if no process is left. Otherwise the caller calls
    /// the function again at the time that [`look_at`](Self::look_at) returns.
    ///
    /// The first call sends the signal to all processes of the job. A process that starts later may do clean-up work
    /// for its parent. So this process gets the signal from a later call, and only after its parent has ended.
    pub(crate) fn terminate(&mut self, others: Others<'_>) -> bool {
        if others.childless {
            self.rest();
            return true;
        }
        let alive = self.alive(others);
        let first = self.terminated.is_empty();
        for process in alive.iter().filter(|process| first || process.parent == own_id()) {
            if self.terminated.insert((process.pid, process.name.clone())) {
                sys::send(process.pid, sys::SIGTERM);
            }
        }
        self.rest();
        alive.is_empty()
    }

    /// Returns the names of the job's living processes, in alphabetical order and each once. At most
    /// [`LEFT_BEHIND`](left_behind::LEFT_BEHIND) names are returned.
    pub(crate) fn names(&self, others: Others<'_>) -> Vec<String> {
        if others.childless {
            return Vec::new();
        }
        left_behind::reported(self.alive(others).into_iter().map(|process| process.name))
    }

    /// Kills all processes of the job. Returns `true` if no process is left, except processes that can't be killed.
    /// Otherwise the caller must call the function again, because a process may have started others in the meantime.
    /// The function [`look_at`](Self::look_at) returns the time for the next call.
    pub(crate) fn kill(&mut self, others: Others<'_>) -> bool {
        if self.killing_since.is_none() {
            self.killing_since = Some(Instant::now());
            self.pause = FIRST_PAUSE;
        }
        if others.childless {
            self.rest();
            return true;
        }
        let alone = self.is_alone(others);
        if alone {
            sys::kill_all_others();
        }
        let alive = self.alive(others);
        for process in &alive {
            sys::send(process.pid, sys::SIGKILL);
        }
        self.rest();
        alive.is_empty() || self.cannot_be_killed()
    }

    fn rest(&mut self) {
        self.look_at = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LAST_PAUSE);
    }

    fn is_alone(&self, others: Others<'_>) -> bool {
        others.mains.iter().all(|main| *main == self.main)
    }

    fn alive(&self, others: Others<'_>) -> Vec<Process> {
        let alone = self.is_alone(others);
        let is_own_orphan = |process: &Process| {
            process.parent == own_id()
                && !others.mains.contains(&process.pid)
                && (alone || has_variable(process.pid, &self.mark))
        };
        let is_root = |process: &Process| {
            process.pid == self.main || process.session == self.main || is_own_orphan(process)
        };
        let (mut found, mut rest): (Vec<_>, Vec<_>) = process_list::others().into_iter().partition(is_root);
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|process| process.pid) {
            let (children, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|process| process.parent == parent);
            found.extend(children);
            rest = others;
            next += 1;
        }
        found
    }
}

fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
}
