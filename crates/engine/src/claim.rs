//! Claims of natural ids. A *natural id* is the id of an instance outside of windlass, for example the id of a machine
//! in a cloud. A *claim* in the store reserves a natural id for one application.
//!
//! No two applications of the same factory have the same natural id, and none of two [twins](Kinship::Twins). The store
//! refuses an id that any other application has, unless the claim names this application. So the functions of this
//! module decide which applications may share the id, and no simultaneous command can be missed.

use std::collections::BTreeSet;

use windlass_driver::{Call, Report};
use windlass_model::AssemblyName;
use windlass_model::instance::LogEntry;
use windlass_model::record::{Failure, FailureKind, Severity};
use windlass_store::{Claim, Claimant, Lease, Store, StoreError};

use crate::exported::forget_launched;
use crate::kinship::{Kinship, kinship};
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

/// Returns the failure of a launch that reports the natural id of an application of another factory, which has the same
/// configuration.
fn claimed_by_twin(natural: &str, Claimant { assembly, owner }: &Claimant) -> Failure {
    let message = format!(
        "its driver reports the natural id `{natural}`, which `{assembly}` has, an application of the factory `{owner}` \
         with the same configuration; if the launch made something new, nothing manages it"
    );
    Failure::new(FailureKind::AlreadyExists, message)
}

/// The number of times that a claim is repeated if other commands claim the same natural id at the same time.
const ATTEMPTS: usize = 10;

/// Reserves the natural id in `report` for the launched application, whose lease is `lease`. `secrets` are the secrets
/// of the call that launches the application. If the natural id contains a secret, the function does not reserve the
/// id. The call then fails later, because the engine refuses such a report.
///
/// If the instance belonged to an exported application before, windlass no longer treats it as exported.
///
/// Returns a warning if an application of a [sibling](Kinship::Siblings) has the same id. This is no failure: the
/// launched instance may be a new one in another cloud.
///
/// # Errors
/// - If the id is [invalid](check_natural), the report is refused.
/// - If another application of the factory or of a twin has the id, the launch has failed. If this launch has created an
///   instance nevertheless, no application manages the instance.
/// - If the store can't record the id, the failure has the kind [`FailureKind::Lost`]: the outcome of the call is
///   unknown.
pub(crate) async fn claim(
    store: &dyn Store,
    lease: &Lease,
    report: &Report,
    secrets: &[String],
) -> Result<Option<LogEntry>, Failure> {
    let Some(natural) = &report.natural else { return Ok(None) };
    check_natural(natural)?;
    if secrets.iter().any(|secret| !secret.is_empty() && natural.contains(secret.as_str())) {
        return Ok(None);
    }
    let lost = |error: StoreError| {
        Failure::new(FailureKind::Lost, format!("its natural id can't be recorded: {error}"))
    };
    let mut sharers = Sharers::default();
    for attempt in 1.. {
        let claim = Claim::from(natural.as_str()).shared_with(sharers.names());
        match store.claim(lease, &claim).await {
            Ok(()) => break,
            Err(StoreError::Claimed { .. }) if attempt < ATTEMPTS => {
                sharers = match Sharers::of(store, &lease.scope, natural).await.map_err(lost)? {
                    Ok(sharers) => sharers,
                    Err(Refusing::Own(by)) => return Err(claimed(natural, &by)),
                    Err(Refusing::OfTwin(by)) => return Err(claimed_by_twin(natural, &by)),
                };
            }
            Err(error) => return Err(lost(error)),
        }
    }
    // After a crash here, the call is still open. The next process then repeats both actions.
    forget_launched(store, &lease.scope, natural).await.map_err(lost)?;
    Ok(sharers.siblings.first().map(|Claimant { assembly, owner }| {
        let message = format!(
            "`{assembly}`, an application of the factory `{owner}`, has the same natural id `{natural}`; if they are one \
             instance, a removal of one application removes the instance of the other"
        );
        LogEntry::new(Severity::Warning, message)
    }))
}

/// An application that has a natural id, so that another application must not have it.
pub(crate) enum Refusing {
    /// An application of the same factory.
    Own(AssemblyName),
    /// An application of a [twin](Kinship::Twins) of the factory.
    OfTwin(Claimant),
}

impl Refusing {
    /// Returns the error for a claim of `natural_id`. `owner` is the factory of the application that claims the id.
    pub(crate) fn error(self, owner: &AssemblyName, natural_id: &str) -> StoreError {
        let natural_id = natural_id.to_owned();
        match self {
            Self::Own(by) => StoreError::Claimed { owner: owner.clone(), natural_id, by },
            Self::OfTwin(Claimant { assembly: by, owner }) => StoreError::Claimed { owner, natural_id, by },
        }
    }
}

/// The applications that may share a natural id with an application. Their factories have another manifest or another
/// configuration.
#[derive(Debug, Default)]
pub(crate) struct Sharers {
    /// Applications of [siblings](Kinship::Siblings) of the factory.
    pub(crate) siblings: Vec<Claimant>,
    /// Applications of other manifests.
    others: Vec<Claimant>,
}

impl Sharers {
    /// Finds the applications that have the natural id `natural_id`, apart from the application `name`, which claims the
    /// id. `owner` is the factory of `name`. The inner error names an application that must not share the id.
    pub(crate) async fn of_factory(
        store: &dyn Store,
        name: &AssemblyName,
        owner: &AssemblyName,
        natural_id: &str,
    ) -> Result<Result<Self, Refusing>, StoreError> {
        let mut claimants = store.claimants(natural_id).await?;
        claimants.retain(|claimant| claimant.assembly != *name);
        let mut sharers = Self::default();
        // Most ids are new, so the factory is not read.
        if claimants.is_empty() {
            return Ok(Ok(sharers));
        }
        let factory = store.load(owner).await?;
        for claimant in claimants {
            if claimant.owner == *owner {
                return Ok(Err(Refusing::Own(claimant.assembly)));
            }
            let kinship = match &factory {
                Some(factory) => kinship(store, factory, &claimant.owner).await?,
                None => None,
            };
            match kinship {
                Some(Kinship::Twins) => return Ok(Err(Refusing::OfTwin(claimant))),
                Some(Kinship::Siblings) => sharers.siblings.push(claimant),
                None => sharers.others.push(claimant),
            }
        }
        Ok(Ok(sharers))
    }

    async fn of(
        store: &dyn Store,
        name: &AssemblyName,
        natural_id: &str,
    ) -> Result<Result<Self, Refusing>, StoreError> {
        match store.assembly(name).await?.and_then(|record| record.owner) {
            Some(owner) => Self::of_factory(store, name, &owner, natural_id).await,
            None => Ok(Ok(Self::default())),
        }
    }

    /// Returns the names of the applications, for [`Claim::shared_with`].
    pub(crate) fn names(&self) -> BTreeSet<AssemblyName> {
        self.siblings.iter().chain(&self.others).map(|claimant| claimant.assembly.clone()).collect()
    }
}

/// Makes the claim of the natural id `natural_id` for the application `name` of the factory `owner`.
///
/// # Errors
/// [`StoreError::Claimed`] if another application of the factory or of a twin has the id. Or an error of the store.
pub(crate) async fn claim_of(
    store: &dyn Store,
    name: &AssemblyName,
    owner: &AssemblyName,
    natural_id: &str,
) -> Result<Claim, StoreError> {
    let sharers = Sharers::of_factory(store, name, owner, natural_id).await?;
    let sharers = sharers.map_err(|refusing| refusing.error(owner, natural_id))?;
    Ok(Claim::from(natural_id).shared_with(sharers.names()))
}
