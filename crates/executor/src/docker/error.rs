//! Errors of requests to container engines.

use std::{io, time::Duration};

use bollard::errors::Error;

use crate::{RuntimeError, docker::EndpointError};

/// The kind of this runtime. In `windlass.yaml`, a location (a place where scripts run) chooses the runtime
/// by this word.
pub(crate) const KIND: &str = "docker";

/// An error of a request to a container engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The endpoint could not be found.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The container engine can't be reached, or the connection broke.
    #[error("the engine at {endpoint} can't be reached: {problem}")]
    Unreachable {
        /// Address of the container engine.
        endpoint: String,
        /// A description of the problem, as text for people.
        problem: String,
    },
    /// The container engine did not answer in time. The client does not know whether the engine has executed
    /// the request.
    #[error("the engine at {endpoint} did not answer within {limit:?} when asked to {action}")]
    Slow {
        /// Address of the container engine.
        endpoint: String,
        /// The requested action, as a verb phrase.
        action: String,
        /// The time limit of the request.
        limit: Duration,
    },
    /// The container engine refused the request.
    #[error("the engine can't {action}: {message}")]
    Refused {
        /// The requested action, as a verb phrase.
        action: String,
        /// HTTP status of the answer.
        status: u16,
        /// Message of the container engine.
        message: String,
    },
    /// The answer of the container engine is malformed.
    #[error("the engine's answer is invalid when asked to {action}: {problem}")]
    Protocol {
        /// The requested action, as a verb phrase.
        action: String,
        /// A description of the problem, as text for people.
        problem: String,
    },
    /// A job requests the volume `volume`, and the job's owner has no volume of this name yet. But an earlier version
    /// of windlass has created a volume `former` for the same request, without an owner. `former` may belong to the
    /// job's owner or to another project, so a person has to decide.
    #[error(
        "the volume `{volume}` needs `{name}`, which does not exist, but `{former}` of an earlier version does: \
         copy its content with `docker run --rm -v {former}:/from -v {name}:/to busybox cp -a /from/. /to`, or, if no \
         project needs it, remove it by `docker volume rm {former}`"
    )]
    FormerVolume {
        /// Name by which jobs request the volume, such as `cache`.
        volume: String,
        /// Name of the existing volume on the container engine, such as `windlass-volume-cache`. An earlier version of
        /// windlass has created this volume.
        former: String,
        /// Name of the missing volume on the container engine, such as `windlass-volume-shop-cache` for the owner
        /// `shop`.
        name: String,
    },
    /// An image is missing on the container engine. The job does not allow a pull, or the pull failed.
    #[error("there is no image `{image}`: {problem}")]
    NoImage {
        /// Name of the image, as the job or the caller has written it.
        image: String,
        /// The reason why there is no image, as text for people.
        problem: String,
    },
    /// A file with a saved image can't be written.
    #[error("can't write the image `{image}`: {source}")]
    Write {
        /// Name of the image, as the caller has written it.
        image: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl EngineError {
    /// Tells whether the container engine reported that the requested object does not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Tells whether the container engine reported a conflict, for example because a name is in use or a
    /// container doesn't run.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }

    /// Tells whether the container engine reported that a container is changing its state. A retry after a
    /// moment then succeeds.
    pub(crate) fn is_between_states(&self) -> bool {
        // Podman reports the first text if a container has ended and its end is not recorded yet. Docker
        // reports the second text if two clients remove a container at once; the container then stays dead
        // until a client removes it once more.
        const PASSING: [&str; 2] = ["container state improper", "unable to remove filesystem"];
        matches!(self, Self::Refused { message, .. } if PASSING.iter().any(|words| message.contains(words)))
    }

    /// Tells whether a request to remove a container failed for a passing reason: another client is removing the
    /// container, or the container is ending. The caller then repeats the request.
    pub(crate) fn is_being_removed(&self) -> bool {
        self.is_conflict() || self.is_between_states()
    }

    /// Tells whether the container engine is unavailable, so that a later retry may help.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Slow { .. })
    }
}

impl From<EngineError> for RuntimeError {
    fn from(error: EngineError) -> Self {
        unavailable(&error.to_string())
    }
}

/// Returns the error of a docker runtime that can't serve a request now.
pub(crate) fn unavailable(problem: &str) -> RuntimeError {
    RuntimeError::Unavailable { runtime: KIND.to_owned(), problem: problem.to_owned() }
}

/// Converts an error of the client library into an [`EngineError`].
pub(crate) fn classified(endpoint: &str, action: &str, limit: Duration, error: Error) -> EngineError {
    let action = action.to_owned();
    match error {
        Error::DockerResponseServerError { status_code, message } => {
            EngineError::Refused { action, status: status_code, message: message.trim().to_owned() }
        }
        Error::RequestTimeoutError => EngineError::Slow { endpoint: endpoint.to_owned(), action, limit },
        Error::DockerStreamError { error } => EngineError::Refused { action, status: 500, message: error },
        Error::JsonDataError { message, .. } => EngineError::Protocol { action, problem: message },
        other => EngineError::Unreachable { endpoint: endpoint.to_owned(), problem: in_words(&other) },
    }
}

/// Returns the text of an error and of its causes, without the prefixes that the HTTP client library adds, such as
/// `client error (Connect)`.
fn in_words(error: &dyn std::error::Error) -> String {
    let text = chain(error);
    let text = ["Error in the hyper legacy client: ", "client error (Connect): ", "tcp connect error: "]
        .iter()
        .fold(text, |text, layer| text.replace(layer, ""));
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Returns the text of an error, followed by the texts of all its causes. If the result already contains the
/// text of a cause, this text is not repeated.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
