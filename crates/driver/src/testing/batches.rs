//! Calls of one batch.

use super::trial::Incident;
use super::{Subject, titles};

/// Calls that are performed together get the same answers as calls that are performed alone. The answers have
/// the order of the calls.
pub async fn performed_as_if_alone(subject: &Subject) {
    for batch in subject.batches() {
        let together = subject.perform(&batch, &subject.trial()).await;
        for (call, answer) in batch.iter().zip(together) {
            let alone = subject.perform_one(call, &subject.trial()).await;
            assert_eq!(answer, alone, "{} in a batch, and alone", titles(std::slice::from_ref(call)));
        }
    }
}

/// Calls that are observed together get the same answers as calls that are observed alone. The answers have
/// the order of the calls.
pub async fn observed_as_if_alone(subject: &Subject) {
    for batch in subject.batches() {
        let together = subject.observe(&batch, &subject.trial()).await;
        for (call, answer) in batch.iter().zip(together) {
            let call = std::slice::from_ref(call);
            let alone = subject.observe(call, &subject.trial()).await.remove(0);
            assert_eq!(answer, alone, "the observation of {} in a batch, and alone", titles(call));
        }
    }
}

/// Each call of a batch gets an answer, even if a job of the batch is lost.
pub async fn a_lost_job_answers_every_call(subject: &Subject) {
    for batch in subject.batches() {
        let lost = || subject.trial().with(Incident::LoseJob(0));
        let whole = subject.trial();
        subject.perform(&batch, &whole).await;
        let performed = subject.perform(&batch, &lost()).await;
        let has_jobs = !whole.ended().0.is_empty();
        let is_failure = performed.iter().any(Result::is_err);
        assert!(!has_jobs || is_failure, "the lost job of {} is no failure", titles(&batch));
        subject.observe(&batch, &lost()).await;
    }
}
