//! Conformance cases for the operations on jobs: submission, look-up, cancellation and removal.
#![expect(clippy::missing_panics_doc, reason = "a case panics when it fails")]

use std::time::{Duration, Instant};

use super::{PATIENCE, Subject};
use crate::{End, Found, JobId, Owner, RuntimeError};

const LONG: Duration = Duration::from_secs(600);

/// If several jobs are submitted with one id, only the first of them runs, and only once. This holds even if
/// the first job has ended long before the last submission.
pub async fn submitted_twice_runs_once(subject: &Subject) {
    let (runtime, id) = (subject.runtime(), subject.id());
    let (first, second) = (subject.sh("echo first"), subject.sh("echo second"));
    runtime.submit(&id, &first).await.expect("the first is taken");
    runtime.submit(&id, &second).await.expect("the second is no error");
    assert_eq!(subject.wait(&id).await.stdout.text(), "first\n");
    runtime.submit(&id, &second).await.expect("nor is the third");
    assert_eq!(subject.wait(&id).await.stdout.text(), "first\n");
    subject.remove(&id).await;
}

/// `find` returns the actual state of a job: unknown, running, ended with its outcome, and unknown again
/// after the removal.
pub async fn found_at_each_stage(subject: &Subject) {
    let runtime = subject.runtime();
    let find = async |id: &JobId| runtime.find(id).await.expect("find answers");
    assert_eq!(find(&subject.id()).await, Found::Never);
    let id = subject.submit_and_see(subject.sh("echo ready; sleep 600")).await;
    assert_eq!(find(&id).await, Found::Running);
    runtime.cancel(&id, LONG).await.expect("it can be cancelled");
    let outcome = subject.wait(&id).await;
    assert!(outcome.started <= Some(outcome.ended), "{outcome:?}");
    assert_eq!(find(&id).await, Found::Ended(Box::new(outcome)));
    subject.remove(&id).await;
    assert_eq!(find(&id).await, Found::Never);
}

/// A removed job leaves no trace, and removing it again is no error.
pub async fn removed_leaves_nothing(subject: &Subject) {
    let runtime = subject.runtime();
    let id = subject.submit(subject.sh("mkdir -p a/b; chmod 500 a; echo out; echo err >&2")).await;
    subject.wait(&id).await;
    subject.remove(&id).await;
    subject.remove(&id).await;
    assert_eq!(runtime.find(&id).await.expect("find answers"), Found::Never);
    assert_eq!(runtime.list(&subject.owner()).await.expect("list answers"), []);
    let again = runtime.wait(&id).await;
    assert!(matches!(again, Err(RuntimeError::UnknownJob { .. })), "{again:?}");
}

/// A running job can't be removed.
pub async fn running_is_not_removed(subject: &Subject) {
    let runtime = subject.runtime();
    let id = subject.submit_and_see(subject.sh("echo ready; sleep 600")).await;
    let removed = runtime.remove(&id).await;
    assert!(matches!(removed, Err(RuntimeError::StillRunning { .. })), "{removed:?}");
    runtime.cancel(&id, LONG).await.expect("it can be cancelled");
    subject.wait(&id).await;
    subject.remove(&id).await;
}

/// A cancelled job first gets SIGTERM. If the job does not end by the deadline of the cancellation, it is killed.
/// If the job is cancelled a second time with an earlier deadline, the earlier deadline counts.
pub async fn cancelled_while_running(subject: &Subject) {
    let runtime = subject.runtime();
    let polite = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done";
    let id = subject.submit_and_see(subject.sh(polite)).await;
    runtime.cancel(&id, LONG).await.expect("it can be cancelled");
    let outcome = subject.wait(&id).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Cancelled, "ready\nbye\n"));
    subject.remove(&id).await;

    let deaf = "trap '' TERM; echo ready; while :; do sleep 600; done";
    let id = subject.submit_and_see(subject.sh(deaf)).await;
    runtime.cancel(&id, LONG).await.expect("it can be cancelled");
    runtime.cancel(&id, Duration::ZERO).await.expect("and again");
    assert_eq!(subject.wait(&id).await.end, End::Cancelled);
    subject.remove(&id).await;
}

