//! Text for people.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use windlass::model::record::{Event, EventRecord, StepEnd};
use windlass::model::{State, Timestamp};

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
            let line = format!("{:<9} {}: {message}", severity.as_str().to_lowercase(), element.local());
            anstream::println!("{}", styled(DIM, line.trim_end()));
        }
        _ => {}
    }
}

fn print_step_end(title: &str, end: &StepEnd, millis: u64) {
    match end {
        StepEnd::Succeeded => {
            anstream::println!("{:<9} {title} {}", styled(GOOD, "ok       "), styled(DIM, duration(millis)));
        }
        StepEnd::Failed(failure) => {
            anstream::println!("{} {title}: {failure}", styled(BAD, "failed   "));
            if let Some(detail) = &failure.detail {
                anstream::print!("{}", indent(detail, "          | "));
            }
        }
        StepEnd::Skipped { because } => {
            anstream::println!("{} {title}: {because}", styled(ODD, "skipped  "));
        }
        StepEnd::Cancelled => anstream::println!("{} {title}", styled(ODD, "stopped  ")),
        StepEnd::NeedsDecision { .. } => {
            anstream::println!("{} {title}: nobody knows whether it was done", styled(BAD, "undecided"));
        }
        _ => {}
    }
}
