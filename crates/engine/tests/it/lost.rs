//! Lost answers, outcomes and secrets; full disks; records that no engine can have written.

use std::time::Duration;

use windlass_driver::Observation;
use windlass_engine::{Answer, Arguments, EngineError, Request, Stop};
use windlass_executor::{Job, Runtime as _};
use windlass_model::record::{
    Advance, Assumption, CallRecord, CallState, Effect, Event, EventRecord, Intent, PairRecord, ProcessStatus,
};
use windlass_model::{Action, CallId, ProcessId, Seq, Side, State, Timestamp};
use windlass_secret::Sensitive;
use windlass_store::{Batch, Holder, Store as _};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element, literal};

/// Writes a batch that no engine would write to the store.
async fn forge(rig: &Rig, batch: Batch) {
    let lease = rig.store.lease(&assembly_name("t"), &Holder::current("test")).await.expect("it is free");
    rig.store.commit(&lease, batch).await.expect("it is written");
    rig.store.release(lease).await.expect("it is released");
}

/// Returns the failure message of a part.
async fn why(rig: &Rig, part: &str) -> String {
    let mut elements = rig.look("t").await.elements;
    elements
        .remove(&element(part))
        .and_then(|part| part.failure)
        .map(|failure| failure.message)
        .expect("it has failed")
}

/// A job with an unreadable outcome has still acted.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_can_not_be_read_is_lost() {
    let mut damaged = 0;
    for batch in 1..30 {
        let rig = Rig::new(Effect::Once);
        let desired = || Sketch::new(&["a"]).desired();
        let (engine, holder, cut) = rig.mortal(batch, true);
        let (name, stop) = (assembly_name("t"), Stop::default());
        let ask = Request::up(desired());
        let whole = async { engine.prepare(&name, ask, &holder, &stop).await.unwrap().run(&stop).await };
        tokio::select! {
            biased;
            () = cut.dead() => {}
            ended = whole => drop(ended.unwrap()),
        }
        rig.bury(&holder);
        let Some(snapshot) = rig.store.load(&assembly_name("t")).await.unwrap() else { continue };
        let outcomes = snapshot.jobs.iter().filter_map(|job| job.end.as_ref()?.outcome.clone());
        let outcomes: Vec<_> = outcomes.filter(|outcome| snapshot.secrets.contains_key(outcome)).collect();
        let mut forged = Batch::new();
        for outcome in &outcomes {
            let garbage = Sensitive::new(b"{".to_vec());
            forged = forged.put_secret(outcome.clone(), assembly_name("t"), garbage);
        }
        if outcomes.is_empty() {
            continue;
        }
        damaged += 1;
        forge(&rig, forged).await;
        let refused = rig.up(desired()).await.unwrap_err();
        assert!(matches!(refused, EngineError::NeedsDecision { .. }), "{refused}");
        assert!(why(&rig, "t__a").await.contains("can't be read"), "{}", why(&rig, "t__a").await);
        let mut effects = rig.jobs.effects();
        effects.sort();
        effects.dedup();
        assert_eq!(effects.len(), rig.jobs.effects().len(), "killed at batch {batch}");
    }
    assert!(damaged > 0, "no outcome was damaged");
}

