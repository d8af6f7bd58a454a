//! The driver passes the conformance suite of drivers.

use windlass_driver::testing::Subject;
use windlass_driver::{Call, Driver};
use windlass_script::Script;

use crate::place::Place;
use crate::world::{With, World};

/// The beginning of a script. It copies the input document to stderr, and sets `id` to the id of the instance in the
/// document.
const READ: &str = r#"input=$(cat); printf '%s\n' "$input" >&2
id=$(printf '%s\n' "$input" | sed -n '/^launch:$\|^instances:$/{n;s/^  \([a-z0-9-]*\):.*/\1/p}')"#;

fn world() -> World {
    World::new()
        .declares(&["Install", "Configure", "Start", "Integrity", "Reconfigure", "Uninstall", "Join"])
        .script(
            "Install.sh",
            &format!(
                r#"{READ}
cat <<END
instances:
  "vm-$id":
    instanceId: "$id"
    interfaces: {{properties: {{signals: {{token: "token-of-$id"}}}}}}
    \$pushAll: {{activityLog: [{{severity: INFO, message: "made with a-given-secret and token-of-$id"}}]}}
END"#
            ),
        )
        .script(
            "Configure.sh",
            &format!(
                r#"{READ}
printf 'instances: {{"%s": {{status: {{flags: {{failed: true}}, message: "no a-given-secret"}}}}}}' "$id""#
            ),
        )
        .script(
            "Start.sh",
            &format!(
                r#"{READ}
printf 'instances: {{"%s": {{$set: {{status.flags.converging: true}}}}}}' "$id""#
            ),
        )
        .script(
            "health-check.sh",
            r#"echo instances:
sed -n 's/^  \(vm-[0-9]\):.*$/  \1: {$set: {status.flags.active: true, status.message: "\1 of a-given-secret"}}/p'"#,
        )
        .script("reconfigure.sh", &format!("{READ}\nexit 3"))
        .script(
            "Uninstall.sh",
            &format!(
                r#"{READ}
printf 'instances: {{"%s": {{status: {{flags: {{active: false}}}}}}}}' "$id""#
            ),
        )
        .script("Join.sh", READ)
        .at("region", "eu-1")
}

fn call(action: &str) -> Call {
    let mut call = world().call(action).secret("password", "a-given-secret");
    call.sensitive.insert("token".parse().unwrap());
    if action == "Install" { call } else { call.natural("vm-1") }
}

async fn check(case: impl AsyncFnOnce(&Subject)) {
    let place = Place::new();
    let actions = ["Install", "Configure", "Start", "Integrity", "Reconfigure", "Uninstall", "Join"];
    let mut calls = Vec::from(actions.map(call));
    let other = call("Integrity").natural("vm-2");
    calls.push(Call { instance: "another".parse().unwrap(), ..other });
    Subject::new(Script::default(), calls).on(place.runtime()).check(case).await;
}

windlass_driver::conformance_tests!(check);

/// The calls of the subject end in different ways, so the suite has something to compare.
#[tokio::test]
async fn the_calls_differ() {
    let place = Place::new();
    let mut ends = Vec::new();
    for action in ["Install", "Configure", "Start", "Integrity", "Reconfigure", "Uninstall", "Join"] {
        let answer = Script::default().perform(&place, &[call(action)]).await.remove(0);
        ends.push(match answer {
            Ok(report) => format!("{action}: {:?} {:?}", report.settled, report.natural),
            Err(failure) => format!("{action}: {}", failure.message),
        });
    }
    insta::assert_snapshot!(ends.join("\n"), @r#"
    Install: Yes Some("vm-abcdefghijkmnpqrstuvwxyz")
    Configure: `Configure.sh` reported a failure: no ***
    Start: Converging Some("vm-1")
    Integrity: Yes Some("vm-1")
    Reconfigure: `reconfigure.sh` exited with code 3
    Uninstall: Gone Some("vm-1")
    Join: Yes None
    "#);
    assert_eq!(place.checkpoints().len(), 1);
}
