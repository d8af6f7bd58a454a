//! Tests jobs under failures of the engine: killed, stopped, out of disk space, unreachable.
//!
//! Each test has an engine and a network of its own, and may damage both. The tests need root, `dockerd` and a static
//! busybox. If one of these is missing, the tests print `SKIPPED` and pass. With `WINDLASS_REQUIRE_DOCKER=1`, the tests
//! fail instead.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod daemon;
mod line;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use windlass_executor::{
    End, Events, Found, Job, JobEvent, JobId, Network, OnOwnerDeath, Runtime, RuntimeError,
    docker::{DockerOptions, DockerRuntime},
};

use daemon::{Daemon, IMAGE, Settings};
use line::{Line, Moment};

fn sh(script: &str) -> Job {
    Job::command("sh").args(["-c", script])
}

/// A job that must not run twice, and counts how often it runs.
fn once(script: &str) -> Job {
    sh(&format!("echo ran >> /count/times; {script}"))
        .volume("count".parse().unwrap(), "/count")
        .on_owner_death(OnOwnerDeath::Finish)
}

fn id(text: &str) -> JobId {
    text.parse().unwrap()
}

fn options() -> DockerOptions {
    let options = DockerOptions::new().image(IMAGE).call_limit(Duration::from_secs(2));
    options.patience(Duration::from_secs(3))
}

/// Reads events until the job has written output.
async fn seen(events: &mut Events) {
    while !matches!(events.next().await.expect("the job writes something"), JobEvent::Output { .. }) {}
}

/// Submits a job, and submits it again after an error. The tests limit each call to two seconds, and on a busy machine
/// a call may take longer. The job runs only once in any case.
async fn submit(runtime: &DockerRuntime, name: &str, job: &Job) {
    let limit = Instant::now() + Duration::from_secs(60);
    while let Err(error) = runtime.submit(&id(name), job).await {
        assert!(Instant::now() < limit, "{name}: {error}");
    }
    seen(&mut runtime.events(&id(name)).await.unwrap()).await;
}

/// Waits for the end of a job, despite errors that report an engine that doesn't answer.
async fn end(runtime: &DockerRuntime, name: &str) -> windlass_executor::Outcome {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        match runtime.wait(&id(name)).await {
            Ok(outcome) => return outcome,
            Err(RuntimeError::Unavailable { .. }) if Instant::now() < limit => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// Returns how often jobs made by [`once`] have run.
async fn times(runtime: &DockerRuntime) -> usize {
    let count = sh("cat /count/times").volume("count".parse().unwrap(), "/count");
    runtime.run(&id("count"), &count).await.unwrap().stdout.text().lines().count()
}

#[tokio::test]
async fn an_engine_that_is_killed_loses_no_job_that_survives_it() {
    let Some(mut daemon) =
        Daemon::start("killed with live-restore", Settings { live_restore: true, ..Settings::default() })
            .await
    else {
        return;
    };
    let runtime = DockerRuntime::open(daemon.engine().await, options()).await.unwrap();
    submit(&runtime, "once", &once("echo before; sleep 3; echo after; exit 7")).await;
    submit(&runtime, "short", &once("echo before; sleep 0.3; echo after; exit 5")).await;
    submit(&runtime, "repeatable", &sh("echo before; sleep 600")).await;
    daemon.kill();
    let refused = runtime.submit(&id("refused"), &sh("true")).await;
    assert!(matches!(refused, Err(RuntimeError::Unavailable { .. })), "{refused:?}");
    daemon.start_again().await;
    let outcome = end(&runtime, "once").await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(7), "before\nafter\n"));
    let outcome = end(&runtime, "short").await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(5), "before\nafter\n"));
    // The job's owner lives, so the job runs on.
    assert_eq!(runtime.find(&id("repeatable")).await.unwrap(), Found::Running);
    runtime.cancel(&id("repeatable"), Duration::ZERO).await.unwrap();
    let outcome = end(&runtime, "repeatable").await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Cancelled, "before\n"));
    for name in ["once", "short", "repeatable"] {
        runtime.remove(&id(name)).await.unwrap();
    }
    // A new client sees the same, and jobs run as before.
    assert_eq!(runtime.find(&id("refused")).await.unwrap(), Found::Never);
    assert_eq!(times(&runtime).await, 2);
    runtime.close().await;
    daemon.is_left_clean().await;
}