/// The files of a runtime were deleted, so the runtime does not know its jobs. If the runtime had accepted a job of a
/// `once` call, the job counts as lost, and must not run a second time. A job of a `repeatable` call must run again.
#[tokio::test(start_paused = true)]
async fn a_job_that_the_runtime_has_forgotten_is_lost() {
    for (effect, times) in [(Effect::Once, 1), (Effect::Repeatable, 2)] {
        for running in [true, false] {
            let rig = Rig::new(effect);
            let desired = || Sketch::new(&["a"]).desired();
            // The job takes 10 ms. If it has ended, nobody has recorded its end.
            rig.jobs.last("a Install", Duration::from_millis(10));
            assert!(rig.up_until_killed(desired(), Duration::from_millis(5)).await);
            if !running {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            rig.jobs.forget();
            let ended = rig.up(desired()).await;
            let installs = rig.jobs.submitted().iter().filter(|id| id.contains("-p1-s1-")).count();
            assert_eq!(installs, times, "{effect:?}: {:?}", rig.jobs.submitted());
            if effect == Effect::Once {
                let refused = ended.unwrap_err();
                assert!(matches!(refused, EngineError::NeedsDecision { .. }), "{refused}");
                assert!(why(&rig, "t__a").await.contains("no longer knows"), "{}", why(&rig, "t__a").await);
            } else {
                assert_eq!(ended.unwrap().process.status, ProcessStatus::Completed);
            }
        }
    }
}

/// A job waits for capacity, and exists only in the memory of its process. Then the process is killed. The next process
/// must run the job, because the job was never started.
#[tokio::test(start_paused = true)]
async fn a_queued_job_of_a_killed_process_is_run_by_the_next() {
    let rig = Rig::new(Effect::Once);
    let desired = || Sketch::new(&["a"]).desired();
    rig.jobs.queue("a Install", true);
    assert!(rig.up_until_killed(desired(), Duration::from_millis(5)).await);
    assert_eq!(rig.jobs.submitted().len(), 1);
    rig.jobs.forget();
    rig.jobs.queue("a Install", false);
    let ended = rig.up(desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.jobs.effects().iter().filter(|effect| *effect == "a Install").count(), 1);
}

/// A process that is stopped cancels its queued jobs.
#[tokio::test(start_paused = true)]
async fn a_stop_cancels_a_queued_job() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.queue("a Install", true);
    let stop = Stop::default();
    let (engine, holder, _) = rig.mortal(u64::MAX, true);
    let name = assembly_name("t");
    let ask = Request::up(Sketch::new(&["a"]).desired());
    let whole = async { engine.prepare(&name, ask, &holder, &stop).await.unwrap().run(&stop).await };
    let stopped = async {
        while rig.jobs.submitted().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stop.request_now();
    };
    let ended = Box::pin(async { tokio::join!(whole, stopped).0 });
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    assert_ne!(ended.unwrap().unwrap().process.status, ProcessStatus::Completed);
    assert_eq!(rig.jobs.effects(), [""; 0]);
}

/// An answer that did not fit on the disk is lost; the script itself has not failed.
#[tokio::test(start_paused = true)]
async fn an_answer_that_could_not_be_kept_is_lost() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.cut_answers_of("a Install");
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!((ended.process.status, ended.tally.undecided), (ProcessStatus::Failed, 1));
    assert!(why(&rig, "t__a").await.contains("the disk was full"), "{}", why(&rig, "t__a").await);
    let refused = rig.up(Sketch::new(&["a"]).desired()).await.unwrap_err();
    assert!(matches!(refused, EngineError::NeedsDecision { .. }), "{refused}");
    assert_eq!(rig.jobs.effects(), ["a Install"]);
}

/// Disk space for the answer is reserved before a `once` call starts.
#[tokio::test(start_paused = true)]
async fn without_room_for_its_answer_nothing_begins_that_happens_once() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.leave_room(Some(1 << 20));
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert!(why(&rig, "t__a").await.contains("free some space"), "{}", why(&rig, "t__a").await);
    assert_eq!(rig.jobs.submitted(), [""; 0]);
    rig.jobs.leave_room(Some(1 << 30));
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);

    // Two concurrent calls need twice the space. A repeatable call reserves none.
    let rig = Rig::new(Effect::Once);
    rig.jobs.leave_room(Some(20 << 20));
    let ended = rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    assert_eq!((ended.process.status, !rig.jobs.submitted().is_empty()), (ProcessStatus::Failed, true));
    let rig = Rig::new(Effect::Repeatable);
    rig.jobs.leave_room(Some(0));
    assert_eq!(rig.up(Sketch::new(&["a"]).desired()).await.unwrap().process.status, ProcessStatus::Completed);
}

/// A call that did not begin leaves the state of its part as it was. So the next command makes the call.
#[tokio::test(start_paused = true)]
async fn a_call_that_did_not_begin_changes_no_state() {
    let desired = |value: &str| Sketch::new(&["a"]).property("a", "in", literal(value)).desired();
    let (down, heal) = (Request::from(Intent::Down), Request::from(Intent::Heal(element("t__a"))));
    // A heal records the state Broken before its first call.
    for (ask, state, calls) in [
        (down, "a Active", &["a Stop", "a Uninstall"][..]),
        (heal, "a Broken", &["a Stop", "a Start"]),
        (
            Request::up(desired("2")),
            "a Active",
            &["a Stop", "a Uninstall", "a Install", "a Configure", "a Start"],
        ),
    ] {
        let rig = Rig::new(Effect::Once);
        rig.jobs.leave_room(Some(0));
        assert_eq!(rig.up(desired("1")).await.unwrap().process.status, ProcessStatus::Failed);
        let record = rig.look("t").await.elements.remove(&element("t__a")).unwrap();
        assert_eq!((record.state, record.made, record.attempted), (State::Absent, None, None));
        rig.jobs.leave_room(None);
        assert_eq!(rig.up(desired("1")).await.unwrap().process.status, ProcessStatus::Completed);
        rig.jobs.leave_room(Some(0));
        assert_eq!(rig.ask("t", ask.clone()).await.unwrap().process.status, ProcessStatus::Failed);
        assert_eq!(rig.states("t").await, state);
        rig.jobs.leave_room(None);
        let before = rig.jobs.effects().len();
        assert_eq!(rig.ask("t", ask).await.unwrap().process.status, ProcessStatus::Completed);
        assert_eq!(rig.jobs.effects()[before..], *calls);
    }
}

