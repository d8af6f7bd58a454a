//! The rule about absent instances. If a check finds none of the instances of a factory, a fault of the credentials is
//! more likely than the loss of all instances. So the rule keeps the records of the applications.

use std::collections::{BTreeMap, BTreeSet};

use windlass_driver::Observation;
use windlass_model::record::{AssemblyRecord, Failure, FailureKind};
use windlass_model::{AssemblyName, State};
use windlass_store::Store;

use super::look::{Answered, Seen};
use crate::error::EngineError;

/// The number of applications that are read at once.
const PAGE: usize = 64;

/// The meaning of a check that finds none of the instances of a factory, although the factory has several running
/// applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// All instances that the check does not find count as gone. This variant applies if the operator has named the
    /// applications to check.
    Believed,
    /// The instances may still exist. For example, the factory may have the credentials of another account, and so see
    /// none of the instances. Therefore the checks of the applications count as failed.
    Doubted,
}

/// Replaces each answer "the instance no longer exists" by a failure, if the factory has several running applications
/// and the checks find none of their instances. `owners` contains the factory of each checked application. The function
/// counts the running applications in the store, because the checks may cover only some applications of the factory.
///
/// The instances may still exist. For example, a script finds no instance if the factory has the credentials of
/// another account. Without this function, windlass would remove the records of all applications.
pub(super) async fn doubt_absence_of_all(
    store: &dyn Store,
    answers: &mut [Answered],
    owners: &BTreeMap<AssemblyName, AssemblyName>,
) -> Result<(), EngineError> {
    let mut doubted = BTreeSet::new();
    for factory in factories_without_instances(answers, owners) {
        if has_several_running(store, &factory).await? {
            doubted.insert(factory);
        }
    }
    doubt(answers, owners, &doubted);
    Ok(())
}

/// Tells whether a factory has several running applications.
async fn has_several_running(store: &dyn Store, factory: &AssemblyName) -> Result<bool, EngineError> {
    let (mut running, mut after) = (0, None);
    loop {
        let page = store.owned(factory, after.as_ref(), PAGE).await?;
        for owned in &page {
            running += usize::from(store.assembly(&owned.assembly).await?.is_some_and(|of| is_running(&of)));
            if running > 1 {
                return Ok(true);
            }
        }
        if page.len() < PAGE {
            return Ok(false);
        }
        after = page.into_iter().next_back().map(|last| last.assembly);
    }
}

/// Tells whether an application is launched or adopted, and is not being destroyed.
fn is_running(assembly: &AssemblyRecord) -> bool {
    assembly.goal == State::Active && assembly.reached.is_some()
}

/// Returns the observation in an answer; `None` if the check has failed.
fn observation(answer: &Answered) -> Option<&Observation> {
    match answer {
        Answered::Observed { observed, .. } => Some(&observed.observation),
        Answered::Failed(_) => None,
    }
}

/// Returns the factories whose instances all seem to be gone. A factory is in the result if the checks report at least
/// one of its instances as absent, and none as existing. Checks without a result are ignored. `owners` contains the
/// factory of each checked application.
fn factories_without_instances(
    answers: &[Answered],
    owners: &BTreeMap<AssemblyName, AssemblyName>,
) -> BTreeSet<AssemblyName> {
    use Observation::{Absent, CannotTell, Unanswered};
    let (mut found, mut missed) = (BTreeSet::new(), BTreeSet::new());
    for answer in answers {
        let Some(owner) = owners.get(&answer.element().assembly()) else { continue };
        match observation(answer) {
            None | Some(CannotTell(_) | Unanswered) => {}
            Some(Absent) => drop(missed.insert(owner.clone())),
            Some(_) => drop(found.insert(owner)),
        }
    }
    missed.retain(|owner| !found.contains(owner));
    missed
}

/// Replaces each answer "the instance no longer exists" by a failure, if the application belongs to one of the factories
/// `doubted`. `owners` contains the factory of each checked application.
fn doubt(
    answers: &mut [Answered],
    owners: &BTreeMap<AssemblyName, AssemblyName>,
    doubted: &BTreeSet<AssemblyName>,
) {
    for answer in answers.iter_mut().filter(|answer| observation(answer) == Some(&Observation::Absent)) {
        let element = answer.element().clone();
        let name = element.assembly();
        let Some(owner) = owners.get(&name).filter(|owner| doubted.contains(*owner)) else { continue };
        let message = format!(
            "the health check finds no instance of `{owner}`, so the applications are kept; check the configuration of \
             `{owner}`, or confirm that the instance is gone with `windlass app check {name}`"
        );
        let sight = Err(Failure::new(FailureKind::Infrastructure, message));
        *answer = Answered::Failed(Seen { element, state: State::Active, sight, metrics: BTreeMap::new() });
    }
}
