//! The meaning of a plain script's exit code.

use windlass_executor::{End, Outcome};

use crate::role::Role;

/// The exit code of a script whose instance is still converging: `EX_TEMPFAIL` of `sysexits.h`.
pub(crate) const CONVERGING: i32 = 75;

/// The exit code of a health check whose instance no longer exists. Shells do not exit with this code, and
/// neither do programs that health checks often call, such as `curl`, `grep` and `systemctl`.
pub(crate) const GONE: i32 = 104;

/// The result that a plain script states by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The script has succeeded. For a health check: the instance is active.
    Success,
    /// The exit code is [`CONVERGING`]: the instance has not settled yet.
    Converging,
    /// The health check found that the instance is not active.
    Inactive,
    /// The health check found that the instance no longer exists.
    Gone,
}

impl Exit {
    /// Returns the result that a plain script states by its exit code; `None` if the script has failed. `role` is
    /// the role of the script, because some exit codes have a meaning only for a health check.
    ///
    /// For a health check, other exit codes than 0 usually mean that the instance is not active, as in Kubernetes and
    /// Nagios. With the codes 126 and 127, the result is `None`: a shell exits with one of these codes if it could not
    /// run a command, so the health check has observed nothing.
    pub(crate) fn of(role: &Role, outcome: &Outcome) -> Option<Self> {
        match outcome.end {
            End::Exited(0) => Some(Self::Success),
            End::Exited(CONVERGING) if *role != Role::Discover => Some(Self::Converging),
            End::Exited(GONE) if *role == Role::HealthCheck => Some(Self::Gone),
            End::Exited(1..=125) if *role == Role::HealthCheck => Some(Self::Inactive),
            _ => None,
        }
    }
}
