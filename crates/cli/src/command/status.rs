//! `windlass status`: prints the state, the components and the outputs of assemblies.

mod applications;
mod node;
mod open;
mod tree;
mod watch;

use std::process::ExitCode;

use windlass::engine::EngineError;
use windlass::model::{AssemblyName, State, Timestamp};
use windlass::view::status::{AssemblyView, LeavingView, PartsView, RelationshipView, StatusView};
use windlass::{Error, Windlass};

pub(super) use self::applications::service_state;
use self::open::{print_additional, print_process, print_undecided};
use self::tree::Tree;
use super::process::text;
use super::{fail, open_to_read, pairs, plural, print_json};
use crate::alike;
use crate::args::{Format, StatusArgs};
use crate::exit;
use crate::output::{BAD, DIM, ODD, STRONG, age, one_line, say, state_style, styled, tell};

pub(crate) async fn run(args: StatusArgs) -> ExitCode {
    let windlass = match open_to_read("status") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    if args.watch {
        return watch::run(&windlass, &args).await;
    }
    match read(&windlass, &args).await {
        Ok(view) => show(&windlass, &args, &view),
        Err(error) => failed(&windlass, &args, &error).await,
    }
}

/// Reports that the status can't be read, and returns the exit code.
async fn failed(windlass: &Windlass, args: &StatusArgs, error: &Error) -> ExitCode {
    let code = fail(error);
    if let (Error::Engine(EngineError::Unknown { .. }), Some(name)) = (error, &args.name)
        && windlass.is_removed(name).await.unwrap_or(false)
    {
        tell!("note: `{name}` has been removed; `windlass log {name}` shows its last processes");
    }
    code
}

async fn read(windlass: &Windlass, args: &StatusArgs) -> Result<StatusView, windlass::Error> {
    match (&args.name, &args.component) {
        (Some(name), Some(component)) => windlass.views().status_of_part(name, component).await,
        (name, _) => windlass.views().status(name.as_ref()).await,
    }
}

fn show(windlass: &Windlass, args: &StatusArgs, view: &StatusView) -> ExitCode {
    // If the status of a single component is requested, all its nodes are listed.
    let tree = Tree::new(windlass.now(), args.all || args.component.is_some());
    match args.print.format {
        Format::Json => print_json(view),
        Format::Human if args.name.is_none() => print_all(tree, view),
        Format::Human => print(tree, &view.assemblies.iter().collect::<Vec<_>>(), args.component.is_some()),
    }
}

/// Prints all assemblies: first those with a descriptor, then launched applications.
fn print_all(tree: Tree, view: &StatusView) -> ExitCode {
    if view.assemblies.is_empty() {
        say!("there are no assemblies; `windlass up FILE` creates one");
    }
    let (launched, described): (Vec<&AssemblyView>, Vec<_>) =
        view.assemblies.iter().partition(|assembly| assembly.application.is_some());
    let code = print(tree, &described, false);
    if !described.is_empty() && !launched.is_empty() {
        say!();
    }
    let launched: Vec<_> = launched
        .into_iter()
        .filter_map(|assembly| Some((assembly.application.as_ref()?, assembly)))
        .collect();
    applications::print(tree.now, &launched, tree.whole);
    code
}

fn print(tree: Tree, assemblies: &[&AssemblyView], one_part: bool) -> ExitCode {
    for (at, assembly) in assemblies.iter().enumerate() {
        let tree = Tree { is_application: assembly.application.is_some(), ..tree };
        if at > 0 {
            say!();
        }
        print_head(tree.now, assembly);
        if let Some(application) = assembly.application.as_ref().filter(|_| !one_part) {
            applications::print_details(tree.now, application);
        }
        print_undecided("  ", &assembly.name, &assembly.undecided, tree.whole, one_part);
        if one_part {
            tree.print_alone(&assembly.components);
        } else {
            tree.print(&assembly.components);
        }
        print_leaving(tree.now, &assembly.leaving, tree.whole);
        if !one_part {
            print_foot(assembly);
        }
    }
    exit::DONE
}

