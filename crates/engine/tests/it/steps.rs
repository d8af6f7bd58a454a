//! The execution of a step: calls, convergence, losses and failures.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};
use windlass_driver::Observation;
use windlass_engine::{Answer, Request, Stop};
use windlass_model::assembly::{Cluster, MaxUnavailable, Property};
use windlass_model::record::{
    Assumption, CallState, Effect, FailureKind, Intent, ProcessStatus, StepEnd, StepState,
};
use windlass_model::{CallId, Part, ProcessId, State, StepId, Template};
use windlass_secret::Sensitive;
use windlass_store::{Batch, Store as _};

use crate::support::puppet::{Act, Spoil};
use crate::support::{Rig, Sketch, assembly_name, element, literal};

/// A duration that no process of these tests exceeds.
const LONG: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn calls_come_in_the_order_of_the_plan() {
    let rig = Rig::new(Effect::Once);
    let ended = rig.up(Sketch::new(&["a", "b"]).relate("a", "b").desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(
        rig.jobs.effects(),
        ["a Install", "b Install", "a Configure", "b Configure", "a Start", "b Join", "a Join", "b Start"]
    );
    assert_eq!(rig.states("t").await, "a Active, b Active");
    assert_eq!(rig.jobs.left(), 0, "jobs are removed once their outcome is durable");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_kept_apart_and_repaired_alone() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a", "b", "c"]).relate("a", "b");
    rig.strings.act("b Configure", Act::Fail);
    let ended = rig.up(sketch.desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(ended.process.reason.as_deref(), Some("1 step failed, and 2 that need it were not started"));
    assert_eq!(rig.states("t").await, "a Active, b Installed, c Active");
    let failure = rig.look("t").await.elements[&element("t__b")].failure.clone().unwrap();
    assert_eq!(
        (failure.message.as_str(), failure.detail.as_deref()),
        ("it was told to fail", Some("details"))
    );

    let before = rig.strings.calls().len();
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.strings.calls()[before..], ["b Configure", "b Join", "a Join", "b Start"]);
    assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
    assert!(rig.look("t").await.elements[&element("t__b")].failure.is_none());
}

/// One node of three fails: the balancer gets the other two, and the third after its repair.
#[tokio::test(start_paused = true)]
async fn a_source_that_fails_does_not_keep_the_others_from_the_target() {
    let rig = Rig::new(Effect::Once);
    let cluster = Cluster { minimum: 1, maximum: None, increment: 1 };
    let sketch = Sketch::new(&["lb"]).group("web", 3, cluster).relate("web", "lb").made_at(State::Active);
    rig.strings.act("web__2 Start", Act::Fail);
    let ended = rig.up(sketch.desired()).await.unwrap();
    assert_eq!(ended.process.reason.as_deref(), Some("2 steps failed"));
    assert_eq!(rig.states("t").await, "lb Active, web__1 Active, web__2 Inactive, web__3 Active");
    let calls = rig.strings.calls();
    let joins: Vec<&String> = calls.iter().filter(|call| call.ends_with("Join")).collect();
    assert_eq!(joins, ["lb Join", "web__1 Join", "lb Join", "web__3 Join"]);
    assert_eq!(rig.look("t").await.pairs.values().filter(|pair| pair.created).count(), 2);
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    let relating = history.processes[0].steps.iter().find(|step| step.title.contains("web-lb")).unwrap();
    let StepState::Done(StepEnd::Failed(failure)) = &relating.state else { panic!("{relating:?}") };
    assert_eq!(failure.message, "it is not created with `web__2`, which is Inactive");

    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.strings.calls()[calls.len()..], ["web__2 Start", "lb Join", "web__2 Join"]);
    assert_eq!(rig.states("t").await, "lb Active, web__1 Active, web__2 Active, web__3 Active");
}

