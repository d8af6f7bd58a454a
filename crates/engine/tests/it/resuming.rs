//! A daemon resumes its interrupted processes, without asking a user.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::sleep;
use windlass_engine::{Arguments, Consent, Ended, EngineError, Request, Resumed, Stop, resume};
use windlass_model::assembly::{Cluster, MaxUnavailable, OnFailure, Property, Update};
use windlass_model::record::{Assumption, Effect, Intent, ProcessStatus};
use windlass_model::{Part, State, Template};
use windlass_store::Store as _;

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element, literal};

const CHECKS: Duration = Duration::from_secs(30);

impl Rig {
    /// Resumes the only open process, as a new daemon does. Returns `None` if nothing was left to do.
    async fn resume(&self) -> Result<Option<Ended>, EngineError> {
        let open = self.store.open_processes().await.expect("the store works");
        assert_eq!(open.len(), 1);
        let (engine, holder) = self.engine();
        let stop = Stop::default();
        match resume(&engine, &open[0], CHECKS, &holder.serving(true), &stop).await? {
            Resumed::Continued(prepared) => prepared.run(&stop).await.map(Some),
            Resumed::Ended(ended) => {
                assert!(ended.status.is_final());
                Ok(None)
            }
            _ => unreachable!(),
        }
    }
}

async fn stopped(rig: &Rig, ask: impl Into<Request>, after: Duration) -> Ended {
    let stop = Stop::default();
    let (ended, ()) = tokio::join!(rig.ask_until("t", ask, &stop), async {
        sleep(after).await;
        stop.request();
    });
    ended.expect("no error")
}

/// Returns a sketch of an assembly in which `a` reads an output of `b`. The Start of `b` changes the output.
fn with_a_reader(rig: &Rig, parts: &[&str]) -> Sketch {
    let published = Property { read_only: true, ..Property::default() };
    let output = Part::Property { element: element("t__b"), property: "address".parse().expect("a name") };
    let read = Property { value: Some(Template::Text(vec![output])), ..Property::default() };
    rig.strings.act("b Install", Act::Publish(serde_json::json!({ "address": "one" })));
    Sketch::new(parts).property("b", "address", published).property("a", "in", read)
}

/// A user has cancelled an upgrade. Then a heal of another part is interrupted. The daemon must continue the heal, and
/// must not continue the upgrade.
#[tokio::test(start_paused = true)]
async fn an_interrupted_heal_is_continued_as_a_heal() {
    let mut resumed_heals = 0;
    for after in 1..60 {
        let rig = Rig::new(Effect::Once);
        let v1 = Sketch::new(&["a", "b"]).property("a", "size", literal("1"));
        let v2 = Sketch::new(&["a", "b", "d"]).property("a", "size", literal("2"));
        rig.up(v1.desired()).await.unwrap();
        let heal = Intent::Heal(element("t__b"));
        let ended = stopped(&rig, Request::up(v2.desired()), Duration::from_millis(1)).await;
        assert_eq!(ended.process.status, ProcessStatus::Cancelled);
        let request = Request::from(heal.clone()).with_consent(Consent::None);
        rig.ask_until_killed("t", request, Duration::from_millis(after)).await;
        if rig.store.open_processes().await.unwrap().is_empty() {
            continue;
        }
        resumed_heals += 1;
        let before = rig.strings.calls().len();
        let resumed = rig.resume().await.unwrap().unwrap();
        assert_eq!((resumed.process.intent, resumed.process.status), (heal, ProcessStatus::Completed));
        assert_eq!(resumed.process.may_destroy, Some(BTreeSet::new()));
        let calls = rig.strings.calls().split_off(before);
        assert!(calls.iter().all(|call| call.starts_with("b ")), "{calls:?}");
        let effects = rig.jobs.effects();
        let stops = effects.iter().filter(|effect| *effect == "b Stop").count();
        assert_eq!(stops, 1, "a heal that is complete must not restart the part again: {effects:?}");
    }
    assert!(resumed_heals > 10);
}

