//! `windlass simulate`: simulates launches, health checks, discoveries and commands of applications on a virtual clock.

use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use windlass::model::Timestamp;
use windlass::model::record::Severity;
use windlass::simulating::{SimulationEvent, SimulationInput, SimulationView, Simulator};
use windlass_cron::Zone;

use super::{collected, fail, open, plural};
use crate::args::{Format, SimulateArgs};
use crate::failure::fault;
use crate::output::{BAD, DIM, GOOD, ODD, STRONG, say, styled};
use crate::{codes, diagnostics, exit, signals};

pub(crate) async fn run(args: SimulateArgs) -> ExitCode {
    let input = match input(&args) {
        Ok(input) => input,
        Err(code) => return code,
    };
    let windlass = match open(None, None, "simulate") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(Duration::ZERO);
    let human = args.print.format == Format::Human;
    let mut tell = |event: SimulationEvent| if human { print(&event) } else { say!("{}", json!(event)) };
    let ended = Simulator::new(&windlass, &stop).run(&input, &mut tell).await;
    let code = match ended {
        Ok((view, warnings)) => {
            diagnostics::print(warnings.iter());
            if human {
                summarize(&view, &input);
            } else {
                say!("{}", json!(view));
            }
            if args.strict && view.has_failed() { exit::FAILED } else { exit::DONE }
        }
        Err(error) => fail(&error),
    };
    match windlass.close().await {
        Ok(()) => code,
        Err(error) => fail(&error),
    }
}

/// Creates the input of a simulation from the arguments. On an error, prints it and returns the exit code.
fn input(args: &SimulateArgs) -> Result<SimulationInput, ExitCode> {
    let given = collected("-p ", &args.parameters, &args.params, &[])?;
    let mut input = SimulationInput::new(args.manifests.clone());
    if let Some(from) = &args.from {
        let time = Zone::UTC.time(from).map_err(|error| {
            fault!(codes::TIME, "--from: {error}");
            exit::wrong_input()
        })?;
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        input.from = Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    }
    input.scripts.clone_from(&args.scripts);
    input.answers.clone_from(&args.answers);
    input.parameters = given.values;
    input.location.clone_from(&args.location);
    input.duration = args.duration;
    input.health = (args.health > 0).then(|| Duration::from_secs(args.health.into()));
    input.count = args.count;
    input.seed = args.seed.into();
    Ok(input)
}

/// Prints an event: `+02:05:30 vm: …`.
fn print(event: &SimulationEvent) {
    let style = match (event.event, event.severity) {
        (_, Severity::Error) => BAD,
        (_, Severity::Warning) => ODD,
        ("launched" | "adopted" | "works", _) => GOOD,
        _ => STRONG,
    };
    let at = styled(DIM, offset(event.offset_ms));
    let mut lines = event.text.lines();
    let first = lines.next().unwrap_or_default();
    say!("{at} {}: {first}", styled(style, &event.application));
    lines.for_each(|line| say!("            {line}"));
}

/// Formats the time since the beginning: `+02:05:30`. The hours continue beyond 24.
fn offset(millis: u64) -> String {
    let seconds = millis / 1000;
    format!("+{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Prints the numbers of script runs and changes, and the final states of the applications.
fn summarize(view: &SimulationView, input: &SimulationInput) {
    let count = |number: u64, what| plural(usize::try_from(number).unwrap_or(usize::MAX), what);
    let source = match (&input.scripts, &input.answers) {
        (Some(_), Some(_)) => "answers and scripts",
        (Some(_), None) => "scripts",
        (None, Some(_)) => "answers",
        (None, None) => "no scripts ran, and all would succeed",
    };
    say!("\nfrom {} until {} ({source})", view.from, view.until);
    for (script, runs) in &view.scripts {
        let failed =
            if runs.failed > 0 { styled(BAD, format!(", {} failed", runs.failed)) } else { String::new() };
        say!("  {script}: {}{failed}", count(runs.runs, "run"));
    }
    let happened = [(view.launched, "launched"), (view.adopted, "adopted"), (view.destroyed, "destroyed")];
    let happened: Vec<String> = happened.iter().map(|(number, what)| format!("{number} {what}")).collect();
    say!("  {}, {}", happened.join(", "), count(view.changes, "change"));
    if view.missed > 0 {
        say!("  {} started late, because the one before was still running", view.missed);
    }
    let states: Vec<String> =
        view.applications.iter().map(|(state, number)| format!("{number} {state}")).collect();
    let states = if states.is_empty() { "none".to_owned() } else { states.join(", ") };
    say!("  applications at the end: {states}");
}
