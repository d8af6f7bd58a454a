//! Creates and reuses the control groups of a supervisor's jobs.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use rustix::{
    io::Errno,
    process::{Pid, WaitOptions, waitpid},
};

use crate::{
    Bounds, Limits,
    cgroup::{self, Controller, Entrance, Group, Places, Version, delegate, end_all},
    process::{
        groups,
        layout::StateDir,
        supervisor::fork::{self, Child, Stack},
    },
};

/// Maximum number of idle groups with limits.
const IDLE_LIMITS: usize = 16;

/// Whether the processes of a job run on the host or in a sandbox. Each variant explains how the supervisor uses the
/// control group of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// On the host. The supervisor uses the control group to find and kill the job's processes. The control group may
    /// also have limits.
    Host,
    /// In a sandbox. The control group only enforces limits. It is not needed to kill the processes, because the kernel
    /// kills them together with the first process of the sandbox.
    Sandbox,
}

/// The control groups of one supervisor: at most one for each running job, and idle groups.
///
/// Groups are reused, since the creation and the removal of a group take longer than all other steps of a
/// job.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Name of the supervisor's own folder in each hierarchy of control groups.
    name: String,
    /// Path of the file that lists the folders in `made`. If the supervisor dies, another process reads the file, kills
    /// the processes in the listed groups, and removes the folders.
    note: PathBuf,
    /// Paths of the supervisor's own folders, at most one in each hierarchy of control groups. The folders of the
    /// jobs' groups are subfolders of these folders.
    made: RefCell<BTreeSet<PathBuf>>,
    /// Idle groups without limits.
    idle: RefCell<Vec<Group>>,
    /// Idle groups with limits, each with its limits and its placement.
    idle_limits: RefCell<Vec<(Bounds, Placement, Group)>>,
    next: Cell<u64>,
    /// Whether the supervisor has stopped creating control groups for jobs without limits. It stops after a child
    /// process could not be started in such a group, or was killed there by the kernel.
    gave_up: Cell<bool>,
    /// Whether the kernel lets a child process live in a new control group. Unset until
    /// [`lets_children_live`](Self::lets_children_live) has tested it.
    tried: OnceCell<bool>,
}

/// The folders of a group with limits.
#[derive(Debug)]
struct LimitingFolders {
    all: BTreeMap<PathBuf, Version>,
    /// Folder for the limit of each controller.
    of: BTreeMap<Controller, (PathBuf, Version)>,
}

impl Groups {
    /// Creates an empty `Groups`. Control groups are created when jobs need them. `supervisor` is the name of the
    /// supervisor's named pipe.
    pub(crate) fn new(state: &StateDir, supervisor: &str) -> Self {
        Self {
            name: format!("{}-{supervisor}", groups::name_of(state.path())),
            note: groups::note(state, supervisor),
            made: RefCell::default(),
            idle: RefCell::default(),
            idle_limits: RefCell::default(),
            next: Cell::new(0),
            gave_up: Cell::new(false),
            tried: OnceCell::new(),
        }
    }

    /// Returns a group for a job with these limits. A job without limits gets no group (`None`) in two cases: the job
    /// runs in a sandbox, or no group can be created.
    ///
    /// # Errors
    /// When the job's limits can't be enforced.
    pub(crate) fn of(&self, limits: &Limits, placement: Placement) -> io::Result<Option<Group>> {
        let needed = Controller::needed(limits);
        if needed.is_empty() {
            return Ok(match placement {
                Placement::Host => self.idle.borrow_mut().pop().or_else(|| self.tracking()),
                Placement::Sandbox => None,
            });
        }
        let (bounds, mut idle) = (bounds(limits), self.idle_limits.borrow_mut());
        let at = idle.iter().position(|(of, in_what, _)| (*of, *in_what) == (bounds, placement));
        if let Some(at) = at {
            return Ok(Some(idle.swap_remove(at).2));
        }
        drop(idle);
        self.limiting(limits, &needed, placement).map(Some)
    }

    fn tracking(&self) -> Option<Group> {
        let place = cgroup::places().track.as_ref().filter(|_| !self.gave_up.get())?;
        let folder = self.folder(&place.folder, place.version, &[]).ok()?;
        let group = Group::new([(folder, place.version)].into());
        if self.lets_children_live(&group) {
            return Some(group);
        }
        self.give_up(group);
        None
    }

