//! Errors of commands: printed as text to standard error, or with `--format json` as JSON to standard output.

use std::ffi::OsString;
use std::sync::OnceLock;

use serde::Serialize;
use windlass::source::{Code, Diagnostic, Diagnostics};

use crate::codes;
use crate::conceal::Seen;
use crate::output::{BAD, say, styled, tell};

/// Prints an error of a command. The arguments are the code, and the message as for `format!`.
macro_rules! fault {
    ($code:expr, $($part:tt)*) => { $crate::failure::report(&format!($($part)*), Some($code)) };
}

pub(crate) use fault;

/// An error as JSON.
#[derive(Serialize)]
struct FailureView<'a> {
    /// The version of the layout of this view, for programs that read it as JSON.
    version: u32,
    error: ErrorView<'a>,
}

/// The code and the message of an error, as JSON.
#[derive(Serialize)]
pub(crate) struct ErrorView<'a> {
    /// The code of the error, such as `WL0500`. An error with `diagnostics` has no code of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    message: &'a str,
    /// The problems of the input, each with its own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a Diagnostics>,
}

impl<'a> ErrorView<'a> {
    /// Creates the view of an error without diagnostics.
    pub(crate) fn new(code: Option<Code>, message: &'a str) -> Self {
        Self { code: code.map(Code::as_str), message, diagnostics: None }
    }
}

/// Tells whether the program's arguments request JSON, even if other arguments are invalid.
pub(crate) fn is_json() -> bool {
    static JSON: OnceLock<bool> = OnceLock::new();
    *JSON.get_or_init(|| asks_for_json(std::env::args_os().skip(1)))
}

fn asks_for_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut arguments = arguments.take_while(|word| word != "--");
    while let Some(word) = arguments.next() {
        let is_json = if word == "--format" {
            arguments.next().is_some_and(|format| format == "json")
        } else {
            word == "--format=json"
        };
        if is_json {
            return true;
        }
    }
    false
}

/// Prints an error.
pub(crate) fn report(message: &str, code: Option<Code>) {
    if is_json() {
        print(&ErrorView::new(code, message));
    } else {
        tell_error(message, code);
    }
}

/// Prints an error as text, even with `--format json`.
pub(crate) fn tell_error(message: &str, code: Option<Code>) {
    tell!("{} {message}", styled(BAD, title(code)));
}

/// Returns the start of an error message, in the form that diagnostics have: `error[WL0500]:`.
pub(crate) fn title(code: Option<Code>) -> String {
    code.map_or_else(|| "error:".to_owned(), |code| format!("error[{code}]:"))
}

/// Prints an error with the problems that caused it. In text output, the problems come before the error.
pub(crate) fn report_all(message: &str, diagnostics: &Diagnostics) {
    if is_json() {
        print_all(message, diagnostics);
    } else {
        crate::diagnostics::print(diagnostics.iter());
        tell!("{message}");
    }
}

/// Prints the problems that a command has found in its input, for example in a cron expression. JSON output is one
/// error, and the message of this error contains the texts of all problems. Text output is a list of the problems,
/// without a further error message.
pub(crate) fn report_problems(diagnostics: &Diagnostics) {
    if is_json() {
        let line = |found: &Diagnostic| {
            let place = found.place().map(|place| format!("{place}: ")).unwrap_or_default();
            let help = found.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
            format!("{place}{}{help}", found.message)
        };
        print_all(&diagnostics.iter().map(line).collect::<Vec<_>>().join("; "), diagnostics);
    } else {
        crate::diagnostics::print(diagnostics.iter());
    }
}

fn print_all(message: &str, diagnostics: &Diagnostics) {
    let mut seen = Seen::default();
    let shown: Vec<Diagnostic> = diagnostics.iter().map(|found| seen.without_secrets(found)).collect();
    print(&ErrorView { code: None, message, diagnostics: Some(&shown.into()) });
}

fn print(error: &ErrorView<'_>) {
    match serde_json::to_string(&FailureView { version: 1, error: ErrorView { ..*error } }) {
        Ok(text) => say!("{text}"),
        Err(problem) => tell_error(&format!("can't write JSON: {problem}"), Some(codes::OUTPUT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_asked_for_by_an_option_of_the_command() {
        let asks = |line: &str| asks_for_json(line.split(' ').map(OsString::from));
        assert!(asks("status --format json"));
        assert!(asks("status --format=json --wrong"));
        assert!(!asks("status --format human json"));
        assert!(!asks("exec here -- tool --format json"));
    }
}
