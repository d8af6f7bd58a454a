//! How things may go wrong, decided by a number: the same number, the same bad luck.

use proptest::test_runner::Config;

/// How a run may go wrong: the number decides for each step.
#[derive(Debug, Clone, Copy)]
pub struct Luck {
    /// The number.
    pub seed: u64,
    /// Of how many steps one fails; 0 means none.
    pub fails: u64,
    /// After how many steps the process is killed.
    pub cut: Option<usize>,
}

impl Luck {
    /// Nothing goes wrong.
    pub const GOOD: Self = Self { seed: 7, fails: 0, cut: None };

    /// Draws the next number.
    pub fn draw(&mut self) -> u64 {
        // A linear congruential generator: the order is random enough, and the same each time.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 33
    }

    /// Draws whether one of `many` things happens; of none, none does.
    pub fn one_of(&mut self, many: u64) -> bool {
        many > 0 && self.draw().is_multiple_of(many)
    }

    /// Draws whether the next step fails.
    pub fn fails(&mut self) -> bool {
        self.one_of(self.fails)
    }
}

/// Says how many cases are tried: as many as `PROPTEST_CASES` says, else so few that nobody waits for them.
pub fn few(cases: u32) -> Config {
    #[expect(clippy::disallowed_methods, reason = "how much is tried is no setting of the program")]
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config { failure_persistence: None, ..Config::default() };
    if given { config } else { Config { cases, ..config } }
}
