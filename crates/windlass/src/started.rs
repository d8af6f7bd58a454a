//! Processes that are ready to run, or that another program already executes.

use std::sync::Arc;
use std::time::Duration;

use windlass_engine::{Ended, Prepared, Stop, Tally};
use windlass_lifecycle::{Diff, Plan};
use windlass_model::record::{Event, EventRecord, ProcessRecord, StepState};
use windlass_model::{AssemblyName, ProcessId, Seq};
use windlass_plan::StepNumber;
use windlass_source::Diagnostics;
use windlass_store::{Holder, Snapshot, Store, StoreError, Watch};

use crate::error::Error;
use crate::view::plan::{PlanView, ProtectionChange};

/// Interval between two checks of the assembly's lease. Each check finds out whether a program still holds the
/// lease.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// If this many consecutive checks find no holder of the assembly's lease, windlass assumes that no program executes
/// the process any more.
const LOOKS: u32 = 3;

/// A process that is ready to run, or that another program, such as the daemon, already executes.
///
/// The lease of the assembly is renewed in the background. So the embedding program can ask its user for a decision,
/// and wait for the answer without a time limit. If a `Started` is dropped, the lease is released in the background,
/// and the process stays recorded as interrupted. But if the tokio runtime ends immediately after the drop, the lease
/// may stay until it expires after 30 seconds. To record the process as cancelled, run it with a [`Stop`] that is
/// already triggered.
#[must_use = "nothing happens before it is run"]
pub struct Started {
    work: Work,
    warnings: Diagnostics,
    store: Arc<dyn Store>,
    from: Seq,
    protection: Vec<ProtectionChange>,
}

/// The execution of a process: by this program, or by another one.
enum Work {
    Own(Box<Prepared>),
    Theirs(Box<Theirs>),
}

impl Started {
    pub(crate) fn own(prepared: Prepared, warnings: Diagnostics, store: Arc<dyn Store>, from: Seq) -> Self {
        Self { work: Work::Own(Box::new(prepared)), warnings, store, from, protection: Vec::new() }
    }

    pub(crate) fn theirs(theirs: Theirs, warnings: Diagnostics, store: Arc<dyn Store>, from: Seq) -> Self {
        Self { work: Work::Theirs(Box::new(theirs)), warnings, store, from, protection: Vec::new() }
    }

    /// Sets the parts that become protected, or are no longer protected. [`plan_view`](Self::plan_view) shows these
    /// parts.
    pub(crate) fn with_protection(self, protection: Vec<ProtectionChange>) -> Self {
        Self { protection, ..self }
    }

    /// Returns the plan of the process.
    pub fn plan(&self) -> &Plan {
        match &self.work {
            Work::Own(prepared) => prepared.plan(),
            Work::Theirs(theirs) => &theirs.plan,
        }
    }

    /// Returns the plan as a view. If another program executes the process, the view contains the steps of the plan,
    /// but not the changes that the plan makes to the parts.
    pub fn plan_view(&self) -> PlanView {
        let (changes, undone): (Diff, Diff) = match &self.work {
            Work::Own(prepared) => (prepared.diff().clone(), prepared.undone().clone()),
            Work::Theirs(_) => (Diff::default(), Diff::default()),
        };
        let seen = match &self.work {
            Work::Own(prepared) => prepared.seen(),
            Work::Theirs(_) => None,
        };
        let view = PlanView::new(self.process().assembly.clone(), self.plan(), changes);
        view.undone(undone).observed(seen).with_protection(self.protection.clone())
    }

    /// Returns the record of the process.
    pub fn process(&self) -> &ProcessRecord {
        match &self.work {
            Work::Own(prepared) => prepared.process(),
            Work::Theirs(theirs) => &theirs.process,
        }
    }

    /// Tells whether [`run`](Self::run) executes the process in this program. If not, another program already
    /// executes the process.
    pub fn runs_here(&self) -> bool {
        matches!(self.work, Work::Own(_))
    }

    /// Returns warnings about the descriptors.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Follows the events of the assembly since the preparation of the process. An event is reported after it
    /// is durable. If another program executes the process, only the events of the process are reported.
    pub fn follow(&self) -> Following {
        let process = self.process();
        Following {
            store: self.store.clone(),
            watch: self.store.watch(self.from),
            seen: self.from,
            assembly: process.assembly.clone(),
            only: (!self.runs_here()).then_some(process.id),
        }
    }

