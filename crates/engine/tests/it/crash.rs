//! Crashes at every moment: the next process resumes, and no effect occurs twice.

use std::time::Duration;

use windlass_driver::Observation;
use windlass_engine::{Argument, Arguments, EngineError, Request, Stop};
use windlass_model::record::{Assumption, CallState, Effect, Event, Intent, ProcessStatus};
use windlass_model::{ProcessId, Seq};
use windlass_store::Store as _;

use crate::support::puppet::Act;
use crate::support::{Reach, Rig, Sketch, assembly_name, element};

/// All effects of creating the assembly, each once.
const ALL: [&str; 12] = [
    "a Configure",
    "a Install",
    "a Join",
    "a Start",
    "b Configure",
    "b Install",
    "b Join",
    "b Start",
    "c Configure",
    "c Install",
    "c Start",
    "",
];

fn sketch() -> Sketch {
    Sketch::new(&["a", "b", "c"]).relate("a", "b")
}

fn sorted(mut effects: Vec<String>) -> Vec<String> {
    effects.sort();
    effects
}

#[tokio::test(start_paused = true)]
async fn killed_at_every_millisecond_each_effect_is_there_once() {
    for effect in [Effect::Once, Effect::Repeatable] {
        let mut kills = 0;
        for after in 0..90 {
            let rig = Rig::new(effect);
            kills += u32::from(rig.up_until_killed(sketch().desired(), Duration::from_millis(after)).await);
            let ended = rig.up(sketch().desired()).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed, "killed after {after} ms");
            assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
            assert_eq!(sorted(rig.jobs.effects()), ALL[..11], "killed after {after} ms");
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(rig.jobs.left(), 0, "killed after {after} ms");
        }
        assert!(kills > 50, "{kills} kills");
    }
}

/// The time between a kill and the next process does not belong to the step that the next process resumes.
#[tokio::test(start_paused = true)]
async fn a_resumed_step_has_its_own_duration() {
    let rig = Rig::new(Effect::Once);
    assert!(rig.up_until_killed(sketch().desired(), Duration::from_millis(15)).await);
    tokio::time::sleep(Duration::from_hours(1)).await;
    rig.up(sketch().desired()).await.unwrap();
    let events = rig.store.events_of(&assembly_name("t"), Seq::START, usize::MAX).await.unwrap();
    let durations: Vec<u64> = events
        .iter()
        .filter_map(|event| match event.draft.body {
            Event::StepEnded { millis, .. } => Some(millis),
            _ => None,
        })
        .collect();
    assert!(durations.iter().all(|millis| *millis < 60_000), "{durations:?}");
    let first = rig.store.process_history(ProcessId(1)).await.unwrap().unwrap();
    let resumed: Vec<_> = first.steps.iter().filter(|step| step.resumed.is_some()).collect();
    assert!(!resumed.is_empty(), "{:?}", first.steps);
    for step in resumed {
        let (ended, since) = (step.ended.unwrap(), step.runs_since().unwrap());
        assert!(ended.millis_since(since) < 60_000 && ended.millis_since(step.started.unwrap()) > 60_000);
    }
}

/// The process that runs a command is killed, and a retry follows. In total, the command must run at most once. Its
/// secret arguments must then be removed from the store.
#[tokio::test(start_paused = true)]
async fn a_command_killed_at_every_millisecond_runs_once_at_most() {
    for effect in [Effect::Once, Effect::Repeatable] {
        let (mut kills, mut ran) = (0, 0);
        for after in 0..30 {
            let rig = Rig::new(effect);
            rig.up(sketch().desired()).await.unwrap();
            let key = Argument { value: "hunter2".into(), sensitive: true };
            let call = Request::call(
                element("t__a"),
                "Backup".parse().unwrap(),
                Arguments([("key".parse().unwrap(), key)].into()),
            );
            kills += u32::from(rig.ask_until_killed("t", call, Duration::from_millis(after)).await);
            let ended = rig.ask("t", Intent::Retry).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed, "killed after {after} ms");
            let count = rig.jobs.effects().iter().filter(|effect| *effect == "a Backup").count();
            assert!(count <= 1, "killed after {after} ms: {count}");
            ran += count;
            assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
            assert!(rig.look("t").await.secrets.is_empty(), "killed after {after} ms");
        }
        assert!(kills > 5 && ran > 15, "{kills} kills, {ran} commands");
    }
}

