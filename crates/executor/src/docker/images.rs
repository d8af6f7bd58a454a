//! Inspects, loads, saves and pulls images on a container engine.

use std::{io::Write, pin::pin};

use bollard::query_parameters::{CreateImageOptionsBuilder, ImportImageOptionsBuilder};
use futures::StreamExt;
use tokio::time::{Duration, timeout};

use crate::{
    Pull,
    docker::{Engine, EngineError, Environment, credentials},
    image::build::BuiltImage,
};

/// Maximum time between two progress messages of a pull, or between two pieces of an image that is being
/// saved.
const SILENCE: Duration = Duration::from_secs(120);

/// Maximum time to load an archive of images.
const LOAD_LIMIT: Duration = Duration::from_secs(600);

/// The properties of an image on a container engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineImage {
    /// Digest of the config: `sha256:…`.
    pub id: String,
    /// Digest in the registry, if the image came from a registry; otherwise the id.
    pub digest: String,
    /// Environment variables, as `NAME=value`.
    pub env: Vec<String>,
    /// Entry point of the image: a program with its first arguments.
    pub entrypoint: Vec<String>,
    /// Default command of the image: arguments of the entry point, or a program with arguments if the image has no
    /// entry point.
    pub cmd: Vec<String>,
    /// User that the image names; empty if it names none.
    pub user: String,
}

/// The progress of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PullProgress {
    /// Layer, by the first characters of its digest; empty for a message about the whole image.
    pub layer: String,
    /// Current step of the layer, such as `Downloading` or `Extracting`.
    pub status: String,
    /// Number of bytes that the current step has processed for this layer so far; `None` if unknown.
    pub current: Option<u64>,
    /// Total number of bytes that the current step must process for this layer; `None` if unknown.
    pub total: Option<u64>,
}

impl Engine {
    /// Inspects an image by name or id; `None` if the container engine has no such image.
    ///
    /// # Errors
    /// [`EngineError`] when the engine doesn't answer.
    pub async fn image(&self, name: &str) -> Result<Option<EngineImage>, EngineError> {
        let found = match self.call("look for an image", self.client().inspect_image(name)).await {
            Err(error) if error.is_absent() => return Ok(None),
            found => found?,
        };
        let id = found.id.unwrap_or_default();
        let digests = found.repo_digests.unwrap_or_default();
        let digest = digests.iter().find_map(|digest| Some(digest.split_once('@')?.1.to_owned()));
        let config = found.config.unwrap_or_default();
        Ok(Some(EngineImage {
            digest: digest.unwrap_or_else(|| id.clone()),
            id,
            env: config.env.unwrap_or_default(),
            entrypoint: config.entrypoint.unwrap_or_default(),
            cmd: config.cmd.unwrap_or_default(),
            user: config.user.unwrap_or_default(),
        }))
    }

    /// Loads images from an archive into the container engine. The archive is a docker archive, or an OCI
    /// layout with an additional `manifest.json`, as [`ImageBuilder`](crate::image::build::ImageBuilder)
    /// writes it.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when the engine can't read the archive or has no space.
    pub async fn load_image(&self, archive: Vec<u8>) -> Result<(), EngineError> {
        let options = ImportImageOptionsBuilder::default().quiet(true).build();
        let mut lines = self.client().import_image(options, bollard::body_full(archive.into()), None);
        let action = "load an image";
        let load = async {
            while let Some(line) = lines.next().await {
                line?;
            }
            Ok(())
        };
        self.within(LOAD_LIMIT, action, load).await
    }

    /// Writes an image of the container engine as a docker archive. The method creates no container.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when the engine doesn't have the image; [`EngineError::Write`] when the
    /// archive can't be written.
    pub async fn save_image(&self, name: &str, into: &mut impl Write) -> Result<(), EngineError> {
        let action = "save an image";
        let tagged = with_tag(name);
        let mut pieces = pin!(self.client().export_image(&tagged));
        loop {
            let next = timeout(SILENCE, pieces.next()).await.map_err(|_| EngineError::Slow {
                endpoint: self.endpoint().to_string(),
                action: action.to_owned(),
                limit: SILENCE,
            })?;
            let Some(piece) = next else { return Ok(()) };
            let piece = piece.map_err(|error| self.error(action, error))?;
            let write = |source| EngineError::Write { image: name.to_owned(), source };
            into.write_all(&piece).map_err(write)?;
        }
    }

