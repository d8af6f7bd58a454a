//! Finds the folders where control groups can be created on this host.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::cgroup::controller::Controller;

/// A file of each control group in a cgroup v2 hierarchy. Writing to the file kills all processes of the group.
const KILL: &str = "cgroup.kill";

/// A folder of a cgroup hierarchy. Control groups can be created in this folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) version: Version,
}

/// The version of a cgroup hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    V1,
    V2,
}

/// The folders in which this process can create control groups.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Folder for groups without limits. A supervisor uses such a group to find and kill all processes of a job. `None`
    /// if this process can't create groups, or can't kill a group by writing to its file `cgroup.kill`.
    pub(crate) track: Option<Place>,
    /// For each controller, the folder for groups with a limit of this controller. If this process can't set the limit
    /// of a controller, the map does not contain the controller.
    pub(crate) limit: BTreeMap<Controller, Place>,
}

impl Places {
    /// Searches the mounted hierarchies for folders where groups can be created, and probes each folder.
    pub(crate) fn find() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let found = Hierarchies::read(&mounts, &own);
        let of_version_2 = found.unified.iter().flat_map(|unified| [&unified.own, &unified.root]);
        of_version_2.chain(found.of_version_1.values()).for_each(|folder| remove_abandoned(folder));
        let mut places = Self::default();
        if let Some(unified) = &found.unified {
            let own = Place { folder: unified.own.clone(), version: Version::V2 };
            let writable = own.probe();
            places.track = writable.contains(KILL).then(|| own.clone());
            places.add(&own, &writable);
            // If a group of version 2 contains a process, the kernel enforces no limits in the group's
            // subgroups. Only the root of the hierarchy is exempt from this rule. The own group contains at
            // least this process. If limits are missing in its subgroups, groups with limits are created
            // directly below the root.
            if unified.root != unified.own && places.limit.len() < Controller::ALL.len() {
                let root = Place { folder: unified.root.clone(), version: Version::V2 };
                places.add(&root, &root.probe());
            }
        }
        for (controller, folder) in found.of_version_1 {
            let place = Place { folder, version: Version::V1 };
            if !places.limits(controller) && place.probe().contains(file(controller, Version::V1)) {
                places.limit.insert(controller, place);
            }
        }
        places
    }

    /// Adds an entry to the map `limit` for each controller that can use the cgroup v2 folder `place`. A controller
    /// can use the folder if `writable` contains the name of the controller's limit file. If a controller already
    /// has an entry, the function keeps this entry.
    ///
    /// `writable` contains the names of the files to which this process may write in a new group below `place`.
    fn add(&mut self, place: &Place, writable: &BTreeSet<&str>) {
        for controller in Controller::ALL {
            if writable.contains(file(controller, Version::V2)) {
                self.limit.entry(controller).or_insert_with(|| place.clone());
            }
        }
    }

    pub(crate) fn tracks(&self) -> bool {
        self.track.is_some()
    }

    pub(crate) fn limits(&self, controller: Controller) -> bool {
        self.limit.contains_key(&controller)
    }

    pub(crate) fn version(&self) -> Option<u8> {
        self.limit.values().map(|place| if place.version == Version::V1 { 1 } else { 2 }).max()
    }
}

/// Returns the name of the controller's limit file, which only groups with this controller contain.
pub(crate) fn file(controller: Controller, version: Version) -> &'static str {
    match (controller, version) {
        (Controller::Memory, Version::V1) => "memory.limit_in_bytes",
        (Controller::Pids, _) => "pids.max",
        (Controller::Cpu, Version::V1) => "cpu.cfs_quota_us",
        (Controller::Memory, Version::V2) => "memory.max",
        (Controller::Cpu, Version::V2) => "cpu.max",
    }
}

/// Delegates cgroup v2 controllers to the subgroups of the group `folder`.
pub(crate) fn delegate(folder: &Path, controllers: &[Controller]) {
    for controller in controllers {
        // A refusal is noticed later: the limit file of the controller is then missing in the subgroups.
        let _refused = fs::write(folder.join("cgroup.subtree_control"), format!("+{}", controller.name()));
    }
}

/// Removes empty groups whose supervisor or probing process was killed. The name of such a group is
/// `windlass-<name>-<pid>-…`, and no process has this pid any more. The kernel refuses to remove a group that
/// has processes.
fn remove_abandoned(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let words: Vec<_> = name.to_str().unwrap_or_default().split('-').collect();
        let ["windlass", _, process, ..] = words.as_slice() else { continue };
        let is_dead =
            process.parse::<u32>().is_ok_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_dead {
            for inner in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                let _somebody_is_there = fs::remove_dir(inner.path());
            }
            let _somebody_is_there = fs::remove_dir(entry.path());
        }
    }
}

impl Place {
    /// Returns the names of the files that this process may write to in a new group. The function tests the
    /// limit files and the file `cgroup.kill`. For the test, the function creates a group with a subgroup,
    /// and then removes both. If no process can be put into the subgroup, the function returns no names.
    fn probe(&self) -> BTreeSet<&'static str> {
        let name = format!("windlass-probe-{}-{:?}", std::process::id(), std::thread::current().id());
        let outer = self.folder.join(name.replace(['(', ')'], ""));
        let inner = outer.join("job");
        let (entrance, controllers): (_, &[Controller]) = match self.version {
            Version::V1 => ("tasks", &[]),
            Version::V2 => ("cgroup.procs", &Controller::ALL),
        };
        delegate(&self.folder, controllers);
        let mut writable = BTreeSet::new();
        if fs::create_dir(&outer).is_ok() {
            delegate(&outer, controllers);
            if fs::create_dir(&inner).is_ok() {
                let is_writable = |file: &str| fs::File::options().write(true).open(inner.join(file)).is_ok();
                if is_writable(entrance) {
                    let limits = Controller::ALL.map(|controller| file(controller, self.version));
                    writable = limits.into_iter().chain([KILL]).filter(|file| is_writable(file)).collect();
                }
                let _removed = fs::remove_dir(&inner);
            }
            let _removed = fs::remove_dir(&outer);
        }
        writable
    }
}

