//! Unusable stores: a command prints the reason, and changes nothing.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::{
    env::{GATE, TestEnv, say, until},
    run::Run,
};

/// Returns a project with an existing assembly.
fn up() -> TestEnv {
    let env =
        TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Uninstall", "")]);
    env.ok(&["up", "small"]);
    env.clear_trace();
    env
}

fn store(env: &TestEnv) -> Connection {
    Connection::open(env.path(".windlass/state.db")).unwrap()
}

/// Runs a command that must fail before any script runs, and returns its error.
fn fails(env: &TestEnv, args: &[&str]) -> String {
    fails_with(1, env, args)
}

/// Runs a command that must be refused because of the store's key file, and returns its error.
fn is_refused(env: &TestEnv, args: &[&str]) -> String {
    fails_with(2, env, args)
}

fn fails_with(code: i32, env: &TestEnv, args: &[&str]) -> String {
    let run = env.run(args);
    assert_eq!((run.code(), run.stdout.as_str()), (Some(code), ""), "{run}");
    assert_eq!(env.trace(), [""; 0]);
    env.normal().text(&run.stderr)
}

#[test]
fn locked() {
    let env = up();
    let other = store(&env);
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_snapshot!(fails(&env, &["down", "small"]), @"error[WL0209]: the store `PROJECT/.windlass/state.db` is locked by another program; close that program, such as a `sqlite3` shell or a backup, and try again");
    other.execute_batch("ROLLBACK").unwrap();
    env.ok(&["down", "small"]);
}

/// An unreadable state folder may contain a store, so the command must not report that nothing is up.
#[test]
fn a_state_that_cannot_be_looked_into() {
    let env = TestEnv::bare();
    // A file in place of the folder makes it unreadable for every user, including root.
    env.write(".windlass", "no folder");
    for args in [&["status"][..], &["ps"], &["down", "small"]] {
        let said = fails(&env, args);
        assert!(said.contains("`PROJECT/.windlass` is not a windlass store"), "{said}");
    }
}

/// An invalid address is reported before any connection, with our own message.
#[test]
fn a_state_that_is_none() {
    let env = up();
    env.write("note.txt", "hello");
    let refused = |state: &str| env.refuses(&["status", "--state", state]);
    assert_snapshot!(refused("/tmp/foo"), @"error[WL0206]: can't use `/tmp/foo` as the address of the state: it is a path, and files keep the state in `.windlass` of the project's folder only; omit the address, or for a server, write it as `postgres://USER@HOST/DATABASE`");
    assert_snapshot!(refused("note.txt"), @"error[WL0206]: can't use `note.txt` as the address of the state: it is a path, and files keep the state in `.windlass` of the project's folder only; omit the address, or for a server, write it as `postgres://USER@HOST/DATABASE`");
    assert_snapshot!(refused("."), @"error[WL0206]: can't use `.` as the address of the state: it is a path, and files keep the state in `.windlass` of the project's folder only; omit the address, or for a server, write it as `postgres://USER@HOST/DATABASE`");
    assert_snapshot!(refused("shop"), @"error[WL0206]: can't use `shop` as the address of the state: write it as `postgres://USER@HOST/DATABASE`, or omit it to keep the state in `.windlass`");
    assert_snapshot!(refused("sqlite:///tmp/foo"), @"error[WL0206]: can't use `sqlite:///tmp/foo` as the address of the state: `sqlite` is not a supported scheme; write it as `postgres://USER@HOST/DATABASE`, or omit the address to keep the state in `.windlass`");
    assert_snapshot!(refused("postgre://me:hunter2@db/shop"), @"error[WL0206]: can't use `postgre://me@db/shop` as the address of the state: `postgre` is not `postgres`; did you mean `postgres://db/shop`?");
    assert_snapshot!(refused("postgres://"), @"error[WL0206]: can't use `postgres://` as the address of the state: it names no host; write it as `postgres://USER@HOST/DATABASE`");
    assert_snapshot!(fails(&env, &["status", "--state", "postgres://me@localhost:1/none"]), @"error[WL0214]: can't reach the store `postgres://me@localhost:1/none`: Connection refused; check the address, and that a PostgreSQL server listens there");
    // The store file has another format, or can't be read.
    fs::remove_file(env.path(".windlass/state.db")).unwrap();
    env.write(".windlass/state.db", "hello, this is a text and no database at all\n".repeat(100));
    assert_snapshot!(fails(&env, &["status"]), @"error[WL0207]: `PROJECT/.windlass/state.db` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`");
    fs::remove_file(env.path(".windlass/state.db")).unwrap();
    fs::create_dir(env.path(".windlass/state.db")).unwrap();
    assert_snapshot!(fails(&env, &["up", "small"]), @"error[WL0207]: `PROJECT/.windlass/state.db` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`");
}

