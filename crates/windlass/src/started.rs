//! Processes that are ready to run, or that another program already executes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
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
    /// Is dropped when the process no longer runs in this program. Each [`Following`] of the process then ends.
    running: watch::Sender<()>,
}

/// The execution of a process: by this program, or by another one.
enum Work {
    Own(Box<Prepared>),
    Theirs(Box<Theirs>),
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("process", self.process()).finish_non_exhaustive()
    }
}

impl Started {
    pub(crate) fn own(prepared: Prepared, warnings: Diagnostics, store: Arc<dyn Store>, from: Seq) -> Self {
        Self::new(Work::Own(Box::new(prepared)), warnings, store, from)
    }

    pub(crate) fn theirs(theirs: Theirs, warnings: Diagnostics, store: Arc<dyn Store>, from: Seq) -> Self {
        Self::new(Work::Theirs(Box::new(theirs)), warnings, store, from)
    }

    fn new(work: Work, warnings: Diagnostics, store: Arc<dyn Store>, from: Seq) -> Self {
        Self { work, warnings, store, from, protection: Vec::new(), running: watch::Sender::new(()) }
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
        view.undone(undone, &self.process().intent).observed(seen).with_protection(self.protection.clone())
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

    /// Follows the events of the process. If this program executes the process, the stream begins with the events of its
    /// preparation: for example, the ends of calls that an interrupted process has left open.
    ///
    /// ```
    /// # use windlass::init::{Language, Style, init};
    /// # use windlass::{AssemblyInput, Settings, Windlass, engine::Stop};
    /// # async fn example(windlass: &Windlass, input: AssemblyInput) -> Result<(), windlass::Error> {
    /// let stop = Stop::default();
    /// let started = windlass.up(input, &stop).await?;
    /// let mut following = started.follow();
    /// let print = async {
    ///     while let Some(events) = following.next().await? {
    ///         for event in events {
    ///             println!("{:?}", event.draft.body);
    ///         }
    ///     }
    ///     Ok(())
    /// };
    /// let (ended, printed) = tokio::join!(started.run(&stop), print);
    /// println!("{}", ended?.process.status);
    /// printed
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// #     let folder = tempfile::tempdir()?;
    /// #     std::fs::write(folder.path().join("a.yaml"), "name: assembly::a::1.0\n")?;
    /// #     let windlass = Windlass::open(Settings::new(folder.path()))?;
    /// #     example(&windlass, AssemblyInput::new(folder.path().join("a.yaml"))).await?;
    /// #     Ok(windlass.close().await?)
    /// # }
    /// ```
    pub fn follow(&self) -> Following {
        let process = self.process();
        Following {
            store: self.store.clone(),
            watch: self.store.watch(self.from),
            seen: self.from,
            assembly: process.assembly.clone(),
            process: process.id,
            is_prepared_here: self.runs_here(),
            has_begun: false,
            running: self.running.subscribe(),
            is_over: false,
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
        let _running = self.running;
        match self.work {
            Work::Own(prepared) => Ok(prepared.run(stop).await?),
            Work::Theirs(theirs) => theirs.ended(self.from, stop).await,
        }
    }
}

/// A stream of the events of one process, from [`Started::follow`]. Each event is returned after it is durable.
///
/// The stream ends with the end of the process. It also ends if the process is interrupted: if the [`Started`] or the
/// future of [`Started::run`] is dropped, or if this future fails.
pub struct Following {
    store: Arc<dyn Store>,
    watch: Watch,
    seen: Seq,
    assembly: AssemblyName,
    process: ProcessId,
    /// Whether the stream contains the events of the preparation.
    is_prepared_here: bool,
    /// Whether an event of the process was read. Until then, an event without a process belongs to the preparation of
    /// the process.
    has_begun: bool,
    /// A wait for a change of this value fails when the process no longer runs in this program.
    running: watch::Receiver<()>,
    /// Whether the process has ended or was interrupted.
    is_over: bool,
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following")
            .field("assembly", &self.assembly)
            .field("process", &self.process)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl Following {
    /// Waits for events and returns them in order. Returns `None` at the end of the stream. The future may be dropped
    /// while it waits; no event is missed.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn next(&mut self) -> Result<Option<Vec<EventRecord>>, Error> {
        loop {
            let was_over = self.is_over;
            let events = self.ready().await?;
            if !events.is_empty() {
                return Ok(Some(events));
            }
            if was_over {
                return Ok(None);
            }
            tokio::select! {
                woken = self.watch.next() => drop(woken?),
                // Nothing is ever sent. The last events are read once more.
                _ = self.running.changed() => self.is_over = true,
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
        events.retain(|event| {
            self.has_begun |= event.draft.process == Some(self.process);
            self.concerns(event)
        });
        let is_end = |event: &EventRecord| matches!(event.draft.body, Event::ProcessEnded { .. });
        self.is_over |= events.iter().any(is_end);
        Ok(events)
    }

    /// Tells whether an event belongs to the process or to its preparation. The preparation may end an earlier process.
    /// The result for this end is `false`.
    fn concerns(&self, event: &EventRecord) -> bool {
        if event.draft.process == Some(self.process) {
            return true;
        }
        let is_earlier = event.draft.process.map_or(!self.has_begun, |process| process < self.process);
        self.is_prepared_here && is_earlier && !matches!(event.draft.body, Event::ProcessEnded { .. })
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
