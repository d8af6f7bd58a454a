//! Restricts the system calls of a process by filters (seccomp), and its access to files by rules (Landlock).
//! These restrictions apply in addition to the permissions of the process's user.
//!
//! The restrictions need no privileges and no external program. They apply to the process and all its
//! descendants, and can't be undone. [`Confinement::probe`] reports whether the kernel has filters and Landlock. If
//! the kernel can't enforce a confinement, a runtime with this confinement refuses to open.

mod calls;
mod files;

use std::{io, os::fd::OwnedFd, path::PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Restrictions of the jobs of a [process runtime](crate::process), in addition to the permissions of the job's
/// user. The default value restricts nothing.
///
/// ```
/// use windlass_executor::process::Confinement;
///
/// let held = Confinement::none().filter_system_calls().write_only_to(["/var/cache/demo"]);
/// if let Err(missing) = held.check() {
///     println!("not on this host: {missing}");
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[must_use = "it does nothing until a runtime is opened with it"]
pub struct Confinement {
    filter: bool,
    /// Folders that jobs may write to in addition to their own folders. If `None`, writing is not restricted.
    write: Option<Vec<PathBuf>>,
}

/// The features of this host's kernel that a [`Confinement`] can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Available {
    /// Whether system-call filters are available.
    pub seccomp: bool,
    /// Version of Landlock; `None` if it is missing or switched off.
    pub landlock: Option<u32>,
}

/// The reason why this host's kernel can't enforce a [`Confinement`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The kernel has no system-call filters.
    #[error("this kernel has no system-call filters (CONFIG_SECCOMP_FILTER)")]
    Seccomp,
    /// The kernel has no Landlock.
    #[error(
        "this kernel has no Landlock, or it is switched off (CONFIG_SECURITY_LANDLOCK, boot parameter `lsm=landlock,…`)"
    )]
    Landlock,
}

impl Confinement {
    /// Creates a confinement without restrictions.
    pub fn none() -> Self {
        Self::default()
    }

    /// Refuses system calls that ordinary programs don't need, such as calls for mounting, namespaces,
    /// tracing, kernel modules, keys, clocks, `bpf` and `io_uring`.
    pub fn filter_system_calls(mut self) -> Self {
        self.filter = true;
        self
    }

    /// Allows a job to write only to its own folders, its volumes, the folders `paths`, and devices such as
    /// `/dev/null`.
    pub fn write_only_to<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.write = Some(paths.into_iter().map(Into::into).collect());
        self
    }

    /// Tells whether the confinement restricts nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the features of this host's kernel that a confinement can use.
    pub fn probe() -> Available {
        Available { seccomp: calls::are_filtered(), landlock: files::version() }
    }

    /// Checks that this kernel can enforce the confinement.
    ///
    /// # Errors
    /// The first restriction that the kernel can't enforce.
    pub fn check(&self) -> Result<(), Unavailable> {
        let there = Self::probe();
        if self.filter && !there.seccomp {
            return Err(Unavailable::Seccomp);
        }
        if self.write.is_some() && there.landlock.is_none() {
            return Err(Unavailable::Landlock);
        }
        Ok(())
    }

    /// Prepares the restrictions before the fork. `own` contains the paths of the job's own folders, to which the
    /// job may always write.
    pub(crate) fn prepare(&self, own: &[PathBuf]) -> io::Result<Prepared> {
        if self.filter {
            calls::make_ready();
        }
        let write = self.write.as_deref().map(|paths| files::ruleset(&[own, paths].concat()));
        Ok(Prepared { filter: self.filter, files: write.transpose()? })
    }
}

/// Returns the system-call filters as files, which `bwrap` loads.
pub(crate) fn filters() -> io::Result<Vec<OwnedFd>> {
    calls::as_files()
}

/// Moves this process to a new session keyring, so that jobs have no access to the keys of the session that started
/// `windlass`. If the kernel has no keyrings, or the quota of keyrings is used up, the process keeps the old
/// keyring. The function makes only one system call. So a new child process may also call it between `fork` and
/// `exec`.
pub(crate) fn leave_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    #[expect(unsafe_code, reason = "neither `std` nor rustix has keyrings")]
    // SAFETY: the call is given no name, so that it reads nothing.
    let _or_keeps_it =
        unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
}

/// The prepared restrictions, which a child applies to itself.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    filter: bool,
    files: Option<OwnedFd>,
}

impl Prepared {
    /// Applies the restrictions to the calling child, as the last step before the child executes its program.
    /// The function makes only system calls.
    pub(crate) fn put_on(&self) -> Result<(), Errno> {
        if self.files.is_none() && !self.filter {
            return Ok(());
        }
        rustix::thread::set_no_new_privs(true)?;
        if let Some(ruleset) = &self.files {
            files::restrict(ruleset)?;
        }
        if self.filter { calls::filter() } else { Ok(()) }
    }
}