/// If the runtime does not answer, it may still run jobs of the killed process, so no new job is started.
#[tokio::test(start_paused = true)]
async fn killed_and_the_runtime_is_silent_nothing_is_started() {
    let mut silent = 0;
    for after in (0..90).step_by(3) {
        let rig = Rig::new(Effect::Repeatable);
        rig.up_until_killed(sketch().desired(), Duration::from_millis(after)).await;
        rig.jobs.unreachable(true);
        match rig.up(sketch().desired()).await {
            Err(EngineError::Unreachable(why)) => {
                silent += 1;
                assert!(why.contains("nobody answers"), "{why}");
            }
            other => panic!("killed after {after} ms: {:?}", other.map(|ended| ended.process)),
        }
        rig.jobs.unreachable(false);
        let ended = rig.up(sketch().desired()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed, "killed after {after} ms");
        assert_eq!(sorted(rig.jobs.effects()), ALL[..11], "killed after {after} ms");
    }
    assert_eq!(silent, 30);
}

/// Another machine cannot look up the jobs of the killed process. Calls that must not run twice need a
/// decision.
#[tokio::test(start_paused = true)]
async fn killed_elsewhere_what_is_open_is_asked_about() {
    let mut asked = 0;
    for after in 0..90 {
        let mut rig = Rig::new(Effect::Once);
        rig.up_until_killed(sketch().desired(), Duration::from_millis(after)).await;
        rig.home = "there:/project".to_owned();
        match rig.up(sketch().desired()).await {
            Ok(ended) => {
                assert_eq!(ended.process.status, ProcessStatus::Completed, "killed after {after} ms");
            }
            Err(EngineError::NeedsDecision { .. }) => {
                asked += 1;
                let why = rig.look("t").await.elements.into_values().find_map(|element| element.failure);
                let why = why.unwrap().message;
                assert!(why.contains("was started from here:/project"), "{why}");
            }
            Err(error) => panic!("{error}"),
        }
        let mut effects = sorted(rig.jobs.effects());
        effects.dedup();
        assert_eq!(effects.len(), rig.jobs.effects().len(), "killed after {after} ms");
    }
    assert!(asked > 40, "asked {asked} times");
}