    /// Tells whether the kernel lets a new process live in a control group. The first call starts a child process in
    /// `group` as a test. The result is remembered, and applies to all groups.
    ///
    /// Linux 6.18 kills the child if the supervisor's own control group was killed as a whole (by `cgroup.kill`) before
    /// the supervisor entered it. If the result is `false`, a job without limits runs without a control group, and a
    /// job whose limits need a control group can't run.
    fn lets_children_live(&self, group: &Group) -> bool {
        *self.tried.get_or_init(|| group.entrance().is_ok_and(|entrance| lives(&entrance)))
    }

    fn limiting(
        &self,
        limits: &Limits,
        needed: &BTreeSet<Controller>,
        placement: Placement,
    ) -> io::Result<Group> {
        let LimitingFolders { all, of } = self.limiting_folders(cgroup::places(), needed, placement)?;
        let mut group = Group::new(all);
        if !self.lets_children_live(&group) {
            group.remove();
            return Err(io::Error::other("the kernel kills processes that start in a new control group"));
        }
        // While the main process is being started in the sandbox, a second process is in the group for a
        // moment.
        let besides = u32::from(placement == Placement::Sandbox);
        if let Err(error) = group.limit(limits, besides, |controller| of.get(&controller).cloned()) {
            group.remove();
            return Err(error);
        }
        Ok(group)
    }

    /// Creates the folders for a group with limits. After an error, no created folder is left.
    fn limiting_folders(
        &self,
        places: &Places,
        needed: &BTreeSet<Controller>,
        placement: Placement,
    ) -> io::Result<LimitingFolders> {
        let mut of = BTreeMap::new();
        let mut made: BTreeMap<PathBuf, (PathBuf, Version)> = BTreeMap::new();
        let mut create = || {
            for controller in needed {
                let missing =
                    || io::Error::other(format!("there is no control group for {}", controller.name()));
                let place = places.limit.get(controller).ok_or_else(missing)?;
                let folder = match made.get(&place.folder) {
                    Some(folder) => folder.clone(),
                    None => (self.folder(&place.folder, place.version, &Controller::ALL)?, place.version),
                };
                made.insert(place.folder.clone(), folder.clone());
                of.insert(*controller, folder);
            }
            // If a group with limits is a control group of version 2, this group also tracks the processes of
            // the job. Otherwise a group without limits is added for this purpose. A process can be in only one
            // group of version 2, so a second one is never added.
            if placement == Placement::Host
                && !made.values().any(|(_, version)| *version == Version::V2)
                && let Some(place) = &places.track
            {
                let folder = self.folder(&place.folder, place.version, &[])?;
                made.insert(place.folder.clone(), (folder, place.version));
            }
            Ok(())
        };
        let created = create();
        let all: BTreeMap<_, _> = made.into_values().collect();
        match created {
            Ok(()) => Ok(LimitingFolders { all, of }),
            Err(error) => {
                Group::new(all).remove();
                Err(error)
            }
        }
    }

