//! The tests stop processes in every state and at every moment. A stopped process must end soon. After the stop signal,
//! windlass must submit no more jobs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use windlass_driver::testing::{Fault, Faulty};
use windlass_driver::{Observation, Placement, Purpose};
use windlass_engine::{
    Answer, Arguments, Consent, DiscoveryQuery, Ended, EngineError, PlanFingerprint, Request, Selection, Stop,
};
use windlass_executor::{Job, Runtime as _};
use windlass_model::assembly::Cluster;
use windlass_model::record::{Assumption, CallState, Effect, FailureKind, Intent, ProcessStatus};
use windlass_model::{Seq, State};
use windlass_store::{Store as _, StoreError};

use crate::support::puppet::{Act, Spoil};
use crate::support::runtime::TAKES;
use crate::support::{Rig, Sketch, assembly_name, element, finder, literal, package_of};

/// A duration that no process of these tests exceeds.
const LONG: Duration = Duration::from_secs(3600);

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns an assembly with a part `hub`, to which all other parts are related. The relationships can be created only
/// one after another, because each needs the hub.
fn hub() -> Sketch {
    let others = ["a", "b", "c", "d"];
    let all = [["hub"].as_slice(), &others].concat();
    others.iter().fold(Sketch::new(&all), |sketch, other| sketch.relate(other, "hub"))
}

fn up(sketch: &Sketch) -> Request {
    Request::up(sketch.desired())
}

/// Executes an intent, and stops it after the time `after`. Further stop signals follow at the intervals
/// `apart`.
///
/// Returns the result and the time of the first signal.
async fn stopped(
    rig: &Rig,
    ask: impl Into<Request>,
    after: Duration,
    apart: &[Duration],
) -> (Result<Ended, EngineError>, Instant) {
    let stop = Stop::default();
    let since = Instant::now() + after;
    let signals = async {
        sleep(after).await;
        stop.request();
        for pause in apart {
            sleep(*pause).await;
            stop.request_now();
        }
        std::future::pending::<()>().await;
    };
    let asked = timeout(LONG, rig.ask_until("t", ask, &stop));
    let ended = tokio::select! {
        biased;
        () = signals => unreachable!("they wait for ever"),
        ended = asked => ended.expect("stopping ends"),
    };
    (ended, since)
}

