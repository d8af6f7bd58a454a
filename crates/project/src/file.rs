//! `windlass.yaml`, the document of a project: its locations, and the existing instances that references may
//! resolve to.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;
use windlass_descriptor::compose::MAX_ELEMENTS;
use windlass_descriptor::{Existing, Offered};
use windlass_driver::location::{DEPLOYMENT_LOCATION, RESOURCE_MANAGER};
use windlass_driver::{Location, PoolSecrets};
use windlass_executor::{Bounds, VolumeName};
use windlass_model::DescriptorName;
use windlass_model::retention::Retention;
use windlass_secret::names_a_secret;
use windlass_source::{
    Diagnostic, Diagnostics, Entry, Limits, LoadOptions, Mapping, Node, Place, Reading, Source, Span,
    load_one, suggest,
};

use crate::codes;
use crate::reader::{Reader, listed};
use crate::secret::SecretSource;

/// The name of the file.
pub const FILE_NAME: &str = "windlass.yaml";

/// The runtimes that a location may name.
pub const RUNTIMES: [&str; 3] = ["process", "sandbox", "docker"];

/// A runtime whose name is reserved for a later version.
const LATER: &str = "kubernetes";

/// Maximum number of prewarmed containers of a location.
pub(crate) const POOL_LIMIT: u16 = 256;

/// Maximum number of nodes in the document. The converted properties of locations and instances take more
/// memory than the text.
const MOST_NODES: usize = 500_000;

/// The supported version of the document.
const VERSION: &str = "1";

/// The keys of the document. The schema lists the same keys.
pub(crate) const ROOT_KEYS: [&str; 5] = ["version", "locations", "existing", "retention", "limits"];

/// The keys of `retention`.
pub(crate) const RETENTION_KEYS: [&str; 2] = ["keep", "older"];

/// The keys of `limits`.
pub(crate) const LIMITS_KEYS: [&str; 1] = ["nodes"];

/// The keys of an entry of `existing`.
pub(crate) const EXISTING_KEYS: [&str; 4] = ["type", "name", "properties", "package"];

/// The content of a `windlass.yaml`, as far as it could be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectFile {
    /// The locations by name, in the order of declaration.
    pub(crate) locations: IndexMap<String, Declared>,
    /// The instances that references may resolve to.
    pub(crate) existing: Vec<Existing>,
    /// The packages of some of these instances.
    pub(crate) packages: Vec<PackageOf>,
    /// The retention of old processes and versions.
    pub(crate) retention: Retention,
    /// Maximum number of elements from `quantity`, `cluster` and nested assemblies.
    pub(crate) nodes: Option<usize>,
}

/// The package of an existing instance.
#[derive(Debug, Clone)]
pub(crate) struct PackageOf {
    /// The expected descriptor of the package.
    pub(crate) descriptor: DescriptorName,
    /// The path, relative to the project's folder.
    pub(crate) path: String,
    /// The place of the path in the document.
    pub(crate) place: Place,
}

/// A location, and the place of its name.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) location: Location,
    /// The sources of secret property values that the file does not contain.
    pub(crate) sources: BTreeMap<String, SecretSource>,
    pub(crate) place: Place,
}

/// Reads a `windlass.yaml`, and reports all its problems.
pub(crate) fn read(source: &Arc<Source>) -> (ProjectFile, Diagnostics) {
    let limits = Limits { nodes: MOST_NODES, ..Limits::default() };
    let loaded = load_one(source, &LoadOptions { limits, ..LoadOptions::default() });
    let mut diagnostics = loaded.diagnostics;
    let mut reader = Reader { source, diagnostics: &mut diagnostics };
    let file = loaded.root.as_ref().map(|root| read_root(&mut reader, root));
    if file.is_none() && !reader.diagnostics.has_errors() {
        missing_version(&mut reader, Span::empty(0));
    }
    diagnostics.sort();
    (file.unwrap_or_default(), diagnostics)
}

fn read_root(reader: &mut Reader<'_>, root: &Node) -> ProjectFile {
    let Some(root) = reader.mapping(root, "`windlass.yaml`", &ROOT_KEYS) else {
        return ProjectFile::default();
    };
    version(reader, root);
    let locations = root.get("locations").and_then(|node| reader.any_mapping(node, "`locations`"));
    let locations = locations.map(Mapping::entries).unwrap_or_default();
    let locations = locations.iter().filter_map(|entry| location(reader, entry)).collect();
    let (existing, packages) = root.get("existing").map(|node| existing(reader, node)).unwrap_or_default();
    let retention = root.get("retention").map(|node| retention(reader, node)).unwrap_or_default();
    let nodes = root.get("limits").and_then(|node| limits(reader, node));
    ProjectFile { locations, existing, packages, retention, nodes }
}

