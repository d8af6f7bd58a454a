//! Runs random cases until a time budget is spent.
//!
//! The environment variable `WINDLASS_FUZZ_SECONDS` sets the budget of each test in seconds, 2 by default.
//! `WINDLASS_FUZZ_SEED` sets the seed. A run prints its seed, and the same seed gives the same cases in the
//! same order.

use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Number of cases between two checks of the clock.
const BATCH: u32 = 32;

#[expect(clippy::print_stdout, reason = "a campaign says how much it has tried")]
/// Runs cases until the budget is spent. Fails with the smallest failing case that was found.
pub(crate) fn fuzz<S: Strategy>(
    name: &str,
    cases: &S,
    check: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let number = |key: &str| {
        #[expect(clippy::disallowed_methods, reason = "the tests are told how long they may take")]
        let given = std::env::var(key).ok()?;
        Some(given.parse::<u64>().expect("a whole number of seconds, or a seed"))
    };
    let budget = Duration::from_secs(number("WINDLASS_FUZZ_SECONDS").unwrap_or(2));
    let seed = number("WINDLASS_FUZZ_SEED").unwrap_or(0);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases: BATCH, failure_persistence: None, ..Config::default() };
    let seeded = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut seeds = TestRunner::new_with_rng(config.clone(), seeded);
    let (start, mut count) = (Instant::now(), 0);
    while count == 0 || start.elapsed() < budget {
        // A runner can't continue after its number of cases, so each batch has its own runner.
        match TestRunner::new_with_rng(config.clone(), seeds.new_rng()).run(cases, &check) {
            Ok(()) => count += BATCH,
            Err(TestError::Fail(why, case)) => panic!("fuzz {name}: seed {seed}: {why}\n{case:?}"),
            Err(TestError::Abort(why)) => panic!("fuzz {name}: seed {seed}: {why}"),
        }
    }
    println!("fuzz {name}: seed {seed}, {count} cases in {} s, no finding", start.elapsed().as_secs());
}
