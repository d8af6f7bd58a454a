//! Holding a process to less than its user may: system-call filters (seccomp) and file access (Landlock).
//!
//! Both need no rights and no program, bind a process and all it starts, and can't be taken off again. What a kernel
//! hasn't is not pretended: [`Confinement::probe`] tells what is there, and a runtime that is told to confine where it
//! can't does not open.

mod calls;
mod files;

use std::{io, os::fd::OwnedFd, path::PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// What the jobs of a [process runtime](crate::process) may not do although their user may. By default, nothing is taken from
/// them.
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
    /// Where jobs may write beside their own folders; `None`: wherever their user may.
    write: Option<Vec<PathBuf>>,
}

/// What this host's kernel has for a [`Confinement`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Available {
    /// System-call filters.
    pub seccomp: bool,
    /// The version of Landlock; `None` if there is none, or if it is switched off.
    pub landlock: Option<u32>,
}

/// Why this host's kernel can't enforce a [`Confinement`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// No system-call filters.
    #[error("this kernel has no system-call filters (CONFIG_SECCOMP_FILTER)")]
    Seccomp,
    /// No Landlock.
    #[error(
        "this kernel has no Landlock, or it is switched off (CONFIG_SECURITY_LANDLOCK, boot parameter `lsm=landlock,…`)"
    )]
    Landlock,
}

impl Confinement {
    /// Restricts nothing: jobs may do what their user may.
    pub fn none() -> Self {
        Self::default()
    }

    /// Refuses system calls that ordinary programs have no need for: mounting, namespaces, tracing, kernel modules, keys,
    /// clocks, `bpf`, `io_uring` and the like.
    pub fn filter_system_calls(mut self) -> Self {
        self.filter = true;
        self
    }

    /// Lets jobs write only below their own folder, their volumes, and these.
    pub fn write_only_to<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.write = Some(paths.into_iter().map(Into::into).collect());
        self
    }

    /// Tells whether it restricts nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Finds out what this kernel has.
    pub fn probe() -> Available {
        Available { seccomp: calls::are_filtered(), landlock: files::version() }
    }

    /// Checks that this kernel can enforce it.
    ///
    /// # Errors
    /// The first thing that it can't enforce.
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

    /// Makes everything that a child needs to confine itself. `own` are the job's folders.
    pub(crate) fn prepare(&self, own: &[PathBuf]) -> io::Result<Prepared> {
        if self.filter {
            calls::make_ready();
        }
        let write = self.write.as_deref().map(|paths| files::ruleset(&[own, paths].concat()));
        Ok(Prepared { filter: self.filter, files: write.transpose()? })
    }
}

/// Returns the filters of system calls, for another program to load.
pub(crate) fn filters() -> io::Result<Vec<OwnedFd>> {
    calls::as_files()
}

/// Gives this process a session keyring of its own instead of that of whoever started it, whose keys are not for jobs.
/// Where there is no room for one more, or there are no keyrings, it keeps what it has. It makes one system call.
pub(crate) fn leave_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    #[expect(unsafe_code, reason = "neither `std` nor rustix has keyrings")]
    // SAFETY: the call is given no name, so that it reads nothing.
    let _or_keeps_it =
        unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
}

/// What a child puts on.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    filter: bool,
    files: Option<OwnedFd>,
}

impl Prepared {
    /// Puts it on. To be called in a child, as the last thing before it executes its program: it makes system calls
    /// only.
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
