//! `windlass log --follow`: prints entries of the log as they arrive.

use std::convert::Infallible;
use std::process::ExitCode;

use windlass::Windlass;
use windlass::log_stream::{LogContent, LogEntry, LogStream};
use windlass::model::AssemblyName;
use windlass::model::record::{
    ApplicationIntent, Event, Failure, FailureKind, ProcessStatus, Severity, StepEnd,
};
use windlass::view::log::LogFilter;

use super::super::pairs::between;
use super::super::{fail, plural};
use crate::args::Format;
use crate::outage::Outage;
use crate::output::{
    BAD, DIM, GOOD, ODD, STRONG, duration, ending, indent, one_line, say, state_style, styled, with_data,
};
use crate::{exit, signals};

/// Prints entries until a signal arrives, or until the program that reads standard output closes it.
pub(super) async fn run(
    windlass: &Windlass,
    name: Option<&AssemblyName>,
    filter: LogFilter,
    format: Format,
) -> ExitCode {
    let stop = signals::listen_quietly();
    let followed = tokio::select! {
        biased;
        () = stop.requested() => Ok(()),
        () = signals::reader_is_gone() => Ok(()),
        followed = follow(windlass, name, filter, format) => followed.map(|never| match never {}),
    };
    let code = match followed {
        Ok(()) => exit::interrupted(),
        Err(error) => fail(&error),
    };
    match windlass.close().await {
        Ok(()) => code,
        Err(error) => fail(&error),
    }
}

async fn follow(
    windlass: &Windlass,
    name: Option<&AssemblyName>,
    filter: LogFilter,
    format: Format,
) -> Result<Infallible, windlass::Error> {
    let mut log = LogStream::open(windlass, name, filter).await?;
    let mut outage = Outage::none(windlass);
    loop {
        match log.next().await {
            Ok(entry) => {
                outage.ended();
                match format {
                    Format::Json => print_json(&entry),
                    Format::Human => print(&entry, name.is_none()),
                }
            }
            Err(error) => outage.failed(&error).await,
        }
    }
}

/// Prints an entry as one line of JSON.
fn print_json(entry: &LogEntry) {
    say!("{}", serde_json::to_string(entry).expect("an entry is plain data"));
}

/// Prints an entry as text: its time, the name of its assembly if `many` is set, and its content.
fn print(entry: &LogEntry, many: bool) {
    let LogEntry { at, assembly, process, content, .. } = entry;
    let assembly = if many { format!("{assembly} ") } else { String::new() };
    let head = format!("{} {}", styled(DIM, at), styled(STRONG, assembly));
    let pairs = between(&entry.pairs).map(|pairs| format!(" ({pairs})")).unwrap_or_default();
    match content {
        LogContent::Running { title } => say!("{head}{} {title}{pairs}", styled(ODD, "running  ")),
        LogContent::Output { element, action, stdout, line } => {
            let mark = if *stdout { '>' } else { '|' };
            say!("{head}{} {line}", styled(DIM, format!("{} {action}{pairs} {mark}", element.local())));
        }
        LogContent::Hidden { element, action, why } => {
            say!("{head}{}", styled(DIM, format!("{} {action}{pairs}: {why}", element.local())));
        }
        LogContent::Event(Event::StepStarted { title, .. }) => {
            say!("{head}{} {title}{pairs}", styled(DIM, "started  "));
        }
        LogContent::Event(Event::StepEnded { title, end, millis, .. }) => {
            print_step_end(&head, &format!("{title}{pairs}"), end, *millis);
        }
        LogContent::Event(Event::Logged { element, severity, message, data }) => {
            let style = if *severity >= Severity::Warning { ODD } else { DIM };
            let word = severity.as_str().to_lowercase();
            let mut lines = message.trim_end().lines();
            let first = lines.next().unwrap_or_default();
            let name = element.local();
            say!("{head}{} {name}: {first}{}", styled(style, format!("{word:<9}")), with_data(data.as_ref()));
            lines.for_each(|line| say!("{head}          | {line}"));
        }
        LogContent::Event(event) => {
            if let Some(line) = line(event) {
                let process = process.map(|process| format!("{process} ")).unwrap_or_default();
                say!("{head}{process}{line}");
            }
        }
        _ => {}
    }
}

fn print_step_end(head: &str, title: &str, end: &StepEnd, millis: u64) {
    let (word, more) = match end {
        StepEnd::Succeeded => (styled(GOOD, "ok       "), format!(" {}", styled(DIM, duration(millis)))),
        StepEnd::Failed(failure) => {
            (styled(BAD, "failed   "), format!(": {}", one_line(&failure.to_string())))
        }
        StepEnd::Skipped { because } => (styled(ODD, "skipped  "), format!(": {because}")),
        StepEnd::Cancelled => (styled(ODD, "stopped  "), String::new()),
        StepEnd::NeedsDecision { .. } => (styled(BAD, "undecided"), ": its outcome is unknown".to_owned()),
        _ => return,
    };
    say!("{head}{word} {title}{more}");
    // Only the details of a protocol error are printed, because the output of a failed script was printed
    // already.
    if let StepEnd::Failed(Failure { kind: FailureKind::Protocol, detail: Some(detail), .. }) = end {
        crate::output::print(&indent(&ending(detail), "          | "));
    }
}

/// Returns the text of an event that is printed as one line, such as the start of a process or a new state of a part.
/// Returns `None` for all other events.
fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::ProcessStarted { intent, application, steps } => {
            let steps = usize::try_from(*steps).unwrap_or(usize::MAX);
            format!("{}: {}", ApplicationIntent::title(*application, intent), plural(steps, "step"))
        }
        Event::ProcessEnded { status, reason } => {
            let style = if *status == ProcessStatus::Completed { GOOD } else { BAD };
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{}{reason}", styled(style, status))
        }
        Event::StateChanged { element, from, to } => {
            format!("{} {from} → {}", element.local(), styled(state_style(*to), to))
        }
        Event::Asked { request, intent, application, by } => {
            format!("{request} {}: requested by {by}", ApplicationIntent::title(*application, intent))
        }
        Event::Dismissed { request, intent, application, why } => {
            let title = ApplicationIntent::title(*application, intent);
            match why {
                Some(why) => format!("{request} {title} refused: {why}"),
                None => format!("{request} {title} withdrawn"),
            }
        }
        Event::Exported { file, .. } => format!("exported to {file}"),
        Event::Renamed { from, .. } => format!("renamed; it was {from} before"),
        Event::Imported { file, .. } => format!("imported from {file}"),
        _ => return None,
    })
}
