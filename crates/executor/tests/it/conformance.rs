//! Runs the process runtime through the suite that every runtime passes.

use std::sync::Arc;

use windlass_executor::{
    Job,
    testing::{Subject, leftovers::Leftovers},
};

use crate::place::Place;

async fn check(case: &str, run: impl AsyncFnOnce(&Subject)) {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let before = Leftovers::before(async || place.host()).await;
    Subject::new(runtime.clone(), case, Job::command("sh")).check(run).await;
    place.is_left_clean(runtime).await;
    before.after(async || place.host()).await;
}

windlass_executor::conformance_tests!(check);
