//! Cases for stops that the user requests.

use std::time::Duration;

use tokio::time::timeout;

use super::trial::{Incident, Trial, lost};
use super::{Subject, titles};
use crate::Call;

/// Maximum time of a call after its job was cancelled.
const SOON: Duration = Duration::from_secs(10);

/// If a job of a call is cancelled, the call ends soon with the failure of the job, and requests no further job. Later
/// calls of the same batch request no job either.
pub async fn ends_soon_while_performing(subject: &Subject) {
    for calls in alone_and_in_batches(subject) {
        let whole = subject.trial();
        subject.perform(&calls, &whole).await;
        for job in 0..whole.ended().0.len() {
            let trial = subject.trial().with(Incident::CancelIn(job));
            let ended = timeout(SOON, subject.perform(&calls, &trial)).await;
            let answers = ended.unwrap_or_else(|_| panic!("{} does not end", titles(&calls)));
            assert!(
                answers.iter().any(|answer| answer.as_ref().err() == Some(&lost())),
                "job {job} of {} was cancelled: {answers:?}",
                titles(&calls)
            );
            assert_nothing_late(&trial, &calls);
        }
    }
}

/// If the job of an observation is cancelled, the observation ends soon, and requests no further job.
pub async fn ends_soon_while_observing(subject: &Subject) {
    for calls in alone_and_in_batches(subject) {
        let whole = subject.trial();
        subject.observe(&calls, &whole).await;
        for job in 0..whole.ended().0.len() {
            let trial = subject.trial().with(Incident::CancelIn(job));
            let ended = timeout(SOON, subject.observe(&calls, &trial)).await;
            assert!(ended.is_ok(), "the observation of {} does not end", titles(&calls));
            assert_nothing_late(&trial, &calls);
        }
    }
}

/// Returns each call alone, and each batch of several calls.
fn alone_and_in_batches(subject: &Subject) -> Vec<Vec<Call>> {
    subject.calls.iter().map(|call| vec![call.clone()]).chain(subject.batches()).collect()
}

fn assert_nothing_late(trial: &Trial<'_>, calls: &[Call]) {
    let late = trial.log().late.clone();
    assert!(late.is_empty(), "after the stop, {} requested {late:?}", titles(calls));
}
