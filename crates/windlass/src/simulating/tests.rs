//! Unit tests of the simulator. They have access to its state machine. Some tests run scripts on a runtime that
//! this file implements.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use windlass_driver::Location;
use windlass_engine::Stop;
use windlass_executor::{
    Capabilities, Captured, End, Events, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError,
};

use super::answers::Answers;
use super::cast::{Cast, CastInput, ManifestFile};
use super::entropy::Seeded;
use super::host::{Host, HostParts};
use super::machine::{Machine, MachineSettings};
use super::simulator::{SimulationInput, Simulator};
use crate::open::{Settings, Windlass};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/applications");

fn fixtures() -> Vec<ManifestFile> {
    let file = |name: &str| ManifestFile { path: Path::new(FIXTURES).join(name), title: None };
    ["vm.yaml", "vm-factory.yaml"].map(file).to_vec()
}

/// A file of answers that causes many changes of applications. Each hour, a discovery finds two instances. Their health
/// is checked, and then a discovery reports them as gone. The file also contains one call of a command. The command
/// gets no results, and therefore expires.
const CHURN: &str = "
version: 1
actions:
- {at: 1h, command: control.reboot, application: vm, arguments: {force: true}}
answers:
- {script: control.reboot, results: []}
- {script: discover, from: 5m, every: 1h, for: 10m, instances: {i-1: {name: one}, i-2: {name: two}}}
- {script: discover, from: 35m, every: 1h, for: 10m, instances: {i-1: {status: {flags: {active: false}}}, i-2: {status: {flags: {active: false}}}}}
- {script: health-check, every: 20m, for: 5m, update: {$set: {status.flags.failed: true}, $pushAll: {activityLog: [{severity: WARNING, message: low}]}}}
- {script: health-check, applications: [vm-2], every: 30m, for: 2m, fail: no route}
";

#[tokio::test]
async fn ten_days_keep_as_much_as_one() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("answers.yaml"), CHURN).unwrap();
    let windlass = Windlass::open(Settings::new(folder.path())).unwrap();
    let input = SimulationInput::new(fixtures());
    let parameters = BTreeMap::new();
    let location = Location::local("here");
    let cast = CastInput { manifests: &input.manifests, scripts: None, parameters: &parameters, location };
    let (cast, _) = Cast::read(&windlass, cast).unwrap();
    let day = 24 * 60 * 60 * 1000;
    let length = Duration::from_hours(240);
    let file = folder.path().join("answers.yaml");
    let Answers { actions, rules, .. } = Answers::read(&file, &cast, length).unwrap();
    let stop = Stop::default();
    let driver = windlass.drivers().get(&"script".parse().unwrap()).unwrap().clone();
    let parts = HostParts {
        windlass: &windlass,
        stop: &stop,
        cast: &cast,
        rules: &rules,
        from: input.from,
        driver: driver.clone(),
        runtime: None,
    };
    let host = Host::new(parts);
    let settings = MachineSettings {
        from: input.from,
        until: input.from.plus_millis(10 * day),
        health: input.health,
        count: 5,
        poll: Duration::from_millis(500),
        actions,
    };
    let mut machine = Machine::new(&cast, windlass.drivers(), driver, Box::new(Seeded::new(1)), settings);
    let mut events = 0_u64;
    host.run_until(&mut machine, input.from.plus_millis(day), &mut |_| events += 1).await.unwrap();
    let (after_one, of_one) = (machine.sizes(), events);
    host.run_until(&mut machine, input.from.plus_millis(10 * day), &mut |_| events += 1).await.unwrap();
    assert_eq!(machine.sizes(), after_one);
    assert_eq!(after_one[..2], [5, 0], "the instances of each hour are gone, and the command has expired");
    assert!(events > 9 * of_one, "{events} events, {of_one} on the first day");
    let view = machine.summary();
    assert_eq!((view.adopted, view.destroyed), (480, 480));
}

/// A runtime on which a discovery takes seven minutes, and every other job less than one second. Its jobs
/// print the outputs of correct scripts.
struct Slow;

