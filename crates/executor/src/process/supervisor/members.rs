//! Which processes are a job's, and how they are ended.
//!
//! A job's processes are its main process, all of that one's session, and all their descendants. When a process
//! dies, its children become ours (the supervisor is a *subreaper*), so that also those that left the session
//! stay in sight: such an orphan is the job's if it carries its mark in the environment, or if no other job runs
//! that it could belong to. What is missed is a process that left its session, lost its parent *and* cleared its
//! environment, for as long as other jobs run; it is ended when the last of them does. Where there are control groups,
//! the job's has it.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashSet},
    io,
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

use rustix::process::{Signal, WaitIdOptions, getpid, waitid};
use tokio::time::{Instant, sleep};

use crate::{
    cgroup::Group,
    outcome::LEFT_BEHIND,
    process::procfs::{self, Process, processes_since},
};

/// How long a killed process may take to go: one that waits for a broken disk can't be ended by anybody.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Between two looks at who is left: the kernel tells of the end of our own children only.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// The main processes of all running jobs.
pub(crate) type Mains = Rc<RefCell<BTreeSet<i32>>>;

/// The processes of one running job.
#[derive(Debug)]
pub(crate) struct Members {
    main: i32,
    orphans: Orphans,
    group: Option<Group>,
    mains: Mains,
}

/// How processes of a job are known whose parent has died.
#[derive(Debug, Clone)]
pub(crate) enum Orphans {
    /// They come to us, among those of others; they carry the folder of their job in their environment.
    Marked(PathBuf),
    /// They come to the first process of the job's room.
    In(i32),
}

impl Members {
    pub(crate) fn new(main: i32, orphans: Orphans, group: Option<Group>, mains: Mains) -> Self {
        mains.borrow_mut().insert(main);
        Self { main, orphans, group, mains }
    }

    /// Tells whether the kernel has killed one of them for want of memory.
    pub(crate) fn were_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(Group::was_out_of_memory)
    }

    /// Gives the group back, when nobody is left.
    pub(crate) fn into_group(mut self) -> Option<Group> {
        self.group.take()
    }

    /// Asks all to end and waits until none is left, at the longest until `deadline`, which may come closer meanwhile.
    ///
    /// What a process starts after it was asked is left alone: it may be what it needs to clean up. If its parent is
    /// gone, it is not: then it was started at the very moment, and was not asked, or was asked when it had not yet
    /// become what it is: a shell's child forgets a signal that comes before it executes its program.
    pub(crate) async fn leave_by(&self, deadline: impl Fn() -> Option<Instant>) -> bool {
        let mut asked = HashSet::new();
        let mut pause = FIRST_PAUSE;
        self.ask(&mut asked, |_| true);
        while !self.are_gone() {
            let left =
                deadline().map_or(pause, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            sleep(pause.min(left)).await;
            pause = (pause * 2).min(LAST_PAUSE);
            self.ask(&mut asked, |process| process.parent == self.adopter());
        }
        true
    }

    fn ask(&self, asked: &mut HashSet<(i32, String)>, whom: impl Fn(&Process) -> bool) {
        for process in self.alive().unwrap_or_default().iter().filter(|process| whom(process)) {
            if asked.insert((process.pid, process.name.clone())) {
                process.signal(Signal::TERM);
            }
        }
    }

    /// Tells whether none is left.
    fn are_gone(&self) -> bool {
        // The cheap answer first: without any child, running or not yet reaped, there is nobody.
        has_no_child()
            || self.group.as_ref().is_none_or(Group::is_empty)
                && self.alive().is_ok_and(|alive| alive.is_empty())
    }

    /// Ends all that are left, again and again, since some may start others in the meantime. Returns the names of those that
    /// there were first.
    pub(crate) async fn kill(&self) -> Vec<String> {
        let limit = Instant::now() + KILL_LIMIT;
        let mut pause = FIRST_PAUSE;
        let mut first = None;
        while !self.are_gone() && Instant::now() < limit {
            let alive = self.alive().unwrap_or_default();
            if let Some(group) = &self.group {
                group.kill();
            }
            for process in &alive {
                process.signal(Signal::KILL);
            }
            first.get_or_insert_with(|| names(&alive));
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
        first.unwrap_or_default()
    }

    /// Returns the names of those that are there.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.alive().unwrap_or_default())
    }

    /// Who becomes the parent of those whose parent has died.
    fn adopter(&self) -> i32 {
        match self.orphans {
            Orphans::Marked(_) => supervisor(),
            Orphans::In(first) => first,
        }
    }

    fn alive(&self) -> io::Result<Vec<Process>> {
        let mut alive = self.seen()?;
        // Those that have hidden from all else.
        for pid in self.group.iter().flat_map(Group::processes) {
            if !alive.iter().any(|process| process.pid == pid) {
                alive.extend(procfs::read(pid));
            }
        }
        Ok(alive)
    }

    fn seen(&self) -> io::Result<Vec<Process>> {
        let folder = match &self.orphans {
            Orphans::Marked(folder) => folder,
            Orphans::In(first) => {
                let all = processes_since(self.main)?;
                return Ok(members(all, self.main, |process| process.parent == *first));
            }
        };
        let mains = self.mains.borrow();
        let alone = mains.iter().all(|main| *main == self.main);
        let supervisor = supervisor();
        let all = processes_since(if alone { supervisor } else { self.main })?;
        Ok(members(all, self.main, |process| {
            process.parent == supervisor
                && !mains.contains(&process.pid)
                && (alone || process.is_marked(folder))
        }))
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.mains.borrow_mut().remove(&self.main);
    }
}

