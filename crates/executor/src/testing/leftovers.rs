//! Finds leftovers of a runtime on its host: containers, networks, volumes, mounts, processes, control
//! groups, files.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep};

use super::PATIENCE;

/// The objects of a runtime, such as containers and processes, that exist before a test case. They are compared
/// with the objects that exist after the case.
///
/// A runtime provides the function that lists its objects: one line for each, such as `container 4f5a…` or
/// `process 4711`. Cases run concurrently, so the function must list only the objects of its own case.
///
/// ```
/// # use std::collections::BTreeSet;
/// # use windlass_executor::testing::leftovers::Leftovers;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// async fn look() -> BTreeSet<String> {
///     // … ask the engine for all that carries our label …
///     BTreeSet::new()
/// }
/// let before = Leftovers::before(look).await;
/// // … the case …
/// before.after(look).await;
/// # });
/// ```
#[derive(Debug)]
#[must_use = "what was there before means nothing until it is compared"]
pub struct Leftovers(BTreeSet<String>);

impl Leftovers {
    /// Lists the objects of the runtime that exist before a case. `look` returns one line for each object, for
    /// example `process 4711`.
    pub async fn before(look: impl AsyncFn() -> BTreeSet<String>) -> Self {
        Self(look().await)
    }

    /// Checks that no object remains that did not exist before the case. Repeats the check for a while, because
    /// ended objects may take a moment to disappear. `look` returns one line for each object.
    ///
    /// # Panics
    /// When an object remains that did not exist before the case.
    pub async fn after(self, look: impl AsyncFn() -> BTreeSet<String>) {
        let limit = Instant::now() + PATIENCE;
        loop {
            let now = look().await;
            let left: Vec<_> = now.difference(&self.0).collect();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < limit, "this is left: {left:#?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Lists those mounts of this host whose line in `/proc/self/mountinfo` contains `mark`.
pub fn mounts(mark: &str) -> BTreeSet<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    table.lines().filter(|line| line.contains(mark)).map(|line| format!("mount {line}")).collect()
}

/// Lists the processes of this host whose command line or environment contains `mark`.
pub fn processes(mark: &str) -> BTreeSet<String> {
    let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_mark = |pid: &u32| {
        ["environ", "cmdline"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            bytes.windows(mark.len().max(1)).any(|window| window == mark.as_bytes())
        })
    };
    numbers.filter(has_mark).map(|pid| format!("process {pid}")).collect()
}

/// Lists the entries of `folder` that a case must not leave behind: files and folders, at any depth.
///
/// A volume remains after its jobs, but the case must remove the files in the volume. So the list contains these files,
/// but neither the folder `volumes` nor the folders of the volumes, such as `volumes/cache`.
pub fn files(folder: &std::path::Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in entries(folder) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && entry.file_name() == "volumes" {
            found.extend(entries(&entry.path()).flat_map(|volume| files(&volume.path())));
            continue;
        }
        found.insert(format!("file {}", entry.path().display()));
        if is_folder {
            found.extend(files(&entry.path()));
        }
    }
    found
}

fn entries(folder: &std::path::Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Lists the control groups for the jobs of a process or sandbox runtime, in all mounted hierarchies. `state`
/// is the jobs folder of the runtime.
#[cfg(feature = "process")]
pub fn groups(state: &std::path::Path) -> BTreeSet<String> {
    let name = crate::process::groups::name_of(state);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points =
        mounts.lines().filter(|line| line.contains(" - cgroup")).filter_map(|line| line.split(' ').nth(4));
    let mut found = BTreeSet::new();
    for point in points {
        below(std::path::Path::new(point), &name, &mut found);
    }
    found
}

#[cfg(feature = "process")]
fn below(folder: &std::path::Path, name: &str, found: &mut BTreeSet<String>) {
    for entry in entries(folder) {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with(name) {
            found.insert(format!("control group {}", entry.path().display()));
        }
        below(&entry.path(), name, found);
    }
}
