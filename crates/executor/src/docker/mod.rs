//! Jobs in containers of Docker or Podman.

mod endpoint;
mod engine;
mod environment;
mod error;
mod warm;

pub use self::{
    endpoint::{Endpoint, EndpointError, EngineChoice, Host, Tls},
    engine::{Description, Engine, EngineKind},
    environment::Environment,
    error::EngineError,
    warm::WarmContainers,
};

/// The kind of this runtime, as locations name it.
const KIND: &str = "docker";