    /// Creates the control group of one job: a folder below `place`, which is a folder of a cgroup hierarchy.
    fn folder(
        &self,
        place: &std::path::Path,
        version: Version,
        controllers: &[Controller],
    ) -> io::Result<PathBuf> {
        let own = place.join(&self.name);
        if !self.made.borrow().contains(&own) {
            // The path is recorded before the folder exists, so that later processes find the folder after
            // any crash. After an error, the next call repeats both steps. The file may then list the path twice.
            let mut note = File::options().append(true).create(true).mode(0o600).open(&self.note)?;
            note.write_all(format!("{}\n", own.display()).as_bytes())?;
            fs::create_dir(&own)?;
            self.made.borrow_mut().insert(own.clone());
        }
        if version == Version::V2 {
            delegate(&own, controllers);
        }
        let number = self.next.replace(self.next.get() + 1);
        let folder = own.join(number.to_string());
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// Takes an empty group back after its job, and removes the group or keeps it for reuse.
    pub(crate) fn give_back(&self, group: Group, limits: &Limits, placement: Placement) {
        let is_limiting = !Controller::needed(limits).is_empty();
        if self.gave_up.get() && !is_limiting || !group.is_reusable() {
            return group.remove();
        }
        if !is_limiting {
            return self.idle.borrow_mut().push(group);
        }
        let mut idle = self.idle_limits.borrow_mut();
        if idle.len() >= IDLE_LIMITS {
            // The group that was idle for longest is evicted.
            idle.remove(0).2.remove();
        }
        idle.push((bounds(limits), placement, group));
    }

    /// Removes `group`, and all idle control groups that have no limits. From then on, the supervisor creates a control
    /// group only if a limit of a job requires one.
    ///
    /// `group` must have no limits. The caller has tried to start a child process in this group. Either the start
    /// failed, or the kernel killed the child process.
    pub(crate) fn give_up(&self, group: Group) {
        self.gave_up.set(true);
        group.remove();
        self.idle.take().into_iter().for_each(Group::remove);
    }

    /// Kills the processes of all groups, and removes the groups. Then removes the file at the path `note`, which lists
    /// the groups. If a group can't be removed, the file stays. A later program that opens the jobs folder then reads
    /// the file, and removes the listed groups.
    pub(crate) fn close(&self) {
        let made = std::mem::take(&mut *self.made.borrow_mut());
        // Each folder is ended, even if an earlier folder could not be ended.
        let remaining = made.iter().filter(|own| end_all(own).is_err()).count();
        if remaining == 0 {
            let _never_made = fs::remove_file(&self.note);
        }
    }
}

/// Returns the limits that a job's group enforces.
fn bounds(limits: &Limits) -> Bounds {
    let Limits { memory_bytes, pids, cpu_millis, .. } = *limits;
    Bounds { memory_bytes, pids, cpu_millis, open_files: None }
}

/// A child that exits at once.
struct Nothing;

#[expect(unsafe_code, reason = "see the trait")]
// SAFETY: it does nothing.
unsafe impl Child for Nothing {
    fn run(&self) -> Result<(), Errno> {
        Ok(())
    }
}

/// Starts a child in a group. Returns `true` if the child exits by itself. Returns `false` if the kernel kills the
/// child, or if the child can't be started.
fn lives(entrance: &Entrance) -> bool {
    let Ok(pid) = fork::start(&Nothing, entrance, &mut Stack::default()) else { return false };
    // The child has already ended, since it executes no program. This function does not await, so no other
    // task reaps the child.
    let ended = Pid::from_raw(pid).map(|pid| waitpid(Some(pid), WaitOptions::empty()));
    matches!(ended, Some(Ok(Some((_, status)))) if status.exited())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::Place;

    #[test]
    fn an_error_at_the_first_group_does_not_prevent_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let (state, place) = (StateDir::new(dir.path().join("jobs")), dir.path().join("hierarchy"));
        let groups = Groups::new(&state, "one");
        let folder = || groups.folder(&place, Version::V1, &[]);
        assert!(folder().is_err(), "the list of groups can't be written");
        fs::create_dir_all(state.control()).unwrap();
        assert!(folder().is_err(), "the folder can't be created");
        fs::create_dir(&place).unwrap();
        assert!(folder().unwrap().is_dir());
        assert!(folder().unwrap().is_dir());
    }

    #[test]
    fn a_group_that_fails_leaves_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::new(dir.path().join("jobs"));
        fs::create_dir_all(state.control()).unwrap();
        let groups = Groups::new(&state, "one");
        let place = |name: &str| Place { folder: dir.path().join(name), version: Version::V1 };
        fs::create_dir(dir.path().join("memory")).unwrap();
        let left = || fs::read_dir(dir.path().join("memory").join(&groups.name)).unwrap().count();
        let limit = [(Controller::Memory, place("memory")), (Controller::Pids, place("missing"))];
        let places = Places { track: Some(place("missing")), limit: limit.into() };
        let both = [Controller::Memory, Controller::Pids].into();
        assert!(groups.limiting_folders(&places, &both, Placement::Sandbox).is_err());
        assert_eq!(left(), 0, "the second controller has no folder");
        let memory = [Controller::Memory].into();
        assert!(groups.limiting_folders(&places, &memory, Placement::Host).is_err());
        assert_eq!(left(), 0, "the group that tracks processes has no folder");
        let folders = groups.limiting_folders(&places, &memory, Placement::Sandbox).unwrap();
        assert_eq!((folders.all.len(), left()), (1, 1));
    }
}