/// Repeats `up` after a stop until all parts are Active. If windlass asks for the outcomes of calls, answers that these
/// calls have done nothing.
async fn arrives(rig: &Rig, sketch: &Sketch) {
    for _ in 0..20 {
        match rig.up(sketch.desired()).await {
            Ok(ended) if ended.process.status == ProcessStatus::Completed => return,
            Err(EngineError::NeedsDecision { .. }) => {
                // Here, stopped jobs have done nothing.
                rig.retry("t", Some(Assumption::NotDone)).await.expect("there is a question");
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it does not arrive");
}

/// `up` is creating one relationship of the hub, and the other relationships wait for the hub. If `up` is stopped at
/// this moment, windlass must cancel the waiting steps.
#[tokio::test(start_paused = true)]
async fn steps_that_are_parked_end_at_a_stop() {
    let rig = Rig::new(Effect::Once);
    // The other parts are installed, configured and started first, then the relationships are created.
    let (ended, since) = stopped(&rig, up(&hub()), millis(35), &[]).await;
    let ended = ended.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Cancelled);
    assert_eq!(ended.tally.cancelled, 4, "one that was made half, and three that were parked");
    assert!(since.elapsed() <= TAKES, "{:?}", since.elapsed());
    assert!(rig.strings.calls().ends_with(&["hub Join".to_owned()]), "{:?}", rig.strings.calls());
    arrives(&rig, &hub()).await;
}

/// The test runs each intent repeatedly, and stops each run later than the run before. There are three variants: one
/// stop signal, two signals at once, and three signals a few milliseconds apart. Each stopped run must end, and submit
/// no job after the first signal.
#[tokio::test(start_paused = true)]
async fn every_stop_ends_and_nothing_begins_after_it() {
    const LATENCY: u64 = 3;
    let sketch = Sketch::new(&["a", "b", "hub"]).relate("a", "hub").relate("b", "hub");
    let signals: [&[Duration]; 3] = [&[], &[Duration::ZERO], &[millis(4), millis(1)]];
    let asks = [
        up(&sketch),
        Intent::Down.into(),
        Intent::Heal(element("t__hub")).into(),
        Intent::SetState(State::Installed).into(),
    ];
    for (effect, (number, ask), signals) in combinations(
        &[Effect::Once, Effect::Repeatable],
        &asks.iter().enumerate().collect::<Vec<_>>(),
        &signals,
    ) {
        for after in (0..).step_by(if number == 0 { 4 } else { 7 }) {
            let rig = Rig::new(effect);
            if number > 0 {
                rig.up(sketch.desired()).await.unwrap();
            }
            rig.store.set_latency(millis(LATENCY));
            let (ended, since) = stopped(&rig, ask.clone(), millis(after), signals).await;
            if matches!(&ended, Ok(ended) if ended.process.status == ProcessStatus::Completed) {
                break;
            }
            let what = format!("{effect:?}, {number}, {signals:?}, {after}: {ended:?}");
            assert!(since.elapsed() <= TAKES + millis(4 * LATENCY), "{:?} after {what}", since.elapsed());
            assert_eq!(rig.jobs.submitted_after(since), 0, "{what}");
            rig.store.set_latency(Duration::ZERO);
            arrives(&rig, &sketch).await;
            sleep(millis(50)).await;
            assert_eq!(rig.jobs.left(), 0, "{what}");
        }
    }
}

/// Returns all combinations of three lists.
fn combinations<A: Clone, B: Clone, C: Clone>(one: &[A], two: &[B], three: &[C]) -> Vec<(A, B, C)> {
    let pairs = one.iter().flat_map(|a| two.iter().map(move |b| (a, b)));
    pairs.flat_map(|(a, b)| three.iter().map(move |c| (a.clone(), b.clone(), c.clone()))).collect()
}

/// An operator requests only the second stage of a stop. The process must end as cancelled, must not repeat a cancelled
/// action, and must not wait for an instance that is converging.
#[tokio::test(start_paused = true)]
async fn a_stop_in_its_second_stage_needs_no_first_stage() {
    for effect in [Effect::Once, Effect::Repeatable] {
        for (after, converges) in [(5, false), (5, true), (20_000, true)] {
            let rig = Rig::new(effect);
            let sketch = Sketch::new(&["a"]);
            if converges {
                rig.strings.act("a Install", Act::Converge(8));
            }
            let stop = Stop::default();
            let (ended, ()) = tokio::join!(rig.ask_until("t", up(&sketch), &stop), async {
                sleep(millis(after)).await;
                stop.request_now();
            });
            let ended = ended.unwrap();
            let what = format!("{effect:?}, after {after} ms, converges: {converges}");
            assert_eq!(ended.process.status, ProcessStatus::Cancelled, "{what}");
            let took = ended.process.ended.unwrap().millis_since(ended.process.created);
            assert!(took < after + 1000, "{took} ms, {what}");
            assert_eq!(rig.strings.calls(), ["a Install"], "{what}");
            arrives(&rig, &sketch).await;
        }
    }
}

/// A stop before the first step prevents all calls.
#[tokio::test(start_paused = true)]
async fn nothing_begins_after_a_stop_before_the_first_step() {
    let rig = Rig::new(Effect::Repeatable);
    let stop = Stop::default();
    let (engine, holder) = rig.engine();
    let prepared = engine.prepare(&assembly_name("t"), up(&hub()), &holder, &stop).await.unwrap();
    stop.request();
    let ended = prepared.run(&stop).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Cancelled);
    assert!(matches!(rig.ask_until("t", up(&hub()), &stop).await, Err(EngineError::Stopped)));
    assert_eq!((rig.strings.calls(), rig.jobs.submitted()), (vec![], vec![]));
}

/// A daemon is stopped while it runs a process of an assembly. The process must stay open, and the next daemon must be
/// able to resume the process.
#[tokio::test(start_paused = true)]
async fn a_process_of_a_stopped_daemon_stays_open() {
    let rig = Rig::new(Effect::Repeatable);
    let (engine, holder) = rig.engine();
    let (name, daemon) = (assembly_name("t"), holder.serving(true));
    let stop = Stop::default();
    let prepared = engine.prepare(&name, up(&hub()), &daemon, &stop).await.unwrap();
    stop.request();
    let process = prepared.run(&stop).await.unwrap().process;
    assert!(!process.status.is_final(), "{}", process.status);
    let open = rig.store.open_processes().await.unwrap();
    assert_eq!(open.iter().map(|open| open.id).collect::<Vec<_>>(), [process.id]);
    assert!(rig.store.holder(&name).await.unwrap().is_none(), "the lease is released");

    let stop = Stop::default();
    let resumed = engine.prepare(&name, Intent::Retry, &daemon, &stop).await.unwrap();
    assert_eq!(resumed.run(&stop).await.unwrap().process.status, ProcessStatus::Completed);
    assert!(rig.store.open_processes().await.unwrap().is_empty());
}

/// A user's request to stop one process of a daemon cancels this process.
#[tokio::test(start_paused = true)]
async fn a_process_of_a_daemon_that_a_user_stops_is_cancelled() {
    let rig = Rig::new(Effect::Repeatable);
    let (engine, holder) = rig.engine();
    let (name, stop) = (assembly_name("t"), Stop::default());
    // The install lasts until the engine reads the request to stop.
    rig.strings.act("a Install", Act::Converge(1000));
    let sketch = Sketch::new(&["a"]);
    let prepared = engine.prepare(&name, up(&sketch), &holder.serving(true), &stop).await.unwrap();
    rig.store.ask_to_stop(&name, prepared.process().id).await.unwrap();
    let ended = prepared.run(&stop).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Cancelled);
}

/// An instance that is still converging may be complete by now. Its removal and its replacement must need the same
/// permissions as those of an installed part.
#[tokio::test(start_paused = true)]
async fn a_converging_instance_is_not_destroyed_unasked() {
    let version = |size: &str| Sketch::new(&["a", "b"]).property("a", "size", literal(size));
    for is_protected in [true, false] {
        let version =
            |size: &str| if is_protected { version(size).protected("a") } else { version(size) }.desired();
        let down = Request::from(Intent::Down).with_consent(Consent::Any);
        let up = Request::up(version("3")).with_consent(Consent::None);
        for request in [down, up] {
            let rig = Rig::new(Effect::Once);
            rig.strings.act("a Install", Act::Converge(1000));
            let stop = Stop::default();
            let (ended, ()) = tokio::join!(rig.ask_until("t", Request::up(version("2")), &stop), async {
                tokio::time::sleep(Duration::from_secs(20)).await;
                stop.request();
            });
            assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
            let is_down = *request.intent() == Intent::Down;
            let done = rig.ask("t", request).await;
            if is_protected {
                assert!(matches!(done, Err(EngineError::Protected(_))), "down: {is_down}");
            } else if is_down {
                assert_eq!(done.unwrap().process.status, ProcessStatus::Completed);
            } else {
                assert!(matches!(done, Err(EngineError::NeedsConsent(_))));
            }
            assert_eq!(rig.strings.calls().contains(&"a Uninstall".to_owned()), !is_protected && is_down);
        }
    }
}

/// `up` is stopped before the record of a call is durable. windlass must not make this call. The next `up` must need no
/// decision and no cleanup.
#[tokio::test(start_paused = true)]
async fn a_call_that_may_be_made_after_the_stop_is_not() {
    let rig = Rig::new(Effect::Once);
    rig.store.set_latency(millis(10));
    let sketch = Sketch::new(&["a"]);
    // The process is durable after 10 ms, and the call after 20 ms.
    let (ended, _) = stopped(&rig, up(&sketch), millis(15), &[]).await;
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
    assert_eq!(rig.jobs.submitted(), [""; 0]);
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    let CallState::Failed(failure) = &history.processes[0].calls[0].state else { panic!("{history:?}") };
    assert_eq!(failure.message, "it was stopped on request before it began");
    let record = rig.look("t").await.elements[&element("t__a")].clone();
    assert_eq!((record.state, record.failure, record.made), (State::Absent, None, None));

    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.strings.calls(), ["a Install", "a Configure", "a Start"]);
}

