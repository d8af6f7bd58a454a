//! The [`Engine`], its [`Options`], and small functions that other modules use.

use std::sync::Arc;
use std::time::Duration;

use windlass_driver::Stop;
use windlass_model::record::{ElementRecord, Event as Happening, EventDraft, Failure, Severity};
use windlass_model::{AssemblyName, ElementName, State};
use windlass_store::{Batch, Holder, Lease, Store, StoreError};

use super::env::EngineEnv;
use super::look::{CheckScope, HealthChecks, Seen};
use super::previous::Records;
use super::references::Visitor;
use super::upkeep::{Upkeep, unknown};
use crate::check_failure;
use crate::dispatch::ProcessEnv;
use crate::error::EngineError;
use crate::keeper::give_up;
use crate::machine::{Pace, Tools};
use crate::world::World;

/// The options of an [`Engine`], for example the maximum number of concurrent calls.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The maximum number of concurrent calls of drivers.
    pub parallelism: usize,
    /// The time before the first observation of a converging instance. The time before each further observation
    /// is longer.
    pub poll: Duration,
    /// The time within which a cancelled job may end by itself. After this time, the runtime kills the job.
    pub grace: Duration,
    /// The time that running jobs may continue after another program has requested a stop. After this time, the
    /// engine cancels the jobs. The engine also waits at most this time for the lease of another assembly.
    pub patience: Duration,
    /// Whether the engine permits dangerous actions, which it otherwise refuses:
    ///
    /// - An intent removes or replaces elements of an assembly, although other assemblies reference this assembly.
    /// - A referenced assembly is [forgotten](Upkeep::forget) or [exported](Upkeep::hand_over).
    /// - An intent changes an assembly, although another assembly still has an open call on an element of this
    ///   assembly. The call is open because a process of the other assembly was interrupted.
    /// - An `up` uses the old name of a renamed or exported assembly.
    /// - An assembly is forgotten, although its last process was interrupted.
    pub force: bool,
}

impl Default for Options {
    /// Returns the default options, with at most 8 concurrent calls of drivers.
    fn default() -> Self {
        Self {
            parallelism: 8,
            poll: Duration::from_millis(500),
            grace: Duration::from_secs(10),
            patience: Duration::from_secs(10),
            force: false,
        }
    }
}

/// An engine, which executes intents on one store.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The store with the state of the assemblies.
    pub store: Arc<dyn Store>,
    /// The environment of the engine, such as its drivers and its clock.
    pub env: EngineEnv,
    /// The options, for example the maximum number of concurrent calls.
    pub options: Options,
}

impl Engine {
    /// Records that elements have recovered. For each of these elements, the number of repairs by heal policies
    /// ([`ElementRecord::heals`]) is set to 0.
    ///
    /// # Errors
    /// [`EngineError::Store`] if another holder has the lease, or the store fails. The caller can try again
    /// later.
    pub async fn note_well(
        &self,
        name: &AssemblyName,
        parts: &[ElementName],
        holder: &Holder,
    ) -> Result<(), EngineError> {
        let lease = self.store.lease(name, holder).await?;
        let noted = self.note_well_under(&lease, parts).await;
        give_up(&self.store, lease).await;
        noted
    }

    /// Records the results of health checks, so that the status of the assembly shows them. Each result is the failure of
    /// the check of an Active element ([`check_failure::of`]), or `None` if the check has succeeded. While a process of the assembly is open, the
    /// function records nothing.
    ///
    /// # Errors
    /// As for [`note_well`](Self::note_well).
    pub async fn note_checks(
        &self,
        name: &AssemblyName,
        checks: &[(ElementName, Option<Failure>)],
        holder: &Holder,
    ) -> Result<(), EngineError> {
        let lease = self.store.lease(name, holder).await?;
        let noted = self.note_checks_under(&lease, checks).await;
        let released = self.store.release(lease).await;
        noted?;
        Ok(released?)
    }

