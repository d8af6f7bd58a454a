//! Options of a docker runtime.

use std::{num::NonZeroUsize, time::Duration};

use crate::{User, docker::Environment};

/// Settings of a [`DockerRuntime`](crate::docker::DockerRuntime). Most settings apply only to jobs that do not
/// choose a value themselves. For example, [`user`](Self::user()) sets the user of each job that names no user.
///
/// [`new`](Self::new) returns strict settings: the user `nobody`, 512 MiB of memory, 256 processes, two processors,
/// 256 MiB of `/tmp`. If the container engine can't enforce a limit of the settings, a job that does not set this
/// limit itself runs without the limit. The [description](crate::docker::Description::capabilities) of the engine
/// lists the limits that the engine enforces.
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

    /// Sets the image for jobs that name no image.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Sets the user for jobs that name no user.
    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// Sets the memory limit, in bytes, for jobs that set no memory limit.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets the maximum number of processes for jobs that set no such limit.
    pub fn pids(mut self, pids: u32) -> Self {
        self.pids = pids;
        self
    }

    /// Sets the limit of processor time, in thousandths of one processor, for jobs that set no such limit.
    pub fn cpu_millis(mut self, cpu_millis: u32) -> Self {
        self.cpu_millis = cpu_millis;
        self
    }

    /// Sets the maximum size of `/tmp`, in bytes, for jobs that set no such limit.
    pub fn tmp_bytes(mut self, bytes: u64) -> Self {
        self.tmp_bytes = bytes;
        self
    }

    /// Sets the maximum number of fresh containers that run at a time. Further jobs are queued in this
    /// process. Default: twice the number of the engine's processors.
    pub fn at_once(mut self, at_once: NonZeroUsize) -> Self {
        self.at_once = Some(at_once);
        self
    }

    /// Sets the time for which [`wait`](crate::Runtime::wait) tolerates a container engine that doesn't
    /// answer. After this time, `wait` returns an error. The job continues, and the caller may call `wait`
    /// again.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the time limit of one request to the container engine.
    pub fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// Sets the environment variables by which the Docker client's registry credentials are found.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the name of this client. Labels of all its containers contain the name. Default: a random name.
    pub fn client(mut self, client: impl Into<String>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// Sets the control group that is the parent of all containers.
    pub fn cgroup_parent(mut self, parent: impl Into<String>) -> Self {
        self.cgroup_parent = Some(parent.into());
        self
    }
}
