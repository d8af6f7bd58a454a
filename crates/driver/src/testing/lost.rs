//! Cases for jobs without an outcome.

use super::trial::{Incident, lost, not_run};
use super::{Subject, titles};
use crate::Failure;

/// If a job is lost, the call that requested the job fails with the failure of the job. A lost job is a job whose
/// outcome is unknown.
pub async fn lost_jobs_are_passed_on(subject: &Subject) {
    passed_on(subject, Incident::LoseJob, &lost()).await;
}

/// If the context reports that it has not run a job of a call, the call fails with the reported failure.
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