/// Calls that an interrupted process left open stay open if the process that settles them is stopped.
#[tokio::test(start_paused = true)]
async fn open_calls_are_left_for_the_next_process_at_a_stop() {
    for effect in [Effect::Once, Effect::Repeatable] {
        for after in 0..15 {
            let rig = Rig::new(effect);
            assert!(rig.up_until_killed(hub().desired(), millis(15)).await);
            let before = rig.jobs.submitted().len();
            let (ended, since) = stopped(&rig, Intent::Down, millis(after), &[]).await;
            assert!(since.elapsed() <= TAKES, "{:?}", since.elapsed());
            assert_eq!(rig.jobs.submitted_after(since), 0, "{ended:?}");
            if after == 0 {
                assert!(matches!(ended, Err(EngineError::Stopped)), "{ended:?}");
                assert_eq!(rig.jobs.submitted().len(), before);
            }
            arrives(&rig, &hub()).await;
        }
    }
}

/// A process is stopped while it waits until an instance is ready. The call that launched the instance must stay open.
/// The next `up` must continue to wait, and must neither remove the instance nor install a second one.
#[tokio::test(start_paused = true)]
async fn a_stop_keeps_an_instance_that_is_still_converging() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Converge(8));
    let sketch = Sketch::new(&["a"]);
    let (ended, _) = stopped(&rig, up(&sketch), Duration::from_secs(20), &[]).await;
    let ended = ended.unwrap();
    assert_eq!((ended.process.status, ended.tally.cancelled), (ProcessStatus::Cancelled, 1));
    let open = rig.store.load(&assembly_name("t")).await.unwrap().unwrap().calls;
    assert!(matches!(&open[..], [call] if matches!(call.state, CallState::Converging { .. })), "{open:?}");

    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.strings.calls(), ["a Install", "a Configure", "a Start"]);
    assert_eq!(rig.states("t").await, "a Active");
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    assert_eq!(history.processes[0].calls[0].state, CallState::Succeeded);
}

/// A process is stopped while it waits until a removal is complete. The call that removes the instance must stay open.
/// The next process waits for the end of the removal, and does not call the script again. A process of other parts
/// neither waits nor ends the call.
#[tokio::test(start_paused = true)]
async fn a_stop_keeps_a_removal_open_that_is_still_converging() {
    let other = || Selection { target: [element("t__b")].into(), ..Selection::default() };
    let asks: [fn(Selection, &Sketch) -> Request; 4] = [
        |_, _| Intent::Down.into(),
        |_, sketch| up(sketch),
        |_, _| Intent::Retry.into(),
        |other, _| Request::from(Intent::Down).limited_to(other),
    ];
    for call in ["a Stop", "a Uninstall"] {
        for (number, ask) in asks.into_iter().enumerate() {
            let rig = Rig::new(Effect::Once);
            let sketch = Sketch::new(&["a", "b"]);
            rig.up(sketch.desired()).await.unwrap();
            rig.strings.act(call, Act::Converge(12));
            let only_a = Selection { target: [element("t__a")].into(), ..Selection::default() };
            let down = Request::from(Intent::Down).limited_to(only_a);
            let (ended, _) = stopped(&rig, down, Duration::from_secs(5), &[]).await;
            let ended = ended.unwrap();
            assert_eq!((ended.process.status, ended.tally.cancelled), (ProcessStatus::Cancelled, 1));
            let open = rig.look("t").await.calls;
            assert!(
                matches!(&open[..], [call] if matches!(call.state, CallState::Converging { .. })),
                "{open:?}"
            );

            let ended = rig.ask("t", ask(other(), &sketch)).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed, "{call}, {number}");
            let left = rig.store.load(&assembly_name("t")).await.unwrap();
            let is_left = left.as_ref().is_some_and(|left| !left.calls.is_empty());
            assert_eq!(is_left, number == 3, "{call}, {number}");
            if left.is_some() {
                rig.ask("t", Intent::Down).await.unwrap();
            }
            let repeated = rig.strings.calls().iter().filter(|made| *made == call).count();
            assert_eq!(repeated, 1 + usize::from(number == 1), "{call}, {number}: {:?}", rig.strings.calls());
        }
    }
}

/// `down` must remove an instance that is still converging. `down` may observe the instance once, but must not wait
/// until the instance is ready.
#[tokio::test(start_paused = true)]
async fn down_does_not_wait_for_a_converging_instance() {
    let limited = Selection { target: [element("t__a")].into(), ..Selection::default() };
    let asks = [Request::from(Intent::Down), Request::from(Intent::Down).limited_to(limited)];
    for ask in asks {
        let rig = Rig::new(Effect::Once);
        rig.strings.act("a Install", Act::Converge(1000));
        let (ended, _) = stopped(&rig, up(&Sketch::new(&["a"])), Duration::from_secs(20), &[]).await;
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);

        let start = Instant::now();
        let ended = rig.ask("t", ask).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed);
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert_eq!(rig.strings.calls(), ["a Install", "a Uninstall"]);
    }
}

/// Brings up `b` and the group `g` with two nodes. Then starts a change that replaces `part`. When the new instance of
/// `part` is converging, the function stops the process, or kills the process if `kills` is set. Returns the changed
/// assembly.
async fn changed_until_stopped(rig: &Rig, part: &str, kills: bool) -> Sketch {
    let version = |size: &str| {
        let group = Cluster { minimum: 1, maximum: Some(3), increment: 1 };
        Sketch::new(&["b"]).group("g", 2, group).property(part, "size", literal(size))
    };
    rig.up(version("1").desired()).await.expect("nothing fails");
    rig.strings.act(&format!("{part} Install"), Act::Converge(5));
    if kills {
        assert!(rig.up_until_killed(version("2").desired(), Duration::from_secs(3)).await);
    } else {
        let (ended, _) = stopped(rig, up(&version("2")), Duration::from_secs(3), &[]).await;
        assert_eq!(ended.expect("it is cancelled").process.status, ProcessStatus::Cancelled);
    }
    version("2")
}

