//! Resumes interrupted processes without asking a user.

use std::time::Duration;

use windlass_driver::Stop;
use windlass_model::AssemblyName;
use windlass_model::assembly::OnFailure;
use windlass_model::record::{AssemblyRecord, Intent, ProcessRecord};
use windlass_store::{Holder, Store, StoreError};

use super::core::Engine;
use super::prepared::Prepared;
use super::previous::last_of_assembly;
use super::request::Request;
use crate::error::EngineError;
use crate::keeper::Renewal;

/// The continuation of an interrupted process.
#[non_exhaustive]
pub enum Resumed {
    /// A new process continues the intent.
    Continued(Box<Prepared>),
    /// Nothing is left to do. The interrupted process has now ended; the value is its record.
    Ended(Box<ProcessRecord>),
}

/// Returns the failed process of an assembly if this process demands a rollback, and the rollback has not begun.
/// Otherwise, returns `None`. Only a process that a daemon has executed counts.
///
/// # Errors
/// An error of the store.
pub async fn demanding_rollback(
    store: &dyn Store,
    name: &AssemblyName,
) -> Result<Option<ProcessRecord>, StoreError> {
    let last = last_of_assembly(store, name).await?;
    Ok(last.filter(|last| last.unattended && last.follow_up.is_some()))
}

/// Tells whether the last process of an assembly may have failed and may demand a rollback. If the result is `false`,
/// [`demanding_rollback`] returns `None`.
pub fn may_demand_rollback(assembly: &AssemblyRecord) -> bool {
    let mut updates = assembly.topology.elements().iter().filter_map(|element| element.update);
    assembly.reached.is_some()
        && assembly.reached != assembly.version
        && updates.any(|update| update.on_failure == OnFailure::Rollback)
}

/// Prepares the continuation of a process that was interrupted while a daemon executed it. If the process has failed and
/// [demands a rollback](demanding_rollback), the function prepares this rollback.
///
/// The new process has the intent and the limits of the interrupted process. It removes and replaces only the parts
/// that the user has permitted for the interrupted process. If further parts would have to be replaced, for example
/// because their inputs are outdated, these parts stay as they are. A heal begins with health checks. The checks take
/// at most the time `checks`.
///
/// The result is [`Resumed::Ended`] in three cases:
///
/// - The process calls a command ([`Intent::Call`]). The function only determines the outcome of the call, and does not
///   call the command again.
/// - A user has asked the process to stop. It has now ended as Cancelled.
/// - The process has ended meanwhile. It demands no rollback, or its rollback has already begun.
///
/// # Errors
/// The errors of [`Engine::prepare`].
pub async fn resume(
    engine: &Engine,
    interrupted: &ProcessRecord,
    checks: Duration,
    holder: &Holder,
    stop: &Stop,
) -> Result<Resumed, EngineError> {
    let name = &interrupted.assembly;
    let lease = engine.store.lease(name, holder).await?;
    let mut renewal = Renewal::start(engine.store.clone(), lease.clone());
    let prepared = async {
        let present = engine.store.process(interrupted.id).await?;
        let present = present.unwrap_or_else(|| interrupted.clone());
        if present.status.is_final() {
            let demanding = demanding_rollback(&*engine.store, name).await?;
            if demanding.is_none_or(|demanding| demanding.id != present.id) {
                return Ok(Err(present));
            }
        }
        let request = Request::resuming(&present, checks);
        let is_unwanted = engine.store.is_asked_to_stop(present.id).await?;
        if is_unwanted || matches!(present.intent, Intent::Call { .. }) {
            let settled = engine.settled(&lease, name, None, stop).await?;
            if let Some((_, closing)) = settled.filter(|(_, closing)| !closing.is_empty()) {
                engine.store.commit(&lease, closing).await?;
            }
            return Ok(Err(engine.store.process(present.id).await?.unwrap_or(present)));
        }
        engine.prepare_under(&lease, name, request, stop, None).await.map(Ok)
    };
    match renewal.keeping(Box::pin(prepared)).await {
        Ok(Ok((draft, process))) => {
            let prepared = Prepared::new(engine.clone(), renewal, draft, process);
            Ok(Resumed::Continued(Box::new(prepared)))
        }
        Ok(Err(ended)) => {
            renewal.release().await;
            Ok(Resumed::Ended(Box::new(ended)))
        }
        Err(error) => {
            renewal.release().await;
            Err(error)
        }
    }
}
