//! Finds the endpoint of a container engine from a setting, the environment and the Docker client's contexts.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::docker::Environment;

/// Default socket of Docker.
const DOCKER_SOCKET: &str = "/var/run/docker.sock";

/// Socket of the host's Podman service.
const PODMAN_SOCKET: &str = "/run/podman/podman.sock";

/// The container engine that a location in `windlass.yaml` names.
///
/// ```
/// use windlass_executor::docker::EngineChoice;
///
/// assert_eq!("docker".parse(), Ok(EngineChoice::Docker));
/// assert_eq!("podman".parse(), Ok(EngineChoice::Podman));
/// assert!(matches!("tcp://build-1:2375".parse(), Ok(EngineChoice::Host(_))));
/// assert!("dcoker".parse::<EngineChoice>().is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineChoice {
    /// The engine that the Docker client would use. The client uses the first of these settings that exists: the
    /// variable `DOCKER_HOST`, the variable `DOCKER_CONTEXT`, and the current context in the client's configuration. If
    /// none of them exists, the client uses the default socket.
    #[default]
    Docker,
    /// The Podman service: the user's own socket if it exists, otherwise the socket of the host.
    Podman,
    /// The engine of this context of the Docker client.
    Context(String),
    /// The engine at this address.
    Host(Host),
}

/// The address of a container engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Host {
    /// A socket of this machine.
    Unix(PathBuf),
    /// A host and a port. The connection is encrypted if the endpoint has certificates.
    Tcp(String),
    /// A host and a port. The connection is always encrypted, so the endpoint must have certificates.
    Https(String),
    /// A machine that can be reached by `ssh` and can run `docker system dial-stdio`. The text has a form
    /// that `ssh` accepts, such as `user@host`.
    Ssh(String),
}

/// The endpoint of a container engine: its address and certificates. [`Endpoint::resolve`] creates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Address of the container engine.
    pub host: Host,
    /// Certificates for TCP. Without certificates, a connection to [`Host::Tcp`] is not encrypted, and a connection to
    /// [`Host::Https`] is refused.
    pub tls: Option<Tls>,
    /// A text for people. It names the place where the address was found, for example `DOCKER_HOST`.
    pub source: String,
}

/// The files, in PEM, by which the client and the container engine authenticate each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Certificate of the authority that signed the certificate of the container engine.
    pub ca: PathBuf,
    /// Certificate of the client.
    pub cert: PathBuf,
    /// Private key of the client.
    pub key: PathBuf,
}

/// An error in the search for the endpoint of a container engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// A text is neither the name nor the address of a container engine.
    #[error(
        "`{found}` is not a container engine: expected docker, podman, or an address such as unix:///var/run/docker.sock, tcp://host:2375, ssh://user@host"
    )]
    Choice {
        /// The text that is neither a name nor an address, for example `dcoker`.
        found: String,
    },
    /// The Docker client has no context with this name.
    #[error("there is no Docker context `{name}` in `{}` (named by {by})", folder.display())]
    NoContext {
        /// Name of the context.
        name: String,
        /// Folder of the contexts.
        folder: PathBuf,
        /// A text for people. It names the place where the context's name was found, for example
        /// `DOCKER_CONTEXT`.
        by: String,
    },
    /// A file of the Docker client's configuration can't be read.
    #[error("can't read `{}`: {problem}", path.display())]
    Config {
        /// The path of the configuration file.
        path: PathBuf,
        /// A description of the problem, as text for people.
        problem: String,
    },
    /// No Podman socket exists.
    #[error(
        "no Podman service answers: none of {looked_at} exists; start one with `systemctl --user start podman.socket` or `podman system service`"
    )]
    NoPodman {
        /// The sockets that were tried.
        looked_at: String,
    },
}

impl FromStr for EngineChoice {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        match text {
            "docker" => Ok(Self::Docker),
            "podman" => Ok(Self::Podman),
            _ => match text.strip_prefix("context:") {
                Some(name) => Ok(Self::Context(name.to_owned())),
                None => text.parse().map(Self::Host),
            },
        }
    }
}

impl PartialEq for EndpointError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl FromStr for Host {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let wrong = || EndpointError::Choice { found: text.to_owned() };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let rest = rest.trim_end_matches('/');
        match scheme {
            _ if rest.is_empty() => Err(wrong()),
            "unix" => Ok(Self::Unix(rest.into())),
            "tcp" | "http" => Ok(Self::Tcp(with_port(rest, 2375))),
            "https" => Ok(Self::Https(with_port(rest, 2376))),
            "ssh" => Ok(Self::Ssh(rest.to_owned())),
            _ => Err(wrong()),
        }
    }
}

/// Adds a port to an address that has none.
fn with_port(address: &str, port: u16) -> String {
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { address.to_owned() } else { format!("{address}:{port}") }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Https(address) => write!(f, "https://{address}"),
            Self::Ssh(address) => write!(f, "ssh://{address}"),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.tls.is_some() { " with TLS" } else { "" };
        write!(f, "{}{tls}", self.host)
    }
}

