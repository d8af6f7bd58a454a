//! The set of a runtime's optional capabilities, and the check that this set contains all that a job needs.

use std::collections::BTreeSet;

use crate::{Capability, Job, Network, RuntimeError};

/// The set of a runtime's optional capabilities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities(BTreeSet<Capability>);

impl Capabilities {
    /// Returns the empty set.
    pub fn none() -> Self {
        Self::default()
    }

    /// Tells whether the runtime has this capability.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// Lists the capabilities.
    pub fn iter(&self) -> impl Iterator<Item = Capability> + '_ {
        self.0.iter().copied()
    }

    /// Checks that a job is valid, and that the runtime of kind `runtime` has all capabilities that the job
    /// needs.
    ///
    /// # Errors
    /// [`RuntimeError::Invalid`], or [`RuntimeError::Unsupported`] with all missing capabilities.
    pub fn check(&self, runtime: &str, job: &Job) -> Result<(), RuntimeError> {
        job.check()?;
        let missing: Vec<_> = needs(job).filter(|need| !self.has(*need)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(RuntimeError::Unsupported { runtime: runtime.to_owned(), missing })
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        Self(capabilities.into_iter().collect())
    }
}

fn needs(job: &Job) -> impl Iterator<Item = Capability> {
    let own_network = !matches!(job.network, Network::Default | Network::Host);
    [
        (job.image.is_some(), Capability::Image),
        (own_network, Capability::Network),
        (job.user.is_some(), Capability::User),
        (job.isolation.is_relaxed(), Capability::Isolation),
        (job.isolation.tmp_bytes.is_some(), Capability::TmpLimit),
        (job.limits.memory_bytes.is_some(), Capability::MemoryLimit),
        (job.limits.pids.is_some(), Capability::PidsLimit),
        (job.limits.cpu_millis.is_some(), Capability::CpuLimit),
        (job.limits.open_files.is_some(), Capability::OpenFilesLimit),
    ]
    .into_iter()
    .filter_map(|(needed, capability)| needed.then_some(capability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let mut job = Job::command("true").image("demo:1").network(Network::None);
        job.limits.pids = Some(3);
        let can: Capabilities = [Capability::Network].into_iter().collect();
        let error = can.check("process", &job).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the runtime `process` can't give the job an image, a limit on processes"
        );
    }

    #[test]
    fn the_hosts_network_needs_nothing() {
        let job = Job::command("true").network(Network::Host);
        assert!(Capabilities::none().check("process", &job).is_ok());
    }
}