    /// Pulls an image from its registry. The credentials for the registry are those that the Docker client
    /// has stored. `progress` receives the progress.
    ///
    /// # Errors
    /// [`EngineError::NoImage`] when the pull fails.
    pub async fn pull_image(
        &self,
        name: &str,
        environment: &Environment,
        mut progress: impl FnMut(PullProgress),
    ) -> Result<(), EngineError> {
        let missing = |problem: String| EngineError::NoImage { image: name.to_owned(), problem };
        let credentials =
            credentials::of(name, environment).await.map_err(|error| missing(error.to_string()))?;
        let options = CreateImageOptionsBuilder::default().from_image(&with_tag(name)).build();
        let mut lines = self.client().create_image(Some(options), None, credentials);
        loop {
            let next = timeout(SILENCE, lines.next()).await;
            let next = next.map_err(|_| missing(format!("the engine said nothing for {SILENCE:?}")))?;
            match next.map(|line| line.map_err(|error| self.error("pull an image", error))) {
                None => return Ok(()),
                Some(Err(error @ (EngineError::Unreachable { .. } | EngineError::Slow { .. }))) => {
                    return Err(error);
                }
                Some(Err(EngineError::Refused { message, .. })) => return Err(missing(message)),
                Some(Err(error)) => return Err(missing(error.to_string())),
                Some(Ok(line)) => {
                    let detail = line.progress_detail.unwrap_or_default();
                    let bytes = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok());
                    progress(PullProgress {
                        layer: line.id.unwrap_or_default(),
                        status: line.status.unwrap_or_default(),
                        current: bytes(detail.current),
                        total: bytes(detail.total),
                    });
                }
            }
        }
    }

    /// Ensures that an image is present on the container engine. `pull` decides when the image is pulled.
    ///
    /// # Errors
    /// [`EngineError::NoImage`] when the image is missing and can't be pulled.
    pub async fn ensure_image(
        &self,
        name: &str,
        pull: Pull,
        environment: &Environment,
        progress: impl FnMut(PullProgress),
    ) -> Result<EngineImage, EngineError> {
        let missing =
            |problem: &str| EngineError::NoImage { image: name.to_owned(), problem: problem.to_owned() };
        if pull != Pull::Always {
            match self.image(name).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                // For a malformed name, the engine reports that there is no such image, and adds the reason.
                Err(EngineError::Refused { message, .. }) if message.contains("invalid reference") => {
                    let why = message.split("invalid reference format").nth(1).unwrap_or_default();
                    return Err(missing(&format!("it is not a valid image name{why}")));
                }
                Err(error) => return Err(error),
            }
        }
        if pull == Pull::Never {
            return Err(missing("the engine doesn't have it, and the job does not allow pulling"));
        }
        self.pull_image(name, environment, progress).await.map_err(|error| match error {
            EngineError::NoImage { image, problem } => {
                let problem = format!("the engine doesn't have it, and it can't be pulled: {problem}");
                EngineError::NoImage { image, problem }
            }
            error => error,
        })?;
        self.image(name).await?.ok_or_else(|| missing("it was pulled, but is no longer there"))
    }
}

/// Loads a built image, unless the container engine already has it. The id of the image, which is the digest
/// of its config, identifies the content.
pub(crate) async fn load_if_missing(engine: &Engine, image: &BuiltImage) -> Result<(), EngineError> {
    if engine.image(image.id()).await?.is_some() {
        return Ok(());
    }
    engine.load_image(image.archive().to_vec()).await
}

/// Adds the tag `latest` to a name without tag or digest. Without a tag, a container engine would pull all
/// tags.
fn with_tag(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains(':') || last.contains('@') { name.to_owned() } else { format!("{name}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_tag_means_latest() {
        for (name, expected) in [
            ("demo", "demo:latest"),
            ("localhost:5000/demo", "localhost:5000/demo:latest"),
            ("demo:1", "demo:1"),
            ("a/b@sha256:00", "a/b@sha256:00"),
        ] {
            assert_eq!(with_tag(name), expected);
        }
    }
}