#[tokio::test]
async fn jobs_that_an_engine_takes_with_it_are_lost_and_not_run_again() {
    let Some(mut daemon) = Daemon::start("killed without live-restore", Settings::default()).await else {
        return;
    };
    let runtime = DockerRuntime::open(daemon.engine().await, options()).await.unwrap();
    submit(&runtime, "once", &once("echo before; sleep 600")).await;
    submit(&runtime, "ended", &once("echo before; sleep 0.2; exit 5")).await;
    daemon.kill();
    daemon.start_again().await;
    let outcome = end(&runtime, "once").await;
    assert!(matches!(outcome.end, End::Lost(_)), "{:?}", outcome.end);
    assert_eq!(outcome.stdout.text(), "before\n");
    let outcome = end(&runtime, "ended").await;
    assert!(matches!(outcome.end, End::Exited(5) | End::Lost(_)), "{:?}", outcome.end);
    runtime.submit(&id("once"), &once("true")).await.unwrap();
    assert!(matches!(end(&runtime, "once").await.end, End::Lost(_)), "an id is one attempt");
    for name in ["once", "ended"] {
        runtime.remove(&id(name)).await.unwrap();
    }
    assert_eq!(times(&runtime).await, 2);
    runtime.close().await;
    daemon.is_left_clean().await;
}

#[tokio::test]
async fn a_network_that_an_engine_has_not_is_refused() {
    let Some(daemon) = Daemon::start("without a network", Settings::default()).await else { return };
    let runtime = DockerRuntime::open(daemon.engine().await, options()).await.unwrap();
    let nowhere = once("true").network(Network::Named("nowhere".to_owned()));
    match runtime.submit(&id("nowhere"), &nowhere).await {
        Err(RuntimeError::Unavailable { problem, .. }) => assert!(problem.contains("nowhere"), "{problem}"),
        other => panic!("the network is not there: {other:?}"),
    }
    assert_eq!(runtime.find(&id("nowhere")).await.unwrap(), Found::Never);
    runtime.close().await;
    daemon.is_left_clean().await;
}

/// Duration for which an engine is stopped.
const STILL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn an_engine_that_stands_still_is_waited_for() {
    let Some(daemon) = Daemon::start("stopped", Settings::default()).await else { return };
    let runtime = DockerRuntime::open(daemon.engine().await, options()).await.unwrap();
    submit(&runtime, "once", &once("echo before; sleep 2; echo after; exit 7")).await;
    daemon.signal("STOP");
    let begun = Instant::now();
    let refused = runtime.submit(&id("late"), &once("true")).await;
    assert!(matches!(refused, Err(RuntimeError::Unavailable { .. })), "{refused:?}");
    let found = runtime.find(&id("unknown")).await;
    assert!(matches!(found, Err(RuntimeError::Unavailable { .. })), "{found:?}");
    assert_eq!(runtime.find(&id("once")).await.unwrap(), Found::Running);
    let waited = runtime.wait(&id("once")).await;
    assert!(matches!(waited, Err(RuntimeError::Unavailable { .. })), "{waited:?}");
    assert!(begun.elapsed() < STILL, "it took {:?}", begun.elapsed());
    tokio::time::sleep_until((begun + STILL).into()).await;
    daemon.signal("CONT");
    let outcome = end(&runtime, "once").await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(7), "before\nafter\n"));
    runtime.remove(&id("once")).await.unwrap();
    // A refused job may have been half created since. It never ran, and is removed when it is looked up.
    assert_eq!(runtime.find(&id("late")).await.unwrap(), Found::Never);
    assert_eq!(times(&runtime).await, 1);
    runtime.close().await;
    daemon.is_left_clean().await;
}

