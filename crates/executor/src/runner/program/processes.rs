//! Which processes are a job's, and how they are ended.
//!
//! A job's processes are its main process, all of that one's session, and all their descendants; orphans come to the
//! runner, and are the job's if they carry its mark, or if there is no other job. In a namespace of its own with one
//! job there is nobody else: then all others are ended by one call, and none can hide.

use std::{
    collections::HashSet,
    fs,
    time::{Duration, Instant},
};

use crate::sys;

/// Between two looks at who is left.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// How long a killed process may take to go: one that waits for a broken disk can't be ended by anybody.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// One living process.
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    name: String,
}

/// The processes of one job, and how far their ending has come.
pub(crate) struct Processes {
    main: i32,
    mark: String,
    asked: HashSet<(i32, String)>,
    killing_since: Option<Instant>,
    look_at: Instant,
    pause: Duration,
}

/// What else there is in this namespace.
#[derive(Clone, Copy)]
pub(crate) struct Others<'a> {
    /// The main processes of all jobs.
    pub(crate) mains: &'a [i32],
    /// There is no child of the runner at all.
    pub(crate) childless: bool,
}

impl Processes {
    pub(crate) fn new(main: i32, mark: &str) -> Self {
        Self {
            main,
            mark: format!("WINDLASS_JOB={mark}"),
            asked: HashSet::new(),
            killing_since: None,
            look_at: Instant::now(),
            pause: FIRST_PAUSE,
        }
    }

    /// When to look again at who is left.
    pub(crate) fn look_at(&self) -> Instant {
        self.look_at
    }

    /// Asks all to end; returns whether nobody is left. To be called again at [`look_at`](Self::look_at).
    ///
    /// What a process starts after it was asked is left alone: it may be what it needs to clean up. Once its parent is
    /// gone it is asked too.
    pub(crate) fn ask(&mut self, others: Others<'_>) -> bool {
        if others.childless {
            return true;
        }
        let alive = self.alive(others);
        let first = self.asked.is_empty();
        for process in alive.iter().filter(|process| first || process.parent == me()) {
            if self.asked.insert((process.pid, process.name.clone())) {
                sys::send(process.pid, sys::SIGTERM);
            }
        }
        self.rest();
        alive.is_empty()
    }

    /// Ends all; returns whether nobody is left, or somebody whom nobody can end. To be called again at
    /// [`look_at`](Self::look_at), since some may start others in the meantime.
    pub(crate) fn kill(&mut self, others: Others<'_>) -> bool {
        if others.childless {
            return true;
        }
        let since = *self.killing_since.get_or_insert_with(|| {
            self.pause = FIRST_PAUSE;
            Instant::now()
        });
        let alone = self.is_alone(others);
        if alone {
            sys::kill_all_others();
        }
        let alive = self.alive(others);
        for process in &alive {
            sys::send(process.pid, sys::SIGKILL);
        }
        self.rest();
        alive.is_empty() || since.elapsed() > KILL_LIMIT
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
            process.parent == me()
                && !others.mains.contains(&process.pid)
                && (alone || has_variable(process.pid, &self.mark))
        };
        let is_root = |process: &Process| {
            process.pid == self.main || process.session == self.main || is_own_orphan(process)
        };
        let (mut found, mut rest): (Vec<_>, Vec<_>) = all().into_iter().partition(is_root);
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

fn me() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| *pid != me()).filter_map(read).collect()
}

/// Reads `/proc/<pid>/stat`: `pid (name) state ppid pgrp session …`. Who has ended doesn't count.
fn read(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (name, fields) = stat.split_once(" (")?.1.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process { pid, parent, session, name: name.to_owned() })
}

fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
}