impl Endpoint {
    /// Finds the endpoint of a container engine. Reads the Docker client's configuration, and opens no
    /// connection.
    ///
    /// # Errors
    /// [`EndpointError`] when the named context, socket or file does not exist or is malformed.
    pub fn resolve(choice: &EngineChoice, environment: &Environment) -> Result<Self, EndpointError> {
        match choice {
            EngineChoice::Docker => docker(environment),
            EngineChoice::Podman => podman(environment),
            EngineChoice::Context(name) => context(name, environment, "the location"),
            EngineChoice::Host(host) => Ok(Self::at(host.clone(), environment, "the location")),
        }
    }

    fn at(host: Host, environment: &Environment, source: &str) -> Self {
        let tls = if matches!(host, Host::Tcp(_) | Host::Https(_)) { tls(environment) } else { None };
        Self { host, tls, source: source.to_owned() }
    }
}

/// Finds the endpoint by the rules of the Docker client. `DOCKER_HOST` takes precedence over every context,
/// and `DOCKER_CONTEXT` takes precedence over the current context.
fn docker(environment: &Environment) -> Result<Endpoint, EndpointError> {
    if let Some(host) = environment.get("DOCKER_HOST") {
        return Ok(Endpoint::at(host.parse()?, environment, "DOCKER_HOST"));
    }
    if let Some(name) = environment.get("DOCKER_CONTEXT") {
        return context(name, environment, "DOCKER_CONTEXT");
    }
    if let Some((name, path)) = current_context(environment)? {
        return context(&name, environment, &path.display().to_string());
    }
    Ok(usual())
}

fn usual() -> Endpoint {
    Endpoint { host: Host::Unix(DOCKER_SOCKET.into()), tls: None, source: "the usual socket".to_owned() }
}

/// Returns the certificates, if `DOCKER_TLS_VERIFY` requests them. They are in the folder `DOCKER_CERT_PATH`,
/// or, if this variable is not set, in the client's configuration folder.
fn tls(environment: &Environment) -> Option<Tls> {
    environment.get("DOCKER_TLS_VERIFY").filter(|value| *value != "0")?;
    let named = environment.get("DOCKER_CERT_PATH").map(PathBuf::from);
    named.or_else(|| environment.config_dir()).map(|dir| Tls::below(&dir))
}

impl Tls {
    /// Returns the certificate files of a folder, with the names that the Docker client uses.
    pub fn below(dir: &Path) -> Self {
        Self { ca: dir.join("ca.pem"), cert: dir.join("cert.pem"), key: dir.join("key.pem") }
    }
}

#[derive(Debug, Deserialize)]
struct ClientConfig {
    #[serde(rename = "currentContext")]
    current_context: Option<String>,
}

/// The document `contexts/meta/<digest of the name>/meta.json` of the Docker client.
#[derive(Debug, Deserialize)]
struct ContextMeta {
    #[serde(rename = "Endpoints")]
    endpoints: Endpoints,
}

#[derive(Debug, Deserialize)]
struct Endpoints {
    docker: Option<ContextEndpoint>,
}

#[derive(Debug, Deserialize)]
struct ContextEndpoint {
    #[serde(rename = "Host")]
    host: Option<String>,
}

fn current_context(environment: &Environment) -> Result<Option<(String, PathBuf)>, EndpointError> {
    let Some(path) = environment.config_dir().map(|dir| dir.join("config.json")) else { return Ok(None) };
    let config: Option<ClientConfig> = read_json(&path)?;
    let name = config.and_then(|config| config.current_context).filter(|name| !name.is_empty());
    Ok(name.map(|name| (name, path)))
}

fn context(name: &str, environment: &Environment, by: &str) -> Result<Endpoint, EndpointError> {
    if name == "default" {
        return Ok(usual());
    }
    let folder = environment.config_dir().unwrap_or_default().join("contexts");
    let digest = hex::encode(Sha256::digest(name.as_bytes()));
    let missing =
        || EndpointError::NoContext { name: name.to_owned(), folder: folder.clone(), by: by.to_owned() };
    let meta: ContextMeta =
        read_json(&folder.join("meta").join(&digest).join("meta.json"))?.ok_or_else(missing)?;
    let host = meta.endpoints.docker.and_then(|docker| docker.host).ok_or_else(missing)?;
    let certificates = folder.join("tls").join(&digest).join("docker");
    let tls = certificates.join("ca.pem").exists().then(|| Tls::below(&certificates));
    Ok(Endpoint { host: host.parse()?, tls, source: format!("the context `{name}`") })
}

