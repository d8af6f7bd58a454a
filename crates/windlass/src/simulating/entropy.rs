//! A reproducible source of bytes for the ids of simulated instances.

use std::sync::atomic::{AtomicU64, Ordering};

use windlass_model::id::Entropy;

/// A source of bytes that `SplitMix64` generates from a seed. The bytes are not secret.
pub(super) struct Seeded(AtomicU64);

impl Seeded {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Entropy for Seeded {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_model::InstanceId;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_ids_again() {
        let ids = |seed| {
            let entropy = Seeded::new(seed);
            [InstanceId::random(&entropy), InstanceId::random(&entropy)]
        };
        assert_eq!(ids(1), ids(1));
        assert_ne!(ids(1)[0], ids(1)[1]);
        assert_ne!(ids(1)[0], ids(2)[0]);
    }
}
