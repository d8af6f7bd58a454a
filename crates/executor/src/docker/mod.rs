//! Jobs in containers of Docker or Podman.
//!
//! An [`Engine`] is located in the same way as by the Docker client ([`Endpoint::resolve`]), and reports the
//! limits that it enforces ([`Engine::describe`]). A [`DockerRuntime`] runs each job in a fresh container.
//! The first process of the container is a static program of this crate. It reads the job from the
//! container's input and reports on it in lines, which the engine's log keeps for later clients. Where that
//! program could not be built, opening a runtime fails.
//!
//! A job is fully isolated unless it [asks](crate::Isolation) for less; its relaxations are recorded in the
//! labels of its container. `docs/design/executor.md` has the design decisions and the limitations.

mod container;
mod credentials;
mod endpoint;
mod engine;
mod environment;
mod error;
mod follow;
mod handle;
mod images;
mod input;
mod inspect;
mod labels;
mod launch;
mod lines;
mod options;
mod podman;
mod run;
mod runtime;
mod shared;
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
