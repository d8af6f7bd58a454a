//! `windlass status`.

use std::process::ExitCode;

use windlass::Windlass;
use windlass::model::assembly::{ElementKind, Referent};
use windlass::model::{AssemblyName, State, Timestamp};
use windlass::view::status::{AssemblyView, ElementView, PartsView, StatusView};

use super::process::text;
use super::{fail, open, print_json};
use crate::args::{Format, StatusArgs};
use crate::exit;
use crate::output::{BAD, DIM, ODD, STRONG, age, ending, indent, say, state_style, styled};

pub(crate) async fn run(args: StatusArgs) -> ExitCode {
    let windlass = match open(None, None, "status") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    match windlass.status(args.name.as_ref()).await {
        Ok(view) if args.print.format == Format::Json => print_json(&view),
        Ok(view) => print(&windlass, &view),
        Err(error) => fail(&error),
    }
}

fn print(windlass: &Windlass, view: &StatusView) -> ExitCode {
    if view.assemblies.is_empty() {
        say!("nothing is up here; `windlass up FILE` brings an assembly up");
    }
    for (at, assembly) in view.assemblies.iter().enumerate() {
        if at > 0 {
            say!();
        }
        print_assembly(windlass.now(), assembly);
    }
    exit::DONE
}

fn print_assembly(now: Timestamp, assembly: &AssemblyView) {
    let state = styled(state_style(assembly.state), assembly.state);
    let going = if assembly.goal == State::Absent { " (going down)" } else { "" };
    say!(
        "{} {state}{going} {}",
        styled(STRONG, &assembly.name),
        styled(DIM, format!("{}, {}", assembly.descriptor, age(now, assembly.created)))
    );
    if let Some(process) = &assembly.process {
        let how = match &process.runs {
            Some(holder) => format!("is run by {holder}"),
            None => {
                format!(
                    "was interrupted; the same command again, or `windlass retry {}`, goes on",
                    assembly.name
                )
            }
        };
        say!("  {}", styled(ODD, format!("{} {} {how}", process.id, process.intent)));
    }
    let PartsView { active, all } = assembly.parts;
    if active < all && assembly.goal == State::Active {
        say!("  {}", styled(ODD, format!("{active} of {all} Active")));
    }
    for undecided in &assembly.undecided {
        let what =
            format!("{} {}: not known whether it was done", undecided.element.local(), undecided.action);
        say!("  {}", styled(BAD, what));
        let name = &assembly.name;
        say!("    look, then `windlass retry {name} --assume done`, `not-done` or `failed`");
    }
    print_tree(now, &assembly.components, "");
    for leaving in &assembly.leaving {
        let (name, since) = (leaving.name.local(), age(now, leaving.since));
        say!(
            "  {name} {} {}",
            styled(state_style(leaving.state), leaving.state),
            styled(DIM, format!("{since}, to go"))
        );
        if let Some(failure) = &leaving.failure {
            say!("    {}", styled(BAD, failure));
        }
    }
    for relationship in assembly.relationships.iter().filter(|relationship| relationship.made > 0) {
        say!("  {} made × {}", relationship.name, relationship.made);
    }
    if !assembly.referenced_by.is_empty() {
        let names: Vec<&str> = assembly.referenced_by.iter().map(AssemblyName::as_str).collect();
        say!("  referenced by {}", names.join(", "));
    }
    for (name, value) in &assembly.outputs {
        say!("  {name}: {}", text(value));
    }
}

/// Says what a reference stands for, where that is not just what the project lists.
fn exists(referent: Option<&Referent>) -> String {
    match referent {
        Some(Referent::Assembly(name)) => format!("is the assembly {name}"),
        Some(Referent::Found(id)) => format!("exists, found as {id}"),
        _ => "exists".to_owned(),
    }
}

fn print_tree(now: Timestamp, elements: &[ElementView], lead: &str) {
    for (at, element) in elements.iter().enumerate() {
        let last = at + 1 == elements.len();
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        print_element(now, element, &format!("{lead}{branch}"), &format!("{lead}{below}"));
        print_tree(now, &element.components, &format!("{lead}{below}"));
    }
}

fn print_element(now: Timestamp, element: &ElementView, branch: &str, below: &str) {
    let name = element.name.local().rsplit("__").next().unwrap_or_default();
    let state = match element.kind {
        ElementKind::Reference => styled(DIM, exists(element.referent.as_ref())),
        _ => styled(state_style(element.state), element.state),
    };
    let mut notes: Vec<String> = Vec::new();
    notes.extend(element.status.clone());
    notes.extend(element.since.map(|since| age(now, since)));
    notes.extend(element.message.clone());
    let notes = if notes.is_empty() { String::new() } else { format!(" {}", styled(DIM, notes.join(", "))) };
    say!("{branch}{name} {state}{notes}");
    for (output, value) in &element.outputs {
        say!("{below}  {}", styled(DIM, format!("{output}: {}", text(value))));
    }
    if let Some(failure) = &element.failure {
        say!("{below}  {}", styled(BAD, failure));
        if let Some(detail) = &failure.detail {
            crate::output::print(&indent(&ending(detail), &format!("{below}  | ")));
        }
    }
}
