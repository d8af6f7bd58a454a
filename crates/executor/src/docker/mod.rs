//! Jobs in containers of Docker or Podman.

mod container;
mod credentials;
mod endpoint;
mod engine;
mod environment;
mod error;
mod follow;
mod images;
mod input;
mod labels;
mod launch;
mod lines;
mod look;
mod options;
mod run;
mod runtime;
mod tools;
mod warm;

pub use self::{
    endpoint::{Endpoint, EndpointError, EngineChoice, Host, Tls},
    engine::{Description, Engine, EngineKind},
    environment::Environment,
    error::EngineError,
    images::{EngineImage, PullProgress},
    options::DockerOptions,
    runtime::DockerRuntime,
    warm::WarmContainers,
};

/// The kind of this runtime, as locations name it.
const KIND: &str = "docker";
