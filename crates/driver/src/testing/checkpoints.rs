//! Test cases for checkpoints. A checkpoint is an intermediate result that a driver records while it performs a
//! call.

use super::calls::apply;
use super::trial::{Incident, not_recorded};
use super::{Subject, titles};
use crate::{Failure, Report, Settled};

/// If windlass dies after a checkpoint of a call, the repeated call resumes from the checkpoint. It ends in the same
/// way as an uninterrupted call.
pub async fn resumed_after_a_checkpoint(subject: &Subject) {
    for call in &subject.calls {
        let title = titles(std::slice::from_ref(call));
        let whole = subject.trial();
        let answer = subject.perform_one(call, &whole).await;
        let (requested, _) = whole.ended();
        let mut ended = call.clone();
        let checkpoints = std::mem::take(&mut whole.log().checkpoints);
        for (_, report) in &checkpoints {
            apply(&mut ended, report);
        }
        for number in 0..checkpoints.len() {
            let trial = subject.trial().with(Incident::DieAfterCheckpoint(number));
            tokio::select! {
                biased;
                () = trial.death.notified() => {}
                _ = subject.perform_one(call, &trial) => panic!("{title} made other checkpoints the second time"),
            }
            let mut resumed = call.clone();
            for (_, report) in &trial.log().checkpoints {
                apply(&mut resumed, report);
            }
            let again = subject.trial().with_records(trial.ended().1);
            let second = subject.perform_one(&resumed, &again).await;
            assert_eq!(end(&second), end(&answer), "the end of {title}, resumed after checkpoint {number}");
            let (known, repeated) = (trial.ended().0, again.ended().0);
            let new = repeated.iter().filter(|(name, _)| known.iter().all(|(other, _)| other != name));
            for (name, _) in new {
                let is_due = requested.iter().any(|(other, _)| other == name);
                assert!(is_due, "{title}, resumed after checkpoint {number}, ran another job: `{name}`");
            }
            let natural = |report: &Result<Report, Failure>| report.as_ref().ok()?.natural.clone();
            let (first, second) =
                (natural(&answer).or(ended.natural.clone()), natural(&second).or(resumed.natural));
            assert_eq!(second, first, "the natural id of {title}, resumed after checkpoint {number}");
        }
    }
}

/// If a checkpoint (an intermediate result of a call) can't be recorded, the call fails with the failure of the
/// checkpoint.
pub async fn a_lost_checkpoint_is_passed_on(subject: &Subject) {
    for call in &subject.calls {
        let whole = subject.trial();
        subject.perform_one(call, &whole).await.ok();
        let checkpoints = whole.log().checkpoints.len();
        for number in 0..checkpoints {
            let trial = subject.trial().with(Incident::LoseCheckpoint(number));
            let answer = subject.perform_one(call, &trial).await;
            let title = titles(std::slice::from_ref(call));
            assert_eq!(answer.err(), Some(not_recorded()), "checkpoint {number} of {title} was not recorded");
        }
    }
}

/// Returns the part of a call's result that a test can compare: whether the instance has settled, or the failure of
/// the call. The updates of the report are left out, because they depend on the instance document.
fn end(answer: &Result<Report, Failure>) -> Result<Settled, &Failure> {
    answer.as_ref().map(|report| report.settled)
}
