//! Tests what happens if the owner of a job dies, if the supervisor dies, or if a process dies while it creates a job.
//! Also tests owners that share a folder.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use windlass_executor::{
    End, Found, Job, JobEvent, JobId, Limits, OnOwnerDeath, Runtime, RuntimeError, process::ControlGroups,
};

use crate::{
    place::{Place, files, until},
    processes::{HIDE, end, gate, hides, seen, supervisor_of},
};

const GATED: &str = "mkfifo gate; echo ready; read go < gate; echo $go; exit 7";

fn sh(script: &str) -> Job {
    Job::command("sh").args(["-c", script])
}

fn id(text: &str) -> JobId {
    text.parse().unwrap()
}

/// Starts another process that owns one job, and waits until the job has printed something.
fn owner(place: &Place, job: &str, fate: &str, script: &str) -> Child {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_windlass-executor-test-owner"))
        .arg(place.state())
        .arg(env!("CARGO_BIN_EXE_windlass-supervisor"))
        .args([job, fate, script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    owner
}

fn kill(mut owner: Child) {
    owner.kill().unwrap();
    owner.wait().unwrap();
}

fn kill_supervisor(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_job_that_must_finish_does_so_without_its_owner() {
    let place = Place::new();
    kill(owner(&place, "job", "finish", GATED));
    let runtime = Arc::new(place.runtime());
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Running);
    assert_eq!(runtime.list(&Job::command("x").owner).await.unwrap(), [id("job")]);
    assert!(matches!(runtime.remove(&id("job")).await, Err(RuntimeError::StillRunning { .. })));
    fs::write(gate(&place, "job"), "on\n").unwrap();
    let outcome = runtime.wait(&id("job")).await.unwrap();
    assert_eq!((outcome.end.clone(), outcome.stdout.text().as_str()), (End::Exited(7), "ready\non\n"));
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Ended(Box::new(outcome)));
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

/// The output of a job is a file in memory, in `/dev/shm`. If the supervisor ends before an owner has read the output,
/// the supervisor must move the file to the disk. If the supervisor is killed, the file stays in `/dev/shm`, and must
/// be removed together with the job.
#[tokio::test]
async fn what_a_job_wrote_outlasts_its_owner_and_goes_with_it() {
    let place = Place::new();
    kill(owner(&place, "job", "finish", GATED));
    let Some(memory) = place.memory() else { return crate::skipped(&"/dev/shm is not in memory") };
    let stdout = place.state().join("job/stdout");
    assert_eq!(fs::read_link(&stdout).unwrap().parent(), Some(&*memory));
    fs::write(gate(&place, "job"), "on\n").unwrap();
    until("the supervisor has ended", async || !memory.exists()).await;
    assert!(fs::read_link(&stdout).is_err());
    assert_eq!(fs::read_to_string(&stdout).unwrap(), "ready\non\n");
    let runtime = Arc::new(place.runtime());
    assert_eq!(runtime.wait(&id("job")).await.unwrap().stdout.text(), "ready\non\n");
    runtime.remove(&id("job")).await.unwrap();

    let supervisor = supervisor_of(&runtime).await;
    seen(&runtime, &id("lost"), &sh(GATED)).await;
    kill_supervisor(supervisor);
    let outcome = runtime.wait(&id("lost")).await.unwrap();
    assert!(matches!(outcome.end, End::Lost(_)) && outcome.stdout.text() == "ready\n", "{outcome:?}");
    assert_eq!(fs::read_dir(&memory).unwrap().count(), 1);
    runtime.remove(&id("lost")).await.unwrap();
    assert!(!memory.exists() || fs::read_dir(&memory).unwrap().count() == 0);
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn its_time_limit_holds_without_its_owner_too() {
    let place = Place::new();
    let runtime = place.runtime();
    let job = sh(GATED).on_owner_death(OnOwnerDeath::Finish).timeout(Duration::from_millis(1500));
    seen(&runtime, &id("job"), &job).await;
    drop(runtime);
    let runtime = Arc::new(place.runtime());
    assert_eq!(runtime.wait(&id("job")).await.unwrap().end, End::TimedOut);
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_job_that_must_not_outlive_its_owner_is_ended() {
    let place = Place::new();
    kill(owner(&place, "job", "kill", "echo ready; sleep 600"));
    let runtime = Arc::new(place.runtime());
    let outcome = runtime.wait(&id("job")).await.unwrap();
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Cancelled, "ready\n"));
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn without_its_supervisor_a_job_is_lost_and_ended() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let supervisor = supervisor_of(&runtime).await;
    seen(&runtime, &id("job"), &sh("setsid sleep 600 & sleep 600 & echo ready; sleep 600")).await;
    kill_supervisor(supervisor);
    let outcome = runtime.wait(&id("job")).await.unwrap();
    assert_eq!(outcome.end, End::Lost("its supervisor died before it ended".to_owned()));
    assert_eq!(outcome.stdout.text(), "ready\n");
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Gone);
    assert_eq!(place.processes(), [0; 0]);
    // The next job gets a new supervisor.
    assert!(runtime.run(&id("next"), &sh("exit 0")).await.unwrap().success());
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn what_hides_is_ended_when_owner_and_supervisor_are_dead() {
    if !ControlGroups::probe().ends_all {
        crate::skipped(&"no control group of version 2 may be made here");
        return;
    }
    let place = Place::new();
    let owner = owner(&place, "job", "finish", &format!("echo $PPID; {HIDE}; sleep 600"));
    let stdout = place.state().join("job/stdout");
    until("both numbers are printed", async || fs::read_to_string(&stdout).unwrap().lines().count() == 2)
        .await;
    let printed = fs::read_to_string(stdout).unwrap();
    let (supervisor, hidden) = printed.trim().split_once('\n').unwrap();
    until("it hides", async || hides(hidden)).await;
    kill(owner);
    kill_supervisor(supervisor.parse().unwrap());
    assert!(hides(hidden), "nobody has looked yet");
    let runtime = Arc::new(place.runtime());
    until("its folder shows it", async || runtime.find(&id("job")).await.unwrap() == Found::Gone).await;
    until("the hidden process has ended", async || !hides(hidden)).await;
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn without_owner_and_supervisor_a_job_is_found_to_be_gone() {
    let place = Place::new();
    let owner = owner(&place, "job", "finish", "setsid sleep 600 & echo $PPID; sleep 600");
    let printed = fs::read_to_string(place.state().join("job/stdout")).unwrap();
    kill(owner);
    kill_supervisor(printed.trim().parse().unwrap());
    let runtime = Arc::new(place.runtime());
    // A killed process takes a moment to release its resources.
    until("its folder shows it", async || runtime.find(&id("job")).await.unwrap() != Found::Running).await;
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Gone);
    assert_eq!(place.processes(), [0; 0]);
    let mut events = runtime.events(&id("job")).await.unwrap();
    assert!(matches!(events.next().await, Some(JobEvent::Output { .. })));
    assert_eq!(events.next().await, Some(JobEvent::Ended));
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_terminated_supervisor_writes_down_how_its_jobs_ended() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let supervisor = supervisor_of(&runtime).await;
    let job = sh("echo ready; sleep 600").on_owner_death(OnOwnerDeath::Finish);
    seen(&runtime, &id("job"), &job).await;
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::TERM).unwrap();
    assert_eq!(runtime.wait(&id("job")).await.unwrap().end, End::Cancelled);
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_job_that_is_half_made_was_never_there() {
    let place = Place::new();
    let half_made = place.state().join(".staging/4711-1-0/0");
    fs::create_dir_all(half_made.join("work")).unwrap();
    fs::write(half_made.join("stdin"), "secret").unwrap();
    let runtime = Arc::new(place.runtime());
    assert!(!half_made.exists(), "{:?}", files(&place.state()));
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Never);
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_job_that_is_submitted_while_the_runtime_closes_runs() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let slow =
        "trap 'mkfifo late; read go < late; exit' TERM; echo ready; while :; do sleep 600 & wait; done";
    let mut limits = Limits::default();
    limits.grace = Duration::from_secs(600);
    seen(&runtime, &id("killed"), &sh(slow).limits(limits)).await;
    let survivor = sh(GATED).on_owner_death(OnOwnerDeath::Finish);
    seen(&runtime, &id("survivor"), &survivor).await;
    let closing = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.close().await }
    });
    let late = place.state().join("killed/work/late");
    until("the job gets SIGTERM", async || late.exists()).await;
    let new = sh("exit 3").on_owner_death(OnOwnerDeath::Finish);
    runtime.submit(&id("new"), &new).await.unwrap();
    fs::write(late, "on\n").unwrap();
    closing.await.unwrap().unwrap();
    assert_eq!(runtime.wait(&id("new")).await.unwrap().end, End::Exited(3));
    fs::write(gate(&place, "survivor"), "on\n").unwrap();
    assert_eq!(runtime.wait(&id("survivor")).await.unwrap().end, End::Exited(7));
    for job in ["killed", "survivor", "new"] {
        runtime.remove(&id(job)).await.unwrap();
    }
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn what_a_living_owner_makes_is_not_swept() {
    let place = Place::new();
    let first = place.runtime();
    let before = files(&place.state());
    let second = Arc::new(place.runtime());
    assert!(before.iter().all(|file| files(&place.state()).contains(file)));
    assert!(first.run(&id("job"), &sh("exit 0")).await.unwrap().success());
    first.close().await.unwrap();
    drop(first);
    place.is_left_clean(second).await;
}