/// Returns the calls of a part, without the first `skipped` ones.
fn calls_of(rig: &Rig, part: &str, skipped: usize) -> Vec<String> {
    let calls = rig.strings.calls();
    let own = calls.iter().filter_map(|call| call.strip_prefix(part)?.strip_prefix(' '));
    own.map(str::to_owned).skip(skipped).collect()
}

/// An instance is converging, and its call is open. A refused `down` must leave this call open. The next `up` must wait
/// for the instance.
#[tokio::test(start_paused = true)]
async fn a_refused_down_changes_nothing() {
    let other = PlanFingerprint::of(&(), None::<&()>);
    let down = || Request::from(Intent::Down);
    for (protects, refused) in
        [(true, down()), (false, down().with_consent(Consent::None)), (false, down().as_planned(other))]
    {
        let rig = Rig::new(Effect::Once);
        rig.strings.act("a Install", Act::Converge(12));
        let sketch = Sketch::new(&["a", "b"]);
        let sketch = if protects { sketch.protected("b") } else { sketch };
        let (ended, _) = stopped(&rig, up(&sketch), Duration::from_secs(20), &[]).await;
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
        let before = rig.look("t").await;

        let refusal = rig.ask("t", refused).await.unwrap_err();
        let after = rig.look("t").await;
        assert_eq!((&after.elements, &after.calls), (&before.elements, &before.calls), "{refusal}");

        rig.up(sketch.desired()).await.unwrap();
        assert_eq!(calls_of(&rig, "a", 0), ["Install", "Configure", "Start"], "{refusal}");
        assert_eq!(rig.states("t").await, "a Active, b Active", "{refusal}");
    }
}

/// The call of a converging instance stays open until the process of `down` begins. A stop before this moment changes
/// nothing.
#[tokio::test(start_paused = true)]
async fn a_stop_before_a_down_begins_keeps_a_converging_instance() {
    for after in 0..30 {
        let rig = Rig::new(Effect::Once);
        let sketch = changed_until_stopped(&rig, "b", false).await;
        rig.store.set_latency(millis(3));
        let (ended, _) = stopped(&rig, Intent::Down, millis(after), &[]).await;
        rig.store.set_latency(Duration::ZERO);
        match ended {
            Err(EngineError::Stopped) => {
                rig.up(sketch.desired()).await.unwrap();
                assert_eq!(calls_of(&rig, "b", 3), ["Stop", "Uninstall", "Install", "Configure", "Start"]);
            }
            Ok(_) => return assert!(after > 3, "{after}"),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("no process has begun");
}

/// windlass was killed while an instance was converging after its Configure or its Start. A removal does not wait for
/// this instance, and its preview shows the same steps. An `up` waits, and does not call the transition again.
#[tokio::test(start_paused = true)]
async fn a_removal_does_not_wait_for_a_started_instance() {
    for (call, removal, rest) in
        [("a Configure", &["Uninstall"][..], &["Start"][..]), ("a Start", &["Stop", "Uninstall"], &[])]
    {
        for removes in [false, true] {
            let rig = Rig::new(Effect::Once);
            rig.strings.act(call, Act::Converge(8));
            let sketch = Sketch::new(&["a"]);
            assert!(rig.up_until_killed(sketch.desired(), Duration::from_secs(5)).await);
            let before = calls_of(&rig, "a", 0).len();
            if !removes {
                assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Completed);
                assert_eq!(calls_of(&rig, "a", before), rest, "{call}");
                continue;
            }
            let preview = rig.engine().0.preview(&assembly_name("t"), Intent::Down).await.unwrap();
            let steps: Vec<String> = preview.plan.work().map(|(_, work)| work.to_string()).collect();
            assert_eq!(steps, removal.iter().map(|step| format!("a {step}")).collect::<Vec<_>>());
            let start = Instant::now();
            assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Completed);
            assert!(start.elapsed() < Duration::from_secs(1), "{call}: {:?}", start.elapsed());
            assert_eq!(calls_of(&rig, "a", before), removal, "{call}");
        }
    }
}

/// The instance of a part is converging. A process that does not change this part must not wait for the instance, and
/// must leave the call of the instance open.
#[tokio::test(start_paused = true)]
async fn a_process_of_other_parts_leaves_a_converging_call_open() {
    let b = element("t__b");
    let heal = || Intent::Heal(b.clone()).into();
    let only = || Selection { target: [b.clone()].into(), ..Selection::default() };
    let without = |name: &str| Selection { except: [element(name)].into(), ..Selection::default() };
    let down = |selection| Request::from(Intent::Down).limited_to(selection);
    let command = || Request::call(b.clone(), "Backup".parse().unwrap(), Arguments::default());
    let cases: [(&str, Option<Request>, &str); 6] = [
        ("g__1", Some(heal()), "b Active, g__1 Absent, g__2 Active"),
        ("g__1", Some(command()), "b Active, g__1 Absent, g__2 Active"),
        ("g__1", None, "b Active, g__1 Absent, g__2 Active"),
        ("g__1", Some(down(without("t__g"))), "b Absent, g__1 Absent, g__2 Active"),
        ("g__1", Some(down(only())), "b Absent, g__1 Absent, g__2 Active"),
        ("b", Some(down(without("t__b"))), "b Absent, g__1 Absent, g__2 Absent"),
    ];
    for (part, ask, states) in cases {
        for kills in [false, true] {
            let rig = Rig::new(Effect::Once);
            let sketch = changed_until_stopped(&rig, part, kills).await;
            let ask = ask.clone().unwrap_or_else(|| {
                let mut desired = sketch.desired();
                desired.options.target = only().target;
                desired.options.replace = only().target;
                Request::up(desired)
            });
            if kills {
                rig.ask_until_killed("t", ask.clone(), millis(15)).await;
            }
            let start = Instant::now();
            let ended = rig.ask("t", ask.clone()).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed, "{ask:?}");
            assert!(start.elapsed() < Duration::from_secs(1), "{ask:?}: {:?}", start.elapsed());
            assert_eq!(rig.states("t").await, states, "{ask:?}");
            let open = rig.look("t").await.calls;
            assert!(matches!(&open[..], [call] if call.from.is_some()), "{ask:?}: {open:?}");

            rig.up(sketch.desired()).await.unwrap();
            assert_eq!(rig.states("t").await, "b Active, g__1 Active, g__2 Active", "{ask:?}");
            let calls = calls_of(&rig, part, 3);
            assert_eq!(calls, ["Stop", "Uninstall", "Install", "Configure", "Start"], "{ask:?}");
            let history = rig.store.history(&assembly_name("t")).await.unwrap();
            let mut calls = history.processes.iter().flat_map(|process| &process.calls);
            assert!(calls.all(|call| call.state == CallState::Succeeded), "{ask:?}");
            assert!(rig.store.open_processes().await.unwrap().is_empty(), "{ask:?}");
        }
    }
}

