//! Options of a docker runtime.

use std::{num::NonZeroUsize, time::Duration};

use crate::{User, docker::Environment};

/// Settings with which a [`DockerRuntime`](crate::docker::DockerRuntime) runs jobs that don't set their own.
///
/// The defaults are strict: `nobody` as the user, 512 MiB of memory, 256 processes, two processors, 256 MiB
/// of `/tmp`. A limit that the engine can't enforce is left out. The engine's
/// [description](crate::docker::Description::capabilities) lists the limits that it enforces.
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a runtime is opened with them"]
pub struct DockerOptions {
    pub(crate) image: Option<String>,
    pub(crate) user: User,
    pub(crate) memory_bytes: u64,
    pub(crate) pids: u32,
    pub(crate) cpu_millis: u32,
    pub(crate) tmp_bytes: u64,
    pub(crate) at_once: Option<NonZeroUsize>,
    pub(crate) patience: Duration,
    pub(crate) call_limit: Duration,
    pub(crate) environment: Environment,
    pub(crate) client: Option<String>,
    pub(crate) cgroup_parent: Option<String>,
}

impl Default for DockerOptions {
    fn default() -> Self {
        Self {
            image: None,
            user: User::new(65534, Some(65534)),
            memory_bytes: 512 << 20,
            pids: 256,
            cpu_millis: 2000,
            tmp_bytes: 256 << 20,
            at_once: None,
            patience: Duration::from_secs(60),
            call_limit: super::engine::CALL_LIMIT,
            environment: Environment::default(),
            client: None,
            cgroup_parent: None,
        }
    }
}

impl DockerOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the image of jobs that name none.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Sets the user of jobs that name none.
    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// Sets the memory limit of jobs that set none, in bytes.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets the maximum number of processes of jobs that set none.
    pub fn pids(mut self, pids: u32) -> Self {
        self.pids = pids;
        self
    }

    /// Sets the processor time per second of jobs that set none, in thousandths of one processor.
    pub fn cpu_millis(mut self, cpu_millis: u32) -> Self {
        self.cpu_millis = cpu_millis;
        self
    }

    /// Sets the size of `/tmp` of jobs that set none, in bytes.
    pub fn tmp_bytes(mut self, bytes: u64) -> Self {
        self.tmp_bytes = bytes;
        self
    }

    /// Sets the maximum number of concurrent jobs; further jobs are queued in this process. Default: twice
    /// the engine's processors.
    pub fn at_once(mut self, at_once: NonZeroUsize) -> Self {
        self.at_once = Some(at_once);
        self
    }

    /// Sets how long [`wait`](crate::Runtime::wait) tolerates an engine that doesn't answer, before it
    /// returns an error. The job continues, and the wait can be repeated.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the time limit of one engine call.
    pub fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// Sets the environment in which the Docker client's registry credentials are looked up.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the name of this client, which labels all its objects. Default: a random name.
    pub fn client(mut self, client: impl Into<String>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// Sets the parent control group of containers.
    pub fn cgroup_parent(mut self, parent: impl Into<String>) -> Self {
        self.cgroup_parent = Some(parent.into());
        self
    }
}
