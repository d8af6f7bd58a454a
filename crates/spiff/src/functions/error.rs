//! Errors of function calls.

/// The reason why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The call failed, and a retry would fail too.
    #[error("{message}")]
    Failed {
        /// Message, as the report shows it.
        message: String,
        /// The causes of the failure.
        causes: Nested,
    },
    /// A required value isn't known yet. The function is called again in the next pass.
    #[error("not known yet")]
    Pending,
    /// A limit was exceeded, which ends the whole evaluation.
    #[error("{0}")]
    Limit(String),
}

/// The causes of a failure, which are shown below the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nested {
    /// No further cause is known.
    #[default]
    None,
    /// A chain of messages, outermost first, from calls of lambdas.
    Chain(Vec<String>),
    /// Lines of a separate report, about nodes of an inner document.
    Nodes(Vec<String>),
}

impl FunctionError {
    /// Creates a failure with this message.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), causes: Nested::None }
    }

    /// Adds a prefix to the message of a failure; other errors are unchanged.
    pub fn prefixed(self, words: &str) -> Self {
        match self {
            Self::Failed { message, causes } => Self::Failed { message: format!("{words}{message}"), causes },
            other => other,
        }
    }

    /// Removes the causes of a failure.
    #[must_use]
    pub fn without_causes(self) -> Self {
        match self {
            Self::Failed { message, .. } => Self::Failed { message, causes: Nested::None },
            other => other,
        }
    }

    /// Creates a failure whose cause is another failure; other errors are unchanged.
    pub fn because(message: impl Into<String>, cause: Self) -> Self {
        match cause {
            Self::Failed { message: inner, causes } => {
                let mut chain = vec![inner];
                if let Nested::Chain(more) = causes {
                    chain.extend(more);
                }
                Self::Failed { message: message.into(), causes: Nested::Chain(chain) }
            }
            other => other,
        }
    }
}

impl From<String> for FunctionError {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

impl From<&str> for FunctionError {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}
