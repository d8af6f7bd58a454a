//! Reads the kept output of a script again.

use windlass_driver::{Call, Failure, FailureKind, Report};
use windlass_executor::{Limits, Outcome};
use windlass_model::{Action, Transition};

use crate::driver::{Run, script_for};
use crate::role::Role;
use crate::scripts;
use crate::settings::{Settings, Timeouts};

/// Reads the output of a script for calls again, as after its job, and returns the report for each. Nothing runs.
///
/// The calls share package and location. Those of a health check have the action Integrity.
///
/// # Errors
/// For each call the failure that the output means. [`FailureKind::Refused`] if there is no such script.
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