#[test]
fn newer() {
    let env = up();
    let version: i64 = store(&env).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    store(&env).pragma_update(None, "user_version", 999).unwrap();
    for args in [&["up", "small"][..], &["down", "small"], &["status"], &["log", "small"], &["plan", "small"]]
    {
        let said = fails(&env, args);
        assert!(said.contains("schema version 999"), "{said}");
    }
    assert_snapshot!(fails(&env, &["status"]), @"error[WL0208]: the store `PROJECT/.windlass/state.db` has schema version 999, and this windlass knows versions up to 7; use the newer windlass that opened it before");
    store(&env).pragma_update(None, "user_version", version).unwrap();
    env.ok(&["down", "small"]);
}

#[test]
fn garbage() {
    let env = up();
    let good = fs::read(env.path(".windlass/state.db")).unwrap();
    let garbage = "this is no database ".repeat(1000);
    env.write(".windlass/state.db", &garbage);
    assert_snapshot!(fails(&env, &["status"]), @"error[WL0207]: `PROJECT/.windlass/state.db` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`");
    assert_snapshot!(fails(&env, &["up", "small"]), @"error[WL0207]: `PROJECT/.windlass/state.db` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`");
    assert_eq!(env.read(".windlass/state.db"), garbage, "it is left as it was");
    env.write(".windlass/state.db", good);
    env.ok(&["down", "small"]);
}

#[test]
fn a_key_that_others_can_read() {
    let env = up();
    let key = env.path(".windlass/key");
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    assert_snapshot!(is_refused(&env, &["up", "small"]), @"error[WL0218]: the key `PROJECT/.windlass/key` is accessible to others (mode 0644); run `chmod 600 PROJECT/.windlass/key`");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    env.ok(&["down", "small"]);
}

#[test]
fn a_key_that_is_gone_or_another() {
    let env = up();
    let key = fs::read(env.path(".windlass/key")).unwrap();
    fs::remove_file(env.path(".windlass/key")).unwrap();
    assert_snapshot!(is_refused(&env, &["up", "small"]), @"error[WL0217]: the key `PROJECT/.windlass/key` of the store is missing, so the store's secrets can't be opened; restore it from a backup or from a machine that shares the store");
    assert!(!env.path(".windlass/key").exists(), "a new one would not fit");
    let other = up();
    fs::copy(other.path(".windlass/key"), env.path(".windlass/key")).unwrap();
    assert_snapshot!(is_refused(&env, &["up", "small"]), @"error[WL0220]: the file `PROJECT/.windlass/key` is not the key that the store `PROJECT/.windlass/state.db` was created with; restore that key from a backup, or from a machine that shares the store");
    fs::write(env.path(".windlass/key"), key).unwrap();
    env.ok(&["up", "small"]);
}

/// A key without its store: the store was lost, or the user forgot `--state`.
#[test]
fn a_store_that_is_gone() {
    let env = up();
    fs::remove_file(env.path(".windlass/state.db")).unwrap();
    assert_snapshot!(env.ok(&["status"]), @"
    exit 0
    ----- stdout -----
    there are no assemblies; `windlass up FILE` creates one
    ----- stderr -----
    note: the key `PROJECT/.windlass/key` exists, but the store `PROJECT/.windlass/state.db` does not; if the state is in a database, name it by `--state`; if the file was lost, restore it from a backup, because `windlass up` would create everything a second time
    ");
    let run = env.ok(&["up", "small"]);
    assert_eq!(run.stderr.matches("note: the key").count(), 1, "{run}");
    assert_eq!(env.ok(&["status"]).stderr, "");
}

/// A user restores a backup of the store while a daemon runs, so another file has the path of the store. The daemon can
/// never use its store again. It must end with an error, so that its supervisor starts it again with the new file.
#[test]
fn a_daemon_ends_if_its_store_is_replaced() {
    let env = up();
    env.ok(&["up", "small", "--queue"]);
    let daemon = env.spawn(&["run"]);
    until("the daemon uses the store", || daemon.stdout().contains(" completed"));
    let (store, copy) = (env.path(".windlass/state.db"), env.path(".windlass/copy"));
    fs::copy(&store, &copy).unwrap();
    fs::rename(&copy, &store).unwrap();
    for file in ["state.db-wal", "state.db-shm"] {
        drop(fs::remove_file(env.path(&format!(".windlass/{file}"))));
    }
    let run = daemon.end();
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.stderr.contains("error[WL0216]: the store is closed; open it again"), "{run}");
    assert!(!run.stdout.contains("tries again"), "{run}");
}