/// The process of a converging call ends early, because another of its calls needs the operator's answer. The record of
/// the converging call must nevertheless tell where the call was made.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_left_open_keeps_its_origin() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["c"]).desired()).await.unwrap();
    rig.strings.act("a Install", Act::Converge(1000));
    rig.jobs.lose("b Install");
    for _ in 0..2 {
        rig.strings.see("b Install", Observation::CannotTell("it can not be seen".to_owned()));
    }
    assert!(rig.up_until_killed(Sketch::new(&["a", "b", "c"]).desired(), millis(200)).await);
    let heal = Request::from(Intent::Heal(element("t__c")));
    let refused = rig.ask("t", heal.clone()).await.unwrap_err();
    assert!(matches!(refused, EngineError::NeedsDecision { .. }), "{refused}");
    rig.ask("t", heal.with_answer(Some(Answer::of_all(Assumption::Done)))).await.unwrap();
    let open = rig.look("t").await.calls;
    assert!(matches!(&open[..], [call] if call.from == Some(rig.home.clone())), "{open:?}");
}

/// An intent needs a part whose instance is converging. If the part counted as failed, windlass would refuse the
/// intent. So windlass must wait for the instance first.
#[tokio::test(start_paused = true)]
async fn an_intent_that_needs_a_converging_instance_waits_for_it() {
    let sketch = Sketch::new(&["a", "b"]).relate("a", "b").made_before_target();
    let mut desired = sketch.desired();
    desired.options.except = [element("t__a")].into();
    let command = Request::call(element("t__a"), "Backup".parse().unwrap(), Arguments::default());
    for ask in [Request::up(desired), command] {
        let rig = Rig::new(Effect::Once);
        rig.strings.act("a Install", Act::Converge(12));
        let (ended, _) = stopped(&rig, up(&sketch), Duration::from_secs(20), &[]).await;
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
        let ended = rig.ask("t", ask.clone()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed, "{ask:?}");
    }
}

/// `a` depends on `b`, and the instance of `a` is still converging. `b` must not be removed without `a`.
#[tokio::test(start_paused = true)]
async fn a_converging_part_keeps_its_dependencies() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Converge(1000));
    let sketch = Sketch::new(&["a", "b"]).depends("a", "b");
    let (ended, _) = stopped(&rig, up(&sketch), Duration::from_secs(20), &[]).await;
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
    let down = |part: &str| {
        let only = Selection { target: [element(part)].into(), ..Selection::default() };
        Request::from(Intent::Down).limited_to(only)
    };
    let start = Instant::now();
    let refused = rig.ask("t", down("t__b")).await.unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(
        refused.to_string(),
        "`a` depends on `b`, which would be removed; remove `a` too, or leave `b` as it is"
    );
    assert_eq!(rig.states("t").await, "a Absent, b Active");
    rig.ask("t", down("t__a")).await.unwrap();
    assert_eq!(rig.ask("t", down("t__b")).await.unwrap().process.status, ProcessStatus::Completed);
}

/// A preview shows the removal or replacement of a converging instance. The plan of the preview is the plan that is
/// executed. If the plan waits for the instance, the preview shows the part as it is recorded.
#[tokio::test(start_paused = true)]
async fn a_preview_shows_the_removal_of_a_converging_instance() {
    let version = |size: &str| Sketch::new(&["a", "b"]).property("a", "size", literal(size));
    let only = Selection { target: [element("t__a")].into(), ..Selection::default() };
    let cases = [
        (Request::from(Intent::Down), "- a removed\n- b removed\n"),
        (Request::from(Intent::Down).limited_to(only), "- a removed\n"),
        (
            up(&version("3")),
            "-/+ a replaced, its last call has not succeeded, and it may contain data\n    size: 2 → 3\n\
             ~ b changed, Installed → Active\n",
        ),
        (up(&version("2")), "+ a added (resource::r::1.0)\n~ b changed, Installed → Active\n"),
    ];
    for (number, (ask, expected)) in cases.into_iter().enumerate() {
        let rig = Rig::new(Effect::Once);
        rig.strings.act("a Install", Act::Converge(12));
        let (ended, _) = stopped(&rig, up(&version("2")), Duration::from_secs(20), &[]).await;
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
        let before = format!("{:?}", rig.look("t").await);
        let (engine, _) = rig.engine();
        let preview = engine.preview(&assembly_name("t"), ask.clone()).await.unwrap();
        assert_eq!(preview.diff.to_string(), expected, "{ask:?}");
        assert_eq!(format!("{:?}", rig.look("t").await), before);
        assert!(preview.unfinished.is_some());
        let planned = PlanFingerprint::of(&preview.plan, Some(&preview.diff));
        let start = Instant::now();
        let done = rig.ask("t", ask.clone().as_planned(planned)).await;
        if number == 3 {
            assert!(matches!(done, Err(EngineError::OtherPlan(_))));
            assert!(start.elapsed() > Duration::from_secs(1), "it has not waited");
        } else {
            assert_eq!(done.unwrap().process.status, ProcessStatus::Completed, "{ask:?}");
            assert!(start.elapsed() < Duration::from_secs(1), "{ask:?}: {:?}", start.elapsed());
        }
    }
}