/// The mounted hierarchies of control groups, and for each hierarchy the folder of this process's own group.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hierarchies {
    unified: Option<Unified>,
    of_version_1: BTreeMap<Controller, PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
struct Unified {
    root: PathBuf,
    own: PathBuf,
}

impl Hierarchies {
    /// Parses `/proc/self/mountinfo` and `/proc/self/cgroup`.
    fn read(mounts: &str, own: &str) -> Self {
        let mut found = Self::default();
        for (mount, options) in mounts.lines().filter_map(mount) {
            let is_unified = options.is_none();
            let has = |controller: &str| {
                options.is_some_and(|options| options.split(',').any(|option| option == controller))
            };
            // `4:memory:/path`, `1:cpu,cpuacct:/path`, `0::/path`
            for (controllers, path) in own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'))
            {
                let Some(folder) = mount.folder(path) else { continue };
                if is_unified && controllers.is_empty() && found.unified.is_none() {
                    found.unified = Some(Unified { root: PathBuf::from(mount.point), own: folder });
                    continue;
                }
                for controller in Controller::ALL {
                    let name = controller.name();
                    if has(name) && controllers.split(',').any(|one| one == name) {
                        found.of_version_1.entry(controller).or_insert_with(|| folder.clone());
                    }
                }
            }
        }
        found
    }
}

struct Mount<'a> {
    /// Path of the control group at which the mounted part of the hierarchy begins.
    root: &'a str,
    point: &'a str,
}

impl Mount<'_> {
    /// Returns the folder of a group of the hierarchy; `None` if the group is outside of the mounted part.
    fn folder(&self, group: &str) -> Option<PathBuf> {
        let below = Path::new(group).strip_prefix(self.root).ok()?;
        let leads_out = below.components().any(|part| !matches!(part, std::path::Component::Normal(_)));
        (!leads_out).then(|| {
            if below.as_os_str().is_empty() {
                PathBuf::from(self.point)
            } else {
                Path::new(self.point).join(below)
            }
        })
    }
}

/// Parses a line of `mountinfo` (proc_pid_mountinfo(5)), such as
/// `36 35 0:31 /root /point rw … - cgroup cgroup rw,memory`. Returns the mount and the options of its
/// hierarchy, or `None` if the line describes no control groups. Only a hierarchy of version 1 has options.
fn mount(line: &str) -> Option<(Mount<'_>, Option<&str>)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    let mount = Mount { root: fields.next()?, point: fields.next()? };
    let mut kind = after.split(' ');
    match (kind.next()?, kind.nth(1)) {
        ("cgroup2", _) => Some((mount, None)),
        ("cgroup", Some(options)) => Some((mount, Some(options))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
30 20 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:28 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
";

    fn unified(root: &str, own: &str) -> Unified {
        Unified { root: root.into(), own: own.into() }
    }

    #[test]
    fn both_versions_beside_each_other() {
        let found = Hierarchies::read(HYBRID, "5:cpu,cpuacct:/\n4:memory:/a/b\n3:pids:/\n0::/c\n");
        assert_eq!(found.unified, Some(unified("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/c")));
        let folders: Vec<_> = found.of_version_1.into_iter().collect();
        assert_eq!(
            folders,
            [
                (Controller::Memory, PathBuf::from("/sys/fs/cgroup/memory/a/b")),
                (Controller::Cpu, PathBuf::from("/sys/fs/cgroup/cpu,cpuacct")),
            ]
        );
    }

    #[test]
    fn version_2_alone() {
        let mounts = "29 23 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = Hierarchies::read(mounts, "0::/user.slice/user-0.slice\n");
        assert_eq!(found.unified, Some(unified("/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/user-0.slice")));
        assert!(found.of_version_1.is_empty());
    }

    #[test]
    fn a_part_of_a_hierarchy_is_mounted() {
        let mounts = "29 23 0:25 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            Hierarchies::read(mounts, "0::/docker/x/y\n").unified,
            Some(unified("/sys/fs/cgroup", "/sys/fs/cgroup/y"))
        );
        assert_eq!(
            Hierarchies::read(mounts, "0::/docker/x\n").unified,
            Some(unified("/sys/fs/cgroup", "/sys/fs/cgroup"))
        );
        // This process is in a group outside of the mounted part.
        assert_eq!(Hierarchies::read(mounts, "0::/other\n").unified, None);
        let all = "29 23 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(Hierarchies::read(all, "0::/../other\n").unified, None);
    }

    #[test]
    fn what_the_dead_left_is_removed_if_it_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let alive = std::process::id();
        // The id is above the maximum process id, so no process has it.
        let dead = 1 << 23;
        let left =
            [format!("windlass-x-{alive}-1"), "other".to_owned(), format!("windlass-x-{dead}-2/1/full")];
        let gone = [format!("windlass-x-{dead}-1/1"), format!("windlass-probe-{dead}-ThreadId1")];
        for name in left.iter().chain(&gone) {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        remove_abandoned(dir.path());
        assert!(left.iter().all(|name| dir.path().join(name).exists()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), left.len());
    }

    #[test]
    fn none_at_all() {
        assert_eq!(Hierarchies::read("1 0 0:1 / / rw - ext4 /dev/vda rw\n", ""), Hierarchies::default());
    }
}
