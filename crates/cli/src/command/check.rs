//! `windlass check`: finds problems of descriptors, manifests and project files, and repairs some of them.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use similar::{ChangeTag, TextDiff};
use windlass::check::RepairedFile;
use windlass::check::{CheckInput, CheckView, check_over, check_text};
use windlass::images::Images;
use windlass::repair::{Repair, repair_paths};
use windlass::runtimes::Variables;
use windlass::script_files::ScriptFiles;
use windlass::source::{Source, files};
use windlass::view::sarif::sarif;
use windlass::{RuntimeRegistry, drivers};

use super::{disk, environment, explain, fail, image, images, plural, print_json};
use crate::args::{CheckArgs, CheckFormat, Deny, ExplainArgs, Format, PrintArgs};
use crate::conceal::Seen;
use crate::failure::fault;
use crate::output::{print, say, tell};
use crate::size_limit::{larger, max_size};
use crate::{codes, diagnostics, exit, github};

pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    if let Some(code) = &args.explain {
        let format = if args.format == CheckFormat::Json { Format::Json } else { Format::Human };
        return explain::run(&ExplainArgs { code: code.clone(), print: PrintArgs { format } });
    }
    match args.scripts.as_deref().map(ScriptFiles::of_folder).transpose() {
        Ok(scripts) => check(args, scripts.as_ref()),
        Err(error) => fail(&error),
    }
}

/// Checks manifests, with the scripts of the image that `--image` names.
pub(crate) async fn with_image(args: CheckArgs) -> ExitCode {
    let Some(folder) = images() else {
        fault!(codes::NO_IMAGE_FOLDER, "there is no place for images: set HOME or XDG_CACHE_HOME");
        return exit::wrong_input();
    };
    let variables: Variables = Arc::new(|name: &str| environment(name)?.into_string().ok());
    let found =
        async { Images::open(&folder)?.files(args.image.as_deref().unwrap_or_default(), &variables).await };
    match found.await {
        Ok(files) => check(&args, Some(&ScriptFiles::of_image(files))),
        Err(error) => image::refuse(&error),
    }
}

fn check(args: &CheckArgs, scripts: Option<&ScriptFiles>) -> ExitCode {
    if args.paths.iter().any(|path| path.as_os_str() == "-") {
        return from_stdin(args, scripts);
    }
    let input = CheckInput {
        paths: &args.paths,
        folders: &args.catalog,
        overlay: &disk(),
        runtimes: &RuntimeRegistry::default(),
        drivers: &drivers(),
        scripts,
    };
    let checked = match (args.fix, args.dry_run) {
        (true, true) => repair_paths(input, Repair::DryRun),
        (true, false) => repair_paths(input, Repair::Write),
        _ => check_over(input),
    };
    let view = match checked {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    report(args, &view)
}

/// Checks standard input. `--fix` is refused, because standard input can't be rewritten.
fn from_stdin(args: &CheckArgs, scripts: Option<&ScriptFiles>) -> ExitCode {
    if args.paths.len() > 1 || args.fix {
        fault!(
            codes::COMMAND_LINE,
            "`-` (standard input) can't be combined with other paths or with `--fix`"
        );
        return exit::wrong_input();
    }
    let text = match files::read_from(std::io::stdin(), max_size()) {
        Ok(text) => text,
        Err(error) => {
            fault!(codes::INPUT, "can't read standard input: {error}{}", larger(&error));
            return exit::wrong_input();
        }
    };
    report(args, &check_text("<stdin>", text, &args.catalog, scripts))
}

fn report(args: &CheckArgs, view: &CheckView) -> ExitCode {
    // Secrets are masked in all formats, because all formats quote source lines.
    let view = &Seen::default().checked(view);
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
            (_, true) => tell!("{what} possible; nothing was changed"),
            (_, false) => tell!("{what} made"),
        }
    }
    let denied = if args.deny == Some(Deny::Warnings) && view.warnings > 0 { " (denied)" } else { "" };
    let left = if args.fix { " left" } else { "" };
    tell!("{}, {}{denied}{left}", plural(view.errors, "error"), plural(view.warnings, "warning"));
    if view.errors + view.warnings > 0 {
        tell!("`windlass explain CODE` explains a code");
    }
}

fn say_fixes(file: &RepairedFile) {
    for fix in &file.fixes {
        say!("{}: {} ({})", fix.place, fix.description, fix.code);
    }
}

/// Returns the diff of a repaired file, with masks in place of secrets.
fn diff(file: &RepairedFile) -> String {
    let shown = |text: &String| {
        let source = Source::new(file.file.clone(), text.clone());
        Seen::default().concealed(&source).masked(source.text(), 0..source.text().len())
    };
    let (before, after) = (shown(&file.before), shown(&file.after));
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let lines = TextDiff::from_lines(&file.before, &file.after);
    let mut out = format!("--- a/{0}\n+++ b/{0}\n", file.file);
    for hunk in lines.unified_diff().iter_hunks() {
        let _ = writeln!(out, "{}", hunk.header());
        for change in hunk.iter_changes() {
            let line = match change.tag() {
                ChangeTag::Insert => change.new_index().and_then(|at| after.get(at)),
                _ => change.old_index().and_then(|at| before.get(at)),
            };
            let line = line.copied().unwrap_or_default();
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(out, "{}{line}{end}", change.tag());
        }
    }
    out
}
