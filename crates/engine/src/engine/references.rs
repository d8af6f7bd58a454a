//! References between assemblies: the values that an assembly offers, and the changes that a reference forbids.
//!
//! The record of the referring assembly contains the reference. A process that adds a reference holds the lease of
//! the referenced assembly until the reference is recorded. A process that removes an assembly, or elements of it,
//! holds the lease of this assembly while the process looks for referring assemblies. Both processes need the same
//! lease, so the later process detects the change of the earlier one. The batch that records the reference is refused
//! if the lease of the referenced assembly is lost. References form no cycle, and each wait for a
//! lease is bounded, so there is no deadlock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use windlass_driver::Stop;
use windlass_lifecycle::ElementChangeKind;
use windlass_model::assembly::Operation;
use windlass_model::record::Intent;
use windlass_model::resolve::Resolved;
use windlass_model::{AssemblyName, DescriptorName, OperationName, PropertyName, State};
use windlass_store::{Lease, Snapshot, Store, StoreError};

use super::draft::{Draft, called_on};
use super::previous::Records;
use super::unfinished::refuse_unfinished;
use crate::error::{EngineError, Loss};
use crate::keeper::Leases;
use crate::values::offered;
use crate::world::{ForeignAssembly, World};

/// The values and operations that an assembly offers to referring assemblies.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The name of the assembly.
    pub name: AssemblyName,
    /// The descriptor of the assembly.
    pub descriptor: DescriptorName,
    /// The assembly's public properties that have a value.
    pub properties: BTreeMap<PropertyName, Resolved>,
    /// The operations that other assemblies can call. Each entry contains the name under which this assembly offers
    /// the operation, and the resource that executes the operation.
    pub operations: Vec<(OperationName, Operation)>,
    /// Whether the assembly is being removed.
    pub is_going_down: bool,
    /// The lowest state of the assembly's resources; `None` if all of them are Active.
    pub below: Option<State>,
}

/// Returns the values and operations that a recorded assembly offers to referring assemblies.
pub fn offer(snapshot: Snapshot) -> Offer {
    let world = World::load(snapshot);
    let operations = world.topology().root().map(|root| root.operations.clone()).unwrap_or_default();
    Offer {
        name: world.assembly.name.clone(),
        descriptor: world.assembly.descriptor.clone(),
        properties: offered(&world),
        operations: operations.into_iter().collect(),
        is_going_down: world.assembly.goal == State::Absent,
        below: world.lowest().filter(|state| *state != State::Active),
    }
}

/// The time between two attempts to take a lease.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Returns an error if other assemblies reference the assembly of a draft, and the draft may break these references.
/// References may break in three cases:
///
/// - The intent is `down`.
/// - The intent is an `up`, an adoption or a rollback, and the plan removes or re-creates an element of the assembly.
/// - The intent is an `up`, an adoption or a rollback, and gives the assembly a descriptor with another name.
///
/// If the removal of the assembly has already begun, there is no error.
pub(super) async fn refuse_if_referenced(store: &dyn Store, draft: &Draft) -> Result<(), EngineError> {
    match loss(draft) {
        Some(loss) => refuse_loss(store, &draft.world.assembly.name, loss).await,
        None => Ok(()),
    }
}

/// Returns [`EngineError::Referenced`] if other assemblies reference the assembly `name`.
pub(super) async fn refuse_loss(
    store: &dyn Store,
    name: &AssemblyName,
    loss: Loss,
) -> Result<(), EngineError> {
    let by = store.referrers(name).await?;
    if by.is_empty() { Ok(()) } else { Err(EngineError::Referenced { name: name.clone(), by, loss }) }
}

/// Takes the leases of other assemblies for a process.
#[derive(Clone, Copy)]
pub(super) struct Visitor<'e> {
    pub(super) store: &'e dyn Store,
    /// The maximum wait for a lease that another program holds.
    pub(super) patience: Duration,
}

impl Visitor<'_> {
    /// Takes the leases of newly referenced assemblies, and of the assemblies on whose elements the plan calls
    /// operations. Refuses a new reference if the referenced assembly does not exist, is being removed, or has a
    /// reference to the referring assembly.
    ///
    /// The function adds each lease to `visits` as soon as it has taken the lease. The caller renews these leases
    /// meanwhile, because the function may wait for each further lease. The caller also releases them.
    pub(super) async fn visit(
        &self,
        lease: &Lease,
        draft: &Draft,
        stop: &Stop,
        visits: &Leases,
    ) -> Result<(), EngineError> {
        let known = draft.before.as_ref().map(|before| before.references.clone()).unwrap_or_default();
        let new: BTreeSet<AssemblyName> =
            draft.world.assembly.references.difference(&known).cloned().collect();
        for name in new.union(&called_on(draft)) {
            visits.add(self.patiently(name, lease, stop).await?);
            if new.contains(name) {
                stays(self.store, name, &lease.scope).await?;
            }
        }
        Ok(())
    }

    /// Takes the leases of other assemblies for the open calls in `snapshot`. `snapshot` and `lease` belong to one
    /// assembly, but a call of this assembly may act on an element of another assembly.
    ///
    /// For example, a process of `shop` has called an operation on an element of `lb`, and was interrupted during
    /// this call. If `snapshot` is the snapshot of `shop`, the function takes the lease of `lb`.
    pub(super) async fn of_open_calls(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        stop: &Stop,
    ) -> Result<Vec<Lease>, EngineError> {
        let called = snapshot.calls.iter().map(|call| call.element.assembly());
        let called: BTreeSet<AssemblyName> = called.filter(|name| *name != lease.scope).collect();
        let mut leases = Vec::new();
        for name in called {
            match self.patiently(&name, lease, stop).await {
                Ok(visit) => leases.push(visit),
                Err(error) => {
                    leave(self.store, leases).await;
                    return Err(error);
                }
            }
        }
        Ok(leases)
    }

    /// Takes the lease of the assembly `name`. The caller already holds the lease `beside` of another assembly, and the
    /// new lease has the same holder. While another program holds the lease of `name`, the function tries again, at
    /// most for the time [`patience`](Self::patience).
    pub(super) async fn patiently(
        &self,
        name: &AssemblyName,
        beside: &Lease,
        stop: &Stop,
    ) -> Result<Lease, EngineError> {
        let asked = self.patience.as_millis() / ASK_AGAIN.as_millis();
        for _ in 0..asked {
            match self.store.lease(name, &beside.holder).await {
                Err(StoreError::Held { .. }) => {}
                other => return Ok(other?),
            }
            tokio::select! {
                () = tokio::time::sleep(ASK_AGAIN) => {}
                () = stop.requested() => return Err(EngineError::Stopped),
            }
        }
        Ok(self.store.lease(name, &beside.holder).await?)
    }
}

