//! Submission of intents to the daemon, as requests.

use std::sync::Arc;

use windlass_engine::{EngineError, Request, Stop};
use windlass_model::record::Intent;
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{AssemblyName, ProcessId, RequestId, Seq};
use windlass_source::Diagnostics;
use windlass_store::{Store, StoreError};

use crate::error::Error;
use crate::input::AssemblyInput;
use crate::open::Windlass;
use crate::started::{Absence, LOOK, Started, Theirs};
use crate::wiring::Removal;

/// A request that was submitted to the daemon.
#[must_use = "it may not have begun yet"]
pub struct Pending<'w> {
    windlass: &'w Windlass,
    store: Arc<dyn Store>,
    request: RequestRecord,
    warnings: Diagnostics,
    from: Seq,
}

impl Windlass {
    /// Submits a request to create or change an assembly. `stop` ends a search for the target of a reference.
    ///
    /// # Errors
    ///
    /// Fails if the descriptor, the packages or the parameters are wrong, or if the store can't be written.
    /// Other problems are found when the request is executed.
    pub async fn ask_up(&self, input: &AssemblyInput, stop: &Stop) -> Result<Pending<'_>, Error> {
        let (desired, warnings) = self.desired(input, stop).await?;
        let name = desired.topology.name().clone();
        let request = Request::up(desired).with_consent(input.consent.clone()).refreshed(input.refresh);
        self.ask_for_new(&name, request, warnings).await
    }

    /// Submits a request on an assembly that may not exist yet.
    pub(crate) async fn ask_for_new(
        &self,
        name: &AssemblyName,
        request: Request,
        warnings: Diagnostics,
    ) -> Result<Pending<'_>, Error> {
        let store = self.store_or_new().await?;
        self.leave(store, name, request, warnings).await
    }

    /// Submits a request that creates an assembly, and reserves the name of the assembly. Returns `None` if an assembly
    /// or another open request has the name, or if another program may be creating an assembly of this name.
    pub(crate) async fn ask_to_create(
        &self,
        name: &AssemblyName,
        request: Request,
        warnings: Diagnostics,
    ) -> Result<Option<Pending<'_>>, Error> {
        let store = self.store_or_new().await?;
        let from = store.last_event().await?;
        let request = self.engine(store.clone()).request_new(name, request, &self.holder()).await?;
        Ok(request.map(|request| Pending { windlass: self, store, request, warnings, from }))
    }

    /// Submits a request to change an assembly.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be written. Other problems are found when the request is executed.
    pub async fn ask(&self, name: &AssemblyName, request: impl Into<Request>) -> Result<Pending<'_>, Error> {
        let request = request.into();
        let store = self.store_of(name).await?;
        self.leave(store, name, request, Diagnostics::default()).await
    }

    async fn leave(
        &self,
        store: Arc<dyn Store>,
        name: &AssemblyName,
        request: Request,
        warnings: Diagnostics,
    ) -> Result<Pending<'_>, Error> {
        Box::pin(self.removal(&store, name, &request)).await?;
        let from = store.last_event().await?;
        let request = self.engine(store.clone()).request(name, request, &self.holder()).await?;
        Ok(Pending { windlass: self, store, request, warnings, from })
    }

    /// Withdraws a request that is still pending.
    ///
    /// # Errors
    ///
    /// Fails if the assembly has no such request, or if the request is no longer pending.
    pub async fn withdraw(&self, name: &AssemblyName, request: RequestId) -> Result<(), Error> {
        self.can_withdraw(name, request).await?;
        match self.store_of(name).await?.withdraw(request).await?.map(|found| found.status) {
            None | Some(RequestStatus::Withdrawn) => Ok(()),
            Some(status) => Err(Error::NotPending { request, status }),
        }
    }

    /// Checks whether a request can be [withdrawn](Self::withdraw).
    ///
    /// # Errors
    ///
    /// Fails if the assembly has no such request, or if the request is no longer pending.
    pub async fn can_withdraw(&self, name: &AssemblyName, request: RequestId) -> Result<(), Error> {
        let found = self.store_of(name).await?.request(request).await?;
        match found.filter(|found| found.assembly == *name).map(|found| found.status) {
            None => Err(Error::NoRequest { assembly: name.clone(), request }),
            Some(RequestStatus::Pending) => Ok(()),
            Some(status) => Err(Error::NotPending { request, status }),
        }
    }
}

impl Pending<'_> {
    /// Returns the record of the request.
    pub fn request(&self) -> &RequestRecord {
        &self.request
    }

    /// Returns warnings about the descriptors.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Waits until another program, usually the daemon, begins the request. If no program has held the lease of the
    /// assembly for some seconds, this program begins the request. If `stop` is triggered before the request begins,
    /// the request is withdrawn.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the request.
    pub async fn begun(self, stop: &Stop) -> Result<Started, Error> {
        let mut watch = self.store.watch(self.from);
        let mut absence = Absence::default();
        // The interval ticks at fixed times. A timeout that starts again after each event could be delayed
        // without end, because the watch also wakes for events of other assemblies.
        let mut look = tokio::time::interval(LOOK);
        loop {
            match self.state().await? {
                RequestStatus::Begun(process) => return self.followed(process).await,
                RequestStatus::Refused { why, is_input } => return Err(Error::Refused { why, is_input }),
                RequestStatus::Withdrawn => {
                    return Err(Error::NotPending {
                        request: self.request.id,
                        status: RequestStatus::Withdrawn,
                    });
                }
                _ => {}
            }
            tokio::select! {
                () = stop.requested() => {
                    return match self.store.withdraw(self.request.id).await?.map(|found| found.status) {
                        Some(RequestStatus::Begun(process)) => self.followed(process).await,
                        _ => Err(EngineError::Stopped.into()),
                    };
                }
                woken = watch.next() => drop(woken?),
                _ = look.tick() => {
                    let holder = self.store.holder(&self.request.assembly).await?;
                    if absence.is_long(holder.as_ref()) && let Some(started) = Box::pin(self.begin(stop)).await? {
                        return Ok(started);
                    }
                }
            }
        }
    }

    async fn state(&self) -> Result<RequestStatus, Error> {
        let found = self.store.request(self.request.id).await?;
        Ok(found.map_or(RequestStatus::Withdrawn, |found| found.status))
    }

    /// Begins the request in this program. Returns `None` if another program was faster.
    async fn begin(&self, stop: &Stop) -> Result<Option<Started>, Error> {
        let from = self.store.last_event().await?;
        let engine = self.windlass.engine(self.store.clone());
        match Box::pin(engine.take_up(&self.request, &self.windlass.holder(), stop)).await {
            Ok(prepared) => {
                if self.request.intent == Intent::Down {
                    self.windlass.note(&Removal::of(&self.store, &self.request.assembly).await?).await;
                }
                Ok(Some(Started::own(prepared, self.warnings.clone(), self.store.clone(), from)))
            }
            Err(EngineError::RequestEnded { .. } | EngineError::Store(StoreError::Held { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Finds the process that executes the request.
    async fn followed(&self, process: ProcessId) -> Result<Started, Error> {
        let name = &self.request.assembly;
        let theirs = Theirs::find(self.store.clone(), name, process).await?;
        // The number of the last event before the events of the process.
        let mut from = self.from;
        for event in self.store.events_of(name, self.from, usize::MAX).await? {
            if event.draft.process == Some(process) {
                break;
            }
            from = event.seq;
        }
        Ok(Started::theirs(theirs, self.warnings.clone(), self.store.clone(), from))
    }
}
