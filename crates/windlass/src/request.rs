//! Submission of intents to the daemon, as requests.

use std::sync::Arc;
use std::time::Duration;

use windlass_engine::{Ask, Ended, EngineError, Stop, Tally};
use windlass_lifecycle::Plan;
use windlass_model::record::{Event, ProcessRecord, StepState};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{AssemblyName, ProcessId, RequestId, Seq};
use windlass_plan::StepNumber;
use windlass_source::Diagnostics;
use windlass_store::{Holder, Snapshot, Store, StoreError};

use crate::error::Error;
use crate::intent::{Order, Started};
use crate::open::Windlass;

/// Interval of the check whether an orchestrator still holds the assembly.
const LOOK: Duration = Duration::from_secs(1);

/// Number of consecutive checks without a holder after which no orchestrator is expected.
const LOOKS: u32 = 3;

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
    /// Submits a request to create or change an assembly.
    ///
    /// # Errors
    ///
    /// If the descriptor, the packages or the parameters are wrong, or the store can't be written. Other
    /// problems are found when the request is executed.
    pub async fn ask_up(&self, order: &Order) -> Result<Pending<'_>, Error> {
        let (desired, warnings) = self.desired(order).await?;
        let name = desired.topology.name().clone();
        self.ask_for_new(&name, Ask::Up(Box::new(desired)), warnings).await
    }

    /// Submits a request on an assembly that may not exist yet.
    pub(crate) async fn ask_for_new(
        &self,
        name: &AssemblyName,
        ask: Ask,
        warnings: Diagnostics,
    ) -> Result<Pending<'_>, Error> {
        let store = self.store_or_new().await?;
        self.leave(store, name, ask, warnings).await
    }

    /// Submits a request to change an assembly.
    ///
    /// # Errors
    ///
    /// If the store can't be written. Other problems are found when the request is executed.
    pub async fn ask(&self, name: &AssemblyName, ask: Ask) -> Result<Pending<'_>, Error> {
        let store = self.store_of(name).await?;
        self.leave(store, name, ask, Diagnostics::default()).await
    }

    async fn leave(
        &self,
        store: Arc<dyn Store>,
        name: &AssemblyName,
        ask: Ask,
        warnings: Diagnostics,
    ) -> Result<Pending<'_>, Error> {
        let from = store.last_event().await?;
        let request = self.engine(store.clone()).request(name, &ask, &self.holder()).await?;
        Ok(Pending { windlass: self, store, request, warnings, from })
    }

    /// Withdraws a pending request.
    ///
    /// # Errors
    ///
    /// If the assembly has no such request, or it is no longer pending.
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
    /// If the assembly has no such request, or it is no longer pending.
    pub async fn can_withdraw(&self, name: &AssemblyName, request: RequestId) -> Result<(), Error> {
        let found = self.store_of(name).await?.request(request).await?;
        match found.filter(|found| found.assembly == *name).map(|found| found.status) {
            None => Err(Error::NoRequest { assembly: name.clone(), request }),
            Some(RequestStatus::Pending) => Ok(()),
            Some(status) => Err(Error::NotPending { request, status }),
        }
    }
}

/// Counts consecutive checks that find no holder.
#[derive(Default)]
struct Absence(u32);

impl Absence {
    /// Counts a check, and tells whether the holder has been missing for too long.
    fn is_long(&mut self, holder: Option<&Holder>) -> bool {
        self.0 = if holder.is_some() { 0 } else { self.0 + 1 };
        self.0 >= LOOKS
    }
}