/// The new instance of `g__1` is converging. A plan that is limited to `b` must omit the next steps of `g__1`. windlass
/// must not report that the plan omits another replacement of `g__1`.
#[tokio::test(start_paused = true)]
async fn a_limited_plan_omits_the_next_steps_of_a_converging_instance() {
    let rig = Rig::new(Effect::Once);
    let mut desired = changed_until_stopped(&rig, "g__1", true).await.desired();
    desired.options.target = [element("t__b")].into();
    let (engine, holder) = rig.engine();
    let (name, stop) = (assembly_name("t"), Stop::default());
    let prepared = engine.prepare(&name, Request::up(desired), &holder, &stop).await.unwrap();
    assert_eq!(prepared.undone().to_string(), "~ g__1 changed, Absent → Active\n");
    assert!(prepared.plan().is_empty());
    prepared.run(&stop).await.unwrap();
}

/// If a process removes or replaces a converging instance, the process must not wait for the instance. The open call of
/// the instance must end when the process begins.
#[tokio::test(start_paused = true)]
async fn a_process_that_replaces_a_converging_instance_does_not_wait_for_it() {
    let version = |size: &str| Sketch::new(&["a"]).property("a", "size", literal(size));
    let mut replaced = version("2").desired();
    replaced.options.replace = [element("t__a")].into();
    for ask in [
        Intent::Rollback(None).into(),
        up(&version("3")),
        Request::up(replaced),
        up(&Sketch::new(&["b"])),
        Intent::Down.into(),
    ] {
        let rig = Rig::new(Effect::Once);
        rig.up(version("1").desired()).await.unwrap();
        rig.strings.act("a Install", Act::Converge(1000));
        let (ended, _) = stopped(&rig, up(&version("2")), Duration::from_secs(5), &[]).await;
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);

        let start = Instant::now();
        let ended = rig.ask("t", ask.clone()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed, "{ask:?}");
        assert!(start.elapsed() < Duration::from_secs(1), "{ask:?}: {:?}", start.elapsed());
        let removals = calls_of(&rig, "a", 0).into_iter().filter(|call| call == "Uninstall");
        assert_eq!(removals.count(), 2, "{ask:?}");
        assert!(rig.store.load(&assembly_name("t")).await.unwrap().is_none_or(|t| t.calls.is_empty()));
    }
}

/// `down` of a group does not wait for the converging instances of its nodes.
#[tokio::test(start_paused = true)]
async fn down_of_a_group_does_not_wait_for_its_nodes() {
    let rig = Rig::new(Effect::Once);
    changed_until_stopped(&rig, "g__1", true).await;
    let start = Instant::now();
    let group = Selection { target: [element("t__g")].into(), ..Selection::default() };
    let ended = rig.ask("t", Request::from(Intent::Down).limited_to(group)).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(rig.states("t").await, "b Active, g__1 Absent, g__2 Absent");
    assert!(rig.look("t").await.calls.is_empty());
}

/// A driver that panics fails its own call only.
#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_of_its_call() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Configure", Act::Panic("one that nobody expects"));
    let ended = rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(rig.states("t").await, "a Installed, b Active");
    let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().unwrap();
    let message = "its driver panicked: one that nobody expects; please report this as a bug of the driver";
    assert_eq!(failure.message, message);
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

/// A driver panics, or returns no result or two results for a call. This call must fail, and other calls must not fail.
#[tokio::test(start_paused = true)]
async fn a_faulty_driver_ends_its_own_call_only() {
    for fault in Fault::ALL {
        let rig = Rig::new(Effect::Once).and(Faulty::performing(fault));
        let sketch = Sketch::new(&["a", "b"]).of_type("a", "resource::f::1.0");
        let mut desired = sketch.desired();
        desired.packages.push(package_of("resource::f::1.0", "faulty", &[]));
        let ended = rig.up(desired).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Failed);
        assert_eq!(rig.states("t").await, "a Failed, b Active", "{fault:?}");
        let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().unwrap();
        assert_eq!(failure.kind, FailureKind::Protocol, "{failure}");
        assert_eq!((rig.jobs.effects()[0].as_str(), rig.jobs.left()), ("true", 0));
    }
}

/// The driver of a health check commits a fault. Such a check says nothing about the element, so windlass must not
/// report a breach. The same driver also searches for instances. If the driver panics during this search, the search
/// must fail.
#[tokio::test(start_paused = true)]
async fn a_faulty_check_is_no_breach() {
    for fault in Fault::ALL {
        let rig = Rig::new(Effect::Once).and(Faulty::looking(fault));
        let mut desired = Sketch::new(&["a"]).of_type("a", "resource::f::1.0").desired();
        desired.packages.push(package_of("resource::f::1.0", "faulty", &[]));
        rig.up(desired).await.unwrap();
        let (engine, _) = rig.engine();
        let seen = engine.look(&assembly_name("t")).await.unwrap();
        assert!(seen[0].is_unseen(), "{fault:?}: {:?}", seen[0]);

        let found = engine.env.discover(&search(&rig, "faulty"), &Stop::default()).await;
        assert_eq!(found.is_err(), fault == Fault::Panics, "{found:?}");
    }
}

/// Returns a search with the queries of a package whose driver is `driver`.
fn search(rig: &Rig, driver: &str) -> DiscoveryQuery {
    DiscoveryQuery {
        package: Arc::new(finder(driver)),
        placement: Placement::default(),
        properties: BTreeMap::new(),
        configuration: None,
        purpose: Purpose::Reference,
        store: Some(rig.store.id().clone()),
    }
}