fn print_head(now: Timestamp, assembly: &AssemblyView) {
    let PartsView { active, unhealthy, all } = assembly.parts;
    let is_partial = active < all && assembly.goal == State::Active;
    let state = styled(state_style(assembly.state), assembly.state);
    let state = match &assembly.process {
        // The state of an assembly is the lowest state of its parts. `Absent` alone would hide that only a few parts
        // are missing, and `Active` alone would hide missing relationships.
        _ if assembly.incomplete && !matches!(assembly.state, State::Broken | State::Failed) => {
            styled(ODD, "incomplete")
        }
        _ if assembly.goal != State::Absent => state,
        Some(_) => format!("{state} (going down)"),
        // The last process is a `down` that was limited to some parts, or that has failed. `Absent` alone would
        // hide the parts that still exist.
        None if assembly.state == State::Absent => styled(ODD, "partly removed"),
        // An application has only one instance, and `app destroy` has failed. `partly removed` would be wrong.
        None if assembly.application.is_some() => format!("{state} (not destroyed)"),
        None => format!("{state} (partly removed)"),
    };
    let protected = if assembly.protected { ", protected" } else { "" };
    say!(
        "{} {state} {}",
        styled(STRONG, &assembly.name),
        styled(DIM, format!("{}, {}{protected}", assembly.descriptor, age(now, assembly.created)))
    );
    print_process("  ", assembly);
    print_additional(assembly);
    if is_partial || active > 0 && assembly.goal == State::Absent {
        say!("  {}", styled(ODD, format!("{active} of {all} Active")));
    }
    if unhealthy > 0 && assembly.application.is_none() {
        say!("  {}", styled(BAD, format!("{unhealthy} unhealthy")));
    }
}

fn print_leaving(now: Timestamp, leaving: &[LeavingView], whole: bool) {
    let key = |part: &&LeavingView| {
        let failure = part.failure.as_ref().map(|failure| alike::nameless(&failure.message, &part.name));
        Some((alike::pattern(part.name.local()), part.state, failure))
    };
    for parts in alike::put_together_unless(whole, leaving, key) {
        let names = alike::named(parts.iter().map(|part| &part.name));
        let since = node::ages(now, parts.iter().map(|part| part.since));
        let first = parts[0];
        say!(
            "  {names} {} {}",
            styled(state_style(first.state), first.state),
            styled(DIM, format!("{since}, to be removed"))
        );
        if let Some(failure) = &first.failure {
            let failure = failure.to_string();
            let of_all = if parts.len() > 1 { alike::nameless(&failure, &first.name) } else { failure };
            say!("    {}", styled(BAD, one_line(&of_all)));
        }
    }
}

fn print_foot(assembly: &AssemblyView) {
    for RelationshipView { name, made, half_made, half_ended, missing } in &assembly.relationships {
        if *made > 0 {
            say!("  {name} created × {made}");
        }
        for (word, pairs) in [("half-created", half_made), ("half-ceased", half_ended), ("missing", missing)]
        {
            if let Some(named) = pairs::between(pairs) {
                say!("  {}", styled(ODD, format!("{name} {word}: {named}")));
            }
        }
    }
    let is_factory = assembly.application.as_ref().is_some_and(|application| application.factory.is_none());
    if !assembly.referenced_by.is_empty() {
        let names: Vec<&str> = assembly.referenced_by.iter().map(AssemblyName::as_str).collect();
        match names.len().saturating_sub(alike::FEW) {
            0 => say!("  referenced by {}", names.join(", ")),
            more => say!("  referenced by {} and {more} more", names[..alike::FEW].join(", ")),
        }
    }
    for (name, value) in &assembly.outputs {
        match value.as_object().filter(|of| is_factory && of.len() > alike::FEW) {
            Some(instances) => say!("  {name}: {}", plural(instances.len(), "instance")),
            None => say!("  {name}: {}", text(value)),
        }
    }
}
