//! A client of a container engine.

use std::{
    collections::BTreeSet,
    future::{Future, ready},
    sync::Arc,
    time::Duration,
};

use bollard::{
    API_DEFAULT_VERSION, ClientVersion, Docker,
    models::{SystemInfo, SystemVersion},
    query_parameters::{RemoveContainerOptionsBuilder, WaitContainerOptionsBuilder},
};
use futures::StreamExt;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Capability,
    docker::{Endpoint, EngineChoice, EngineError, Environment, Host, error::classified, podman},
};

/// Maximum time for a container engine to answer a ping.
const PING_LIMIT: Duration = Duration::from_secs(2);

/// Maximum time for an answer to a ping over ssh. This time is longer than [`PING_LIMIT`], because the ping first
/// connects by ssh, and starts a program on the other machine.
const SSH_PING_LIMIT: Duration = Duration::from_secs(20);

/// Default time limit of one request to a container engine.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Maximum time to wait for a container that ends by itself. Afterwards the container is removed by force.
const OWN_END: Duration = Duration::from_secs(10);

/// First pause between two polls of a changing state.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(20);
pub(crate) const LAST_PAUSE: Duration = Duration::from_millis(500);

/// The timeout of the client library, in seconds. It is so long that the limits of this module always end a
/// request first.
const NEVER: u64 = 24 * 60 * 60;

/// A client of a container engine, cheap to clone.
///
/// The client and the engine agree on an API version once. Each request opens a connection of its own, so the
/// client never needs to reconnect.
#[derive(Debug, Clone)]
pub struct Engine {
    docker: Docker,
    endpoint: Arc<Endpoint>,
    limit: Duration,
    /// The engine's answer to the request for its version, which [`connect_to`](Self::connect_to) sends. `None` if
    /// the connection uses ssh.
    version: Option<Arc<SystemVersion>>,
}

/// The properties of a container engine, from [`Engine::describe`]. The docker runtime refuses a job that needs a
/// capability which is missing in [`capabilities`](Self::capabilities).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// Endpoint of the container engine.
    pub endpoint: Endpoint,
    /// Kind of the container engine.
    pub kind: EngineKind,
    /// Version of the container engine.
    pub version: String,
    /// API version on which client and engine agreed.
    pub api: String,
    /// Whether the container engine runs without root rights.
    pub rootless: bool,
    /// Version of the control groups that enforce limits: `1` or `2`.
    pub cgroup: String,
    /// Capabilities that the container engine has, such as [`Capability::MemoryLimit`]. If the capability for a limit
    /// is missing, the engine accepts the limit, but does not enforce it.
    pub capabilities: BTreeSet<Capability>,
    /// Names of the security options, such as `seccomp`, `apparmor`, `selinux` or `userns`.
    pub security: Vec<String>,
    /// Whether jobs survive a restart of the container engine.
    pub live_restore: bool,
    /// Number of processors of the host of the container engine.
    pub processors: usize,
    /// Processor architecture of the host of the container engine, as images name it, such as `amd64`.
    pub architecture: String,
    /// Whether the tests of this project cover this kind of connection. The value is `false` if the client can't find
    /// out whether the engine runs without root rights. An example is a connection to Podman over ssh or TLS.
    pub tested: bool,
}

/// The kind of a container engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineKind {
    /// Docker, or an engine that reports itself as Docker.
    Docker,
    /// The engine is Podman.
    Podman,
}

impl Engine {
    /// Connects to a container engine, and agrees with it on an API version.
    ///
    /// # Errors
    /// [`EngineError`] when the endpoint can't be found, or when the engine doesn't answer in time (see
    /// [`Self::ping`]).
    pub async fn connect(choice: &EngineChoice, environment: &Environment) -> Result<Self, EngineError> {
        Self::connect_to(Endpoint::resolve(choice, environment)?).await
    }

    /// Connects to the container engine at an endpoint.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`] if the engine can't be reached. [`EngineError::Slow`] if it doesn't answer in time.
    /// [`EngineError::Protocol`] if the engine reports an API version that can't be parsed.
    pub async fn connect_to(endpoint: Endpoint) -> Result<Self, EngineError> {
        let docker = open(&endpoint, API_DEFAULT_VERSION)?;
        let engine = Self { docker, endpoint: Arc::new(endpoint), limit: CALL_LIMIT, version: None };
        engine.ping().await?;
        // The engine has answered a ping. The answer about its version may take longer, up to a second for
        // some engines. So this answer is kept for the description of the engine.
        if let Host::Ssh(_) = engine.endpoint.host {
            // The same client is used for the version, since another client would open another session of
            // `ssh`.
            let negotiated = engine.docker.clone().negotiate_version();
            let docker = engine.within(CALL_LIMIT, "agree on a version", negotiated).await?;
            return Ok(Self { docker, ..engine });
        }
        let version = engine.within(CALL_LIMIT, "agree on a version", engine.docker.version()).await?;
        let docker = match spoken(&version) {
            Some(spoken) if spoken < *API_DEFAULT_VERSION => open(&engine.endpoint, &spoken)?,
            Some(_) => engine.docker,
            None => {
                return Err(EngineError::Protocol {
                    action: "agree on a version".to_owned(),
                    problem: format!("it speaks `{}`", version.api_version.unwrap_or_default()),
                });
            }
        };
        Ok(Self { docker, version: Some(Arc::new(version)), ..engine })
    }

