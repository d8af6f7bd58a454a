//! Plain scripts on real processes: their input, their output, and the meaning of their exit codes.

use serde_json::{Value, json};
use windlass_driver::contract::{Purpose, Query};
use windlass_driver::{Driver, Observation, Report, Settled};
use windlass_executor::{Captured, End, Outcome, Timestamp};
use windlass_script::Script;

use crate::place::{Canned, Place};
use crate::world::{INSTANCE, With, World, shown};

fn world() -> World {
    World::new().set("style", "plain")
}

/// Performs an action whose script has this body.
async fn report(action: &str, body: &str) -> Report {
    let call = world().declares(&[action]).script(&format!("{action}.sh"), body).call(action);
    Script::default().perform(&Place::new(), &[call]).await.remove(0).unwrap()
}

/// Returns the failure of a Configure script with this body.
async fn failure(body: &str) -> String {
    let mut call = world().declares(&["Configure"]).script("Configure.sh", body).call("Configure");
    call.sensitive.insert("token".parse().unwrap());
    let place = Place::new();
    let failure = Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    assert!(place.checkpoints().is_empty(), "nothing of the output counts");
    shown(&failure)
}

#[tokio::test]
async fn properties_arguments_and_the_location_are_files() {
    let body = r#"exec >&2; cd /
for folder in "$WINDLASS_IN" "$WINDLASS_ARGUMENTS" "$WINDLASS_LOCATION"; do
    (cd "$folder" && for file in *; do printf '%s [%s] %s\n' "$file" "$(cat "$file")" "$(stat -c %a "$file")"; done)
done
cat "$WINDLASS_ID_FILE"; echo; wc -c <"$WINDLASS_IN/greeting"; exit 3"#;
    let call = world()
        .at("region", "eu-1")
        .declares(&["Join"])
        .script("Join.sh", body)
        .call("Join")
        .natural("vm-1")
        .property("greeting", "two\nlines")
        .property("ports", json!([80, 443]))
        .property("none", Value::Null)
        .property("a/b", "no file can have this name")
        .secret("password", "hunter22")
        .argument("target", "/srv");
    let place = Place::new();
    let failure = Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    insta::assert_snapshot!(shown(&failure), @r#"
    Failed: `Join.sh` exited with code 3
    ---
    greeting [two
    lines] 600
    none [] 600
    password [***] 600
    ports [[80,443]] 600
    properties.json [{
      "a/b": "no file can have this name",
      "greeting": "two\nlines",
      "none": null,
      "password": "***",
      "ports": [
        80,
        443
      ]
    }] 600
    arguments.json [{
      "target": "/srv"
    }] 600
    target [/srv] 600
    location.json [{
      "region": "eu-1"
    }] 600
    region [eu-1] 600
    vm-1
    9
    "#);
    let job = place.last_job();
    assert!(job.stdin.is_empty(), "a plain script has no stdin");
    assert!(job.env.is_empty() && job.args.is_empty(), "no value is in an argument or variable");
}

#[tokio::test]
async fn a_launch_publishes_what_it_writes() {
    let body = r#"echo 10.0.0.5 >"$WINDLASS_OUT/address"; printf 'a\n\n' >"$WINDLASS_OUT/text"
echo '{"http": [80, 1.5, null]}' >"$WINDLASS_OUT/ports.json"; : >"$WINDLASS_OUT/empty"
echo 42 >"$WINDLASS_METRICS/load.json"; echo "made it"; echo "for people" >&2"#;
    let report = report("Install", body).await;
    assert_eq!(report.natural.as_deref(), Some(INSTANCE));
    assert_eq!(report.settled, Settled::Yes);
    insta::assert_json_snapshot!(report.updates, @r#"
    {
      "$set": {
        "interfaces.metrics.signals.load": 42,
        "interfaces.properties.signals.address": "10.0.0.5",
        "interfaces.properties.signals.empty": "",
        "interfaces.properties.signals.ports": {
          "http": [
            80,
            1.5,
            null
          ]
        },
        "interfaces.properties.signals.text": "a\n\n"
      }
    }
    "#);
}

/// A second launch drops the outputs that only the first one has written.
#[tokio::test]
async fn a_launch_drops_the_outputs_of_an_earlier_one() {
    let mut call =
        world().declares(&["Install"]).script("Install.sh", r#"echo b >"$WINDLASS_OUT/new""#).call("Install");
    call.document = json!({"interfaces": {"properties": {"signals": {"new": "a", "old": "a"}}}});
    let report = Script::default().perform(&Place::new(), &[call]).await.remove(0).unwrap();
    let expected = json!({
        "$set": {"interfaces.properties.signals.new": "b"}, "$unset": {"interfaces.properties.signals.old": null}
    });
    assert_eq!(report.updates, expected);
}

#[tokio::test]
async fn a_launch_may_choose_the_id() {
    let report = report("Install", r#"echo "vm-of-$(cat "$WINDLASS_ID_FILE")" >"$WINDLASS_ID_FILE""#).await;
    assert_eq!(report.natural, Some(format!("vm-of-{INSTANCE}")));
    insta::assert_snapshot!(
        shown(&{
            let call = world().declares(&["Install"]).script("Install.sh", r#": >"$WINDLASS_ID_FILE""#).call("Install");
            Script::default().perform(&Place::new(), &[call]).await.remove(0).unwrap_err()
        }),
        @"
        Protocol: the output of `Install.sh` can't be used: `$WINDLASS_ID_FILE` must have one line with the id of the instance: at most 2048 bytes, without control characters
        ---
        error[WL0440]: `$WINDLASS_ID_FILE` must have one line with the id of the instance: at most 2048 bytes, without control characters
            help: leave the file as it is, or write another id to it
        "
    );
}

/// A script other than a launch changes single outputs, and keeps the id.
#[tokio::test]
async fn a_later_script_changes_single_outputs() {
    let body = r#"echo new >"$WINDLASS_OUT/address"; echo other >"$WINDLASS_ID_FILE""#;
    let call =
        world().declares(&["Configure"]).script("Configure.sh", body).call("Configure").natural("vm-1");
    let report = Script::default().perform(&Place::new(), &[call]).await.remove(0).unwrap();
    assert_eq!(report.natural.as_deref(), Some("vm-1"));
    assert_eq!(report.updates, json!({"$set": {"interfaces.properties.signals.address": "new"}}));
}

#[tokio::test]
async fn a_script_that_writes_nothing_changes_nothing() {
    assert_eq!(report("Configure", ":").await, Report::settled());
}

#[tokio::test]
async fn output_that_can_not_be_used() {
    let bad = r#"cd "$WINDLASS_OUT"; mkdir folder; mkfifo pipe; ln -s /etc/passwd link; printf '\377' >binary
echo '{"a": }' >bad.json; echo a >twice; echo 1 >twice.json; echo x >"two words"; echo why >&2
head -c 5000000 /dev/zero >large"#;
    insta::assert_snapshot!(failure(bad).await, @"
    Protocol: the output of `Configure.sh` can't be used: `$WINDLASS_OUT/bad.json` is not JSON: expected value at line 1 column 7 (and 7 more)
    ---
    error[WL0440]: `$WINDLASS_OUT/bad.json` is not JSON: expected value at line 1 column 7
        help: write one JSON value, or a text to `bad` without `.json`
    error[WL0440]: `$WINDLASS_OUT/binary` is not UTF-8 at byte 0
        help: encode binary data, for example by `base64`
    error[WL0440]: `$WINDLASS_OUT/folder` is not a regular file
        help: write a file with the value; folders, links and pipes are not read
    error[WL0440]: `$WINDLASS_OUT/large` is too large (5000000 bytes)
        help: all files of the folder may have 4 MiB together
    error[WL0440]: `$WINDLASS_OUT/link` is not a regular file
        help: write a file with the value; folders, links and pipes are not read
    error[WL0440]: `$WINDLASS_OUT/pipe` is not a regular file
        help: write a file with the value; folders, links and pipes are not read
    error[WL0440]: `$WINDLASS_OUT/twice.json` and `$WINDLASS_OUT/twice` are the same output
        help: write one of them
    error[WL0440]: `$WINDLASS_OUT/two words` can't be an output: its name is empty or has blanks
        help: name the file as the property
    stderr:
    why
    ");
}

#[tokio::test]
async fn an_output_folder_that_is_gone_or_a_link() {
    assert_eq!(report("Configure", r#"rmdir "$WINDLASS_OUT""#).await, Report::settled());
    insta::assert_snapshot!(failure(r#"rmdir "$WINDLASS_OUT"; ln -s / "$WINDLASS_OUT""#).await, @"
    Protocol: the output of `Configure.sh` can't be used: `$WINDLASS_OUT` is a link that leads out of the working folder
    ---
    error[WL0440]: `$WINDLASS_OUT` is a link that leads out of the working folder
        help: write a file with the value; folders, links and pipes are not read
    ");
}

/// A script writes sensitive outputs to files and to stderr. One of its files is invalid, so the driver reports a
/// failure. Neither the message of the failure nor the shown stderr may contain a sensitive output.
#[tokio::test]
async fn a_sensitive_output_is_masked() {
    let body = r#"echo hunter22 | tee "$WINDLASS_OUT/token" >&2; echo '{"token": "sesame99"}' >"$WINDLASS_OUT/all.json"
echo sesame99 >&2; echo '{' >"$WINDLASS_OUT/bad.json""#;
    insta::assert_snapshot!(failure(body).await, @"
    Protocol: the output of `Configure.sh` can't be used: `$WINDLASS_OUT/bad.json` is not JSON: EOF while parsing an object at line 2 column 0
    ---
    error[WL0440]: `$WINDLASS_OUT/bad.json` is not JSON: EOF while parsing an object at line 2 column 0
        help: write one JSON value, or a text to `bad` without `.json`
    stderr:
    ***
    ***
    ");
}

#[tokio::test]
async fn exit_code_75_means_converging() {
    let report = report("Start", "echo waiting >&2; echo for its disk >&2; exit 75").await;
    assert_eq!(report.settled, Settled::Converging);
    insta::assert_json_snapshot!(report.updates, @r#"
    {
      "$set": {
        "status.flags.converging": true,
        "status.message": "for its disk"
      }
    }
    "#);
}

#[tokio::test]
async fn other_exit_codes_are_failures() {
    insta::assert_snapshot!(failure("echo no room >&2; exit 1").await, @"
    Failed: `Configure.sh` exited with code 1
    ---
    no room
    ");
}

/// Returns the observations of all actions when the health check exits with a code, for an instance that is
/// converging or not.
async fn seen(code: i32, converging: bool) -> String {
    let actions = ["Install", "Configure", "Start", "Integrity", "Stop", "Uninstall", "Join"];
    let world = world().declares(&actions).script("health-check.sh", "");
    let mut outcome = Outcome::new(End::Exited(code), Timestamp::from_millis(0));
    outcome.stderr = Captured::whole("no answer\n");
    let mut rows = Vec::new();
    for action in actions {
        let mut call = world.call(action).natural("i-1");
        call.document = json!({"status": {"flags": {"converging": converging}}});
        let observed = Script::default().observe(&Canned(outcome.clone()), &[call]).await.remove(0);
        let (seen, updates) = match observed {
            Ok(observed) => (format!("{:?}", observed.observation), observed.report.updates),
            Err(failure) => (failure.message, Value::Null),
        };
        rows.push(format!("{action:9} {seen} {updates}"));
    }
    rows.join("\n")
}

#[tokio::test]
async fn a_health_check_that_succeeds() {
    insta::assert_snapshot!(seen(0, false).await, @r#"
    Install   Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Configure CannotTell("the exit code of a health check doesn't show whether Configure was done") {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Start     Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Integrity Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Stop      Differs("it is still active") {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Uninstall Differs("it is still there") {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Join      CannotTell("the exit code of a health check doesn't show whether Join was done") {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    "#);
    insta::assert_snapshot!(seen(0, true).await, @r#"
    Install   Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Configure Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Start     Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Integrity Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    Stop      Converging {"$set":{"status.flags.converging":true},"$unset":{"status.message":null}}
    Uninstall Converging {"$set":{"status.flags.converging":true},"$unset":{"status.message":null}}
    Join      Reached {"$set":{"status.flags.active":true,"status.flags.converging":false},"$unset":{"status.message":null}}
    "#);
}

#[tokio::test]
async fn a_health_check_that_fails() {
    insta::assert_snapshot!(seen(1, false).await, @r#"
    Install   CannotTell("the exit code of a health check doesn't show whether the instance exists") {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Configure CannotTell("the exit code of a health check doesn't show whether Configure was done") {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Start     Differs("it is not active: no answer") {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Integrity Differs("it is not active: no answer") {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Stop      Reached {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Uninstall CannotTell("the exit code of a health check doesn't show whether the instance exists") {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Join      CannotTell("the exit code of a health check doesn't show whether Join was done") {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    "#);
    insta::assert_snapshot!(seen(1, true).await, @r#"
    Install   Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Configure Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Start     Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Integrity Differs("it is not active: no answer") {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.flags.failed":true,"status.message":"no answer"}}
    Stop      Reached {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Uninstall Reached {"$set":{"status.flags.active":false,"status.flags.converging":false,"status.message":"no answer"}}
    Join      Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    "#);
}

#[tokio::test]
async fn a_health_check_that_says_converging() {
    insta::assert_snapshot!(seen(75, false).await, @r#"
    Install   Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Configure Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Start     Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Integrity Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Stop      Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Uninstall Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    Join      Converging {"$set":{"status.flags.converging":true,"status.message":"no answer"}}
    "#);
}

#[tokio::test]
async fn a_health_check_that_finds_no_instance() {
    let seen = [seen(104, false).await, seen(104, true).await];
    let [is_resting, was_converging] = seen;
    assert_eq!(is_resting, was_converging);
    let gone = r#"{"$set":{"status.flags.active":false,"status.flags.converging":false,"status.flags.failed":false,"status.message":"no answer"}}"#;
    let observed: Vec<&str> =
        is_resting.lines().filter_map(|row| row.strip_suffix(gone)).map(str::trim).collect();
    assert_eq!(
        observed,
        [
            "Install   Absent",
            "Configure Absent",
            "Start     Absent",
            "Integrity Absent",
            "Stop      Reached",
            "Uninstall Reached",
            "Join      Absent"
        ]
    );
}

/// A shell exits with 127 if a command is missing. That says nothing about the instance.
#[tokio::test]
async fn a_health_check_that_can_not_run() {
    insta::assert_snapshot!(seen(127, false).await, @"
    Install   `health-check.sh` exited with code 127 null
    Configure `health-check.sh` exited with code 127 null
    Start     `health-check.sh` exited with code 127 null
    Integrity `health-check.sh` exited with code 127 null
    Stop      `health-check.sh` exited with code 127 null
    Uninstall `health-check.sh` exited with code 127 null
    Join      `health-check.sh` exited with code 127 null
    ");
}

#[tokio::test]
async fn integrity_of_an_inactive_instance_fails() {
    let call = world()
        .declares(&["Integrity"])
        .script("Integrity.sh", "echo port 80 is closed >&2; exit 1")
        .call("Integrity")
        .natural("i-1");
    let place = Place::new();
    let failure = Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    assert_eq!(failure.message, "`Integrity.sh` found that the instance is not active: port 80 is closed");
    assert_eq!(place.checkpoints().len(), 1);
}

/// Plain health checks are not batched, since an exit code is about one instance.
#[tokio::test]
async fn each_instance_has_its_own_health_check() {
    let world =
        world().declares(&["Integrity"]).script("Integrity.sh", r#"grep -q vm-1 "$WINDLASS_ID_FILE""#);
    let nature = Script::default().nature(&world.package(), &crate::world::action("Integrity")).unwrap();
    assert_eq!(nature.batch, None);
    let calls = ["vm-1", "vm-2"].map(|id| world.call("Integrity").natural(id));
    let place = Place::new();
    let observed: Vec<_> = Script::default()
        .observe(&place, &calls)
        .await
        .into_iter()
        .map(|seen| seen.unwrap().observation)
        .collect();
    assert_eq!(observed, [Observation::Reached, Observation::Differs("it is not active".to_owned())]);
    let names: Vec<String> = place.jobs().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["health-check", "health-check-2"]);
}

async fn discovered(body: &str) -> Result<Value, String> {
    let world = world().at("region", "eu-1").script("discover.sh", body);
    let package = world.package();
    let query = Query {
        binding: package.bindings().default[0].clone(),
        package: package.into(),
        location: world.declares(&["Start"]).call("Start").location,
        configuration: [].into(),
        purpose: Purpose::Reference,
        properties: [("size".to_owned(), json!("2"))].into(),
    };
    match Script::default().discover(&Place::new(), &query).await {
        Ok(found) => Ok(found.into_iter().map(|found| json!([found.natural, found.properties])).collect()),
        Err(failure) => Err(shown(&failure)),
    }
}

#[tokio::test]
async fn discovery_prints_json_lines() {
    let body = r#"echo "{\"id\": \"a\", \"size\": 2, \"region\": \"$(cat "$WINDLASS_LOCATION/region")\"}"
echo; echo '{"id": "b", "size": 3}'; echo '{"id": "c"}'"#;
    assert_eq!(discovered(body).await, Ok(json!([["a", {"size": 2, "region": "eu-1"}], ["c", {}]])));
    insta::assert_snapshot!(discovered(r#"echo '{"id": 7}'; echo vm-1; echo '[]'"#).await.unwrap_err(), @r#"
    Protocol: the output of `discover.sh` can't be used: line 1 of `discover.sh` has no text `id` (and 2 more)
    ---
    error[WL0441]: line 1 of `discover.sh` has no text `id`
        help: print one line such as {"id": "vm-17", "name": "web"} for each instance
    error[WL0441]: line 2 of `discover.sh` is no JSON object: expected value at line 1 column 1
        help: print one line such as {"id": "vm-17", "name": "web"} for each instance
    error[WL0441]: line 3 of `discover.sh` is no JSON object: invalid type: sequence, expected a map at line 1 column 0
        help: print one line such as {"id": "vm-17", "name": "web"} for each instance
    "#);
}
