//! The history of an assembly: processes, steps, jobs, and the activity log.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use windlass_model::record::{Event, Failure, JobRecord, Severity, StepEnd, StepState};
use windlass_model::{AssemblyName, ElementName, ProcessId, RequestId, Seq, StepId, Timestamp};
use windlass_store::{ProcessHistory, Store};

use crate::error::Error;
use crate::open::Windlass;

/// The history of an assembly, oldest first.
#[derive(Debug, Clone, Serialize)]
pub struct LogView {
    /// The version of this format.
    pub version: u32,
    /// The assembly.
    pub assembly: AssemblyName,
    /// The processes.
    pub processes: Vec<ProcessLog>,
    /// Requests to the daemon that were not executed.
    pub dismissed: Vec<DismissedLog>,
    /// Imports and exports of the assembly.
    pub moves: Vec<MoveLog>,
}

/// A move of an assembly between stores.
#[derive(Debug, Clone, Serialize)]
pub struct MoveLog {
    /// The time of the move.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// Its direction.
    pub way: MoveWay,
    /// The file, as given by the user.
    pub file: String,
}

/// The direction of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveWay {
    /// Out of this store.
    Exported,
    /// Into this store.
    Imported,
}

/// The history of one process.
#[derive(Debug, Clone, Serialize)]
pub struct ProcessLog {
    /// Its id.
    pub id: ProcessId,
    /// Its intent.
    pub intent: String,
    /// Its status.
    pub status: String,
    /// The reason why it did not complete.
    pub reason: Option<String>,
    /// The time of its creation.
    #[serde(serialize_with = "super::time::one")]
    pub started: Timestamp,
    /// The time of its end.
    #[serde(serialize_with = "super::time::maybe")]
    pub ended: Option<Timestamp>,
    /// Its steps.
    pub steps: Vec<StepLog>,
    /// Entries that drivers wrote to the activity log.
    pub activity: Vec<ActivityLog>,
}

/// The history of one process, as a document of its own.
#[derive(Debug, Clone, Serialize)]
pub struct OneProcessView {
    /// The version of this format.
    pub version: u32,
    /// The assembly.
    pub assembly: AssemblyName,
    /// The process.
    pub process: ProcessLog,
}

/// The history of one step.
#[derive(Debug, Clone, Serialize)]
pub struct StepLog {
    /// Its number.
    pub id: StepId,
    /// Its action.
    pub title: String,
    /// Its state, in one word.
    pub state: String,
    /// The failure, if it did not succeed.
    pub failure: Option<Failure>,
    /// The time of its start.
    #[serde(serialize_with = "super::time::maybe")]
    pub started: Option<Timestamp>,
    /// Its duration in milliseconds.
    pub millis: Option<u64>,
    /// The jobs of the step.
    pub jobs: Vec<JobLog>,
}

/// A job.
#[derive(Debug, Clone, Serialize)]
pub struct JobLog {
    /// Its id on the runtime.
    pub id: String,
    /// The element of its call.
    pub element: Option<ElementName>,
    /// The action of its call.
    pub action: Option<String>,
    /// The command that ran.
    pub command: String,
    /// The runtime.
    pub runtime: String,
    /// The location.
    pub location: String,
    /// The time of submission.
    #[serde(serialize_with = "super::time::one")]
    pub submitted: Timestamp,
    /// Its duration in milliseconds.
    pub millis: Option<u64>,
    /// Its result.
    pub end: Option<String>,
    /// The exit code, if it exited.
    pub exit: Option<i32>,
    /// The last part of its stderr output.
    pub stderr: String,
    /// The last part of its stdout output, if that is for people or the job has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
}