    /// Sets the time limit of each request.
    #[must_use]
    pub fn with_call_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the endpoint of the engine.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Checks that the container engine answers.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`] or [`EngineError::Slow`], after at most two seconds, or twenty over ssh.
    pub async fn ping(&self) -> Result<(), EngineError> {
        let limit = ping_limit(&self.endpoint.host);
        self.within(limit.min(self.limit), "report that it is running", self.docker.ping()).await?;
        Ok(())
    }

    /// Requests the properties of the engine and the limits that it enforces.
    ///
    /// # Errors
    /// [`EngineError`] when the engine doesn't answer.
    pub async fn describe(&self) -> Result<Description, EngineError> {
        let version = match &self.version {
            Some(version) => version.clone(),
            None => Arc::new(self.call("report its version", self.docker.version()).await?),
        };
        let info = self.call("describe itself", self.docker.info());
        let (info, rootless) = match kind(&version) {
            EngineKind::Docker => {
                let info = info.await?;
                let rootless = security(&info).any(|option| option.contains("rootless"));
                (info, Some(rootless))
            }
            EngineKind::Podman => {
                let (info, rootless) = tokio::join!(info, podman::is_rootless(&self.endpoint));
                (info?, rootless)
            }
        };
        Ok(self.description(&version, &info, rootless))
    }

    /// Waits for a container that ends by itself, and that the engine then removes. After a time limit,
    /// removes the container by force. The wait comes first, because some engines fail if a client removes a
    /// container at the moment when it ends.
    ///
    /// # Errors
    /// As [`Self::remove_container`].
    pub(crate) async fn wait_and_remove(&self, name: &str) -> Result<(), EngineError> {
        let options = WaitContainerOptionsBuilder::default().condition("removed").build();
        let gone = self.docker.wait_container(name, Some(options)).for_each(|_| ready(()));
        // Removing a container that is already gone is harmless.
        let _still_there = timeout(OWN_END.min(self.limit), gone).await;
        self.remove_container(name, true).await
    }

    /// Kills a container if it runs, and removes the container. If `volumes` is true, also removes the container's
    /// anonymous volumes. Then waits until the container is gone. It is no error if the container does not exist,
    /// or if another client removes the container at the same time.
    ///
    /// # Errors
    /// [`EngineError`] when the engine doesn't answer, or can't remove the container within the time limit of
    /// a request.
    pub(crate) async fn remove_container(&self, name: &str, volumes: bool) -> Result<(), EngineError> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(volumes).build();
        let limit = Instant::now() + self.limit;
        let mut pause = FIRST_PAUSE;
        loop {
            let removed = self.docker.remove_container(name, Some(options.clone()));
            match self.call("remove a container", removed).await {
                Err(error) if error.is_absent() => return Ok(()),
                Err(error) if error.is_being_removed() && Instant::now() < limit => {
                    sleep(pause).await;
                    pause = (pause * 2).min(LAST_PAUSE);
                }
                removed => return removed,
            }
        }
    }

    fn description(&self, version: &SystemVersion, info: &SystemInfo, rootless: Option<bool>) -> Description {
        let cgroup = info.cgroup_version.map_or_else(|| "1".to_owned(), |version| version.to_string());
        Description {
            endpoint: (*self.endpoint).clone(),
            kind: kind(version),
            version: version.version.clone().unwrap_or_default(),
            api: self.docker.client_version().to_string(),
            rootless: rootless.unwrap_or(false),
            // Rootless Podman may ignore limits. If it is unknown whether Podman is rootless, no limit is promised.
            capabilities: capabilities(info, rootless.unwrap_or(true), &cgroup),
            cgroup,
            security: security(info).map(named).collect(),
            live_restore: info.live_restore_enabled.unwrap_or(false),
            processors: info.ncpu.and_then(|count| usize::try_from(count).ok()).unwrap_or(1),
            architecture: version.arch.clone().unwrap_or_default(),
            tested: rootless.is_some(),
        }
    }

    /// Returns the underlying client, for requests that are sent through [`call`](Self::call).
    pub(crate) fn client(&self) -> &Docker {
        &self.docker
    }

    /// Sends one request within the time limit. `action` describes the request for error messages, for example
    /// `load an image`.
    pub(crate) async fn call<T>(
        &self,
        action: &str,
        call: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, EngineError> {
        self.within(self.limit, action, call).await
    }

    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        action: &str,
        call: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, EngineError> {
        match timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.error(action, error)),
            Err(_) => Err(EngineError::Slow {
                endpoint: self.endpoint.to_string(),
                action: action.to_owned(),
                limit,
            }),
        }
    }

    pub(crate) fn error(&self, action: &str, error: bollard::errors::Error) -> EngineError {
        classified(&self.endpoint.to_string(), action, self.limit, error)
    }
}

/// Returns the API version of a container engine; `None` if the version is malformed.
fn spoken(version: &SystemVersion) -> Option<ClientVersion> {
    let (major, minor) = version.api_version.as_deref()?.split_once('.')?;
    Some(ClientVersion { major_version: major.parse().ok()?, minor_version: minor.parse().ok()? })
}

fn open(endpoint: &Endpoint, version: &ClientVersion) -> Result<Docker, EngineError> {
    let address = endpoint.host.to_string();
    if let Host::Ssh(machine) = &endpoint.host
        && let Some((machine, port)) = with_port(machine)
    {
        let alias = machine.rsplit('@').next().unwrap_or(machine);
        return Err(EngineError::Unreachable {
            endpoint: address,
            problem: format!(
                "a port can't be given with ssh: write `Host {alias}` and `Port {port}` to ~/.ssh/config, and \
                 `ssh://{machine}` here"
            ),
        });
    }
    let docker = match (&endpoint.host, &endpoint.tls) {
        (Host::Unix(path), _) => Docker::connect_with_unix(&path.to_string_lossy(), NEVER, version),
        (Host::Tcp(_), None) => Docker::connect_with_http(&address, NEVER, version),
        (Host::Https(_), None) => {
            return Err(EngineError::Unreachable {
                endpoint: address,
                problem: "https needs certificates: set DOCKER_TLS_VERIFY=1, and set DOCKER_CERT_PATH to the folder \
                          with ca.pem, cert.pem and key.pem"
                    .to_owned(),
            });
        }
        (Host::Tcp(_) | Host::Https(_), Some(tls)) => {
            Docker::connect_with_ssl(&address, &tls.key, &tls.cert, &tls.ca, NEVER, version)
        }
        (Host::Ssh(_), _) => Docker::connect_with_ssh(&address, NEVER, version, None),
    };
    docker.map_err(|error| classified(&endpoint.to_string(), "connect", ping_limit(&endpoint.host), error))
}

