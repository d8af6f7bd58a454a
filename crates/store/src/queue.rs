//! Counts the orders that wait for a writer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::error::StoreError;
use crate::fence::Fence;
use crate::lease::Lease;

/// Number of waiting orders from which [`Store::room`](crate::Store::room) blocks callers.
const ROOM: usize = 1024;

/// Capacity of the queue. The difference to [`ROOM`] absorbs orders of callers that passed `room` at the same
/// time.
pub(crate) const QUEUE: usize = 16 * ROOM;

/// The number of waiting orders.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    orders: AtomicUsize,
    fewer: Notify,
    /// The leases that had a batch refused because the queue was full. Later batches of these leases must not
    /// be applied.
    refused: Mutex<Fence>,
}

impl Waiting {
    /// Counts an order before it is queued. Fails if the queue refused an earlier batch of one of the leases.
    pub(crate) fn more(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        leases.iter().try_for_each(|lease| refused.pass(lease))?;
        self.orders.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Uncounts an order that did not fit into the queue.
    pub(crate) fn refused(&self, leases: &[Lease]) {
        self.taken(1);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for lease in leases {
            refused.close(lease);
        }
    }

    /// Uncounts orders that the writer has taken.
    pub(crate) fn taken(&self, orders: usize) {
        self.orders.fetch_sub(orders, Ordering::SeqCst);
        self.fewer.notify_waiters();
    }

    /// Waits until fewer than [`ROOM`] orders wait.
    pub(crate) async fn room(&self) {
        loop {
            let mut fewer = std::pin::pin!(self.fewer.notified());
            // From here on it receives notifications, even before it is polled.
            fewer.as_mut().enable();
            if self.orders.load(Ordering::SeqCst) < ROOM {
                return;
            }
            fewer.await;
        }
    }
}