/// Refuses an intent on the assembly `name` if another assembly has an open call on an element of `name`. An
/// interrupted process has left such a call open, and the job of the call may still run.
pub(super) async fn refuse_if_entangled(store: &dyn Store, name: &AssemblyName) -> Result<(), EngineError> {
    for by in store.referrers(name).await? {
        let calls = store.load_sealed(&by).await?.map(|snapshot| snapshot.calls).unwrap_or_default();
        if calls.iter().any(|call| call.element.assembly() == *name) {
            return Err(EngineError::Entangled { name: name.clone(), by });
        }
    }
    Ok(())
}

/// Loads the assemblies of the given leases. If an assembly no longer exists, it is omitted, and its lease is released:
/// no operation can be called on a missing assembly.
///
/// # Errors
/// [`EngineError::Interrupted`] if a process of one of these assemblies was interrupted, [`EngineError::Converging`] if
/// an instance of one of them is still changing, or an error of the store. After an error, all leases are released.
pub(super) async fn foreign_assemblies(
    records: &Records<'_>,
    leases: Vec<Lease>,
) -> Result<BTreeMap<AssemblyName, ForeignAssembly>, EngineError> {
    let mut foreign_assemblies = BTreeMap::new();
    let mut leases = leases.into_iter();
    while let Some(lease) = leases.next() {
        match foreign(records, &lease.scope).await {
            Ok(Some(world)) => {
                drop(foreign_assemblies.insert(lease.scope.clone(), ForeignAssembly { lease, world }));
            }
            Ok(None) => leave(records.store, vec![lease]).await,
            Err(error) => {
                let taken = foreign_assemblies.into_values().map(|foreign: ForeignAssembly| foreign.lease);
                leave(records.store, taken.chain([lease]).chain(leases).collect()).await;
                return Err(error);
            }
        }
    }
    Ok(foreign_assemblies)
}

async fn foreign(records: &Records<'_>, name: &AssemblyName) -> Result<Option<World>, EngineError> {
    let Some(snapshot) = records.store.load(name).await? else { return Ok(None) };
    refuse_unfinished(&snapshot).map_err(|refusal| match refusal {
        EngineError::Unfinished(name) => EngineError::Interrupted(name),
        other => other,
    })?;
    Ok(Some(records.loaded(snapshot).await?))
}

/// Refuses a reference from the assembly `by` to the assembly `name` if `name` does not exist or is being removed.
/// Also refuses the reference if `name` has a reference to `by`.
pub(super) async fn stays(
    store: &dyn Store,
    name: &AssemblyName,
    by: &AssemblyName,
) -> Result<(), EngineError> {
    let gone = |why| EngineError::ReferenceGone { name: name.clone(), by: by.clone(), why };
    match store.assembly(name).await? {
        None => Err(gone("does not exist")),
        Some(assembly) if assembly.goal == State::Absent => Err(gone("is being taken down")),
        Some(assembly) if assembly.references.contains(by) => Err(gone("references it in turn")),
        Some(_) => Ok(()),
    }
}

/// Releases leases that are no longer needed, and ignores errors.
pub(super) async fn leave(store: &dyn Store, visits: Vec<Lease>) {
    for visit in visits {
        // A lost lease needs no release.
        let _ = store.release(visit).await;
    }
}

/// Returns the change of the draft's assembly that would break references from other assemblies. The function does
/// not check whether such references exist. Returns `None` if the draft contains no such change, or if the removal of
/// the assembly has already begun.
fn loss(draft: &Draft) -> Option<Loss> {
    let before = draft.before.as_ref().filter(|before| before.goal != State::Absent)?;
    if draft.intent == Intent::Down {
        return Some(Loss::Removed);
    }
    if !draft.intent.replaces_assembly() {
        return None;
    }
    let after = &draft.world.assembly.descriptor;
    if *after != before.descriptor {
        return Some(Loss::Changed(format!("it would become a `{after}`")));
    }
    let taken = |kind| matches!(kind, ElementChangeKind::Removed | ElementChangeKind::Reinstalled);
    let mut changes = draft.diff.elements.iter().filter(|change| taken(change.kind));
    let first = changes.next()?;
    let verb = if first.kind == ElementChangeKind::Removed { "removed" } else { "re-created" };
    let more = match changes.count() {
        0 => String::new(),
        more => format!(" ({more} more parts too)"),
    };
    Some(Loss::Changed(format!("`{}` would be {verb}{more}", first.element.local())))
}
