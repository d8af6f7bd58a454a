//! What an engine answers when it can't.

use std::time::Duration;

use bollard::errors::Error;

use crate::{RuntimeError, docker::EndpointError};

/// Why an engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// It is not known where the engine is.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// It can't be reached, or the connection broke.
    #[error("the engine at {endpoint} can't be reached: {problem}")]
    Unreachable {
        /// Where it is.
        endpoint: String,
        /// What happened, for people.
        problem: String,
    },
    /// It has not answered in time. Whether it did what it was asked is not known.
    #[error("the engine at {endpoint} did not answer within {limit:?} when asked to {action}")]
    Slow {
        /// Where it is.
        endpoint: String,
        /// What it was asked.
        action: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// It has refused.
    #[error("the engine can't {action}: {message}")]
    Refused {
        /// What it was asked.
        action: String,
        /// The status of its answer, as in HTTP.
        status: u16,
        /// What it says.
        message: String,
    },
    /// It has answered what nobody understands.
    #[error("the engine's answer is not understood when asked to {action}: {problem}")]
    Protocol {
        /// What it was asked.
        action: String,
        /// What is odd about it.
        problem: String,
    },
    /// There is a volume of a version whose volumes carried no owner, and none of the owner's. It may have what is needed, or
    /// be another project's: a person has to say.
    #[error(
        "the volume `{volume}` would be `{name}`, which is not there, and `{former}` of an earlier version is: \
         keep what it has by `docker run --rm -v {former}:/from -v {name}:/to busybox cp -a /from/. /to`, or, if no \
         project needs it, remove it by `docker volume rm {former}`"
    )]
    FormerVolume {
        /// The volume, as jobs name it.
        volume: String,
        /// What the engine called it.
        former: String,
        /// What the engine will call it.
        name: String,
    },
    /// An image is not there, and may not be pulled or can't be.
    #[error("there is no image `{image}`: {problem}")]
    NoImage {
        /// The image as it was named.
        image: String,
        /// Why it could not be had.
        problem: String,
    },
}

impl EngineError {
    /// Tells whether the engine said that there is no such thing.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Tells whether the engine said that something is in the way: a name is taken, a container doesn't run.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }

    /// Tells whether the engine said that a container is just becoming something else, so that asking again soon helps.
    pub(crate) fn is_between_states(&self) -> bool {
        // Podman's words for a container that has ended and that it has not noted down yet, and Docker's for one that
        // two remove at once: such a one stays, dead, until it is removed once more.
        const PASSING: [&str; 2] = ["container state improper", "unable to remove filesystem"];
        matches!(self, Self::Refused { message, .. } if PASSING.iter().any(|words| message.contains(words)))
    }

    /// Tells whether somebody else removes a container at this moment, or it is just ending.
    pub(crate) fn is_being_removed(&self) -> bool {
        self.is_conflict() || self.is_between_states()
    }

    /// Tells whether it is the engine that is in trouble, so that asking again later may help.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Slow { .. })
    }
}

impl From<EngineError> for RuntimeError {
    fn from(error: EngineError) -> Self {
        Self::Unavailable { runtime: super::KIND.to_owned(), problem: error.to_string() }
    }
}

/// Tells the causes of a call's failure apart.
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

/// Leaves out what only a programmer of the client wants to know: the layers that an error has come through.
fn in_words(error: &dyn std::error::Error) -> String {
    let text = chain(error);
    let text = ["Error in the hyper legacy client: ", "client error (Connect): ", "tcp connect error: "]
        .iter()
        .fold(text, |text, layer| text.replace(layer, ""));
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Writes an error with all its causes, each once.
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
