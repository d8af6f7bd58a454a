//! `windlass app publish`, `ls`, `show` and `unpublish`: published applications and their revisions.

use std::process::ExitCode;

use windlass::applications::{ApplicationListView, ApplicationView, PinView};
use windlass::{Error, Publication, Windlass};

use super::{fail, launch, open, plural, print_json};
use crate::args::{AppArgs, AppCommand, AppPublishArgs, AppShowArgs, Format};
use crate::output::{DIM, STRONG, say, styled};
use crate::{diagnostics, exit};

pub(crate) async fn run(args: AppArgs) -> ExitCode {
    let done = match args.command {
        AppCommand::Publish(args) => publish(args).await,
        AppCommand::Ls(args) => list(args.print.format).await,
        AppCommand::Show(args) => show(args).await,
        AppCommand::Unpublish(args) => unpublish(&args.title, args.print.format).await,
        AppCommand::Launch(command) => Ok(Box::pin(launch::run(command)).await),
    };
    done.unwrap_or_else(|error| fail(&error))
}

async fn publish(args: AppPublishArgs) -> Result<ExitCode, Error> {
    let windlass = open(None, None, "app publish")?;
    let publication = Publication::new(args.manifest).title(args.title).scripts(args.scripts);
    let (view, warnings) = windlass.applications().publish(publication).await?;
    diagnostics::print(warnings.iter());
    if args.print.format == Format::Json {
        return Ok(print_json(&view));
    }
    let (title, role) = (styled(STRONG, &view.title), view.role.as_str());
    if view.new {
        say!(
            "{title} revision {} is published, a{} {role}",
            view.revision,
            if role == "application" { "n" } else { "" }
        );
    } else {
        say!("{title} has not changed since revision {}", view.revision);
    }
    Ok(exit::DONE)
}

async fn list(format: Format) -> Result<ExitCode, Error> {
    let view = here()?.applications().list().await?;
    if format == Format::Json {
        return Ok(print_json(&view));
    }
    let ApplicationListView { applications, .. } = &view;
    if applications.is_empty() {
        say!("nothing is published yet; `windlass app publish MANIFEST` publishes an application");
    }
    let width = applications.iter().map(|of| of.title.chars().count()).max().unwrap_or(0);
    for of in applications {
        let role = of.role.map_or("", windlass::applications::RoleKind::as_str);
        let published = of.published.map(|at| at.to_string()).unwrap_or_default();
        let title = styled(STRONG, format!("{:<width$}", of.title));
        say!("{title} {role:<11} revision {} {}", of.revision, styled(DIM, published));
    }
    Ok(exit::DONE)
}

async fn show(args: AppShowArgs) -> Result<ExitCode, Error> {
    let view = here()?.applications().show(&args.title, args.revision).await?;
    if args.print.format == Format::Json {
        return Ok(print_json(&view));
    }
    let ApplicationView { title, role, revision, factory, application, schedule, scripts, pins, .. } = &view;
    let latest = view.revisions.last().map_or(0, |latest| latest.revision);
    let of = if latest == *revision { String::new() } else { format!(" of {latest}") };
    say!("{} {} revision {revision}{of}", styled(STRONG, title), role.as_str());
    let lines = [("factory", factory), ("application", application), ("schedule", schedule)];
    for (what, value) in lines {
        if let Some(value) = value {
            say!("  {what}: {value}");
        }
    }
    if !scripts.is_empty() {
        say!("scripts:");
    }
    let width = scripts.iter().map(|script| script.kind.len()).max().unwrap_or(0);
    for script in scripts {
        let place = if script.published { "" } else { "  (in the image)" };
        say!("  {:<width$}  {}{}", script.kind, script.path, styled(DIM, place));
    }
    if !pins.is_empty() {
        say!("pins:");
    }
    let width = pins.iter().map(|pin| pin.id.to_string().len()).max().unwrap_or(0);
    for pin in pins {
        say!("  {:<width$}  {}{}", pin.id.to_string(), pin.kind, styled(DIM, notes(pin)));
    }
    if !view.services.is_empty() {
        say!("services:");
    }
    for service in &view.services {
        let pins: Vec<&str> = service.pins.keys().map(String::as_str).collect();
        let required = if service.required { ", required" } else { "" };
        say!("  {}  {}{}", service.component, pins.join(", "), styled(DIM, required));
    }
    Ok(exit::DONE)
}

/// Returns the notes that are shown after a pin: `secret` for a secret pin, and `not exposed` for a pin that the
/// manifest does not expose. If the manifest exposes the pin under another id, a note contains this id.
fn notes(pin: &PinView) -> String {
    let mut notes = Vec::new();
    if pin.sensitive {
        notes.push("secret".to_owned());
    }
    if pin.exposed.is_empty() {
        notes.push("not exposed".to_owned());
    }
    let renamed = pin.exposed.iter().filter(|id| **id != pin.id);
    notes.extend(renamed.map(|id| format!("exposed as {id}")));
    if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) }
}

async fn unpublish(title: &str, format: Format) -> Result<ExitCode, Error> {
    let view = here()?.applications().unpublish(title).await?;
    if format == Format::Json {
        return Ok(print_json(&view));
    }
    let revisions = plural(view.revisions, "revision");
    say!("{} is no longer published; {revisions} removed", styled(STRONG, &view.title));
    Ok(exit::DONE)
}

fn here() -> Result<Windlass, Error> {
    open(None, None, "app")
}
