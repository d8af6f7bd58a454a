//! Recorded jobs of applications: their inputs and outputs, and the replay of an output.

use serde::Serialize;
use serde_json::Value;
use windlass_driver::{Call, Failure, Report};
use windlass_engine::calls_of;
use windlass_engine::recordings::{RecordedJob, Transcript, recorded_job, recorded_jobs};
use windlass_model::{AssemblyName, CommandId, Timestamp};
use windlass_script::replay;
use windlass_secret::Redactor;
use windlass_update_ops::Update;

use super::error::LaunchError;
use super::launcher::Launcher;
use crate::error::Error;

/// The recorded jobs of an application or a factory.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct JobsView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The application or factory.
    pub name: AssemblyName,
    /// The jobs, newest first.
    pub jobs: Vec<JobSummary>,
}

/// A recorded job, without its input and output.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct JobSummary {
    /// The id under which commands such as `windlass job show` find the job. If the job belongs to a call, `id` is the
    /// id of the call. A failed health check belongs to no call: `id` is the name of the factory whose applications
    /// were checked.
    pub id: String,
    /// The id of the job on its runtime.
    pub job: String,
    /// The action of the call. `Install` launches an application, `Uninstall` destroys it, and `Integrity`
    /// checks its health.
    pub action: String,
    /// The applications on which the job acted.
    pub applications: Vec<AssemblyName>,
    /// The time at which the job ended.
    #[serde(serialize_with = "crate::view::time::one")]
    pub at: Timestamp,
    /// The reason why the job's call failed.
    pub failure: Option<String>,
}

impl JobSummary {
    fn new(owner: &AssemblyName, job: &RecordedJob) -> Self {
        Self {
            id: job.id().map_or_else(|| owner.to_string(), |id| id.to_string()),
            job: job.job.clone(),
            action: job.action.to_string(),
            applications: job.applications.clone(),
            at: job.at,
            failure: job.failure.clone(),
        }
    }
}

/// A recorded job with its input and output, in which secrets are masked.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct JobView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The summary of the job.
    pub job: JobSummary,
    /// The end of the job, such as `exited with code 1`.
    pub end: String,
    /// The standard input of the job.
    pub input: String,
    /// The standard output of the job.
    pub stdout: String,
    /// The standard error of the job.
    pub stderr: String,
}

/// The result of a replay: a recorded job's output was read again.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReplayView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The job whose output was read again.
    pub job: JobSummary,
    /// The results, one for each application on which the job acted.
    pub applications: Vec<ReplayedView>,
}

/// The output of a recorded job for one application, with secrets masked.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReplayedView {
    /// The name of the application.
    pub name: AssemblyName,
    /// The reason why the output can't be used.
    pub problem: Option<String>,
    /// The update in the job's output, for example `{"$set": {"status.flags.active": true}}`. Null if the output
    /// contains no update.
    pub updates: Value,
    /// The changes that `updates` would make to the present instance document of the application, in the notation of
    /// `updates`. Null if the document would not change.
    pub changes: Value,
    /// Messages about the output: the warnings of windlass, and then the script's entries for the activity log.
    pub log: Vec<String>,
}

