//! Tests of stores with problems. For example, the file belongs to another program, has a newer schema, is locked,
//! can't be written, or is damaged. If windlass refuses a store, the error must say what to do.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use insta::assert_snapshot;
use windlass_model::Seq;
use windlass_secret::Sensitive;
use windlass_store::testing::samples::{assembly, element, event, holder, name, part, secret, value};
use windlass_store::{Batch, KeyError, KeySource, SqliteStore, Store, StoreError};

use crate::place::Place;

#[test]
fn no_store_and_none_to_be_made() {
    let place = Place::new();
    let (_, message) = place.refusal(place.options().create(false));
    assert_snapshot!(message, @"there is no store at `PLACE/store.db`; check the folder; the first `windlass up` creates the store");
    assert!(!place.path().exists() && !place.key().exists());
}

#[test]
fn garbage() {
    let place = Place::new();
    std::fs::write(
        place.path(),
        "certainly no database, but long enough to have a header of one: ".repeat(20),
    )
    .unwrap();
    let (_, message) = place.refusal(place.options());
    assert_snapshot!(message, @"`PLACE/store.db` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`");
    assert!(!place.key().exists(), "no key is made for what is no store");
}

#[test]
fn a_folder() {
    let place = Place::new();
    std::fs::create_dir(place.path()).unwrap();
    assert!(matches!(place.refusal(place.options()).0, StoreError::NotAStore { .. }));
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    let place = Place::new();
    place.stranger().execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1);").unwrap();
    let before = std::fs::read(place.path()).unwrap();
    assert!(matches!(place.refusal(place.options()).0, StoreError::NotAStore { .. }));
    assert_eq!(std::fs::read(place.path()).unwrap(), before);
}

#[test]
fn a_newer_store() {
    let place = Place::new();
    drop(place.store());
    place.stranger().pragma_update(None, "user_version", 99).unwrap();
    let (_, message) = place.refusal(place.options());
    assert_snapshot!(message, @"the store `PLACE/store.db` has schema version 99, and this windlass knows versions up to 7; use the newer windlass that opened it before");
}

/// A store whose creation was interrupted is completed.
#[tokio::test]
async fn a_store_whose_making_was_cut_is_made() {
    for steps in ["", "PRAGMA journal_mode = WAL;"] {
        let place = Place::new();
        std::fs::File::create(place.path()).unwrap();
        place.stranger().execute_batch(steps).unwrap();
        assert!(place.store().assemblies(None, 1).await.unwrap().is_empty());
    }
}

/// Concurrent processes create the same store, and all of them open it.
#[test]
fn makers_do_not_meet() {
    for _ in 0..5 {
        let place = Place::new();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..6).map(|_| scope.spawn(|| place.store().id().clone())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}

#[test]
fn locked_while_it_is_opened() {
    let place = Place::new();
    drop(place.store());
    let stranger = place.stranger();
    stranger.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;").unwrap();
    let (_, message) = place.refusal(place.options().busy_timeout(Duration::from_millis(20)));
    assert_snapshot!(message, @"the store `PLACE/store.db` is locked by another program; close that program, such as a `sqlite3` shell or a backup, and try again");
}

/// A store of the current version is opened and read while another program holds the write lock.
#[tokio::test]
async fn opened_while_it_is_written_by_another_program() {
    let place = Place::new();
    drop(place.store());
    let stranger = place.stranger();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    let store = SqliteStore::open(place.path(), place.options().busy_timeout(Duration::ZERO)).unwrap();
    assert!(store.load(&name("h_bta")).await.unwrap().is_none());
}

/// A batch that can't be written because of a lock is refused, with the later batches of its lease.
/// Afterwards the store works again.
#[tokio::test]
async fn locked_while_it_is_written() {
    let place = Place::new();
    let store =
        SqliteStore::open(place.path(), place.options().busy_timeout(Duration::from_millis(20))).unwrap();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    let batch = |text: &str| Batch::new().event(event(&lease.scope, text));
    let stranger = place.stranger();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(store.commit(&lease, batch("locked out")).await, Err(StoreError::Locked { .. })));
    stranger.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(store.commit(&lease, batch("after")).await, Err(StoreError::AfterFailure { .. })));

    store.release(lease.clone()).await.unwrap();
    let anew = store.lease(&lease.scope, &holder(1)).await.unwrap();
    assert_eq!(store.commit(&anew, batch("anew")).await.unwrap(), Seq(1));
}