/// Reads `retention`.
fn retention(reader: &mut Reader<'_>, node: &Node) -> Retention {
    let usual = Retention::default();
    let Some(body) = reader.mapping(node, "`retention`", &RETENTION_KEYS) else { return usual };
    let keep = limit(reader, body, "keep", "a number");
    let older = limit(reader, body, "older", "a number with a unit, such as `90d`, `12h` or `30m`");
    Retention { keep: keep.unwrap_or(usual.keep), older: older.unwrap_or(usual.older) }
}

fn limit<T: FromStr>(reader: &mut Reader<'_>, body: &Mapping, key: &str, expected: &str) -> Option<T> {
    let node = body.get(key).filter(|node| !node.is_null())?;
    let text = reader.text(node, &format!("`{key}`"))?;
    let limit = text.parse().ok();
    if limit.is_none() {
        let message = format!("`{key}` is {expected}, and this is `{text}`");
        reader.error(codes::BAD_RETENTION, node.span(), message);
    }
    limit
}

/// Reads `limits`.
fn limits(reader: &mut Reader<'_>, node: &Node) -> Option<usize> {
    let body = reader.mapping(node, "`limits`", &LIMITS_KEYS)?;
    let node = body.get("nodes").filter(|node| !node.is_null())?;
    let text = reader.text(node, "`nodes`")?;
    let number = text.parse().ok().filter(|number| (1..=MAX_ELEMENTS).contains(number));
    if number.is_none() {
        let message = format!("`nodes` is a whole number from 1 to {MAX_ELEMENTS}, not `{text}`");
        reader.error(codes::BAD_LIMIT, node.span(), message);
    }
    number
}

fn version(reader: &mut Reader<'_>, root: &Mapping) {
    let Some(node) = root.get("version") else {
        let first = root.entries().first().map_or(Span::empty(0), |entry| entry.key.span());
        return missing_version(reader, first);
    };
    if node.as_str() == Some(VERSION) {
        return;
    }
    let found = node.as_str().map_or_else(|| node.describe().to_owned(), |text| format!("`{text}`"));
    let message = format!("the document's version is {found}, and this windlass reads version `{VERSION}`");
    let diagnostic = Diagnostic::error(codes::VERSION, message).at(reader.place(node.span()));
    let newer = node.as_str().and_then(|text| text.parse::<u64>().ok()).is_some_and(|version| version > 1);
    let help = if newer { "use the windlass that it was written for" } else { "write `version: 1`" };
    reader.diagnostics.push(diagnostic.help(help));
}

fn missing_version(reader: &mut Reader<'_>, span: Span) {
    let diagnostic = Diagnostic::error(codes::VERSION, "`windlass.yaml` has no `version`")
        .at(reader.place(span))
        .help("begin it with a line `version: 1`");
    reader.diagnostics.push(diagnostic);
}

pub(crate) const LOCATION_KEYS: [&str; 11] = [
    "resource-manager",
    "infrastructure-type",
    "runtime",
    "engine",
    "pool",
    "pool-secrets",
    "volumes",
    "image",
    "network",
    "limits",
    "properties",
];

fn location(reader: &mut Reader<'_>, entry: &Entry) -> Option<(String, Declared)> {
    let name = entry.key.text().to_owned();
    if name.trim().is_empty() {
        reader.error(codes::BAD_NAME, entry.key.span(), "the name of a location is empty");
        return None;
    }
    let what = format!("the location `{name}`");
    let body = reader.mapping(&entry.value, &what, &LOCATION_KEYS);
    let field = |key: &str| body.and_then(|body| body.get(key)).filter(|node| !node.is_null());
    let mut text =
        |key: &str| field(key).and_then(|node| reader.text(node, &format!("`{key}`"))).map(str::to_owned);
    let mut location = Location::local(&name);
    location.manager = text("resource-manager");
    location.infrastructure = text("infrastructure-type").unwrap_or(location.infrastructure);
    location.image = text("image");
    let asked = field("runtime").map(|node| runtime(reader, node));
    let known = !matches!(asked, Some(None));
    location.runtime = asked.flatten().unwrap_or_else(|| usual_runtime(&field).to_owned());
    location.engine = field("engine").and_then(|node| engine(reader, node));
    location.pool = field("pool").and_then(|node| pool(reader, node));
    location.pool_secrets =
        field("pool-secrets").and_then(|node| pool_secrets(reader, node)).unwrap_or_default();
    location.network = field("network").and_then(|node| network(reader, node));
    if known {
        of_runtime(reader, &location.runtime, field);
        has_image(reader, entry, &location);
    }
    location.volumes = field("volumes").map(|node| volumes(reader, node)).unwrap_or_default();
    location.limits = field("limits").map(|node| job_limits(reader, node)).unwrap_or_default();
    let sources = field("properties").map(|node| configure(reader, node, &mut location)).unwrap_or_default();
    Some((name, Declared { location, sources, place: reader.place(entry.key.span()) }))
}

