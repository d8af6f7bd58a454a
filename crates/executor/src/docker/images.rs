//! The images of an engine: looked up, loaded, pulled.

use bollard::query_parameters::{CreateImageOptionsBuilder, ImportImageOptionsBuilder};
use futures::StreamExt;
use tokio::time::{Duration, timeout};

use crate::{
    Pull,
    docker::{Engine, EngineError, Environment, credentials},
    image::build::BuiltImage,
};

/// The longest a pull may say nothing at all.
const SILENCE: Duration = Duration::from_secs(120);

/// The longest the loading of an archive may take.
const LOAD_LIMIT: Duration = Duration::from_secs(600);

/// What is known of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineImage {
    /// The digest of its configuration: `sha256:…`.
    pub id: String,
    /// The digest under which its registry has it, if it came from one; else its id.
    pub digest: String,
    /// Its variables, as `NAME=value`.
    pub env: Vec<String>,
    /// What it runs in any case.
    pub entrypoint: Vec<String>,
    /// What it runs unless something else is asked for.
    pub cmd: Vec<String>,
    /// Who runs it, as it says itself.
    pub user: String,
}

/// How far a pull has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PullProgress {
    /// The layer, by the first letters of its digest; empty for the image as a whole.
    pub layer: String,
    /// What is done with it: `Downloading`, `Extracting`.
    pub status: String,
    /// How many bytes of it are there.
    pub current: Option<u64>,
    /// How many there will be.
    pub total: Option<u64>,
}

impl Engine {
    /// Looks an image up by name or id; `None` if the engine has none.
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

    /// Loads images from an archive: a docker archive, or an OCI layout with a `manifest.json` beside it, as
    /// [`ImageBuilder`](crate::image::build::ImageBuilder) makes them.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when the engine can't read it or has no room.
    pub async fn load_image(&self, archive: Vec<u8>) -> Result<(), EngineError> {
        let options = ImportImageOptionsBuilder::default().quiet(true).build();
        let mut told = self.client().import_image(options, bollard::body_full(archive.into()), None);
        let action = "load an image";
        let load = async {
            while let Some(line) = told.next().await {
                line?;
            }
            Ok(())
        };
        self.within(LOAD_LIMIT, action, load).await
    }

    /// Fetches an image from its registry, with the credentials that the Docker client of this environment has for it.
    /// `progress` is told how far it has come.
    ///
    /// # Errors
    /// [`EngineError::NoImage`] when it can't be had.
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
        let mut told = self.client().create_image(Some(options), None, credentials);
        loop {
            let next = timeout(SILENCE, told.next()).await;
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

    /// Sees to it that an image is there, as the policy says.
    ///
    /// # Errors
    /// [`EngineError::NoImage`] when it can't be had.
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
                // Of a name that can be none, the engine says that it has no such thing, and then why.
                Err(EngineError::Refused { message, .. }) if message.contains("invalid reference") => {
                    let why = message.split("invalid reference format").nth(1).unwrap_or_default();
                    return Err(missing(&format!("that is no name of an image{why}")));
                }
                Err(error) => return Err(error),
            }
        }
        if pull == Pull::Never {
            return Err(missing("the engine doesn't have it, and the job forbids to pull it"));
        }
        self.pull_image(name, environment, progress).await.map_err(|error| match error {
            EngineError::NoImage { image, problem } => {
                let problem = format!("the engine doesn't have it, and it can't be pulled: {problem}");
                EngineError::NoImage { image, problem }
            }
            error => error,
        })?;
        self.image(name).await?.ok_or_else(|| missing("it was pulled, and is gone again"))
    }
}

/// Loads an image of ours unless the engine has it already; its id tells, which is the digest of what is in it.
pub(crate) async fn load_if_missing(engine: &Engine, image: &BuiltImage) -> Result<(), EngineError> {
    if engine.image(image.id()).await?.is_some() {
        return Ok(());
    }
    engine.load_image(image.archive().to_vec()).await
}

/// A name without tag or digest means `latest`; an engine that is asked for it pulls all tags there are.
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