    /// Runs the process to its end. If another program executes the process, only waits until the process has ended.
    ///
    /// Dropping the returned future interrupts the process. Running jobs continue, and the lease is released in the
    /// background. To resume the process, start the same intent again, for example `up` with the same descriptor.
    ///
    /// `stop` ends the process: no new job starts. Depending on the kind of stop, running jobs continue to their end or
    /// are cancelled.
    ///
    /// The intent may need further processes, such as a rollback after the failure of a node.
    /// [`Windlass::complete`](crate::Windlass::complete) also runs these processes.
    ///
    /// # Errors
    ///
    /// Fails if the store fails, or if the other program has exited. Recorded work stays. The same intent, started
    /// again, resumes the process. A process that fails or is cancelled is no error: its status is in
    /// [`Ended::process`].
    pub async fn run(self, stop: &Stop) -> Result<Ended, Error> {
        match self.work {
            Work::Own(prepared) => Ok(prepared.run(stop).await?),
            Work::Theirs(theirs) => theirs.ended(self.from, stop).await,
        }
    }
}

/// A stream of an assembly's events. Each event is returned after it is durable.
pub struct Following {
    store: Arc<dyn Store>,
    watch: Watch,
    seen: Seq,
    assembly: AssemblyName,
    /// The process whose events are returned; `None` for all events of the assembly.
    only: Option<ProcessId>,
}

impl Following {
    /// Waits for events and returns them in order. The future may be dropped while it waits; no event is
    /// missed.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn next(&mut self) -> Result<Vec<EventRecord>, Error> {
        loop {
            self.watch.next().await?;
            let events = self.ready().await?;
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Returns, without waiting, the events that were not returned yet.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn ready(&mut self) -> Result<Vec<EventRecord>, Error> {
        let mut events = self.store.events_of(&self.assembly, self.seen, 10_000).await?;
        if let Some(last) = events.last() {
            self.seen = last.seq;
        }
        events.retain(|event| self.only.is_none_or(|only| event.draft.process == Some(only)));
        Ok(events)
    }
}

/// A process that another program executes.
pub(crate) struct Theirs {
    store: Arc<dyn Store>,
    pub(crate) process: ProcessRecord,
    pub(crate) plan: Plan,
}

impl Theirs {
    pub(crate) async fn find(
        store: Arc<dyn Store>,
        name: &AssemblyName,
        process: ProcessId,
    ) -> Result<Self, Error> {
        let found = store.process(process).await?.filter(|found| found.assembly == *name);
        let process = found.ok_or_else(|| StoreError::NoProcess { scope: name.clone(), process })?;
        let plan = serde_json::from_str(process.plan.as_str()).map_err(|error| Error::Refused {
            why: format!("the plan of {} can't be read: {error}", process.id),
            is_input: false,
        })?;
        Ok(Self { store, process, plan })
    }

    /// Waits until the process has ended, and returns its result. If `stop` is triggered, asks the executing
    /// program to stop the process.
    ///
    /// # Errors
    ///
    /// Fails if the store fails, or if the program has exited before the end of the process.
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
                () = stop.requested(), if !asked => {
                    asked = true;
                    self.store.ask_to_stop(assembly, *id).await?;
                }
                woken = watch.next() => drop(woken?),
                _ = look.tick() => {
                    let holder = self.store.holder(assembly).await?;
                    if absence.is_long(holder.as_ref()) {
                        return Err(Error::OrchestratorExited { assembly: assembly.clone(), process: *id });
                    }
                }
            }
        }
    }

    /// Reads the result of a process that has ended.
    async fn end(&self) -> Result<Ended, Error> {
        let ProcessRecord { id, assembly, .. } = &self.process;
        let found = self.store.process_history(*id).await?;
        let found = found.ok_or_else(|| StoreError::NoProcess { scope: assembly.clone(), process: *id })?;
        let mut tally = Tally::default();
        for step in &found.steps {
            let planned = self.plan.step(StepNumber(step.step.0));
            if let StepState::Done(end) = &step.state {
                tally.count(end, planned.and_then(|planned| planned.task.work()));
            }
        }
        let snapshot: Option<Snapshot> = self.store.load(assembly).await?;
        Ok(Ended::of(found.process, tally, snapshot))
    }
}

/// A counter of consecutive checks that find no holder of a lease.
#[derive(Default)]
pub(crate) struct Absence(u32);

impl Absence {
    /// Counts one more check of the lease. `holder` is the holder of the lease at this check. Returns `true` if there
    /// was no holder at the last [`LOOKS`] checks.
    pub(crate) fn is_long(&mut self, holder: Option<&Holder>) -> bool {
        self.0 = if holder.is_some() { 0 } else { self.0 + 1 };
        self.0 >= LOOKS
    }
}