    /// Checks that the store has the right key to seal (encrypt) and open secrets. If the assembly has a secret that
    /// can't be opened, the error names this secret.
    pub(super) async fn check_key(&self, name: &AssemblyName) -> Result<(), StoreError> {
        match self.store.check_key() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.store.load(name).await.err().unwrap_or(error)),
        }
    }

    async fn note_well_under(&self, lease: &Lease, parts: &[ElementName]) -> Result<(), EngineError> {
        let Some(mut snapshot) = self.store.load(&lease.scope).await? else { return Ok(()) };
        let mut batch = Batch::new();
        for part in parts {
            if let Some(record) = snapshot.elements.remove(part).filter(|record| record.heals > 0) {
                batch = batch.put_element(ElementRecord { heals: 0, ..record });
            }
        }
        if !batch.is_empty() {
            self.store.commit(lease, batch).await?;
        }
        Ok(())
    }

    async fn note_checks_under(
        &self,
        lease: &Lease,
        checks: &[(ElementName, Option<Failure>)],
    ) -> Result<(), EngineError> {
        let Some(mut snapshot) = self.store.load_sealed(&lease.scope).await? else { return Ok(()) };
        if !snapshot.processes.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        for (element, failure) in checks {
            let record = snapshot.elements.remove(element).filter(|record| record.state == State::Active);
            let Some(mut record) = record else { continue };
            let known = check_failure::recorded(&record).map(|known| &known.message);
            match failure {
                Some(failure) if known != Some(&failure.message) => {
                    let (severity, message) = (Severity::Error, failure.message.clone());
                    let body = Happening::Logged { element: element.clone(), severity, message, data: None };
                    let (at, assembly) = (self.env.clock.now(), lease.scope.clone());
                    batch = batch.event(EventDraft { at, assembly, process: None, body });
                    record.note_failed_check(failure.clone());
                }
                None if known.is_some() => record.note_failure(None),
                _ => continue,
            }
            batch = batch.put_element(record);
        }
        if !batch.is_empty() {
            self.store.commit(lease, batch).await?;
        }
        Ok(())
    }

    /// Returns the error for an assembly that does not exist, with the names of the existing assemblies.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the names can't be read.
    pub async fn unknown(&self, name: &AssemblyName) -> Result<EngineError, EngineError> {
        unknown(&*self.store, name).await
    }

    /// Returns an [`Upkeep`] for the engine's store. An `Upkeep` removes old records, and renames, forgets and
    /// moves assemblies.
    pub fn upkeep(&self) -> Upkeep<'_> {
        Upkeep {
            store: &self.store,
            clock: &self.env.clock,
            entropy: &*self.env.entropy,
            force: self.options.force,
            visitor: self.visitor(),
        }
    }

    /// Checks the health of each Active element whose driver can observe its instance. The results are in the
    /// order of the elements in the assembly.
    ///
    /// # Errors
    /// [`EngineError::Unknown`] if the assembly does not exist, or an error of the store. A failed check is no
    /// error: the result of the check contains the failure.
    pub async fn look(&self, name: &AssemblyName) -> Result<Vec<Seen>, EngineError> {
        self.look_until(name, &Stop::default()).await
    }

    /// Checks the health of elements like [`look`](Self::look), but ends early when a stop is requested.
    ///
    /// # Errors
    /// The errors of [`look`](Self::look), and [`EngineError::Stopped`].
    pub async fn look_until(&self, name: &AssemblyName, stop: &Stop) -> Result<Vec<Seen>, EngineError> {
        let Some(snapshot) = self.store.load(name).await? else {
            return Err(unknown(&*self.store, name).await?);
        };
        let world = self.records().loaded(snapshot).await?;
        self.checks().of(world, &CheckScope::All, None, None, stop).await
    }

    pub(super) fn records(&self) -> Records<'_> {
        Records { store: &*self.store, drivers: &self.env.drivers, shared: None }
    }

    pub(super) fn visitor(&self) -> Visitor<'_> {
        Visitor { store: &*self.store, patience: self.options.patience }
    }

    pub(super) fn checks(&self) -> HealthChecks<'_> {
        HealthChecks { store: self.store.id(), env: &self.env, parallelism: self.options.parallelism.max(1) }
    }

    pub(super) fn tools(&self) -> Tools {
        Tools {
            store: self.store.id().clone(),
            drivers: self.env.drivers.clone(),
            places: self.env.places.clone(),
            pace: Pace { parallelism: self.options.parallelism.max(1), poll: self.options.poll },
            home: self.env.home.clone(),
        }
    }

    pub(super) fn process_env(&self, lease: &Lease, world: &World, stop: &Stop) -> ProcessEnv {
        ProcessEnv {
            store: self.store.clone(),
            lease: lease.clone(),
            beside: world.foreign_assemblies.values().map(|foreign| foreign.lease.clone()).collect(),
            clock: self.env.clock.clone(),
            places: self.env.places.clone(),
            slots: self.env.slots.clone(),
            // A stop request for this process must not stop other processes that this program executes.
            stop: stop.child(),
        }
    }
}
