//! Claims of natural ids. A *natural id* is the id of an instance outside of windlass, for example the id of a machine
//! in a cloud. A *claim* in the store reserves a natural id for one application. No two applications of the same
//! factory have the same natural id.

use windlass_driver::{Call, Report};
use windlass_model::AssemblyName;
use windlass_model::record::{Failure, FailureKind};
use windlass_store::{Lease, Store, StoreError};

use crate::exported::forget_launched;
use crate::report::check_natural;

/// Tells whether a call launches an application. The report of such a call contains the id of a new instance, and the
/// engine must [`claim`] this id.
pub(crate) fn is_needed(call: &Call) -> bool {
    call.package.pins().is_some() && call.natural.is_none()
}

/// Returns the failure of a launch that reports a natural id which is already taken. `natural` is this id, and `by` is
/// the application that has the id.
///
/// A natural id is the id of an instance outside of windlass, for example the id of a machine in a cloud. No two
/// applications of the same factory have the same natural id.
pub fn claimed(natural: &str, by: &AssemblyName) -> Failure {
    let message = format!(
        "its driver reports the natural id `{natural}`, which `{by}` has; if the launch made something new, nothing \
         manages it"
    );
    Failure::new(FailureKind::AlreadyExists, message)
}

/// Reserves the natural id in `report` for the launched application, whose lease is `lease`. `secrets` are the secrets
/// of the call that launches the application. If the natural id contains a secret, the function does not reserve the
/// id. The call then fails later, because the engine refuses such a report.
///
/// If the instance belonged to an exported application before, windlass no longer treats it as exported.
///
/// # Errors
/// - If the id is [invalid](check_natural), the report is refused.
/// - If another application of the factory has the id, the launch has failed. If this launch has created an
///   instance nevertheless, no application manages the instance.
/// - If the store can't record the id, the failure has the kind [`FailureKind::Lost`]: the outcome of the call is
///   unknown.
pub(crate) async fn claim(
    store: &dyn Store,
    lease: &Lease,
    report: &Report,
    secrets: &[String],
) -> Result<(), Failure> {
    let Some(natural) = &report.natural else { return Ok(()) };
    check_natural(natural)?;
    if secrets.iter().any(|secret| !secret.is_empty() && natural.contains(secret.as_str())) {
        return Ok(());
    }
    let claimed_id = async {
        store.claim(lease, natural).await?;
        // After a crash here, the call is still open. The next process then repeats both actions.
        forget_launched(store, &lease.scope, natural).await
    };
    match claimed_id.await {
        Ok(()) => Ok(()),
        Err(StoreError::Claimed { natural_id, by, .. }) => Err(claimed(&natural_id, &by)),
        Err(error) => {
            let message = format!("its natural id can't be recorded: {error}");
            Err(Failure::new(FailureKind::Lost, message))
        }
    }
}

/// Refuses the natural id `natural_id` for the application `name` if another application of the factory `owner` has it.
///
/// # Errors
/// [`StoreError::Claimed`], or an error of the store.
pub(crate) async fn refuse_claimed(
    store: &dyn Store,
    name: &AssemblyName,
    owner: &AssemblyName,
    natural_id: &str,
) -> Result<(), StoreError> {
    match store.claimant(owner, natural_id).await?.filter(|by| by != name) {
        Some(by) => {
            let (owner, natural_id) = (owner.clone(), natural_id.to_owned());
            Err(StoreError::Claimed { owner, natural_id, by })
        }
        None => Ok(()),
    }
}