/// A driver gives no answer to a health check or to a search. Both must end without a stop of the user.
#[tokio::test(start_paused = true)]
async fn a_check_and_a_search_without_an_answer_end() {
    let rig = Rig::new(Effect::Once);
    rig.strings.observe_in_batches();
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    rig.strings.spoil("a", Spoil::Hangs);
    rig.strings.hang_searches();
    let (engine, _) = rig.engine();
    let seen = timeout(LONG, engine.look(&assembly_name("t"))).await.expect("the check ends").unwrap();
    let failure = seen[0].sight.clone().unwrap_err();
    assert_eq!(failure.message, "its driver gave no answer within 120 s");
    let found = timeout(LONG, engine.env.discover(&search(&rig, "puppet"), &Stop::default()))
        .await
        .expect("the search ends");
    assert_eq!(found.unwrap_err().message, "its driver gave no answer within 600 s");
}

/// A driver gives no answer to a search, and the user requests a stop. The search must end soon.
#[tokio::test(start_paused = true)]
async fn a_stopped_search_without_an_answer_ends() {
    let rig = Rig::new(Effect::Once);
    rig.strings.hang_searches();
    let (engine, _) = rig.engine();
    let stop = Stop::default();
    stop.request();
    let quest = search(&rig, "puppet");
    let found = timeout(Duration::from_secs(10), engine.env.discover(&quest, &stop)).await;
    assert_eq!(
        found.expect("the search ends").unwrap_err().message,
        "it was stopped on request, and its driver did not end"
    );
}

/// A driver panics while it describes the action of a call, or while it observes the instance that converges after a
/// call. Windlass must treat the panic as a failure of this call.
#[tokio::test(start_paused = true)]
async fn a_panic_beside_a_job_is_a_failure_of_its_call() {
    let message = async |rig: &Rig| {
        let snapshot = rig.look("t").await;
        snapshot.elements[&element("t__a")].failure.clone().map(|failure| failure.message).unwrap_or_default()
    };
    let rig = Rig::new(Effect::Repeatable);
    rig.strings.panic_when_asked(Some("it can't describe that"));
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert!(message(&rig).await.contains("its driver panicked: it can't describe that"));
    rig.strings.panic_when_asked(None);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active");
    // The driver is also asked who uses the changed file of a package, and how late a command may answer.
    rig.strings.panic_when_asked(Some("it can't describe that"));
    rig.up(Sketch::new(&["a"]).repackaged("new")).await.unwrap();
    let command = Request::call(element("t__a"), "Backup".parse().unwrap(), Arguments::default());
    assert_eq!(rig.ask("t", command).await.unwrap().process.status, ProcessStatus::Failed);

    let rig = Rig::new(Effect::Repeatable);
    rig.strings.act("a Configure", Act::Converge(3));
    rig.strings.spoil("a", Spoil::Panics);
    let ended = rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(rig.states("t").await, "a Installed, b Active");
    let events = rig.store.events(Seq::START, 1000).await.unwrap();
    assert!(format!("{events:?}").contains("its driver panicked: it was told to panic"), "{events:#?}");
}

/// A runtime panics while it starts a job, so the outcome of the job is unknown. The panic must not count as a fault of
/// the driver, and the job must not run beside its repetition.
#[tokio::test(start_paused = true)]
async fn a_panic_of_a_runtime_is_a_lost_job() {
    for effect in [Effect::Once, Effect::Repeatable] {
        let rig = Rig::new(effect);
        rig.jobs.panic_at_submission("a Install");
        rig.jobs.last("a Install", Duration::from_secs(60));
        let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
        if effect == Effect::Once {
            assert_eq!(ended.tally.undecided, 1);
            let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().unwrap();
            let expected = "its runtime or the store panicked: the runtime was told to panic";
            assert!(failure.message.contains(expected), "{failure}");
        } else {
            assert_eq!(ended.process.status, ProcessStatus::Completed);
            assert_eq!(rig.strings.calls()[..2], ["a Install", "a Install (attempt 2)"]);
        }
        let crowds = rig.jobs.crowds();
        assert!(crowds.iter().all(|running| running.len() == 1), "{effect:?}: {crowds:?}");
    }
}

/// A windlass process is killed during a job, and the job continues. In the next windlass process, the driver panics
/// while this job still runs. Windlass must end the job, because otherwise the next call would run beside the job.
#[tokio::test(start_paused = true)]
async fn a_job_does_not_outlive_the_panic_of_its_driver() {
    for effect in [Effect::Once, Effect::Repeatable] {
        let rig = Rig::new(effect);
        let hour = Duration::from_secs(3600);
        rig.jobs.last("a Configure", hour);
        assert!(rig.up_until_killed(Sketch::new(&["a"]).desired(), Duration::from_secs(1)).await);
        rig.strings.act("a Configure", Act::PanicAtOnce);
        rig.jobs.last("a Configure", millis(10));
        let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed);
        tokio::time::sleep(2 * hour).await;
        let configured = rig.jobs.effects().iter().filter(|effect| *effect == "a Configure").count();
        assert_eq!((configured, rig.jobs.left()), (1, 0), "{effect:?}");
    }
}

/// A driver that ignores a stop is awaited for the grace period of its jobs and a few seconds more.
#[tokio::test(start_paused = true)]
async fn a_driver_that_hears_no_stop_is_not_waited_for_for_ever() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Configure", Act::Hang);
    let (ended, since) = stopped(&rig, up(&Sketch::new(&["a", "b"])), millis(100), &[millis(100)]).await;
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Cancelled);
    assert!(since.elapsed() < rig.options.grace + Duration::from_secs(6), "{:?}", since.elapsed());
    let error = rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap_err();
    assert!(matches!(error, EngineError::NeedsDecision { .. }), "{error}");
}

/// A program that embeds the engine drops the future of a running `up`, and the job of a call continues. The next `up`
/// must resume the work immediately, and must find this job.
#[tokio::test(start_paused = true)]
async fn a_dropped_process_is_resumed_without_its_lease() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.last("a Configure", Duration::from_secs(60));
    timeout(millis(100), rig.up(Sketch::new(&["a"]).desired())).await.unwrap_err();
    tokio::task::yield_now().await;
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.jobs.effects(), ["a Install", "a Configure", "a Start"]);
}