/// The job that stops a source is lost, so the state of the source is unknown. The record still contains Active, the
/// state before the Stop. Nevertheless, windlass must not create the relationship with this source.
#[tokio::test(start_paused = true)]
async fn a_source_in_doubt_is_not_related() {
    let rig = Rig::new(Effect::Once);
    let cluster = Cluster { minimum: 1, maximum: None, increment: 1 };
    let sized = |size| {
        let sketch = Sketch::new(&["lb"]).group("web", 2, cluster).relate("web", "lb").made_at(State::Active);
        ["web__1", "web__2"].iter().fold(sketch, |sketch, web| sketch.property(web, "size", literal(size)))
    };
    rig.up(sized("1").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.jobs.lose("web__2 Stop");
    // Both nodes change at once, so they are related in one step.
    let mut desired = sized("2").desired();
    desired.options.max_unavailable = Some(MaxUnavailable::All);
    rig.up(desired).await.unwrap();
    let calls = rig.strings.calls();
    let joins: Vec<&String> = calls[before..].iter().filter(|call| call.ends_with("Join")).collect();
    assert_eq!(joins, ["lb Join", "web__1 Join"]);
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    let told: Vec<String> = history.processes[1]
        .steps
        .iter()
        .filter_map(|step| match &step.state {
            StepState::Done(StepEnd::Failed(failure)) => Some(failure.message.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["it is not created with `web__2`, which has an unknown outcome"]);
}

/// The job that starts a source is lost, and an operator reports that this start failed. So the source is known to be
/// Inactive, and the relationship needs no more than an installed source. Windlass must create the relationship.
#[tokio::test(start_paused = true)]
async fn a_source_whose_call_was_reported_as_failed_is_related() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a", "b"]).relate("a", "b").made_before_target();
    rig.jobs.lose("a Start");
    rig.strings.act("b Install", Act::Fail);
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Inactive, b Failed");
    let answer = Request::retry(Answer::of_all(Assumption::Failed));
    let ended = rig.ask("t", answer).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed, "{:?}", ended.process.reason);
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

/// A relationship must be created before its target becomes Active. Windlass must not start the target before all pairs
/// of the relationship are created.
#[tokio::test(start_paused = true)]
async fn a_target_that_comes_after_its_relationship_waits_for_all_of_it() {
    let rig = Rig::new(Effect::Once);
    let cluster = Cluster { minimum: 1, maximum: None, increment: 1 };
    let sketch = Sketch::new(&["lb"]).group("web", 2, cluster).relate("web", "lb");
    rig.strings.act("web__2 Start", Act::Fail);
    let ended = rig.up(sketch.desired()).await.unwrap();
    let reason = "2 steps failed, and 1 that needs them was not started";
    assert_eq!(ended.process.reason.as_deref(), Some(reason));
    assert_eq!(rig.states("t").await, "lb Inactive, web__1 Active, web__2 Inactive");

    let before = rig.strings.calls().len();
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.strings.calls()[before..], ["web__2 Start", "lb Join", "web__2 Join", "lb Start"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_install_is_cleared_away_when_something_is_there() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a"]);
    rig.strings.act("a Install", Act::CheckpointThenFail("vm-7"));
    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Failed");
    let snapshot = rig.look("t").await;
    assert_eq!(
        snapshot.instances[&element("t__a")].natural.as_deref(),
        Some("vm-7"),
        "the checkpoint is durable"
    );

    rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.strings.calls(), ["a Install", "a Uninstall", "a Install", "a Configure", "a Start"]);
    assert_eq!(rig.states("t").await, "a Active");
}

#[tokio::test(start_paused = true)]
async fn a_converging_part_is_observed_until_it_settles() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Converge(3));
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.strings.calls(), ["a Install", "a Configure", "a Start"]);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_never_settles_fails_at_its_deadline() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Converge(1000));
    let start = tokio::time::Instant::now();
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(start.elapsed().as_secs(), 60);
    let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().unwrap();
    assert_eq!(failure.message, "it was still converging after 60 s");
}

