//! Natural ids of applications, which are unique below their factory.

use windlass_driver::{Call, Report};
use windlass_model::AssemblyName;
use windlass_model::record::{Failure, FailureKind};
use windlass_store::{Lease, Store, StoreError};

/// Tells whether the report of a call may give its instance a natural id that must be claimed: the launch of an
/// application.
pub(crate) fn is_needed(call: &Call) -> bool {
    call.package.pins().is_some() && call.natural.is_none()
}

/// Returns the failure of a launch that reports the natural id of another application.
pub fn claimed(natural: &str, by: &AssemblyName) -> Failure {
    let message = format!(
        "its script reports the natural id `{natural}`, which `{by}` has; if the script made something new, nothing \
         manages it"
    );
    Failure::new(FailureKind::AlreadyExists, message)
}

/// Claims the natural id of a report. `secrets` are those of the call: an id that holds one is refused later, and not
/// stored here.
///
/// # Errors
/// Another application of the factory has the id. The launch has failed then, and what it made is nobody's.
pub(crate) async fn claim(
    store: &dyn Store,
    lease: &Lease,
    report: &Report,
    secrets: &[String],
) -> Result<(), Failure> {
    let Some(natural) = &report.natural else { return Ok(()) };
    if secrets.iter().any(|secret| !secret.is_empty() && natural.contains(secret.as_str())) {
        return Ok(());
    }
    match store.claim(lease, natural).await {
        Ok(()) => Ok(()),
        Err(StoreError::Claimed { natural_id, by, .. }) => Err(claimed(&natural_id, &by)),
        Err(error) => {
            let message = format!("its natural id can't be recorded: {error}");
            Err(Failure::new(FailureKind::Lost, message))
        }
    }
}
