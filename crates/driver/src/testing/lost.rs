//! Cases for jobs without an outcome.

use super::trial::{Incident, lost, not_run};
use super::{Subject, titles};
use crate::Failure;

/// If the outcome of a job is unknown, the job counts as lost. The call that requested the job then fails, with the
/// failure that `Context::job` has returned.
pub async fn lost_jobs_are_passed_on(subject: &Subject) {
    passed_on(subject, Incident::LoseJob, &lost()).await;
}

/// If a job of a call could not be run, the call fails with the failure of the job.
pub async fn jobs_that_did_not_run_are_passed_on(subject: &Subject) {
    passed_on(subject, Incident::RefuseJob, &not_run()).await;
}

async fn passed_on(subject: &Subject, incident: fn(usize) -> Incident, failure: &Failure) {
    for call in &subject.calls {
        let title = titles(std::slice::from_ref(call));
        let whole = subject.trial();
        subject.perform_one(call, &whole).await.ok();
        for job in 0..whole.ended().0.len() {
            let trial = subject.trial().with(incident(job));
            let answer = subject.perform_one(call, &trial).await;
            assert_eq!(answer.as_ref().err(), Some(failure), "job {job} of {title} has no outcome");
        }
    }
}