fn ping_limit(host: &Host) -> Duration {
    if matches!(host, Host::Ssh(_)) { SSH_PING_LIMIT } else { PING_LIMIT }
}

/// Splits `user@machine:22` into `user@machine` and `22`. The client library supports no port for ssh: it
/// takes the whole text as the name of the machine.
fn with_port(machine: &str) -> Option<(&str, u16)> {
    let (machine, port) = machine.rsplit_once(':')?;
    Some((machine, port.parse().ok()?))
}

fn kind(version: &SystemVersion) -> EngineKind {
    let components = version.components.iter().flatten();
    if components.into_iter().any(|component| component.name.contains("Podman")) {
        EngineKind::Podman
    } else {
        EngineKind::Docker
    }
}

fn security(info: &SystemInfo) -> impl Iterator<Item = &str> {
    info.security_options.iter().flatten().map(String::as_str)
}

/// Returns the capabilities of a container engine, including those for the limits that it enforces. `rootless` is
/// also true if the engine doesn't report whether it is rootless. With control groups of version 1, a rootless
/// engine silently ignores the limits of memory, processes and processor time.
fn capabilities(info: &SystemInfo, rootless: bool, cgroup: &str) -> BTreeSet<Capability> {
    let enforces = !rootless || cgroup != "1";
    let mut all: BTreeSet<_> = [
        Capability::Image,
        Capability::Network,
        Capability::User,
        Capability::Isolation,
        Capability::TmpLimit,
        Capability::OpenFilesLimit,
    ]
    .into();
    for (limit, reported) in [
        (Capability::MemoryLimit, info.memory_limit),
        (Capability::PidsLimit, info.pids_limit),
        (Capability::CpuLimit, info.cpu_cfs_quota),
    ] {
        if enforces && reported.unwrap_or(true) {
            all.insert(limit);
        }
    }
    all
}

/// Returns the name of a security option: `seccomp` for `name=seccomp,profile=default`.
fn named(option: &str) -> String {
    let name = option.split(',').find_map(|part| part.strip_prefix("name="));
    name.unwrap_or(option).to_owned()
}