#[tokio::test(start_paused = true)]
async fn a_lost_job_of_a_repeatable_call_runs_again_under_the_same_call() {
    let rig = Rig::new(Effect::Repeatable);
    rig.jobs.lose("a Configure");
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.strings.calls(), ["a Install", "a Configure", "a Configure (attempt 2)", "a Start"]);
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    let calls = &history.processes[0].calls;
    assert_eq!(calls.len(), 3, "a repeated attempt is the same call: {calls:?}");
    assert_eq!(calls[1].attempt, 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_lost_again_and_again_fails_its_call() {
    let rig = Rig::new(Effect::Repeatable);
    (0..20).for_each(|_| rig.jobs.lose("a Install"));
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(rig.strings.calls().len(), 5);
    // The retries follow immediately, then after one, two and four seconds.
    let took = ended.process.ended.unwrap().millis_since(ended.process.created);
    assert!((7000..7500).contains(&took), "{took}");
}

/// A call that waits for its next attempt can be stopped like a running one.
#[tokio::test(start_paused = true)]
async fn waiting_for_another_attempt_can_be_stopped() {
    let rig = Rig::new(Effect::Repeatable);
    (0..20).for_each(|_| rig.jobs.lose("a Install"));
    let stop = Stop::default();
    let asked = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        asked.request();
    });
    let ask = Request::up(Sketch::new(&["a"]).desired());
    let ended = rig.ask_until("t", ask, &stop).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Cancelled);
    assert_eq!(rig.strings.calls().len(), 2);
    rig.jobs.lose_none();
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active");
}

#[tokio::test(start_paused = true)]
async fn a_lost_job_of_a_once_call_is_looked_for() {
    for (sight, calls) in [
        (Observation::Reached, vec!["a Install", "a Configure", "a Start"]),
        (
            Observation::Differs("no".into()),
            vec!["a Install", "a Configure", "a Configure (attempt 2)", "a Start"],
        ),
        (Observation::Converging, vec!["a Install", "a Configure", "a Start"]),
    ] {
        let rig = Rig::new(Effect::Once);
        rig.jobs.lose("a Configure");
        rig.strings.see("a Configure", sight);
        let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed);
        assert_eq!(rig.strings.calls(), calls);
    }
}

/// The message about an unknown outcome says why it is unknown, and why the health check could not find it out.
#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_has_both_reasons() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.lose("a Configure");
    rig.strings.see("a Configure", Observation::CannotTell("the id is unknown".into()));
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.tally.undecided, 1);
    let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().expect("it has failed");
    assert_eq!(failure.message, "the outcome of Configure is unknown: it vanished; the id is unknown");
}

#[tokio::test(start_paused = true)]
async fn one_part_at_a_time_is_answered_for() {
    let rig = Rig::new(Effect::Once);
    for lost in ["a Configure", "b Configure"] {
        rig.jobs.lose(lost);
    }
    rig.up(Sketch::new(&["a", "b"]).desired()).await.unwrap();
    let say = async |what, of| {
        let of = vec![element(of)];
        rig.ask("t", Request::retry(Answer { of, ..Answer::of_all(what) })).await
    };
    let answer = Answer { of: vec![element("t__a"), element("t__c")], ..Answer::of_all(Assumption::Done) };
    let error = rig.ask("t", Request::retry(answer)).await.unwrap_err().to_string();
    assert_eq!(error, "`c` has no undecided call; these parts have one: `a`, `b`");
    let unknown = vec![CallId::of(rig.store.id(), ProcessId(9), StepId(9), 0)];
    let answer = Answer { calls: unknown, ..Answer::of_all(Assumption::Done) };
    let error = rig.ask("t", Request::retry(answer)).await.unwrap_err();
    assert!(error.is_input() && error.to_string().contains("is not an undecided call"), "{error}");
    let error = say(Assumption::Done, "t__a").await.unwrap_err().to_string();
    assert!(error.contains("b Configure") && !error.contains("a Configure"), "{error}");
    say(Assumption::NotDone, "t__b").await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active");
    let configured: Vec<_> =
        rig.strings.calls().into_iter().filter(|call| call.ends_with("Configure")).collect();
    assert_eq!(configured, ["a Configure", "b Configure", "b Configure"]);
}

