//! Reproducible failures: the same seed gives the same failures.

use proptest::test_runner::Config;

/// The failures of a run, derived from a seed.
#[derive(Debug, Clone, Copy)]
pub struct Luck {
    /// The seed of the random failures.
    pub seed: u64,
    /// On average, one of this many steps fails; 0 means that no step fails.
    pub fails: u64,
    /// The number of completed steps after which the process is killed; none if it is not killed.
    pub cut: Option<usize>,
}

impl Luck {
    /// A run without failures.
    pub const GOOD: Self = Self { seed: 7, fails: 0, cut: None };

    /// Returns the next random number.
    pub fn draw(&mut self) -> u64 {
        // A linear congruential generator is random enough and reproducible.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 33
    }

    /// Returns true with the probability 1/`many`; false if `many` is 0.
    pub fn one_of(&mut self, many: u64) -> bool {
        many > 0 && self.draw().is_multiple_of(many)
    }

    /// Decides whether the next step fails.
    pub fn fails(&mut self) -> bool {
        self.one_of(self.fails)
    }
}

/// Returns the configuration of a property test with `cases` cases. The environment variable `PROPTEST_CASES`
/// overrides the number.
pub fn few(cases: u32) -> Config {
    #[expect(clippy::disallowed_methods, reason = "how much is tried is no setting of the program")]
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config { failure_persistence: None, ..Config::default() };
    let cases = if given { config.cases } else { cases };
    // About every sixth pair of random assemblies has no plan and is rejected.
    Config { cases, max_global_rejects: config.max_global_rejects.max(cases), ..config }
}