/// Returns the default runtime of a location, according to its other keys. An image without an engine needs
/// no engine, so it runs in a sandbox.
fn usual_runtime<'n>(field: &impl Fn(&str) -> Option<&'n Node>) -> &'static str {
    match (field("image"), field("engine").or_else(|| field("pool"))) {
        (None, _) => "process",
        (Some(_), None) => "sandbox",
        (Some(_), Some(_)) => "docker",
    }
}

fn runtime(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node, "`runtime`")?;
    if RUNTIMES.contains(&text) {
        return Some(text.to_owned());
    }
    let message = match text {
        LATER => format!("this version does not support the runtime `{LATER}`"),
        _ => format!("there is no runtime `{text}`"),
    };
    let help = match suggest(text, RUNTIMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", listed(RUNTIMES)),
    };
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_RUNTIME, message).at(reader.place(node.span())).help(help);
    reader.diagnostics.push(diagnostic);
    None
}

/// Reads `engine`: a name, a context, or an address. The engine itself is contacted only when it is needed.
fn engine(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node, "`engine`")?;
    let named = |rest: &str| !rest.trim_matches('/').is_empty() && !rest.contains(char::is_whitespace);
    let is_address = ["unix://", "tcp://", "http://", "https://", "ssh://", "context:"]
        .iter()
        .any(|start| text.strip_prefix(start).is_some_and(named));
    if ["docker", "podman"].contains(&text) || is_address {
        return Some(text.to_owned());
    }
    let message = format!("`{text}` is not a container engine");
    let help = match suggest(text, ["docker", "podman"]) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "write `docker`, `podman`, or an address such as `unix:///run/user/1000/docker.sock`, \
             `tcp://machine:2376` or `ssh://user@machine`"
            .to_owned(),
    };
    reader
        .diagnostics
        .push(Diagnostic::error(codes::BAD_ENGINE, message).at(reader.place(node.span())).help(help));
    None
}

/// Reads `pool`: a number of containers.
fn pool(reader: &mut Reader<'_>, node: &Node) -> Option<u16> {
    let text = reader.text(node, "`pool`")?;
    let size = text.parse().ok().filter(|size| (1..=POOL_LIMIT).contains(size));
    if size.is_none() {
        let message = format!("`pool` is a number from 1 to {POOL_LIMIT}, and this is `{text}`");
        reader.error(codes::BAD_POOL, node.span(), message);
    }
    size
}

/// Reads `pool-secrets`: one of two words.
fn pool_secrets(reader: &mut Reader<'_>, node: &Node) -> Option<PoolSecrets> {
    match reader.text(node, "`pool-secrets`")? {
        "fresh" => Some(PoolSecrets::Fresh),
        "shared" => Some(PoolSecrets::Shared),
        text => {
            let message = format!("`pool-secrets` is `fresh` or `shared`, and this is `{text}`");
            reader.error(codes::BAD_POOL, node.span(), message);
            None
        }
    }
}

/// Reads `network`: a keyword, or the name of a network of the engine.
fn network(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node, "`network`")?;
    let is_name = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if is_name {
        return Some(text.to_owned());
    }
    let message = format!("`{text}` can't be a network");
    let diagnostic = Diagnostic::error(codes::BAD_NETWORK, message)
        .at(reader.place(node.span()))
        .help("write `none`, `bridge`, `host`, or the name of a network of the engine");
    reader.diagnostics.push(diagnostic);
    None
}

