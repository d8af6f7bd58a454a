//! Assemblies that reference each other: what one offers, and what must not happen to it while others use it.
//!
//! A reference is on record in the assembly that has it. Whoever takes one up holds the lease of what it references
//! until that is on record; whoever takes an assembly down, or parts of it away, holds its lease while it looks who
//! references it. So neither can miss the other. References never go in a circle, and nobody waits for a lease for
//! longer than it is patient, so nobody waits for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use windlass_lifecycle::ElementChangeKind;
use windlass_model::assembly::Operation;
use windlass_model::record::Intent;
use windlass_model::resolve::Resolved;
use windlass_model::{AssemblyName, DescriptorName, OperationName, PropertyName, State};
use windlass_store::{Lease, Snapshot, StoreError};

use super::Engine;
use super::draft::{Draft, called_on};
use crate::error::EngineError;
use crate::stop::Stop;
use crate::world::{Guest, World};

/// What an assembly offers to those that reference it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Its name.
    pub name: AssemblyName,
    /// The descriptor it was made from.
    pub descriptor: DescriptorName,
    /// Its properties, as far as they have a value.
    pub properties: BTreeMap<PropertyName, Resolved>,
    /// The operations that it promotes, and the resource that each leads to.
    pub operations: Vec<(OperationName, Operation)>,
    /// Whether it is to go.
    pub goes: bool,
    /// The lowest state of its parts, where that is not Active.
    pub below: Option<State>,
}

/// Says what an assembly offers, as the store remembers it.
pub fn offer(snapshot: Snapshot) -> Offer {
    let world = World::load(snapshot);
    let operations = world.topology().root().map(|root| root.operations.clone()).unwrap_or_default();
    Offer {
        name: world.assembly.name.clone(),
        descriptor: world.assembly.descriptor.clone(),
        properties: world.offered(),
        operations: operations.into_iter().collect(),
        goes: world.assembly.goal == State::Absent,
        below: world.lowest().filter(|state| *state != State::Active),
    }
}

/// How long to wait before a lease that another has is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(50);

impl Engine {
    /// Refuses what would take something from those that reference the assembly.
    pub(super) async fn refuse_if_referenced(&self, draft: &Draft) -> Result<(), EngineError> {
        let (false, Some(what)) = (self.options.force, takes(draft)) else { return Ok(()) };
        let name = &draft.world.assembly.name;
        let by = self.store.referrers(name).await?;
        if by.is_empty() { Ok(()) } else { Err(EngineError::Referenced { name: name.clone(), by, what }) }
    }

    /// Takes the leases of the assemblies that are referenced for the first time, and looks that they stay; and of those
    /// on whose parts operations are called.
    pub(super) async fn visit(
        &self,
        lease: &Lease,
        draft: &Draft,
        stop: &Stop,
    ) -> Result<Vec<Lease>, EngineError> {
        let known = draft.before.as_ref().map(|before| before.references.clone()).unwrap_or_default();
        let new: BTreeSet<AssemblyName> =
            draft.world.assembly.references.difference(&known).cloned().collect();
        let mut visits = Vec::new();
        for name in new.union(&called_on(draft)) {
            let visited = match self.patiently(name, lease, stop).await {
                Ok(visit) => {
                    visits.push(visit);
                    if new.contains(name) { self.stays(name, &lease.scope).await } else { Ok(()) }
                }
                Err(error) => Err(error),
            };
            if let Err(error) = visited {
                self.leave(visits).await;
                return Err(error);
            }
        }
        Ok(visits)
    }

    /// Refuses to touch an assembly on whose parts an interrupted process of another may still work.
    pub(super) async fn refuse_if_entangled(&self, name: &AssemblyName) -> Result<(), EngineError> {
        for by in self.store.referrers(name).await? {
            let calls = self.store.load(&by).await?.map(|snapshot| snapshot.calls).unwrap_or_default();
            if calls.iter().any(|call| call.element.assembly() == *name) {
                return Err(EngineError::Entangled { name: name.clone(), by });
            }
        }
        Ok(())
    }