/// An entry of an activity log.
#[derive(Debug, Clone, Serialize)]
pub struct ActivityLog {
    /// The time of the entry.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The element that it concerns.
    pub element: ElementName,
    /// The severity.
    pub severity: Severity,
    /// The message.
    pub message: String,
    /// JSON data that belongs to the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A request that was not executed.
#[derive(Debug, Clone, Serialize)]
pub struct DismissedLog {
    /// The time of that decision.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The request.
    pub request: RequestId,
    /// Its intent.
    pub intent: String,
    /// The reason; `None` if the requester withdrew it.
    pub why: Option<String>,
}

impl Windlass {
    /// Returns the history of an assembly, even after its deletion. `component` restricts it to one part, by
    /// its name relative to the assembly (`B__1`) or its full name.
    ///
    /// # Errors
    ///
    /// If there is no history of such an assembly or component, or the store can't be read.
    pub async fn log(&self, name: &AssemblyName, component: Option<&str>) -> Result<LogView, Error> {
        let store = self.store_of(name).await?;
        let history = store.history(name).await?;
        let Told { activity, dismissed, moves } = told(&*store, name).await?;
        if history.processes.is_empty() && dismissed.is_empty() {
            return Err(self.unknown(store, name).await);
        }
        let concerns = |element: &ElementName| component.is_none_or(|c| concerns(element, c));
        let processes = history.processes.iter().map(|process| {
            let mut log = ProcessLog::new(process, &concerns);
            let id = process.process.id;
            let own = activity.iter().filter(|(of, entry)| *of == Some(id) && concerns(&entry.element));
            log.activity = own.map(|(_, entry)| entry.clone()).collect();
            log
        });
        let processes: Vec<ProcessLog> = processes.collect();
        if let Some(component) = component
            && processes.iter().all(|process| process.steps.is_empty() && process.activity.is_empty())
        {
            let known = history.processes.iter().flat_map(|process| &process.calls);
            let known: BTreeSet<String> = known.map(|call| call.element.local().to_owned()).collect();
            let (assembly, component) = (name.clone(), component.to_owned());
            return Err(Error::NoComponent { assembly, component, known: known.into_iter().collect() });
        }
        Ok(LogView { version: 1, assembly: name.clone(), processes, dismissed, moves })
    }
}

/// Tells whether an element is a component or is inside it.
fn concerns(element: &ElementName, component: &str) -> bool {
    let at = |name: &str| {
        name.strip_prefix(component).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
    };
    at(element.local()) || at(element.as_str())
}

/// Information from the feed that is not part of the process records.
#[derive(Default)]
struct Told {
    activity: Vec<(Option<ProcessId>, ActivityLog)>,
    dismissed: Vec<DismissedLog>,
    moves: Vec<MoveLog>,
}

/// Returns the imports and exports of an assembly.
pub(crate) async fn moves(store: &dyn Store, name: &AssemblyName) -> Result<Vec<MoveLog>, Error> {
    Ok(told(store, name).await?.moves)
}

async fn told(store: &dyn Store, name: &AssemblyName) -> Result<Told, Error> {
    let mut told = Told::default();
    let mut seen = Seq::START;
    loop {
        let events = store.events_of(name, seen, 10_000).await?;
        let Some(last) = events.last() else { return Ok(told) };
        seen = last.seq;
        for event in events {
            let (at, process) = (event.draft.at, event.draft.process);
            match event.draft.body {
                Event::Logged { element, severity, message, data } => {
                    told.activity.push((process, ActivityLog { at, element, severity, message, data }));
                }
                Event::Dismissed { request, intent, why } => {
                    told.dismissed.push(DismissedLog { at, request, intent: intent.to_string(), why });
                }
                Event::Exported { file, .. } => {
                    told.moves.push(MoveLog { at, way: MoveWay::Exported, file });
                }
                Event::Imported { file, .. } => {
                    told.moves.push(MoveLog { at, way: MoveWay::Imported, file });
                }
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
            touches.then(|| StepLog::new(step, jobs))
        });
        Self {
            id: process.id,
            intent: process.intent.to_string(),
            status: process.status.to_string(),
            reason: process.reason.clone(),
            started: process.created,
            ended: process.ended,
            steps: steps.collect(),
            activity: Vec::new(),
        }
    }
}

impl StepLog {
    fn new(step: &windlass_model::record::StepRecord, jobs: Vec<JobLog>) -> Self {
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
        let millis = step.ended.zip(step.started).map(|(ended, started)| ended.millis_since(started));
        Self {
            id: step.step,
            title: step.title.clone(),
            state: state.to_owned(),
            failure,
            started: step.started,
            millis,
            jobs,
        }
    }
}

impl JobLog {
    fn new(job: &JobRecord, call: &windlass_model::record::CallRecord) -> Self {
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
