//! Claims of natural ids: no two applications of the same factory have the same natural id.

use windlass_driver::{Call, Report};
use windlass_model::AssemblyName;
use windlass_model::record::{Failure, FailureKind};
use windlass_store::{Lease, Store, StoreError};

/// Tells whether a call launches an application, so that the natural id in its report must be claimed.
pub(crate) fn is_needed(call: &Call) -> bool {
    call.package.pins().is_some() && call.natural.is_none()
}

/// Builds the failure of a launch whose script has reported the natural id of another application, `by`.
///
/// The natural id is the id that the script gives to its instance. Each application of a factory has its own
/// natural id.
pub fn claimed(natural: &str, by: &AssemblyName) -> Failure {
    let message = format!(
        "its script reports the natural id `{natural}`, which `{by}` has; if the script made something new, nothing \
         manages it"
    );
    Failure::new(FailureKind::AlreadyExists, message)
}

/// Claims the natural id in the report of a launch. `secrets` are the secrets of the call. If the natural id
/// contains a secret, the function does not claim the id, because the engine refuses the id later.
///
/// # Errors
/// - If another application of the factory has the id, the launch has failed. If this launch has created an
///   instance nevertheless, no application manages the instance.
/// - If the store can't record the id, the failure has the kind [`FailureKind::Lost`]: the outcome of the call
///   is unknown.
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
