//! The interface between a pool of warm containers and the container engine that runs these containers.

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Job, RuntimeError};

/// A means to start warm containers, such as a container engine.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// Returns the properties of the container that a job needs. Returns `None` if a warm container can't serve
    /// the job; the job then gets a fresh container.
    async fn needs(&self, job: &Job) -> Option<ContainerNeeds>;

    /// Returns the folder for temporary files, if all jobs of a container use the same folder.
    fn tmp(&self) -> Option<&str> {
        None
    }

    /// Starts a container of this shape. The runner in the container has received no request yet.
    ///
    /// # Errors
    /// [`StartError::Image`] when the image does not exist. [`StartError::Runtime`] for all other errors.
    async fn start(&self, shape: &Shape) -> Result<WarmContainer, StartError>;

    /// Removes the warm containers of windlass programs that no longer run. The pool calls this method before it starts
    /// the first container. The pool also calls this method before it reports that a job was never submitted. Without
    /// this removal, the job could still run in the container of an earlier program.
    ///
    /// # Errors
    /// When the existing containers can't be listed.
    async fn reap(&self) -> Result<(), RuntimeError>;
}

/// The properties of the container that a job needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContainerNeeds {
    /// Shape of the container. Jobs of the same shape can share one container, one after the other.
    pub shape: Shape,
    /// Environment variables of the image, as `NAME=value`.
    pub image_env: Vec<String>,
}

/// The properties that the container of a job must have, such as its image and its network. Jobs of equal shape can
/// share a container, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub struct Shape {
    /// Reference of the container's image, as the job names it.
    pub image: Option<String>,
    /// Id of the container's image. A reference such as a tag may later refer to an image with another id.
    pub image_id: Option<String>,
    /// Network, in the notation of the container engine.
    pub network: String,
    /// User and group, in the notation of the container engine; the default user if empty.
    pub user: String,
    /// Memory limit in bytes.
    pub memory_bytes: Option<u64>,
    /// Maximum number of processes.
    pub pids: Option<u32>,
    /// Processor limit in thousandths of a processor.
    pub cpu_millis: Option<u32>,
    /// Volumes: pairs of name and mount point.
    pub volumes: Vec<(String, String)>,
}

/// A container with a [runner](crate::runner) in it, and the connection to the runner.
pub struct WarmContainer {
    /// Writer to the [runner](crate::runner)'s stdin.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Reader of the [runner](crate::runner)'s stdout.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Digest of the image.
    pub image_digest: Option<String>,
    /// Handle that ends the container.
    pub end: Box<dyn EndContainer>,
}

impl std::fmt::Debug for WarmContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WarmContainer").field("image_digest", &self.image_digest).finish_non_exhaustive()
    }
}

/// A handle that ends a container.
#[async_trait]
pub trait EndContainer: Send + Sync {
    /// Removes the container with all its processes. A container that is already gone is no error. If the container
    /// has ended by itself and the reason is known, returns the reason as text for people.
    async fn end(self: Box<Self>) -> Option<String>;
}

/// The reason why no container could be started for a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The image does not exist.
    #[error("there is no image `{image}`: {why}")]
    Image {
        /// Image as the job names it.
        image: String,
        /// Error text of the container engine.
        why: String,
    },
    /// Another error of the runtime.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}
