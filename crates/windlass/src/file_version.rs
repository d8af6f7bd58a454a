//! Finds out whether `windlass.yaml` has changed since it was read.

use std::os::unix::fs::MetadataExt as _;

use windlass_project::{FILE_NAME, Project};

/// The version of a file, as the file system describes it. Each change of the file changes its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl FileVersion {
    /// Returns the present version of the project's `windlass.yaml`; `None` if there is no such file.
    pub(crate) fn of(project: &Project) -> Option<Self> {
        let metadata = project.root().join(FILE_NAME).metadata().ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}