/// Refuses keys that the location's runtime does not support.
fn of_runtime<'n>(reader: &mut Reader<'_>, runtime: &str, field: impl Fn(&str) -> Option<&'n Node>) {
    let isolates = runtime != "process";
    let network = |text: &str| isolates || text == "host";
    let fits = [
        ("engine", runtime == "docker"),
        ("pool", runtime == "docker"),
        ("pool-secrets", field("pool").is_some()),
        ("image", isolates),
        ("network", field("network").and_then(Node::as_str).is_none_or(network)),
    ];
    if let (Some(node), Some(_)) = (field("pool"), field("volumes")) {
        let message =
            "`pool` keeps warm containers for jobs without volumes, so nothing would run in one here";
        let diagnostic = Diagnostic::warning(codes::BAD_POOL, message)
            .at(reader.place(node.span()))
            .help("remove `pool`, or declare the parts that need `volumes` in a location of their own");
        reader.diagnostics.push(diagnostic);
    }
    for (key, _) in fits.into_iter().filter(|(_, fits)| !fits) {
        let Some(node) = field(key) else { continue };
        let (message, help) = match key {
            "engine" | "pool" => (
                format!("`{key}` has no meaning for the runtime `{runtime}`"),
                "set `runtime: docker`, or remove it",
            ),
            "pool-secrets" => (
                format!("`{key}` has no meaning without `pool`"),
                "set `pool` to the number of warm containers, or remove it",
            ),
            _ => (
                format!("the runtime `{runtime}` can't give `{key}`: scripts run on this host as they are"),
                "set `runtime: docker` or `runtime: sandbox`, or remove it",
            ),
        };
        let diagnostic =
            Diagnostic::error(codes::OTHER_RUNTIME, message).at(reader.place(node.span())).help(help);
        reader.diagnostics.push(diagnostic);
    }
}

/// Warns of a location whose runtime has no image for scripts. It is not an error, because a driver may
/// provide an image.
fn has_image(reader: &mut Reader<'_>, entry: &Entry, location: &Location) {
    if location.runtime == "process" || location.image.is_some() {
        return;
    }
    let Location { name, runtime, .. } = location;
    let message =
        format!("the location `{name}` has the runtime `{runtime}` and no `image` to run scripts in");
    let diagnostic = Diagnostic::warning(codes::NO_IMAGE, message)
        .at(reader.place(entry.key.span()))
        .help("set `image: NAME:TAG`, or set `runtime: process`");
    reader.diagnostics.push(diagnostic);
}

/// Reads `limits` of a location: the resource limits of each job.
fn job_limits(reader: &mut Reader<'_>, node: &Node) -> Bounds {
    let mut bounds = Bounds::default();
    let Some(body) = reader.mapping(node, "`limits`", &Bounds::KEYS) else { return bounds };
    for entry in body.entries() {
        let key = entry.key.text();
        if !Bounds::KEYS.contains(&key) || entry.value.is_null() {
            continue;
        }
        let Some(text) = reader.text(&entry.value, &format!("`{key}`")) else { continue };
        if let Err(error) = bounds.set(key, text) {
            reader.error(codes::BAD_JOB_LIMIT, entry.value.span(), error.to_string());
        }
    }
    bounds
}

/// Reads `volumes`: names, and the absolute paths where container runtimes mount them.
fn volumes(reader: &mut Reader<'_>, node: &Node) -> BTreeMap<String, String> {
    let entries = reader.any_mapping(node, "`volumes`").map(Mapping::entries).unwrap_or_default();
    let mut volumes = BTreeMap::new();
    for entry in entries {
        let name = entry.key.text();
        if let Err(error) = name.parse::<VolumeName>() {
            let help = "a volume has a name, and the runtime chooses its folder; a folder of the host is not allowed";
            let diagnostic = Diagnostic::error(codes::BAD_VOLUME, error.to_string())
                .at(reader.place(entry.key.span()))
                .help(help);
            reader.diagnostics.push(diagnostic);
            continue;
        }
        let Some(path) = reader.text(&entry.value, "the path of a volume") else { continue };
        if is_mount_path(path) {
            volumes.insert(name.to_owned(), path.to_owned());
        } else {
            let message = format!("`{path}` can't be the path of a volume");
            let diagnostic = Diagnostic::error(codes::BAD_VOLUME, message)
                .at(reader.place(entry.value.span()))
                .help(format!("use an absolute path without `..`, such as `/var/lib/{name}`"));
            reader.diagnostics.push(diagnostic);
        }
    }
    volumes
}

fn is_mount_path(path: &str) -> bool {
    path.len() > 1 && path.starts_with('/') && !path.split('/').any(|part| part == "..")
}

fn properties(reader: &mut Reader<'_>, node: &Node, reading: Reading) -> BTreeMap<String, Value> {
    let entries = reader.any_mapping(node, "`properties`").map(Mapping::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.text().to_owned(), entry.value.to_value(reading))).collect()
}

