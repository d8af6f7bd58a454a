//! Recordings of jobs of applications. A recording contains the input and the output of a job, in sealed (encrypted)
//! form. Later, an author of scripts can look at a recording.
//!
//! For an application, the store keeps one recording for each of the newest calls: the recording of the call's last
//! job. A factory launches applications, and has one recording: the job of the last failed health check of these
//! applications. Recordings are documents, which are removed with their assembly.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use windlass_executor::Outcome;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentScope, Expected,
};
use windlass_model::{Action, AssemblyName, CallId, CommandId, ProcessId, Timestamp};
use windlass_secret::Sensitive;
use windlass_store::{Batch, Change, Store};

use crate::error::EngineError;

/// The maximum number of recorded calls of one application. The recording of a call contains the last job of the
/// call.
pub const KEPT_JOBS: usize = 20;

/// The maximum number of recordings that are read at once.
const PAGE: usize = 1000;

/// The version of the format of the recordings.
const VERSION: u32 = 1;

/// The name of the document with the recording of a failed health check.
const CHECK: &str = "check";

/// The record of an ended job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedJob {
    /// The id of the job.
    pub job: String,
    /// The call that the job belongs to. `None` for a health check outside of a process, because one job of such a
    /// check can check several applications.
    pub call: Option<CallId>,
    /// The process that made `call`. `None` if `call` is `None`, or if the id of the call comes from another store.
    pub process: Option<ProcessId>,
    /// The action of the job.
    pub action: Action,
    /// The applications that the job is about.
    pub applications: Vec<AssemblyName>,
    /// The time at which the job ended.
    pub at: Timestamp,
    /// The reason why the call or the check failed; `None` after a success.
    pub failure: Option<String>,
}

impl RecordedJob {
    /// Returns the id under which users find the recording; `None` if `call` is `None`.
    ///
    /// This is the id of the call, reduced to its letters and digits.
    pub fn id(&self) -> Option<CommandId> {
        self.call.as_ref().map(CommandId::of)
    }

    fn name(&self) -> DocumentName {
        name_of(self.id().as_ref())
    }
}

fn name_of(id: Option<&CommandId>) -> DocumentName {
    id.map_or(CHECK, CommandId::as_str).parse().expect("the id of a call is a name of a document")
}

/// The input and output of a recorded job. The store keeps them sealed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Transcript {
    /// The document on stdin.
    pub input: String,
    /// The end of the job, with its output.
    pub outcome: Outcome,
    /// The texts to mask in the input and in the output.
    pub secrets: Vec<String>,
}

/// Returns the recorded jobs of an assembly, the newest first.
///
/// # Errors
/// An error of the store.
pub async fn recorded_jobs(
    store: &dyn Store,
    assembly: &AssemblyName,
) -> Result<Vec<RecordedJob>, EngineError> {
    let documents = store.documents(&scope(assembly), &kind(), None, PAGE).await?;
    let jobs = documents.into_iter().filter_map(|document| serde_json::from_value(document.body).ok());
    let mut jobs: Vec<RecordedJob> = jobs.collect();
    jobs.sort_by_key(|job| std::cmp::Reverse((job.at, job.process)));
    Ok(jobs)
}

/// Returns a recorded job with its input and output; `None` if there is no such recording. `id` is the
/// [id](RecordedJob::id) of the recording.
///
/// If `id` is `None`, `assembly` must be a factory. The function then returns the job of the last failed health check
/// of the factory's applications.
///
/// # Errors
/// The store can't be read, or the input and output can't be decrypted.
pub async fn recorded_job(
    store: &dyn Store,
    assembly: &AssemblyName,
    id: Option<&CommandId>,
) -> Result<Option<(RecordedJob, Transcript)>, EngineError> {
    let key = DocumentKey { scope: scope(assembly), kind: kind(), name: name_of(id) };
    let Some(document) = store.document(&key).await? else { return Ok(None) };
    let Some(sealed) = store.document_secrets(&key).await? else { return Ok(None) };
    let job = serde_json::from_value(document.body).ok();
    Ok(job.zip(serde_json::from_slice(sealed.expose()).ok()))
}

/// Returns the change that stores the recording of a job.
pub(crate) fn put(assembly: &AssemblyName, job: &RecordedJob, transcript: &Transcript) -> Change {
    let sealed = serde_json::to_vec(transcript).expect("a transcript is plain data");
    Change::PutDocument(Box::new(DocumentDraft {
        key: DocumentKey { scope: scope(assembly), kind: kind(), name: job.name() },
        expected: Expected::Any,
        version: VERSION,
        body: serde_json::to_value(job).expect("a record is plain data"),
        secrets: Some(Sensitive::new(sealed)),
        packages: BTreeSet::new(),
    }))
}

/// Makes room for the recordings of new calls: drops the oldest recordings of an assembly.
///
/// `coming` is the expected number of new calls. After these calls, at most [`KEPT_JOBS`] calls have a recording.
pub(crate) async fn drop_oldest(
    store: &dyn Store,
    assembly: &AssemblyName,
    coming: usize,
    batch: &mut Batch,
) -> Result<(), EngineError> {
    let jobs = recorded_jobs(store, assembly).await?;
    let calls = jobs.iter().filter(|job| job.call.is_some());
    for job in calls.skip(KEPT_JOBS.saturating_sub(coming)) {
        batch.push(dropped(assembly, job));
    }
    Ok(())
}

/// Returns the changes that remove the recordings of some processes from the store. The recordings of a process contain
/// the last job of each of its calls.
pub(crate) async fn drop_of(
    store: &dyn Store,
    assembly: &AssemblyName,
    processes: &[ProcessId],
) -> Result<Batch, EngineError> {
    let jobs = recorded_jobs(store, assembly).await?;
    let gone = jobs.iter().filter(|job| job.process.is_some_and(|process| processes.contains(&process)));
    Ok(gone.map(|job| dropped(assembly, job)).collect())
}

fn dropped(assembly: &AssemblyName, job: &RecordedJob) -> Change {
    let key = DocumentKey { scope: scope(assembly), kind: kind(), name: job.name() };
    Change::DropDocument(Box::new(key), Expected::Any)
}

fn kind() -> DocumentKind {
    "job".parse().expect("it is a short word")
}

fn scope(assembly: &AssemblyName) -> DocumentScope {
    DocumentScope::Assembly(assembly.clone())
}
