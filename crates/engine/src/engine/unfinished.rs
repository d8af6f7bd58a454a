//! The unfinished work of an assembly: its open processes, and its open calls.

use windlass_model::record::CallState;
use windlass_store::Snapshot;

use crate::error::EngineError;

/// Refuses an assembly that has an open process or an open call.
///
/// # Errors
/// [`EngineError::Converging`] if windlass only has to wait for the assembly. [`EngineError::Unfinished`] if a process
/// was interrupted, or if the outcome of a call is unknown.
pub(super) fn refuse_unfinished(snapshot: &Snapshot) -> Result<(), EngineError> {
    let assembly = &snapshot.assembly;
    if snapshot.processes.is_empty() && snapshot.calls.is_empty() {
        return Ok(());
    }
    let name = assembly.name.clone();
    if !is_converging(snapshot) {
        return Err(EngineError::Unfinished(name));
    }
    let calls = snapshot.calls.iter().map(|call| (call.element.clone(), call.action.clone())).collect();
    Err(EngineError::Converging { name, calls, is_application: assembly.application.is_some() })
}

/// Tells whether an assembly has open calls, and nothing else is unfinished than the changes of their instances. A
/// process that was stopped by a user leaves such calls. The next process then waits for the instances.
pub(super) fn is_converging(snapshot: &Snapshot) -> bool {
    let mut calls = snapshot.calls.iter();
    snapshot.processes.is_empty()
        && !snapshot.calls.is_empty()
        && calls.all(|call| matches!(call.state, CallState::Converging { .. }))
}