#[tokio::test]
async fn two_owners_share_their_jobs() {
    let place = Place::new();
    let (first, second) = (place.runtime(), Arc::new(place.runtime()));
    seen(&first, &id("job"), &sh(GATED)).await;
    second.submit(&id("job"), &sh("echo something else")).await.unwrap();
    assert_eq!(second.find(&id("job")).await.unwrap(), Found::Running);
    let mut events = second.events(&id("job")).await.unwrap();
    assert!(matches!(events.next().await, Some(JobEvent::Started { .. })));
    assert!(matches!(events.next().await, Some(JobEvent::Output { .. })));
    fs::write(gate(&place, "job"), "on\n").unwrap();
    let job = id("job");
    let outcomes = tokio::join!(first.wait(&job), second.wait(&job));
    let (mine, yours) = (outcomes.0.unwrap(), outcomes.1.unwrap());
    assert_eq!(mine, yours);
    assert_eq!((mine.end, mine.stdout.text().as_str()), (End::Exited(7), "ready\non\n"));
    second.remove(&id("job")).await.unwrap();
    assert_eq!(first.find(&id("job")).await.unwrap(), Found::Never);
    first.close().await.unwrap();
    drop(first);
    place.is_left_clean(second).await;
}

#[tokio::test]
async fn an_owner_cancels_the_job_of_another() {
    let place = Place::new();
    let (first, second) = (place.runtime(), Arc::new(place.runtime()));
    seen(&first, &id("job"), &sh("echo ready; sleep 600")).await;
    // The second owner has a supervisor too. The two must not be confused.
    assert!(second.run(&id("other"), &sh("exit 0")).await.unwrap().success());
    second.cancel(&id("job"), Duration::from_secs(600)).await.unwrap();
    assert_eq!(second.wait(&id("job")).await.unwrap().end, End::Cancelled);
    assert_eq!(first.wait(&id("job")).await.unwrap().end, End::Cancelled);
    second.remove(&id("job")).await.unwrap();
    first.close().await.unwrap();
    drop(first);
    place.is_left_clean(second).await;
}

#[tokio::test]
async fn of_two_owners_with_one_id_one_runs_it() {
    let place = Place::new();
    let (first, second) = (place.runtime(), Arc::new(place.runtime()));
    for round in 0..20 {
        let (id, job) = (id(&format!("job-{round}")), sh("echo $$"));
        let submitted = tokio::join!(first.submit(&id, &job), second.submit(&id, &job));
        submitted.0.and(submitted.1).unwrap();
        let outcomes = tokio::join!(first.wait(&id), second.wait(&id));
        assert_eq!(outcomes.0.unwrap(), outcomes.1.unwrap());
        end(&first, &id).await;
    }
    first.close().await.unwrap();
    drop(first);
    place.is_left_clean(second).await;
}
