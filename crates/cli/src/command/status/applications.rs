//! The status of launched applications: a list by environment and factory, and the details of one
//! application.

use std::collections::{BTreeMap, HashMap};

use windlass::model::AssemblyName;
use windlass::model::Timestamp;
use windlass::view::application::ApplicationStatusView;
use windlass::view::status::{AssemblyView, ElementView};
use windlass::wiring::{InstanceReferenceView, ServiceReferenceView};

use super::super::plural;
use super::super::process::text;
use super::node::{Alike, likeness};
use super::open::{print_process, print_undecided};
use crate::alike::FEW;
use crate::output::{BAD, DIM, ODD, STRONG, age, one_line, say, styled};

/// An application with the status of its assembly.
type Launched<'v> = (&'v ApplicationStatusView, &'v AssemblyView);

/// Prints launched applications and factories by environment and factory. Applications with the same revision, state
/// and problems share a line. If `whole` is set, each application has a line of its own.
pub(super) fn print(now: Timestamp, launched: &[Launched<'_>], whole: bool) {
    let mut environments: BTreeMap<&str, BTreeMap<&AssemblyName, Vec<Launched<'_>>>> = BTreeMap::new();
    for (application, assembly) in launched {
        let factory = application.factory.as_ref().unwrap_or(&assembly.name);
        let factories = environments.entry(&application.environment).or_default();
        let of_factory = factories.entry(factory).or_default();
        if application.factory.is_some() {
            of_factory.push((*application, *assembly));
        }
    }
    let factories: HashMap<&AssemblyName, Launched<'_>> = launched
        .iter()
        .filter(|(application, _)| application.factory.is_none())
        .map(|(application, assembly)| (&assembly.name, (*application, *assembly)))
        .collect();
    for (at, (environment, of)) in environments.into_iter().enumerate() {
        if at > 0 {
            say!();
        }
        say!("environment {}", styled(STRONG, environment));
        for (factory, applications) in of {
            match factories.get(factory) {
                Some(launched) => Line { now, all: vec![*launched], lead: "  " }.print(),
                None => say!("  {} {}", styled(STRONG, factory), styled(BAD, "has been removed")),
            }
            for all in alike(applications, whole) {
                Line { now, all, lead: "    " }.print();
            }
        }
    }
}

/// Groups the applications that share a line: they have the same title, revision, state and problems. The groups are in
/// the order of their first applications. If `whole` is set, each application is a group of its own.
fn alike(applications: Vec<Launched<'_>>, whole: bool) -> Vec<Vec<Launched<'_>>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Vec<Launched<'_>>> = Vec::new();
    for (application, assembly) in applications {
        // An application with an unfinished process or an undecided call has a separate line, because the
        // advice below the line names the application.
        let is_alone = whole || assembly.process.is_some() || !assembly.undecided.is_empty();
        let parts: Vec<String> = assembly.components.iter().map(likeness).collect();
        let key = format!(
            "{:?}",
            (&application.title, application.revision, assembly.goal, parts, notes(application))
        );
        let place = places.get(&key).copied().filter(|_| !is_alone);
        if let Some(place) = place {
            groups[place].push((application, assembly));
        } else {
            if !is_alone {
                places.insert(key, groups.len());
            }
            groups.push(vec![(application, assembly)]);
        }
    }
    groups
}

/// A line of the list. It shows a factory, or one or more applications with the same revision, state and problems.
struct Line<'v> {
    now: Timestamp,
    /// The launched assemblies that the line shows: one factory, or one or more applications. Never empty.
    all: Vec<Launched<'v>>,
    /// The indentation of the line.
    lead: &'static str,
}

impl Line<'_> {
    fn print(&self) {
        let Self { now, all, lead } = self;
        let (application, assembly) = all[0];
        let parts: Vec<&ElementView> = all.iter().filter_map(|(_, of)| of.components.first()).collect();
        let alike = (!parts.is_empty()).then(|| Alike::new(*now, &parts, true));
        let said = alike.as_ref().map(Alike::said).unwrap_or_default();
        let count = if all.len() > 1 { format!(" × {}", all.len()) } else { String::new() };
        let of = format!("{} revision {}{count}", application.title, application.revision);
        let notes = notes(application).join(", ");
        let notes = if notes.is_empty() { notes } else { format!(", {}", styled(BAD, notes)) };
        say!("{lead}{} {} {said}{notes}", self.names(), styled(DIM, of));
        let below = format!("{lead}  ");
        print_process(&below, assembly);
        print_undecided(&below, &assembly.name, &assembly.undecided, false, false);
        if let Some(alike) = alike {
            alike.print_more(lead);
        }
    }

    /// Returns the names of the applications. If there are many applications, returns the first names and the
    /// number of the remaining applications.
    fn names(&self) -> String {
        let names = self.all.iter().take(FEW).map(|(_, of)| styled(STRONG, &of.name));
        let names: Vec<String> = names.collect();
        match self.all.len().saturating_sub(FEW) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

/// Returns the notes about the unresolved references of an application. Each note is a number of references and
/// their state, such as `2 references pending`. There is at most one note for each state.
fn notes(application: &ApplicationStatusView) -> Vec<String> {
    let states = application.services.iter().map(|of| of.state);
    let states: Vec<&str> = states.chain(application.references.iter().map(|of| of.state)).collect();
    let of_state = |word: &str| {
        let count = states.iter().filter(|state| **state == word).count();
        (count > 0).then(|| format!("{} {word}", plural(count, "reference")))
    };
    ["pending", "dangling"].into_iter().filter_map(of_state).collect()
}

/// Prints the title, the factory, the configuration, the references and the open commands of one application.
pub(super) fn print_details(now: Timestamp, application: &ApplicationStatusView) {
    let factory = application.factory.as_ref().map(|factory| format!(", factory {factory}"));
    let natural =
        application.natural_id.as_ref().map(|natural| format!(", natural id {}", one_line(natural)));
    say!(
        "  {}",
        styled(
            DIM,
            format!(
                "{} revision {}, environment {}{}{}",
                application.title,
                application.revision,
                application.environment,
                factory.unwrap_or_default(),
                natural.unwrap_or_default()
            )
        )
    );
    for (pin, value) in &application.configuration {
        say!("  {pin}: {}", text(value));
    }
    for reference in &application.services {
        say!("  {} {}", reference.component, service_state(reference));
    }
    for reference in &application.references {
        say!("  {} {}", reference.component, instance_state(reference));
    }
    for command in &application.commands {
        let (id, started) = (&command.id, age(now, command.started));
        say!(
            "  command {} is open since {started}; `windlass app command --wait {id}` waits for its result",
            command.command
        );
    }
}

/// Returns in words the state of a reference to a service (a component of type `reference.Service`).
pub(crate) fn service_state(reference: &ServiceReferenceView) -> String {
    let why = reference.why.as_deref().unwrap_or_default();
    match (reference.state, &reference.service) {
        ("resolved", Some(service)) => format!("is the service {service}"),
        ("resolved", None) => format!("is the environment {}", reference.environment),
        (state, _) => styled(ODD, format!("is {state}: {why}")),
    }
}

/// Returns in words the state of a reference to another application.
fn instance_state(reference: &InstanceReferenceView) -> String {
    let InstanceReferenceView { mapping, key, state, application, why, .. } = reference;
    match application {
        Some(application) if *state == "resolved" => {
            format!("is {application} {}", styled(DIM, format!("({mapping} {})", one_line(key))))
        }
        _ => {
            let why = why.as_deref().unwrap_or_default();
            styled(ODD, format!("is {state} ({mapping} {}): {why}", one_line(key)))
        }
    }
}
