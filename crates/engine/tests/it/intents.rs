//! Intents (up, down, retry, stop) and the reasons for refusing them.

use std::time::Duration;

use windlass_engine::{BaseVersion, EngineError, Request, Stop};
use windlass_model::record::{Effect, ProcessStatus};
use windlass_store::{Store as _, StoreError};

use crate::support::runtime::TAKES;
use crate::support::{Rig, Sketch, assembly_name};

#[tokio::test(start_paused = true)]
async fn down_is_the_mirror_image_and_forgets() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a", "b"]).relate("a", "b").desired()).await.unwrap();
    let before = rig.jobs.effects().len();
    let ended = rig.down("t").await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.jobs.effects()[before..], ["b Leave", "b Stop", "a Stop", "a Uninstall", "b Uninstall"]);
    assert!(rig.store.load(&assembly_name("t")).await.unwrap().is_none());
    let message = rig.down("t").await.unwrap_err().to_string();
    assert_eq!(message, "there is no assembly `t`; the store has no assemblies");
    assert_eq!(rig.store.history(&assembly_name("t")).await.unwrap().processes.len(), 2, "history stays");
}

#[tokio::test(start_paused = true)]
async fn up_again_does_nothing_and_says_so() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a"]);
    rig.up(sketch.desired()).await.unwrap();
    let before = rig.strings.calls().len();
    let ended = rig.up(sketch.desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.strings.calls().len(), before);
}

#[tokio::test(start_paused = true)]
async fn new_parts_join_what_is_up() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.up(Sketch::new(&["a", "b"]).relate("a", "b").desired()).await.unwrap();
    let calls = &rig.strings.calls()[before..];
    assert_eq!(calls, ["b Install", "b Configure", "b Join", "a Join", "b Start"]);
}

#[tokio::test(start_paused = true)]
async fn a_name_belongs_to_one_descriptor() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let mut other = Sketch::new(&["a"]).desired();
    other.descriptor = "assembly::other::1.0".parse().unwrap();
    let error = rig.up(other).await.unwrap_err();
    assert!(matches!(error, EngineError::NameTaken { .. }), "{error}");
}

/// A desired assembly was derived from a recorded version. Later, another intent has changed the recorded assembly. The
/// desired assembly would undo this change, so windlass must refuse it.
#[tokio::test(start_paused = true)]
async fn a_change_of_an_earlier_version_is_refused() {
    let rig = Rig::new(Effect::Once);
    let based = |sketch: &Sketch, base: &BaseVersion| {
        let mut desired = sketch.desired();
        desired.options.base = Some(Box::new(base.clone()));
        desired
    };
    let present = async || BaseVersion::of(&rig.store.assembly(&assembly_name("t")).await.unwrap().unwrap());
    let (one, two) = (Sketch::new(&["a"]), Sketch::new(&["a", "b"]));
    rig.up(one.desired()).await.unwrap();
    let first = present().await;
    rig.up(based(&two, &first)).await.unwrap();
    let error = rig.up(based(&one, &first)).await.unwrap_err();
    assert!(matches!(error, EngineError::OtherVersion(_)), "{error}");
    rig.up(based(&one, &present().await)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_assembly_has_one_owner_at_a_time() {
    let rig = Rig::new(Effect::Once);
    let (engine, holder) = rig.engine();
    let stop = Stop::default();
    let prepared = engine
        .prepare(&assembly_name("t"), Request::up(Sketch::new(&["a"]).desired()), &holder, &stop)
        .await
        .unwrap();
    let error = rig.up(Sketch::new(&["a"]).desired()).await.unwrap_err();
    assert!(matches!(error, EngineError::Store(StoreError::Held { .. })), "{error}");
    prepared.run(&stop).await.unwrap();
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_running_jobs_end_and_the_rest_goes_on_later() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a", "b"]);
    let (engine, holder) = rig.engine();
    let stop = Stop::default();
    let prepared =
        engine.prepare(&assembly_name("t"), Request::up(sketch.desired()), &holder, &stop).await.unwrap();
    let told = stop.clone();
    let cut = async move {
        tokio::time::sleep(TAKES / 2).await;
        told.request();
    };
    let (ended, ()) = tokio::join!(prepared.run(&stop), cut);
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
    assert_eq!(rig.jobs.effects(), ["a Install", "b Install"]);
    assert_eq!(rig.states("t").await, "a Installed, b Installed");
    rig.retry("t", None).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_of_a_once_call_is_asked_about_and_a_repeatable_one_runs_again() {
    for (effect, asks) in [(Effect::Once, true), (Effect::Repeatable, false)] {
        let rig = Rig::new(effect);
        let (engine, holder) = rig.engine();
        let stop = Stop::default();
        let prepared = engine
            .prepare(&assembly_name("t"), Request::up(Sketch::new(&["a"]).desired()), &holder, &stop)
            .await
            .unwrap();
        let told = stop.clone();
        let cut = async move {
            tokio::time::sleep(TAKES / 2).await;
            told.request_now();
        };
        let (ended, ()) = tokio::join!(prepared.run(&stop), cut);
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
        let again = rig.up(Sketch::new(&["a"]).desired()).await;
        match again {
            Err(EngineError::NeedsDecision { .. }) => assert!(asks),
            Ok(_) => assert!(!asks),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_stops_everything_and_loses_nothing() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a", "b"]).relate("a", "b");
    let (engine, holder) = rig.engine();
    let stop = Stop::default();
    let prepared =
        engine.prepare(&assembly_name("t"), Request::up(sketch.desired()), &holder, &stop).await.unwrap();
    let store = rig.store.clone();
    let fail = async move {
        tokio::time::sleep(TAKES + TAKES / 2).await;
        store.fail_next(StoreError::Full { path: "state.db".into() });
    };
    let (ended, ()) = tokio::join!(prepared.run(&stop), fail);
    assert!(matches!(ended.unwrap_err(), EngineError::Store(StoreError::Full { .. })));
    tokio::time::sleep(Duration::from_secs(1)).await;
    rig.bury(&holder);
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active");
    let mut effects = rig.jobs.effects();
    let count = effects.len();
    effects.sort();
    effects.dedup();
    assert_eq!(effects.len(), count, "nothing was done twice");
}
