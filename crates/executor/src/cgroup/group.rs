//! The control group of one job, in one or more hierarchies.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::{
    Limits,
    cgroup::{
        controller::Controller,
        entrance::Entrance,
        places::{Version, file},
    },
};

/// Period of the processor quota in microseconds.
const PERIOD: u64 = 100_000;

/// Minimum quota that the kernel accepts, in microseconds.
const LEAST_QUOTA: u64 = 1_000;

/// Maximum memory in bytes that a control group may still use after its job. If the group uses more, it is not kept for
/// another job.
const LITTLE: u64 = 16 << 20;

/// Maximum time for killed processes to disappear.
const PATIENCE: Duration = Duration::from_secs(20);

/// The control group of one job, with a folder in each hierarchy that the group uses. After the job, the
/// supervisor removes the group, or keeps it for another job.
#[derive(Debug)]
pub(crate) struct Group {
    folders: BTreeMap<PathBuf, Version>,
    /// Memory limit of the group; `None` if the group does not limit memory.
    memory: Option<Memory>,
    was_killed: Cell<bool>,
}

/// The memory limit of a job's group. `folder` is the group's folder in the hierarchy of the memory controller.
#[derive(Debug)]
struct Memory {
    folder: PathBuf,
    version: Version,
    /// Number of processes of the group that the kernel had killed for lack of memory before the job started. These
    /// processes belonged to earlier jobs that used the same group.
    kills: Cell<u64>,
}

impl Memory {
    /// Returns the number of processes of the group that the kernel has killed for lack of memory.
    fn kills(&self) -> u64 {
        let file = match self.version {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        kills.unwrap_or(0)
    }

    /// Returns the number of bytes of memory that the group uses. The number includes memory of ended processes if
    /// the kernel has not released this memory yet.
    fn in_use(&self) -> Option<u64> {
        let file = match self.version {
            Version::V1 => "memory.usage_in_bytes",
            Version::V2 => "memory.current",
        };
        fs::read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
    }
}

impl Group {
    /// Creates a group from existing folders.
    pub(crate) fn new(folders: BTreeMap<PathBuf, Version>) -> Self {
        Self { folders, memory: None, was_killed: Cell::new(false) }
    }

    /// Sets the limits of a job. The group may also contain processes of this crate, which do not belong to the
    /// job. The parameter `besides` is the number of these processes. The function adds it to the job's maximum
    /// number of processes. `folder` returns the group's folder in the hierarchy of a controller.
    pub(crate) fn limit(
        &mut self,
        limits: &Limits,
        besides: u32,
        folder: impl Fn(Controller) -> Option<(PathBuf, Version)>,
    ) -> io::Result<()> {
        let missing = || io::Error::other("the control group for its limits is gone");
        let set = |controller, value: &dyn Fn(Version) -> String| {
            let (folder, version) = folder(controller).ok_or_else(missing)?;
            write(&folder.join(file(controller, version)), &value(version))?;
            Ok::<_, io::Error>((folder, version))
        };
        if let Some(bytes) = limits.memory_bytes {
            let (folder, version) = set(Controller::Memory, &|_| bytes.to_string())?;
            let (swap, none) = match version {
                Version::V1 => ("memory.memsw.limit_in_bytes", bytes.to_string()),
                Version::V2 => ("memory.swap.max", "0".to_owned()),
            };
            // If the kernel does not count the swap of a group, the file for the swap limit does not exist.
            let _not_there = write(&folder.join(swap), &none);
            if version == Version::V2 {
                // This setting lets the kernel kill all processes of the job if it kills one of them for lack
                // of memory.
                write(&folder.join("memory.oom.group"), "1")?;
            }
            self.memory = Some(Memory { folder, version, kills: Cell::new(0) });
        }
        if let Some(pids) = limits.pids {
            set(Controller::Pids, &|_| pids.saturating_add(besides).to_string())?;
        }
        if let Some(millis) = limits.cpu_millis {
            let quota = (u64::from(millis) * PERIOD / 1000).max(LEAST_QUOTA);
            set(Controller::Cpu, &|version| match version {
                Version::V1 => quota.to_string(),
                Version::V2 => format!("{quota} {PERIOD}"),
            })?;
        }
        Ok(())
    }