/// A part has outdated inputs, and its replacement was never permitted. An interrupted process of other parts must be
/// resumed nevertheless, without the replacement.
#[tokio::test(start_paused = true)]
async fn outdated_inputs_do_not_prevent_the_resumption() {
    let rig = Rig::new(Effect::Repeatable);
    let sketch = with_a_reader(&rig, &["a", "b", "c"]);
    rig.up(sketch.desired()).await.unwrap();
    rig.strings.act("b Start", Act::PublishMore("address", "two".into()));
    rig.ask("t", Intent::Heal(element("t__b"))).await.unwrap();
    let heal = Intent::Heal(element("t__c"));
    assert!(rig.ask_until_killed("t", heal.clone(), Duration::from_millis(5)).await);
    let resumed = rig.resume().await.unwrap().unwrap();
    assert_eq!((resumed.process.intent, resumed.process.status), (heal, ProcessStatus::Completed));
    assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
}

/// `a` reads an output of `b`. The first `up` changes this output, and is killed at a different moment in each round.
/// The daemon must resume the `up`, and create the missing parts. If `a` is already Active, the daemon must not replace
/// `a`.
#[tokio::test(start_paused = true)]
async fn an_up_is_resumed_without_replacements_that_nobody_has_permitted() {
    let (mut killed, mut outdated) = (0, 0);
    for after in 1..300 {
        let rig = Rig::new(Effect::Repeatable);
        let sketch = with_a_reader(&rig, &["a", "b", "c"]).relate("b", "c");
        rig.strings.act("b Start", Act::PublishMore("address", "two".into()));
        let first = Request::up(sketch.desired()).with_consent(Consent::None);
        if !rig.ask_until_killed("t", first, Duration::from_millis(after)).await {
            break;
        }
        if rig.store.open_processes().await.unwrap().is_empty() {
            continue;
        }
        killed += 1;
        let before = rig.strings.calls().len();
        let was_active = rig.states("t").await.contains("a Active");
        let resumed = rig.resume().await.unwrap().unwrap();
        assert_eq!(resumed.process.status, ProcessStatus::Completed, "after {after} ms");
        assert!(resumed.process.except.is_empty());
        assert_eq!(rig.states("t").await, "a Active, b Active, c Active", "after {after} ms");
        let calls = rig.strings.calls().split_off(before);
        assert!(!was_active || !calls.contains(&"a Uninstall".to_owned()), "after {after} ms: {calls:?}");
        outdated += u32::from(!resumed.outdated.is_empty());
    }
    assert!(killed > 10 && outdated > 0, "{killed} {outdated}");
}

/// A user has cancelled an upgrade. Then the call of a command is interrupted. The daemon must not call the command a
/// second time, and must not continue the upgrade.
#[tokio::test(start_paused = true)]
async fn an_interrupted_command_is_only_settled() {
    let mut ended = 0;
    for after in 1..60 {
        let rig = Rig::new(Effect::Once);
        rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
        let v2 = Request::up(Sketch::new(&["a", "b"]).desired());
        assert_eq!(
            stopped(&rig, v2, Duration::from_millis(1)).await.process.status,
            ProcessStatus::Cancelled
        );
        let backup = Request::call(element("t__a"), "Backup".parse().unwrap(), Arguments::default());
        rig.ask_until_killed("t", backup, Duration::from_millis(after)).await;
        if rig.store.open_processes().await.unwrap().is_empty() {
            continue;
        }
        ended += 1;
        let before = rig.jobs.effects().len();
        assert!(rig.resume().await.unwrap().is_none());
        let effects = rig.jobs.effects();
        assert!(effects[before..].iter().all(|effect| effect == "a Backup"), "{effects:?}");
        assert!(effects.iter().filter(|effect| *effect == "a Backup").count() <= 1, "{effects:?}");
        assert!(rig.store.open_processes().await.unwrap().is_empty());
    }
    assert!(ended > 0);
}

