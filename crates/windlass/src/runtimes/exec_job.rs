//! The ids of the jobs of `windlass exec`. Only the command that submitted such a job reads the job's result.

use windlass_executor::JobId;
use windlass_model::Timestamp;

/// The beginning of the id of each job of `windlass exec`.
const PREFIX: &str = "exec-";

/// Returns the id of a job that the process with the id `process` submits by `windlass exec`.
#[expect(clippy::missing_panics_doc, reason = "such an id is always valid")]
pub fn exec_job_id(process: u32, now: Timestamp) -> JobId {
    let id = format!("{PREFIX}{process}-{}", now.as_millis());
    id.parse().expect("it is made of letters, digits and hyphens")
}

/// Returns the id of the process that submitted a job of `windlass exec`. Returns `None` for all other jobs.
pub(super) fn submitter(id: &JobId) -> Option<u32> {
    id.as_str().strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}
