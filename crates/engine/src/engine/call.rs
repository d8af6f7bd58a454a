//! Commands: named actions that an operator calls by hand.

use std::collections::BTreeMap;

use windlass_lifecycle::{Diff, Planned};
use windlass_model::assembly::ElementKind;
use windlass_model::work::{Reason, Work};
use windlass_model::{Action, CommandName, ElementName, Side, State};
use windlass_plan::PlanBuilder;

use crate::error::EngineError;
use crate::world::World;

/// The maximum number of parts that a message names.
const SHOWN: usize = 2;

/// Returns the plan that calls a command. The plan has one step.
pub(super) fn planned(
    world: &World,
    part: &ElementName,
    command: &CommandName,
) -> Result<Planned, EngineError> {
    let topology = world.version(Side::Installed);
    let refused =
        |why: String| EngineError::NotCallable { part: part.clone(), command: command.clone(), why };
    let element = topology.get(part).filter(|element| element.kind == ElementKind::Resource);
    let element = element.ok_or_else(|| {
        let within = topology.elements().iter().filter(|element| element.parent.as_ref() == Some(part));
        let within = within.map(|element| format!("`{}`", element.name.local()));
        match within.take(SHOWN).collect::<Vec<_>>() {
            parts if parts.is_empty() => refused("it is no resource of the installed assembly".to_owned()),
            parts => {
                refused(format!("it consists of parts; name a resource, such as {}", parts.join(" or ")))
            }
        }
    })?;
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
    Ok(Planned { plan, diff: Diff::default(), undone: Diff::default(), surge: BTreeMap::new() })
}
