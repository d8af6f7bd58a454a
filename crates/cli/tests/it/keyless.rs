//! Commands without the key of the store, or with a wrong one.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use insta::assert_snapshot;
use rstest::rstest;

use crate::env::TestEnv;
use crate::small::RESOURCE;

const SECRET: &str = "hunter2-Tr0ub4dor&3";

/// The commands that read only records.
pub(crate) const READING: &[&[&str]] = &[
    &["status"],
    &["status", "small"],
    &["status", "small", "box"],
    &["log", "small"],
    &["history", "small"],
    &["ps"],
    &["ps", "show", "p1"],
    &["output", "small"],
    &["graph", "small"],
];

/// Returns a project with an assembly that has the secret property `password` and a public property. The file
/// `password` of the project contains the value of the secret property.
pub(crate) fn with_a_secret() -> TestEnv {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.edit(
        "small/assembly.yaml",
        "composition:\n  box:\n    type: resource::box::1.0\n    quantity: 1\n",
        "properties:\n  password:\n    type: password\n    required: true\n  login:\n    type: password\n    read-only: true\n    value: ${password}\n  port:\n    read-only: true\n    value: '80'\n\
         composition:\n  box:\n    type: resource::box::1.0\n    quantity: 1\n    properties:\n      password:\n        value: ${password}\n",
    );
    env.edit(RESOURCE, "lifecycle:\n", "properties:\n  password:\n    type: password\nlifecycle:\n");
    env.write("password", format!("{SECRET}\n"));
    env
}

/// Returns a project in which two assemblies are up: one with secrets, and `open` without secrets.
fn up() -> TestEnv {
    let env = with_a_secret();
    env.ok(&["up", "small", "-p", "password=@password"]);
    env.write_small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.ok(&["up", "small", "--name", "open"]);
    env.clear_trace();
    env
}

fn lose_the_key(env: &TestEnv) {
    fs::remove_file(env.path(".windlass/key")).unwrap();
}

fn replace_the_key(env: &TestEnv) {
    lose_the_key(env);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(env.path(".windlass/key"))
        .unwrap();
    writeln!(file, "{}", "5".repeat(64)).unwrap();
}

#[rstest]
#[case::missing(lose_the_key)]
#[case::wrong(replace_the_key)]
fn records_are_read(#[case] spoil: fn(&TestEnv)) {
    let env = up();
    let said = || READING.iter().map(|args| env.ok(args).to_string()).collect::<Vec<_>>();
    let before = said();
    spoil(&env);
    assert_eq!(said(), before);
}

#[test]
fn a_secret_is_shown_as_sealed() {
    let env = up();
    lose_the_key(&env);
    assert_snapshot!(env.ok(&["output", "small"]), @r#"
    exit 0
    ----- stdout -----
    login: "***"
    port: "80"
    "#);
    assert_snapshot!(env.ok(&["status", "small"]), @"
    exit 0
    ----- stdout -----
    small Active assembly::small::1.0, AGE
    └─ box Active AGE
      login: ***
      port: 80
    ");
}

#[test]
fn an_assembly_without_secrets_goes_down() {
    let env = up();
    lose_the_key(&env);
    assert_snapshot!(env.ok(&["down", "open"]), @"
    exit 0
    ----- stdout -----
      - box removed
    1 to remove
    open: 1 step, up to 1 at once (p3 down)
       s1 box Uninstall

    ok        box Uninstall LONG

    done: open is down (LONG)
    ");
    assert_eq!(env.trace(), ["Uninstall"]);
}

#[test]
fn a_command_that_needs_a_secret_names_it() {
    let env = up();
    lose_the_key(&env);
    let missing = env.run(&["down", "small"]);
    assert_snapshot!(missing, @"
    exit 2
    ----- stderr -----
    error[WL0217]: the sealed value `password` of `small` is needed, and the key `PROJECT/.windlass/key` of the store is missing, so the store's secrets can't be opened; restore it from a backup or from a machine that shares the store
    ");
    env.write(".windlass/key", "");
    replace_the_key(&env);
    let wrong = env.run(&["down", "small"]);
    assert_snapshot!(wrong, @"
    exit 2
    ----- stderr -----
    error[WL0220]: the sealed value `password` of `small` is needed, and the file `PROJECT/.windlass/key` is not the key that the store `PROJECT/.windlass/state.db` was created with; restore that key from a backup, or from a machine that shares the store
    ");
    assert_eq!(env.trace(), [""; 0]);
    let forgotten = env.ok(&["forget", "small", "--yes"]);
    assert_snapshot!(forgotten, @"
    exit 0
    ----- stdout -----
      box Active INSTANCE
    small is forgotten; windlass no longer manages 1 part
    ");
}

#[rstest]
#[case::up(&["up", "small"])]
#[case::scale(&["scale", "out", "small", "box"])]
#[case::retry(&["retry", "small"])]
#[case::heal(&["heal", "small", "box"])]
#[case::rename(&["rename", "small", "tiny"])]
fn an_intent_names_the_value_that_needs_the_key(#[case] args: &[&str]) {
    let env = up();
    lose_the_key(&env);
    let refused = env.refuses(args);
    assert!(
        refused.starts_with("error[WL0217]: the sealed value `password` of `small` is needed"),
        "{refused}"
    );
    assert_eq!(env.trace(), [""; 0]);
    env.ok(&["status", "small"]);
}

#[test]
fn the_doctor_tells_that_the_key_is_missing() {
    let env = up();
    lose_the_key(&env);
    let said = env.ok(&["doctor"]).stdout;
    assert!(said.contains("  but: the key `") && said.contains("is missing"), "{said}");
}

/// Without the key nothing is created, because a call may report a secret, which could not be recorded.
#[test]
fn nothing_is_created_without_the_key() {
    let env = up();
    lose_the_key(&env);
    let up = env.run(&["up", "small", "--name", "third"]);
    assert_snapshot!(up, @"
    exit 2
    ----- stderr -----
    error[WL0217]: the key `PROJECT/.windlass/key` of the store is missing, so the store's secrets can't be opened; restore it from a backup or from a machine that shares the store
    ");
    assert_eq!(env.trace(), [""; 0]);
}
