//! The history of an assembly: processes, steps, jobs, and the activity log.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use windlass_model::record::{
    ApplicationIntent, CallRecord, Event, Failure, JobRecord, Severity, StepEnd, StepRecord, StepState,
};
use windlass_model::{AssemblyName, ElementName, ProcessId, RequestId, Seq, StepId, Timestamp};
use windlass_store::{ProcessHistory, Store};

use super::views::Views;
use crate::error::Error;
use crate::view::status::{PairView, pairs_of};

/// A filter that selects entries of a log.
#[derive(Debug, Clone)]
pub struct LogFilter {
    /// The part, by its name relative to the assembly (`B__1`) or its full name; `None` for all parts.
    pub part: Option<String>,
    /// The time of the oldest entry to select; `None` for no limit.
    pub since: Option<Timestamp>,
    /// The lowest severity to select. A failed step or process is an error. A step or process that was
    /// skipped or stopped is a warning.
    pub level: Severity,
}

impl Default for LogFilter {
    fn default() -> Self {
        Self { part: None, since: None, level: Severity::Trace }
    }
}

impl LogFilter {
    /// Tells whether an element is the selected part, or is inside it.
    pub(crate) fn admits(&self, element: &ElementName) -> bool {
        self.part.as_ref().is_none_or(|part| concerns(element, part))
    }

    fn is_recent(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since)
    }
}

/// The history of an assembly, oldest entries first.
#[derive(Debug, Clone, Serialize)]
pub struct LogView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The processes of the assembly, oldest first.
    pub processes: Vec<ProcessLog>,
    /// Requests to the daemon that were not executed.
    pub dismissed: Vec<DismissedLog>,
    /// Imports and exports of the assembly.
    pub moves: Vec<MoveLog>,
    /// Removals of records by `forget`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<ForgottenLog>,
    /// Changes of the assembly's name by `rename`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<RenamedLog>,
    /// The messages of health checks and discoveries. A check writes a message only about a change, a warning of the
    /// driver, or a failure with a new reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<ActivityLog>,
}

/// A removal of records by the command `forget`, which calls no driver.
#[derive(Debug, Clone, Serialize)]
pub struct ForgottenLog {
    /// The time of the removal.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The part whose records were removed; `None` for the whole assembly.
    pub part: Option<ElementName>,
}

/// A change of the assembly's name.
#[derive(Debug, Clone, Serialize)]
pub struct RenamedLog {
    /// The time of the change.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The name before the change.
    pub from: String,
    /// The name after the change.
    pub to: String,
}

/// A move of an assembly between stores.
#[derive(Debug, Clone, Serialize)]
pub struct MoveLog {
    /// The time of the move.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The direction of the move.
    pub way: MoveWay,
    /// The file of the export or import, as given by the user.
    pub file: String,
}

/// The direction of a move between stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveWay {
    /// The assembly was moved out of this store.
    Exported,
    /// The assembly was moved into this store.
    Imported,
}

/// The history of one process.
#[derive(Debug, Clone, Serialize)]
pub struct ProcessLog {
    /// The id of the process.
    pub id: ProcessId,
    /// The intent of the process.
    pub intent: String,
    /// The status of the process.
    pub status: String,
    /// The reason why the process did not complete.
    pub reason: Option<String>,
    /// The time at which the process was created.
    #[serde(serialize_with = "super::time::one")]
    pub started: Timestamp,
    /// The time at which the process ended.
    #[serde(serialize_with = "super::time::maybe")]
    pub ended: Option<Timestamp>,
    /// The severity of the process for display. The severity depends on the status of the process.
    #[serde(skip)]
    pub severity: Severity,
    /// The steps of the process.
    pub steps: Vec<StepLog>,
    /// Entries that drivers wrote to the activity log.
    pub activity: Vec<ActivityLog>,
}

/// The history of one process, as a JSON document of its own.
#[derive(Debug, Clone, Serialize)]
pub struct OneProcessView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The history of the process.
    pub process: ProcessLog,
}

