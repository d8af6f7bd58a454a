//! Leftovers of failed attempts are removed before the next attempt and by `down`.

use std::time::Duration;

use windlass_engine::{Answer, EngineError, Request, Stop};
use windlass_model::Transition;
use windlass_model::record::{Assumption, Effect, Intent, ProcessStatus};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, element};

/// Returns the calls after the first `before` calls.
fn since(rig: &Rig, before: usize) -> Vec<String> {
    rig.strings.calls()[before..].to_vec()
}

#[tokio::test(start_paused = true)]
async fn an_install_that_failed_is_uninstalled_before_the_next() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Fail);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Failed");
    assert_eq!(rig.look("t").await.elements[&element("t__a")].attempted, Some(Transition::Install));
    let before = rig.strings.calls().len();
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(since(&rig, before), ["a Uninstall", "a Install", "a Configure", "a Start"]);
    assert_eq!(rig.look("t").await.elements[&element("t__a")].attempted, None);
}

#[tokio::test(start_paused = true)]
async fn an_install_that_failed_is_uninstalled_by_down() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Fail);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let before = rig.strings.calls().len();
    let ended = rig.down("t").await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(since(&rig, before), ["a Uninstall"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_not_cleaned_up() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Refuse);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(since(&rig, before), ["a Install", "a Configure", "a Start"]);
}

