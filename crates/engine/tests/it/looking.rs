//! Health checks in batches.

use windlass_driver::Observation;
use windlass_engine::{Absence, CheckEnd, Seen, Stop, check};
use windlass_model::record::{Effect, FailureKind};
use windlass_store::StoreError;

use crate::support::puppet::Spoil;
use crate::support::{Rig, Sketch, assembly_name};

/// Returns a rig with this number of active parts. The rig's driver observes several parts together, in a batch.
async fn up(parts: usize) -> Rig {
    let names: Vec<String> = (1..=parts).map(|number| format!("part{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rig = Rig::new(Effect::Repeatable);
    rig.strings.observe_in_batches();
    rig.up(Sketch::new(&names).desired()).await.expect("they come up");
    rig.strings.take_observed();
    rig
}

async fn look(rig: &Rig) -> Vec<Seen> {
    rig.engine().0.look(&assembly_name("t")).await.expect("the assembly is there")
}

#[tokio::test(start_paused = true)]
async fn elements_of_one_batch_are_one_observation() {
    let rig = up(3).await;
    let seen = look(&rig).await;
    assert_eq!(rig.strings.take_observed(), [["part1", "part2", "part3"]]);
    let names: Vec<&str> = seen.iter().map(|seen| seen.element.local()).collect();
    assert_eq!(names, ["part1", "part2", "part3"], "the order is that of the assembly");
    assert!(seen.iter().all(|seen| seen.sight == Ok(Observation::Reached)));
}

#[tokio::test(start_paused = true)]
async fn a_large_assembly_is_several_batches() {
    let rig = up(1100).await;
    assert_eq!(look(&rig).await.len(), 1100);
    let mut sizes: Vec<usize> = rig.strings.take_observed().iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [100, 1000]);
}

/// Elements with different packages are checked in different batches.
#[tokio::test(start_paused = true)]
async fn a_batch_has_one_package() {
    let rig = Rig::new(Effect::Repeatable);
    rig.strings.observe_in_batches();
    let sketch = Sketch::new(&["a", "b", "c"]).of_type("b", "resource::other::1.0");
    let mut desired = sketch.desired();
    desired.packages.push(crate::support::package_of("resource::other::1.0", "puppet", &[]));
    rig.up(desired).await.unwrap();
    rig.strings.take_observed();
    assert_eq!(look(&rig).await.len(), 3);
    let mut observed = rig.strings.take_observed();
    observed.sort();
    assert_eq!(observed, [vec!["a", "c"], vec!["b"]]);
}

/// An element whose check fails, or panics, is found by checks of smaller and smaller groups.
#[tokio::test(start_paused = true)]
async fn an_element_that_fails_affects_no_other() {
    for spoil in [Spoil::Fails, Spoil::Panics] {
        let rig = up(8).await;
        rig.strings.spoil("part2", spoil);
        let seen = look(&rig).await;
        let mut sizes: Vec<usize> = rig.strings.take_observed().iter().map(Vec::len).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 1, 2, 2, 4, 4, 8], "{spoil:?}: the batch, and its halves");
        let ill: Vec<&Seen> = seen.iter().filter(|seen| seen.is_well() != Some(true)).collect();
        assert_eq!(ill.iter().map(|seen| seen.element.local()).collect::<Vec<_>>(), ["part2"], "{spoil:?}");
        assert_eq!(ill[0].is_unseen(), spoil == Spoil::Panics);
    }
}

/// The observation of a batch tells nothing about one element. Windlass must observe this element again, without the
/// other elements.
#[tokio::test(start_paused = true)]
async fn an_element_without_an_answer_is_observed_alone() {
    let rig = up(2).await;
    rig.strings.see("part1 Start", Observation::CannotTell("it is not in the answer".to_owned()));
    let seen = look(&rig).await;
    assert_eq!(rig.strings.take_observed(), [vec!["part1", "part2"], vec!["part1"]]);
    assert!(seen.iter().all(|seen| seen.is_well() == Some(true)), "{seen:?}");
}

/// A batch that could not run is not repeated for each element.
#[tokio::test(start_paused = true)]
async fn a_batch_that_could_not_run_is_not_repeated() {
    let rig = up(3).await;
    rig.strings.spoil("part2", Spoil::NotRun);
    let seen = look(&rig).await;
    assert_eq!(rig.strings.take_observed().len(), 1);
    assert!(seen.iter().all(|seen| {
        seen.is_unseen() && seen.sight.as_ref().err().map(|why| why.kind) == Some(FailureKind::Infrastructure)
    }));
}

/// A check without news writes nothing, so it works beside a process that holds the assembly.
#[tokio::test(start_paused = true)]
async fn a_check_without_news_needs_no_lease() {
    let rig = up(1).await;
    let name = assembly_name("t");
    let (engine, holder) = rig.engine();
    let lease = engine.store.lease(&name, &rig.engine().1).await.unwrap();
    let checked = || async {
        check(&engine, std::slice::from_ref(&name), Absence::Doubted, &holder, &Stop::default()).await
    };
    let before = rig.look("t").await.elements;

    let end = checked().await.unwrap().remove(0).end;
    assert!(matches!(end, CheckEnd::Applied { changed: false, .. }), "{end:?}");
    assert_eq!(rig.look("t").await.elements, before);

    rig.strings.see("part1 Start", Observation::Absent);
    let end = checked().await.unwrap().remove(0).end;
    assert!(matches!(end, CheckEnd::Dropped(_)), "its holder may change it: {end:?}");
    engine.store.release(lease).await.unwrap();
    rig.strings.see("part1 Start", Observation::Absent);
    checked().await.unwrap();
    assert_ne!(rig.look("t").await.elements, before);
}

/// windlass can't record the result of a health check. The check must return this failure, and must release the lease
/// of the assembly.
#[tokio::test(start_paused = true)]
async fn a_failed_write_of_a_check_is_a_result_and_leaves_no_lease() {
    let rig = up(1).await;
    let name = assembly_name("t");
    let (engine, holder) = rig.engine();
    rig.strings.see("part1 Start", Observation::Absent);
    rig.store.fail_next(StoreError::Full { path: "somewhere".into() });
    let end = check(&engine, std::slice::from_ref(&name), Absence::Doubted, &holder, &Stop::default())
        .await
        .unwrap()
        .remove(0)
        .end;
    assert!(matches!(end, CheckEnd::Failed(_)), "{end:?}");
    assert!(engine.store.holder(&name).await.unwrap().is_none());
}