/// A process is killed during a call. A process on another machine can't find the outcome, so a person must decide.
/// Back on the first machine, the next process must find the outcome.
#[tokio::test(start_paused = true)]
async fn undecided_elsewhere_it_is_decided_where_its_job_ran() {
    let mut rig = Rig::new(Effect::Once);
    let desired = || Sketch::new(&["a"]).desired();
    assert!(rig.up_until_killed(desired(), Duration::from_millis(5)).await);
    let here = rig.move_to("there:/project", None);
    for _ in 0..2 {
        let refused = rig.up(desired()).await.unwrap_err();
        assert!(matches!(refused, EngineError::NeedsDecision { .. }), "{refused}");
        let why =
            "its job was started from here:/project, and only `windlass retry t` there can find the outcome";
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let there = rig.move_to("here:/project", Some(here));
    let ended = rig.up(desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.jobs.effects(), ["a Install", "a Configure", "a Start"]);
    assert_eq!((there.submitted(), rig.jobs.submitted().len()), (Vec::new(), 3));
}

/// The job of a killed process may still run on another machine. Therefore, windlass must not run the job a second
/// time, even if an observation shows that the action of the job is not done.
#[tokio::test(start_paused = true)]
async fn killed_elsewhere_a_running_job_is_not_run_again() {
    for (sight, is_done) in [
        (Observation::Reached, true),
        (Observation::Absent, false),
        (Observation::Differs("it is not active".into()), false),
        (Observation::CannotTell("nobody answers".into()), false),
    ] {
        let mut rig = Rig::new(Effect::Once);
        rig.strings.see("a Start", sight.clone());
        let desired = || Sketch::new(&["a"]).desired();
        assert!(rig.up_until_killed(desired(), Duration::from_millis(25)).await);
        rig.move_to("there:/project", None);
        match rig.up(desired()).await {
            Ok(ended) => assert_eq!((ended.process.status, is_done), (ProcessStatus::Completed, true)),
            Err(EngineError::NeedsDecision { .. }) => assert!(!is_done, "{sight:?}"),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(rig.jobs.submitted(), [""; 0], "{sight:?}");
    }
}

/// A process is killed on one machine. A second process resumes the work on another machine, and is killed, too. A
/// third process on that other machine must find the jobs of the second process. A call must run at most once on each
/// machine.
#[tokio::test(start_paused = true)]
async fn killed_elsewhere_and_killed_here_the_jobs_of_here_are_found() {
    let mut resumed = 0;
    for first in (0..90).step_by(3) {
        for second in (0..90).step_by(7) {
            let mut rig = Rig::new(Effect::Repeatable);
            rig.up_until_killed(sketch().desired(), Duration::from_millis(first)).await;
            rig.home = "there:/project".to_owned();
            resumed +=
                u32::from(rig.up_until_killed(sketch().desired(), Duration::from_millis(second)).await);
            let ended = rig.up(sketch().desired()).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed, "killed after {first}, {second} ms");
            let effects = sorted(rig.jobs.effects());
            let most = effects.chunk_by(|one, other| one == other).map(<[String]>::len).max();
            assert!(most <= Some(2), "killed after {first}, {second} ms: {effects:?}");
        }
    }
    assert!(resumed > 100, "{resumed}");
}

/// The job of a call ends, and windlass is killed before it uses the job's answer. Then windlass runs on another
/// machine, and can't use the answer. The call must count as failed, because its job no longer runs.
#[tokio::test(start_paused = true)]
async fn killed_elsewhere_an_unusable_answer_is_a_failure() {
    let mut rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Hang);
    assert!(rig.up_until_killed(sketch().desired(), Duration::from_secs(1)).await);
    rig.home = "there:/project".to_owned();
    rig.strings.act("a Install", Act::Garble);
    let ended = rig.up(sketch().desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    let installs = rig.strings.calls().into_iter().filter(|call| call == "a Install").count();
    assert_eq!(installs, 3, "killed, taken up, and made again after its failure");
}

/// The jobs of the killed process ended long before the next process reads them.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_taken_over_is_recorded_with_its_own_times() {
    let mut jobs = 0;
    for after in (0..90).step_by(3) {
        let rig = Rig::new(Effect::Once);
        rig.up_until_killed(sketch().desired(), Duration::from_millis(after)).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        rig.up(sketch().desired()).await.unwrap();
        for process in rig.store.history(&assembly_name("t")).await.unwrap().processes {
            for job in process.jobs {
                let took = job.end.unwrap().at.as_millis() - job.submitted.as_millis();
                assert!((0..1000).contains(&took), "killed after {after} ms: {} took {took} ms", job.id);
                jobs += 1;
            }
        }
    }
    assert!(jobs > 200, "{jobs} jobs");
}

#[tokio::test(start_paused = true)]
async fn killed_again_and_again_it_still_arrives() {
    let rig = Rig::new(Effect::Once);
    let mut lives = 1;
    while rig.up_until_killed(sketch().desired(), Duration::from_millis(7)).await {
        lives += 1;
        assert!(lives < 100);
    }
    assert!(lives > 3, "{lives} lives");
    assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
    assert_eq!(sorted(rig.jobs.effects()), ALL[..11]);
}

