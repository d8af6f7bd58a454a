//! The reasons why a spiff command ends.

use std::fmt::Display;

use windlass::source::{Code, Diagnostic};

/// The reason why a command ends.
pub(super) struct Stop {
    pub(super) code: Code,
    pub(super) message: String,
    /// Whether the command ends because of wrong input. If false, the command ends because of a failure.
    pub(super) is_input: bool,
    /// The causes with their places. They are printed before the message.
    pub(super) causes: Vec<Diagnostic>,
}

impl Stop {
    /// Creates a [`Stop`] for wrong input. The command then ends with exit code 2.
    pub(super) fn input(code: Code, message: impl Display) -> Self {
        Self { code, message: message.to_string(), is_input: true, causes: Vec::new() }
    }

    /// Creates a [`Stop`] for a failure, such as a template that can't be processed. The command then ends with exit
    /// code 1.
    pub(super) fn failed(code: Code, message: impl Display) -> Self {
        Self { code, message: message.to_string(), is_input: false, causes: Vec::new() }
    }
}
