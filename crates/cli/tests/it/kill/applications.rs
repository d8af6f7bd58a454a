//! Commands on applications are killed at random times, sometimes together with the supervisors of their
//! jobs. The scripts list their effects. The list shows that nothing is lost or done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::life::{Random, seed, wanted};
use crate::env::{TestEnv, say, until};
use crate::proc::Process;

/// The manifest of a machine, whose factory is `VM Factory`. All scripts are copies of `cloud.py`, which acts
/// according to its file name.
const MACHINE: &str = r#"
application:
  interfaces:
    configuration: {"*": bind(vm#configuration.*)}
    control: {"*": bind(vm#control.*)}
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /launch.py
        factory.destroyScript: /destroy.py
        factory.healthCheckScript: /check.py
        factory.commandScripts: {control.reboot: /reboot.py}
      interfaces:
        configuration: {id: configuration(string)}
        control: {reboot: receive-command(=> string result)}
"#;

const FACTORY: &str = r#"
application:
  interfaces:
    component: {"*": bind(factory#component.*)}
    configuration: {"*": bind(factory#configuration.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: VM
        component.discoveryScript: /discover.py
        component.discoverySchedule: "* * * * * ? *"
      interfaces:
        configuration: {effects: configuration(string)}
"#;

const EFFECTS: &str = "effects";

/// A project with a simulated cloud, and statistics about the kills of its commands.
struct Cloud {
    env: TestEnv,
    random: Random,
    kills: BTreeMap<&'static str, u32>,
    /// The duration of each kind of command without kills.
    lasts: BTreeMap<&'static str, Duration>,
    machines: u32,
}

impl Cloud {
    fn new(seed: u64) -> Self {
        let env = TestEnv::bare();
        env.write("windlass.yaml", "version: 1\nlocations:\n  here: {runtime: process, input: json}\n");
        env.write("vm.yaml", MACHINE);
        env.write("factory.yaml", FACTORY);
        for action in ["launch", "destroy", "check", "reboot", "discover"] {
            env.script(&format!("scripts/{action}.py"), include_str!("cloud.py"));
        }
        env.write(EFFECTS, "");
        env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
        env.ok(&["app", "publish", "vm.yaml", "--name", "VM", "--scripts", "scripts"]);
        env.ok(&["env", "service", "add", "default", "--location", "here"]);
        let effects = format!("configuration.effects={}", env.path(EFFECTS).display());
        env.ok(&["app", "launch", "VM Factory", "--name", "factory", "-p", &effects]);
        env.ok(&["env", "service", "add", "default", "factory"]);
        Self { env, random: Random(seed), kills: BTreeMap::new(), lasts: BTreeMap::new(), machines: 0 }
    }

    fn effects(&self) -> Vec<String> {
        self.env.read(EFFECTS).lines().map(str::to_owned).collect()
    }

    /// Adds an effect that no script causes: a machine is created outside of windlass, or lost.
    fn by_hand(&self, effect: &str) {
        let mut file = OpenOptions::new().append(true).open(self.env.path(EFFECTS)).unwrap();
        file.write_all(format!("{effect}\n").as_bytes()).unwrap();
    }

    /// Returns the machines that exist.
    fn machines(&self) -> BTreeSet<String> {
        let mut there = BTreeSet::new();
        for effect in self.effects() {
            let (what, machine) = effect.split_once(' ').unwrap();
            match what {
                "launch" | "outside" => assert!(there.insert(machine.to_owned()), "{machine} is made twice"),
                "destroy" => assert!(there.remove(machine), "{machine} is destroyed twice"),
                "lost" => drop(there.remove(machine)),
                _ => {}
            }
        }
        there
    }

    /// Returns a name for the next machine.
    fn next_machine(&mut self) -> String {
        self.machines += 1;
        format!("m-{}", self.machines)
    }

    /// Returns the natural ids of the applications, with their names.
    fn applications(&self) -> Vec<(String, String)> {
        let status = self.env.json(&["status"]);
        let mut found: Vec<(String, String)> = status["assemblies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|assembly| assembly["name"] != "factory")
            .map(|assembly| {
                let natural = assembly["application"]["natural_id"].as_str().unwrap_or_default();
                (natural.to_owned(), assembly["name"].as_str().unwrap().to_owned())
            })
            .collect();
        found.sort();
        found
    }

    /// Checks that each machine has exactly one application, and that the machine of each application exists.
    fn is_consistent(&self) {
        let applications = self.applications();
        let naturals: Vec<&String> = applications.iter().map(|(natural, _)| natural).collect();
        let machines = self.machines();
        assert_eq!(naturals, machines.iter().collect::<Vec<_>>(), "{applications:?}");
    }

    /// Runs a command without killing it. The command must succeed.
    fn undisturbed(&mut self, kind: &'static str, args: &[&str]) {
        let begun = Instant::now();
        self.env.ok(args);
        self.lasts.insert(kind, begun.elapsed());
    }

    /// Runs a command, and kills it at a random time. In one of four cases, the supervisors of its jobs are
    /// killed too.
    ///
    /// The supervisors of a removal are never killed. Without the result of the destroy script, the next removal would
    /// repeat the health check until a timeout.
    fn killed(&mut self, kind: &'static str, args: &[&str]) {
        // The recorded duration may be too long, because later commands run faster with warm caches.
        let limit = self.lasts.get(kind).map_or(Duration::from_secs(1), |lasts| *lasts * 3 / 4);
        let moment = self.random.below(u64::try_from(limit.as_micros()).unwrap());
        let with_supervisors = self.random.below(4) == 0 && kind != "destroy";
        let mut running = self.env.spawn(args);
        thread::sleep(Duration::from_micros(moment));
        *self.kills.entry(kind).or_default() += u32::from(!running.has_ended());
        running.kill();
        if with_supervisors {
            self.env.processes().iter().filter(|process| process.is_supervisor()).for_each(Process::kill);
            self.env.is_quiet();
        }
    }

    /// Returns the processes of an application, oldest first.
    fn processes(&self, name: &str) -> Vec<Value> {
        let history = self.env.run(&["history", name, "--format", "json"]);
        let processes = (history.code() == Some(0)).then(|| history.json()["processes"].clone());
        let mut processes = processes.and_then(|all| all.as_array().cloned()).unwrap_or_default();
        processes.sort_by_key(|process| process["id"].as_str().map(|id| id[1..].parse::<u64>().unwrap()));
        processes
    }

    fn exists(&self, name: &str) -> bool {
        self.env.run(&["status", name]).code() == Some(0)
    }

    /// Resumes an interrupted process with `retry`. If the supervisor of a call was killed, `retry` asks for the
    /// outcome of the call. The function then states the outcome according to the effects of the call.
    fn retried(&self, name: &str, is_done: impl Fn() -> bool, natural: Option<&str>) {
        let run = self.env.run(&["retry", name]);
        if run.code() == Some(0) {
            return;
        }
        assert!(run.stderr.contains("WL0514"), "{run}");
        self.env.is_quiet();
        let answer = if is_done() { "done" } else { "not-done" };
        let mut args = vec!["retry", name, "--assume", answer];
        if let Some(natural) = natural.filter(|_| is_done()) {
            args.extend(["--natural", natural]);
        }
        self.env.ok(&args);
    }
}

/// Maximum number of kills of one command, before it runs to its end.
const KILLS: u32 = 3;

impl Cloud {
    /// Launches an application, and checks that one machine was created.
    fn launch(&mut self) -> String {
        let machine = self.next_machine();
        let id = format!("configuration.id={machine}");
        let args = ["app", "launch", "VM", "--name", &machine, "-p", &id];
        let effect = format!("launch {machine}");
        for _ in 0..KILLS {
            if self.processes(&machine).last().is_some_and(|process| process["status"] == "completed") {
                break;
            }
            if self.exists(&machine) {
                self.killed("launch", &["retry", &machine]);
            } else {
                self.killed("launch", &args);
            }
        }
        if self.exists(&machine) {
            let is_done = || self.effects().contains(&effect);
            self.retried(&machine, is_done, Some(&machine));
        } else {
            self.undisturbed("launch", &args);
        }
        assert_eq!(self.times(&effect), 1, "{effect}");
        let status = self.env.json(&["status", &machine]);
        assert_eq!(status["assemblies"][0]["state"], "Active", "{status}");
        machine
    }

    /// Calls a command several times, and kills each call except the last one. Each call has its own id, and the
    /// command must act at most once for each id. The last call must act.
    fn command(&mut self, machine: &str) {
        let args = ["app", "command", machine, "control.reboot"];
        for _ in 0..KILLS {
            let before = self.reboots(machine).len();
            self.killed("command", &args);
            self.retried(machine, || self.reboots(machine).len() > before, None);
            assert!(self.reboots(machine).len() <= before + 1, "it was called once");
        }
        let before = self.reboots(machine).len();
        self.undisturbed("command", &args);
        let reboots = self.reboots(machine);
        let ids: BTreeSet<&String> = reboots.iter().collect();
        assert_eq!((reboots.len(), ids.len()), (before + 1, before + 1), "{reboots:?}");
    }

    /// Returns the ids of the commands that have acted on a machine.
    fn reboots(&self, machine: &str) -> Vec<String> {
        let prefix = format!("reboot {machine} ");
        self.effects().iter().filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned)).collect()
    }

    /// Checks the health, and checks that only the application of the lost machine is removed.
    fn check(&mut self, lost: &str) {
        self.by_hand(&format!("lost {lost}"));
        for _ in 0..KILLS {
            self.killed("check", &["app", "check"]);
        }
        self.undisturbed("check", &["app", "check"]);
        self.is_consistent();
    }

    /// Creates machines outside of windlass, and runs a discovery. Checks that the discovery adopts each of these
    /// machines exactly once.
    fn discover(&mut self) {
        for _ in 0..3 {
            let machine = self.next_machine();
            self.by_hand(&format!("outside {machine}"));
        }
        for _ in 0..KILLS {
            self.killed("discover", &["app", "discover", "factory"]);
        }
        self.undisturbed("discover", &["app", "discover", "factory"]);
        self.is_consistent();
    }

    /// Runs a daemon that finds new and lost machines, and executes requests. After a kill, the next daemon
    /// resumes the work.
    fn daemon(&mut self) {
        self.lasts.insert("run", Duration::from_millis(2500));
        let machine = self.next_machine();
        let id = format!("configuration.id={machine}");
        self.env.ok(&["app", "launch", "VM", "--name", &machine, "-p", &id, "--queue"]);
        for _ in 0..KILLS {
            let found = self.next_machine();
            self.by_hand(&format!("outside {found}"));
            if let Some(lost) = self.machines().first() {
                self.by_hand(&format!("lost {lost}"));
            }
            self.killed("run", &["run", "--health", "1"]);
        }
        if self.exists(&machine) {
            // A launch whose supervisor was killed needs an answer.
            let effect = format!("launch {machine}");
            self.retried(&machine, || self.effects().contains(&effect), Some(&machine));
        }
        let daemon = self.env.spawn(&["run", "--health", "1"]);
        let is_settled = || {
            let is_up = self.exists(&machine) && self.processes(&machine)[0]["status"] != "running";
            let naturals: Vec<String> = self.applications().into_iter().map(|(natural, _)| natural).collect();
            is_up && naturals == self.machines().into_iter().collect::<Vec<_>>()
        };
        until("the daemon has found all", is_settled);
        daemon.signal(rustix::process::Signal::TERM);
        let run = daemon.end();
        assert_eq!(run.code(), Some(0), "{run}");
        self.is_consistent();
    }

    /// Removes all applications, and checks that each machine is destroyed once, and that nothing is left.
    fn destroy(&mut self) {
        for (machine, name) in self.applications() {
            let args = ["app", "destroy", &name];
            let effect = format!("destroy {machine}");
            self.killed("destroy", &args);
            if self.exists(&name) {
                self.retried(&name, || self.times(&effect) > 0, None);
            }
            if self.exists(&name) {
                self.undisturbed("destroy", &args);
            }
            assert_eq!(self.times(&effect), 1, "{effect}");
        }
        self.is_consistent();
        assert_eq!(self.machines(), BTreeSet::new());
    }

    fn times(&self, effect: &str) -> usize {
        self.effects().iter().filter(|line| *line == effect).count()
    }

    /// Asserts that the state folder contains only the store, and jobs of health checks or discoveries that were
    /// killed. A later process removes these jobs after their time limit.
    fn nothing_is_left(&self) {
        self.env.is_quiet();
        let known = ["key", "state.db", "state.db-wal", "state.db-shm", "jobs", "jobs/.control"];
        let files = self.env.files();
        let left = files.iter().filter_map(|file| file.strip_prefix(".windlass/"));
        let left: Vec<&str> = left.filter(|file| !known.contains(file) && !is_of_a_check(file)).collect();
        assert_eq!(left, [""; 0]);
    }
}

/// Tells whether a file belongs to the job of a check or a discovery: `jobs/STORE-wTIME-…`.
fn is_of_a_check(file: &str) -> bool {
    let job = file.strip_prefix("jobs/").and_then(|rest| rest.split('/').next());
    job.and_then(|job| job.split('-').nth(1)).is_some_and(|part| part.starts_with('w'))
}

/// A check finds that the machine of an application is destroyed, and records this. The check is killed before it
/// removes the records of the application. The next check must remove these records.
#[test]
fn a_killed_check_removes_what_is_destroyed_later() {
    let mut cloud = Cloud::new(0);
    cloud.undisturbed("launch", &["app", "launch", "VM", "--name", "vm", "-p", "configuration.id=m-0"]);
    cloud.by_hand("lost m-0");
    // Recording the process that removes the records blocks forever.
    let store = rusqlite::Connection::open(cloud.env.path(".windlass/state.db")).unwrap();
    let forever =
        "CREATE VIEW forever AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;
        CREATE TRIGGER stuck BEFORE INSERT ON process BEGIN SELECT count(*) FROM forever; END";
    store.execute_batch(forever).unwrap();
    let check = cloud.env.spawn(&["app", "check"]);
    let absent =
        "SELECT count(*) FROM element WHERE name = 'vm__vm' AND record LIKE '%\"state\":\"Absent\"%'";
    let is_recorded = || store.query_row(absent, [], |row| row.get(0)).is_ok_and(|count: u32| count > 0);
    until("it is recorded", is_recorded);
    check.kill();
    store.execute_batch("DROP TRIGGER stuck; DROP VIEW forever").unwrap();

    let checked = cloud.env.ok(&["app", "check"]).out();
    assert_eq!(checked, "vm: destroyed\n");
    cloud.is_consistent();
}

/// An adoption stores the application and claims its natural id in one transaction. If the claim fails,
/// nothing is stored.
#[test]
fn an_adoption_without_its_claim_leaves_nothing() {
    let mut cloud = Cloud::new(0);
    cloud.by_hand("outside m-0");
    let store = rusqlite::Connection::open(cloud.env.path(".windlass/state.db")).unwrap();
    let refused =
        "CREATE TRIGGER refused BEFORE UPDATE OF natural_id ON assembly WHEN NEW.natural_id IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'no claim'); END";
    store.execute_batch(refused).unwrap();
    assert_eq!(cloud.env.run(&["app", "discover", "factory"]).code(), Some(1));
    assert_eq!(cloud.applications(), []);
    store.execute_batch("DROP TRIGGER refused").unwrap();

    cloud.undisturbed("discover", &["app", "discover", "factory"]);
    cloud.is_consistent();
}

#[test]
fn killed_at_random_moments_nothing_is_lost_or_done_twice() {
    let (seed, wanted) = (seed(), wanted(30));
    say(&format!("kill applications: seed {seed} (again with WINDLASS_TEST_SEED={seed})"));
    let mut cloud = Cloud::new(seed);
    cloud.undisturbed("launch", &["app", "launch", "VM", "--name", "first", "-p", "configuration.id=m-0"]);
    cloud.undisturbed("check", &["app", "check"]);
    cloud.undisturbed("discover", &["app", "discover", "factory"]);
    cloud.undisturbed("command", &["app", "command", "first", "control.reboot"]);
    while cloud.kills.values().sum::<u32>() < wanted {
        let machine = cloud.launch();
        cloud.command(&machine);
        cloud.discover();
        cloud.check(&machine);
        cloud.daemon();
        cloud.destroy();
    }
    cloud.env.ok(&["app", "destroy", "factory"]);
    cloud.nothing_is_left();
    say(&format!("kill applications: {:?}", cloud.kills));
}
