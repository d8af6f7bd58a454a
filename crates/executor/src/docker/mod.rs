//! A runtime that runs jobs in containers of Docker or Podman.
//!
//! An [`Engine`] is a client of a container engine. It finds the engine in the same way as the Docker client
//! ([`Endpoint::resolve`]), and reports the limits that the engine enforces ([`Engine::describe`]). A
//! [`DockerRuntime`] runs each job in a fresh container. The first process of the container is a static
//! program of this crate. The program reads the job from the container's stdin, and reports on the job in
//! lines. The engine's log keeps these lines, so that other clients can read them later. If the program could
//! not be built, opening a runtime fails.
//!
//! A job is isolated as strictly as possible, except for the relaxations that it
//! [requests](crate::Isolation). The labels of its container record the relaxations.
//! `docs/design/executor.md` has the design decisions and the limitations.

mod container;
mod credentials;
mod endpoint;
mod engine;
mod environment;
mod error;
mod follow;
mod handle;
mod images;
#[cfg(test)]
mod init_tests;
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
    container::volume_problem,
    endpoint::{Endpoint, EndpointError, EngineChoice, Host, Tls},
    engine::{Description, Engine, EngineKind},
    environment::Environment,
    error::EngineError,
    images::{EngineImage, PullProgress},
    options::DockerOptions,
    runtime::DockerRuntime,
    warm::WarmContainers,
};
