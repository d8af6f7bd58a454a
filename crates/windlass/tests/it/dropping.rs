//! Tests of programs that drop futures or prepared processes. One test kills a program that waits for its user, who
//! decides whether a prepared process runs.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use windlass::engine::{EngineError, Stop};
use windlass::init::{Language, Style, init};
use windlass::model::ProcessId;
use windlass::model::record::{Event, ProcessStatus};
use windlass::store::StoreError;
use windlass::{AssemblyInput, Error, Following, Settings, Windlass};

use crate::echo::Echo;
use crate::embedding::example;
use crate::shop::{Shop, shop};

/// Returns the command of the lease's holder if the error is that of an assembly in use.
fn holder(error: &Error) -> Option<String> {
    match error {
        Error::InUse { by, .. } | Error::Engine(EngineError::Store(StoreError::Held { by, .. })) => {
            Some(by.command.clone())
        }
        _ => None,
    }
}

/// A program prepares a process, and later drops the process without running it. Until then, the process must hold the
/// lease of its assembly. The next process must continue the dropped process.
#[tokio::test]
async fn a_dropped_process_frees_its_assembly() {
    let project = Shop::new();
    let started = project.up().await.unwrap();
    let dropped = started.process().id;
    let refused = project.other("other").up(project.input(), &Stop::default()).await.map(drop).unwrap_err();
    assert_eq!(holder(&refused).as_deref(), Some("embedder"), "{refused}");
    drop(started);
    project.is_free().await;
    let started = project.other("other").up(project.input(), &Stop::default()).await.unwrap();
    assert_eq!(started.process().continues, Some(dropped));
    assert_eq!(started.run(&Stop::default()).await.unwrap().process.status, ProcessStatus::Completed);
}

/// If the user declines, the process is recorded as cancelled, and no part is created.
#[tokio::test]
async fn a_declined_process_is_cancelled() {
    let project = Shop::new();
    let (started, stop) = (project.up().await.unwrap(), Stop::default());
    stop.request();
    let ended = started.run(&stop).await.unwrap();
    assert_eq!((ended.process.status, ended.tally.succeeded), (ProcessStatus::Cancelled, 0));
    assert_eq!(project.windlass.views().status(Some(&shop())).await.unwrap().assemblies[0].parts.active, 0);
}

/// Follows a process until the stream ends. Returns the processes whose ends are in the stream.
async fn ends(mut following: Following) -> Vec<ProcessId> {
    let mut ends = Vec::new();
    while let Some(events) = following.next().await.unwrap() {
        let ended = events.iter().filter(|event| matches!(event.draft.body, Event::ProcessEnded { .. }));
        ends.extend(ended.filter_map(|event| event.draft.process));
    }
    ends
}

/// A program follows a process that resumes an interrupted process. The stream must end with the resuming process, and
/// must not contain the end of the interrupted one.
#[tokio::test]
async fn following_ends_with_its_own_process() {
    let project = Shop::new();
    let interrupted = project.up().await.unwrap();
    let following = interrupted.follow();
    drop(interrupted);
    assert_eq!(ends(following).await, []);
    project.is_free().await;
    let started = project.up().await.unwrap();
    let (own, following, late) = (started.process().id, started.follow(), started.follow());
    let stop = Stop::default();
    let (ended, ends_meanwhile) = tokio::join!(started.run(&stop), ends(following));
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Completed);
    assert_eq!(ends_meanwhile, [own]);
    project.up().await.unwrap().run(&stop).await.unwrap();
    assert_eq!(ends(late).await, [own]);
}

/// The future of a process is dropped while a call is running. The next process makes the call again.
#[tokio::test]
async fn a_run_that_is_dropped_is_resumed() {
    let echo = Echo::default();
    let project = Shop::driven_by("echo: {}", |settings| settings.driver(echo.clone()));
    echo.hold(true);
    let (started, stop) = (project.up().await.unwrap(), Stop::default());
    let dropped = started.process().id;
    tokio::select! {
        ended = started.run(&stop) => panic!("{ended:?}"),
        () = echo.is_called() => {}
    }
    project.is_free().await;
    echo.hold(false);
    let started = project.up().await.unwrap();
    assert_eq!(started.process().continues, Some(dropped));
    assert_eq!(started.run(&stop).await.unwrap().process.status, ProcessStatus::Completed);
}

/// The program of `examples/embed.rs` is killed while it waits for the answer of its user.
#[tokio::test]
async fn the_assembly_of_a_killed_program_is_free() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path(), Some("hello"), Language::Shell, Style::Plain).unwrap();
    let mut command = Command::new(example("embed"));
    let command = command.arg(folder.path()).arg("--ask").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = command.spawn().unwrap();
    let lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let asked = lines.map(Result::unwrap).find(|line| line.starts_with("run it?"));
    assert!(asked.is_some());

    let windlass = Windlass::open(Settings::new(folder.path())).unwrap();
    let input = AssemblyInput::new(folder.path());
    let refused = windlass.up(input.clone(), &Stop::default()).await.map(drop).unwrap_err();
    assert!(holder(&refused).is_some(), "{refused}");
    program.kill().unwrap();
    program.wait().unwrap();
    let started = windlass.up(input, &Stop::default()).await.unwrap();
    assert!(started.process().continues.is_some());
}
