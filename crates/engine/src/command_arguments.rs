//! The arguments of commands. A process calls a command. When this process begins, the store seals (encrypts and keeps)
//! the arguments. When the command has ended, the store drops them.

use std::collections::BTreeMap;

use windlass_driver::Input;
use windlass_model::record::{Failure, FailureKind};
use windlass_model::{AssemblyName, ProcessId, PropertyName};
use windlass_secret::SecretRef;
use windlass_store::Batch;

use crate::engine::Arguments;
use crate::world::World;

/// Seals the arguments of the command that a process calls. After an interruption, a later process can then
/// resume the call.
pub(crate) fn put(world: &mut World, process: ProcessId, given: &Arguments, batch: &mut Batch) {
    let World { assembly, secrets, .. } = world;
    let text = serde_json::to_string(given).expect("arguments are plain data");
    secrets.seal(name(&assembly.name, process), &assembly.name, text, batch);
}

/// Drops the arguments of a command from the store, if the store has them. `process` is the process that has called
/// the command. The store keeps the arguments *sealed* (encrypted).
pub(crate) fn forget(world: &mut World, process: ProcessId, batch: &mut Batch) {
    let arguments = name(&world.assembly.name, process);
    if world.secrets.get(&arguments).is_some() {
        world.secrets.forget(arguments, batch);
    }
}

/// Returns the arguments of the command that a process calls.
///
/// # Errors
/// Returns a failure if the store does not have the arguments.
pub(crate) fn open(world: &World, process: ProcessId) -> Result<BTreeMap<PropertyName, Input>, Failure> {
    let text = world.secrets.text(&name(&world.assembly.name, process));
    let given: Option<Arguments> = text.and_then(|text| serde_json::from_str(text).ok());
    let gone =
        || Failure::new(FailureKind::Refused, "its arguments are missing from the store; call it again");
    let inputs = given.ok_or_else(gone)?.0.into_iter();
    Ok(inputs
        .map(|(name, argument)| (name, Input { value: argument.value, sensitive: argument.sensitive }))
        .collect())
}

/// Returns the name of the secret with the arguments of a command. `process` is the process that calls the command.
fn name(assembly: &AssemblyName, process: ProcessId) -> SecretRef {
    format!("{assembly}:call/{}", process.0).parse().expect("an assembly and a number are one")
}
