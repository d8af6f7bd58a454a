//! Changes of a package whose version stays the same.

use windlass_engine::{Desired, UpOptions};
use windlass_model::State;
use windlass_model::assembly::PackageDigest;
use windlass_model::record::{Effect, Intent, ProcessStatus};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, element};

/// Returns a rig in which the parts of a sketch are up. `keeps` tells whether the driver keeps its instances when their
/// package changes.
async fn up(sketch: &Sketch, keeps: bool) -> Rig {
    let rig = Rig::new(Effect::Once);
    if keeps {
        rig.strings.keep_packages();
    }
    rig.up(sketch.repackaged("old")).await.expect("they come up");
    rig
}

/// Returns the digest of the package that a part uses.
async fn used(rig: &Rig, part: &str) -> PackageDigest {
    rig.look("t").await.elements[&element(part)].made.clone().expect("it exists").package
}

fn digest(desired: &Desired) -> PackageDigest {
    desired.packages[0].digest().clone()
}

/// Repeats a request, which must change nothing then.
async fn nothing_more(rig: &Rig, desired: Desired) {
    let before = rig.strings.calls().len();
    let ended = rig.up(desired).await.expect("there is a plan");
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(rig.strings.calls().len(), before);
    assert!(ended.tally.succeeded == 0, "{:?}", ended.tally);
}

#[tokio::test(start_paused = true)]
async fn a_kept_part_is_reconfigured_with_its_new_package() {
    let sketch = Sketch::new(&["a", "b"]).reconfigurable("a");
    let rig = up(&sketch, true).await;
    let before = rig.strings.calls().len();
    rig.up(sketch.repackaged("new")).await.unwrap();
    // `b` declares no Reconfigure.
    assert_eq!(rig.strings.calls()[before..], ["a Reconfigure"]);
    for part in ["t__a", "t__b"] {
        assert_eq!(used(&rig, part).await, digest(&sketch.repackaged("new")), "{part}");
    }
    nothing_more(&rig, sketch.repackaged("new")).await;
}

/// A failed Reconfigure is repeated, because the part has not got its new package.
#[tokio::test(start_paused = true)]
async fn a_failed_reconfigure_is_repeated() {
    let sketch = Sketch::new(&["a"]).reconfigurable("a");
    let rig = up(&sketch, true).await;
    rig.strings.act("a Reconfigure", Act::Fail);
    let ended = rig.up(sketch.repackaged("new")).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    let before = rig.strings.calls().len();
    rig.up(sketch.repackaged("new")).await.unwrap();
    assert_eq!(rig.strings.calls()[before..], ["a Reconfigure"]);
    nothing_more(&rig, sketch.repackaged("new")).await;
}

/// If a process is killed at any moment, the next process completes its change.
#[tokio::test(start_paused = true)]
async fn a_killed_change_of_a_package_is_completed() {
    for after in 0..30 {
        let sketch = Sketch::new(&["a", "b"]).reconfigurable("a");
        let rig = up(&sketch, true).await;
        let before = rig.strings.calls().len();
        let killed =
            rig.up_until_killed(sketch.repackaged("new"), std::time::Duration::from_millis(after)).await;
        if killed {
            rig.up(sketch.repackaged("new")).await.unwrap();
        }
        let effects = rig.jobs.effects().iter().filter(|effect| *effect == "a Reconfigure").count();
        assert_eq!(effects, 1, "{after}: {:?}", rig.strings.calls()[before..].to_vec());
        for part in ["t__a", "t__b"] {
            assert_eq!(used(&rig, part).await, digest(&sketch.repackaged("new")), "{part} after {after} ms");
        }
        nothing_more(&rig, sketch.repackaged("new")).await;
        if !killed {
            return;
        }
    }
    panic!("the process takes longer than all kills");
}

/// A part that is healed, or brought to a lower state, gets its new package at the same time.
#[tokio::test(start_paused = true)]
async fn a_part_that_moves_uses_its_new_package() {
    let sketch = Sketch::new(&["a"]);
    let rig = up(&sketch, true).await;
    let options = UpOptions { goal: State::Inactive, ..UpOptions::default() };
    rig.up(Desired { options, ..sketch.repackaged("new") }).await.unwrap();
    assert_eq!(rig.states("t").await, "a Inactive");
    assert_eq!(used(&rig, "t__a").await, digest(&sketch.repackaged("new")));
    rig.up(sketch.repackaged("newer")).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active");
    assert_eq!(used(&rig, "t__a").await, digest(&sketch.repackaged("newer")));
}