/// A lease can't be released because of a lock. Afterwards, its holder can take it again, and other programs can't.
#[tokio::test]
async fn locked_while_a_lease_is_released() {
    let place = Place::new();
    let store =
        SqliteStore::open(place.path(), place.options().busy_timeout(Duration::from_millis(20))).unwrap();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    let stranger = place.stranger();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(store.release(lease.clone()).await, Err(StoreError::Locked { .. })));
    stranger.execute_batch("ROLLBACK").unwrap();
    let refused = store.lease(&lease.scope, &holder(2)).await.map(drop);
    assert!(matches!(refused, Err(StoreError::Held { .. })));

    let next = store.lease(&lease.scope, &holder(1)).await.unwrap();
    assert!(matches!(store.release(lease).await, Err(StoreError::LeaseLost { .. })));
    assert!(matches!(store.lease(&next.scope, &holder(1)).await, Err(StoreError::Held { .. })));
    store.release(next).await.unwrap();
}

/// Several batches wait for the writer, and one of them is faulty. The store must write the batches in one transaction,
/// and must refuse only the faulty batch.
#[tokio::test]
async fn one_transaction_for_many_batches() {
    let place = Place::new();
    let store = place.store();
    let mut leases = Vec::new();
    for (n, assembly_name) in (1..).zip(["first", "good", "orphan", "last"]) {
        leases.push(store.lease(&name(assembly_name), &holder(n)).await.unwrap());
    }
    let [first, good, orphan, last] = &leases[..] else { unreachable!() };
    let stranger = place.stranger();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer blocks on the first order, and the others queue behind it.
    let note = |lease: &windlass_store::Lease| Batch::new().event(event(&lease.scope, "x"));
    let tickets = [
        store.commit(first, note(first)),
        store.commit(good, note(good)),
        store.commit(orphan, note(orphan).put_element(element(&part(&orphan.scope, "A"), 1))),
        store.commit(last, note(last)),
    ];
    stranger.execute_batch("ROLLBACK").unwrap();
    let outcomes = futures::future::join_all(tickets).await;
    assert!(
        matches!(outcomes[..], [Ok(Seq(1)), Ok(Seq(2)), Err(StoreError::Refused { .. }), Ok(Seq(3))]),
        "{outcomes:?}"
    );
}

#[test]
fn another_key() {
    let place = Place::new();
    drop(place.store());
    std::fs::remove_file(place.key()).unwrap();
    let (_, message) = place.key_problem(place.options());
    assert_snapshot!(message, @"the key `PLACE/key` of the store is missing, so the store's secrets can't be opened; restore it from a backup or from a machine that shares the store");
    assert!(!place.key().exists(), "no second key is made");

    std::fs::write(place.key(), "11".repeat(32)).unwrap();
    std::fs::set_permissions(place.key(), std::fs::Permissions::from_mode(0o600)).unwrap();
    let (_, message) = place.key_problem(place.options());
    assert_snapshot!(message, @"the file `PLACE/key` is not the key that the store `PLACE/store.db` was created with; restore that key from a backup, or from a machine that shares the store");
}

#[test]
fn a_key_given_as_text() {
    let place = Place::new();
    let text = |digits: &str| KeySource::Text {
        text: Sensitive::new(digits.repeat(32)),
        origin: "`DEMO_KEY`".into(),
    };
    drop(SqliteStore::open(place.path(), place.options().key(text("ab"))).unwrap());
    drop(SqliteStore::open(place.path(), place.options().key(text("ab"))).unwrap());
    assert!(!place.key().exists());
    let (error, _) = place.key_problem(place.options().key(text("cd")));
    assert!(matches!(error, StoreError::Key(KeyError::Wrong { .. })), "{error}");
}

