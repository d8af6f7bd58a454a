//! State in a PostgreSQL database that two projects share, as on two machines.

use std::path::PathBuf;

use insta::assert_snapshot;
use windlass_store::testing::server::Server;

use crate::env::{GATE, TestEnv, until};

/// A server, and a key that machines share.
struct Shared {
    server: Server,
    folder: tempfile::TempDir,
}

impl Shared {
    /// Starts a server for a test. Without PostgreSQL, reports that the test is skipped.
    fn start(test: &str) -> Option<Self> {
        let server = Server::own();
        if server.is_none() {
            crate::env::say(&format!("SKIPPED postgres::{test}: PostgreSQL is not installed"));
        }
        Some(Self { server: server?, folder: tempfile::tempdir().unwrap() })
    }

    /// Returns a machine that runs its commands in a project, with the shared server and key.
    fn machine(&self, env: TestEnv) -> Machine {
        Machine { env, state: self.server.url(), key: self.folder.path().join("key") }
    }
}

/// A project whose commands store their state on a server, sealed with a key.
struct Machine {
    env: TestEnv,
    state: String,
    key: PathBuf,
}

impl Machine {
    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.env.command(args);
        command.env("WINDLASS_STATE", &self.state).env("WINDLASS_KEY_FILE", &self.key);
        command
    }

    fn run(&self, args: &[&str]) -> crate::run::Run {
        self.env.start(self.command(args)).end()
    }

    fn ok(&self, args: &[&str]) -> crate::run::Run {
        let run = self.run(args);
        assert_eq!(run.code(), Some(0), "windlass {}\n{run}", args.join(" "));
        run
    }
}