impl Pending<'_> {
    /// Returns the request.
    pub fn request(&self) -> &RequestRecord {
        &self.request
    }

    /// Returns warnings about the descriptors.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Waits until an orchestrator begins the request. If no orchestrator holds the assembly any more, the
    /// request is executed here. If `stop` is triggered first, the request is withdrawn.
    ///
    /// # Errors
    ///
    /// All problems that prevent the request.
    pub async fn begun(self, stop: &Stop) -> Result<Started, Error> {
        let mut watch = self.store.watch(self.from);
        let mut absence = Absence::default();
        // A fixed interval, because events of other assemblies wake the watch too and would delay a timeout.
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
                () = stop.soon.cancelled() => {
                    return match self.store.withdraw(self.request.id).await?.map(|found| found.status) {
                        Some(RequestStatus::Begun(process)) => self.followed(process).await,
                        _ => Err(EngineError::Stopped.into()),
                    };
                }
                woken = watch.next() => drop(woken?),
                _ = look.tick() => {
                    let holder = self.store.holder(&self.request.assembly).await?;
                    if absence.is_long(holder.as_ref()) && let Some(started) = self.begin(stop).await? {
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

    /// Begins the request here. Returns `None` if another orchestrator was faster.
    async fn begin(&self, stop: &Stop) -> Result<Option<Started>, Error> {
        let from = self.store.last_event().await?;
        let engine = self.windlass.engine(self.store.clone());
        match Box::pin(engine.take_up(&self.request, &self.windlass.holder(), stop)).await {
            Ok(prepared) => Ok(Some(Started::own(prepared, self.warnings.clone(), self.store.clone(), from))),
            Err(EngineError::RequestEnded { .. } | EngineError::Store(StoreError::Held { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Finds the process that executes the request.
    async fn followed(&self, process: ProcessId) -> Result<Started, Error> {
        let name = &self.request.assembly;
        let theirs = Theirs::find(self.store.clone(), name, process).await?;
        // Earlier events belong to other processes.
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

/// A process that another orchestrator runs.
pub(crate) struct Theirs {
    store: Arc<dyn Store>,
    pub(crate) process: ProcessRecord,
    pub(crate) plan: Plan,
}

impl Theirs {
    async fn find(store: Arc<dyn Store>, name: &AssemblyName, process: ProcessId) -> Result<Self, Error> {
        let found = store.process(process).await?.filter(|found| found.assembly == *name);
        let process = found.ok_or_else(|| StoreError::NoProcess { scope: name.clone(), process })?;
        let plan = serde_json::from_str(process.plan.as_str()).map_err(|error| Error::Refused {
            why: format!("the plan of {} can't be read: {error}", process.id),
            is_input: false,
        })?;
        Ok(Self { store, process, plan })
    }

    /// Waits until the process has ended. If `stop` is triggered, requests that its orchestrator stops it.
    pub(crate) async fn ended(self, from: Seq, stop: &Stop) -> Result<Ended, Error> {
        let ProcessRecord { id, assembly, .. } = &self.process;
        let mut watch = self.store.watch(from);
        let mut seen = from;
        let mut absence = Absence::default();
        let mut look = tokio::time::interval(LOOK);
        let mut asked = false;
        loop {
            let events = self.store.events_of(assembly, seen, usize::MAX).await?;
            let is_end = |event: &Event| matches!(event, Event::ProcessEnded { .. });
            if events.iter().any(|event| event.draft.process == Some(*id) && is_end(&event.draft.body)) {
                return self.end().await;
            }
            seen = events.last().map_or(seen, |last| last.seq);
            tokio::select! {
                () = stop.soon.cancelled(), if !asked => {
                    asked = true;
                    self.store.ask_to_stop(assembly, *id).await?;
                }
                woken = watch.next() => drop(woken?),
                _ = look.tick() => {
                    let holder = self.store.holder(assembly).await?;
                    if absence.is_long(holder.as_ref()) {
                        return Err(Error::Deserted { assembly: assembly.clone(), process: *id });
                    }
                }
            }
        }
    }

    /// Reads the result of the ended process.
    async fn end(&self) -> Result<Ended, Error> {
        let ProcessRecord { id, assembly, .. } = &self.process;
        let found = self.store.process_history(*id).await?;
        let found = found.ok_or_else(|| StoreError::NoProcess { scope: assembly.clone(), process: *id })?;
        let mut tally = Tally::default();
        for step in &found.steps {
            let planned = self.plan.step(StepNumber(step.step.0));
            let calls = planned
                .and_then(|planned| planned.task.work())
                .is_some_and(windlass_model::work::Work::has_calls);
            if let StepState::Done(end) = &step.state {
                tally.count(end, calls);
            }
        }
        let snapshot: Option<Snapshot> = self.store.load(assembly).await?;
        Ok(Ended::of(found.process, tally, snapshot))
    }
}
