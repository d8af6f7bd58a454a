//! The result of a call: whether the action succeeded, and whether the instance has settled (has reached the
//! requested state).

use windlass_driver::{Call, Failure, FailureKind, Settled};

use crate::answer::Answer;
use crate::failure::Reporter;
use crate::role::Role;

/// Returns whether the instance has settled. An instance that has not settled yet is *converging*. After the destroy
/// script of an application, an instance with a natural id counts as converging until a script reports that the
/// instance no longer exists.
pub(crate) fn settled(role: &Role, call: &Call, answer: &Answer) -> Settled {
    let is_application = call.package.pins().is_some();
    match &answer.status {
        Some(said) if said.status.converging => Settled::Converging,
        Some(said) if said.gone && *role == Role::Destroy => Settled::Gone,
        Some(said) if said.gone && is_application && matches!(role, Role::Command(_)) => Settled::Gone,
        _ if is_application && *role == Role::Destroy && call.natural.is_some() => Settled::Converging,
        _ => Settled::Yes,
    }
}

/// Returns the failure of a call whose script succeeded, but reported a bad status:
///
/// | role | reported status | failure |
/// |---|---|---|
/// | any | `failed` | failed |
/// | launch | all flags false | not running |
/// | health check | all flags false | not found |
/// | health check | neither active nor converging | not active |
///
/// A call whose script reports no status does not fail.
pub(crate) fn shortfall(role: &Role, answer: &Answer, reporter: &Reporter) -> Option<Failure> {
    let said = answer.status.as_ref()?;
    let (kind, what) = match role {
        _ if said.status.failed => (FailureKind::Failed, "reported a failure"),
        Role::Launch if said.gone => (FailureKind::Failed, "reported that the instance is not running"),
        Role::HealthCheck if said.gone => (FailureKind::Gone, "found no such instance"),
        Role::HealthCheck if !said.status.active && !said.status.converging => {
            (FailureKind::Failed, "found that the instance is not active")
        }
        _ => return None,
    };
    Some(failure(kind, what, said.status.message.as_deref(), reporter))
}

/// Creates the failure for a bad status. `what` continues a sentence that begins with the name of the script. `said` is
/// the message of the status.
///
/// The message of the failure contains only the first line of `said`. If `said` has further lines, the details of the
/// failure contain the whole text.
fn failure(kind: FailureKind, what: &str, said: Option<&str>, reporter: &Reporter) -> Failure {
    match said.map(|text| (text.lines().next().unwrap_or_default(), text)) {
        None => reporter.failed(kind, what, ""),
        Some((first, text)) if first == text => reporter.failed(kind, &format!("{what}: {first}"), ""),
        Some((first, text)) => reporter.failed(kind, &format!("{what}: {first}"), text),
    }
}
