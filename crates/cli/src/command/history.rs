//! `windlass history` and `windlass diff`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use windlass::model::record::ProcessStatus;
use windlass::model::resolve::text_of;
use windlass::model::{ProcessId, Timestamp};
use windlass::view::process::{HistoryView, ProcessEndView, VersionView};

use super::{fail, open_to_read, plan, plural, print_json};
use crate::args::{DiffArgs, Format, HistoryArgs};
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::{DIM, STRONG, say, styled};

pub(crate) async fn run(args: HistoryArgs) -> ExitCode {
    let windlass = match open_to_read("history") {
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
    let mut entries: BTreeMap<ProcessId, Entry<'_>> = BTreeMap::new();
    for process in &view.processes {
        entries.entry(process.id).or_default().process = Some(process);
    }
    for version in &view.versions {
        entries.entry(version.process).or_default().version = Some(version);
    }
    let mut moves = view.moves.iter().peekable();
    let mut has_failed = false;
    for (at, (id, entry)) in entries.iter().enumerate() {
        while let Some(way) = moves.next_if(|way| entry.at().is_some_and(|at| way.at < at)) {
            super::log::print_move(way);
        }
        if at > 0 {
            say!();
        }
        entry.print(*id, has_failed);
        has_failed = entry.process.is_some_and(|process| process.status == ProcessStatus::Failed);
    }
    moves.for_each(super::log::print_move);
    exit::DONE
}

/// An entry of the history: a process, and the version that it created.
#[derive(Default)]
struct Entry<'v> {
    /// The end of the process; `None` if its record has been pruned.
    process: Option<&'v ProcessEndView>,
    version: Option<&'v VersionView>,
}

impl Entry<'_> {
    fn at(&self) -> Option<Timestamp> {
        self.version.map(|version| version.at).or(self.process.map(|process| process.started))
    }

    /// Prints the entry. `has_failed` tells whether the process of the preceding entry failed. It affects only the
    /// text of a rollback.
    fn print(&self, id: ProcessId, has_failed: bool) {
        let resumed = |process: &ProcessEndView| {
            process.continues.map(|before| format!(" (resumes {before})")).unwrap_or_default()
        };
        let done = self
            .process
            .map(|process| format!(" {}{}, {}", process.intent, resumed(process), process.status));
        let at = self.at().map(|at| at.to_string()).unwrap_or_default();
        let what = self
            .version
            .map(|version| format!(" {}, {}", version.descriptor, plural(version.resources, "resource")));
        let about = format!("{at}{}", what.unwrap_or_default());
        say!("{}{} {}", styled(STRONG, id), done.unwrap_or_default(), styled(DIM, about));
        if let Some(process) = self.process {
            say!("  {}", steps(process));
        }
        let Some(version) = self.version else { return };
        for (name, value) in &version.parameters {
            say!("  {name}: {}", text_of(value).trim_end().replace('\n', "\n    "));
        }
        if !version.changes.is_empty() {
            // A failed process made only some of its changes, so a rollback has fewer changes to undo.
            let is_rollback = self.process.is_some_and(|process| process.intent.starts_with("rollback"));
            let kept =
                if has_failed && is_rollback { "; parts that had not changed stay as they are" } else { "" };
            say!("  changes to the desired assembly{kept}:");
            plan::print_all_changes(&version.changes);
        }
    }
}

/// Counts the steps of a process by their results.
fn steps(process: &ProcessEndView) -> String {
    let ProcessEndView { succeeded, failed, skipped, cancelled, undecided, .. } = process;
    let counts = [
        (succeeded, "succeeded"),
        (failed, "failed"),
        (skipped, "did not start"),
        (cancelled, "were cancelled"),
        (undecided, "with an unknown outcome"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| **count > 0).map(|(count, end)| format!("{count} {end}")).collect();
    if counts.is_empty() { "no steps on record".to_owned() } else { format!("steps: {}", counts.join(", ")) }
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
    let windlass = match open_to_read("diff") {
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
