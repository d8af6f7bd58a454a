//! Tests the driver with the conformance suite of drivers. All scripts have the style `plain`.

use windlass_driver::Call;
use windlass_driver::testing::Subject;
use windlass_script::Script;

use crate::place::Place;
use crate::world::{With, World};

const ACTIONS: [&str; 7] = ["Install", "Configure", "Start", "Integrity", "Reconfigure", "Uninstall", "Join"];

/// Prints the secret that it is given.
const READ: &str = r#"cat "$WINDLASS_IN/password" >&2"#;

fn call(action: &str) -> Call {
    let world = World::new()
        .set("style", "plain")
        .declares(&ACTIONS)
        .script(
            "Install.sh",
            &format!(
                r#"{READ}; id=$(cat "$WINDLASS_ID_FILE")
echo "token-of-$id" | tee "$WINDLASS_OUT/token" >&2
echo "vm-$id" >"$WINDLASS_ID_FILE""#
            ),
        )
        .script("Configure.sh", &format!(r#"{READ}; echo "{{" >"$WINDLASS_OUT/token.json""#))
        .script("Start.sh", &format!("{READ}; exit 75"))
        .script("health-check.sh", &format!(r#"{READ}; grep -q vm-1 "$WINDLASS_ID_FILE""#))
        .script("reconfigure.sh", &format!("{READ}; exit 3"))
        .script("Uninstall.sh", READ)
        .script("Join.sh", &format!(r#"{READ}; cp "$WINDLASS_LOCATION/region" "$WINDLASS_OUT/region""#))
        .at("region", "eu-1");
    let mut call = world.call(action).secret("password", "a-given-secret");
    call.sensitive.insert("token".parse().unwrap());
    if action == "Install" { call } else { call.natural("vm-1") }
}

async fn check(case: impl AsyncFnOnce(&Subject)) {
    let place = Place::new();
    let mut calls = Vec::from(ACTIONS.map(call));
    let other = call("Integrity").natural("vm-2");
    calls.push(Call { instance: "another".parse().unwrap(), ..other });
    Subject::new(Script::default(), calls).on(place.runtime()).check(case).await;
}

windlass_driver::conformance_tests!(check);
