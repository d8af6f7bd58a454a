//! Commands: named actions that an operator calls by hand.

use std::collections::BTreeMap;

use windlass_driver::Input;
use windlass_lifecycle::{Diff, Planned};
use windlass_model::assembly::ElementKind;
use windlass_model::record::{Failure, FailureKind};
use windlass_model::work::{Reason, Work};
use windlass_model::{Action, AssemblyName, CommandName, ElementName, ProcessId, PropertyName, Side, State};
use windlass_plan::PlanBuilder;
use windlass_secret::SecretRef;
use windlass_store::Batch;

use super::request::Arguments;
use crate::error::EngineError;
use crate::sealing::{drop_secret, put_secret};
use crate::world::World;

/// Returns the plan that calls a command: one step.
pub(super) fn planned(
    world: &World,
    part: &ElementName,
    command: &CommandName,
) -> Result<Planned, EngineError> {
    let topology = world.version(Side::Installed);
    let refused =
        |why: String| EngineError::NotCallable { part: part.clone(), command: command.clone(), why };
    let element = topology.get(part).filter(|element| element.kind == ElementKind::Resource);
    let element = element.ok_or_else(|| refused("it is no resource of the installed assembly".to_owned()))?;
    let state = world.elements.get(part).map(|record| record.state).unwrap_or_default();
    if matches!(state, State::Absent | State::Failed) {
        return Err(refused(format!("it is {state}; bring it up first")));
    }
    let package = world.package(element, Side::Installed).map_err(|failure| refused(failure.message))?;
    let bindings = package.bindings();
    if !bindings.declares(&Action::Command(command.clone())) {
        let known: Vec<String> = bindings.commands.keys().map(|name| format!("`{name}`")).collect();
        let known = if known.is_empty() {
            "declares no command; add it to `commands`".to_owned()
        } else {
            format!("declares only {}", known.join(", "))
        };
        return Err(refused(format!("`{}` {known}", package.name())));
    }
    let mut builder = PlanBuilder::<Work, Reason>::new();
    builder.step(Work::Command { element: part.clone(), command: command.clone() });
    let plan = builder.build().expect("one step waits for nothing");
    Ok(Planned { plan, diff: Diff::default(), undone: Diff::default() })
}

/// Returns the name under which the arguments of a process's command are sealed.
fn arguments_of(assembly: &AssemblyName, process: ProcessId) -> SecretRef {
    format!("{assembly}:call/{}", process.0).parse().expect("an assembly and a number are one")
}

/// Seals the arguments, so that a later process can take up the call after an interruption.
pub(super) fn put_arguments(world: &mut World, process: ProcessId, given: &Arguments, batch: &mut Batch) {
    let text = serde_json::to_string(given).expect("arguments are plain data");
    put_secret(world, arguments_of(&world.assembly.name, process), text, batch);
}

impl World {
    /// Drops the sealed arguments of a process's command, if there are any.
    pub(crate) fn drop_arguments(&mut self, process: ProcessId, batch: &mut Batch) {
        let arguments = arguments_of(&self.assembly.name, process);
        if self.opened(&arguments).is_some() {
            drop_secret(self, arguments, batch);
        }
    }

    /// Opens the arguments of a process's command.
    ///
    /// # Errors
    /// The store does not have them.
    pub(crate) fn command_arguments(
        &self,
        process: ProcessId,
    ) -> Result<BTreeMap<PropertyName, Input>, Failure> {
        let text = self.opened(&arguments_of(&self.assembly.name, process));
        let given: Option<Arguments> = text.and_then(|text| serde_json::from_str(text).ok());
        let gone =
            || Failure::new(FailureKind::Refused, "its arguments are missing from the store; call it again");
        let inputs = given.ok_or_else(gone)?.0.into_iter();
        Ok(inputs
            .map(|(name, argument)| (name, Input { value: argument.value, sensitive: argument.sensitive }))
            .collect())
    }
}
