//! `windlass script`: runs, tests and creates scripts, without an assembly.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use windlass::driver::Location;
use windlass::driver::case::CaseInput;
use windlass::engine::Stop;
use windlass::script::{CaseView, ScriptRunner, parse_kind, read_input, script_package, yaml};
use windlass::{Error, Windlass, init};

use super::exec::fitted;
use super::{complain, fail, open, print_json};
use crate::args::{Format, ScriptArgs, ScriptCommand, ScriptNewArgs, ScriptRunArgs, ScriptTestArgs};
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::{print_document, say, tell};
use crate::signals;

pub(crate) async fn run(args: ScriptArgs) -> ExitCode {
    match args.command {
        ScriptCommand::Run(args) => run_one(args).await,
        ScriptCommand::Test(args) => test(args).await,
        ScriptCommand::New(args) => new(&args),
    }
}

async fn run_one(args: ScriptRunArgs) -> ExitCode {
    let mut location = Location::local("script");
    location.image.clone_from(&args.image);
    let location = match fitted(location, args.runtime.as_deref(), BTreeMap::new()) {
        Ok(location) => location,
        Err(why) => {
            fault!(codes::COMMAND_LINE, "{why}");
            return exit::wrong_input();
        }
    };
    let print = args.print.format;
    with_project(Path::new("."), async |windlass, stop| {
        let input = args.input.as_deref().map_or_else(|| Ok(CaseInput::default()), read_input)?;
        let action = parse_kind(&args.kind, &args.script)?;
        let package = script_package(&args.script, &action, args.style.map(Into::into))?;
        let ran = ScriptRunner::new(windlass, stop).run(Arc::new(package), &action, &input, location).await?;
        let code = if ran.result.error.is_none() { exit::DONE } else { exit::FAILED };
        if print == Format::Json {
            print_json(&ran);
            return Ok(code);
        }
        ran.stderr.lines().for_each(|line| tell!("{line}"));
        print_document(&yaml(&ran.result));
        Ok(code)
    })
    .await
}

async fn test(args: ScriptTestArgs) -> ExitCode {
    with_project(&args.folder, async |windlass, stop| {
        let view = ScriptRunner::new(windlass, stop).test(&args.folder, args.update).await?;
        let code = if view.passed() { exit::DONE } else { exit::FAILED };
        if args.print.format == Format::Json {
            print_json(&view);
            return Ok(code);
        }
        view.cases.iter().for_each(print_case);
        let failed = view.cases.iter().filter(|case| !case.passed).count();
        let updated = view.cases.iter().filter(|case| case.updated).count();
        let passed = view.cases.len() - failed - updated;
        let updated = if updated > 0 { format!(", {updated} updated") } else { String::new() };
        say!("{passed} passed{updated}, {failed} failed");
        if failed > 0 {
            tell!("accept the results with `--update`");
        }
        Ok(code)
    })
    .await
}

fn print_case(case: &CaseView) {
    let file = case.file.display();
    if case.updated {
        return say!("updated {file}");
    }
    if case.passed {
        return say!("ok      {file}");
    }
    say!("failed  {file}");
    for (what, text) in [("expected", &case.expected), ("result", &case.actual), ("stderr", &case.stderr)] {
        if !text.is_empty() {
            say!("  {what}:");
            text.lines().for_each(|line| say!("    {line}"));
        }
    }
}

fn new(args: &ScriptNewArgs) -> ExitCode {
    let ScriptNewArgs { folder, name, scripts, print } = args;
    let view = match init::new_package(folder, name.as_deref(), scripts.lang.into(), scripts.style.into()) {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    if print.format == Format::Json {
        return print_json(&view);
    }
    for file in &view.files {
        say!("{}", folder.join(file).display());
    }
    say!("\nnext: `windlass script test {}` runs its test cases", folder.display());
    exit::DONE
}

/// Opens the project of a folder, executes `work`, and closes the project. A signal stops `work`.
async fn with_project(
    folder: &Path,
    work: impl AsyncFnOnce(&Windlass, &Stop) -> Result<ExitCode, Error>,
) -> ExitCode {
    let windlass = match open(Some(folder), None, "script") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(Duration::ZERO);
    let code = match work(&windlass, &stop).await {
        Ok(code) => code,
        Err(error) => fail(&error),
    };
    if let Err(error) = windlass.close().await {
        complain(&error, error.code());
        return exit::FAILED;
    }
    code
}
