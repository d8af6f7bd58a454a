//! `windlass log`: prints the steps, the jobs and the activity log of an assembly.

mod follow;

use std::process::ExitCode;

use windlass::model::record::{FailureKind, Severity};
use windlass::model::retention::Age;
use windlass::view::log::{
    ActivityLog, DismissedLog, ForgottenLog, JobLog, LogFilter, LogView, MoveLog, MoveWay, ProcessEntry,
    ProcessLog, RenamedLog, StepLog,
};

use super::pairs::between;
use super::{fail, open_to_read, plural, print_json};
use crate::args::{Format, LogArgs};
use crate::exit;
use crate::output::{BAD, DIM, GOOD, ODD, STRONG, duration, indent, one_line, say, styled, with_data};

pub(crate) async fn run(args: LogArgs) -> ExitCode {
    let windlass = match open_to_read("log") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let age = |age: Age| i64::try_from(age.0.as_millis()).unwrap_or(i64::MAX);
    let filter = LogFilter {
        part: args.component,
        since: args.since.map(|since| windlass.now().plus_millis(-age(since))),
        level: args.level.map_or(Severity::Trace, Severity::from),
    };
    let name = match args.name {
        Some(name) if !args.follow => name,
        name => return follow::run(&windlass, name.as_ref(), filter, args.print.format).await,
    };
    let view = windlass.views().log(&name, &filter).await.map(|mut view| {
        let last = args.last.map_or(usize::MAX, usize::from);
        view.processes.drain(..view.processes.len().saturating_sub(last));
        if let (Some(_), Some(first)) = (args.last, view.processes.first()) {
            let since = first.started;
            view.moves.retain(|way| way.at >= since);
        }
        view
    });
    match view {
        Ok(view) if args.print.format == Format::Json => print_json(&view),
        Ok(view) => print(&view),
        Err(error) => fail(&error),
    }
}