#[tokio::test]
async fn an_engine_without_space_refuses_and_recovers() {
    let Some(daemon) = Daemon::start("full", Settings { space: Some("48m"), ..Settings::default() }).await
    else {
        return;
    };
    let runtime = DockerRuntime::open(daemon.engine().await, options()).await.unwrap();
    submit(&runtime, "once", &once("echo before; sleep 3; echo after; exit 7")).await;
    let flood = daemon.data().join("flood");
    let filled = Command::new("dd")
        .arg(format!("of={}", flood.display()))
        .args(["if=/dev/zero", "bs=64k"])
        .output()
        .unwrap();
    assert!(!filled.status.success(), "it takes all there is");
    let refused =
        runtime.submit(&id("refused"), &once("true").file("data".parse().unwrap(), vec![7; 1 << 20])).await;
    match refused {
        Err(RuntimeError::Unavailable { problem, .. }) => assert!(problem.contains("space"), "{problem}"),
        other => panic!("expected to be refused for want of space: {other:?}"),
    }
    // The engine can't log the output any more, but a connected client receives it.
    let outcome = end(&runtime, "once").await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(7), "before\nafter\n"));
    std::fs::remove_file(flood).unwrap();
    runtime.remove(&id("once")).await.unwrap();
    assert_eq!(runtime.find(&id("refused")).await.unwrap(), Found::Never);
    assert_eq!(times(&runtime).await, 1);
    runtime.close().await;
    daemon.is_left_clean().await;
}

#[tokio::test]
async fn an_engine_out_of_reach_is_waited_for() {
    let Some(daemon) = Daemon::start("cut off", Settings { remote: true, ..Settings::default() }).await
    else {
        return;
    };
    let runtime = DockerRuntime::open(daemon.engine().await, options()).await.unwrap();
    submit(&runtime, "once", &once("echo before; sleep 2; echo after; exit 7")).await;
    submit(&runtime, "repeatable", &sh("echo before; sleep 2; echo after; exit 5")).await;
    daemon.cut();
    let refused = runtime.submit(&id("late"), &once("true")).await;
    assert!(matches!(refused, Err(RuntimeError::Unavailable { .. })), "{refused:?}");
    let waited = runtime.wait(&id("once")).await;
    assert!(matches!(waited, Err(RuntimeError::Unavailable { .. })), "{waited:?}");
    daemon.mend();
    for (name, code) in [("once", 7), ("repeatable", 5)] {
        let outcome = end(&runtime, name).await;
        assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(code), "before\nafter\n"));
        runtime.remove(&id(name)).await.unwrap();
    }
    assert_eq!(runtime.find(&id("late")).await.unwrap(), Found::Never);
    assert_eq!(times(&runtime).await, 1);
    runtime.close().await;
    daemon.is_left_clean().await;
}

/// Moments at which engines are killed. The engine is creating, attaching, starting or removing the
/// container, reading the job's input, or sending its output.
const MOMENTS: [Moment; 11] = [
    Moment::Before("POST", "/create"),
    Moment::After("POST", "/create"),
    Moment::Before("POST", "/attach"),
    Moment::After("POST", "/attach"),
    Moment::Before("POST", "/start"),
    Moment::After("POST", "/start"),
    Moment::Sent(1 << 20),
    Moment::Heard(1 << 10),
    Moment::Heard(1 << 20),
    Moment::Before("DELETE", ""),
    Moment::After("DELETE", ""),
];