/// A user has asked an interrupted process to stop. The process must end as Cancelled, and must not be resumed. A daemon
/// or the next command ends it.
#[tokio::test(start_paused = true)]
async fn an_unwanted_process_ends_as_cancelled() {
    for by_daemon in [true, false] {
        let rig = Rig::new(Effect::Repeatable);
        let sketch = Sketch::new(&["a", "b"]);
        assert!(rig.ask_until_killed("t", Request::up(sketch.desired()), Duration::from_millis(5)).await);
        let open = rig.store.open_processes().await.unwrap().remove(0);
        rig.store.ask_to_stop(&assembly_name("t"), open.id).await.unwrap();
        if by_daemon {
            assert!(rig.resume().await.unwrap().is_none());
        } else {
            rig.up(sketch.desired()).await.unwrap();
        }
        assert!(rig.store.open_processes().await.unwrap().is_empty());
        let ended = rig.store.process(open.id).await.unwrap().unwrap();
        assert_eq!(ended.status, ProcessStatus::Cancelled);
        assert_eq!(ended.reason.as_deref(), Some("it was stopped on request"));
    }
}

/// A process has ended before the daemon takes the lease of its assembly.
#[tokio::test(start_paused = true)]
async fn an_ended_process_is_not_resumed() {
    let rig = Rig::new(Effect::Repeatable);
    let sketch = Sketch::new(&["a"]);
    assert!(rig.ask_until_killed("t", Request::up(sketch.desired()), Duration::from_millis(5)).await);
    let open = rig.store.open_processes().await.unwrap().remove(0);
    rig.ask("t", Intent::Down).await.unwrap();
    let (engine, holder) = rig.engine();
    let resumed = resume(&engine, &open, CHECKS, &holder.serving(true), &Stop::default()).await.unwrap();
    assert!(matches!(resumed, Resumed::Ended(process) if process.id == open.id));
    assert!(rig.store.holder(&assembly_name("t")).await.unwrap().is_none());
}

fn nodes(value: &str) -> Sketch {
    let cluster = Cluster { minimum: 1, maximum: Some(3), increment: 1 };
    let update = Update {
        on_failure: OnFailure::Rollback,
        max_unavailable: Some(MaxUnavailable::ONE),
        ..Update::default()
    };
    let group = Sketch::new(&["lb"]).group("g", 3, cluster).updated("g", update);
    let group = group.relate("g", "lb").made_at(State::Active);
    (1..=3).fold(group, |group, node| group.property(&format!("g__{node}"), "in", literal(value)))
}

/// A failed `up` demands a rollback, and windlass exits before the rollback begins. A retry must execute the rollback
/// without a further consent.
#[tokio::test(start_paused = true)]
async fn a_demanded_rollback_needs_no_consent() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes("a").desired()).await.unwrap();
    rig.strings.act("g__1 Start", Act::Fail);
    let failed = rig.up(nodes("b").desired()).await.unwrap();
    assert!(failed.needs_rollback());
    let retry = Request::from(Intent::Retry).with_consent(Consent::None);
    let retried = rig.ask("t", retry).await.unwrap();
    assert!(matches!(retried.process.intent, Intent::Rollback(_)), "{}", retried.process.intent);
    assert_eq!(retried.process.status, ProcessStatus::Completed);
}

/// A daemon ends after a failed `up` that demands a rollback, and before this rollback begins. The next daemon must
/// execute the rollback, but only once, and only if no later process has changed the assembly.
#[tokio::test(start_paused = true)]
async fn a_demanded_rollback_is_resumed() {
    for is_corrected in [false, true] {
        let rig = Rig::new(Effect::Once);
        rig.up(nodes("a").desired()).await.unwrap();
        rig.strings.act("g__1 Start", Act::Fail);
        let (engine, holder) = rig.engine();
        let (name, daemon, stop) = (assembly_name("t"), holder.serving(true), Stop::default());
        let permitted = (1..=3).map(|node| element(&format!("t__g__{node}"))).collect();
        let up = Request::up(nodes("b").desired()).with_consent(Consent::Parts(permitted));
        let failed = engine.prepare(&name, up, &daemon, &stop).await.unwrap().run(&stop).await.unwrap();
        assert!(failed.needs_rollback() && failed.process.unattended);
        if is_corrected {
            rig.up(nodes("c").desired()).await.unwrap();
        } else {
            let resumed = resume(&engine, &failed.process, CHECKS, &daemon, &stop).await.unwrap();
            let Resumed::Continued(prepared) = resumed else { panic!("the rollback has not begun") };
            let ended = prepared.run(&stop).await.unwrap();
            assert!(matches!(ended.process.intent, Intent::Rollback(_)), "{}", ended.process.intent);
            assert_eq!((ended.process.status, ended.process.unattended), (ProcessStatus::Completed, true));
        }
        let again = resume(&engine, &failed.process, CHECKS, &daemon, &stop).await.unwrap();
        assert!(matches!(again, Resumed::Ended(process) if process.id == failed.process.id));
        assert!(rig.store.holder(&name).await.unwrap().is_none());
    }
}

