//! Tests of the results of health checks and discoveries.

use serde_json::json;
use windlass_driver::contract::{Purpose, Query};
use windlass_driver::{Call, Driver, Observation, Question};
use windlass_executor::{Captured, End, Outcome, Timestamp};
use windlass_model::{Action, Transition};
use windlass_script::Script;

use crate::place::{Canned, Place};
use crate::world::{With, World};

const ACTIONS: [&str; 7] = ["Install", "Configure", "Start", "Integrity", "Stop", "Uninstall", "Join"];

fn exited(stdout: &str) -> Canned {
    let mut outcome = Outcome::new(End::Exited(0), Timestamp::from_millis(0));
    outcome.stdout = Captured::whole(stdout);
    Canned(outcome)
}

fn world() -> World {
    World::new().declares(&ACTIONS).script("health-check.sh", "")
}

/// Returns the observation for each action when the health check prints `stdout`.
async fn seen(stdout: &str) -> String {
    seen_for(Question::Health, stdout).await
}

async fn seen_for(question: Question, stdout: &str) -> String {
    let mut rows = Vec::new();
    for action in ACTIONS {
        let call = Call { question, ..world().call(action).natural("i-1") };
        let observed = Script::default().observe(&exited(stdout), &[call]).await.remove(0).unwrap();
        rows.push(format!("{action:9} {:?}", observed.observation));
    }
    rows.join("\n")
}

