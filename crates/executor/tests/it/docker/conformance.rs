//! Runs the Docker runtime through the suite that every runtime passes.

use windlass_executor::{
    Job,
    testing::{Subject, leftovers::Leftovers},
};

use super::place::{Place, TURNS, left_by};

async fn check(case: &str, run: impl AsyncFnOnce(&Subject)) {
    let Some(place) = Place::new(case).await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let before = Leftovers::before(async || place.left()).await;
    // Ids are names of containers. Other clients and tests use the same engine.
    let name = format!("{case}-{}", place.runtime.client());
    Subject::new(place.runtime.clone(), &name, Job::command("sh")).check(run).await;
    place.runtime.close().await;
    before.after(async || place.left()).await;
    left_by(&place);
}

windlass_executor::conformance_tests!(check);