/// An operator answers that a part of a nested assembly was removed. Then windlass must end the relationships of the
/// nested assembly. The desired version no longer contains this assembly, so windlass must find its parts in the older
/// version.
#[tokio::test(start_paused = true)]
async fn a_removal_answered_as_done_ends_the_relationships_of_the_assembly() {
    let rig = Rig::new(Effect::Once);
    let nested = Sketch::new(&["a", "b"]).nested("n", &["p", "q"]).relate("b", "n").made_at(State::Inactive);
    rig.up(nested.desired()).await.unwrap();
    for call in ["n__p Stop", "n__p Leave", "n__p Leave"] {
        rig.strings.act(call, Act::Fail);
    }
    rig.jobs.lose("n__p Uninstall");
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    rig.retry("t", None).await.unwrap();
    let before = rig.strings.calls().len();
    rig.retry("t", Some(Assumption::Done)).await.unwrap();
    let mut calls = rig.strings.calls()[before..].to_vec();
    calls.sort();
    assert_eq!(calls, ["b Uninstall", "n__q Uninstall"]);
}

/// The job of an Install is lost. If the Install left nothing, windlass must repeat the Install. If the Install left an
/// incomplete instance, windlass must not continue with this instance.
#[tokio::test(start_paused = true)]
async fn half_of_a_launch_is_not_made_whole() {
    for (sight, calls, state) in [
        (
            Observation::Absent,
            vec!["a Install", "a Install (attempt 2)", "a Configure", "a Start"],
            "a Active",
        ),
        (Observation::Differs("it has no disk".into()), vec!["a Install"], "a Failed"),
    ] {
        let rig = Rig::new(Effect::Once);
        rig.jobs.lose("a Install");
        rig.strings.see("a Install", sight);
        rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
        assert_eq!((rig.strings.calls(), &*rig.states("t").await), (own(&calls), state));
    }
}

