//! `windlass fmt`: formats the layout of YAML files.

use std::process::ExitCode;

use windlass::format::format_paths;
use windlass::repair::Repair;

use super::{disk, plural, print_json};
use crate::args::{FmtArgs, Format};
use crate::output::{say, tell};
use crate::{exit, failure};

pub(crate) fn run(args: &FmtArgs) -> ExitCode {
    let repair = if args.check { Repair::DryRun } else { Repair::Write };
    let view = format_paths(&args.paths, &disk(), repair);
    let files = plural(view.changed.len(), "file");
    let changed = if args.check {
        format!("{files} would be formatted; nothing was changed")
    } else {
        format!("{files} formatted")
    };
    let problems = &view.diagnostics;
    let is_json = args.print.format == Format::Json;
    if !is_json {
        view.changed.iter().for_each(|file| say!("{file}"));
    }
    if !problems.is_empty() {
        failure::report_all(&format!("some files can't be formatted; {changed}"), problems);
        return exit::wrong_input();
    }
    let code = if is_json {
        print_json(&view)
    } else {
        tell!("{changed}");
        exit::DONE
    };
    if args.check && !view.changed.is_empty() { exit::wrong_input() } else { code }
}