#[tokio::test]
async fn active() {
    insta::assert_snapshot!(seen("instances: {i-1: {$set: {status.flags.active: true}}}").await, @r#"
    Install   Reached
    Configure CannotTell("a health check doesn't show whether Configure was done")
    Start     Reached
    Integrity Reached
    Stop      Differs("it is still active")
    Uninstall Differs("it is still there")
    Join      CannotTell("a health check doesn't show whether Join was done")
    "#);
}

/// The instance was converging, and its status says that the change has ended. Then an action has succeeded, unless its
/// effect contradicts the status.
#[tokio::test]
async fn settled() {
    insta::assert_snapshot!(seen_for(Question::Settled, "instances: {i-1: {$set: {status.flags.active: true}}}").await, @r#"
    Install   Reached
    Configure Reached
    Start     Reached
    Integrity Reached
    Stop      Differs("it is still active")
    Uninstall Differs("it is still there")
    Join      Reached
    "#);
    insta::assert_snapshot!(seen_for(Question::Settled, "instances: {i-1: {$set: {status.flags.active: false}}}").await, @"
    Install   Reached
    Configure Reached
    Start     Reached
    Integrity Reached
    Stop      Reached
    Uninstall Reached
    Join      Reached
    ");
}

/// The launch failed before it reported the natural id of the instance. A health check would look for another id, and
/// would find nothing even if the instance exists. So the driver must report that it can't tell.
#[tokio::test]
async fn an_instance_without_an_id_can_not_be_observed() {
    let gone =
        exited("instances: {id: {status: {flags: {active: false, converging: false, failed: false}}}}");
    for action in ["Install", "Uninstall"] {
        let call = Call { natural: None, ..world().call(action) };
        let observed = Script::default().observe(&gone, &[call]).await.remove(0).unwrap();
        assert!(
            matches!(observed.observation, Observation::CannotTell(_)),
            "{action}: {:?}",
            observed.observation
        );
    }
}

#[tokio::test]
async fn inactive() {
    insta::assert_snapshot!(seen("instances: {i-1: {$set: {status.flags.active: false}}}").await, @r#"
    Install   Reached
    Configure CannotTell("a health check doesn't show whether Configure was done")
    Start     Differs("it is not active")
    Integrity Differs("it is not active")
    Stop      Reached
    Uninstall Differs("it is still there")
    Join      CannotTell("a health check doesn't show whether Join was done")
    "#);
}

#[tokio::test]
async fn gone() {
    insta::assert_snapshot!(seen("instances: {i-1: {status: {flags: {active: false}}}}").await, @"
    Install   Absent
    Configure Absent
    Start     Absent
    Integrity Absent
    Stop      Reached
    Uninstall Reached
    Join      Absent
    ");
}

#[tokio::test]
async fn converging() {
    insta::assert_snapshot!(seen("instances: {i-1: {status: {flags: {converging: true}}}}").await, @"
    Install   Converging
    Configure Converging
    Start     Converging
    Integrity Converging
    Stop      Converging
    Uninstall Converging
    Join      Converging
    ");
}

#[tokio::test]
async fn failed() {
    let stdout = "instances: {i-1: {status: {flags: {active: true, failed: true}, message: disk full}}}";
    insta::assert_snapshot!(seen(stdout).await, @r#"
    Install   Differs("it reports a failure: disk full")
    Configure CannotTell("it reports a failure, which doesn't show whether Configure was done: disk full")
    Start     Differs("it reports a failure: disk full")
    Integrity Differs("it reports a failure: disk full")
    Stop      Differs("it reports a failure: disk full")
    Uninstall Differs("it reports a failure: disk full")
    Join      CannotTell("it reports a failure, which doesn't show whether Join was done: disk full")
    "#);
}

#[tokio::test]
async fn silent() {
    insta::assert_snapshot!(seen("").await, @r"
    Install   Unanswered
    Configure Unanswered
    Start     Unanswered
    Integrity Unanswered
    Stop      Unanswered
    Uninstall Unanswered
    Join      Unanswered
    ");
}

#[tokio::test]
async fn what_is_learned_on_the_way_is_reported() {
    let stdout = "instances: {i-1: {interfaces: {properties: {signals: {ip: 10.0.0.1}}}}}";
    let call = world().call("Start").natural("i-1");
    let observed = Script::default().observe(&exited(stdout), &[call]).await.remove(0).unwrap();
    assert_eq!(
        observed.report.updates,
        json!({"interfaces": {"properties": {"signals": {"ip": "10.0.0.1"}}}})
    );
}

#[tokio::test]
async fn a_launch_whose_id_is_unknown_cannot_be_seen() {
    let observed =
        Script::default().observe(&exited("{"), &[world().call("Install")]).await.remove(0).unwrap();
    let why = "the id that the launch script chose is unknown".to_owned();
    assert_eq!(observed.observation, Observation::CannotTell(why));
}

#[tokio::test]
async fn without_a_health_check_nothing_can_be_seen() {
    let call = World::new().declares(&ACTIONS).call("Start").natural("i-1");
    let observed = Script::default().observe(&exited("{"), &[call]).await.remove(0).unwrap();
    let why = "the package has no health check script".to_owned();
    assert_eq!(observed.observation, Observation::CannotTell(why));
}

#[tokio::test]
async fn discovery_finds_what_fits() {
    let stdout = "
instances:
  net-1: {name: VIDEO, interfaces: {properties: {signals: {id: net-1, mtu: 1500}}}}
  net-2: {name: public}
  net-3:
";
    let call = world().script("discover.sh", "").call("Start");
    let properties =
        [("name".to_owned(), json!("VIDEO")), ("deploymentLocation".to_owned(), json!("here"))].into();
    let query = Query {
        package: call.package,
        binding: call.binding,
        location: call.location,
        configuration: call.configuration,
        properties,
        purpose: Purpose::Reference,
    };
    let found = Script::default().discover(&exited(stdout), &query).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|found| (found.natural, json!(found.properties))).collect();
    assert_eq!(
        found,
        [
            ("net-1".to_owned(), json!({"id": "net-1", "mtu": 1500, "name": "VIDEO"})),
            ("net-3".to_owned(), json!({}))
        ]
    );
}

#[tokio::test]
async fn without_a_script_discovery_finds_nothing() {
    let call = world().call("Start");
    let query = Query {
        package: call.package,
        binding: call.binding,
        location: call.location,
        configuration: call.configuration,
        properties: [].into(),
        purpose: Purpose::Reference,
    };
    assert_eq!(Script::default().discover(&exited("{"), &query).await, Ok(Vec::new()));
}

#[tokio::test]
async fn what_was_converging_still_is_when_nobody_says_otherwise() {
    let converging = json!({"status": {"flags": {"active": false, "converging": true, "failed": false}}});
    for world in [world(), World::new().declares(&ACTIONS)] {
        let call = Call { document: converging.clone(), ..world.call("Install").natural("i-1") };
        let observed = Script::default().observe(&exited(""), &[call]).await.remove(0).unwrap();
        assert_eq!(observed.observation, Observation::Converging);
    }
}

/// Returns calls of the action Integrity for the instances `i-1` to `i-3`. Their health check is the shell script
/// `script`.
fn three(script: &str) -> Vec<Call> {
    let world = World::new().declares(&ACTIONS).script("health-check.sh", script);
    let call = |number| Call {
        instance: format!("instance-{number}").parse().unwrap(),
        ..world.call("Integrity").natural(&format!("i-{number}"))
    };
    (1..=3).map(call).collect()
}

/// Observes calls together. Returns the observations, and the inputs of the jobs.
async fn together(calls: &[Call]) -> (Vec<String>, Vec<(String, String)>) {
    let place = Place::new();
    let seen = Script::default().observe(&place, calls).await;
    let seen = seen.into_iter().map(|seen| match seen {
        Ok(seen) => format!("{:?}", seen.observation),
        Err(failure) => failure.message,
    });
    (seen.collect(), place.jobs())
}

#[tokio::test]
async fn one_job_checks_many_instances() {
    let script =
        r"sed -n 's/^  \(i-[13]\):.*$/  \1: {$set: {status.flags.active: true}}/p' | sed '1i instances:'";
    let (seen, jobs) = together(&three(script)).await;
    assert_eq!(seen, ["Reached", "Unanswered", "Reached"]);
    assert_eq!(jobs.len(), 1);
    assert_eq!(
        (jobs[0].0.as_str(), jobs[0].1.as_str()),
        ("health-check", "configuration: {}\ninstances:\n  i-1: null\n  i-2: null\n  i-3: null\n")
    );
}

#[tokio::test]
async fn a_wrong_update_of_one_instance_spoils_no_other() {
    let script = r"echo 'instances:
  i-1: {status: {flags: {active: true}}}
  i-2: {status: {flags: {actve: true}}}
  i-3: {status: {flags: {active: false}}}
  i-4: {}'";
    let calls = three(script);
    let (seen, _) = together(&calls).await;
    assert_eq!((seen[0].as_str(), seen[2].as_str()), ("Reached", "Absent"));
    assert!(seen[1].contains("status.flags.actve"), "{seen:?}");
    let seen = Script::default().observe(&Place::new(), &calls).await;
    let log = &seen[0].as_ref().unwrap().report.log;
    assert_eq!(log.len(), 1, "only `i-4` was not requested: {log:?}");
    assert!(log[0].message.contains("`i-4` was not requested"), "{log:?}");
}

#[tokio::test]
async fn a_failed_script_answers_each_instance() {
    let (seen, jobs) = together(&three("exit 3")).await;
    assert_eq!(seen, ["`health-check.sh` exited with code 3"; 3]);
    assert_eq!(jobs.len(), 1);
}

/// The id of one instance in a batch is unknown. The driver must not pass this instance to the health check, but must
/// check the other instances.
#[tokio::test]
async fn an_instance_without_an_id_is_left_out_of_a_batch() {
    let mut calls = three("echo 'instances: {i-1: {status: {flags: {active: true}}}}'");
    for call in &mut calls {
        call.action = Action::Transition(Transition::Install);
    }
    calls[1].natural = None;
    let (seen, jobs) = together(&calls).await;
    assert_eq!(seen[0], "Reached");
    assert!(seen[1].contains("the id that the launch script chose is unknown"), "{seen:?}");
    assert!(!jobs[0].1.contains("instance-2"), "{jobs:?}");
}