#[tokio::test(start_paused = true)]
async fn killed_on_the_way_it_can_be_taken_down() {
    for after in (0..90).step_by(3) {
        let rig = Rig::new(Effect::Once);
        rig.up_until_killed(sketch().desired(), Duration::from_millis(after)).await;
        // If the process was killed before its first record, nothing exists to take down.
        let Ok(ended) = rig.down("t").await else { continue };
        assert_eq!(ended.process.status, ProcessStatus::Completed, "killed after {after} ms");
        let effects = rig.jobs.effects();
        let installed = effects.iter().filter(|effect| effect.ends_with("Install")).count();
        let uninstalled = effects.iter().filter(|effect| effect.ends_with("Uninstall")).count();
        assert_eq!(installed, uninstalled, "killed after {after} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn killed_while_something_is_on_its_way_it_is_looked_at_again() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Converge(4));
    assert!(rig.up_until_killed(Sketch::new(&["a"]).desired(), Duration::from_millis(700)).await);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(rig.strings.calls(), ["a Install", "a Configure", "a Start"]);
    assert_eq!(rig.states("t").await, "a Active");
    assert!(rig.look("t").await.calls.is_empty());
}

/// A `down` is killed when one of its calls is converging. The next `down` or `retry` must wait until this call has
/// ended, and must not repeat the call.
#[tokio::test(start_paused = true)]
async fn a_killed_down_repeats_no_call_that_is_converging() {
    for (call, intent) in [
        ("a Stop", Intent::Down),
        ("a Stop", Intent::Retry),
        ("a Uninstall", Intent::Down),
        ("a Uninstall", Intent::Retry),
        ("a Leave", Intent::Down),
        ("a Leave", Intent::Retry),
    ] {
        let rig = Rig::new(Effect::Once);
        rig.up(Sketch::new(&["a", "b"]).relate("a", "b").left_by_both().desired()).await.unwrap();
        rig.strings.act(call, Act::Converge(12));
        assert!(rig.ask_until_killed("t", Intent::Down, Duration::from_secs(20)).await);
        let open = rig.look("t").await.calls;
        assert!(
            matches!(&open[..], [call] if matches!(call.state, CallState::Converging { .. })),
            "{open:?}"
        );

        let ended = rig.ask("t", intent.clone()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed, "{call}, {intent}");
        let mut calls = rig.strings.calls();
        let begun = calls.len();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), begun, "{call}, {intent}: {:?}", rig.strings.calls());
        let history = rig.store.history(&assembly_name("t")).await.unwrap();
        let mut calls = history.processes.iter().flat_map(|process| &process.calls);
        assert!(calls.all(|call| call.state == CallState::Succeeded), "{call}, {intent}");
    }
}

/// If the instance becomes ready while no process runs, the next process sees this, even after the time limit.
#[tokio::test(start_paused = true)]
async fn killed_while_something_is_on_its_way_it_may_be_ready_after_the_time_limit() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Converge(1));
    assert!(rig.up_until_killed(Sketch::new(&["a"]).desired(), Duration::from_millis(700)).await);
    tokio::time::sleep(Duration::from_hours(1)).await;
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(rig.strings.calls(), ["a Install", "a Configure", "a Start"]);
    assert_eq!(rig.states("t").await, "a Active");
    assert!(rig.look("t").await.calls.is_empty());
}

/// The effect of a lost job is observed. If the process dies before it records the observation, the job
/// counts as ended and is not submitted again.
#[tokio::test(start_paused = true)]
async fn killed_while_a_lost_job_is_looked_for_it_is_not_handed_over_again() {
    let mut deaths = 0;
    for (batch, keeps_last) in (1..40).flat_map(|batch| [(batch, false), (batch, true)]) {
        let rig = Rig::new(Effect::Once);
        rig.jobs.lose("a Configure");
        rig.strings.see("a Configure", Observation::Reached);
        let (engine, holder, cut) = rig.mortal(batch, keeps_last);
        let (name, stop) = (assembly_name("t"), Stop::default());
        let ask = Request::up(Sketch::new(&["a"]).desired());
        let whole = async { engine.prepare(&name, ask, &holder, &stop).await.unwrap().run(&stop).await };
        tokio::select! {
            biased;
            () = cut.dead() => deaths += 1,
            ended = whole => drop(ended.unwrap()),
        }
        rig.bury(&holder);
        rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
        assert_eq!(rig.states("t").await, "a Active");
        let submitted = sorted(rig.jobs.submitted());
        let mut once = submitted.clone();
        once.dedup();
        assert_eq!(submitted, once, "killed at batch {batch}");
    }
    assert!(deaths > 20, "{deaths} deaths");
}

/// If the location of an open call is not configured, the call must stay open. When the location is configured again,
/// windlass must find the outcome of the call's job.
#[tokio::test(start_paused = true)]
async fn killed_and_the_location_is_missing_no_outcome_is_forgotten() {
    for effect in [Effect::Once, Effect::Repeatable] {
        let mut open = 0;
        for after in (0..90).step_by(3) {
            let mut rig = Rig::new(effect);
            rig.up_until_killed(sketch().desired(), Duration::from_millis(after)).await;
            rig.reach = Reach::Nothing;
            match rig.up(sketch().desired()).await {
                Err(EngineError::Unprepared { calls, .. }) => {
                    open += 1;
                    assert!(calls.iter().all(|(_, why)| why.message == "its location is not configured"));
                }
                // No call is open.
                Err(EngineError::Unplaceable(_)) => {}
                other => panic!("killed after {after} ms: {:?}", other.map(|ended| ended.process)),
            }
            rig.reach = Reach::All;
            let ended = rig.up(sketch().desired()).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Completed, "killed after {after} ms");
            assert_eq!(sorted(rig.jobs.effects()), ALL[..11], "killed after {after} ms");
        }
        assert!(open > 15, "{open} open");
    }
}