fn own(calls: &[&str]) -> Vec<String> {
    calls.iter().map(|call| (*call).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_asks_for_a_decision() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a", "b"]);
    rig.jobs.lose("a Configure");
    let ended = rig.up(sketch.desired()).await.unwrap();
    assert_eq!(ended.process.reason.as_deref(), Some("1 of its steps need a decision"));
    assert_eq!(rig.states("t").await, "a Installed, b Active");
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    let undecided = history.processes[0]
        .steps
        .iter()
        .filter(|step| matches!(step.state, StepState::Done(StepEnd::NeedsDecision { .. })));
    assert_eq!(undecided.count(), 1);

    for refused in [rig.up(sketch.desired()).await, rig.down("t").await, rig.retry("t", None).await] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("a Configure") && message.contains("--assume"), "{message}");
    }
    let before = rig.strings.calls().len();
    rig.retry("t", Some(Assumption::Done)).await.unwrap();
    assert_eq!(rig.strings.calls()[before..], ["a Start"]);
    let message = rig.retry("t", Some(Assumption::Done)).await.unwrap_err().to_string();
    assert!(message.contains("`t` has no undecided call"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_call_answered_as_not_done_is_made() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.lose("b Join");
    rig.up(Sketch::new(&["a", "b"]).relate("a", "b").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.retry("t", Some(Assumption::NotDone)).await.unwrap();
    assert_eq!(rig.strings.calls()[before..], ["b Join", "a Join", "b Start"]);
    assert_eq!(rig.states("t").await, "a Active, b Active");
}

#[tokio::test(start_paused = true)]
async fn a_relationship_resumes_with_the_missing_operation() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.lose("a Join");
    rig.up(Sketch::new(&["a", "b"]).relate("a", "b").desired()).await.unwrap();
    let before = rig.strings.calls().len();
    rig.retry("t", Some(Assumption::Done)).await.unwrap();
    assert_eq!(rig.strings.calls()[before..], ["b Start"], "b Join was done before a Join was lost");
}

#[tokio::test(start_paused = true)]
async fn one_call_at_a_time_runs_on_an_element() {
    let names = ["a", "b1", "b2", "b3"];
    let sketch = ["b1", "b2", "b3"].iter().fold(Sketch::new(&names), |sketch, b| sketch.relate("a", b));
    let rig = Rig::new(Effect::Once);
    rig.up(sketch.desired()).await.unwrap();
    let effects = rig.jobs.effects();
    assert_eq!(effects.iter().filter(|effect| *effect == "a Join").count(), 3);
    assert_eq!(rig.states("t").await, "a Active, b1 Active, b2 Active, b3 Active");
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_once_than_allowed() {
    let names: Vec<String> = (0..20).map(|n| format!("r{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for parallelism in [1, 3] {
        let mut rig = Rig::new(Effect::Repeatable);
        rig.options.parallelism = parallelism;
        rig.up(Sketch::new(&names).desired()).await.unwrap();
        assert_eq!(rig.strings.most_at_once(), parallelism);
    }
}

#[tokio::test(start_paused = true)]
async fn a_published_value_reaches_its_reader_and_the_outputs() {
    let rig = Rig::new(Effect::Once);
    let published = Property { read_only: true, ..Property::default() };
    let read = Property { value: Some(property("t__a", "ip")), read_only: true, ..Property::default() };
    let sketch = Sketch::new(&["a", "b"])
        .property("a", "ip", published)
        .property("b", "peer", Property { read_only: false, ..read.clone() })
        .property("t", "address", read);
    rig.strings.act("a Install", Act::Publish(json!({ "ip": "203.0.113.1" })));
    let ended = rig.up(sketch.desired()).await.unwrap();
    assert_eq!(rig.jobs.effects()[..2], ["a Install", "b Install"], "the reader waits");
    assert_eq!(ended.outputs["address"].value, "203.0.113.1");
}

#[tokio::test(start_paused = true)]
async fn a_value_that_never_comes_fails_its_reader_with_a_reason() {
    let rig = Rig::new(Effect::Once);
    let sketch = Sketch::new(&["a", "b"])
        .property("a", "ip", Property { read_only: true, ..Property::default() })
        .property("b", "peer", Property { value: Some(property("t__a", "ip")), ..Property::default() });
    let ended = rig.up(sketch.desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(rig.states("t").await, "a Active, b Absent");
    let failure = rig.look("t").await.elements[&element("t__b")].failure.clone().unwrap();
    assert_eq!(
        failure.message,
        "its property `peer`: `t__a` is installed and has published no property `ip`; correct its package if \
         necessary, and re-create it with `windlass up --replace a`"
    );
}

#[tokio::test(start_paused = true)]
async fn secrets_are_sealed_where_they_come_from_and_where_they_go() {
    let rig = Rig::new(Effect::Once);
    let secret: windlass_secret::SecretRef = "t:given/1".parse().unwrap();
    let password = Property {
        value: Some(Template::Text(vec![Part::Secret(secret.clone())])),
        sensitive: true,
        ..Property::default()
    };
    let token = Property { read_only: true, sensitive: true, ..Property::default() };
    let sketch = Sketch::new(&["a"])
        .property("a", "password", password)
        .property("a", "token", token)
        .property("a", "plain", literal("visible"));
    rig.strings.act(
        "a Install",
        Act::Publish(json!({ "token": "s3cret-token", "echo": "it is hunter2-hunter2", "other": "fine" })),
    );
    let mut desired = sketch.desired();
    desired.secrets.insert(secret, Sensitive::new("hunter2-hunter2".to_owned()));
    rig.up(desired).await.unwrap();
    let snapshot = rig.look("t").await;
    let document = snapshot.instances[&element("t__a")].document.to_string();
    assert!(!document.contains("hunter2") && !document.contains("s3cret"), "{document}");
    assert!(document.contains("fine"), "{document}");
    assert_eq!(
        snapshot.secrets.len(),
        3,
        "the given one, the published one, and the one that holds the given one"
    );
}

/// Install publishes the secret `token`, and then Configure publishes the secret `code`. The second secret must not
/// overwrite the first.
#[tokio::test(start_paused = true)]
async fn secrets_of_several_reports_are_kept_apart() {
    let rig = Rig::new(Effect::Once);
    let sealed = || Property { read_only: true, sensitive: true, ..Property::default() };
    let reads =
        |name| Property { value: Some(property("t__a", name)), read_only: true, ..Property::default() };
    let sketch = Sketch::new(&["a"])
        .property("a", "token", sealed())
        .property("a", "code", sealed())
        .property("t", "first", reads("token"))
        .property("t", "second", reads("code"));
    rig.strings.act("a Install", Act::Publish(json!({ "token": "of-install" })));
    rig.strings.act("a Configure", Act::PublishMore("code", json!("of-configure")));
    let ended = rig.up(sketch.desired()).await.unwrap();
    let values = ended.outputs.values().map(|output| output.value.clone());
    assert_eq!(values.collect::<Vec<_>>(), ["of-install", "of-configure"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_durable_before_its_job_is_submitted() {
    for effect in [Effect::Once, Effect::Repeatable] {
        let rig = Rig::new(effect);
        rig.store.fail_next(windlass_store::StoreError::Closed);
        // The first batch of the process is lost, so no job may have been submitted.
        assert!(rig.up(Sketch::new(&["a"]).desired()).await.is_err());
        assert_eq!(rig.jobs.submitted(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn no_call_is_left_open() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Configure", Act::Fail);
    rig.up(Sketch::new(&["a", "b"]).relate("a", "b").desired()).await.unwrap();
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    let open = history.processes[0].calls.iter().filter(|call| call.state == CallState::Open);
    assert_eq!(open.count(), 0);
}

fn property(element: &str, name: &str) -> Template {
    Template::property(element.parse().expect("valid"), name.parse().expect("valid"))
}

/// After a converging Start or Uninstall, observations do not show the requested state. windlass must observe the
/// instance again, and must not take the action for done.
#[tokio::test(start_paused = true)]
async fn an_observation_without_the_requested_state_does_not_end_a_call() {
    let sights = || {
        let differs = Observation::Differs("it still exists".to_owned());
        let cannot_tell = Observation::CannotTell("the API does not answer".to_owned());
        [differs, cannot_tell, Observation::Unanswered]
    };
    for call in ["a Start", "a Uninstall"] {
        for sight in sights() {
            for is_in_time in [true, false] {
                let rig = Rig::new(Effect::Once);
                let sketch = Sketch::new(&["a"]);
                rig.strings.act(call, Act::Converge(1));
                (0..if is_in_time { 3 } else { 100 }).for_each(|_| rig.strings.see(call, sight.clone()));
                let (start, mut ended) = (Instant::now(), rig.up(sketch.desired()).await.unwrap());
                if call == "a Uninstall" {
                    ended = rig.ask("t", Intent::Down).await.unwrap();
                }
                let status = if is_in_time { ProcessStatus::Completed } else { ProcessStatus::Failed };
                assert_eq!(ended.process.status, status, "{call}, {sight:?}");
                if is_in_time {
                    assert!(
                        start.elapsed() >= Duration::from_secs(7),
                        "{call}, {sight:?}: {:?}",
                        start.elapsed()
                    );
                    continue;
                }
                assert_eq!(rig.states("t").await, "a Inactive", "{call}, {sight:?}");
                let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().unwrap();
                let why = sight.why_not_reached().unwrap();
                assert_eq!(failure.message, format!("it was still converging after 60 s: {why}"));
            }
        }
    }
}

/// A driver never answers a call. When the timeout of the call has passed, the call must fail, whatever its effect is.
/// The next `up` creates the part again.
#[tokio::test(start_paused = true)]
async fn a_driver_that_never_answers_fails_at_the_timeout() {
    for effect in [Effect::Once, Effect::Repeatable] {
        let rig = Rig::new(effect);
        rig.strings.act("a Install", Act::Hang);
        let sketch = Sketch::new(&["a"]);
        let ended = timeout(LONG, rig.up(sketch.desired())).await.expect("it ends").unwrap();
        assert_eq!((ended.process.status, ended.tally.failed), (ProcessStatus::Failed, 1));
        let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().unwrap();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert_eq!(failure.message, "its driver gave no answer within 60 s");
        assert_eq!((rig.strings.calls(), rig.jobs.left()), (vec!["a Install".to_owned()], 0));
        let ended = rig.up(sketch.desired()).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed);
    }
}

/// A driver never answers the observation of an instance that is converging, or of an instance whose job was lost. The
/// call must end after its timeout.
#[tokio::test(start_paused = true)]
async fn an_observation_that_never_answers_ends_at_the_timeout() {
    for is_lost in [false, true] {
        let rig = Rig::new(Effect::Once);
        rig.strings.act("a Install", Act::Converge(5));
        rig.strings.spoil("a", Spoil::Hangs);
        if is_lost {
            rig.jobs.lose("a Install");
        }
        let ended = timeout(LONG, rig.up(Sketch::new(&["a"]).desired())).await.expect("it ends").unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Failed);
        let failure = rig.look("t").await.elements[&element("t__a")].failure.clone().unwrap();
        let kind = if is_lost { FailureKind::Lost } else { FailureKind::Timeout };
        assert_eq!(failure.kind, kind, "{failure}");
        assert_eq!(ended.tally.undecided, u32::from(is_lost), "{failure}");
    }
}

/// The timeout of a driver does not count the time in which the driver waits for its job. The runtime itself ends the
/// job at the timeout of the job.
#[tokio::test(start_paused = true)]
async fn a_driver_that_waits_for_its_job_is_not_cut_off() {
    let rig = Rig::new(Effect::Once);
    rig.jobs.last("a Install", LONG);
    let ended = rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
}

/// A driver reports an invalid natural id: an empty id, an id with a line break, or an id that is too long. The call
/// must fail, and the id must not be recorded.
#[tokio::test(start_paused = true)]
async fn an_invalid_natural_id_is_refused() {
    let long = "i".repeat(2049);
    for (natural, wrong) in [("", "is empty"), ("a\nb", "contains a control"), (&long, "is longer than 2048")]
    {
        let rig = Rig::new(Effect::Once);
        rig.strings.act("a Install", Act::Name(natural.to_owned()));
        let sketch = Sketch::new(&["a"]);
        assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Failed);
        let known = rig.look("t").await;
        let failure = known.elements[&element("t__a")].failure.clone().unwrap();
        assert_eq!(failure.kind, FailureKind::Protocol);
        assert!(failure.message.contains(wrong), "{failure}");
        assert_eq!(known.instances.get(&element("t__a")).and_then(|instance| instance.natural.clone()), None);
        assert_eq!(rig.up(sketch.desired()).await.unwrap().process.status, ProcessStatus::Completed);
    }
}

/// The records of an earlier build contain an invalid natural id. Reports that repeat this id are accepted, so the part
/// can be removed.
#[tokio::test(start_paused = true)]
async fn a_recorded_natural_id_may_be_invalid() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    let (_, holder) = rig.engine();
    let lease = rig.store.lease(&assembly_name("t"), &holder).await.unwrap();
    let mut instance = rig.look("t").await.instances[&element("t__a")].clone();
    instance.natural = Some("a\nb".to_owned());
    rig.store.commit(&lease, Batch::new().put_instance(instance)).await.unwrap();
    rig.store.release(lease).await.unwrap();
    for call in ["a Stop", "a Uninstall"] {
        rig.strings.act(call, Act::Name("a\nb".to_owned()));
    }
    assert_eq!(rig.down("t").await.unwrap().process.status, ProcessStatus::Completed);
}
