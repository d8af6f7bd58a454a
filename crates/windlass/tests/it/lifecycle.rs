//! Tests of an assembly's lifecycle in an embedding program. Results are typed, and nothing is printed.

use std::sync::Arc;

use windlass::Error;
use windlass::engine::{Ended, EngineError, Stop};
use windlass::model::clock::SystemClock;
use windlass::model::record::{Event, EventRecord, Intent, ProcessStatus};
use windlass::model::retention::Retention;
use windlass::model::{ProcessId, State};
use windlass::store::Store;
use windlass::store::testing::{CountingEntropy, MemoryStore};
use windlass::view::log::LogFilter;

use crate::echo::Echo;
use crate::shop::{Shop, shop};

/// Prepares a change of the assembly and executes it to its end.
async fn change(project: &Shop, intent: Intent) -> Ended {
    let stop = Stop::default();
    let started = project.windlass.change(&shop(), intent, &stop).await.unwrap();
    started.run(&stop).await.unwrap()
}

#[tokio::test]
async fn an_assembly_is_planned_brought_up_looked_at_and_taken_down() {
    let project = Shop::new();
    let windlass = &project.windlass;
    let (plan, warnings) = windlass.plan(&project.input()).await.unwrap();
    assert_eq!((plan.counts.added, warnings.len()), (2, 0));
    assert!(windlass.views().status(None).await.unwrap().assemblies.is_empty());
    assert!(!project.path().join(".windlass").exists(), "planning creates no store");

    let started = project.up().await.unwrap();
    assert!(started.runs_here());
    assert_eq!(started.plan_view().steps.len(), plan.steps.len());
    let mut following = started.follow();
    let ended = started.run(&Stop::default()).await.unwrap();
    assert_eq!((ended.process.status, ended.reached), (ProcessStatus::Completed, State::Active));
    let events = following.ready().await.unwrap();
    let is_end = |event: &EventRecord| matches!(event.draft.body, Event::ProcessEnded { .. });
    assert_eq!(events.iter().filter(|event| is_end(event)).count(), 1);

    let status = windlass.views().status(Some(&shop())).await.unwrap();
    assert_eq!((status.assemblies[0].state, status.assemblies[0].parts.active), (State::Active, 2));
    assert_eq!(windlass.views().outputs(&shop()).await.unwrap().outputs["is"], "small");
    let again = project.up().await.unwrap();
    assert!(again.plan_view().counts.is_empty());
    again.run(&Stop::default()).await.unwrap();

    let down = change(&project, Intent::Down).await;
    assert_eq!(down.process.status, ProcessStatus::Completed);
    assert!(windlass.is_removed(&shop()).await.unwrap());
    assert!(windlass.views().status(None).await.unwrap().assemblies.is_empty());
    assert_eq!(windlass.views().log(&shop(), &LogFilter::default()).await.unwrap().processes.len(), 3);
    windlass.close().await.unwrap();
}

/// The embedding program passes its own store. windlass creates no other store.
#[tokio::test]
async fn a_store_of_the_program_keeps_the_records() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock), &CountingEntropy::default()));
    let project = Shop::driven_by("noop: {properties: {outputs: {is: size}}}", |settings| {
        settings.store(store.clone())
    });
    project.up().await.unwrap().run(&Stop::default()).await.unwrap();
    assert_eq!(store.assembly_names().await.unwrap(), [shop()]);
    let status = project.windlass.views().status(Some(&shop())).await.unwrap();
    assert_eq!(status.assemblies[0].state, State::Active);
    let state = windlass::doctor::look(&project.windlass).await.state;
    assert_eq!((state.kind, state.exists), (None, true));
    assert!(!project.path().join(".windlass/state.db").exists());
}

/// A driver of the embedding program publishes a new value. The program then updates the elements that read
/// it.
#[tokio::test]
async fn readers_of_a_changed_output_are_updated() {
    let project = Shop::driven_by("echo: {}", |settings| settings.driver(Echo::default()));
    let stop = Stop::default();
    project.up().await.unwrap().run(&stop).await.unwrap();
    let started = project.windlass.up(project.input().parameter("size", "large"), &stop).await.unwrap();
    // The first process leaves `guest`, which reads the size of `web`. A second process updates it.
    let last = project.windlass.complete(started, &stop).await.unwrap();
    assert_eq!((last.process.id, last.outdated.parts.len()), (ProcessId(3), 0));
    let status = project.windlass.views().status(Some(&shop())).await.unwrap();
    let published: Vec<_> =
        status.assemblies[0].components.iter().map(|part| part.outputs["is"].clone()).collect();
    assert_eq!(published, ["large", "the large"]);
}