/// Kills `up` at the moment at which `up` writes the batch with the number `batch`. The store loses this batch. A job
/// whose record is in this batch is submitted nevertheless. Returns the rig, or `None` if the process ended before this
/// batch.
async fn killed_while_it_recorded(batch: u64) -> Option<Rig> {
    let rig = Rig::new(Effect::Once);
    rig.jobs.outrun_records();
    let (engine, holder, cut) = rig.mortal(batch, false);
    let (name, stop) = (assembly_name("t"), Stop::default());
    let up = Request::up(sketch().desired());
    let whole =
        async { engine.prepare(&name, up, &holder, &stop).await.expect("it is prepared").run(&stop).await };
    let is_killed = tokio::select! {
        biased;
        () = cut.dead() => true,
        ended = whole => ended.is_err(),
    };
    rig.bury(&holder);
    is_killed.then_some(rig)
}

/// The job of a call may exist although its record is lost. If the disk is full, the next process must not conclude
/// that the job was not started. windlass must not run the job again.
#[tokio::test(start_paused = true)]
async fn a_job_whose_record_is_lost_is_found_on_a_full_disk() {
    let mut unrecorded = 0;
    for batch in 1..40 {
        let Some(rig) = killed_while_it_recorded(batch).await else { break };
        let recorded = rig.store.load(&assembly_name("t")).await.unwrap().map_or(0, |found| found.jobs.len());
        unrecorded += usize::from(rig.jobs.left() > recorded);
        rig.jobs.leave_room(Some(0));
        let _ = rig.up(sketch().desired()).await;
        rig.jobs.leave_room(None);
        let ended = rig.up(sketch().desired()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed, "killed at batch {batch}");
        assert_eq!(sorted(rig.jobs.effects()), ALL[..11], "killed at batch {batch}");
    }
    assert!(unrecorded > 5, "{unrecorded} jobs without a record");
}

/// The job of a call may exist although its record is lost. If the runtime can't be opened, windlass can't find out
/// whether the job exists. A person must then decide whether the call was executed.
#[tokio::test(start_paused = true)]
async fn a_job_whose_record_is_lost_is_asked_about_without_its_runtime() {
    let mut asked = 0;
    for batch in 1..40 {
        let Some(mut rig) = killed_while_it_recorded(batch).await else { break };
        rig.reach = Reach::NoRuntime;
        let refused = rig.up(sketch().desired()).await;
        asked += u32::from(matches!(refused, Err(EngineError::NeedsDecision { .. })));
        rig.reach = Reach::All;
        let ended = match rig.up(sketch().desired()).await {
            Err(EngineError::NeedsDecision { .. }) => rig.retry("t", Some(Assumption::Done)).await,
            ended => ended,
        };
        assert_eq!(ended.unwrap().process.status, ProcessStatus::Completed, "killed at batch {batch}");
        let mut effects = sorted(rig.jobs.effects());
        effects.dedup();
        assert_eq!(effects.len(), rig.jobs.effects().len(), "killed at batch {batch}");
    }
    assert!(asked > 5, "asked {asked} times");
}

/// A refused intent does not end an interrupted process. The process stays open until the next process is recorded, so
/// a daemon can still resume it.
#[tokio::test(start_paused = true)]
async fn a_refused_intent_leaves_an_interrupted_process_open() {
    let rig = Rig::new(Effect::Repeatable);
    assert!(rig.up_until_killed(sketch().desired(), Duration::from_millis(15)).await);
    let refused = rig.ask("t", Intent::Heal(element("t__nothing"))).await;
    assert!(refused.is_err(), "{refused:?}");
    let open = rig.look("t").await;
    assert_eq!(open.processes.len(), 1);
    assert!(open.calls.is_empty(), "the calls are settled: {:?}", open.calls);
    let next = rig.ask("t", Intent::Retry).await.unwrap();
    assert_eq!(next.process.continues, Some(open.processes[0].id));
    assert_eq!(next.process.status, ProcessStatus::Completed);
    assert!(rig.look("t").await.processes.is_empty());
    let before = rig.store.process(open.processes[0].id).await.unwrap().unwrap();
    assert_eq!(before.status, ProcessStatus::Failed);
}
