//! What a docker runtime is told when it is opened.

use std::{num::NonZeroUsize, time::Duration};

use crate::{User, docker::Environment};

/// How a [`DockerRuntime`](crate::docker::DockerRuntime) runs jobs that don't say themselves.
///
/// The defaults are the strict ones: `nobody` as the user, 512 MiB of memory, 256 processes, two processors, 256 MiB of
/// `/tmp`. A limit that the engine can't enforce is left out, and its
/// [description](crate::docker::Description::capabilities) shows which.
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
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs jobs that name no image in this one.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Runs jobs that name no user as this one.
    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// Gives this much memory to jobs that ask for no amount.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Gives this many processes to jobs that ask for no number.
    pub fn pids(mut self, pids: u32) -> Self {
        self.pids = pids;
        self
    }

    /// Gives this much processor time a second to jobs that ask for no amount, in thousandths of one processor.
    pub fn cpu_millis(mut self, cpu_millis: u32) -> Self {
        self.cpu_millis = cpu_millis;
        self
    }

    /// Gives a `/tmp` of this size to jobs that ask for none.
    pub fn tmp_bytes(mut self, bytes: u64) -> Self {
        self.tmp_bytes = bytes;
        self
    }

    /// Runs this many jobs at a time, the others wait for their turn here; twice the engine's processors if not given.
    pub fn at_once(mut self, at_once: NonZeroUsize) -> Self {
        self.at_once = Some(at_once);
        self
    }

    /// Waits this long for an engine that doesn't answer before [`wait`](crate::Runtime::wait) gives up with an error.
    /// The job isn't given up: it can be waited for again.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Gives the engine this long for one call.
    pub fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// Looks for credentials of registries as the Docker client with this environment does.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Names this client, instead of by a random name, on the labels of all that it makes.
    pub fn client(mut self, client: impl Into<String>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// Puts containers below this control group.
    pub fn cgroup_parent(mut self, parent: impl Into<String>) -> Self {
        self.cgroup_parent = Some(parent.into());
        self
    }
}
