//! Test doubles for the dependencies of a store: time, random bytes, and the check whether a holder is dead.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windlass_model::id::Entropy;
use windlass_model::{Clock, Timestamp};

use crate::holder::{Holder, Processes};
use crate::uptime::{Tick, Uptime};

/// A clock that moves only when a test moves it.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    /// Moves the clock forwards.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Sets the clock back.
    pub fn turn_back(&self, by: Duration) {
        self.0.fetch_sub(millis(by), Ordering::SeqCst);
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

impl Uptime for ManualClock {
    fn now(&self) -> Option<Tick> {
        Some(Tick { boot: "boot".to_owned(), millis: Clock::now(self).as_millis() })
    }
}

/// A clock that is ahead of another clock, or behind it, by a constant time. It simulates a machine with a wrong clock.
#[derive(Clone)]
pub struct SkewedClock {
    right: Arc<dyn Clock>,
    millis: i64,
}

impl SkewedClock {
    /// Creates a clock that differs from `right` by `millis` milliseconds, which may be negative.
    pub fn new(right: Arc<dyn Clock>, millis: i64) -> Self {
        Self { right, millis }
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        self.right.now().plus_millis(self.millis)
    }
}

impl fmt::Debug for SkewedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkewedClock").field("millis", &self.millis).finish_non_exhaustive()
    }
}

/// Deterministic bytes that look random. They must not be used for real keys.
#[derive(Debug, Default)]
pub struct CountingEntropy(AtomicU64);

impl CountingEntropy {
    /// Creates an entropy source whose bytes differ from those of other seeds.
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

/// A list of dead holders. Every holder counts as alive until a test adds the holder to the list.
#[derive(Debug, Default)]
pub struct Graveyard(Mutex<HashSet<Holder>>);

impl Graveyard {
    /// Marks a holder as dead.
    pub fn bury(&self, holder: &Holder) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(holder.clone());
    }
}

impl Processes for Graveyard {
    fn is_dead(&self, holder: &Holder) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(holder)
    }
}
