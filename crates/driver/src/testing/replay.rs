//! Test cases for repeated calls: a repeated call must request the same jobs by the same names.

use windlass_executor::Job;

use super::{Subject, titles};

/// If the outcomes of all jobs of a call are recorded, a repetition of the call runs no job, and gives the
/// same answer.
pub async fn recorded_jobs_are_not_run(subject: &Subject) {
    let mut jobs = 0;
    for call in &subject.calls {
        let title = titles(std::slice::from_ref(call));
        let first = subject.trial();
        let answer = subject.perform_one(call, &first).await;
        let (requested, records) = first.ended();
        jobs += requested.len();
        let second = subject.trial().with_records(records.clone());
        assert_eq!(subject.perform_one(call, &second).await, answer, "the repeated answer of {title}");
        assert_same(&requested, &second.log().jobs, &title);
        assert_eq!(second.log().records, records, "the repetition of {title} ran a job");
    }
    assert!(jobs > 0 || subject.runtime.is_none(), "no call of the subject requests a job");
}

/// If windlass dies after some jobs of a call, the repeated call runs the remaining jobs. It gives the same answer as
/// an uninterrupted call.
pub async fn resumed_after_any_job(subject: &Subject) {
    for call in &subject.calls {
        let title = titles(std::slice::from_ref(call));
        let first = subject.trial();
        let answer = subject.perform_one(call, &first).await;
        let (requested, records) = first.ended();
        for ended in 0..requested.len() {
            let kept = requested[..ended].iter().map(|(name, _)| (name.clone(), records[name].clone()));
            let again = subject.trial().with_records(kept.collect());
            let resumed = subject.perform_one(call, &again).await;
            assert_eq!(resumed, answer, "the answer of {title}, resumed after {ended} jobs");
            assert_same(&requested, &again.log().jobs, &title);
        }
    }
}

/// Asserts that a repeated call has requested the same jobs by the same names.
fn assert_same(first: &[(String, Job)], second: &[(String, Job)], title: &str) {
    let names = |jobs: &[(String, Job)]| jobs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(first), names(second), "the names of the jobs of {title}");
    for ((name, before), (_, after)) in first.iter().zip(second) {
        assert!(content(before) == content(after), "the job `{name}` of {title} differs when it is repeated");
    }
}

/// Returns the complete content of a job: its record, and the bytes of its inputs. The record itself contains only
/// the lengths of the inputs.
fn content(job: &Job) -> (String, Vec<Vec<u8>>) {
    let inputs = std::iter::once(&job.stdin).chain(job.files.iter().map(|file| &file.content));
    let inputs = inputs.map(|content| content.expose().to_vec()).collect();
    (serde_json::to_string(job).expect("a job can be written as a record"), inputs)
}
