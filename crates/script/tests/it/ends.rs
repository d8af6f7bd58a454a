//! The possible ends of a script, and the failures they become.

use windlass_driver::Driver;
use windlass_executor::{Captured, End, Outcome, StartFailure, Timestamp};
use windlass_script::Script;

use crate::place::{Canned, Place};
use crate::world::{With, World, shown};

/// Returns the failure of a Configure script.
async fn run(world: World) -> String {
    let call = world.declares(&["Configure"]).call("Configure").secret("password", "hunter22");
    let place = Place::new();
    let failure = Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    assert!(place.checkpoints().is_empty(), "nothing of a failed script counts");
    shown(&failure)
}

async fn ended(end: End) -> String {
    let mut outcome = Outcome::new(end, Timestamp::from_millis(0));
    outcome.stderr = Captured::whole("the last words\n");
    let call = World::new().declares(&["Configure"]).script("Configure.sh", "").call("Configure");
    shown(&Script::default().perform(&Canned(outcome), &[call]).await.remove(0).unwrap_err())
}

#[tokio::test]
async fn an_exit_code_with_the_end_of_stderr() {
    let script = "echo 'instances: {x: {name: no}}'; echo 'no room left for hunter22' >&2; exit 3";
    insta::assert_snapshot!(run(World::new().script("Configure.sh", script)).await, @"
    Failed: `Configure.sh` exited with code 3
    ---
    no room left for ***
    ");
}

#[tokio::test]
async fn a_signal() {
    insta::assert_snapshot!(run(World::new().script("Configure.sh", "kill -9 $$")).await, @"Failed: `Configure.sh` was ended by signal 9");
}

#[tokio::test]
async fn out_of_time() {
    let world = World::new().set("timeout", "2s").script("Configure.sh", "echo waiting >&2; sleep 60");
    insta::assert_snapshot!(run(world).await, @"
    Timeout: `Configure.sh` ran out of time (it had 2s)
    ---
    waiting
    ");
}

#[tokio::test]
async fn no_interpreter() {
    let world = World::new().file("scripts/Configure.py", true, "#!/nowhere/python3\n");
    insta::assert_snapshot!(run(world).await, @"Infrastructure: `Configure.py` could not be started: `scripts/Configure.py` is there, but its interpreter `/nowhere/python3` is not");
}

#[tokio::test]
async fn no_run_bit() {
    insta::assert_snapshot!(run(World::new().file("scripts/Configure.sh", false, "#!/bin/sh\n")).await, @"Refused: the script `Lifecycle/script/scripts/Configure.sh` has no run bit: `chmod +x` it");
}

#[tokio::test]
async fn no_script() {
    insta::assert_snapshot!(run(World::new().script("Start.sh", "")).await, @"Refused: `resource::web::1.0` has no script for Configure");
}

#[tokio::test]
async fn more_than_one_script() {
    insta::assert_snapshot!(run(World::new().script("Configure.sh", "").script("Configure.py", "")).await, @"Refused: `resource::web::1.0` has more than one script for Configure");
}

#[tokio::test]
async fn a_file_that_cannot_be_placed() {
    insta::assert_snapshot!(run(World::new().script("Configure.sh", "").file("lib/../x", false, "")).await, @"Refused: the file `Lifecycle/script/lib/../x` can't be placed: `lib/../x` is no path inside the working folder: it contains `..`");
}

#[tokio::test]
async fn lost() {
    insta::assert_snapshot!(ended(End::Lost("the host went away".to_owned())).await, @"
    Lost: `Configure.sh` was lost: the host went away
    ---
    the last words
    ");
}

#[tokio::test]
async fn cancelled() {
    insta::assert_snapshot!(ended(End::Cancelled).await, @"
    Failed: `Configure.sh` was cancelled
    ---
    the last words
    ");
}

#[tokio::test]
async fn out_of_memory() {
    insta::assert_snapshot!(ended(End::OutOfMemory).await, @"
    Capacity: `Configure.sh` ran out of memory
    ---
    the last words
    ");
}

#[tokio::test]
async fn not_executable_at_the_location() {
    let why = StartFailure::NotExecutable {
        program: "scripts/Configure.sh".into(),
        why: "Exec format error".into(),
    };
    insta::assert_snapshot!(ended(End::NotStarted(why)).await, @"
    Refused: `Configure.sh` could not be started: `scripts/Configure.sh` can't be run: Exec format error
    ---
    the last words
    ");
}

#[tokio::test]
async fn not_found_at_the_location() {
    let why = StartFailure::NotFound { program: "scripts/Configure.sh".into() };
    insta::assert_snapshot!(ended(End::NotStarted(why)).await, @"
    Infrastructure: `Configure.sh` could not be started: there is no program `scripts/Configure.sh`
    ---
    the last words
    ");
}
