//! Restricts the folders that a process may write to, by Landlock. Reading is not restricted.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules,
};
use rustix::io::Errno;

/// Devices that every restricted process may write to.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// Returns the Landlock version of this kernel; `None` without Landlock.
pub(crate) fn version() -> Option<u32> {
    const CREATE_RULESET_VERSION: libc::c_uint = 1;
    #[expect(unsafe_code, reason = "the crate that makes rulesets doesn't tell the version")]
    // SAFETY: with this flag the call reads nothing and returns a number.
    let version = unsafe {
        let nothing = std::ptr::null::<libc::c_void>();
        libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, CREATE_RULESET_VERSION)
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Creates rules that restrict a process. The process may read everything. It may write only below `folders`, and to
/// the devices in `DEVICES`.
pub(crate) fn ruleset(folders: &[PathBuf]) -> io::Result<OwnedFd> {
    // From version 3 on, truncating a file counts as writing.
    let version = match version() {
        Some(3..) => ABI::V3,
        Some(2) => ABI::V2,
        _ => ABI::V1,
    };
    let there = |path: &&Path| path.exists();
    let paths: Vec<&Path> =
        folders.iter().map(PathBuf::as_path).chain(DEVICES.map(Path::new)).filter(there).collect();
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(version))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(paths, AccessFs::from_write(version))))
        .map_err(io::Error::other)?;
    Option::<OwnedFd>::from(made).ok_or_else(|| io::Error::other("the kernel has made no ruleset"))
}

/// Applies the rules to this process. The process must have given up the right to gain privileges
/// (`no_new_privs`).
pub(crate) fn restrict(ruleset: &OwnedFd) -> Result<(), Errno> {
    #[expect(unsafe_code, reason = "the crate that makes rulesets allocates when it binds to them")]
    // SAFETY: the call takes two numbers.
    let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::PERM))
    }
}