    /// Loads the assemblies whose leases were taken. One that is not there any more is left out, and its lease given
    /// back: nothing is left to call operations on.
    ///
    /// # Errors
    ///
    /// When one has been interrupted itself, and its parts may be worked on; all leases are given back then.
    pub(super) async fn guests(
        &self,
        leases: Vec<Lease>,
    ) -> Result<BTreeMap<AssemblyName, Guest>, EngineError> {
        let mut guests = BTreeMap::new();
        let mut leases = leases.into_iter();
        while let Some(lease) = leases.next() {
            match self.guest(&lease.scope).await {
                Ok(Some(world)) => drop(guests.insert(lease.scope.clone(), Guest { lease, world })),
                Ok(None) => self.leave(vec![lease]).await,
                Err(error) => {
                    let taken = guests.into_values().map(|guest: Guest| guest.lease);
                    self.leave(taken.chain([lease]).chain(leases).collect()).await;
                    return Err(error);
                }
            }
        }
        Ok(guests)
    }

    async fn guest(&self, name: &AssemblyName) -> Result<Option<World>, EngineError> {
        let Some(snapshot) = self.store.load(name).await? else { return Ok(None) };
        if !snapshot.calls.is_empty() || !snapshot.processes.is_empty() {
            return Err(EngineError::Interrupted(name.clone()));
        }
        Ok(Some(self.loaded(snapshot).await?))
    }

    /// Takes the leases of the assemblies on whose parts calls were left open, and loads them.
    pub(super) async fn guests_of_open_calls(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        stop: &Stop,
    ) -> Result<BTreeMap<AssemblyName, Guest>, EngineError> {
        let called = snapshot.calls.iter().map(|call| call.element.assembly());
        let called: BTreeSet<AssemblyName> = called.filter(|name| *name != lease.scope).collect();
        let mut leases = Vec::new();
        for name in called {
            match self.patiently(&name, lease, stop).await {
                Ok(visit) => leases.push(visit),
                Err(error) => {
                    self.leave(leases).await;
                    return Err(error);
                }
            }
        }
        self.guests(leases).await
    }

    /// Takes a lease beside another, for the same holder. Whoever has it gets some time to end.
    pub(super) async fn patiently(
        &self,
        name: &AssemblyName,
        beside: &Lease,
        stop: &Stop,
    ) -> Result<Lease, EngineError> {
        let asked = self.options.patience.as_millis() / ASK_AGAIN.as_millis();
        for _ in 0..asked {
            match self.store.lease(name, &beside.holder).await {
                Err(StoreError::Held { .. }) => {}
                other => return Ok(other?),
            }
            tokio::select! {
                () = tokio::time::sleep(ASK_AGAIN) => {}
                () = stop.soon.cancelled() => return Err(EngineError::Stopped),
            }
        }
        Ok(self.store.lease(name, &beside.holder).await?)
    }

    pub(super) async fn stays(&self, name: &AssemblyName, by: &AssemblyName) -> Result<(), EngineError> {
        let gone = |why| EngineError::ReferenceGone { name: name.clone(), by: by.clone(), why };
        match self.store.assembly(name).await? {
            None => Err(gone("does not exist")),
            Some(assembly) if assembly.goal == State::Absent => Err(gone("is being taken down")),
            Some(assembly) if assembly.references.contains(by) => Err(gone("references it in turn")),
            Some(_) => Ok(()),
        }
    }

    /// Gives leases back.
    pub(super) async fn leave(&self, visits: Vec<Lease>) {
        for visit in visits {
            // One that is lost already needs no giving back.
            let _ = self.store.release(visit).await;
        }
    }
}

/// Says what an intent takes from those who reference the assembly; none when it takes nothing, or when that was begun
/// before.
fn takes(draft: &Draft) -> Option<String> {
    let before = draft.before.as_ref().filter(|before| before.goal != State::Absent)?;
    match draft.intent {
        Intent::Down => return Some("it would be removed".to_owned()),
        Intent::Up | Intent::Rollback(_) | Intent::Adopt => {}
        _ => return None,
    }
    let after = &draft.world.assembly.descriptor;
    if *after != before.descriptor {
        return Some(format!("it would become a `{after}`"));
    }
    let taken = |kind| matches!(kind, ElementChangeKind::Removed | ElementChangeKind::Reinstalled);
    let mut changes = draft.diff.elements.iter().filter(|change| taken(change.kind));
    let first = changes.next()?;
    let verb = if first.kind == ElementChangeKind::Removed { "removed" } else { "re-created" };
    let more = match changes.count() {
        0 => String::new(),
        more => format!(" ({more} more parts too)"),
    };
    Some(format!("`{}` would be {verb}{more}", first.element.local()))
}
