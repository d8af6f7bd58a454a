//! Jobs in containers of Docker or Podman.
//!
//! An [`Engine`] is found as the Docker client finds it ([`Endpoint::resolve`]) and says what it enforces
//! ([`Engine::describe`]). A [`DockerRuntime`] runs each job in a fresh container, whose first process is a static program
//! of ours: it is told the job over the container's input and tells of it in lines that the engine's log keeps, so that who
//! comes later reads the same. Where that program could not be built, opening a runtime says so.
//!
//! A job is shut in unless it [asks](crate::Isolation) for less, and what it asks for is noted on its container.
//! `docs/design/executor.md` says why it is as it is, and what it can't do.

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
mod podman;
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
