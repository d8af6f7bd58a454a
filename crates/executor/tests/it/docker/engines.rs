//! The engines that tests run against.

use std::io::Write;

use windlass_executor::docker::{Engine, EngineChoice, Environment};

/// Returns the environment of the tests themselves.
#[expect(clippy::disallowed_methods, reason = "a test stands for the program that hands the environment in")]
pub(crate) fn environment() -> Environment {
    Environment::READ.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?))).collect()
}

#[expect(clippy::disallowed_methods, reason = "a test is told so by who runs it")]
pub(crate) fn is_required() -> bool {
    std::env::var("WINDLASS_REQUIRE_DOCKER").is_ok_and(|value| value == "1")
}

/// Reports that a test can't run here. If `WINDLASS_REQUIRE_DOCKER=1` demands the test, the function panics instead.
pub(crate) fn skipped(what: &str, why: &str) {
    assert!(!is_required(), "{what} can't run here, and WINDLASS_REQUIRE_DOCKER=1 demands it: {why}");
    // The line is written past the capture of the test harness: a skipped test must be visible.
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(format!("SKIPPED {what}: {why}\n").as_bytes()).unwrap();
}

/// Returns the engine that the Docker client would find. If there is no such engine, the function reports the test as
/// skipped and returns `None`.
pub(crate) async fn docker(test: &str) -> Option<Engine> {
    match Engine::connect(&EngineChoice::Docker, &environment()).await {
        Ok(engine) => Some(engine),
        Err(error) => {
            skipped(test, &error.to_string());
            None
        }
    }
}
