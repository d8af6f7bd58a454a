//! `windlass history` and `windlass diff`.

use std::process::ExitCode;

use windlass::view::process::{HistoryView, VersionView};

use super::{fail, open, plan, plural, print_json};
use crate::args::{DiffArgs, Format, HistoryArgs};
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::{DIM, STRONG, say, styled};

pub(crate) async fn run(args: HistoryArgs) -> ExitCode {
    let windlass = match open(None, None, "history") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    match windlass.views().history(&args.name).await {
        Ok(view) if args.print.format == Format::Json => print_json(&view),
        Ok(view) => print(&view),
        Err(error) => fail(&error),
    }
}

fn print(view: &HistoryView) -> ExitCode {
    let mut moves = view.moves.iter().peekable();
    for (at, version) in view.versions.iter().enumerate() {
        while let Some(way) = moves.next_if(|way| way.at < version.at) {
            super::log::print_move(way);
        }
        if at > 0 {
            say!();
        }
        print_version(version);
    }
    moves.for_each(super::log::print_move);
    exit::DONE
}

fn print_version(version: &VersionView) {
    let intent = version.intent.as_deref().unwrap_or_default();
    let status = version.status.map(|status| format!(", {status}")).unwrap_or_default();
    let what = format!("{}, {}", version.descriptor, plural(version.resources, "resource"));
    say!(
        "{} {intent}{status} {}",
        styled(STRONG, version.process),
        styled(DIM, format!("{} {what}", version.at))
    );
    for (name, value) in &version.parameters {
        say!("  {name}: {}", super::process::text(value));
    }
    plan::print_all_changes(&version.changes);
}

pub(crate) async fn diff(args: DiffArgs) -> ExitCode {
    let DiffArgs { from, to, print } = args;
    if from.name != to.name {
        fault!(
            codes::COMMAND_LINE,
            "`{}` and `{}` are two assemblies; a diff compares versions of one assembly",
            from.name,
            to.name
        );
        return exit::wrong_input();
    }
    let windlass = match open(None, None, "diff") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    match windlass.views().diff(&from.name, from.process, to.process).await {
        Ok(view) if print.format == Format::Json => print_json(&view),
        Ok(view) => {
            if view.changes.is_empty() {
                say!("no difference");
            }
            plan::print_all_changes(&view.changes);
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}
