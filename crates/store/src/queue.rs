//! Counts the writes, such as commits of batches, that are waiting for the writer of a store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::error::StoreError;
use crate::fence::Fence;
use crate::lease::Lease;

/// Limit of waiting writes: [`Store::room`](crate::Store::room) returns only when fewer writes are waiting.
const ROOM: usize = 1024;

/// Capacity of the queue. It is larger than [`ROOM`], since many callers may have passed [`Waiting::room`]
/// before they queue their writes.
pub(crate) const QUEUE: usize = 16 * ROOM;

/// The number of writes, such as commits of batches, that are waiting for the writer of a store.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    writes: AtomicUsize,
    fewer: Notify,
    /// The leases under which a batch was refused because the queue was full. Later batches of these leases
    /// must not be applied.
    refused: Mutex<Fence>,
}

impl Waiting {
    /// Counts a write before it is queued. Fails if the queue refused an earlier batch of one of the leases.
    pub(crate) fn more(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        leases.iter().try_for_each(|lease| refused.pass(lease))?;
        self.writes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Handles a write that did not fit into the queue. Subtracts the write from the count of waiting writes.
    /// `leases` are the leases of the write. From now on, [`more`](Self::more) refuses each write that has one of
    /// these leases.
    pub(crate) fn refused(&self, leases: &[Lease]) {
        self.taken(1);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for lease in leases {
            refused.close(lease);
        }
    }

    /// Subtracts `writes` from the count of waiting writes, because the writer has taken this number of writes.
    pub(crate) fn taken(&self, writes: usize) {
        self.writes.fetch_sub(writes, Ordering::SeqCst);
        self.fewer.notify_waiters();
    }

    /// Waits until fewer than [`ROOM`] writes are in the queue.
    pub(crate) async fn room(&self) {
        loop {
            let mut fewer = std::pin::pin!(self.fewer.notified());
            // From here on the future receives notifications, even before it is polled.
            fewer.as_mut().enable();
            if self.writes.load(Ordering::SeqCst) < ROOM {
                return;
            }
            fewer.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_model::{Epoch, Timestamp};

    use super::*;
    use crate::Holder;

    fn lease(assembly: &str) -> Lease {
        let (scope, epoch) = (assembly.parse().unwrap(), Epoch(std::num::NonZeroU64::MIN));
        Lease { scope, epoch, holder: Holder::current("test"), since: Timestamp::from_millis(0) }
    }

    #[tokio::test(start_paused = true)]
    async fn callers_wait_while_the_queue_is_full() {
        let waiting = Waiting::default();
        for _ in 0..ROOM {
            waiting.room().await;
            waiting.more(&[]).unwrap();
        }
        let second = std::time::Duration::from_secs(1);
        tokio::time::timeout(second, waiting.room()).await.unwrap_err();
        let (room, ()) = tokio::join!(tokio::time::timeout(second, waiting.room()), async {
            waiting.taken(1);
        });
        room.unwrap();
    }

    #[test]
    fn a_lease_with_a_refused_batch_gets_no_later_one_in() {
        let (waiting, one, other) = (Waiting::default(), lease("one"), lease("other"));
        waiting.more(std::slice::from_ref(&one)).unwrap();
        waiting.refused(std::slice::from_ref(&one));
        let error = waiting.more(std::slice::from_ref(&one)).unwrap_err();
        assert!(matches!(&error, StoreError::AfterFailure { scope } if *scope == one.scope), "{error}");
        waiting.more(&[other]).unwrap();
    }
}