fn names(of: &[Process]) -> Vec<String> {
    let names: BTreeSet<&String> = of.iter().map(|process| &process.name).collect();
    names.into_iter().take(LEFT_BEHIND).cloned().collect()
}

/// Picks a job's processes: its main process, its session, the orphans that are its own, and all below these.
fn members(all: Vec<Process>, main: i32, is_own_orphan: impl Fn(&Process) -> bool) -> Vec<Process> {
    let is_root =
        |process: &Process| process.pid == main || process.session == main || is_own_orphan(process);
    let (mut found, mut others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_root);
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|process| process.pid) {
        let (children, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|process| process.parent == parent);
        found.extend(children);
        others = rest;
        next += 1;
    }
    found
}

fn supervisor() -> i32 {
    getpid().as_raw_nonzero().get()
}

fn has_no_child() -> bool {
    use rustix::{io::Errno, process::WaitId};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, session: i32) -> Process {
        Process::new(pid, parent, session)
    }

    /// The supervisor is 1, the job 10.
    fn picked(all: Vec<Process>, is_own_orphan: impl Fn(&Process) -> bool) -> Vec<i32> {
        let mut picked: Vec<_> = members(all, 10, is_own_orphan).iter().map(|process| process.pid).collect();
        picked.sort_unstable();
        picked
    }

    #[test]
    fn the_main_process_and_all_below_it_belong_to_the_job() {
        let all = vec![
            process(1, 0, 1),
            process(10, 1, 10),
            process(11, 10, 10),
            process(12, 11, 12),
            process(20, 1, 20),
        ];
        assert_eq!(picked(all, |_| false), [10, 11, 12]);
    }

    #[test]
    fn the_session_belongs_to_the_job_when_the_main_process_is_gone() {
        let all = vec![process(1, 0, 1), process(11, 1, 10), process(12, 11, 12), process(20, 1, 20)];
        assert_eq!(picked(all, |_| false), [11, 12]);
    }

    #[test]
    fn an_orphan_of_another_session_belongs_to_the_job_that_marked_it() {
        let all = vec![process(1, 0, 1), process(12, 1, 12), process(13, 12, 12), process(20, 1, 20)];
        assert_eq!(picked(all, |process| process.pid == 12), [12, 13]);
    }
}