#[tokio::test]
async fn old_processes_are_pruned() {
    let project = Shop::new();
    for _ in 0..3 {
        project.up().await.unwrap().run(&Stop::default()).await.unwrap();
    }
    let keep = Retention { keep: 1, older: "0s".parse().unwrap() };
    let processes = async || project.windlass.views().processes(None).await.unwrap().processes.len();
    let listed = project.windlass.upkeep().prune(Some(&shop()), keep, true).await.unwrap();
    assert_eq!((listed.dry_run, processes().await), (true, 3));
    let pruned = project.windlass.upkeep().prune(None, keep, false).await.unwrap();
    assert_eq!(pruned.assemblies[0].processes, listed.assemblies[0].processes);
    assert_eq!(processes().await, 3 - pruned.assemblies[0].processes.len());
}

/// Calls that make no sense return errors with codes. None of them changes anything.
#[tokio::test]
async fn wrong_uses_have_typed_errors() {
    let project = Shop::new();
    let (windlass, stop) = (&project.windlass, Stop::default());
    let none = windlass.views().outputs(&shop()).await.unwrap_err();
    assert!(matches!(&none, Error::NoState { folder, .. } if folder == windlass.project().root()), "{none}");
    assert!(!project.path().join(".windlass").exists(), "a wrong use creates no store");

    project.up().await.unwrap().run(&stop).await.unwrap();
    let ship = "ship".parse().unwrap();
    let unknown = [
        windlass.views().status(Some(&ship)).await.map(drop),
        windlass.views().outputs(&ship).await.map(drop),
        windlass.views().log(&ship, &LogFilter::default()).await.map(drop),
        windlass.views().history(&ship).await.map(drop),
        windlass.views().processes(Some(&ship)).await.map(drop),
        windlass.views().parts(&ship).await.map(drop),
        windlass.part(&ship, "web").await.map(drop),
        windlass.views().graph_of(&ship, windlass::graph::GraphView::Topology).await.map(drop),
        windlass.upkeep().prune(Some(&ship), Retention::default(), false).await.map(drop),
        windlass.current_packages(&ship, &project.path().join("shop"), &[]).await.map(drop),
        windlass.preview(&ship, Intent::Down).await.map(drop),
        windlass.change(&ship, Intent::Down, &stop).await.map(drop),
        windlass.upkeep().can_export(&ship, &project.path().join("ship.json")).await,
    ];
    for (number, result) in unknown.into_iter().enumerate() {
        let error = result.unwrap_err();
        let Error::Engine(EngineError::Unknown { name, known }) = &error else { panic!("{number}: {error}") };
        assert_eq!((name, &known[..]), (&ship, &[shop()][..]), "{number}");
        assert!(error.is_input() && error.to_string().contains("did you mean `shop`?"), "{number}: {error}");
    }

    let scale = Intent::ScaleOut("shop__web".parse().unwrap());
    let (p1, p9) = (ProcessId(1), ProcessId(9));
    for (result, code) in [
        (windlass.part(&shop(), "wep").await.map(drop), "WL0554"),
        (windlass.views().status_of_part(&shop(), "wep").await.map(drop), "WL0554"),
        (windlass.up(project.input().target(["wep".to_owned()]), &stop).await.map(drop), "WL0554"),
        (
            windlass
                .views()
                .log(&shop(), &LogFilter { part: Some("wep".to_owned()), ..LogFilter::default() })
                .await
                .map(drop),
            "WL0553",
        ),
        (windlass.views().process(p9).await.map(drop), "WL0556"),
        (windlass.cancel(&shop(), p1).await, "WL0557"),
        (windlass.cancel(&shop(), p9).await, "WL0204"),
        (windlass.withdraw(&shop(), windlass::model::RequestId(9)).await, "WL0559"),
        (windlass.change(&shop(), scale, &stop).await.map(drop), "WL0530"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.code().unwrap().as_str(), code, "{error}");
        assert!(error.is_input(), "{error}");
    }
    assert_eq!(windlass.views().processes(None).await.unwrap().processes.len(), 1);
}

/// The text of an error contains its diagnostics, so a program can print the error as it is.
#[tokio::test]
async fn an_error_of_the_input_says_what_is_wrong() {
    let project = Shop::new();
    let unknown = project.input().parameter("colour", "red");
    let error = project.windlass.up(unknown, &Stop::default()).await.err().unwrap();
    let text = error.to_string();
    assert!(matches!(error, Error::Input(_)) && text.contains("colour") && text.contains("WL"), "{text}");
}