/// Reads the properties of a location. Returns the sources of those values that the file does not contain.
fn configure(
    reader: &mut Reader<'_>,
    node: &Node,
    location: &mut Location,
) -> BTreeMap<String, SecretSource> {
    let mut sources = BTreeMap::new();
    let entries = reader.any_mapping(node, "`properties`").map(Mapping::entries).unwrap_or_default();
    for entry in entries {
        let name = entry.key.text().to_owned();
        if let Some((key, value)) = reference(&entry.value) {
            if let Some(source) = source_of(reader, key, value) {
                location.secret.insert(name.clone());
                sources.insert(name, source);
            }
            continue;
        }
        if names_a_secret(&name) && !entry.value.is_null() {
            let message =
                format!("`{name}` of the location `{}` is written here in clear text", location.name);
            let help = format!("write `{name}: {{file: PATH}}` or `{name}: {{env: VARIABLE}}`");
            let place = reader.place(entry.key.span());
            reader.diagnostics.push(Diagnostic::warning(codes::CLEAR_SECRET, message).at(place).help(help));
            location.secret.insert(name.clone());
        }
        location.properties.insert(name, entry.value.to_value(Reading::Script));
    }
    sources
}

/// Returns the only entry of a mapping if it is `file` or `env`.
fn reference(node: &Node) -> Option<(&str, &Node)> {
    let [entry] = node.as_mapping()?.entries() else { return None };
    ["file", "env"].contains(&entry.key.text()).then(|| (entry.key.text(), &entry.value))
}

fn source_of(reader: &mut Reader<'_>, key: &str, node: &Node) -> Option<SecretSource> {
    let text = reader.text(node, &format!("`{key}`"))?;
    if key == "file" {
        return Some(SecretSource::File(text.into()));
    }
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit());
    if !is_name {
        reader.error(codes::WRONG_SORT, node.span(), format!("`{text}` can't be the name of a variable"));
        return None;
    }
    Some(SecretSource::Env(text.to_owned()))
}

/// Reads `existing`, and refuses entries that no reference could distinguish.
fn existing(reader: &mut Reader<'_>, node: &Node) -> (Vec<Existing>, Vec<PackageOf>) {
    let (mut found, mut packages) = (Vec::new(), Vec::new());
    let mut seen: HashMap<_, Span> = HashMap::new();
    for item in reader.list(node, "`existing`") {
        let Some((entry, package)) = existing_entry(reader, item) else { continue };
        packages.extend(package);
        let place = [DEPLOYMENT_LOCATION, RESOURCE_MANAGER].map(|key| entry.properties.get(key).cloned());
        let key = (entry.descriptor.to_string(), entry.name.clone(), format!("{place:?}"));
        if let Some(first) = seen.insert(key, item.span()) {
            let message = format!("`{}`, a `{}`, is listed twice", entry.name, entry.descriptor);
            let diagnostic = Diagnostic::error(codes::SAME_EXISTING, message)
                .at(reader.place(item.span()))
                .related(reader.place(first), "listed here first");
            reader.diagnostics.push(diagnostic);
        }
        found.push(entry);
    }
    (found, packages)
}

/// Reads an existing instance, and the path of its package.
fn existing_entry(reader: &mut Reader<'_>, node: &Node) -> Option<(Existing, Option<PackageOf>)> {
    let what = "an entry of `existing`";
    let body = reader.mapping(node, what, &EXISTING_KEYS)?;
    for key in ["type", "name"] {
        if body.get(key).is_none() {
            reader.error(codes::MISSING_KEY, node.span(), format!("{what} has no `{key}`"));
        }
    }
    let package = body.get("package").and_then(|node| {
        let path = reader.text(node, "`package`")?;
        Some((path.to_owned(), reader.place(node.span())))
    });
    let descriptor = body.get("type").and_then(|node| descriptor_name(reader, node));
    let name = body.get("name").and_then(|node| reader.text(node, "`name`")).map(str::to_owned);
    let properties =
        body.get("properties").map(|node| properties(reader, node, Reading::Text)).unwrap_or_default();
    let mut thing = Existing::listed(descriptor?, name?, properties);
    let package = package.map(|(path, place)| {
        thing.operations = Offered::OfDescriptor;
        PackageOf { descriptor: thing.descriptor.clone(), path, place }
    });
    Some((thing, package))
}

fn descriptor_name(reader: &mut Reader<'_>, node: &Node) -> Option<DescriptorName> {
    let text = reader.text(node, "`type`")?;
    text.parse().map_err(|error| reader.error(codes::BAD_NAME, node.span(), format!("{error}"))).ok()
}
