//! What an answer means for the call: whether it was done, and whether the instance has settled.

use windlass_driver::{Failure, FailureKind, Settled};

use crate::answer::Answer;
use crate::failure::Reporter;
use crate::role::Role;

/// Returns whether the instance is where the call should bring it.
pub(crate) fn settled(role: &Role, answer: &Answer) -> Settled {
    match &answer.status {
        Some(said) if said.status.converging => Settled::Converging,
        Some(said) if said.gone && *role == Role::Destroy => Settled::Gone,
        _ => Settled::Yes,
    }
}

/// Returns why a call did not do what it should, though its script ended well:
///
/// | role | the script says | |
/// |---|---|---|
/// | any | `failed` | it failed |
/// | launch | all flags false | it is not running |
/// | health check | all flags false | there is nothing |
/// | health check | neither active nor converging | it does not do its work |
///
/// A script that says nothing of the status has nothing to complain about.
pub(crate) fn shortfall(role: &Role, answer: &Answer, reporter: &Reporter) -> Option<Failure> {
    let said = answer.status.as_ref()?;
    let (kind, what) = match role {
        _ if said.status.failed => (FailureKind::Failed, "reported a failure"),
        Role::Launch if said.gone => (FailureKind::Failed, "reported that the instance is not running"),
        Role::HealthCheck if said.gone => (FailureKind::NotFound, "found no such instance"),
        Role::HealthCheck if !said.status.active && !said.status.converging => {
            (FailureKind::Failed, "found that the instance is not active")
        }
        _ => return None,
    };
    Some(failure(kind, what, said.status.message.as_deref(), reporter))
}

/// The first line of a status message goes into the failure's message, a longer one also into its details.
fn failure(kind: FailureKind, what: &str, said: Option<&str>, reporter: &Reporter) -> Failure {
    match said.map(|text| (text.lines().next().unwrap_or_default(), text)) {
        None => reporter.failed(kind, what, ""),
        Some((first, text)) if first == text => reporter.failed(kind, &format!("{what}: {first}"), ""),
        Some((first, text)) => reporter.failed(kind, &format!("{what}: {first}"), text),
    }
}