impl Launcher<'_> {
    /// Returns the recorded jobs of an application or a factory.
    ///
    /// # Errors
    /// Fails if there is no such assembly, if the assembly was created from a descriptor, or if the store fails.
    pub async fn jobs(&self, name: &AssemblyName) -> Result<JobsView, Error> {
        self.launched_from(name).await?;
        let store = self.windlass.store_of(name).await?;
        let jobs = recorded_jobs(&*store, name).await?;
        let jobs = jobs.iter().map(|job| JobSummary::new(name, job)).collect();
        Ok(JobsView { version: 1, name: name.clone(), jobs })
    }

    /// Returns a recorded job. `id` is the id of a call or a job of an application. For the last failed
    /// health check of a factory, `id` is the factory's name.
    ///
    /// # Errors
    /// Fails if the input and output of the job are not stored, or if the store fails.
    pub async fn job(&self, id: &str) -> Result<JobView, Error> {
        let Kept { owner, job, transcript, redactor } = self.kept(id).await?;
        let Transcript { input, outcome, .. } = transcript;
        Ok(JobView {
            version: 1,
            job: JobSummary::new(&owner, &job),
            end: outcome.end.to_string(),
            input: redactor.mask_str(&input),
            stdout: outcome.stdout.masked(&redactor),
            stderr: outcome.stderr.masked(&redactor),
        })
    }

    /// Reads the output of a recorded job again, and compares it with the present records. No script runs,
    /// and no record changes.
    ///
    /// # Errors
    /// Fails if the input and output of the job are not stored, or if the store fails.
    pub async fn replay(&self, id: &str) -> Result<ReplayView, Error> {
        let Kept { owner, job, transcript, redactor } = self.kept(id).await?;
        let engine = self.windlass.engine(self.windlass.store_of(&owner).await?);
        let calls = calls_of(&engine, &job).await?;
        let asked: Vec<&Call> = calls.iter().map(|(_, call)| &**call).collect();
        let reports = replay(&asked, &transcript.outcome);
        let read = calls.iter().zip(reports);
        let applications =
            read.map(|((name, call), report)| replayed(name, call, report, &redactor)).collect();
        Ok(ReplayView { version: 1, job: JobSummary::new(&owner, &job), applications })
    }

    async fn kept(&self, id: &str) -> Result<Kept, Error> {
        let unknown = || LaunchError::UnknownJob(id.to_owned());
        let store = self.windlass.store(false).await?.ok_or_else(unknown)?;
        let named = match id.parse::<AssemblyName>() {
            Ok(name) => store.assembly(&name).await?.map(|_| name),
            Err(_) => None,
        };
        let call = call_of(id);
        let (owner, call) = match (named, call) {
            (Some(name), _) => (name, None),
            (None, Some(call)) => {
                let process = match call.process(store.id()) {
                    Some(process) => store.process(process).await?,
                    None => None,
                };
                (process.ok_or_else(unknown)?.assembly, Some(call))
            }
            (None, None) => return Err(unknown().into()),
        };
        let (job, transcript) = recorded_job(&*store, &owner, call.as_ref()).await?.ok_or_else(unknown)?;
        let mut secrets = transcript.secrets.clone();
        // The output may contain a secret that the job itself has published. The list of secrets in the
        // transcript lacks this secret, but the records of the assembly contain it. So the secrets of the
        // records are masked, too.
        for name in job.applications.iter().chain([&owner]) {
            let snapshot = store.load(name).await?;
            let known = snapshot.iter().flat_map(|snapshot| snapshot.secrets.values());
            secrets.extend(known.filter_map(|secret| String::from_utf8(secret.expose().clone()).ok()));
        }
        Ok(Kept { owner, job, transcript, redactor: Redactor::new(&secrets) })
    }
}

/// A recorded job, with a redactor for its secrets.
struct Kept {
    owner: AssemblyName,
    job: RecordedJob,
    transcript: Transcript,
    redactor: Redactor,
}

/// Returns the id of the call to which `id` belongs. `id` is the id of the call itself, or the id of a job of
/// the call, such as `shop-p1-s1-c0-a1-launch`.
fn call_of(id: &str) -> Option<CommandId> {
    let is_ordinal = |part: &str| {
        part.strip_prefix('c')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts: Vec<&str> = id.split('-').collect();
    let last = parts.iter().rposition(|part| is_ordinal(part)).unwrap_or(parts.len() - 1);
    parts[..=last].concat().parse().ok()
}

fn replayed(
    name: &AssemblyName,
    call: &Call,
    report: Result<Report, Failure>,
    redactor: &Redactor,
) -> ReplayedView {
    let mut view = ReplayedView {
        name: name.clone(),
        problem: None,
        updates: Value::Null,
        changes: Value::Null,
        log: Vec::new(),
    };
    let report = match report {
        Ok(report) => report,
        Err(failure) => {
            view.problem = Some(redactor.mask_str(&failure.to_string()));
            return view;
        }
    };
    let shape = call.package.shape();
    view.log = report.log.iter().map(|entry| redactor.mask_str(&entry.message)).collect();
    if let Ok(parsed) = Update::parse(&report.updates, shape) {
        // Results of commands are not part of the instance document.
        let (_, update) = parsed.update.partition(|path| path.keys().next() == Some("commands"));
        let mut after = call.document.clone();
        match update.apply(&mut after) {
            Ok(()) => {
                let changes = Update::diff(&call.document, &after, shape);
                view.changes = if changes.is_empty() { Value::Null } else { changes.to_value() };
            }
            Err(error) => view.problem = Some(error.to_string()),
        }
    }
    view.updates = report.updates;
    redactor.mask_value(&mut view.updates);
    redactor.mask_value(&mut view.changes);
    view
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_by_its_id_or_a_job() {
        for id in ["shop-p1-s2-c0-a1-launch", "shop-p1-s2-c0", "shopp1s2c0"] {
            assert_eq!(call_of(id).unwrap().as_str(), "shopp1s2c0", "{id}");
        }
        assert_eq!(call_of("P1 x"), None);
    }
}