    /// Opens the handles that a child needs to enter the group.
    pub(crate) fn entrance(&self) -> io::Result<Entrance> {
        let mut entrance = Entrance::default();
        for (folder, version) in &self.folders {
            match version {
                Version::V2 => entrance.into = Some(open(folder, OFlags::RDONLY | OFlags::DIRECTORY)?),
                Version::V1 => entrance.tasks.push(open(&folder.join("tasks"), OFlags::WRONLY)?),
            }
        }
        Ok(entrance)
    }

    /// Lists the processes of the group. On some kernels, the list includes ended processes that are not
    /// reaped.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.folders.keys().flat_map(|folder| processes(folder)).collect()
    }

    /// Tells whether the group has no processes.
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.iter().all(|(folder, version)| is_empty(folder, *version))
    }

    /// Kills all processes of the group. Afterwards, the group is not [reusable](Self::is_reusable). Without the
    /// kernel's file `cgroup.kill`, a process that starts meanwhile may survive. So callers repeat the call until the
    /// group is empty.
    pub(crate) fn kill(&self) {
        self.was_killed.set(true);
        self.folders.iter().for_each(|(folder, version)| kill(folder, *version));
    }

    /// Tells whether another job may use the group. A group that was killed as a whole must not be reused:
    /// the kernel also kills a child that is created in the group later (seen with Linux 6.18).
    pub(crate) fn is_reusable(&self) -> bool {
        let memory_is_free = self.memory.as_ref().is_none_or(|memory| {
            memory.kills.set(memory.kills());
            memory.in_use().is_some_and(|bytes| bytes <= LITTLE)
        });
        !self.was_killed.get() && memory_is_free && self.is_empty()
    }

    /// Tells whether the kernel has killed a process of the group for lack of memory.
    pub(crate) fn was_out_of_memory(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.kills() > memory.kills.get())
    }

    /// Removes the folders of the group, which must have no processes. A folder that can't be removed now is
    /// removed when the supervisor exits.
    pub(crate) fn remove(self) {
        for folder in self.folders.keys() {
            let _busy = fs::remove_dir(folder);
        }
    }
}

/// Kills all processes in a group and its subgroups, and removes the groups. A supervisor calls this function
/// for its own groups when it exits. Later processes call it for the groups of dead supervisors.
///
/// # Errors
/// The kernel's error when the groups can't be removed within `PATIENCE`, because processes remain.
pub(crate) fn end_all(folder: &Path) -> io::Result<()> {
    let limit = Instant::now() + PATIENCE;
    loop {
        for_each(folder, &mut |folder| {
            let version = if folder.join("cgroup.kill").exists() { Version::V2 } else { Version::V1 };
            kill(folder, version);
            let _busy = fs::remove_dir(folder);
        });
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > limit => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Calls `visit` for all subgroups of a group, and then for the group itself.
fn for_each(folder: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            for_each(&entry.path(), visit);
        }
    }
    visit(folder);
}

fn processes(folder: &Path) -> Vec<i32> {
    let listed = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // The kernel lists a process outside of this PID namespace as 0.
    listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
}

fn is_empty(folder: &Path, version: Version) -> bool {
    match version {
        Version::V1 => processes(folder).is_empty(),
        Version::V2 => fs::read_to_string(folder.join("cgroup.events"))
            .is_ok_and(|events| events.lines().any(|line| line == "populated 0")),
    }
}

fn kill(folder: &Path, version: Version) {
    if version == Version::V2 && write(&folder.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    for pid in processes(folder) {
        // After the group was listed, a process of the group may end, and another process may get its id. So
        // the process is opened first, and then the group is listed again. If the new list contains the id,
        // the opened process is in the group.
        if let Some(pid) = Pid::from_raw(pid)
            && let Ok(process) = pidfd_open(pid, PidfdFlags::empty())
            && processes(folder).contains(&pid.as_raw_nonzero().get())
        {
            let _ended = pidfd_send_signal(&process, Signal::KILL);
        }
    }
}

fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())?)
}

/// Writes a setting in one call, and never creates a file.
fn write(path: &Path, value: &str) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    rustix::io::write(&file, value.as_bytes())?;
    Ok(())
}