/// The history of one step.
#[derive(Debug, Clone, Serialize)]
pub struct StepLog {
    /// The id of the step: its number in the plan.
    pub id: StepId,
    /// The part and the action of the step, for example `web__1 Configure`.
    pub title: String,
    /// The state of the step, in one word.
    pub state: String,
    /// The severity of the step for display. The severity depends on how the step has ended. A step that has
    /// not ended has the severity Info.
    #[serde(skip)]
    pub severity: Severity,
    /// The failure of the step, if it did not succeed.
    pub failure: Option<Failure>,
    /// The time at which the step started.
    #[serde(serialize_with = "super::time::maybe")]
    pub started: Option<Timestamp>,
    /// The time at which the step ended.
    #[serde(serialize_with = "super::time::maybe")]
    pub ended: Option<Timestamp>,
    /// The duration of the step in milliseconds.
    pub millis: Option<u64>,
    /// The pairs of nodes that a step of a relationship connects or separates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairView>,
    /// The jobs that the step's calls submitted.
    pub jobs: Vec<JobLog>,
}

/// The record of a job in a log.
#[derive(Debug, Clone, Serialize)]
pub struct JobLog {
    /// The id of the job on its runtime.
    pub id: String,
    /// The element on which the job acted.
    pub element: Option<ElementName>,
    /// The action of the call that the job executed.
    pub action: Option<String>,
    /// The command that the job ran.
    pub command: String,
    /// The runtime of the job.
    pub runtime: String,
    /// The location of the job.
    pub location: String,
    /// The time at which the job was submitted.
    #[serde(serialize_with = "super::time::one")]
    pub submitted: Timestamp,
    /// The duration of the job in milliseconds.
    pub millis: Option<u64>,
    /// The way in which the job has ended, in words; `None` until the end of the job.
    pub end: Option<String>,
    /// The exit code of the job's process, if the process exited.
    pub exit: Option<i32>,
    /// The last part of the job's stderr. Empty until each call that the job executes has ended.
    pub stderr: String,
    /// The last part of the job's stdout. `None` until each call that the job executes has ended. Also `None` for a
    /// successful job whose stdout is data for windlass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
}

/// A message of a driver about an instance, for people. The activity log of the instance contains this message.
#[derive(Debug, Clone, Serialize)]
pub struct ActivityLog {
    /// The time of the entry.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The element that the entry concerns.
    pub element: ElementName,
    /// The severity of the entry.
    pub severity: Severity,
    /// The message of the driver.
    pub message: String,
    /// JSON data that belongs to the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A request that was not executed, because it was refused or withdrawn.
#[derive(Debug, Clone, Serialize)]
pub struct DismissedLog {
    /// The time at which the request was refused or withdrawn.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The id of the request.
    pub request: RequestId,
    /// The intent of the request.
    pub intent: String,
    /// The reason why the request was refused; `None` if the requester withdrew the request.
    pub why: Option<String>,
}

impl Views<'_> {
    /// Returns the history of an assembly, even after its deletion. `filter` selects the entries.
    ///
    /// # Errors
    ///
    /// Fails if there is no history of the assembly, or of a component in `filter`. Also fails if the store can't
    /// be read.
    pub async fn log(&self, name: &AssemblyName, filter: &LogFilter) -> Result<LogView, Error> {
        let store = self.windlass.store_of(name).await?;
        let history = store.history(name).await?;
        let FeedLog { activity, dismissed, moves, forgotten, renamed } = read_feed(&*store, name).await?;
        if history.processes.is_empty() && dismissed.is_empty() {
            return Err(self.windlass.unknown(store, name).await);
        }
        let concerns = |element: &ElementName| filter.admits(element);
        let processes = history.processes.iter().map(|process| {
            let mut log = ProcessLog::new(process, &concerns);
            let id = process.process.id;
            let own = activity.iter().filter(|(of, entry)| *of == Some(id) && concerns(&entry.element));
            log.activity = own.map(|(_, entry)| entry.clone()).collect();
            log
        });
        let processes: Vec<ProcessLog> = processes.collect();
        if let Some(component) = &filter.part
            && processes.iter().all(|process| process.steps.is_empty() && process.activity.is_empty())
        {
            let known = history.processes.iter().flat_map(|process| &process.calls);
            let known: BTreeSet<String> = known.map(|call| call.element.local().to_owned()).collect();
            let (assembly, component) = (name.clone(), component.clone());
            return Err(Error::NoComponent { assembly, component, known: known.into_iter().collect() });
        }
        let checks = activity.into_iter().filter(|(of, entry)| of.is_none() && concerns(&entry.element));
        let checks = checks.map(|(_, entry)| entry).collect();
        let mut view = LogView {
            version: 1,
            assembly: name.clone(),
            processes,
            dismissed,
            moves,
            forgotten,
            renamed,
            checks,
        };
        view.keep(filter);
        Ok(view)
    }
}

