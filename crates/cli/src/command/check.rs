//! `windlass check`.

use std::io::Read as _;
use std::process::ExitCode;

use similar::TextDiff;
use windlass::check::{CheckView, check_paths, check_text};
use windlass::repair::{Repair, RepairedFile, repair_paths};
use windlass::view::sarif::sarif;

use super::{explain, fail, plural, print_json};
use crate::args::{CheckArgs, CheckFormat, Deny, ExplainArgs};
use crate::output::{print, say, tell};
use crate::{diagnostics, exit, github};

pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    if let Some(code) = &args.explain {
        return explain::run(&ExplainArgs { code: code.clone() });
    }
    if args.paths.iter().any(|path| path.as_os_str() == "-") {
        return from_stdin(args);
    }
    let checked = match (args.fix, args.dry_run) {
        (true, true) => repair_paths(&args.paths, &args.catalog, Repair::DryRun),
        (true, false) => repair_paths(&args.paths, &args.catalog, Repair::Write),
        _ => check_paths(&args.paths, &args.catalog),
    };
    let view = match checked {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    report(args, &view)
}

/// Checks what standard input has, which is in no file and so can't be repaired there.
fn from_stdin(args: &CheckArgs) -> ExitCode {
    if args.paths.len() > 1 || args.fix {
        tell!(
            "error: `-` is checked alone, and without `--fix`: what comes from standard input is in no file"
        );
        return exit::wrong_input();
    }
    let mut text = Vec::new();
    if let Err(error) = std::io::stdin().read_to_end(&mut text) {
        tell!("error: can't read standard input: {error}");
        return exit::wrong_input();
    }
    report(args, &check_text("<stdin>", text, &args.catalog))
}

fn report(args: &CheckArgs, view: &CheckView) -> ExitCode {
    match args.format {
        CheckFormat::Human => human(args, view),
        CheckFormat::Json => drop(print_json(view)),
        CheckFormat::Sarif => drop(print_json(&sarif(view))),
        CheckFormat::Github => view.diagnostics.iter().for_each(|found| say!("{}", github::command(found))),
    }
    let denied = args.deny == Some(Deny::Warnings) && view.warnings > 0;
    if view.errors > 0 || denied { exit::wrong_input() } else { exit::DONE }
}

fn human(args: &CheckArgs, view: &CheckView) {
    for file in &view.repaired {
        if args.dry_run { print(&diff(file)) } else { say_fixes(file) }
    }
    diagnostics::print(view.diagnostics.iter());
    if args.fix {
        let fixes = view.repaired.iter().map(|file| file.fixes.len()).sum();
        let what = format!("{} in {}", plural(fixes, "repair"), plural(view.repaired.len(), "file"));
        match (fixes, args.dry_run) {
            (0, _) => tell!("nothing was repaired"),
            (_, true) => tell!("{what} to be made; nothing was changed"),
            (_, false) => tell!("{what} made"),
        }
    }
    let denied = if args.deny == Some(Deny::Warnings) && view.warnings > 0 { " (denied)" } else { "" };
    let left = if args.fix { " left" } else { "" };
    tell!("{}, {}{denied}{left}", plural(view.errors, "error"), plural(view.warnings, "warning"));
    if view.errors + view.warnings > 0 {
        tell!("`windlass explain CODE` tells more of a code");
    }
}

fn say_fixes(file: &RepairedFile) {
    for fix in &file.fixes {
        say!("{}: {} ({})", fix.place, fix.description, fix.code);
    }
}

fn diff(file: &RepairedFile) -> String {
    let (before, after) = (format!("a/{}", file.file), format!("b/{}", file.file));
    TextDiff::from_lines(&file.before, &file.after).unified_diff().header(&before, &after).to_string()
}
