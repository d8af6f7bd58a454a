//! Errors of function calls.

/// The reason why a call of a function has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The call has failed, and another call with the same arguments would also fail.
    #[error("{message}")]
    Failed {
        /// Message that the report shows.
        message: String,
        /// The causes of the failure.
        causes: Nested,
    },
    /// A required value is not known yet. The next pass calls the function again.
    #[error("not known yet")]
    Pending,
    /// A limit is exceeded. All processing ends.
    #[error("{0}")]
    Limit(String),
}

/// The causes of a failure. A report shows them below the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nested {
    /// No further cause is known.
    #[default]
    None,
    /// The messages of nested calls, for example of a lambda that calls another lambda. The message of the
    /// outermost call is the first one.
    Chain(Vec<String>),
    /// Lines of the report about an inner document. The report has one line for each node without a value.
    Nodes(Vec<String>),
}

impl FunctionError {
    /// Creates a failure with this message.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), causes: Nested::None }
    }

    /// Adds a prefix to the message, if the error is `Failed`. Returns any other error unchanged.
    pub fn prefixed(self, words: &str) -> Self {
        match self {
            Self::Failed { message, causes } => Self::Failed { message: format!("{words}{message}"), causes },
            other => other,
        }
    }

    /// Removes the causes, if the error is `Failed`. Returns any other error unchanged.
    #[must_use]
    pub fn without_causes(self) -> Self {
        match self {
            Self::Failed { message, .. } => Self::Failed { message, causes: Nested::None },
            other => other,
        }
    }

    /// Creates a failure with the message `message` and the cause `cause`. If `cause` is not `Failed`, returns
    /// `cause` unchanged.
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