/// `a` reads an output of `b`. The first `up` is killed when `a` is Active and its inputs are outdated. The daemon must
/// name the replacement that it omits, and the command that executes the replacement. This command must work.
#[tokio::test(start_paused = true)]
async fn an_omitted_replacement_is_named() {
    for after in 1..300 {
        let rig = Rig::new(Effect::Repeatable);
        let sketch = with_a_reader(&rig, &["a", "b", "c"]).relate("b", "c");
        rig.strings.act("b Start", Act::PublishMore("address", "two".into()));
        let first = Request::up(sketch.desired()).with_consent(Consent::None);
        assert!(rig.ask_until_killed("t", first, Duration::from_millis(after)).await, "{after}");
        let Some(open) = rig.store.open_processes().await.unwrap().pop() else { continue };
        let (engine, holder) = rig.engine();
        let (stop, daemon) = (Stop::default(), holder.serving(true));
        let resumed = resume(&engine, &open, CHECKS, &daemon, &stop).await.unwrap();
        let Resumed::Continued(prepared) = resumed else { panic!("it is not resumed") };
        let omitted = prepared.omitted().cloned();
        let ended = prepared.run(&stop).await.unwrap();
        let Some(omitted) = omitted else { continue };
        assert_eq!(ended.outdated.parts, [element("t__a")]);
        assert_eq!(omitted.to_string(), "`a` (replaced: `in` changes)");
        assert_eq!(omitted.command(), "windlass retry t");
        let retried = rig.ask("t", Intent::Retry).await.unwrap();
        return assert!(retried.outdated.is_empty());
    }
    panic!("no replacement was omitted");
}

/// The first `up` is killed after an output of `b` has changed. `a` was installed with the old value, so `a` would have
/// to be replaced, and `c` needs `a`. The resumption must be refused, and the error must name the replacement and a
/// command.
#[tokio::test(start_paused = true)]
async fn a_resumption_that_needs_a_replacement_names_it() {
    let rig = Rig::new(Effect::Repeatable);
    let sketch = with_a_reader(&rig, &["a", "b", "c"]).relate("a", "c");
    rig.strings.act("b Configure", Act::PublishMore("address", "two".into()));
    rig.jobs.last("a Configure", Duration::from_secs(60));
    let first = Request::up(sketch.desired()).with_consent(Consent::None);
    assert!(rig.ask_until_killed("t", first, Duration::from_secs(1)).await);
    let refused = rig.resume().await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it needs changes of other parts that nobody has agreed to: `a` (replaced: `in` changes); to make them, run \
         `windlass retry t`"
    );
    let retried = rig.ask("t", Intent::Retry).await.unwrap();
    assert_eq!(retried.process.status, ProcessStatus::Completed);
}

/// The outcome of a call of a node is unknown. The operator's answer decides whether the change has failed, so the
/// process must not demand a rollback yet.
#[tokio::test(start_paused = true)]
async fn an_undecided_call_demands_no_rollback() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes("a").desired()).await.unwrap();
    rig.jobs.lose("g__1 Start");
    let failed = rig.up(nodes("b").desired()).await.unwrap();
    assert!(failed.tally.undecided > 0 && !failed.needs_rollback());
    rig.jobs.lose_none();
    let retried = rig.retry("t", Some(Assumption::Done)).await.unwrap();
    assert_eq!(retried.process.status, ProcessStatus::Completed);
}