/// A job that is cancelled before it has started also ends.
pub async fn cancelled_at_once(subject: &Subject) {
    let id = subject.submit(subject.sh("sleep 600")).await;
    subject.runtime().cancel(&id, Duration::ZERO).await.expect("it can be cancelled");
    assert_eq!(subject.wait(&id).await.end, End::Cancelled);
    subject.remove(&id).await;
}

/// Cancelling an ended job changes nothing.
pub async fn cancelled_when_over(subject: &Subject) {
    let id = subject.submit(subject.sh("exit 4")).await;
    let outcome = subject.wait(&id).await;
    subject.runtime().cancel(&id, Duration::ZERO).await.expect("it is no error");
    assert_eq!(subject.wait(&id).await, outcome);
    assert_eq!(outcome.end, End::Exited(4));
    subject.remove(&id).await;
}

/// A list contains all jobs of one owner, in any state, except removed jobs. The list is sorted by id.
pub async fn listed_by_owner(subject: &Subject) {
    let runtime = subject.runtime();
    let other: Owner = format!("{}/other", subject.owner()).parse().expect("it is an owner");
    let ended = subject.submit(subject.sh("exit 0")).await;
    subject.wait(&ended).await;
    let running = subject.submit_and_see(subject.sh("echo ready; sleep 600")).await;
    let foreign = subject.submit(subject.sh("exit 0").owner(other.clone())).await;
    let list = async |owner: &Owner| runtime.list(owner).await.expect("list answers");
    assert_eq!(list(&other).await, std::slice::from_ref(&foreign));
    assert_eq!(list(&subject.owner()).await, [ended.clone(), running.clone()]);
    runtime.cancel(&running, LONG).await.expect("it can be cancelled");
    for id in [ended, running, foreign] {
        subject.wait(&id).await;
        subject.remove(&id).await;
    }
}

/// If many jobs run at the same time, each of them gets its own input and produces its own output.
pub async fn many_at_once(subject: &Subject) {
    let mut ids = Vec::new();
    for number in 0..64 {
        let job = subject.sh("read number; echo $number; echo $number >&2; exit $number");
        ids.push((number, subject.submit(job.stdin(format!("{number}\n"))).await));
    }
    for (number, id) in ids {
        let outcome = subject.wait(&id).await;
        assert_eq!(outcome.end, End::Exited(number));
        assert_eq!(
            [outcome.stdout.text(), outcome.stderr.text()],
            [format!("{number}\n"), format!("{number}\n")]
        );
        subject.remove(&id).await;
    }
}

/// A request for an unknown job fails at once with `UnknownJob`.
pub async fn unknown_is_said(subject: &Subject) {
    let (runtime, id, begun) = (subject.runtime(), subject.id(), Instant::now());
    let answers = [
        runtime.wait(&id).await.err(),
        runtime.events(&id).await.err(),
        runtime.cancel(&id, Duration::ZERO).await.err(),
    ];
    for answer in answers {
        let text = answer.map(|error| error.to_string());
        assert_eq!(text, Some(format!("there is no job `{id}`")));
    }
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
}

/// A job may be cancelled at any moment, even after its end. The outcome is either that the job was cancelled, or
/// that it ended by itself. This outcome does not change any more.
pub async fn cancelled_at_any_moment(subject: &Subject) {
    let runtime = subject.runtime();
    for after in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let id = subject.submit(subject.sh("sleep 0.05; echo done; exit 5")).await;
        tokio::time::sleep(Duration::from_millis(after)).await;
        runtime.cancel(&id, Duration::ZERO).await.expect("it can be cancelled");
        let outcome = subject.wait(&id).await;
        match outcome.end {
            End::Cancelled => {}
            End::Exited(5) => assert_eq!(outcome.stdout.text(), "done\n"),
            other => panic!("cancelled after {after} ms it ended as {other:?}"),
        }
        assert_eq!(subject.wait(&id).await.end, outcome.end, "an end stays what it is");
        subject.remove(&id).await;
    }
}

/// Each of many jobs can be cancelled, including jobs that are still queued.
pub async fn cancelled_in_a_crowd(subject: &Subject) {
    let mut ids = Vec::new();
    for _ in 0..24 {
        ids.push(subject.submit(subject.sh("sleep 600")).await);
    }
    for id in &ids {
        subject.runtime().cancel(id, Duration::ZERO).await.expect("it can be cancelled");
    }
    for id in ids {
        assert_eq!(subject.wait(&id).await.end, End::Cancelled);
        subject.remove(&id).await;
    }
}
