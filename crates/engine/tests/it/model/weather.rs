//! How a store is while a process runs: late, unreachable for a while, or full.

use std::time::Duration;

use proptest::prelude::*;
use windlass_store::StoreError;
use windlass_store::testing::MemoryStore;

/// What the store does while something is asked for. None of it is calm.
#[derive(Debug, Clone, Default)]
pub(super) struct Weather {
    /// What happens, each so many milliseconds after the one before.
    changes: Vec<(u64, Change)>,
}

/// Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Whoever is told to does harm to the records of an assembly.
    Sabotage,
    /// What is written is durable so much later.
    Late(u64),
    /// No lease is renewed, and nobody learns that a process is to stop.
    Outage(u64),
    /// The next batch fails.
    Fails,
}

/// Outages that last so long all together keep no lease from being renewed in its term.
const BORNE: u64 = 20_000;

impl Weather {
    /// Makes a store that is as late as this all the time.
    pub(super) fn late(millis: u64) -> Self {
        Self { changes: vec![(0, Change::Late(millis))] }
    }

    /// Makes a store that may take in nothing of an assembly any more.
    pub(super) fn sabotaged() -> Self {
        Self { changes: vec![(0, Change::Sabotage)] }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.changes.is_empty()
    }

    /// Tells whether it may be the end of a process.
    pub(super) fn ends_processes(&self) -> bool {
        let outages = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Outage(millis) => Some(millis),
            _ => None,
        });
        outages.sum::<u64>() > BORNE
            || self.changes.iter().any(|(_, change)| matches!(change, Change::Fails | Change::Sabotage))
    }

    /// Tells whether what it does goes with the process that it was for.
    pub(super) fn is_of_one(&self) -> bool {
        !self.changes.iter().any(|(_, change)| matches!(change, Change::Sabotage))
    }

    /// Returns how late a batch is at most.
    pub(super) fn latest(&self) -> Duration {
        let late = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Late(millis) => Some(*millis),
            _ => None,
        });
        Duration::from_millis(late.max().unwrap_or_default())
    }

    /// Lets it be as it is. Never ends.
    pub(super) async fn passes<T>(&self, store: &MemoryStore) -> T {
        let database = || StoreError::Database { path: "memory".into(), detail: "bad weather".to_owned() };
        for (after, change) in &self.changes {
            tokio::time::sleep(Duration::from_millis(*after)).await;
            match change {
                Change::Late(millis) => store.set_latency(Duration::from_millis(*millis)),
                Change::Sabotage => {}
                Change::Fails => store.fail_next(database()),
                Change::Outage(millis) => {
                    store.set_outage(Some(database()));
                    tokio::time::sleep(Duration::from_millis(*millis)).await;
                    store.set_outage(None);
                }
            }
        }
        std::future::pending().await
    }
}

/// Stores that are late and fail, some of them for longer than a lease lasts.
pub(super) fn weather() -> impl Strategy<Value = Weather> {
    let change = prop_oneof![
        4 => (0..3000_u64).prop_map(Change::Late),
        3 => (0..9000_u64).prop_map(Change::Outage),
        1 => (20_000..60_000_u64).prop_map(Change::Outage),
        1 => Just(Change::Fails),
    ];
    proptest::collection::vec((0..3000_u64, change), 1..5).prop_map(|changes| Weather { changes })
}
