//! Assemblies that reference each other: what one offers, and what must not happen to it while others use it.
//!
//! A reference is on record in the assembly that has it. Whoever takes one up holds the lease of what it references
//! until that is on record; whoever takes an assembly down, or parts of it away, holds its lease while it looks who
//! references it. So neither can miss the other. References never go in a circle, and nobody waits for a lease for
//! longer than it is patient, so nobody waits for ever.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_lifecycle::ElementChangeKind;
use windlass_model::assembly::{ElementKind, Operation};
use windlass_model::record::Intent;
use windlass_model::resolve::Resolved;
use windlass_model::{AssemblyName, DescriptorName, OperationName, PropertyName, State};
use windlass_store::{Lease, Snapshot, StoreError};

use super::Engine;
use super::draft::Draft;
use crate::error::EngineError;
use crate::host::Stop;
use crate::world::World;

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
    let topology = world.topology();
    let resources = topology.elements().iter().filter(|element| element.kind == ElementKind::Resource);
    let state = |name| world.elements.get(name).map(|record| record.state).unwrap_or_default();
    let lowest = resources.map(|element| state(&element.name)).min_by_key(|state| state.rank());
    let operations = topology.root().map(|root| root.operations.clone()).unwrap_or_default();
    Offer {
        name: world.assembly.name.clone(),
        descriptor: world.assembly.descriptor.clone(),
        properties: world.offered(),
        operations: operations.into_iter().collect(),
        goes: world.assembly.goal == State::Absent,
        below: lowest.filter(|state| *state != State::Active),
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

    /// Takes the leases of the assemblies that are referenced for the first time, and looks that they stay.
    pub(super) async fn visit(
        &self,
        lease: &Lease,
        draft: &Draft,
        stop: &Stop,
    ) -> Result<Vec<Lease>, EngineError> {
        let known = draft.before.as_ref().map(|before| before.references.clone()).unwrap_or_default();
        let mut visits = Vec::new();
        for name in draft.world.assembly.references.difference(&known) {
            let visited = match self.patiently(name, lease, stop).await {
                Ok(visit) => {
                    visits.push(visit);
                    self.stays(name, &lease.scope).await
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

    /// Takes a lease beside another, for the same holder. Whoever has it gets some time to end.
    async fn patiently(
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

    async fn stays(&self, name: &AssemblyName, by: &AssemblyName) -> Result<(), EngineError> {
        let gone = |why| EngineError::ReferenceGone { name: name.clone(), by: by.clone(), why };
        let all = self.store.assemblies().await?;
        match all.iter().find(|assembly| assembly.name == *name) {
            None => Err(gone("is not there any more")),
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
        Intent::Down => return Some("it would be gone".to_owned()),
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
    let verb = if first.kind == ElementChangeKind::Removed { "removed" } else { "installed anew" };
    let more = match changes.count() {
        0 => String::new(),
        more => format!(" ({more} more parts too)"),
    };
    Some(format!("`{}` would be {verb}{more}", first.element.local()))
}
