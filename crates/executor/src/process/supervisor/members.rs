//! Finds the processes of a job, and ends them.
//!
//! A job's processes are its main process, the session of that process, and all their descendants. If a
//! process dies, the supervisor inherits the children of this process, the *orphans* (the supervisor is a
//! *subreaper*). So the supervisor also finds processes that left the session. An orphan belongs to the job
//! if its variable `WINDLASS_JOB` contains the path of the job's folder, or if no other job runs.
//!
//! While other jobs run, the supervisor may miss a process that left its session, lost its parent *and*
//! cleared its environment. If the job has a control group, the group shows the process. Without a group, the
//! process is killed when the last job ends.

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
    left_behind,
    process::procfs::{self, Birth, Process, processes_since},
};

/// Maximum time for a killed process to disappear. A process that waits for a broken disk can't be killed.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// First pause between two checks for remaining processes. The checks are needed because the kernel reports
/// only the end of the supervisor's own children.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// The main processes of all running jobs.
pub(crate) type MainProcesses = Rc<RefCell<BTreeSet<i32>>>;

/// The processes of one running job.
#[derive(Debug)]
pub(crate) struct Members {
    main: Birth,
    orphans: Orphans,
    group: Option<Group>,
    mains: MainProcesses,
}

/// The rule that identifies the orphans among a job's processes.
#[derive(Debug, Clone)]
pub(crate) enum Orphans {
    /// The supervisor inherits the orphans of all jobs. An orphan belongs to this job if its variable `WINDLASS_JOB`
    /// contains the given path of the job's folder, or if no other job runs.
    Marked(PathBuf),
    /// The first process of the job's sandbox inherits the orphans. This process has the given process id.
    In(i32),
}

impl Members {
    pub(crate) fn new(main: Birth, orphans: Orphans, group: Option<Group>, mains: MainProcesses) -> Self {
        mains.borrow_mut().insert(main.pid);
        Self { main, orphans, group, mains }
    }

    /// Tells whether the kernel has killed one of the job's processes for lack of memory.
    pub(crate) fn were_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(Group::was_out_of_memory)
    }

    /// Returns the control group of the job. The caller must have ended all processes.
    pub(crate) fn into_group(mut self) -> Option<Group> {
        self.group.take()
    }

    /// Sends SIGTERM to all processes of the job, and waits until no process is left or `deadline` is reached.
    /// Returns whether no process is left. The deadline may change to an earlier time during the wait.
    ///
    /// The processes that exist at the start get SIGTERM first. A process that is started later may clean up
    /// for its parent. Such a process gets SIGTERM only when its parent has ended.
    ///
    /// A child of a shell may get the first SIGTERM before it has executed its program. The signal may then
    /// have no effect. When the program is executed, the name of the process changes. A process with a changed
    /// name gets SIGTERM a second time, after its parent has ended.
    pub(crate) async fn leave_by(&self, deadline: impl Fn() -> Option<Instant>) -> bool {
        let mut terminated = HashSet::new();
        let mut pause = FIRST_PAUSE;
        self.terminate(&mut terminated, |_| true);
        while !self.are_gone() {
            let left =
                deadline().map_or(pause, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            sleep(pause.min(left)).await;
            pause = (pause * 2).min(LAST_PAUSE);
            self.terminate(&mut terminated, |process| process.parent == self.adopter());
        }
        true
    }

    fn terminate(&self, terminated: &mut HashSet<(i32, String)>, whom: impl Fn(&Process) -> bool) {
        for process in self.alive().unwrap_or_default().iter().filter(|process| whom(process)) {
            if terminated.insert((process.pid, process.name.clone())) {
                process.signal(Signal::TERM);
            }
        }
    }

    fn are_gone(&self) -> bool {
        // The cheap test comes first. If the supervisor has no child at all, neither running nor ended, no
        // process is left.
        has_no_child()
            || self.group.as_ref().is_none_or(Group::is_empty)
                && self.alive().is_ok_and(|alive| alive.is_empty())
    }

    /// Kills the remaining processes of the job. A process may start another process before it is killed. So the
    /// function searches and kills again until no process is left, or until [`KILL_LIMIT`] has passed. Returns the
    /// names of the processes that the first search found.
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

    /// Returns the names of the job's living processes.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.alive().unwrap_or_default())
    }

    /// Returns the id of the process that inherits the job's orphans.
    fn adopter(&self) -> i32 {
        match self.orphans {
            Orphans::Marked(_) => supervisor(),
            Orphans::In(first) => first,
        }
    }

    fn alive(&self) -> io::Result<Vec<Process>> {
        let mut alive = self.seen()?;
        // Adds processes that only the group reveals.
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
                return Ok(members(all, self.main.pid, |process| process.parent == *first));
            }
        };
        let mains = self.mains.borrow();
        let alone = mains.iter().all(|main| *main == self.main.pid);
        let supervisor = supervisor();
        let all = processes_since(if alone { Birth::of_this_process() } else { self.main })?;
        Ok(members(all, self.main.pid, |process| {
            process.parent == supervisor
                && !mains.contains(&process.pid)
                && (alone || process.is_marked(folder))
        }))
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.mains.borrow_mut().remove(&self.main.pid);
    }
}

fn names(of: &[Process]) -> Vec<String> {
    left_behind::reported(of.iter().map(|process| process.name.clone()))
}

/// Selects a job's processes from `all`: its main process, its session, its orphans, and all their
/// descendants.
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

    /// Returns the ids of the processes that belong to the job of a test. In each test, the main process of the job
    /// has the id 10, and the supervisor has the id 1.
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
