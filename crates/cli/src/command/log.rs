//! `windlass log`.

use std::process::ExitCode;

use windlass::model::record::FailureKind;
use windlass::view::log::{ActivityLog, JobLog, LogView, MoveLog, MoveWay, ProcessLog, StepLog};

use super::{fail, open, plural, print_json};
use crate::args::{Format, LogArgs};
use crate::exit;
use crate::output::{BAD, DIM, GOOD, ODD, STRONG, duration, indent, say, styled, with_data};

pub(crate) async fn run(args: LogArgs) -> ExitCode {
    let windlass = match open(None, None, "log") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let view = windlass.log(&args.name, args.component.as_deref()).await.map(|mut view| {
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

fn print(view: &LogView) -> ExitCode {
    let mut moves = view.moves.iter().peekable();
    for (at, process) in view.processes.iter().enumerate() {
        while let Some(way) = moves.next_if(|way| way.at < process.started) {
            print_move(way);
        }
        if at > 0 {
            say!();
        }
        print_process(process);
    }
    moves.for_each(print_move);
    for request in &view.dismissed {
        say!();
        let fate = if request.why.is_some() { "refused" } else { "withdrawn" };
        let title = format!("{} {} {fate}", request.request, request.intent);
        say!("{} {}", styled(STRONG, title), styled(DIM, request.at));
        request.why.iter().for_each(|why| say!("  {why}"));
    }
    exit::DONE
}

/// Prints an import or export of an assembly.
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
        say!("  {reason}");
    }
    let told = |step: &&StepLog| !step.jobs.is_empty() || step.failure.is_some();
    process.steps.iter().filter(told).for_each(print_step);
    if !process.steps.is_empty() && !process.steps.iter().any(|step| told(&step)) {
        say!("  {} without a script run", plural(process.steps.len(), "step"));
    }
    for entry in &process.activity {
        print_activity(entry);
    }
}

fn print_step(step: &StepLog) {
    let style = match step.state.as_str() {
        "succeeded" => GOOD,
        "failed" | "needs a decision" => BAD,
        _ => ODD,
    };
    let took = step.millis.map(|millis| format!(" {}", styled(DIM, duration(millis)))).unwrap_or_default();
    say!("  {} {}{took}", styled(style, &step.state), step.title);
    if let Some(failure) = &step.failure {
        say!("    {failure}");
        // Shows only the protocol errors here. The script's other output is shown below its job.
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
