//! Outputs of scripts, and the reports they become.

use serde_json::json;
use windlass_driver::{Call, Driver, Failure, Report, Settled};
use windlass_executor::{Captured, End, Outcome, Timestamp};
use windlass_script::Script;

use crate::place::{Canned, Place};
use crate::world::{INSTANCE, With, World, shown};

fn world() -> World {
    let names = ["Create", "Start", "Integrity", "Delete", "Join"];
    let files = ["launch.sh", "Start.sh", "Integrity.sh", "destroy.sh", "Join.sh"];
    files.into_iter().fold(World::new().declares(&names), |world, file| world.script(file, ""))
}

fn call(action: &str) -> Call {
    world().call(action).natural("i-1").secret("password", "hunter22")
}

/// Returns the result of a call whose script prints `stdout`.
async fn printed(call: Call, stdout: impl AsRef<[u8]>) -> Result<Report, Failure> {
    let mut outcome = Outcome::new(End::Exited(0), Timestamp::from_millis(0));
    outcome.stdout = Captured::whole(stdout.as_ref());
    Script::default().perform(&Canned(outcome), &[call]).await.remove(0)
}

async fn failure(action: &str, stdout: impl AsRef<[u8]>) -> String {
    let stdout = String::from_utf8_lossy(stdout.as_ref()).replace("INSTANCE", INSTANCE);
    shown(&printed(call(action), stdout).await.unwrap_err())
}

fn log(report: &Report) -> String {
    let lines: Vec<_> =
        report.log.iter().map(|entry| format!("{} {}\n", entry.severity, entry.message)).collect();
    lines.concat()
}

#[tokio::test]
async fn nothing_is_no_updates() {
    for nothing in ["", "\n# nothing\n", "null", "instances:", "instances: {}", "instances: {i-1: }"] {
        let report = printed(call("Start"), nothing).await.unwrap();
        assert_eq!(Report { natural: None, ..report }, Report::settled(), "{nothing:?}");
    }
}

#[tokio::test]
async fn a_launch_chooses_the_natural_id() {
    let stdout = format!(
        "instances:\n  i-7:\n    instanceId: {INSTANCE}\n    $set: {{status.flags.converging: true}}\n    \
         interfaces: {{properties: {{signals: {{publicIp: 203.0.113.1}}}}}}\n"
    );
    let report = printed(world().call("Create"), stdout).await.unwrap();
    assert_eq!((report.natural.as_deref(), report.settled), (Some("i-7"), Settled::Converging));
    let expected = json!({
        "instanceId": INSTANCE,
        "interfaces": {"properties": {"signals": {"publicIp": "203.0.113.1"}}},
        "$set": {"status.flags.converging": true},
    });
    assert_eq!(report.updates, expected);
}

#[tokio::test]
async fn a_destroyed_instance_is_gone() {
    let all_false = "instances: {i-1: {status: {flags: {active: false}}}}";
    assert_eq!(printed(call("Delete"), all_false).await.unwrap().settled, Settled::Gone);
    assert_eq!(printed(call("Start"), all_false).await.unwrap().settled, Settled::Yes);
    assert_eq!(printed(call("Delete"), "").await.unwrap().settled, Settled::Yes);
    let going = "instances: {i-1: {status: {flags: {converging: true}}}}";
    assert_eq!(printed(call("Delete"), going).await.unwrap().settled, Settled::Converging);
}

/// A health check reports a metric in the field `interfaces`, without the operator `$set`. Such a field replaces
/// everything below it, so the outputs of the instance are lost. The driver must report a warning.
#[tokio::test]
async fn published_values_that_a_plain_field_replaces_are_reported() {
    let known = || Call {
        document: json!({"interfaces": {"properties": {"signals": {"address": "10.0.0.5", "port": 80}}}}),
        ..call("Integrity")
    };
    let plain = "instances:\n  i-1:\n    interfaces: {metrics: {signals: {load: 42}}}\n";
    let report = printed(known(), plain).await.unwrap();
    assert_eq!(
        log(&report),
        "WARNING stdout of Integrity.sh:2:3: instance `i-1`: `interfaces` replaced everything below it and \
         removed the published outputs `address`, `port`; `$set: {interfaces.metrics.signals.<name>: …}` changes one signal alone\n"
    );
    for meant in [
        "instances: {i-1: {$set: {interfaces.metrics.signals.load: 42}}}",
        "instances: {i-1: {interfaces: {properties: {signals: {port: 81}}}}}",
        "instances: {i-1: {$unset: {interfaces.properties: }}}",
    ] {
        assert_eq!(log(&printed(known(), meant).await.unwrap()), "", "{meant}");
    }
    assert_eq!(log(&printed(call("Integrity"), plain).await.unwrap()), "", "nothing was published");
}

