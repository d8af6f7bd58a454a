//! Rebuilds the calls of a recorded job, so that a driver can interpret the recorded output of the job again. No job
//! runs.
//!
//! One job of a health check may check several applications. The job then has one call for each application.

use windlass_driver::Call;
use windlass_model::AssemblyName;

use super::core::Engine;
use super::env::resources;
use crate::error::EngineError;
use crate::machine::Preparer;
use crate::recordings::RecordedJob;

/// Returns one call for each application that a recorded job was about. If an application no longer exists, it
/// gets no call. The calls contain the present data of the applications. The function does not execute the
/// calls.
///
/// # Errors
/// An error of the store.
pub async fn calls_of(
    engine: &Engine,
    job: &RecordedJob,
) -> Result<Vec<(AssemblyName, Box<Call>)>, EngineError> {
    let mut preparer = Preparer::new(engine.env.drivers.clone(), engine.env.places.clone());
    let (mut calls, now) = (Vec::new(), engine.env.clock.now());
    for name in &job.applications {
        let Some(snapshot) = engine.store.load(name).await? else { continue };
        let world = engine.records().loaded(snapshot).await?;
        let Some(element) = resources(world.topology()).next().map(|element| element.name.clone()) else {
            continue;
        };
        if let Ok(Some((mut call, _))) = preparer.unasked(&world, engine.store.id(), element, now) {
            call.action = job.action.clone();
            call.id = job.call.clone().unwrap_or(call.id);
            calls.push((name.clone(), call));
        }
    }
    Ok(calls)
}
