//! Waiting for events of this program and of others.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch::Receiver;
use windlass_model::Seq;

use crate::error::StoreError;

/// A watch for events after a sequence number.
///
/// Commits of this program wake the watch at once. The watch finds commits of other programs by polling the
/// number of the last event (`poll_every` in the options of the store). One poll reads the end of one table,
/// whose pages stay cached while nothing changes.
///
/// An implementation of [`Store`](crate::Store) creates its watches with [`new`](Self::new). If several programs can
/// change the store, it also calls [`polling`](Self::polling):
///
/// ```
/// use std::time::Duration;
///
/// use tokio::sync::watch;
/// use windlass_model::Seq;
/// use windlass_store::Watch;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_store::StoreError> {
/// // The store keeps the sender, and sends the number of the last event after each commit.
/// let last = watch::Sender::new(Seq::START);
/// let mut watch = Watch::new(Seq::START, last.subscribe());
/// last.send_replace(Seq(3));
/// assert_eq!(watch.next().await?, Seq(3));
///
/// // Another program has added the event 4 to the database.
/// let mut watch = watch.polling(Duration::from_millis(100), || async { Ok(Seq(4)) });
/// assert_eq!(watch.next().await?, Seq(4));
/// # Ok(())
/// # }
/// ```
pub struct Watch {
    seen: Seq,
    here: Receiver<Seq>,
    elsewhere: Option<Polling>,
}

/// The means by which a [`Watch`] finds commits of other programs. A store in SQLite does not use the pragma
/// `data_version` for this purpose, because the pragma reports each change of the database, and not only new events.
struct Polling {
    every: Duration,
    /// Returns the number of the last durable event.
    last: Arc<dyn Fn() -> BoxFuture<'static, Result<Seq, StoreError>> + Send + Sync>,
}

impl Watch {
    /// Creates a watch for events with greater numbers than `after`. `last` contains the number of the last event that
    /// this program knows to be durable. The store sends a new number after each commit. When the store drops the
    /// sender, the watch ends with [`StoreError::Closed`].
    pub fn new(after: Seq, last: Receiver<Seq>) -> Self {
        Self { seen: after, here: last, elsewhere: None }
    }

    /// Makes the watch also call `last` at the interval `every`, to find the events of other programs. `last` returns
    /// the number of the last durable event, as [`Store::last_event`](crate::Store::last_event) does.
    #[must_use]
    pub fn polling<F>(mut self, every: Duration, last: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Seq, StoreError>> + Send + 'static,
    {
        self.elsewhere = Some(Polling { every, last: Arc::new(move || Box::pin(last())) });
        self
    }

    /// Waits until there are durable events after the last reported event, and returns the number of the
    /// newest event. Returns at once if such events exist already. If the caller drops the future, no event
    /// is missed.
    ///
    /// # Errors
    /// [`StoreError::Closed`] once the store is closed, and every error of reading.
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

    /// Returns the sequence number up to which events were reported.
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
