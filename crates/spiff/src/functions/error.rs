//! Why a call has no result.

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// It failed, and another try would fail, too.
    #[error("{message}")]
    Failed {
        /// The message, as the report shows it.
        message: String,
        /// The causes.
        causes: Nested,
    },
    /// A value that the function needs isn't known yet. It is called again in the next pass.
    #[error("not known yet")]
    Pending,
    /// A limit is exceeded: the whole evaluation ends.
    #[error("{0}")]
    Limit(String),
}

/// A cause of a failure, as it is shown below the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nested {
    /// Nothing more is known.
    #[default]
    None,
    /// A chain of messages, outermost first: calls of lambdas.
    Chain(Vec<String>),
    /// Lines of a report of their own: nodes of an inner document.
    Nodes(Vec<String>),
}

impl FunctionError {
    /// A failure with this message.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), causes: Nested::None }
    }

    /// The same with words before its message; what isn't a failure stays what it is.
    pub fn prefixed(self, words: &str) -> Self {
        match self {
            Self::Failed { message, causes } => Self::Failed { message: format!("{words}{message}"), causes },
            other => other,
        }
    }

    /// The same without what led to it.
    #[must_use]
    pub fn without_causes(self) -> Self {
        match self {
            Self::Failed { message, .. } => Self::Failed { message, causes: Nested::None },
            other => other,
        }
    }

    /// A failure that another one led to; what isn't a failure stays what it is.
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