impl LogView {
    /// Drops the entries that a filter does not select. A process stays if the filter selects it or one of
    /// its entries.
    fn keep(&mut self, filter: &LogFilter) {
        for process in &mut self.processes {
            process.steps.retain(|step| {
                step.severity >= filter.level && step.ended.is_none_or(|ended| filter.is_recent(ended))
            });
            process.activity.retain(|entry| entry.severity >= filter.level && filter.is_recent(entry.at));
        }
        self.processes.retain(|process| {
            let is_recent = process.ended.is_none_or(|ended| filter.is_recent(ended));
            let is_own = is_recent && process.severity >= filter.level;
            is_own || !process.steps.is_empty() || !process.activity.is_empty()
        });
        self.dismissed.retain(|request| {
            let severity = if request.why.is_some() { Severity::Warning } else { Severity::Info };
            severity >= filter.level && filter.is_recent(request.at)
        });
        self.moves.retain(|way| Severity::Info >= filter.level && filter.is_recent(way.at));
        self.checks.retain(|entry| entry.severity >= filter.level && filter.is_recent(entry.at));
        self.renamed.retain(|renamed| Severity::Info >= filter.level && filter.is_recent(renamed.at));
        self.forgotten.retain(|forgotten| Severity::Info >= filter.level && filter.is_recent(forgotten.at));
    }
}

/// An entry of a process's history.
#[derive(Debug, Clone, Copy)]
pub enum ProcessEntry<'v> {
    /// A step of the process.
    Step(&'v StepLog),
    /// An entry of the activity log.
    Activity(&'v ActivityLog),
}

impl ProcessLog {
    /// Returns the steps and the entries of the activity log, sorted by time. The time of a step is its start. If
    /// the step did not start, its time is its end.
    pub fn entries(&self) -> Vec<ProcessEntry<'_>> {
        let steps = self
            .steps
            .iter()
            .map(|step| (step.started.or(step.ended).unwrap_or(self.started), ProcessEntry::Step(step)));
        let activity = self.activity.iter().map(|entry| (entry.at, ProcessEntry::Activity(entry)));
        let mut entries: Vec<_> = steps.chain(activity).collect();
        entries.sort_by_key(|(at, _)| *at);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }
}

/// Tells whether an element is the component with this name, or is inside it.
pub(crate) fn concerns(element: &ElementName, component: &str) -> bool {
    let at = |name: &str| {
        name.strip_prefix(component).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
    };
    at(element.local()) || at(element.as_str())
}

/// The entries of an assembly's history that come from the event feed, not from process records.
#[derive(Default)]
struct FeedLog {
    activity: Vec<(Option<ProcessId>, ActivityLog)>,
    dismissed: Vec<DismissedLog>,
    moves: Vec<MoveLog>,
    forgotten: Vec<ForgottenLog>,
    renamed: Vec<RenamedLog>,
}

/// Returns the imports and exports of an assembly.
pub(crate) async fn moves(store: &dyn Store, name: &AssemblyName) -> Result<Vec<MoveLog>, Error> {
    Ok(read_feed(store, name).await?.moves)
}

