//! Interprets the output of scripts without running jobs.
//!
//! [`replay()`] interprets the stored output of an earlier job. [`observed_all`] interprets the output of a health
//! check, which may come from a simulation. [`observed`] interprets a single update as if a health check had printed
//! the update. Simulations create such updates.

use std::collections::BTreeSet;

use windlass_driver::{Call, Failure, FailureKind, Observed, Report};
use windlass_executor::{Captured, Limits, Outcome};
use windlass_model::{Action, Transition};
use windlass_source::Diagnostic;
use windlass_update_ops::Update;

use crate::answer::Printed;
use crate::driver::{Run, script_for};
use crate::failure::Reporter;
use crate::output::Output;
use crate::role::Role;
use crate::settings::{Settings, Timeouts};
use crate::{input, observe, scripts};

/// Interprets the stored output of a script that ran earlier, and returns a report for each call. No script runs.
///
/// All calls must have the same package and location. For the output of a health check, the calls must have the action
/// Integrity.
///
/// # Errors
/// If the output shows that a call has failed, the result of the call is this failure. If the package has no script
/// for the action, the result of each call is a failure of the kind [`FailureKind::Refused`].
#[must_use]
pub fn replay(calls: &[&Call], outcome: &Outcome) -> Vec<Result<Report, Failure>> {
    let each = |failure: Failure| calls.iter().map(|_| Err(failure.clone())).collect();
    let Some(first) = calls.first() else { return Vec::new() };
    let found = match first.action {
        Action::Transition(Transition::Integrity) => scripts::health_check(&first.package)
            .map(|script| (Role::HealthCheck, script))
            .ok_or_else(|| Failure::new(FailureKind::Refused, "the package has no health check script")),
        _ => script_for(first),
    };
    let (role, script) = match found {
        Ok(found) => found,
        Err(failure) => return each(failure),
    };
    let settings = Settings::read(&role, &first.binding, Timeouts::default()).0.at(&first.location);
    let run = Run::new(role, script, settings, calls);
    match run.check(outcome, &Limits::default()) {
        Ok(()) => run.reports(calls, outcome),
        Err(failure) => each(failure),
    }
}

/// Interprets the output of a successful health check, and returns an observation for each call. No script runs.
///
/// `parsed` is a cache between several uses of this function. The function stores the parsed output in `parsed`. If
/// `parsed` already contains the parsed form of the same output, the function does not parse the output again. All uses
/// of one cache must be for the same package and location.
///
/// # Errors
/// If the output shows that a call has failed, the result of the call is this failure. If the package has no health
/// check script, the result of each call is a failure of the kind [`FailureKind::Refused`].
#[must_use]
pub fn observed_all(
    calls: &[&Call],
    outcome: &Outcome,
    parsed: &mut Option<ParsedOutput>,
) -> Vec<Result<Observed, Failure>> {
    let Some(first) = calls.first() else { return Vec::new() };
    let Some(script) = scripts::health_check(&first.package) else {
        let failure = Failure::new(FailureKind::Refused, "the package has no health check script");
        return calls.iter().map(|_| Err(failure.clone())).collect();
    };
    let role = Role::HealthCheck;
    let settings = Settings::read(&role, &first.binding, Timeouts::default()).0.at(&first.location);
    let run = Run::new(role, script, settings, calls);
    let known = parsed.take().filter(|known| known.stdout == outcome.stdout);
    let known = known.unwrap_or_else(|| ParsedOutput {
        stdout: outcome.stdout.clone(),
        output: run.parsed(first, &outcome.stdout),
    });
    run.observations_in(calls, &parsed.insert(known).output, outcome)
}

/// The parsed output of a health check.
#[derive(Debug)]
pub struct ParsedOutput {
    stdout: Captured,
    output: Result<Output, Vec<Diagnostic>>,
}

/// Interprets an update as if a health check had printed the update for the instance of a call. No script runs.
///
/// # Errors
/// Returns the failure that a health check with this update in its output would cause.
pub fn observed(call: &Call, update: Update) -> Result<Observed, Failure> {
    let natural = input::natural(call);
    let output = Output::of_update("the answer", natural, update);
    let asked = BTreeSet::from([natural]);
    let printed = Printed { role: &Role::HealthCheck, call, asked: &asked, notes_others: false };
    let reporter = Reporter::of("health check", &[call], &[]);
    let answer =
        printed.read(&output).map_err(|problems| reporter.protocol(&problems, &Captured::default()))?;
    Ok(observe::observed(call, answer.masked(&reporter)))
}