/// The second attempt of a call can't begin. But the first attempt may have had effects.
#[tokio::test(start_paused = true)]
async fn a_call_whose_repetition_did_not_begin_may_have_acted() {
    let rig = Rig::new(Effect::Repeatable);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    rig.jobs.lose("a Stop");
    rig.jobs.accept("a Stop", 1);
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Failed);
    assert_eq!(rig.states("t").await, "a Failed");
}

/// A killed process leaves a call open. When the next process takes up the call, the driver declares that the action
/// needs no call. windlass must close the call as done.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_no_longer_needed_is_closed() {
    let rig = Rig::new(Effect::Repeatable);
    let desired = || Sketch::new(&["a"]).desired();
    assert!(rig.up_until_killed(desired(), Duration::from_millis(5)).await);
    assert_eq!(rig.look("t").await.calls.len(), 1);
    rig.strings.idle();
    rig.up(desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active");
    assert_eq!(rig.look("t").await.calls, []);
}

/// The outcome of a call that ceases a relationship is unknown. When the operator decides about the call, the
/// relationship is already gone. The decision must have no effect: windlass must call all operations when it creates
/// the relationship again.
#[tokio::test(start_paused = true)]
async fn a_decision_about_a_relationship_that_is_gone_counts_for_nothing() {
    for answer in [Assumption::Done, Assumption::Failed] {
        let rig = Rig::new(Effect::Once);
        let desired = || Sketch::new(&["a", "b"]).relate("a", "b").desired();
        rig.up(desired()).await.unwrap();
        let history = rig.store.history(&assembly_name("t")).await.unwrap();
        let mut calls = history.processes.iter().flat_map(|process| &process.calls);
        let joined = calls.find(|call| call.pair.is_some()).unwrap();
        let ceased = CallRecord {
            id: CallId::of(rig.store.id(), joined.process, joined.step, 77),
            action: Action::Operation("Leave".parse().unwrap()),
            side: Side::Installed,
            then: Advance::PairProgress(1),
            state: CallState::Undecided,
            ended: None,
            ..joined.clone()
        };
        let gone = PairRecord::new(joined.pair.clone().unwrap(), joined.started);
        forge(&rig, Batch::new().put_call(ceased).put_pair(gone)).await;
        rig.ask("t", Request::retry(Answer::of_all(answer))).await.unwrap();
        let joins = |part: &str| {
            rig.jobs.effects().iter().filter(|effect| **effect == format!("{part} Join")).count()
        };
        assert_eq!((joins("a"), joins("b")), (2, 2), "{answer:?}: {:?}", rig.jobs.effects());
    }
}

/// A secret is missing in the store. A call that needs the secret must fail, and its script must not run.
#[tokio::test(start_paused = true)]
async fn a_call_whose_secret_is_missing_is_refused() {
    let rig = Rig::new(Effect::Once);
    let desired = || Sketch::new(&["a"]).secret("a", "password", "hunter2-hunter2").desired();
    rig.up(desired()).await.unwrap();
    let mut batch = Batch::new();
    for secret in rig.look("t").await.secrets.into_keys() {
        batch = batch.drop_secret(secret);
    }
    forge(&rig, batch).await;
    let ended = rig.ask("t", Intent::Heal(element("t__a"))).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    let message = why(&rig, "t__a").await;
    assert!(
        message.contains("`password` needs the secret") && message.contains("`windlass up`"),
        "{message}"
    );
    // Stop does not need the secret.
    assert_eq!(rig.jobs.effects().last().map(String::as_str), Some("a Stop"));
    let backup = Request::call(element("t__a"), "Backup".parse().unwrap(), Arguments::default());
    let ended = rig.ask("t", backup).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(rig.jobs.effects().last().map(String::as_str), Some("a Stop"));
    // An `up` with the secret stores it again, and `down` works without it.
    assert_eq!(rig.up(desired()).await.unwrap().process.status, ProcessStatus::Completed);
    let mut batch = Batch::new();
    for secret in rig.look("t").await.secrets.into_keys() {
        batch = batch.drop_secret(secret);
    }
    forge(&rig, batch).await;
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Completed);
}

