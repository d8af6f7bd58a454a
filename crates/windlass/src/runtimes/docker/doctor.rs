//! Inspection of container engines.

use std::collections::BTreeSet;

use windlass_driver::Location;
use windlass_executor::docker::{Description, Engine, EngineChoice, EngineKind};
use windlass_executor::runner;

use super::NAME;
use super::engine::environment;
use super::settings::{COMMON_ENGINES, ENGINE};
use crate::error::chain;
use crate::runtimes::factory::{RuntimeContext, RuntimeView};
use crate::runtimes::host::LIMITS;

/// Returns the container engines to inspect: the common engines, and the engines that locations name.
pub(super) fn engines(locations: &[Location]) -> Vec<String> {
    let named: BTreeSet<&String> =
        locations.iter().filter_map(|location| location.settings.get(ENGINE)).collect();
    let others = named.into_iter().filter(|name| !COMMON_ENGINES.contains(&name.as_str()));
    COMMON_ENGINES.iter().map(|name| (*name).to_owned()).chain(others.cloned()).collect()
}

/// Returns the view of the container engine `name`. If the engine does not answer, the view contains the reason and a
/// hint for the user.
pub(super) async fn inspect(context: &RuntimeContext, name: &str) -> RuntimeView {
    let found = async {
        let choice: EngineChoice = name.parse().map_err(|error| chain(&error))?;
        let engine = Engine::connect(&choice, &environment(&context.variables))
            .await
            .map_err(|error| error.to_string())?;
        engine.describe().await.map_err(|error| error.to_string())
    };
    match found.await {
        Ok(found) => described(name, &found),
        Err(why) => RuntimeView {
            engine: Some(name.to_owned()),
            advice: Some(if why.contains("ermission denied") { ACCESS.to_owned() } else { advice(name) }),
            ..RuntimeView::new(NAME, false, why)
        },
    }
}

/// Hint for a container engine that runs but denies access to this user.
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
        engine: Some(name.to_owned()),
        limits: limits(found),
        hardening: hardening(found),
        caveats: caveats(found),
        ..RuntimeView::new(NAME, true, what)
    }
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