#[test]
fn a_key_at_another_place() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    let run = |args: &[&str]| {
        let mut command = env.command(args);
        command.env("WINDLASS_KEY_FILE", env.path("my.key"));
        let run = env.start(command).end();
        assert_eq!(run.code(), Some(0), "{run}");
    };
    run(&["up", "small"]);
    assert!(env.path("my.key").is_file() && !env.path(".windlass/key").exists());
    run(&["down", "small"]);
}

/// Of two concurrent commands for one assembly, the second fails and names the holder. Commands for different
/// assemblies are independent.
#[test]
fn held_by_another() {
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Uninstall", "")]);
    let first = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install"]);
    let second = env.run(&["up", "small"]);
    assert_snapshot!(second, @"
    exit 1
    ----- stderr -----
    error[WL0200]: `small` is held by `windlass up small` (process PID on HOST), which executes p1 up since WHEN; wait until it ends, or stop it with `windlass cancel small p1`; `windlass ps` lists all processes
    ");
    let third = env.run(&["down", "small"]);
    assert_snapshot!(third, @"
    exit 1
    ----- stderr -----
    error[WL0200]: `small` is held by `windlass up small` (process PID on HOST), which executes p1 up since WHEN; wait until it ends, or stop it with `windlass cancel small p1`; `windlass ps` lists all processes
    ");
    let status = env.ok(&["status"]).out();
    assert!(status.contains("  p1 up is run by `windlass up small` (process PID on HOST)\n"), "{status}");
    let part = status.lines().last().unwrap();
    assert!(part.starts_with("└─ box Installing (") && part.ends_with(" s)"), "{status}");
    let other = env.spawn(&["up", "small", "--name", "other"]);
    until("the other's script has begun", || env.trace() == ["Install", "Install"]);
    env.write(".windlass/volumes/state/go", "");
    for run in [first.end(), other.end()] {
        assert_eq!(run.code(), Some(0), "{run}");
    }
    assert_eq!(env.json(&["status"])["assemblies"].as_array().unwrap().len(), 2);
}

#[test]
fn a_folder_that_can_not_be_written() {
    if rustix::process::geteuid().is_root() {
        // Root can read everything, so the test uses a file in place of the folder.
        let env = TestEnv::small("effect: repeatable", &[("Install", "answer")]);
        env.write(".windlass", "");
        assert_snapshot!(fails(&env, &["up", "small"]), @"error[WL0207]: `PROJECT/.windlass` is not a windlass store; move the file away, or keep the state in a database by `--state ADDRESS`");
    } else {
        let env = TestEnv::small("effect: repeatable", &[("Install", "answer")]);
        fs::set_permissions(env.path(""), Permissions::from_mode(0o555)).unwrap();
        let run = env.run(&["up", "small"]);
        fs::set_permissions(env.path(""), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(run.code(), Some(1), "{run}");
    }
}

/// A process that is killed during the creation of the store may leave an empty file. windlass must treat the empty
/// file like a missing store.
#[test]
fn an_empty_file_is_no_store_yet() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.write(".windlass/state.db", "");
    assert!(env.ok(&["status"]).stdout.contains("there are no assemblies"));
    env.ok(&["up", "small", "--dry-run"]);
    env.ok(&["up", "small"]);
    env.ok(&["down", "small"]);
}

/// Runs a shell script in a new mount namespace, with the path of `windlass` as `$0`. Returns `None` and
/// reports the test as skipped if the kernel forbids the namespace.
fn with_own_mounts(env: &TestEnv, test: &str, script: &str) -> Option<Run> {
    let mut command = Command::new("unshare");
    env.settle(&mut command);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_windlass")]);
    let run = env.start(command).end();
    if run.stderr.contains("unshare:") || run.code() == Some(77) {
        say(&format!("SKIPPED store::{test}: `unshare --mount` may not mount a tmpfs here"));
        return None;
    }
    Some(run)
}

/// A command fails on a full disk, and continues later. The disk is a small file system in a new mount
/// namespace.
#[test]
fn a_full_disk() {
    let env =
        TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Uninstall", "")]);
    fs::create_dir(env.path(".windlass")).unwrap();
    // The disk is filled to the last block and the command fails; with free space it continues.
    let script = r#"
mount -t tmpfs -o size=2m none .windlass || exit 77
"$0" up small >/dev/null || exit 78
"$0" down small >/dev/null || exit 79
dd if=/dev/zero of=.windlass/filler bs=1k 2>/dev/null
"$0" up small
echo "exit $?"
rm .windlass/filler
"$0" up small >/dev/null
echo "exit $?"
"$0" down small >/dev/null
"#;
    let Some(run) = with_own_mounts(&env, "a_full_disk", script) else { return };
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
    exit 1
    exit 0
    ----- stderr -----
    error[WL0211]: no space is left for the store `PROJECT/.windlass/state.db`; free some space on its disk and try again
    ");
}

/// The store is on a full disk, or in a read-only folder. Commands that change nothing must work nevertheless.
#[rstest::rstest]
#[case::full("dd if=/dev/zero of=.windlass/filler bs=1k 2>/dev/null", "error[WL0211]: no space is left")]
#[case::read_only("mount -o remount,ro .windlass", "error[WL0212]: ")]
fn a_store_that_can_only_be_read(#[case] freeze: &str, #[case] refusal: &str) {
    let env =
        TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Uninstall", "")]);
    fs::create_dir(env.path(".windlass")).unwrap();
    let script = format!(
        r#"
mount -t tmpfs -o size=2m none .windlass || exit 77
"$0" up small >/dev/null || exit 78
{freeze}
for command in "status" "status small" "log small" "ps" "output small" "history small" "plan small" \
    "doctor"; do
    "$0" $command >/dev/null || echo "$command: exit $?"
done
"$0" down small
echo "exit $?"
umount .windlass
"#
    );
    let Some(run) = with_own_mounts(&env, "a_store_that_can_only_be_read", &script) else { return };
    assert_eq!(run.stdout, "exit 1\n", "{run}");
    assert!(run.stderr.starts_with(refusal), "{run}");
}

/// A `once` script runs while the store's disk is full. Even if its output can't be recorded, the script must not count
/// as failed. It must not run again before the user states its outcome.
#[rstest::rstest]
#[case::short("")]
#[case::long("seq 20000 | sed 's/^/# /'\n")]
fn a_disk_that_is_full_runs_nothing_twice(#[case] more: &str) {
    let fills = format!(
        "dd if=/dev/zero of=\"$WINDLASS_VOLUME_STATE/filler\" bs=4k 2>/dev/null || :\n\
         dd if=/dev/zero of=\"$WINDLASS_VOLUME_STATE/filler2\" bs=1 2>/dev/null || :\nanswer\n{more}"
    );
    let env = TestEnv::small("effect: once", &[("Install", &fills), ("Start", ""), ("Uninstall", "")]);
    fs::create_dir(env.path(".windlass")).unwrap();
    let script = r#"
mount -t tmpfs -o size=24m none .windlass || exit 77
"$0" up small 2>&1
echo "exit $?"
rm .windlass/volumes/state/filler*
"$0" up small 2>&1
echo "exit $?"
"$0" down small >/dev/null 2>&1
echo "exit $?"
"$0" retry small --assume done --natural b-1 >/dev/null
echo "exit $?"
"$0" down small >/dev/null
echo "exit $?"
"#;
    let Some(run) = with_own_mounts(&env, "a_disk_that_is_full_runs_nothing_twice", script) else { return };
    insta::allow_duplicates! {
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
      + box added (resource::box::1.0)
    1 to add
    small: 2 steps, up to 1 at once (p1 up)
       s1 box Install
       s2 box Start

    error[WL0211]: no space is left for the store `PROJECT/.windlass/state.db`; free some space on its disk and try again
    exit 1
    error[WL0514]: the outcome of these calls is unknown, and they must not run twice:
      box Install (started WHEN): the disk was full while its job ran, and part of its output is lost; free some space first
    check them, then run `windlass retry small --assume done`, `not-done` or `failed`
    exit 1
    exit 1
    exit 0
    exit 0
    ");
    }
    assert_eq!(env.trace(), ["Install", "Start", "Uninstall"]);
}

/// A `once` script does not start while the store's disk has no room for its answer.
#[test]
fn a_once_script_is_not_started_without_room_for_its_answer() {
    let env = TestEnv::small("effect: once", &[("Install", "answer"), ("Uninstall", "")]);
    fs::create_dir(env.path(".windlass")).unwrap();
    let script = r#"
mount -t tmpfs -o size=5m none .windlass || exit 77
"$0" up small 2>&1
echo "exit $?"
mount -o remount,size=24m .windlass
"$0" up small >/dev/null 2>&1
echo "exit $?"
"$0" down small >/dev/null
echo "exit $?"
"#;
    let test = "a_once_script_is_not_started_without_room_for_its_answer";
    let Some(run) = with_own_mounts(&env, test, script) else { return };
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
      + box added (resource::box::1.0)
    1 to add
    small: 1 step, up to 1 at once (p1 up)
       s1 box Install

    failed    box Install: it was not started: its output may need 12 MiB, and the store's disk has 4 MiB free; free some space and run the same command again

    not done: up of small failed: 1 step failed
      `windlass log small` lists the steps that ran; the same command resumes the process
    exit 1
    exit 0
    exit 0
    ");
    assert_eq!(env.trace(), ["Install", "Uninstall"]);
}
