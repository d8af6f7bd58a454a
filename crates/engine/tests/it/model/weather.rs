//! Faults of the store while a process runs: delays, outages and failed writes.

use std::time::Duration;

use proptest::prelude::*;
use windlass_store::StoreError;
use windlass_store::testing::MemoryStore;

/// The faults of the store during an intent; none by default.
#[derive(Debug, Clone, Default)]
pub(super) struct Weather {
    /// The faults, each with its delay after the previous one in milliseconds.
    changes: Vec<(u64, Change)>,
}

/// A fault of the store; times are in milliseconds.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// The test itself makes writes to an assembly fail.
    Sabotage,
    /// Batches become durable this much later.
    Late(u64),
    /// Leases cannot be renewed and stop requests cannot be read for this time.
    Outage(u64),
    /// The next batch fails.
    Fails,
}

/// If the sum of all outages in milliseconds is at most this number, every lease is still renewed within its term.
const BORNE: u64 = 20_000;

impl Weather {
    /// Creates a constant delay.
    pub(super) fn late(millis: u64) -> Self {
        Self { changes: vec![(0, Change::Late(millis))] }
    }

    /// Returns a value for tests that themselves make the writes to one assembly fail. The value causes no faults. It
    /// only states that these failures are expected.
    pub(super) fn sabotaged() -> Self {
        Self { changes: vec![(0, Change::Sabotage)] }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.changes.is_empty()
    }

    /// Tells whether the faults may end a process.
    pub(super) fn ends_processes(&self) -> bool {
        let outages = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Outage(millis) => Some(millis),
            _ => None,
        });
        outages.sum::<u64>() > BORNE
            || self.changes.iter().any(|(_, change)| matches!(change, Change::Fails | Change::Sabotage))
    }

    /// Tells whether the faults end with the process.
    pub(super) fn is_of_one(&self) -> bool {
        !self.changes.iter().any(|(_, change)| matches!(change, Change::Sabotage))
    }

    /// Returns the maximum delay of a batch.
    pub(super) fn latest(&self) -> Duration {
        let late = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Late(millis) => Some(*millis),
            _ => None,
        });
        Duration::from_millis(late.max().unwrap_or_default())
    }

    /// Applies the faults to a store. Never returns.
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

/// Generates delays, failures and outages, some of which last longer than a lease.
pub(super) fn weather() -> impl Strategy<Value = Weather> {
    let change = prop_oneof![
        4 => (0..3000_u64).prop_map(Change::Late),
        3 => (0..9000_u64).prop_map(Change::Outage),
        1 => (20_000..60_000_u64).prop_map(Change::Outage),
        1 => Just(Change::Fails),
    ];
    proptest::collection::vec((0..3000_u64, change), 1..5).prop_map(|changes| Weather { changes })
}
