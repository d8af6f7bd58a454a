//! A store without free space: nothing of the batch is stored, and the store works again once there is space.

use std::io::Write;
use std::process::Command;

use insta::assert_snapshot;
use windlass_model::Seq;
use windlass_store::testing::samples::{event, holder, message, name};
use windlass_store::{Batch, Lease, SqliteStore, Store, StoreError};

use crate::place::Place;

fn large(lease: &Lease) -> Batch {
    let text = "x".repeat(10_000);
    (0..100).fold(Batch::new(), |batch, _| batch.event(event(&lease.scope, text.clone())))
}

async fn messages(store: &dyn Store) -> Vec<String> {
    let events = store.events(Seq::START, usize::MAX).await.unwrap();
    events.iter().map(|event| message(&event.draft).to_owned()).collect()
}

/// A batch exceeds the size limit of the store's file. SQLite then reports a full disk. The store must contain no part
/// of the batch.
#[tokio::test]
async fn a_batch_without_room_is_not_there_at_all() {
    let place = Place::new();
    let store = SqliteStore::open(place.path(), place.options().max_pages(100)).unwrap();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    let error = store.commit(&lease, large(&lease)).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_snapshot!(place.normal(&error), @"no space is left for the store `PLACE/store.db`; free some space on its disk and try again");
    assert_eq!(messages(&store).await, [""; 0]);

    store.release(lease.clone()).await.unwrap();
    let anew = store.lease(&lease.scope, &holder(1)).await.unwrap();
    assert_eq!(store.commit(&anew, Batch::new().event(event(&anew.scope, "small"))).await.unwrap(), Seq(1));
}

/// If one batch of a transaction is too large, the others are applied, except those of its own lease.
#[tokio::test]
async fn a_batch_without_room_takes_no_other_with_it() {
    let place = Place::new();
    let store = SqliteStore::open(place.path(), place.options().max_pages(100)).unwrap();
    let (big, small) = (
        store.lease(&name("big"), &holder(1)).await.unwrap(),
        store.lease(&name("small"), &holder(2)).await.unwrap(),
    );
    let note = |lease: &Lease, text: &str| Batch::new().event(event(&lease.scope, text));
    let stranger = place.stranger();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer blocks on the first order. The others queue behind it and share a transaction.
    let tickets = [
        store.commit(&small, note(&small, "first")),
        store.commit(&small, note(&small, "before")),
        store.commit(&big, large(&big)),
        store.commit(&big, note(&big, "after in vain")),
        store.commit(&small, note(&small, "after")),
    ];
    stranger.execute_batch("ROLLBACK").unwrap();
    let outcomes = futures::future::join_all(tickets).await;
    assert!(
        matches!(
            outcomes[..],
            [Ok(_), Ok(_), Err(StoreError::Full { .. }), Err(StoreError::AfterFailure { .. }), Ok(_)]
        ),
        "{outcomes:?}"
    );
    assert_eq!(messages(&store).await, ["first", "before", "after"]);
}

/// Runs on a disk that is really full: a small one in its own mount namespace. If the kernel forbids the mount, the
/// test prints that it is skipped. In this case, only the two tests above cover a full disk.
#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=1m none \"$1\" && exec \"$2\" fill \"$1\"";
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "sh", "-c", script, "sh"]);
    let output = command.arg(folder.path()).arg(env!("CARGO_BIN_EXE_windlass-store-victim")).output();
    let Some(output) = output.ok().filter(|output| !is_forbidden(output)) else {
        say("SKIPPED full::a_full_disk: `unshare --mount` may not mount a tmpfs here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said =
        String::from_utf8(output.stdout).unwrap().replace(&folder.path().display().to_string(), "DISK");
    let (error, later) = said.trim_end().split_once('\n').unwrap();
    assert_snapshot!(error, @"no space is left for the store `DISK/store.db`; free some space on its disk and try again");
    let stored = later.strip_prefix("stored ").and_then(|rest| rest.split_once(", then event ")).unwrap();
    let (before, last): (u64, u64) = (stored.0.parse().unwrap(), stored.1.parse().unwrap());
    assert!(before > 0 && last == before + 1, "{later}");
}

/// Prints a line even if the output of passing tests is captured.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Tells whether `unshare` or `mount` failed before the victim started.
fn is_forbidden(output: &std::process::Output) -> bool {
    let error = String::from_utf8_lossy(&output.stderr);
    !output.status.success() && (error.contains("unshare") || error.contains("mount"))
}
