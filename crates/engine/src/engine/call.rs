//! Commands: named actions that an operator calls by hand.

use std::collections::BTreeMap;
use std::fmt::Display;

use windlass_driver::CommandArgument;
use windlass_lifecycle::{Diff, Planned};
use windlass_model::assembly::ElementKind;
use windlass_model::work::{Reason, Work};
use windlass_model::{Action, CommandName, ElementName, PropertyName, Side, State};
use windlass_plan::PlanBuilder;
use windlass_source::suggest;

use super::request::{Argument, Arguments};
use crate::error::EngineError;
use crate::world::World;

/// The maximum number of parts that a message names.
const SHOWN: usize = 2;

/// Returns a plan with one step, which calls a command. The function also checks the arguments in `given` against the
/// declared arguments of the command, and adds the missing defaults.
pub(super) fn planned(
    world: &World,
    part: &ElementName,
    command: &CommandName,
    given: &mut Arguments,
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
    let is_up = !matches!(state, State::Absent | State::Failed);
    let not_up = || EngineError::NotUp { part: part.clone(), command: command.clone(), state };
    let package = world.package(element, Side::Installed);
    let package = package.map_err(|failure| if is_up { refused(failure.message) } else { not_up() })?;
    let bindings = package.bindings();
    if !bindings.declares(&Action::Command(command.clone())) {
        let known = if bindings.commands.is_empty() {
            "declares no command; add it to `commands`".to_owned()
        } else {
            format!("declares only {}", quoted(bindings.commands.keys()))
        };
        return Err(refused(format!("`{}` {known}", package.name())));
    }
    if let Some(declared) = bindings.arguments.get(command.as_str()) {
        complete(given, declared).map_err(refused)?;
    }
    if !is_up {
        return Err(not_up());
    }
    let mut builder = PlanBuilder::<Work, Reason>::new();
    builder.step(Work::Command { element: part.clone(), command: command.clone() });
    let plan = builder.build().expect("one step waits for nothing");
    Ok(Planned { plan, diff: Diff::default(), undone: Diff::default(), surge: BTreeMap::new() })
}

/// Checks arguments against the declared arguments of a command. Adds the default of each missing argument, and marks
/// the values that are declared as secrets.
///
/// # Errors
/// Returns the reason why the command can't be called: an argument is unknown, or a required argument is missing.
fn complete(given: &mut Arguments, declared: &BTreeMap<PropertyName, CommandArgument>) -> Result<(), String> {
    if let Some(unknown) = given.0.keys().find(|name| !declared.contains_key(*name)) {
        let near = suggest(unknown.as_str(), declared.keys().map(PropertyName::as_str));
        let help = near.map_or_else(
            || format!("it declares only {}", quoted(declared.keys())),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(format!("it has no argument `{unknown}`; {help}"));
    }
    for (name, declared) in declared {
        match (given.0.get_mut(name), &declared.default) {
            (Some(argument), _) => argument.sensitive |= declared.sensitive,
            (None, Some(default)) => {
                let value = default.as_str().into();
                given.0.insert(name.clone(), Argument { value, sensitive: declared.sensitive });
            }
            (None, None) if declared.required => {
                return Err(format!("it needs the argument `{name}`; pass `-a {name}=VALUE`"));
            }
            (None, None) => {}
        }
    }
    Ok(())
}

/// Lists names in backticks, separated by commas.
fn quoted(names: impl Iterator<Item = impl Display>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
