//! Waiting for events, from this process and from others.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch::Receiver;
use windlass_model::Seq;

use crate::error::StoreError;

/// Waits for events after a place.
///
/// Commits of this process wake it at once. Those of other processes are found by asking for the last event's number
/// now and then (`Options::poll_every` of the SQLite store): one look at the end of one table, in a database whose
/// pages are still cached while nothing has changed.
pub struct Watch {
    seen: Seq,
    here: Receiver<Seq>,
    elsewhere: Option<Polling>,
}

/// How commits of other processes are noticed.
pub(crate) struct Polling {
    /// How long to wait between two looks.
    pub(crate) every: Duration,
    /// Returns the number of the last durable event.
    pub(crate) last: Arc<dyn Fn() -> BoxFuture<'static, Result<Seq, StoreError>> + Send + Sync>,
}

impl Watch {
    /// Watches `here`, the number of the last durable event, and what is `elsewhere`.
    pub(crate) fn new(after: Seq, here: Receiver<Seq>, elsewhere: Option<Polling>) -> Self {
        Self { seen: after, here, elsewhere }
    }

    /// Waits until there are durable events after the last place, then returns the last one's number and goes on
    /// from there. Returns at once when there are some already. May be dropped while it waits; nothing is missed.
    ///
    /// # Errors
    /// [`StoreError::Closed`] once the store is gone, and what reading may meet.
    pub async fn next(&mut self) -> Result<Seq, StoreError> {
        loop {
            let last = self.last().await?;
            if last > self.seen {
                self.seen = last;
                return Ok(last);
            }
            self.pause().await?;
        }
    }

    /// Returns the place up to which events were reported.
    pub fn seen(&self) -> Seq {
        self.seen
    }

    async fn last(&mut self) -> Result<Seq, StoreError> {
        let here = *self.here.borrow_and_update();
        match &self.elsewhere {
            Some(polling) if here <= self.seen => (polling.last)().await,
            _ => Ok(here),
        }
    }

    async fn pause(&mut self) -> Result<(), StoreError> {
        let changed = self.here.changed();
        let woken = match &self.elsewhere {
            Some(polling) => tokio::time::timeout(polling.every, changed).await.unwrap_or(Ok(())),
            None => changed.await,
        };
        woken.map_err(|_| StoreError::Closed)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("seen", &self.seen).finish_non_exhaustive()
    }
}