impl Slow {
    fn outcome(job: &Job) -> Outcome {
        let input = String::from_utf8(job.stdin.expose().to_vec()).unwrap();
        let ids = |key: &str| {
            let (_, rest) = input.split_once(&format!("{key}:\n"))?;
            Some(rest.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(':')).collect::<Vec<_>>())
        };
        let active = "status: {flags: {active: true}}";
        let is_search = job.program.ends_with("discover.py");
        let stdout = if is_search {
            "instances: {}".to_owned()
        } else if let Some(launched) = ids("launch") {
            let id = launched[0].0.trim_matches('"');
            format!("instances: {{i-1: {{instanceId: {id}, {active}}}}}")
        } else {
            format!("instances: {{i-1: {{{active}}}}}")
        };
        let started = windlass_executor::Timestamp::from_millis(1_000_000);
        let took = if is_search { 7 * 60_000 } else { 999 };
        let ended = windlass_executor::Timestamp::from_millis(1_000_000 + took);
        let mut outcome = Outcome::new(End::Exited(0), ended);
        outcome.started = Some(started);
        outcome.stdout = Captured::whole(stdout);
        outcome
    }

    fn unknown<T>(id: &JobId) -> Result<T, RuntimeError> {
        Err(RuntimeError::UnknownJob { id: id.clone() })
    }
}

#[async_trait]
impl Runtime for Slow {
    fn kind(&self) -> &'static str {
        "process"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    async fn submit(&self, id: &JobId, _: &Job) -> Result<(), RuntimeError> {
        Self::unknown(id)
    }

    async fn find(&self, _: &JobId) -> Result<Found, RuntimeError> {
        Ok(Found::Never)
    }

    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError> {
        Self::unknown(id)
    }

    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        Self::unknown(id)
    }

    async fn cancel(&self, id: &JobId, _: Duration) -> Result<(), RuntimeError> {
        Self::unknown(id)
    }

    async fn remove(&self, _: &JobId) -> Result<(), RuntimeError> {
        Ok(())
    }

    async fn list(&self, _: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        Ok(Vec::new())
    }

    async fn run(&self, _: &JobId, job: &Job) -> Result<Outcome, RuntimeError> {
        Ok(Self::outcome(job))
    }
}

/// The clock waits for scripts to end, and then advances by their duration in whole seconds. While a duty runs,
/// several of its scheduled times may pass. The duty then runs once for all of them.
#[tokio::test]
async fn the_clock_waits_for_scripts() {
    let folder = TempDir::new().unwrap();
    let windlass = Windlass::open(Settings::new(folder.path()).runtime(Arc::new(Slow))).unwrap();
    let stop = Stop::default();
    let mut input = SimulationInput::new(fixtures());
    input.scripts = Some(Path::new(FIXTURES).join("scripts"));
    input.duration = Duration::from_secs(60 * 60);
    let mut events = Vec::new();
    let (view, _) =
        Simulator::new(&windlass, &stop).run(&input, &mut |event| events.push(event)).await.unwrap();
    let told: Vec<String> =
        events.iter().map(|event| format!("{} {} {}", event.offset_ms, event.event, event.text)).collect();
    assert_eq!(
        told,
        ["0 changed its status is `active`, and was `-`", "0 launched is launched as i-1: active"]
    );
    // The discoveries begin at 5, 12, 19, 26, 33, 40 and 47 minutes. The discovery that begins at 54 minutes
    // does not end within the hour.
    assert_eq!((view.scripts["discover"].runs, view.missed), (7, 7));
    assert!(view.scripts["health-check"].runs >= 59, "{view:?}");
    assert!(!view.has_failed());
}

/// Equal input gives equal events, and a stop ends a simulation.
#[tokio::test]
async fn a_simulation_is_reproducible_and_can_be_stopped() {
    let folder = TempDir::new().unwrap();
    let windlass = Windlass::open(Settings::new(folder.path())).unwrap();
    let stop = Stop::default();
    let mut input = SimulationInput::new(fixtures());
    (input.count, input.duration) = (3, Duration::from_secs(600));
    let mut runs = Vec::new();
    for _ in 0..2 {
        let mut events = Vec::new();
        let ended = Simulator::new(&windlass, &stop).run(&input, &mut |event| events.push(event)).await;
        runs.push((events, ended.unwrap().0));
    }
    assert_eq!(runs[0], runs[1]);
    stop.request();
    let stopped = Simulator::new(&windlass, &stop).run(&input, &mut |_| {}).await;
    assert!(stopped.is_err_and(|error| error.is_stopped()));
}
