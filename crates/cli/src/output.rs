//! Text for people.

use std::fmt::{Arguments, Write as _};
use std::io::{ErrorKind, Write as _};
use std::sync::Mutex;

use anstyle::{AnsiColor, Style};
use windlass::model::record::{Event, EventRecord, StepEnd};
use windlass::model::{State, Timestamp};

/// Prints a line to standard output.
macro_rules! say {
    () => { $crate::output::print_line(format_args!("")) };
    ($($part:tt)*) => { $crate::output::print_line(format_args!($($part)*)) };
}

/// Prints a line to standard error.
macro_rules! tell {
    ($($part:tt)*) => { $crate::output::tell_line(format_args!($($part)*)) };
}

pub(crate) use {say, tell};

/// Why something could not be printed, the first time.
static TROUBLE: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Prints a line to standard output.
pub(crate) fn print_line(line: Arguments<'_>) {
    note(writeln!(anstream::stdout(), "{line}"));
}

/// Prints text that ends with its lines to standard output.
pub(crate) fn print(text: &str) {
    note(anstream::stdout().write_all(text.as_bytes()));
}

/// Prints a line to standard error. Where that can't be done, there is nobody to tell.
pub(crate) fn tell_line(line: Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Keeps in mind what could not be printed: work goes on, and it is told at the end. That a reader has gone away is no
/// failure.
fn note(result: std::io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        TROUBLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
    }
}

/// Returns why something could not be printed, if so.
pub(crate) fn trouble() -> Option<std::io::Error> {
    let flushed = std::io::stdout().flush();
    note(flushed);
    TROUBLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// Puts a text into a style. Who prints it, takes the style off again where it is not wanted.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes how long something took.
pub(crate) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
        _ => format!("{} h {} min", millis / 3_600_000, millis % 3_600_000 / 60_000),
    }
}

/// Writes how long ago something was, in its two largest units at most.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.millis_since(then) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h{}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Returns the style of a state.
pub(crate) fn state_style(state: State) -> Style {
    match state {
        State::Active => GOOD,
        State::Failed | State::Broken => BAD,
        State::Absent => DIM,
        State::Created | State::Installed | State::Inactive => ODD,
    }
}

/// Indents every line.
pub(crate) fn indent(text: &str, by: &str) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        let _ = writeln!(out, "{by}{line}");
    }
    out
}

/// Prints the end of each step as it becomes durable.
pub(crate) fn print_event(event: &EventRecord) {
    match &event.draft.body {
        Event::StepEnded { title, end, millis, .. } => print_step_end(title, end, *millis),
        Event::Logged { element, severity, message } => {
            // What belongs to another assembly is called by its full name.
            let own = element.assembly() == event.draft.assembly;
            let name = if own { element.local() } else { element.as_str() };
            let mut lines = message.trim_end().lines();
            let first = lines.next().unwrap_or_default();
            let line = format!("{:<9} {name}: {first}", severity.as_str().to_lowercase());
            say!("{}", styled(DIM, line.trim_end()));
            for line in lines {
                say!("{}", styled(DIM, format!("          | {line}")));
            }
        }
        _ => {}
    }
}

fn print_step_end(title: &str, end: &StepEnd, millis: u64) {
    match end {
        StepEnd::Succeeded => {
            say!("{:<9} {title} {}", styled(GOOD, "ok       "), styled(DIM, duration(millis)));
        }
        StepEnd::Failed(failure) => {
            say!("{} {title}: {failure}", styled(BAD, "failed   "));
            if let Some(detail) = &failure.detail {
                crate::output::print(&indent(&ending(detail), "          | "));
            }
        }
        StepEnd::Skipped { because } => {
            say!("{} {title}: {because}", styled(ODD, "skipped  "));
        }
        StepEnd::Cancelled => say!("{} {title}", styled(ODD, "stopped  ")),
        StepEnd::NeedsDecision { .. } => {
            say!("{} {title}: nobody knows whether it was done", styled(BAD, "undecided"));
        }
        _ => {}
    }
}

/// Returns the end of what a script has written, as much as belongs on a screen. `windlass log` shows all that is kept.
pub(crate) fn ending(detail: &str) -> String {
    const LINES: usize = 20;
    let lines: Vec<&str> = detail.lines().collect();
    match lines.len().checked_sub(LINES) {
        None | Some(0) => detail.to_owned(),
        Some(left_out) => format!("[…]\n{}", lines[left_out..].join("\n")),
    }
}