fn podman(environment: &Environment) -> Result<Endpoint, EndpointError> {
    let own = environment.get("XDG_RUNTIME_DIR").map(|dir| Path::new(dir).join("podman/podman.sock"));
    let candidates: Vec<PathBuf> = own.into_iter().chain([PODMAN_SOCKET.into()]).collect();
    let looked_at =
        || candidates.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let there = candidates.iter().find(|path| path.exists());
    let path = there.ok_or_else(|| EndpointError::NoPodman { looked_at: looked_at() })?;
    let source = "the socket of Podman's service".to_owned();
    Ok(Endpoint { host: Host::Unix(path.clone()), tls: None, source })
}

/// Reads a configuration file of the Docker client; `None` if the file does not exist.
pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, EndpointError> {
    let problem = |problem: String| EndpointError::Config { path: path.to_owned(), problem };
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| problem(error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(problem(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(choice: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let environment = variables.iter().copied().collect();
        let choice: EngineChoice = choice.parse().map_err(|error: EndpointError| error.to_string())?;
        let endpoint = Endpoint::resolve(&choice, &environment).map_err(|error| error.to_string())?;
        Ok(format!("{endpoint}, by {}", endpoint.source))
    }

    #[test]
    fn the_host_wins_over_contexts_and_the_default() {
        for (choice, variables, expected) in [
            ("docker", &[][..], "unix:///var/run/docker.sock, by the usual socket"),
            ("docker", &[("DOCKER_HOST", "")], "unix:///var/run/docker.sock, by the usual socket"),
            (
                "docker",
                &[("DOCKER_HOST", "tcp://a"), ("DOCKER_CONTEXT", "b")],
                "tcp://a:2375, by DOCKER_HOST",
            ),
            ("docker", &[("DOCKER_CONTEXT", "default")], "unix:///var/run/docker.sock, by the usual socket"),
            ("ssh://me@far", &[("DOCKER_HOST", "tcp://a")], "ssh://me@far, by the location"),
            (
                "docker",
                &[("DOCKER_HOST", "tcp://a:1"), ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/c")],
                "tcp://a:1 with TLS, by DOCKER_HOST",
            ),
            ("https://a", &[], "https://a:2376, by the location"),
            (
                "docker",
                &[("DOCKER_HOST", "https://a:1"), ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/c")],
                "https://a:1 with TLS, by DOCKER_HOST",
            ),
            ("http://a", &[], "tcp://a:2375, by the location"),
            (
                "unix:///a",
                &[("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/c")],
                "unix:///a, by the location",
            ),
        ] {
            assert_eq!(resolved(choice, variables).as_deref(), Ok(expected), "{choice} {variables:?}");
        }
    }

    #[test]
    fn a_context_is_found_by_the_digest_of_its_name() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join(".docker");
        let digest = hex::encode(Sha256::digest(b"far"));
        let meta = config.join("contexts/meta").join(&digest);
        fs::create_dir_all(&meta).unwrap();
        let text = r#"{"Name":"far","Metadata":{},"Endpoints":{"docker":{"Host":"tcp://far:2376","SkipTLSVerify":false}}}"#;
        fs::write(meta.join("meta.json"), text).unwrap();
        fs::write(config.join("config.json"), r#"{"currentContext":"far","auths":{}}"#).unwrap();
        let home = home.path().to_str().unwrap();
        let expected = Ok("tcp://far:2376, by the context `far`".to_owned());
        assert_eq!(resolved("docker", &[("HOME", home)]), expected);
        assert_eq!(resolved("context:far", &[("HOME", home)]), expected);
        let tls = config.join("contexts/tls").join(digest).join("docker");
        fs::create_dir_all(&tls).unwrap();
        fs::write(tls.join("ca.pem"), "").unwrap();
        let expected = Ok("tcp://far:2376 with TLS, by the context `far`".to_owned());
        assert_eq!(resolved("docker", &[("HOME", home), ("DOCKER_CONTEXT", "far")]), expected);
        let error = resolved("docker", &[("HOME", home), ("DOCKER_CONTEXT", "near")]).unwrap_err();
        assert!(error.starts_with("there is no Docker context `near` in"), "{error}");
        assert!(error.ends_with("(named by DOCKER_CONTEXT)"), "{error}");
    }

    #[test]
    fn the_users_own_podman_comes_first() {
        let run = tempfile::tempdir().unwrap();
        let socket = run.path().join("podman/podman.sock");
        fs::create_dir_all(socket.parent().unwrap()).unwrap();
        fs::write(&socket, "").unwrap();
        let expected = format!("unix://{}, by the socket of Podman's service", socket.display());
        assert_eq!(resolved("podman", &[("XDG_RUNTIME_DIR", run.path().to_str().unwrap())]), Ok(expected));
    }

    #[test]
    fn what_names_no_engine_is_refused() {
        for text in ["", "dockr", "unix://", "ftp://x", "/var/run/docker.sock"] {
            let error = resolved(text, &[]).unwrap_err();
            assert!(error.starts_with(&format!("`{text}` is not a container engine")), "{error}");
        }
    }
}
