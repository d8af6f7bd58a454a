//! What a pool needs of the place where its runners run.

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Job, RuntimeError};

/// A place where runners can be started: an engine with its containers.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// Describes the container that a job needs, so that two jobs with the same description can follow each other in one.
    /// `None` if a runner can't serve it; then it gets a fresh container of its own.
    async fn shape(&self, job: &Job) -> Option<Shape>;

    /// Returns the jobs' folder for temporary files, where it is the container's and not one of their own.
    fn tmp(&self) -> Option<&str> {
        None
    }

    /// Starts a container of this shape, with a runner that has not been spoken to.
    ///
    /// # Errors
    /// [`StartError::Image`] when the image isn't there, [`StartError::Runtime`] for all else.
    async fn start(&self, shape: &Shape) -> Result<Vessel, StartError>;

    /// Removes what owners that died have left. Called before the first container is started, and before it is said
    /// that a job never was.
    ///
    /// # Errors
    /// When it can't be known what there is.
    async fn reap(&self) -> Result<(), RuntimeError>;
}

/// What a container must be like for a job. Jobs that need the same may follow each other in one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub struct Shape {
    /// The image.
    pub image: Option<String>,
    /// The network, as the engine names it.
    pub network: String,
    /// Who runs the job: user and group, as the engine is told; the default if empty.
    pub user: String,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes.
    pub pids: Option<u32>,
    /// Thousandths of a processor.
    pub cpu_millis: Option<u32>,
    /// Volumes: names and where they are mounted.
    pub volumes: Vec<(String, String)>,
}

/// A container with a runner in it, and the line to the runner.
pub struct Vessel {
    /// To the runner's stdin.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// From the runner's stdout.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The digest of the image.
    pub image_digest: Option<String>,
    /// What ends it.
    pub end: Box<dyn EndVessel>,
}

impl std::fmt::Debug for Vessel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vessel").field("image_digest", &self.image_digest).finish_non_exhaustive()
    }
}

/// Ends a container.
#[async_trait]
pub trait EndVessel: Send + Sync {
    /// Ends it with all that runs in it and removes it. That it is gone already is fine. Returns what is known of why it
    /// ended by itself, for people.
    async fn end(self: Box<Self>) -> Option<String>;
}

/// Why there is no container for a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no such image.
    #[error("there is no image `{image}`: {why}")]
    Image {
        /// As the job names it.
        image: String,
        /// What the engine said.
        why: String,
    },
    /// Anything else.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}
