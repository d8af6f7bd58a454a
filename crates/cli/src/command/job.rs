//! `windlass job`: recorded jobs of applications.

use std::process::ExitCode;

use serde_json::Value;
use windlass::launching::{JobSummary, JobView, Launcher, ReplayView};

use super::{fail, open_against, print_json};
use crate::args::{Format, JobArgs, JobCommand, JobIdArgs, JobLsArgs};
use crate::exit;
use crate::output::{BAD, STRONG, continued, one_line, say, styled};

/// Shows recorded jobs, or parses the recorded output of a job again.
pub(crate) async fn run(args: JobArgs) -> ExitCode {
    match args.command {
        JobCommand::Ls(args) => list(args).await,
        JobCommand::Show(args) => show(args).await,
        JobCommand::Replay(args) => replay(args).await,
    }
}

async fn list(args: JobLsArgs) -> ExitCode {
    let windlass = match open_against(None, None, "job ls", false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    match Launcher::new(&windlass).jobs(&args.name).await {
        Ok(view) if args.print.format == Format::Json => print_json(&view),
        Ok(view) => {
            view.jobs.iter().for_each(print_job);
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}

async fn show(args: JobIdArgs) -> ExitCode {
    let windlass = match open_against(None, None, "job show", false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let view: JobView = match Launcher::new(&windlass).job(&args.id).await {
        Ok(view) if args.print.format == Format::Json => return print_json(&view),
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    print_job(&view.job);
    say!("it {}", view.end);
    for (name, text) in [("input", &view.input), ("stdout", &view.stdout), ("stderr", &view.stderr)] {
        say!("{}", styled(STRONG, format!("{name}:")));
        text.lines().for_each(|line| say!("  {line}"));
    }
    exit::DONE
}

async fn replay(args: JobIdArgs) -> ExitCode {
    let windlass = match open_against(None, None, "job replay", false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let view: ReplayView = match Launcher::new(&windlass).replay(&args.id).await {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    let has_problem = view.applications.iter().any(|application| application.problem.is_some());
    let code = if has_problem { exit::FAILED } else { exit::DONE };
    if args.print.format == Format::Json {
        print_json(&view);
        return code;
    }
    print_job(&view.job);
    for application in &view.applications {
        say!("{}", styled(STRONG, format!("{}:", application.name)));
        application.log.iter().for_each(|line| say!("  log: {}", one_line(line)));
        if let Some(problem) = &application.problem {
            say!("  {} {}", styled(BAD, "problem:"), continued(problem));
            continue;
        }
        print_update("updates", &application.updates);
        print_update("changes", &application.changes);
    }
    code
}

fn print_job(job: &JobSummary) {
    let JobSummary { id, action, at, failure, .. } = job;
    let failure = failure.as_ref().and_then(|failure| failure.lines().next());
    let failure = failure.map(|failure| format!(": {failure}")).unwrap_or_default();
    let names: Vec<&str> = job.applications.iter().map(windlass::model::AssemblyName::as_str).collect();
    say!("{id}  {at}  {action} of {}{failure}", names.join(", "));
}

fn print_update(name: &str, update: &Value) {
    if update.is_null() {
        return say!("  {name}: none");
    }
    say!("  {name}:");
    let text = serde_json::to_string_pretty(update).unwrap_or_default();
    text.lines().for_each(|line| say!("    {line}"));
}