/// Maximum duration of one case, with one kill, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_engine_may_be_killed_at_any_moment() {
    let Some(mut daemon) =
        Daemon::start("killed at any moment", Settings { live_restore: true, ..Settings::default() }).await
    else {
        return;
    };
    let line = Line::open(&daemon.near_socket(), &daemon.socket());
    let runtime = DockerRuntime::open(daemon.engine_at_the_line().await, options()).await.unwrap();
    // A first job creates the resources that are created only once. So the kill hits the later job's own
    // calls.
    runtime.run(&id("first"), &once("true")).await.unwrap();
    let bytes = vec![b'x'; 2 << 20];
    let job = once("echo before; sleep 0.3; cat given; echo after; exit 7");
    let job = job.file("given".parse().unwrap(), bytes.clone());
    for (number, moment) in (1..).zip(MOMENTS) {
        let name = id(&format!("job-{number}"));
        line.kill_at(moment, daemon.process());
        let whole = whole(&runtime, &name, &job);
        tokio::pin!(whole);
        let outcome = tokio::select! {
            _ = &mut whole => panic!("{moment:?} never came"),
            () = tokio::time::sleep(LIMIT) => panic!("{moment:?} never came"),
            () = line.killed() => {
                daemon.kill();
                let both = async { tokio::join!(whole, daemon.start_again()).0 };
                let both = tokio::time::timeout(LIMIT, both).await;
                both.unwrap_or_else(|_| panic!("killed at {moment:?}, the job has no end"))
            }
        };
        assert_eq!(outcome.end, End::Exited(7), "killed at {moment:?}");
        let all = "before\nafter\n".len() + bytes.len();
        assert_eq!(outcome.stdout.total(), u64::try_from(all).unwrap(), "killed at {moment:?}");
        assert_eq!(times(&runtime).await, number + 1, "killed at {moment:?}");
    }
    runtime.close().await;
    daemon.is_left_clean_but_for(2).await;
}

#[tokio::test]
async fn a_volume_that_is_there_may_be_written_whenever_the_engine_was_killed() {
    let Some(mut daemon) = Daemon::start(
        "killed while a volume is made",
        Settings { live_restore: true, ..Settings::default() },
    )
    .await
    else {
        return;
    };
    let line = Line::open(&daemon.near_socket(), &daemon.socket());
    let runtime = DockerRuntime::open(daemon.engine_at_the_line().await, options()).await.unwrap();
    runtime.run(&id("first"), &once("true")).await.unwrap();
    for moment in [Moment::Before("POST", "create"), Moment::After("POST", "create")] {
        let name = format!("{moment:?}")
            .to_lowercase()
            .chars()
            .filter(char::is_ascii_alphabetic)
            .collect::<String>();
        let volume = name.parse().unwrap();
        let job = once("echo there >/kept/file && cat /kept/file").volume(volume, "/kept");
        line.kill_at(moment, daemon.process());
        let name = id(&name);
        let whole = whole(&runtime, &name, &job);
        tokio::pin!(whole);
        let outcome = tokio::select! {
            _ = &mut whole => panic!("{moment:?} never came"),
            () = tokio::time::sleep(LIMIT) => panic!("{moment:?} never came"),
            () = line.killed() => {
                daemon.kill();
                tokio::join!(whole, daemon.start_again()).0
            }
        };
        assert_eq!(
            (outcome.end, outcome.stdout.text()),
            (End::Exited(0), "there\n".into()),
            "killed at {moment:?}"
        );
    }
    runtime.close().await;
}

/// Submits a job, waits for it and removes it. Repeats each step until it succeeds.
async fn whole(runtime: &DockerRuntime, id: &JobId, job: &Job) -> windlass_executor::Outcome {
    let limit = Instant::now() + Duration::from_secs(90);
    let is_in_time = |error: &RuntimeError| {
        assert!(matches!(error, RuntimeError::Unavailable { .. }) && Instant::now() < limit, "{id}: {error}");
    };
    while let Err(error) = runtime.submit(id, job).await {
        is_in_time(&error);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let outcome = loop {
        match runtime.wait(id).await {
            Ok(outcome) => break outcome,
            Err(error) => is_in_time(&error),
        }
    };
    while let Err(error) = runtime.remove(id).await {
        is_in_time(&error);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    outcome
}