/// The driver of a part can't apply a new package to an existing instance. Until the part is replaced, windlass must
/// run the scripts of the old package, even in a heal.
#[tokio::test(start_paused = true)]
async fn a_part_that_is_not_kept_uses_its_old_package_until_it_is_replaced() {
    let sketch = Sketch::new(&["a"]).reconfigurable("a");
    let rig = up(&sketch, false).await;
    let old = digest(&sketch.repackaged("old"));
    nothing_more(&rig, sketch.repackaged("new")).await;
    assert_eq!(used(&rig, "t__a").await, old);
    rig.ask("t", Intent::Heal(element("t__a"))).await.unwrap();
    assert_eq!(used(&rig, "t__a").await, old);
    assert_eq!(rig.strings.packages().last().unwrap(), &format!("a Start by {}", old.0));

    let options = UpOptions { replace: [element("t__a")].into(), ..UpOptions::default() };
    rig.up(Desired { options, ..sketch.repackaged("new") }).await.unwrap();
    let new = digest(&sketch.repackaged("new"));
    assert_eq!(used(&rig, "t__a").await, new);
    let last = rig.strings.packages();
    assert_eq!(last[last.len() - 4], format!("a Uninstall by {}", old.0));
    assert_eq!(last[last.len() - 3], format!("a Install by {}", new.0));
}

/// Each call of a kept part after the change uses the new package.
#[tokio::test(start_paused = true)]
async fn later_calls_use_the_new_package() {
    let sketch = Sketch::new(&["a"]);
    let rig = up(&sketch, true).await;
    rig.up(sketch.repackaged("new")).await.unwrap();
    rig.down("t").await.unwrap();
    let new = digest(&sketch.repackaged("new"));
    let packages = rig.strings.packages();
    assert_eq!(
        packages[packages.len() - 2..],
        [format!("a Stop by {}", new.0), format!("a Uninstall by {}", new.0)]
    );
}

/// With a broken package, Install fails, and then Uninstall fails to remove the leftovers. The next `up`, with a
/// corrected package, must first call Uninstall again, and then Install of the corrected package. If the driver keeps
/// its instances when their package changes, Uninstall must use the corrected package. Otherwise, Uninstall must use
/// the broken package.
#[tokio::test(start_paused = true)]
async fn a_part_that_never_was_is_cleaned_up_with_the_corrected_package() {
    for keeps in [true, false] {
        let sketch = Sketch::new(&["a"]);
        let rig = Rig::new(Effect::Once);
        if keeps {
            rig.strings.keep_packages();
        }
        for call in ["a Install", "a Uninstall"] {
            rig.strings.act(call, Act::Fail);
        }
        for _ in 0..2 {
            let ended = rig.up(sketch.repackaged("broken")).await.unwrap();
            assert_eq!(ended.process.status, ProcessStatus::Failed);
        }
        let before = rig.strings.packages().len();
        rig.up(sketch.repackaged("corrected")).await.unwrap();
        let by = if keeps { "corrected" } else { "broken" };
        let cleaned = format!("a Uninstall by {}", digest(&sketch.repackaged(by)).0);
        let packages = rig.strings.packages();
        assert_eq!(packages[before], cleaned, "unless its driver does not keep its instances");
        let installed = format!("a Install by {}", digest(&sketch.repackaged("corrected")).0);
        assert_eq!(packages[before + 1], installed);
        assert_eq!(rig.states("t").await, "a Active");
    }
}

/// After a failed installation, `down` cleans up with the package of the last `up`.
#[tokio::test(start_paused = true)]
async fn a_part_that_never_was_goes_with_the_package_of_the_last_up() {
    let sketch = Sketch::new(&["a"]);
    let rig = Rig::new(Effect::Once);
    rig.strings.keep_packages();
    for call in ["a Install", "a Uninstall"] {
        rig.strings.act(call, Act::Fail);
    }
    for content in ["broken", "corrected"] {
        rig.up(sketch.repackaged(content)).await.unwrap();
    }
    let before = rig.strings.packages().len();
    rig.down("t").await.unwrap();
    let cleaned = format!("a Uninstall by {}", digest(&sketch.repackaged("corrected")).0);
    assert_eq!(rig.strings.packages()[before..], [cleaned]);
}

/// To remove a part, windlass must use the package that the part was created from. On request, windlass must use the
/// new package instead.
#[tokio::test(start_paused = true)]
async fn current_packages_remove_parts_on_request() {
    for current_packages in [false, true] {
        let sketch = Sketch::new(&["a"]);
        let rig = up(&sketch, true).await;
        let before = rig.strings.packages().len();
        let replace = [element("t__a")].into();
        let options = UpOptions { replace, current_packages, ..UpOptions::default() };
        let ended = rig.up(Desired { options, ..sketch.repackaged("new") }).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed);
        let by = if current_packages { "new" } else { "old" };
        let stopped = format!("a Stop by {}", digest(&sketch.repackaged(by)).0);
        assert_eq!(rig.strings.packages()[before], stopped);
        assert_eq!(used(&rig, "t__a").await, digest(&sketch.repackaged("new")));
        nothing_more(&rig, sketch.repackaged("new")).await;
    }
}
