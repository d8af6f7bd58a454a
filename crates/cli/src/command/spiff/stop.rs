//! The reasons why a spiff command ends.

/// The reason why a command ends: wrong input, or a failed template.
pub(super) enum Stop {
    Input(String),
    Failed(String),
}

impl Stop {
    pub(super) fn input(message: impl std::fmt::Display) -> Self {
        Self::Input(message.to_string())
    }
}
