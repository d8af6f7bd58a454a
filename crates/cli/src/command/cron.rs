//! `windlass cron`: explains Quartz cron expressions, and lists their fire times.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use windlass::model::clock::{Clock as _, SystemClock};
use windlass::source::{Diagnostic, Source, Span};
use windlass_cron::{CronError, CronExpression, Zone};

use super::print_json;
use crate::args::{CronArgs, CronCommand, CronExplainArgs, CronNextArgs, Format};
use crate::codes;
use crate::exit;
use crate::failure::{fault, report_problems};
use crate::output::{say, tell};

/// The fire times as JSON.
#[derive(Serialize)]
struct NextView {
    /// The version of the layout of this view, for programs that read it as JSON.
    version: u32,
    /// The expression in canonical form.
    expression: String,
    zone: String,
    /// The fire times in RFC 3339, with the offset of the time zone.
    times: Vec<String>,
}

/// The explanation as JSON.
#[derive(Serialize)]
struct ExplainView {
    /// The version of the layout of this view, for programs that read it as JSON.
    version: u32,
    /// The expression in canonical form.
    expression: String,
    explanation: String,
}

pub(crate) fn run(args: &CronArgs) -> ExitCode {
    match &args.command {
        CronCommand::Next(args) => next(args),
        CronCommand::Explain(args) => explain(args),
    }
}

fn next(args: &CronNextArgs) -> ExitCode {
    let expression = match parse(&args.expression) {
        Ok(expression) => expression,
        Err(code) => return code,
    };
    let zone: Zone = match args.zone.parse() {
        Ok(zone) => zone,
        Err(error) => {
            fault!(codes::TIME, "{error}");
            return exit::wrong_input();
        }
    };
    let from = match args.from.as_deref().map_or_else(|| Ok(now()), |text| zone.time(text)) {
        Ok(from) => from,
        Err(error) => {
            fault!(codes::TIME, "--from: {error}");
            return exit::wrong_input();
        }
    };
    let times =
        std::iter::successors(expression.next_in(&zone, from), |time| expression.next_in(&zone, *time));
    let times: Vec<String> =
        times.take(args.number.into()).map(|time| zone.display(time).to_string()).collect();
    if args.print.format == Format::Json {
        let expression = expression.to_string();
        return print_json(&NextView { version: 1, expression, zone: args.zone.clone(), times });
    }
    for time in &times {
        say!("{time}");
    }
    if times.len() < usize::from(args.number) {
        let after = times.last().cloned().unwrap_or_else(|| zone.display(from).to_string());
        tell!("note: `{}` has no fire time after {after}", args.expression);
    }
    exit::DONE
}

fn now() -> SystemTime {
    let millis = SystemClock.now().as_millis();
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn explain(args: &CronExplainArgs) -> ExitCode {
    let expression = match parse(&args.expression) {
        Ok(expression) => expression,
        Err(code) => return code,
    };
    let explanation = expression.explain();
    if args.print.format == Format::Json {
        let expression = expression.to_string();
        return print_json(&ExplainView { version: 1, expression, explanation });
    }
    say!("{explanation}");
    exit::DONE
}

/// Parses an expression, or prints its errors.
fn parse(text: &str) -> Result<CronExpression, ExitCode> {
    CronExpression::parse(text).map_err(|errors| {
        let source = Source::new("EXPR", text);
        let problem = |error: &CronError| {
            let place = source.place(Span::from(error.span()));
            let problem = Diagnostic::error(codes::CRON, error.to_string()).at(place);
            match error.help() {
                Some(help) => problem.help(help),
                None => problem,
            }
        };
        report_problems(&errors.iter().map(problem).collect());
        exit::wrong_input()
    })
}
