//! `windlass prune`: removes old processes and versions from the store.

use std::process::ExitCode;

use windlass::model::retention::Retention;
use windlass::prune::PruneView;

use super::{fail, open, print_json};
use crate::args::{Format, PruneArgs};
use crate::exit;
use crate::failure::report;
use crate::output::{STRONG, say, styled, tell};

pub(crate) async fn run(args: PruneArgs) -> ExitCode {
    let windlass = match open(None, None, "prune") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let usual = windlass.project().retention();
    let keep = Retention { keep: args.keep.unwrap_or(usual.keep), older: args.older.unwrap_or(usual.older) };
    match windlass.upkeep().prune(args.name.as_ref(), keep, args.dry_run).await {
        Ok(view) => {
            let printed = if args.print.format == Format::Json { print_json(&view) } else { print(&view) };
            if view.failed.is_empty() { printed } else { exit::FAILED }
        }
        Err(error) => fail(&error),
    }
}

fn print(view: &PruneView) -> ExitCode {
    let verb = if view.dry_run { "would remove" } else { "removed" };
    for pruned in &view.assemblies {
        let what: Vec<String> = [
            (pruned.processes.len(), "process", "processes"),
            (pruned.versions.len(), "version", "versions"),
            (pruned.checks, "entry of health checks", "entries of health checks"),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
        say!("{}: {verb} {}", styled(STRONG, &pruned.name), what.join(" and "));
    }
    if view.assemblies.is_empty() && view.failed.is_empty() {
        say!(
            "nothing to prune: windlass keeps the newest {} and all that are younger than {}",
            view.keep,
            view.older
        );
    }
    for held in &view.held {
        tell!("warning: `{}` is held by {}; prune it again later", held.name, held.by);
    }
    for failed in &view.failed {
        report(&format!("can't prune `{}`: {}", failed.name, failed.error), None);
    }
    exit::DONE
}