fn outage() -> StoreError {
    StoreError::Locked { path: "somewhere".into() }
}

/// The store fails when a process has ended and releases its lease. The program must get the result of the process.
/// After the outage, the lease must be released before it expires.
#[tokio::test(start_paused = true)]
async fn a_lease_that_can_not_be_released_hides_no_result() {
    let rig = Rig::new(Effect::Once);
    let outlasts = rig.store.lease_terms().expire_after / 3;
    rig.store.set_outage(Some(outage()));
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    sleep(outlasts).await;
    assert!(rig.store.holder(&assembly_name("t")).await.unwrap().is_some());
    rig.store.set_outage(None);
    sleep(Duration::from_secs(2)).await;
    assert!(rig.store.holder(&assembly_name("t")).await.unwrap().is_none());
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Completed);
}

/// A store outage shorter than the lease term does not end a process. Stop requests are queried again
/// afterwards.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_less_than_a_term_ends_nothing() {
    let rig = Rig::new(Effect::Once);
    let (terms, took) = (rig.store.lease_terms(), Duration::from_secs(60));
    rig.jobs.last("a Install", took);
    let troubled = async {
        sleep(terms.renew_every + millis(1)).await;
        rig.store.set_outage(Some(outage()));
        sleep(terms.expire_after.saturating_sub(terms.renew_every + millis(2))).await;
        rig.store.set_outage(None);
        std::future::pending::<()>().await;
    };
    let began = Instant::now();
    let ended = tokio::select! {
        () = troubled => unreachable!("it waits for ever"),
        ended = rig.up(Sketch::new(&["a"]).desired()) => ended.unwrap(),
    };
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert!(began.elapsed() > took);
}

/// All renewals of a lease fail for a whole term of the lease. Now the lease may belong to another holder, so the
/// process must end.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_a_term_ends_the_process() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.last("a Install", LONG);
    let troubled = async {
        sleep(millis(100)).await;
        rig.store.set_outage(Some(outage()));
        std::future::pending::<()>().await;
    };
    let began = Instant::now();
    let error = tokio::select! {
        () = troubled => unreachable!("it waits for ever"),
        ended = rig.up(Sketch::new(&["a"]).desired()) => ended.unwrap_err(),
    };
    assert!(matches!(error, EngineError::Store(StoreError::Locked { .. })), "{error}");
    assert_eq!(began.elapsed().as_secs(), rig.store.lease_terms().expire_after.as_secs());
}

/// A lease is renewed even while its process waits for a job of an earlier process.
#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_a_process_is_prepared() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    // The job was submitted, but its call was never recorded.
    let left = format!("{}-p1-s9-c0-a1-run", rig.store.id()).parse().unwrap();
    rig.jobs.last("left", Duration::from_secs(200));
    rig.jobs.submit(&left, &Job::command("left")).await.unwrap();
    let waits = rig.up(Sketch::new(&["a", "b"]).desired());
    let comes = async {
        sleep(Duration::from_secs(100)).await;
        rig.up(Sketch::new(&["a", "b"]).desired()).await
    };
    let (waited, came) = futures::join!(waits, comes);
    assert_eq!(waited.unwrap().process.status, ProcessStatus::Completed);
    assert!(matches!(came, Err(EngineError::Store(StoreError::Held { .. }))), "{came:?}");
}

/// A program that embeds the engine drops the preparation of a process. The lease is released.
#[tokio::test(start_paused = true)]
async fn a_dropped_preparation_releases_its_lease() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let left = format!("{}-p1-s9-c0-a1-run", rig.store.id()).parse().unwrap();
    rig.jobs.last("left", Duration::from_secs(200));
    rig.jobs.submit(&left, &Job::command("left")).await.unwrap();
    timeout(Duration::from_secs(100), rig.up(Sketch::new(&["a", "b"]).desired())).await.unwrap_err();
    tokio::task::yield_now().await;
    let ended = rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
}

/// A lease is renewed even while the process of a queued request is prepared.
#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_a_request_is_prepared() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let left = format!("{}-p1-s9-c0-a1-run", rig.store.id()).parse().unwrap();
    rig.jobs.last("left", Duration::from_secs(200));
    rig.jobs.submit(&left, &Job::command("left")).await.unwrap();
    let (engine, holder) = rig.engine();
    let request = engine.request(&assembly_name("t"), up(&Sketch::new(&["a", "b"])), &holder).await.unwrap();
    let (stop, serving) = (Stop::default(), holder.serving(true));
    let waits = async {
        let prepared = Box::pin(engine.take_up(&request, &serving, &stop)).await?;
        prepared.run(&stop).await
    };
    let comes = async {
        sleep(Duration::from_secs(100)).await;
        rig.up(Sketch::new(&["a", "b"]).desired()).await
    };
    let (waited, came) = futures::join!(waits, comes);
    assert_eq!(waited.unwrap().process.status, ProcessStatus::Completed);
    assert!(matches!(came, Err(EngineError::Store(StoreError::Held { .. }))), "{came:?}");
}

/// A runtime that does not answer for some seconds does not end a queued request.
#[tokio::test(start_paused = true)]
async fn a_request_waits_for_a_runtime_that_does_not_answer() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let (engine, holder) = rig.engine();
    let request = engine.request(&assembly_name("t"), up(&Sketch::new(&["a", "b"])), &holder).await.unwrap();
    let (stop, serving) = (Stop::default(), holder.serving(true));
    rig.jobs.unreachable(true);
    let refused = Box::pin(engine.take_up(&request, &serving, &stop)).await.err().unwrap();
    assert!(matches!(refused, EngineError::Unreachable(_)), "{refused}");
    rig.jobs.unreachable(false);
    let prepared = Box::pin(engine.take_up(&request, &serving, &stop)).await.unwrap();
    assert_eq!(prepared.run(&stop).await.unwrap().process.status, ProcessStatus::Completed);
}