#[test]
fn two_machines_share_the_work() {
    let Some(shared) = Shared::start("two_machines_share_the_work") else { return };
    let machine = || shared.machine(TestEnv::small("effect: once", &[("Install", GATE), ("Uninstall", "")]));
    let (here, there) = (machine(), machine());
    assert_snapshot!(here.ok(&["status"]).out(), @"there are no assemblies; `windlass up FILE` creates one");

    // Each assembly has one lease: a second command for it fails, and names the holder. Commands for
    // different assemblies are independent.
    let first = here.env.start(here.command(&["up", "small"]));
    until("the script has begun", || here.env.trace() == ["Install"]);
    assert_snapshot!(there.run(&["up", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0200]: `small` is held by `windlass up small` (process PID on HOST), which executes p1 up since WHEN; wait until it ends, or stop it with `windlass cancel small p1`; `windlass ps` lists all processes
    ");
    assert!(there.ok(&["status", "small"]).stdout.contains("p1 up is run by `windlass up small`"));
    there.env.write(".windlass/volumes/state/go", "");
    there.ok(&["up", "small", "--name", "other"]);

    // The first command is killed during a `once` step. The second machine can't tell whether the step was
    // done.
    first.kill();
    let refused = there.run(&["up", "small"]);
    assert_eq!(refused.code(), Some(1), "{refused}");
    let folder = here.env.path(".").canonicalize().unwrap();
    let from = format!(":{}, and only `windlass retry small` there can find the outcome\n", folder.display());
    assert!(
        refused.stderr.contains("  box Install (started ") && refused.stderr.contains(&from),
        "{refused}"
    );
    assert!(refused.stderr.starts_with("error[WL0514]: "), "{refused}");
    assert_snapshot!(there.ok(&["retry", "small", "--assume", "not-done"]).out(), @"
    info      box: the operator reported Install as not done
      + box added (resource::box::1.0)
    1 to add
    small: 1 step, up to 1 at once (p3 up)
       s1 box Install

    ok        box Install LONG

    done: small is Active (LONG)
    ");
    assert!(here.ok(&["status", "small"]).stdout.starts_with("small Active"));

    // The script still runs on the first machine, and the next command on that machine waits for it.
    here.env.write(".windlass/volumes/state/go", "");
    here.ok(&["down", "other"]);
    here.ok(&["down", "small"]);
    assert_snapshot!(there.ok(&["status"]).out(), @"there are no assemblies; `windlass up FILE` creates one");
    assert!(!here.env.path(".windlass/state.db").exists());
}

/// A machine can't find out the outcome of a script that another machine has started. The other machine still finds it.
#[test]
fn the_machine_of_a_script_finds_its_outcome() {
    let Some(shared) = Shared::start("the_machine_of_a_script_finds_its_outcome") else { return };
    let machine = || shared.machine(TestEnv::small("effect: once", &[("Install", GATE), ("Uninstall", "")]));
    let (here, there) = (machine(), machine());
    let first = here.env.start(here.command(&["up", "small"]));
    until("the script has begun", || here.env.trace() == ["Install"]);
    first.kill();
    for command in ["up", "plan"] {
        let refused = there.run(&[command, "small"]);
        assert_eq!(refused.code(), Some(1), "{refused}");
        assert!(refused.stderr.contains("only `windlass retry small` there"), "{refused}");
    }
    here.env.write(".windlass/volumes/state/go", "");
    let retried = here.ok(&["retry", "small"]);
    assert!(retried.stdout.contains("done: small is Active"), "{retried}");
    assert_eq!((here.env.trace(), there.env.trace()), (vec!["Install".to_owned()], Vec::new()));
    here.ok(&["down", "small"]);
}

/// A request of one machine is executed on the other machine, with the packages and parameters of the first.
/// In the store, a secret parameter is sealed.
#[test]
fn one_machine_does_what_another_asks() {
    let Some(shared) = Shared::start("one_machine_does_what_another_asks") else { return };
    let here = shared.machine(TestEnv::small("effect: once", &[("Install", "answer")]));
    let there = shared.machine(TestEnv::new());
    assert_snapshot!(here.ok(&["up", "small", "--queue"]).out(), @"small: up is queued for `windlass run`, as q1; `windlass cancel small q1` withdraws it");
    let keeper = there.env.start(there.command(&["run", "--health", "0"]));
    until("it is up", || keeper.stdout().contains("p2 completed"));
    assert_eq!((here.env.trace().len(), there.env.trace()), (0, vec!["Install".to_owned()]));
    assert!(here.ok(&["status", "small"]).stdout.starts_with("small Active"));
    keeper.signal(rustix::process::Signal::INT);
    keeper.end();
}

/// A machine without the key can read the state that another machine has stored.
#[test]
fn a_machine_without_the_key_reads_the_state() {
    let Some(shared) = Shared::start("a_machine_without_the_key_reads_the_state") else { return };
    let here = shared.machine(crate::keyless::with_a_secret());
    here.ok(&["up", "small", "-p", "password=@password"]);
    here.env.write_small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    here.ok(&["up", "small", "--name", "open"]);
    let none = shared.folder.path().join("none");
    let there = Machine { key: none, ..shared.machine(TestEnv::new()) };
    for args in crate::keyless::READING {
        there.ok(args);
    }
    let refused = there.run(&["down", "small"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.stderr.contains("the sealed value `password` of `small` is needed"), "{refused}");
    there.ok(&["down", "open"]);
    here.ok(&["down", "small"]);
}

/// A user of the database who may only read, such as the user of a dashboard, can call all commands that only read.
#[test]
fn a_database_user_who_may_only_read_reads_the_state() {
    let Some(shared) = Shared::start("a_database_user_who_may_only_read_reads_the_state") else { return };
    let here = shared.machine(crate::keyless::with_a_secret());
    here.ok(&["up", "small", "-p", "password=@password"]);
    shared.server.execute(
        "CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on; \
         GRANT USAGE ON SCHEMA windlass TO reader; \
         GRANT SELECT ON ALL TABLES IN SCHEMA windlass TO reader",
    );
    let state = here.state.replace("user=windlass", "user=reader");
    let there = Machine { state, ..shared.machine(TestEnv::new()) };
    for args in crate::keyless::READING {
        there.ok(args);
    }
    let state = here.state.replace("user=windlass", "user=reader");
    let project = Machine { state, ..shared.machine(crate::keyless::with_a_secret()) };
    project.ok(&["plan", "small", "-p", "password=@password"]);
    project.ok(&["doctor"]);
    let refused = there.run(&["down", "small"]);
    assert_eq!(refused.code(), Some(1));
    assert!(refused.stderr.starts_with("error[WL0212]: "), "{refused}");
    let advice = "use a database user with the right to write, and a server that is not read-only";
    assert!(refused.stderr.contains(advice), "{refused}");
}

/// The database server fails while a script runs, and recovers. `up`, `run` and `status` must report the failure and
/// the recovery. Nothing is lost, and no script runs twice.
#[test]
fn a_server_that_is_back_is_reported() {
    let Some(shared) = Shared::start("a_server_that_is_back_is_reported") else { return };
    let env = TestEnv::small("effect: once", &[("Install", GATE), ("Start", ""), ("Uninstall", "")]);
    let machine = shared.machine(env);
    // Once `run` has completed a request, it is connected to the server.
    let go = ".windlass/volumes/state/go";
    machine.env.write(go, "");
    machine.ok(&["up", "small", "--name", "other", "--queue"]);
    let daemon = machine.env.start(machine.command(&["run", "--health", "0"]));
    until("the other is up", || daemon.stdout().contains("completed"));
    std::fs::remove_file(machine.env.path(go)).unwrap();
    machine.env.clear_trace();
    let up = machine.env.start(machine.command(&["up", "small"]));
    until("the script has begun", || machine.env.trace() == ["Install"]);

    let status = machine.env.start(machine.command(&["status", "small", "-w"]));
    until("`status` has begun", || status.stdout().contains("small"));
    shared.server.stop();
    until("`status` says that it is gone", || status.stderr().contains("; windlass tries again"));
    until("`up` says that it is gone", || up.stderr().contains("; windlass tries again"));
    until("`run` says that it is gone", || daemon.stderr().contains("; windlass tries again"));
    assert!(!up.stderr().contains("is back") && !daemon.stderr().contains("is back"));
    shared.server.start_again();
    until("`up` says that it is back", || up.stderr().contains("PostgreSQL is back\n"));
    until("`run` says that it is back", || daemon.stderr().contains("PostgreSQL is back\n"));
    until("`status` says that it is back", || status.stderr().contains("PostgreSQL is back\n"));
    status.signal(rustix::process::Signal::INT);
    status.end();

    machine.env.write(go, "");
    let ended = up.end();
    assert_eq!(ended.code(), Some(0), "{ended}");
    assert_eq!(machine.env.trace(), ["Install", "Start"]);
    daemon.signal(rustix::process::Signal::INT);
    assert_eq!(daemon.end().code(), Some(0));
}

/// The database server is away while a script runs. The third interrupt must end `up` at once. The next `up` must find
/// the job of the script, and must not run the script again.
#[test]
fn a_command_can_be_ended_without_the_server() {
    let Some(shared) = Shared::start("a_command_can_be_ended_without_the_server") else { return };
    let gate = format!("trap '' TERM; {GATE}");
    let env = TestEnv::small("effect: once", &[("Install", &gate), ("Uninstall", "")]);
    let machine = shared.machine(env);
    let up = machine.env.start(machine.command(&["up", "small"]));
    until("the script has begun", || machine.env.trace() == ["Install"]);
    shared.server.stop();
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(300));
        up.signal(rustix::process::Signal::INT);
    }
    let ended = up.end();
    assert_eq!(ended.code(), Some(130), "{ended}");
    assert!(ended.stderr.contains("exited without waiting; run the same command again"), "{ended}");
    shared.server.start_again();
    machine.env.write(".windlass/volumes/state/go", "");
    let next = machine.run(&["up", "small"]);
    assert_eq!(machine.env.trace(), ["Install"], "{next}");
}
