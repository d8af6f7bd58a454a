//! Heal policies may heal a part only a limited number of times in a row. The records contain the number of these
//! heals, so that every daemon knows it.

use windlass_engine::monitor::{Heals, MOST_HEALS};
use windlass_engine::{Ended, EngineError, Request, Stop};
use windlass_model::record::{Effect, Intent, ProcessStatus};
use windlass_store::{Store as _, StoreError};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element};

/// Executes an intent as a new process of the daemon.
async fn unattended(rig: &Rig, ask: impl Into<Request>) -> Result<Ended, EngineError> {
    let (engine, holder) = rig.engine();
    let stop = Stop::default();
    engine.prepare(&assembly_name("t"), ask, &holder.serving(true), &stop).await?.run(&stop).await
}

fn heal(part: &str) -> Intent {
    Intent::Heal(element(&format!("t__{part}")))
}

async fn heals(rig: &Rig) -> [u32; 2] {
    let snapshot = rig.look("t").await;
    ["t__a", "t__b"].map(|part| snapshot.elements[&element(part)].heals)
}

#[tokio::test(start_paused = true)]
async fn heals_are_counted_whoever_watches() {
    let rig = Rig::new(Effect::Repeatable);
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    for tried in 1..=MOST_HEALS {
        let heals = Heals::of(rig.look("t").await.elements.values());
        assert!(!heals.is_left_alone(&element("t__a")), "after {} heals", tried - 1);
        unattended(&rig, heal("a")).await.unwrap();
    }
    assert_eq!(heals(&rig).await, [MOST_HEALS, 0]);
    let heals = Heals::of(rig.look("t").await.elements.values());
    assert!(heals.is_left_alone(&element("t__a")) && !heals.is_left_alone(&element("t__b")));
}

/// If a part is healthy again, windlass must set the heal count of this part to 0, and must leave the counts of other
/// parts unchanged. If another program holds the lease of the assembly, windlass must change no count.
#[tokio::test(start_paused = true)]
async fn a_part_that_is_well_counts_from_nothing() {
    let rig = Rig::new(Effect::Repeatable);
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    for part in ["a", "b", "a"] {
        unattended(&rig, heal(part)).await.unwrap();
    }
    let (engine, holder) = rig.engine();
    let (name, well) = (assembly_name("t"), [element("t__a"), element("t__gone")]);
    let (_, other) = rig.engine();
    let lease = rig.store.lease(&name, &other).await.unwrap();
    let held = engine.note_well(&name, &well, &holder).await;
    assert!(matches!(held, Err(EngineError::Store(StoreError::Held { .. }))), "{held:?}");
    assert_eq!(heals(&rig).await, [2, 1]);
    rig.store.release(lease).await.unwrap();
    engine.note_well(&name, &well, &holder).await.unwrap();
    assert_eq!(heals(&rig).await, [0, 1]);
    assert!(rig.store.holder(&name).await.unwrap().is_none(), "the lease is given back");
}

#[tokio::test(start_paused = true)]
async fn a_users_intent_resets_the_count_of_heals() {
    let rig = Rig::new(Effect::Repeatable);
    let desired = Sketch::new(&["a", "b"]).desired();
    rig.up(desired.clone()).await.unwrap();
    unattended(&rig, heal("a")).await.unwrap();
    rig.ask("t", heal("b")).await.unwrap();
    assert_eq!(heals(&rig).await, [0, 0]);
    unattended(&rig, heal("a")).await.unwrap();
    rig.up(desired).await.unwrap();
    assert_eq!(heals(&rig).await, [0, 0], "an `up` that changes nothing");
    // A user's request that the daemon executes counts as a user's intent.
    unattended(&rig, heal("a")).await.unwrap();
    let (engine, holder) = rig.engine();
    let request = engine.request(&assembly_name("t"), heal("a"), &holder).await.unwrap();
    let stop = Stop::default();
    let (engine, holder) = rig.engine();
    Box::pin(engine.take_up(&request, &holder.serving(true), &stop)).await.unwrap().run(&stop).await.unwrap();
    assert_eq!(heals(&rig).await, [0, 0]);
}

/// A policy causes a heal. The heal fails, and the daemon retries it. windlass must count exactly one heal.
#[tokio::test(start_paused = true)]
async fn a_heal_that_fails_counts_once() {
    let rig = Rig::new(Effect::Repeatable);
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    rig.strings.act("a Start", Act::Fail);
    let ended = unattended(&rig, heal("a")).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(heals(&rig).await, [1, 0]);
    unattended(&rig, Intent::Retry).await.unwrap();
    assert_eq!(heals(&rig).await, [1, 0]);
    // A heal that cannot start does not count.
    unattended(&rig, heal("nothing")).await.unwrap_err();
    assert_eq!(heals(&rig).await, [1, 0]);
}