#[tokio::test]
async fn log_and_remarks_are_the_reports_log() {
    let stdout = "
instances:
  i-1:
    $set: {status.flags.active: yes}
    $pushAll:
      activityLog:
        - {severity: error, message: 'password hunter22 refused', data: {given: hunter22, tries: 3}}
        - {severity: loud}
      commands.st1p1s3c1: [{done: 1}]
  i-2: {name: other}
";
    let report = printed(call("Join"), stdout).await.unwrap();
    insta::assert_snapshot!(log(&report), @"
    WARNING stdout of Join.sh:10:3: the instance `i-2` was not requested: its updates are ignored
    WARNING stdout of Join.sh:4:33: instance `i-1`: `status.flags.active`: `yes` was read as `true`
    ERROR password *** refused
    ERROR a log entry without a text `message` is ignored
    ");
    let data: Vec<_> = report.log.iter().filter_map(|entry| entry.data.clone()).collect();
    assert_eq!(data, [json!({"given": "***", "tries": 3})]);
    assert_eq!(
        report.updates,
        json!({"$pushAll": {"commands.st1p1s3c1": [{"done": 1}]}, "$set": {"status.flags.active": true}})
    );
}

#[tokio::test]
async fn results_of_other_commands_are_left_out() {
    let stdout = "instances: {i-1: {name: web, $pushAll: {commands.other: [{}], commands.st1p1s3c1: [{}]}}}";
    let report = printed(call("Join"), stdout).await.unwrap();
    assert_eq!(report.updates["$pushAll"], json!({"commands.st1p1s3c1": [{}]}));
    let report = printed(call("Start"), stdout).await.unwrap();
    assert_eq!(report.updates, json!({"name": "web"}));
    insta::assert_snapshot!(log(&report), @"
    WARNING stdout of Start.sh:1:13: instance `i-1`: results pushed to `commands.other` are ignored: no such command awaits them
    WARNING stdout of Start.sh:1:13: instance `i-1`: results pushed to `commands.st1p1s3c1` are ignored: no such command awaits them
    ");
}

/// A script may print all instances that it knows. The log names the first ten that were not requested, and
/// counts the others.
#[tokio::test]
async fn many_others_are_counted() {
    let others: Vec<String> = (10..35).map(|number| format!("i-{number}: {{}}")).collect();
    let stdout = format!("instances: {{{}, i-1: {{name: web}}}}", others.join(", "));
    let report = printed(call("Join"), stdout).await.unwrap();
    assert_eq!(report.updates, json!({"name": "web"}));
    let log = log(&report);
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 11, "{log}");
    assert!(lines[9].contains("the instance `i-19` was not requested"), "{log}");
    assert!(lines[10].ends_with("15 more instances were not requested: their updates are ignored"), "{log}");
}

#[tokio::test]
async fn others_at_a_launch_are_left_out() {
    let stdout = format!("instances: {{i-8: {{}}, i-7: {{instanceId: {INSTANCE}}}}}");
    let report = printed(call("Create"), stdout).await.unwrap();
    assert_eq!(report.natural.as_deref(), Some("i-7"));
    insta::assert_snapshot!(log(&report), @"WARNING stdout of launch.sh:1:13: the instance `i-8` was not requested: its updates are ignored");
}

#[tokio::test]
async fn garbage() {
    insta::assert_snapshot!(failure("Start", "Starting web...\ndone: yes\n").await, @"
    Protocol: the output of `Start.sh` can't be used: mapping values are not allowed in this context
    ---
    stdout of Start.sh:2:5: error[WL0001]: mapping values are not allowed in this context
        | done: yes
        help: print the document alone, and messages on stderr
    ");
}

#[tokio::test]
async fn a_word() {
    insta::assert_snapshot!(failure("Start", "ok\n").await, @"
    Protocol: the output of `Start.sh` can't be used: expected a mapping with `instances`, found text
    ---
    stdout of Start.sh:1:1: error[WL0420]: expected a mapping with `instances`, found text
        | ok
        help: print the document alone, and messages on stderr
    ");
}

#[tokio::test]
async fn two_documents() {
    insta::assert_snapshot!(failure("Start", "instances: {}\n---\ninstances: {}\n").await, @"
    Protocol: the output of `Start.sh` can't be used: expected one document, found a second
    ---
    stdout of Start.sh:3:1: error[WL0004]: expected one document, found a second
        | instances: {}
        help: print all instances below one `instances`
    ");
}

#[tokio::test]
async fn not_utf8() {
    let mut outcome = Outcome::new(End::Exited(0), Timestamp::from_millis(0));
    outcome.stdout = Captured::whole(*b"instances:\n  i-1: {name: caf\xe9}\n");
    let failure = Script::default().perform(&Canned(outcome), &[call("Start")]).await.remove(0).unwrap_err();
    insta::assert_snapshot!(shown(&failure), @"
    Protocol: the output of `Start.sh` can't be used: the text is not UTF-8: byte 0xe9 at offset 28
    ---
    stdout of Start.sh:2:18: error[WL0002]: the text is not UTF-8: byte 0xe9 at offset 28
        |   i-1: {name: caf�}
        help: print UTF-8 only
    ");
}

#[tokio::test]
async fn too_much() {
    let mut outcome = Outcome::new(End::Exited(0), Timestamp::from_millis(0));
    outcome.stdout = Captured::new(*b"instances:", *b"", 5_000_000);
    let failure = Script::default().perform(&Canned(outcome), &[call("Start")]).await.remove(0).unwrap_err();
    insta::assert_snapshot!(shown(&failure), @"
    Protocol: the output of `Start.sh` can't be used: the script printed 5000000 bytes, of which 4999990 were discarded
    ---
    error[WL0426]: the script printed 5000000 bytes, of which 4999990 were discarded
        help: print the document alone, and messages on stderr
    ");
}

#[tokio::test]
async fn unknown_keys_beside_instances() {
    insta::assert_snapshot!(failure("Start", "instance:\n  i-1: {}\nresult: ok\n").await, @"
    Protocol: the output of `Start.sh` can't be used: unknown key `instance` beside `instances` (and 1 more)
    ---
    stdout of Start.sh:1:1: error[WL0421]: unknown key `instance` beside `instances`
        | instance:
        help: did you mean `instances`?
    stdout of Start.sh:3:1: error[WL0421]: unknown key `result` beside `instances`
        | result: ok
        help: put updates below `instances` and the id of their instance
    ");
}

#[tokio::test]
async fn instances_that_are_a_list() {
    insta::assert_snapshot!(failure("Start", "instances:\n  - i-1\n").await, @"
    Protocol: the output of `Start.sh` can't be used: expected a mapping of instances, found a list
    ---
    stdout of Start.sh:2:3: error[WL0420]: expected a mapping of instances, found a list
        |   - i-1
        help: print the document alone, and messages on stderr
    ");
}

#[tokio::test]
async fn everything_wrong_with_an_update() {
    let stdout = "
instances:
  i-1:
    stauts: {}
    name: [web]
    $set:
      status.flags.active: maybe
      status.message: ready
      interfaces.web.signal.port: 80
    $unset:
      status.flags.failed:
      status:
    $push: {activityLog: [hunter22]}
";
    insta::assert_snapshot!(failure("Start", stdout).await, @"
    Protocol: the output of `Start.sh` can't be used: instance `i-1`: `stauts`: no such path (and 9 more)
    ---
    stdout of Start.sh:4:5: error[WL0422]: instance `i-1`: `stauts`: no such path
        |     stauts: {}
        help: did you mean `status`?
    stdout of Start.sh:5:11: error[WL0422]: instance `i-1`: `name`: expected a string, found a list
        |     name: [web]
    stdout of Start.sh:7:7: error[WL0422]: instance `i-1`: `status.flags.active`: it conflicts with `status` at `/$unset/status`: an update touches a path once
        |       status.flags.active: maybe
        stdout of Start.sh:12:7: the other one
    stdout of Start.sh:7:28: error[WL0422]: instance `i-1`: `status.flags.active`: expected a boolean, found a string
        |       status.flags.active: maybe
    stdout of Start.sh:8:7: error[WL0422]: instance `i-1`: `status.message`: it conflicts with `status` at `/$unset/status`: an update touches a path once
        |       status.message: ready
        stdout of Start.sh:12:7: the other one
    stdout of Start.sh:9:7: error[WL0422]: instance `i-1`: `interfaces.web.signal.port`: no such path
        |       interfaces.web.signal.port: 80
        help: did you mean `interfaces.web.signals.port`?
    stdout of Start.sh:11:7: error[WL0422]: instance `i-1`: `status.flags.failed`: it conflicts with `status` at `/$unset/status`: an update touches a path once
        |       status.flags.failed:
        stdout of Start.sh:12:7: the other one
    stdout of Start.sh:11:7: error[WL0422]: instance `i-1`: `status.flags.failed`: it may not be removed
        |       status.flags.failed:
        help: it always has a value: `$set` it
    stdout of Start.sh:12:7: error[WL0422]: instance `i-1`: `status`: it may not be removed
        |       status:
        help: it always has a value: `$set` it
    stdout of Start.sh:13:5: error[WL0422]: instance `i-1`: unknown operator `$push`
        |     $push: {activityLog: [***]}
        help: use `$pushAll` with a list of entries; the operators are `$set`, `$unset` and `$pushAll`
    ");
}

#[tokio::test]
async fn an_update_that_is_no_map() {
    insta::assert_snapshot!(failure("Start", "instances:\n  i-1: started\n").await, @"
    Protocol: the output of `Start.sh` can't be used: instance `i-1`: expected a map of fields and operators, found a string
    ---
    stdout of Start.sh:2:8: error[WL0422]: instance `i-1`: expected a map of fields and operators, found a string
        |   i-1: started
    ");
}

#[tokio::test]
async fn a_launch_without_an_answer() {
    insta::assert_snapshot!(failure("Create", "").await, @"
    Protocol: the output of `launch.sh` can't be used: the output has no entry for the instance `abcdefghijkmnpqrstuvwxyz`
    ---
    error[WL0423]: the output has no entry for the instance `abcdefghijkmnpqrstuvwxyz`
        help: name it as `instanceId` of the instance that was launched
    ");
}

#[tokio::test]
async fn a_launch_without_instance_id() {
    insta::assert_snapshot!(failure("Create", "instances:\n  i-7:\n    name: web\n").await, @"
    Protocol: the output of `launch.sh` can't be used: the instance `i-7` has no `instanceId`
    ---
    stdout of launch.sh:2:3: error[WL0423]: the instance `i-7` has no `instanceId`
        |   i-7:
        help: write `instanceId: abcdefghijkmnpqrstuvwxyz`
    ");
}

#[tokio::test]
async fn a_launch_of_something_else() {
    insta::assert_snapshot!(failure("Create", "instances:\n  i-7:\n    instanceId: other\n").await, @"
    Protocol: the output of `launch.sh` can't be used: the instance `i-7` answers `other`, which was not requested
    ---
    stdout of launch.sh:2:3: error[WL0424]: the instance `i-7` answers `other`, which was not requested
        |   i-7:
        help: write `instanceId: abcdefghijkmnpqrstuvwxyz`
    ");
}

#[tokio::test]
async fn a_launch_of_two() {
    let stdout = "instances:\n  i-7: {instanceId: INSTANCE}\n  i-8: {instanceId: INSTANCE}\n";
    insta::assert_snapshot!(failure("Create", stdout).await, @"
    Protocol: the output of `launch.sh` can't be used: `i-7` and `i-8` both answer `abcdefghijkmnpqrstuvwxyz`
    ---
    stdout of launch.sh:3:3: error[WL0424]: `i-7` and `i-8` both answer `abcdefghijkmnpqrstuvwxyz`
        |   i-8: {instanceId: abcdefghijkmnpqrstuvwxyz}
        stdout of launch.sh:2:3: the other one
        help: launch one instance for each request
    ");
}

#[tokio::test]
async fn an_instance_given_away() {
    insta::assert_snapshot!(failure("Start", "instances:\n  i-1: {instanceId: other}\n").await, @"
    Protocol: the output of `Start.sh` can't be used: the instance `i-1` belongs to `abcdefghijkmnpqrstuvwxyz` and can't be given to `other`
    ---
    stdout of Start.sh:2:3: error[WL0424]: the instance `i-1` belongs to `abcdefghijkmnpqrstuvwxyz` and can't be given to `other`
        |   i-1: {instanceId: other}
        help: omit `instanceId`: only launch scripts use it
    ");
}

#[tokio::test]
async fn a_status_that_says_failed() {
    let stdout =
        "instances: {i-1: {status: {flags: {failed: true}, message: \"no licence for hunter22\\nask\"}}}";
    insta::assert_snapshot!(failure("Start", stdout).await, @"
    Failed: `Start.sh` reported a failure: no licence for ***
    ---
    no licence for ***
    ask
    ");
}

#[tokio::test]
async fn a_launch_that_does_not_run() {
    let stdout = "instances: {i-7: {instanceId: INSTANCE, status: {flags: {active: false}}}}";
    insta::assert_snapshot!(failure("Create", stdout).await, @"Failed: `launch.sh` reported that the instance is not running");
}

#[tokio::test]
async fn an_integrity_check_of_something_inactive() {
    insta::assert_snapshot!(failure("Integrity", "instances: {i-1: {$set: {status.flags.active: no}}}").await, @"Failed: `Integrity.sh` found that the instance is not active");
}

#[tokio::test]
async fn an_integrity_check_of_nothing() {
    insta::assert_snapshot!(failure("Integrity", "instances: {i-1: {status: {flags: {active: no}}}}").await, @"Gone: `Integrity.sh` found no such instance");
}

#[tokio::test]
async fn what_a_failed_launch_said_is_kept() {
    let answer =
        format!("instances: {{i-7: {{instanceId: {INSTANCE}, status: {{flags: {{failed: true}}}}}}}}");
    let place = Place::new();
    let call =
        World::new().declares(&["Install"]).script("launch", &format!("echo '{answer}'")).call("Install");
    let failure = Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    assert_eq!(failure.message, "`launch` reported a failure");
    let kept = place.checkpoints().remove(0);
    assert_eq!(kept.natural.as_deref(), Some("i-7"));
    assert_eq!(kept.updates["status"]["flags"]["failed"], true);
}

/// A launch script has created an instance, and the rest of its answer violates the protocol. The id of the instance is
/// kept, so that the instance can be destroyed.
#[tokio::test]
async fn the_id_of_a_launch_with_a_wrong_answer_is_kept() {
    for fields in [
        "instanceId: ID, interfaces: 7",
        "instanceId: ID, state: up",
        "$set: {instanceId: ID, status.flags.actve: true}",
    ] {
        let answer = format!("instances: {{i-7: {{{}}}}}", fields.replace("ID", INSTANCE));
        let place = Place::new();
        let world = World::new().declares(&["Install"]).script("launch", &format!("echo '{answer}'"));
        let failure =
            Script::default().perform(&place, &[world.call("Install")]).await.remove(0).unwrap_err();
        assert!(failure.message.starts_with("the output of `launch` can't be used"), "{}", failure.message);
        let kept = place.checkpoints();
        assert_eq!(kept.len(), 1, "{fields}");
        assert_eq!((kept[0].natural.as_deref(), &kept[0].updates), (Some("i-7"), &serde_json::Value::Null));
    }
    // The instance does not belong to the call.
    let place = Place::new();
    let answer = "echo 'instances: {i-7: {instanceId: other, state: up}}'";
    let call = World::new().declares(&["Install"]).script("launch", answer).call("Install");
    Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    assert_eq!(place.checkpoints(), []);
}

#[tokio::test]
async fn calls_made_together_fail_alone() {
    let place = Place::new();
    let world = World::new().declares(&["Start"]).script("Start.sh", "grep -q i-2");
    let calls = [world.call("Start").natural("i-1"), world.call("Start").natural("i-2")];
    let reports = Script::default().perform(&place, &calls).await;
    assert_eq!(reports.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true]);
    let names: Vec<_> = place.jobs().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["transition", "transition-2"]);
}

#[tokio::test]
async fn what_a_script_has_left_running_is_a_warning() {
    let mut outcome = Outcome::new(End::Exited(0), Timestamp::from_millis(0));
    outcome.left_behind = vec!["node".to_owned(), "sleep".to_owned()];
    let report = Script::default().perform(&Canned(outcome), &[call("Start")]).await.remove(0).unwrap();
    let log = log(&report);
    assert!(log.contains("`Start.sh` left processes running in the background: `node`, `sleep`."), "{log}");
    assert!(log.starts_with("WARNING") && log.contains("docs/scripts.md"), "{log}");
}
