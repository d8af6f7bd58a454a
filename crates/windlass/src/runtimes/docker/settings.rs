//! The settings of a location with containers: `engine`, `pool` and `pool-secrets`.

use serde_json::json;
use windlass_driver::{Location, PoolSecrets};
use windlass_project::codes::{BAD_ENGINE, BAD_POOL, OTHER_RUNTIME};
use windlass_project::{Setting, SettingProblem};
use windlass_source::{Code, Diagnostic, suggest};

/// The key that names the container engine. Without it, the engine is the first of [`COMMON_ENGINES`].
pub(super) const ENGINE: &str = "engine";
const POOL: &str = "pool";
const POOL_SECRETS: &str = "pool-secrets";

/// The engines that have a name of their own. Other engines are named by their addresses.
pub(super) const COMMON_ENGINES: [&str; 2] = ["docker", "podman"];

/// The prefixes of the addresses of engines.
const ADDRESSES: [&str; 6] = ["unix://", "tcp://", "http://", "https://", "ssh://", "context:"];

/// Maximum number of prewarmed containers of a location.
const POOL_LIMIT: u16 = 256;

/// Returns the settings that a location with containers may have.
pub(super) fn settings() -> Vec<Setting> {
    let engine = json!({
        "description": "The container engine: `docker`, `podman`, `context:<name>`, or an address such as `unix:///run/x.sock`.",
        "type": ["string", "null"],
        "pattern": r"^(docker|podman|((unix|tcp|https?|ssh)://|context:)\S+)$",
    });
    let pool = json!({
        "description": "The number of warm containers for short jobs.",
        "type": ["integer", "string", "null"],
        "minimum": 1,
        "maximum": POOL_LIMIT,
        "pattern": "^[1-9][0-9]*$",
    });
    let secrets = json!({
        "description": "Where jobs with secrets run: `fresh`, in a container of their own (the default), or `shared`, in warm ones.",
        "enum": ["fresh", "shared", null],
    });
    [(ENGINE, engine), (POOL, pool), (POOL_SECRETS, secrets)]
        .map(|(key, schema)| Setting { key, schema })
        .into()
}

/// Returns the name or address of a location's engine.
pub(super) fn engine(location: &Location) -> &str {
    location.settings.get(ENGINE).map_or(COMMON_ENGINES[0], String::as_str)
}

/// Returns the number of a location's prewarmed containers. Returns `None` if the location has no pool.
pub(super) fn pool(location: &Location) -> Option<u16> {
    let size = location.settings.get(POOL)?.parse().ok();
    size.filter(|size| (1..=POOL_LIMIT).contains(size))
}

/// Checks the settings of a location, and sets its field `pool_secrets` from the key `pool-secrets`.
pub(super) fn check(location: &mut Location) -> Vec<SettingProblem> {
    let mut problems = Vec::new();
    problems.extend(location.settings.get(ENGINE).and_then(|text| bad_engine(text)));
    if let (Some(text), None) = (location.settings.get(POOL), pool(location)) {
        let message = format!("`pool` is a number from 1 to {POOL_LIMIT}, and this is `{text}`");
        problems.push(error(POOL, BAD_POOL, message));
    }
    let Some(secrets) = location.settings.get(POOL_SECRETS) else { return problems };
    if !location.settings.contains_key(POOL) {
        let mut problem = error(POOL_SECRETS, OTHER_RUNTIME, "`pool-secrets` has no meaning without `pool`");
        let help = "set `pool` to the number of warm containers, or remove it";
        problem.diagnostic = problem.diagnostic.help(help);
        problems.push(problem);
    }
    match secrets.as_str() {
        "fresh" => location.pool_secrets = PoolSecrets::Fresh,
        "shared" => location.pool_secrets = PoolSecrets::Shared,
        text => {
            let message = format!("`pool-secrets` is `fresh` or `shared`, and this is `{text}`");
            problems.push(error(POOL_SECRETS, BAD_POOL, message));
        }
    }
    problems
}

/// Checks the form of an engine's name or address. The engine itself is contacted only when it is needed.
fn bad_engine(text: &str) -> Option<SettingProblem> {
    let named = |rest: &str| !rest.trim_matches('/').is_empty() && !rest.contains(char::is_whitespace);
    let is_address = ADDRESSES.iter().any(|start| text.strip_prefix(start).is_some_and(named));
    if COMMON_ENGINES.contains(&text) || is_address {
        return None;
    }
    let help = match suggest(text, COMMON_ENGINES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "write `docker`, `podman`, or an address such as `unix:///run/user/1000/docker.sock`, \
             `tcp://machine:2376` or `ssh://user@machine`"
            .to_owned(),
    };
    let mut problem = error(ENGINE, BAD_ENGINE, format!("`{text}` is not a container engine"));
    problem.diagnostic = problem.diagnostic.help(help);
    Some(problem)
}

fn error(key: &'static str, code: Code, message: impl Into<String>) -> SettingProblem {
    SettingProblem { key: Some(key), entry: None, diagnostic: Diagnostic::error(code, message) }
}