/// A sealed value that was moved to another name is not opened.
#[tokio::test]
async fn a_swapped_secret() {
    let place = Place::new();
    let store = place.store();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    let batch = Batch::new()
        .put_assembly(assembly(&lease.scope, &[]))
        .put_secret(secret("mine"), lease.scope.clone(), value("m"))
        .put_secret(secret("yours"), lease.scope.clone(), value("y"));
    store.commit(&lease, batch).await.unwrap();
    let swap = "UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE id = 'yours') WHERE id = 'mine'";
    place.stranger().execute_batch(swap).unwrap();
    let error = store.secret(&secret("mine")).await.unwrap_err();
    assert_snapshot!(place.normal(&error), @"the secret `mine` is damaged or was sealed with another key; restore the store and its key from a backup");
    assert!(store.load(&lease.scope).await.is_err());
    assert!(store.secret(&secret("yours")).await.unwrap().is_some());
}

/// An invalid record is reported as damage, not skipped.
#[tokio::test]
async fn a_broken_record() {
    let place = Place::new();
    let store = place.store();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    store.commit(&lease, Batch::new().put_assembly(assembly(&lease.scope, &[]))).await.unwrap();
    place.stranger().execute_batch("UPDATE assembly SET record = '{}'").unwrap();
    let error = store.load(&lease.scope).await.unwrap_err();
    assert_snapshot!(place.normal(&error), @"the store `PLACE/store.db` is damaged: a record can't be read: missing field `name` at line 1 column 2; keep a copy of the folder, then restore a backup or repair it with `sqlite3 … .recover`");
}

/// Overwritten pages are detected.
#[tokio::test]
async fn broken_pages() {
    let place = Place::new();
    let store = place.store();
    let lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    let batch =
        (0..500).fold(Batch::new(), |batch, n| batch.event(event(&lease.scope, format!("event {n}"))));
    store.commit(&lease, batch).await.unwrap();
    drop(store);
    let mut bytes = std::fs::read(place.path()).unwrap();
    let second = 4096;
    bytes[second..].fill(0x5a);
    std::fs::write(place.path(), bytes).unwrap();
    let (error, message) = place.refusal(place.options());
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert_snapshot!(message, @"the store `PLACE/store.db` is damaged: database disk image is malformed; keep a copy of the folder, then restore a backup or repair it with `sqlite3 … .recover`");
}

#[tokio::test]
async fn files_are_their_owners_alone() {
    let place = Place::new();
    let store = place.store();
    let _lease = store.lease(&name("h_bta"), &holder(1)).await.unwrap();
    for file in place.path().parent().unwrap().read_dir().unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", file.path().display());
    }
}

/// A process without permissions gets an error for the folder, whether or not it contains a store.
#[test]
fn a_folder_that_can_not_be_written() {
    let place = Place::new();
    let folder = place.path().parent().unwrap().to_owned();
    let tools = tempfile::tempdir().unwrap();
    let victim = tools.path().join("victim");
    std::fs::copy(env!("CARGO_BIN_EXE_windlass-store-victim"), &victim).unwrap();
    let open = || {
        let mut command = unprivileged(&victim);
        let output = command.arg("open").arg(&folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap().replace(&folder.display().to_string(), "PLACE")
    };
    for path in [&folder, &tools.path().to_owned()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o555)).unwrap();
    }
    assert_snapshot!(open(), @"the store `PLACE/store.db` can't be written; make the file and its folder writable for this user");

    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(place.store());
    for file in [place.path(), place.key()] {
        give_away(&file);
    }
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    assert_snapshot!(open(), @"the store `PLACE/store.db` can't be written; make the file and its folder writable for this user");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const NOBODY: u32 = 65_534;

/// Returns a command that runs as an unprivileged user, because root may write everywhere.
fn unprivileged(program: &std::path::Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn give_away(file: &std::path::Path) {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(file, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}