/// The records contain a forged open call. If the id of the call is wrong, windlass must return an error. No forged
/// call may make a process wait forever.
#[tokio::test(start_paused = true)]
async fn forged_calls_are_errors_and_not_hangs() {
    let desired = || Sketch::new(&["a", "b"]).desired();
    for kind in 0..3 {
        let rig = Rig::new(Effect::Repeatable);
        assert!(rig.up_until_killed(desired(), Duration::from_millis(5)).await);
        let open = rig.look("t").await.calls;
        let mut call = open.first().expect("a call is open").clone();
        match kind {
            // A second call of the same step.
            0 => call.id = CallId::of(rig.store.id(), call.process, call.step, 77),
            // A call of another store.
            1 => call.id = CallId::of(&"other".parse().unwrap(), call.process, call.step, 0),
            // A call that never stops converging.
            _ => {
                let deadline = Timestamp::from_millis(i64::MAX / 2);
                (call.started, call.state) = (deadline, CallState::Converging { deadline });
            }
        }
        forge(&rig, Batch::new().put_call(call)).await;
        let whole = tokio::time::timeout(Duration::from_secs(3600), rig.up(desired())).await;
        let result = whole.unwrap_or_else(|_| panic!("forgery {kind} hangs"));
        match kind {
            0 | 1 => {
                let error = result.unwrap_err();
                assert!(matches!(error, EngineError::DamagedCall { .. }), "{error}");
            }
            _ => drop(result),
        }
    }
}

/// The next process removes the jobs of a killed check, but no job whose result may still be awaited.
#[tokio::test(start_paused = true)]
async fn jobs_of_checks_are_swept() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.jobs.left(), 0);
    let seconds = 1_700_000_000;
    for (over, random) in [(seconds + 60, "abcdefabcdef"), (seconds + 9000, "ghkmnpghkmnp")] {
        let id = format!("{}-w{over}-{random}-check", rig.store.id()).parse().unwrap();
        rig.jobs.submit(&id, &Job::command("check")).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(300)).await;
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(rig.jobs.left(), 1);
}

/// A retry keeps the target of the process that it resumes.
#[tokio::test(start_paused = true)]
async fn a_retry_of_a_target_is_limited_to_it() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Configure", Act::Fail);
    let mut desired = Sketch::new(&["a", "b"]).desired();
    desired.options.target = [element("t__a")].into();
    let ended = rig.up(desired).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    let ended = rig.retry("t", None).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.states("t").await, "a Active, b Absent");
}

/// The log entries of an interrupted process's call belong to that process, not to the next one.
#[tokio::test(start_paused = true)]
async fn warnings_about_a_settled_call_belong_to_its_process() {
    let rig = Rig::new(Effect::Repeatable);
    let sketch = || Sketch::new(&["a"]).desired();
    assert!(rig.up_until_killed(sketch(), Duration::from_millis(5)).await);
    for _ in 0..3 {
        rig.jobs.lose("a Install");
    }
    rig.up(sketch()).await.unwrap();
    let logged =
        |event: &EventRecord| matches!(event.draft.body, Event::Logged { .. }).then_some(event.draft.process);
    let events = rig.store.events_of(&assembly_name("t"), Seq::START, 100).await.unwrap();
    let processes: Vec<_> = events.iter().filter_map(logged).collect();
    assert_eq!(processes, [Some(ProcessId(1)); 2], "{events:?}");
}

/// If the instance is gone after its Start was lost, the Start is not repeated, and the next `up` installs the part
/// again.
#[tokio::test(start_paused = true)]
async fn a_lost_start_of_a_gone_instance_is_not_repeated() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.lose("a Start");
    rig.strings.see("a Start", Observation::Absent);
    let sketch = || Sketch::new(&["a"]).desired();
    let failed = rig.up(sketch()).await.unwrap();
    assert_eq!(failed.process.status, ProcessStatus::Failed);
    assert_eq!(rig.strings.calls(), ["a Install", "a Configure", "a Start"]);
    rig.up(sketch()).await.unwrap();
    assert_eq!(rig.strings.calls()[3..], ["a Install", "a Configure", "a Start"]);
    assert_eq!(rig.states("t").await, "a Active");
}

/// A job is lost while it is submitted. The same process must remove the remains of the job from the runtime, because
/// there may be no later process that could remove them.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_lost_at_its_submission_leaves_nothing() {
    let rig = Rig::new(Effect::Repeatable);
    rig.jobs.lose_at_submission("a Install");
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.jobs.left(), 0);
}