/// If Create has failed, `down` must call Delete. It must not call Uninstall, because nothing was installed.
#[tokio::test(start_paused = true)]
async fn a_create_that_failed_is_deleted() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Create", Act::Fail);
    rig.up(Sketch::new(&["a"]).creatable("a").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.down("t").await.unwrap();
    assert_eq!(since(&rig, before), ["a Delete"]);
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_is_not_repeated() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Fail);
    rig.strings.act("a Delete", Act::Fail);
    rig.up(Sketch::new(&["a"]).creatable("a").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Failed);
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Completed);
    assert_eq!(since(&rig, before), ["a Uninstall", "a Delete", "a Delete"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_answered_as_failed_is_cleaned_up() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.lose("a Install");
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.retry("t", Some(Assumption::Failed)).await.unwrap();
    assert_eq!(since(&rig, before), ["a Uninstall", "a Install", "a Configure", "a Start"]);
}

fn related() -> Sketch {
    Sketch::new(&["a", "b"]).relate("a", "b").left_by_both()
}

/// Executes `up`, in which an operation of `a` fails after an operation of `b` has succeeded.
async fn half_made(rig: &Rig) {
    rig.strings.act("a Join", Act::Fail);
    let ended = rig.up(related().desired()).await.expect("it runs");
    assert_eq!(ended.process.status, ProcessStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_has_succeeded_is_not_called_again() {
    let rig = Rig::new(Effect::Once);
    half_made(&rig).await;
    let before = rig.strings.calls().len();
    rig.up(related().desired()).await.unwrap();
    assert_eq!(since(&rig, before), ["a Leave", "a Join", "b Start"]);
}

/// An operation without an inverse is called again.
#[tokio::test(start_paused = true)]
async fn an_operation_that_nothing_undoes_is_called_again() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Join", Act::Fail);
    let desired = || Sketch::new(&["a", "b"]).relate("a", "b").desired();
    rig.up(desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.up(desired()).await.unwrap();
    assert_eq!(since(&rig, before), ["a Join", "b Start"]);
}

#[tokio::test(start_paused = true)]
async fn a_half_made_relationship_is_undone_in_reverse_before_an_end_goes() {
    let rig = Rig::new(Effect::Once);
    half_made(&rig).await;
    let before = rig.strings.calls().len();
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Completed);
    assert_eq!(since(&rig, before), ["a Leave", "b Leave", "a Stop", "a Uninstall", "b Uninstall"]);
}

#[tokio::test(start_paused = true)]
async fn a_relationship_that_is_no_longer_wanted_is_undone() {
    let rig = Rig::new(Effect::Once);
    half_made(&rig).await;
    let before = rig.strings.calls().len();
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    let calls = since(&rig, before);
    assert_eq!(
        calls.iter().filter(|call| call.ends_with("Leave")).collect::<Vec<_>>(),
        ["a Leave", "b Leave"]
    );
    assert!(rig.look("t").await.pairs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_first_operation_that_failed_may_have_acted() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("b Join", Act::Fail);
    rig.up(related().desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.down("t").await.unwrap();
    assert_eq!(since(&rig, before)[0], "b Leave");
    assert!(!since(&rig, before).contains(&"a Leave".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_failed_undo_of_an_operation_is_retried() {
    let rig = Rig::new(Effect::Once);
    half_made(&rig).await;
    rig.strings.act("b Leave", Act::Fail);
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Failed);
    let before = rig.strings.calls().len();
    rig.down("t").await.unwrap();
    let calls = since(&rig, before);
    assert_eq!(calls.iter().filter(|call| call.ends_with("Leave")).collect::<Vec<_>>(), ["b Leave"]);
}

/// A partly ceased pair is ceased completely and then re-created.
#[tokio::test(start_paused = true)]
async fn a_half_ceased_relationship_is_re_created() {
    let rig = Rig::new(Effect::Once);
    rig.up(related().desired()).await.unwrap();
    rig.strings.act("a Leave", Act::Fail);
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    let before = rig.strings.calls().len();
    let ended = rig.up(related().desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(since(&rig, before), ["a Leave", "b Join", "a Join"]);
}

/// If a process is stopped between two operations of a relationship, the first operation is undone.
#[tokio::test(start_paused = true)]
async fn operations_made_before_a_stop_are_undone() {
    let (mut half, mut whole) = (0, 0);
    for after in 30..60 {
        let rig = Rig::new(Effect::Once);
        let stop = Stop::default();
        let asked = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(after)).await;
            asked.request();
        });
        rig.ask_until("t", Request::up(related().desired()), &stop).await.unwrap();
        rig.down("t").await.unwrap();
        let effects = rig.jobs.effects();
        let count = |what: &str| effects.iter().filter(|effect| *effect == what).count();
        assert_eq!(count("a Join"), count("a Leave"), "stopped after {after} ms: {effects:?}");
        assert_eq!(count("b Join"), count("b Leave"), "stopped after {after} ms: {effects:?}");
        half += usize::from(count("a Join") < count("b Join"));
        whole += count("a Join");
    }
    assert!(half > 0 && whole > 0, "{half}, {whole}");
}

/// A heal is killed after it has removed pairs. A second heal must create these pairs again.
#[tokio::test(start_paused = true)]
async fn a_heal_that_is_killed_and_made_again_makes_the_relationships() {
    let mut killed = 0;
    for (part, after) in (0..90).flat_map(|after| [("a", after), ("b", after)]) {
        let rig = Rig::new(Effect::Once);
        rig.up(related().desired()).await.unwrap();
        let heal = || Intent::Heal(element(&format!("t__{part}")));
        killed += usize::from(rig.ask_until_killed("t", heal(), Duration::from_millis(after)).await);
        rig.ask("t", heal()).await.unwrap();
        assert_eq!(rig.states("t").await, "a Active, b Active");
        let snapshot = rig.look("t").await;
        assert!(snapshot.pairs.values().all(|pair| pair.created), "{part}, killed after {after} ms");
        let effects = rig.jobs.effects();
        for end in ["a", "b"] {
            let count =
                |what: &str| effects.iter().filter(|effect| **effect == format!("{end} {what}")).count();
            assert_eq!(count("Join"), count("Leave") + 1, "{part}, killed after {after} ms: {effects:?}");
        }
    }
    assert!(killed > 20, "{killed}");
}

/// Only the operator can supply an instance id that the script chose and could not report.
#[tokio::test(start_paused = true)]
async fn the_id_of_a_lost_launch_is_asked_for() {
    let rig = Rig::new(Effect::Once);
    rig.strings.name_themselves();
    rig.jobs.lose("a Install");
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let answer = |what, natural: Option<&str>| {
        let natural = natural.map(ToOwned::to_owned);
        Request::retry(Answer { natural, ..Answer::of_all(what) })
    };
    let error = rig.ask("t", answer(Assumption::Done, None)).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Unnamed { parts, .. } if parts[0].0 == element("t__a") && parts.len() == 1),
        "{error}"
    );
    let error = rig.ask("t", answer(Assumption::NotDone, Some("i-1"))).await.unwrap_err();
    assert_eq!(error.to_string(), "`--natural` requires `--assume done`");
    rig.ask("t", answer(Assumption::Done, Some("i-1"))).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active");
    let snapshot = rig.look("t").await;
    assert_eq!(snapshot.instances[&element("t__a")].natural.as_deref(), Some("i-1"));
}

/// An operator states the natural id of an instance. If this id contains a secret, windlass must seal the id.
#[tokio::test(start_paused = true)]
async fn a_stated_id_with_a_secret_is_sealed() {
    let rig = Rig::new(Effect::Once);
    rig.strings.name_themselves();
    rig.jobs.lose("a Install");
    rig.up(Sketch::new(&["a"]).secret("a", "password", "hunter22").desired()).await.unwrap();
    let natural = Some("i-hunter22".to_owned());
    rig.ask("t", Request::retry(Answer { natural, ..Answer::of_all(Assumption::Done) })).await.unwrap();
    let snapshot = rig.look("t").await;
    let instance = &snapshot.instances[&element("t__a")];
    assert_eq!(instance.natural, None);
    let sealed = instance.sealed_natural.as_ref().unwrap();
    assert_eq!(snapshot.secrets[sealed].expose(), b"i-hunter22");
}

/// An operator answers that a lost operation has failed. The operation may have had effects, so windlass must undo it
/// and call it again. The element of the operation must not count as failed.
#[tokio::test(start_paused = true)]
async fn an_operation_that_a_person_calls_failed_is_undone_and_called_again() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.lose("a Join");
    rig.up(related().desired()).await.unwrap();
    let before = rig.strings.calls().len();
    let ended = rig.retry("t", Some(Assumption::Failed)).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(since(&rig, before), ["a Leave", "a Join", "b Start"]);
}
