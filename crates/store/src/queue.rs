//! How many orders wait for a writer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::error::StoreError;
use crate::fence::Fence;
use crate::lease::Lease;

/// How many orders may wait before those who give more are asked to wait: see [`Store::room`](crate::Store::room).
const ROOM: usize = 1024;

/// How many orders can wait at all. Between this and [`ROOM`] is what many who have found room hand over at once.
pub(crate) const QUEUE: usize = 16 * ROOM;

/// How many orders wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    orders: AtomicUsize,
    fewer: Notify,
    /// The leases of which a batch found no place. What comes after it must not be applied.
    refused: Mutex<Fence>,
}

impl Waiting {
    /// Counts an order that is handed over, unless one before it has found no place.
    pub(crate) fn more(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        leases.iter().try_for_each(|lease| refused.pass(lease))?;
        self.orders.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Takes back an order that has found no place.
    pub(crate) fn refused(&self, leases: &[Lease]) {
        self.taken(1);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for lease in leases {
            refused.close(lease);
        }
    }

    /// Counts orders that the writer has taken.
    pub(crate) fn taken(&self, orders: usize) {
        self.orders.fetch_sub(orders, Ordering::SeqCst);
        self.fewer.notify_waiters();
    }

    /// Waits until there is room for more.
    pub(crate) async fn room(&self) {
        loop {
            let mut fewer = std::pin::pin!(self.fewer.notified());
            // From here on it is woken, also before it is polled.
            fewer.as_mut().enable();
            if self.orders.load(Ordering::SeqCst) < ROOM {
                return;
            }
            fewer.await;
        }
    }
}
