//! The runtimes of this machine: versions, limits, isolation, and missing requirements.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use windlass_executor::docker::{Description, Engine, EngineChoice, EngineKind};
use windlass_executor::process::{Confinement, ControlGroups};
use windlass_executor::sandbox::{DEFAULT_BOUNDS, probe};
use windlass_executor::{Bounds, Capability, runner};

use crate::Windlass;
use crate::error::chain;
use crate::stores::{self, StoreKind};

/// The result, as printed by `windlass doctor --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doctor {
    /// The version of this view.
    pub version: u32,
    /// The program's version.
    pub windlass: String,
    /// The store of the project's state.
    pub state: StateView,
    /// The runtimes, in a fixed order: processes, sandboxes, engines.
    pub runtimes: Vec<RuntimeView>,
}

/// The store of a project's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StateView {
    /// The kind of the store, such as `SQLite`; `None` if no kind has such addresses.
    pub kind: Option<&'static str>,
    /// The path or address, without a password.
    pub place: Option<String>,
    /// Whether there is a store. The first `windlass up` creates it.
    pub exists: bool,
    /// The reason why it can't be used.
    pub problem: Option<String>,
}

/// One runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuntimeView {
    /// Its kind, as in a location.
    pub runtime: String,
    /// The engine, as in a location.
    pub engine: Option<String>,
    /// Whether jobs can run on it now.
    pub ready: bool,
    /// A description: name, version, path.
    pub what: String,
    /// The limits on jobs that it enforces.
    pub limits: Vec<String>,
    /// The means by which it isolates jobs.
    pub hardening: Vec<String>,
    /// Its limitations, and features that were never tested with it.
    pub caveats: Vec<String>,
    /// A hint on fixing a missing requirement.
    pub advice: Option<String>,
}

/// Inspects the runtimes of this machine and those that the project's locations name.
pub async fn look(windlass: &Windlass) -> Doctor {
    let mut runtimes = vec![process(), sandbox()];
    for name in engines(windlass) {
        runtimes.push(engine(windlass, &name).await);
    }
    let state = state(windlass).await;
    Doctor { version: 1, windlass: env!("CARGO_PKG_VERSION").to_owned(), state, runtimes }
}

/// Opens the store of the project if there is one.
async fn state(windlass: &Windlass) -> StateView {
    let settings = windlass.store_settings();
    let kind = stores::of(settings.address.as_deref()).ok();
    let opened = windlass.store(false).await;
    StateView {
        kind: kind.map(StoreKind::name),
        place: kind.map(|kind| kind.place(&settings)),
        exists: matches!(opened, Ok(Some(_))),
        problem: opened.err().map(|error| chain(&error)),
    }
}