/// An entry of the log of an assembly.
enum Entry<'v> {
    Process(&'v ProcessLog),
    Move(&'v MoveLog),
    Dismissed(&'v DismissedLog),
    Forgotten(&'v ForgottenLog),
    Renamed(&'v RenamedLog),
    Check(&'v ActivityLog),
}

fn print(view: &LogView) -> ExitCode {
    let processes = view.processes.iter().map(|process| (process.started, Entry::Process(process)));
    let moves = view.moves.iter().map(|way| (way.at, Entry::Move(way)));
    let dismissed = view.dismissed.iter().map(|request| (request.at, Entry::Dismissed(request)));
    let forgotten = view.forgotten.iter().map(|forgotten| (forgotten.at, Entry::Forgotten(forgotten)));
    let renamed = view.renamed.iter().map(|renamed| (renamed.at, Entry::Renamed(renamed)));
    let checks = view.checks.iter().map(|entry| (entry.at, Entry::Check(entry)));
    let mut entries: Vec<_> =
        moves.chain(processes).chain(dismissed).chain(forgotten).chain(renamed).chain(checks).collect();
    entries.sort_by_key(|(at, _)| *at);
    let mut is_among_checks = false;
    for (at, (_, entry)) in entries.iter().enumerate() {
        let is_check = matches!(entry, Entry::Check(_));
        match entry {
            Entry::Move(way) => {
                print_move(way);
                continue;
            }
            _ if at == 0 || is_check && is_among_checks => {}
            _ => say!(),
        }
        if is_check && !is_among_checks {
            say!("{}", styled(STRONG, "health checks and discoveries"));
        }
        is_among_checks = is_check;
        match entry {
            Entry::Process(process) => print_process(process),
            Entry::Dismissed(request) => print_dismissed(request),
            Entry::Forgotten(forgotten) => {
                let what = forgotten.part.as_ref().map_or(view.assembly.as_str(), |part| part.local());
                say!("{} {what} {}", styled(STRONG, "forgot"), styled(DIM, forgotten.at));
            }
            Entry::Renamed(renamed) => {
                let what = format!("{} to {}", renamed.from, renamed.to);
                say!("{} {what} {}", styled(STRONG, "renamed"), styled(DIM, renamed.at));
            }
            Entry::Check(entry) => print_activity(entry),
            Entry::Move(_) => {}
        }
    }
    exit::DONE
}

fn print_dismissed(request: &DismissedLog) {
    let fate = if request.why.is_some() { "refused" } else { "withdrawn" };
    let title = format!("{} {} {fate}", request.request, request.intent);
    say!("{} {}", styled(STRONG, title), styled(DIM, request.at));
    request.why.iter().for_each(|why| say!("  {why}"));
}

/// Prints the log entry about an import or an export of an assembly.
pub(crate) fn print_move(way: &MoveLog) {
    let (what, word) = match way.way {
        MoveWay::Exported => ("exported", "to"),
        MoveWay::Imported => ("imported", "from"),
    };
    say!("\n{} {word} {} {}", styled(STRONG, what), way.file, styled(DIM, way.at));
}

pub(crate) fn print_process(process: &ProcessLog) {
    let took = process.ended.map(|ended| format!(" in {}", duration(ended.millis_since(process.started))));
    let title = format!("{} {} {}{}", process.id, process.intent, process.status, took.unwrap_or_default());
    say!("{} {}", styled(STRONG, title), styled(DIM, process.started));
    if let Some(reason) = &process.reason {
        say!("  {}", one_line(reason));
    }
    let is_told = |step: &StepLog| !step.jobs.is_empty() || step.failure.is_some();
    for entry in process.entries() {
        match entry {
            ProcessEntry::Step(step) if is_told(step) => print_step(step),
            ProcessEntry::Step(_) => {}
            ProcessEntry::Activity(entry) => print_activity(entry),
        }
    }
    if !process.steps.is_empty() && !process.steps.iter().any(is_told) {
        say!("  {} without a script run", plural(process.steps.len(), "step"));
    }
}

fn print_step(step: &StepLog) {
    let style = match step.state.as_str() {
        "succeeded" => GOOD,
        "failed" | "needs a decision" => BAD,
        _ => ODD,
    };
    let took = step.millis.map(|millis| format!(" {}", styled(DIM, duration(millis)))).unwrap_or_default();
    let pairs = between(&step.pairs).map(|pairs| format!(" ({pairs})")).unwrap_or_default();
    say!("  {} {}{pairs}{took}", styled(style, &step.state), step.title);
    if let Some(failure) = &step.failure {
        say!("    {}", one_line(&failure.to_string()));
        // Only details of a protocol error are shown here, because the output of a script is shown below its
        // job.
        let detail = failure.detail.as_deref().filter(|_| failure.kind == FailureKind::Protocol);
        if let Some(detail) = detail {
            let detail = detail.split("\nstderr:\n").next().unwrap_or_default();
            crate::output::print(&indent(detail, "      | "));
        }
    }
    for job in &step.jobs {
        print_job(job);
    }
}

fn print_job(job: &JobLog) {
    let took = job.millis.map(|millis| format!(" {}", duration(millis))).unwrap_or_default();
    let end = job.end.as_deref().unwrap_or("still running, or lost");
    let place = format!("{} on {} ({})", job.submitted, job.location, job.runtime);
    say!("    {} {end}{took} {}", job.command, styled(DIM, place));
    job.stdout.iter().for_each(|stdout| crate::output::print(&indent(stdout, "      > ")));
    crate::output::print(&indent(&job.stderr, "      | "));
}

fn print_activity(entry: &ActivityLog) {
    let head = format!("{} {} {}", entry.at, entry.severity, entry.element.local());
    let mut lines = entry.message.trim_end().lines();
    let data = styled(DIM, with_data(entry.data.as_ref()));
    say!("  {} {}{data}", styled(DIM, head), lines.next().unwrap_or_default());
    for line in lines {
        say!("      | {line}");
    }
}
