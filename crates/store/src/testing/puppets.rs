//! Stand-ins for what a store is given: time, randomness, and who is dead.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use windlass_model::id::Entropy;
use windlass_model::{Clock, Timestamp};

use crate::holder::{Holder, Processes};

/// A clock that moves only when told.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Makes a clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Bytes that look random and are the same in every run. Never for real keys.
#[derive(Debug, Default)]
pub struct CountingEntropy(AtomicU64);

impl CountingEntropy {
    /// Makes an entropy that differs from those of other seeds.
    pub fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn word(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut word = self.0.fetch_add(STEP, Ordering::SeqCst).wrapping_add(STEP);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

impl Entropy for CountingEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Processes that live until they are buried.
#[derive(Debug, Default)]
pub struct Graveyard(Mutex<HashSet<Holder>>);

impl Graveyard {
    /// Lets a holder be dead from now on.
    pub fn bury(&self, holder: &Holder) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(holder.clone());
    }
}

impl Processes for Graveyard {
    fn is_dead(&self, holder: &Holder) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(holder)
    }
}