/// Returns the engines to inspect: the two common ones, and those that locations name.
fn engines(windlass: &Windlass) -> Vec<String> {
    let named: BTreeSet<String> =
        windlass.project().locations().filter_map(|location| location.engine.clone()).collect();
    let usual = ["docker", "podman"].map(str::to_owned);
    let others = named.into_iter().filter(|name| !usual.contains(name));
    usual.iter().cloned().chain(others).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn process() -> RuntimeView {
    let groups = ControlGroups::probe();
    let mut hardening = Vec::new();
    let mut caveats =
        texts(&["jobs can access the host's files, processes and network: run only trusted scripts"]);
    if groups.ends_all {
        hardening.push("terminated as a control group".to_owned());
    } else {
        caveats.push(
            "control groups can't be created: a process that leaves its session and clears its environment \
             outlives its job until no other job runs"
                .to_owned(),
        );
    }
    let there = Confinement::probe();
    let landlock =
        there.landlock.map_or_else(|| "no Landlock".to_owned(), |version| format!("Landlock {version}"));
    let seccomp = if there.seccomp { "seccomp" } else { "no seccomp" };
    caveats.push(format!(
        "not confined unless the embedding program asks for it; this kernel has {seccomp}, {landlock}"
    ));
    let mut view = RuntimeView {
        runtime: "process".to_owned(),
        engine: None,
        ready: true,
        what: "processes of this host".to_owned(),
        limits: texts(&["time", "output kept", "open files"]),
        hardening,
        caveats,
        advice: None,
    };
    with_groups(&mut view, &groups);
    view
}

/// Lists which limits control groups enforce, and which they do not.
fn with_groups(view: &mut RuntimeView, groups: &ControlGroups) {
    let version = groups.version.map(|version| format!(" (cgroups v{version})")).unwrap_or_default();
    for (limit, name) in &LIMITS[..3] {
        if groups.limits.has(*limit) {
            view.limits.push(format!("{name}{version}"));
        } else {
            view.caveats.push(format!("it does not limit {name}: control groups for it can't be created"));
        }
    }
}

fn sandbox() -> RuntimeView {
    let view = |ready, what| RuntimeView {
        runtime: "sandbox".to_owned(),
        engine: None,
        ready,
        what,
        limits: Vec::new(),
        hardening: Vec::new(),
        caveats: Vec::new(),
        advice: None,
    };
    match probe(Path::new("bwrap")) {
        Err(why) => view(false, why),
        Ok(found) => {
            let what = format!(
                "images without an engine, by bubblewrap {} at {}",
                found.version,
                found.bwrap.display()
            );
            let mut view = view(true, what);
            view.limits = texts(&["time", "output kept", "temporary files", "open files"]);
            let groups = ControlGroups::probe();
            with_groups(&mut view, &groups);
            view.hardening = texts(&["no network", "read-only root", "no capabilities", "own namespaces"]);
            with_defaults(&mut view, &groups);
            if found.seccomp {
                view.hardening.push("seccomp".to_owned());
            } else {
                view.caveats.push("the kernel filters no system calls (seccomp)".to_owned());
            }
            view.caveats
                .push("it shares the host's kernel and user: weaker than a virtual machine".to_owned());
            view
        }
    }
}

async fn engine(windlass: &Windlass, name: &str) -> RuntimeView {
    let found = async {
        let choice: EngineChoice = name.parse().map_err(|error| chain(&error))?;
        let engine =
            Engine::connect(&choice, windlass.environment()).await.map_err(|error| error.to_string())?;
        engine.describe().await.map_err(|error| error.to_string())
    };
    match found.await {
        Ok(found) => described(name, &found),
        Err(why) => RuntimeView {
            runtime: "docker".to_owned(),
            engine: Some(name.to_owned()),
            ready: false,
            limits: Vec::new(),
            hardening: Vec::new(),
            caveats: Vec::new(),
            advice: Some(if why.contains("ermission denied") { ACCESS.to_owned() } else { advice(name) }),
            what: why,
        },
    }
}

/// Hint for an engine that runs but denies access.
const ACCESS: &str =
    "give this user access: add it to the group `docker`, or set another socket in DOCKER_HOST";

fn advice(engine: &str) -> String {
    let text = match engine {
        "docker" => {
            "install it (Debian: `apt-get install docker.io`) and start `dockerd`, or set DOCKER_HOST"
        }
        "podman" => "install it (Debian: `apt-get install podman`) and start `podman system service`",
        _ => "check that it runs and can be reached from this machine",
    };
    text.to_owned()
}

fn described(name: &str, found: &Description) -> RuntimeView {
    let kind = match found.kind {
        EngineKind::Podman => "Podman",
        _ => "Docker",
    };
    let root = if found.rootless { ", without root" } else { "" };
    let what = format!(
        "{kind} {} (interface {}, {}, cgroups v{}{root}) at {}",
        found.version, found.api, found.architecture, found.cgroup, found.endpoint
    );
    RuntimeView {
        runtime: "docker".to_owned(),
        engine: Some(name.to_owned()),
        ready: true,
        what,
        limits: limits(found),
        hardening: hardening(found),
        caveats: caveats(found),
        advice: None,
    }
}

const LIMITS: [(Capability, &str); 5] = [
    (Capability::MemoryLimit, "memory"),
    (Capability::PidsLimit, "processes"),
    (Capability::CpuLimit, "processor time"),
    (Capability::TmpLimit, "temporary files"),
    (Capability::OpenFilesLimit, "open files"),
];

/// Lists the default limits of sandbox jobs, and those defaults that this machine can't enforce.
fn with_defaults(view: &mut RuntimeView, groups: &ControlGroups) {
    let Bounds { memory_bytes, pids, open_files, .. } = DEFAULT_BOUNDS;
    let defaults = [
        (Some(Capability::MemoryLimit), memory_bytes.map(|bytes| format!("{} MiB of memory", bytes >> 20))),
        (Some(Capability::PidsLimit), pids.map(|pids| format!("{pids} processes"))),
        (None, open_files.map(|files| format!("{files} open files"))),
    ];
    let mut enforced = Vec::new();
    for (capability, default) in defaults {
        let Some(default) = default else { continue };
        if capability.is_none_or(|capability| groups.limits.has(capability)) {
            enforced.push(default);
        } else {
            view.caveats.push(format!("the default limit of {default} is not enforced"));
        }
    }
    view.hardening.push(format!("by default {}", enforced.join(", ")));
}

fn limits(found: &Description) -> Vec<String> {
    let enforced = LIMITS.iter().filter(|(limit, _)| found.capabilities.contains(limit));
    ["time", "output kept"].into_iter().chain(enforced.map(|(_, name)| *name)).map(str::to_owned).collect()
}

fn hardening(found: &Description) -> Vec<String> {
    let ours = ["no network", "read-only root", "no capabilities", "no new privileges", "user 65534"];
    let theirs = found.security.iter().filter(|option| *option != "rootless");
    ours.into_iter().map(str::to_owned).chain(theirs.cloned()).collect()
}

fn caveats(found: &Description) -> Vec<String> {
    let mut caveats = Vec::new();
    for (_, name) in LIMITS.iter().filter(|(limit, _)| !found.capabilities.contains(limit)) {
        caveats.push(format!("it does not limit {name}"));
    }
    if !found.security.iter().any(|option| option == "seccomp") {
        caveats.push("it filters no system calls (seccomp)".to_owned());
    }
    if !found.live_restore {
        caveats.push("jobs end when the engine restarts (live-restore is off)".to_owned());
    }
    if !found.tested {
        caveats.push("this kind of connection is untested".to_owned());
    }
    if runner::program().is_none() {
        caveats.push(
            "this windlass was built without the runner: warm containers (`pool`) are not used".to_owned(),
        );
    }
    caveats
}
