//! Messages about an outage of the store, for a command that reads the store repeatedly.

use std::fmt::Display;
use std::time::Duration;

use windlass::Windlass;

use crate::output::tell;

/// The time between a failure of the store and the next attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether the store has stopped answering, and what the user was told about it.
pub(crate) struct Outage {
    /// The kind of the store, such as `PostgreSQL`.
    store: &'static str,
    is_told: bool,
}

impl Outage {
    /// Returns the initial state: the store answers.
    pub(crate) fn none(windlass: &Windlass) -> Self {
        Self { store: windlass.store_kind(), is_told: false }
    }

    /// Tells whether the last attempt has failed.
    pub(crate) fn is_on(&self) -> bool {
        self.is_told
    }

    /// Prints `error` if it is the first error of an outage. Then waits for one second, so that the caller can try
    /// again.
    pub(crate) async fn failed(&mut self, error: &impl Display) {
        if !std::mem::replace(&mut self.is_told, true) {
            tell!("{error}; windlass tries again");
        }
        tokio::time::sleep(PAUSE).await;
    }

    /// Prints that the store is back, if its failure was printed.
    pub(crate) fn ended(&mut self) {
        if std::mem::take(&mut self.is_told) {
            tell!("{} is back", self.store);
        }
    }
}
