//! Waiting for changes of the records in the store. The changes may come from this program or from another
//! program.

use std::time::Duration;

use windlass_model::Seq;
use windlass_store::Watch;

use crate::error::Error;
use crate::open::Windlass;

/// The pause between two attempts to find a missing store.
const PAUSE: Duration = Duration::from_secs(1);

/// A stream of changes of the records in the store. The changes may come from this program or from another
/// program.
pub struct Changes<'w> {
    windlass: &'w Windlass,
    watch: Option<Watch>,
}

impl<'w> Changes<'w> {
    /// Creates a stream of changes. The store is opened only by the first call of [`next`](Self::next).
    pub fn new(windlass: &'w Windlass) -> Self {
        Self { windlass, watch: None }
    }

    /// Waits for a change. If the project has a store, the first call returns at once, because the stream can't tell
    /// whether the caller has missed changes before this call. Without a store, the first call waits until a store
    /// exists. The future may be dropped while it waits; the next call then misses no change.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn next(&mut self) -> Result<(), Error> {
        if let Some(watch) = &mut self.watch {
            watch.next().await?;
            return Ok(());
        }
        loop {
            if let Some(store) = self.windlass.store(false).await? {
                let last: Seq = store.last_event().await?;
                self.watch = Some(store.watch(last));
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