async fn read_feed(store: &dyn Store, name: &AssemblyName) -> Result<FeedLog, Error> {
    let mut feed = FeedLog::default();
    let mut seen = Seq::START;
    loop {
        let events = store.events_of(name, seen, 10_000).await?;
        let Some(last) = events.last() else { return Ok(feed) };
        seen = last.seq;
        for event in events {
            let (at, process) = (event.draft.at, event.draft.process);
            match event.draft.body {
                Event::Logged { element, severity, message, data } => {
                    feed.activity.push((process, ActivityLog { at, element, severity, message, data }));
                }
                // Within a process, state changes are left out, because the steps already show them.
                Event::StateChanged { element, from, to } if process.is_none() => {
                    let message = format!("is {to} now, and was {from}");
                    let entry = ActivityLog { at, element, severity: Severity::Info, message, data: None };
                    feed.activity.push((None, entry));
                }
                Event::Dismissed { request, intent, application, why } => {
                    let intent = ApplicationIntent::title(application, &intent);
                    feed.dismissed.push(DismissedLog { at, request, intent, why });
                }
                Event::Exported { file, .. } => {
                    feed.moves.push(MoveLog { at, way: MoveWay::Exported, file });
                }
                Event::Imported { file, .. } => {
                    feed.moves.push(MoveLog { at, way: MoveWay::Imported, file });
                }
                Event::Renamed { from, to } => {
                    let to = to.unwrap_or_else(|| name.to_string());
                    feed.renamed.push(RenamedLog { at, from, to });
                }
                Event::Forgotten { part } => feed.forgotten.push(ForgottenLog { at, part }),
                _ => {}
            }
        }
    }
}

impl ProcessLog {
    fn new(history: &ProcessHistory, concerns: &dyn Fn(&ElementName) -> bool) -> Self {
        let process = &history.process;
        let steps = history.steps.iter().filter_map(|step| {
            let calls = history.calls.iter().filter(|call| call.step == step.step);
            let jobs: Vec<JobLog> = calls
                .clone()
                .flat_map(|call| {
                    let of = history.jobs.iter().filter(|job| job.calls.contains(&call.id));
                    of.map(|job| JobLog::new(job, call))
                })
                .collect();
            let named = format!("{}__{}", process.assembly, step.title.split(' ').next().unwrap_or_default());
            let own = named.parse().is_ok_and(|element: ElementName| concerns(&element));
            let touches = own || calls.clone().any(|call| concerns(&call.element));
            let calls: Vec<&CallRecord> = calls.collect();
            touches.then(|| StepLog::new(step, jobs, pairs_of(&calls)))
        });
        Self {
            id: process.id,
            intent: process.title(),
            status: process.status.to_string(),
            reason: process.reason.clone(),
            started: process.created,
            ended: process.ended,
            severity: Severity::of_status(process.status),
            steps: steps.collect(),
            activity: Vec::new(),
        }
    }
}

impl StepLog {
    fn new(step: &StepRecord, jobs: Vec<JobLog>, pairs: Vec<PairView>) -> Self {
        let (state, failure) = match &step.state {
            StepState::Running => ("running", None),
            StepState::Converging { .. } => ("converging", None),
            StepState::Unknown => ("unknown", None),
            StepState::Done(StepEnd::Succeeded) => ("succeeded", None),
            StepState::Done(StepEnd::Failed(failure)) => ("failed", Some(failure.clone())),
            StepState::Done(StepEnd::Skipped { because }) => {
                ("skipped", Some(Failure::new(windlass_model::record::FailureKind::Refused, because.clone())))
            }
            StepState::Done(StepEnd::Cancelled) => ("cancelled", None),
            StepState::Done(StepEnd::NeedsDecision { .. }) => ("needs a decision", None),
            _ => ("unknown", None),
        };
        let millis = step.ended.zip(step.runs_since()).map(|(ended, since)| ended.millis_since(since));
        Self {
            id: step.step,
            title: step.title.clone(),
            state: state.to_owned(),
            severity: match &step.state {
                StepState::Done(end) => Severity::of_end(end),
                _ => Severity::Info,
            },
            failure,
            started: step.started,
            ended: step.ended,
            millis,
            pairs,
            jobs,
        }
    }
}

impl JobLog {
    fn new(job: &JobRecord, call: &CallRecord) -> Self {
        let end = job.end.as_ref();
        Self {
            id: job.id.clone(),
            element: Some(call.element.clone()),
            action: Some(call.action.to_string()),
            command: job.command.clone(),
            runtime: job.runtime.clone(),
            location: job.location.clone(),
            submitted: job.submitted,
            millis: end.map(|end| end.at.millis_since(job.submitted)),
            end: end.map(|end| end.how.clone()),
            exit: end.and_then(|end| end.exit),
            stderr: end.map(|end| end.stderr.clone()).unwrap_or_default(),
            stdout: end.and_then(|end| end.stdout.clone()),
        }
    }
}
