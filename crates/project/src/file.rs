//! `windlass.yaml`, the document of a project. It declares the locations, and existing instances such as networks. A
//! reference in a descriptor can resolve to such an instance.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;
use windlass_descriptor::compose::MAX_ELEMENTS;
use windlass_descriptor::{Existing, Offered};
use windlass_driver::location::{DEPLOYMENT_LOCATION, RESOURCE_MANAGER, SCRIPTING};
use windlass_driver::{Location, Registry};
use windlass_executor::{Bounds, VolumeName};
use windlass_model::DescriptorName;
use windlass_model::name::DriverKind;
use windlass_model::retention::Retention;
use windlass_secret::names_a_secret;
use windlass_source::{
    Diagnostic, Diagnostics, Entry, Limits, LoadOptions, Mapping, Node, Place, Reading, Source, Span, listed,
    load_one, suggest,
};

use crate::codes;
use crate::environment::{environment, inherited};
use crate::keys;
use crate::kinds::{IMAGE, Misfit, RuntimeKinds, SettingProblem};
use crate::reader::Reader;
use crate::secret::SecretSource;
use crate::sections;

/// The name of the file that declares a project.
pub const FILE_NAME: &str = "windlass.yaml";

/// Maximum number of YAML nodes in the document. This limit is lower than the default of the YAML loader, because the
/// properties of locations and instances are converted into values, and these values also take memory.
const MOST_NODES: usize = 500_000;

/// The supported version of the document.
const VERSION: &str = "1";

/// The content of a `windlass.yaml`, as far as it could be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectFile {
    /// The locations by name, in the order of declaration.
    pub(crate) locations: IndexMap<String, Declared>,
    /// The existing instances to which references in descriptors can resolve.
    pub(crate) existing: Vec<Existing>,
    /// The packages of existing instances, from the key `package` in the entries of `existing`.
    pub(crate) packages: Vec<PackageOf>,
    /// The rule for the removal of old processes, and of old versions of assemblies.
    pub(crate) retention: Retention,
    /// Maximum number of copied elements in an assembly; `None` if the file sets no maximum. In a group, each node
    /// except the first is a copy. If several components nest the same assembly, each nested assembly except the
    /// first is a copy. A copy and all parts inside it are copied elements.
    pub(crate) nodes: Option<usize>,
    /// The drivers, with their settings.
    pub(crate) drivers: Registry,
    /// See [`Project::sections`](crate::Project::sections).
    pub(crate) sections: BTreeMap<String, String>,
}

/// The package of an existing instance.
#[derive(Debug, Clone)]
pub(crate) struct PackageOf {
    /// The name of the descriptor that the package must contain.
    pub(crate) descriptor: DescriptorName,
    /// The path, relative to the project's folder.
    pub(crate) path: String,
    /// The place of the path in the document.
    pub(crate) place: Place,
}

/// A location that `windlass.yaml` declares, and the position of the location's name in this file.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) location: Location,
    /// The secret properties whose values are outside of `windlass.yaml`. The key is the name of the property, and
    /// the value is the place of the secret, such as `{env: CLOUD_PASSWORD}`.
    pub(crate) sources: BTreeMap<String, SecretSource>,
    /// The variables that the location's jobs get from the environment of windlass.
    pub(crate) inherited: BTreeSet<String>,
    pub(crate) place: Place,
}

/// Reads a `windlass.yaml`, and reports all its problems.
pub(crate) fn read(
    source: &Arc<Source>,
    kinds: &RuntimeKinds,
    drivers: &Registry,
) -> (ProjectFile, Diagnostics) {
    let limits = Limits { nodes: MOST_NODES, ..Limits::default() };
    let loaded = load_one(source, &LoadOptions { limits, ..LoadOptions::default() });
    let mut diagnostics = loaded.diagnostics;
    let mut reader = Reader { source, diagnostics: &mut diagnostics };
    let file = loaded.root.as_ref().map(|root| read_root(&mut reader, root, kinds, drivers));
    if file.is_none() && !reader.diagnostics.has_errors() {
        missing_version(&mut reader, Span::empty(0));
    }
    diagnostics.sort();
    (file.unwrap_or_default(), diagnostics)
}

fn read_root(reader: &mut Reader<'_>, root: &Node, kinds: &RuntimeKinds, drivers: &Registry) -> ProjectFile {
    let Some(root) = reader.mapping(root, "`windlass.yaml`", keys::ROOT.names) else {
        return ProjectFile::default();
    };
    version(reader, root);
    let locations = root.get("locations").and_then(|node| reader.any_mapping(node, "`locations`"));
    let locations = locations.map(Mapping::entries).unwrap_or_default();
    let locations: IndexMap<String, Declared> =
        locations.iter().filter_map(|entry| location(reader, entry, kinds)).collect();
    let (existing, packages) = root.get("existing").map(|node| existing(reader, node)).unwrap_or_default();
    let retention = root.get("retention").map(|node| retention(reader, node)).unwrap_or_default();
    let nodes = root.get("limits").and_then(|node| limits(reader, node));
    let settings = root.get("drivers").and_then(|node| reader.any_mapping(node, "`drivers`"));
    let settings = settings.map(Mapping::entries).unwrap_or_default();
    let drivers = settings.iter().fold(drivers.clone(), |drivers, entry| driver(reader, entry, drivers));
    let sections = sections::digests(root, &|location, property| {
        let declared: Option<&Declared> = locations.get(location);
        declared.is_some_and(|declared| {
            declared.location.secret.contains(property) && !declared.sources.contains_key(property)
        })
    });
    ProjectFile { locations, existing, packages, retention, nodes, drivers, sections }
}

/// Reads an entry of `drivers`: the settings of one driver. Returns the registry with this driver configured.
fn driver(reader: &mut Reader<'_>, entry: &Entry, drivers: Registry) -> Registry {
    let name = entry.key.text();
    let Some(driver) = drivers.iter().find(|driver| driver.kind().as_str() == name) else {
        let known = || drivers.kinds().map(DriverKind::as_str);
        let help = match suggest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known().next().is_none() => "this program has no drivers".to_owned(),
            None => format!("there are {}", listed(known())),
        };
        let message = format!("there is no driver `{name}`");
        let place = reader.place(entry.key.span());
        reader.diagnostics.push(Diagnostic::error(codes::UNKNOWN_DRIVER, message).at(place).help(help));
        return drivers;
    };
    let known: Vec<&str> = match drivers.settings(&driver.kind()) {
        Ok(settings) => settings.into_iter().map(|setting| setting.key).collect(),
        Err(message) => {
            reader.error(codes::BAD_DRIVER_SETTING, entry.value.span(), message);
            return drivers;
        }
    };
    let body = reader.mapping(&entry.value, &format!("the driver `{name}`"), &known);
    let given = body.map(Mapping::entries).unwrap_or_default().iter();
    let given = given.filter(|entry| known.contains(&entry.key.text()) && !entry.value.is_null());
    let given: BTreeMap<String, Value> =
        given.map(|entry| (entry.key.text().to_owned(), entry.value.to_value(Reading::Text))).collect();
    match driver.configured(&given) {
        Ok(None) => drivers,
        Ok(Some(configured)) => drivers.with_shared(configured),
        Err(problems) => {
            for problem in problems {
                let value = body.and_then(|body| body.get(problem.key)).unwrap_or(&entry.value);
                reader.error(codes::BAD_DRIVER_SETTING, value.span(), problem.message);
            }
            drivers
        }
    }
}

/// Reads `retention`: the rule for the removal of old processes, and of old versions of assemblies. The default
/// replaces a missing or invalid value.
fn retention(reader: &mut Reader<'_>, node: &Node) -> Retention {
    let usual = Retention::default();
    let Some(body) = reader.mapping(node, "`retention`", keys::RETENTION.names) else { return usual };
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

/// Reads `limits` of the project. Returns the value of the key `nodes`: the maximum number of copied elements in an
/// assembly. Returns `None` if the key is missing, or if its value is invalid.
fn limits(reader: &mut Reader<'_>, node: &Node) -> Option<usize> {
    let body = reader.mapping(node, "`limits`", keys::LIMITS.names)?;
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

/// The key of the maximum number of concurrent jobs at a location.
const MAX_JOBS: &str = "max-jobs";

fn location(reader: &mut Reader<'_>, entry: &Entry, kinds: &RuntimeKinds) -> Option<(String, Declared)> {
    let name = entry.key.text().to_owned();
    if name.trim().is_empty() {
        reader.error(codes::BAD_NAME, entry.key.span(), "the name of a location is empty");
        return None;
    }
    let what = format!("the location `{name}`");
    let settings = kinds.settings();
    let known: Vec<&str> =
        keys::LOCATION.names.iter().copied().chain(settings.iter().map(|setting| setting.key)).collect();
    let body = reader.mapping(&entry.value, &what, &known);
    let field = |key: &str| body.and_then(|body| body.get(key)).filter(|node| !node.is_null());
    let mut text =
        |key: &str| field(key).and_then(|node| reader.text(node, &format!("`{key}`"))).map(str::to_owned);
    let mut location = Location { is_declared: true, ..Location::local(&name) };
    location.manager = text("resource-manager");
    location.infrastructure = text("infrastructure-type").unwrap_or(location.infrastructure);
    location.image = text(IMAGE);
    let runtime = text("runtime");
    let values = settings.iter().filter_map(|setting| Some((setting.key.to_owned(), text(setting.key)?)));
    let values: BTreeMap<String, String> = values.collect();
    location.network = field("network").and_then(|node| network(reader, node));
    location.volumes = field("volumes").map(|node| volumes(reader, node)).unwrap_or_default();
    location.environment = field("environment").map(|node| environment(reader, node)).unwrap_or_default();
    let inherited = field("inherit-environment").map(|node| inherited(reader, node)).unwrap_or_default();
    location.limits = field("limits").map(|node| job_limits(reader, node)).unwrap_or_default();
    for (key, words) in SCRIPTING {
        let word = field(key).and_then(|node| word(reader, key, words, node));
        location.scripting.extend(word.map(|word| (key.to_owned(), word)));
    }
    location.max_jobs = field(MAX_JOBS).and_then(|node| max_jobs(reader, node));
    // A key with a value of the wrong type is not a missing key, and the reader has already reported it. A problem of the
    // location as a whole may be a consequence.
    let is_wrong = |key: &str, is_read: bool| !is_read && field(key).is_some();
    let mut wrong: Vec<&str> = settings.iter().map(|setting| setting.key).collect();
    wrong.retain(|key| is_wrong(key, values.contains_key(*key)));
    let has_runtime = !is_wrong("runtime", runtime.is_some());
    let has_image = !is_wrong(IMAGE, location.image.is_some());
    let is_certain = |misfit: &Misfit| match misfit {
        Misfit::Unknown(_) | Misfit::Key { .. } => has_runtime,
        Misfit::NoImage { .. } => has_runtime && has_image,
        Misfit::Setting(SettingProblem { key: Some(key), .. }) => has_runtime && !wrong.contains(key),
        Misfit::Setting(_) => has_runtime && has_image && wrong.is_empty(),
    };
    for misfit in kinds.fit(&mut location, runtime.as_deref(), values).into_iter().filter(is_certain) {
        let (path, diagnostic) = misfit_diagnostic(misfit, kinds);
        let mut path = path.iter();
        let key = path.next().and_then(|key| field(key));
        let part = key.map(|node| path.try_fold(node, |node, key| node.get(key)).unwrap_or(node));
        let span = part.map_or(entry.key.span(), Node::span);
        reader.diagnostics.push(diagnostic.at(reader.place(span)));
    }
    let sources = field("properties").map(|node| configure(reader, node, &mut location)).unwrap_or_default();
    Some((name, Declared { location, sources, inherited, place: reader.place(entry.key.span()) }))
}

/// Returns the diagnostic of a location that does not match its runtime, and the path of the problem: a key of the
/// location, and perhaps a key below it. If the problem concerns the location as a whole, the path is empty.
fn misfit_diagnostic(misfit: Misfit, kinds: &RuntimeKinds) -> (Vec<String>, Diagnostic) {
    let message = misfit.to_string();
    match misfit {
        Misfit::Unknown(name) => {
            let help = match suggest(&name, kinds.names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if kinds.names().next().is_none() => "this program has no runtimes".to_owned(),
                None => format!("there are {}", kinds.listed()),
            };
            let diagnostic = Diagnostic::error(codes::UNKNOWN_RUNTIME, message).help(help);
            (vec!["runtime".to_owned()], diagnostic)
        }
        Misfit::Key { key, others, .. } => {
            let help = format!("set {}, or remove it", runtimes(&others));
            (vec![key], Diagnostic::error(codes::OTHER_RUNTIME, message).help(help))
        }
        // A missing image is only a warning, because the components of the location may have no scripts.
        Misfit::NoImage { others, .. } => {
            let help = match others.as_slice() {
                [] => "set `image: NAME:TAG`".to_owned(),
                others => format!("set `image: NAME:TAG`, or set {}", runtimes(others)),
            };
            (Vec::new(), Diagnostic::warning(codes::NO_IMAGE, message).help(help))
        }
        Misfit::Setting(SettingProblem { key, entry, diagnostic }) => {
            (key.map(str::to_owned).into_iter().chain(entry).collect(), diagnostic)
        }
    }
}

/// Returns a text for messages: a list of runtimes to choose from. `names` are the names of the runtimes.
///
/// An example of the text is "`runtime: sandbox` or `runtime: docker`".
fn runtimes(names: &[String]) -> String {
    let entries: Vec<String> = names.iter().map(|name| format!("`runtime: {name}`")).collect();
    entries.join(" or ")
}

/// Reads `network`: a keyword, or the name of a network of the container engine.
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

/// Reads `limits` of a location: the resource limits of each job.
fn job_limits(reader: &mut Reader<'_>, node: &Node) -> Bounds {
    let mut bounds = Bounds::default();
    let Some(body) = reader.mapping(node, "`limits`", keys::JOB_LIMITS.names) else { return bounds };
    for entry in body.entries() {
        let key = entry.key.text();
        if !keys::JOB_LIMITS.names.contains(&key) || entry.value.is_null() {
            continue;
        }
        let Some(text) = reader.text(&entry.value, &format!("`{key}`")) else { continue };
        if let Err(error) = bounds.set(key, text) {
            reader.error(codes::BAD_JOB_LIMIT, entry.value.span(), error.to_string());
        }
    }
    bounds
}

/// Reads `max-jobs` of a location: the maximum number of concurrent jobs, at least 1. Reports an invalid number, and
/// returns `None` for it.
fn max_jobs(reader: &mut Reader<'_>, node: &Node) -> Option<NonZeroU32> {
    let text = reader.text(node, &format!("`{MAX_JOBS}`"))?;
    let number = text.parse().ok();
    if number.is_none() {
        let message = format!("`{MAX_JOBS}` is a whole number from 1 to {}, not `{text}`", u32::MAX);
        reader.error(codes::BAD_JOB_LIMIT, node.span(), message);
    }
    number
}

/// Reads a value that must be one of `words`.
fn word(reader: &mut Reader<'_>, key: &str, words: &[&str], node: &Node) -> Option<String> {
    let text = reader.text(node, &format!("`{key}`"))?;
    if words.contains(&text) {
        return Some(text.to_owned());
    }
    let known: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let message = format!("`{key}` is {}, not `{text}`", known.join(" or "));
    reader.error(codes::BAD_SCRIPTING, node.span(), message);
    None
}

/// Reads the key `volumes`, a mapping. Each key of the mapping is the name of a volume. The value is the absolute
/// path at which a container runtime mounts this volume.
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

/// Reads the properties of a location into `location`. Returns the [`sources`](Declared::sources) of secret values.
/// The values keep their types, because scripts read them as YAML.
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

/// Returns the key and value of a reference to a secret: a mapping with the single key `file` or `env`.
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

/// Reads `existing`, the list of existing instances. Returns the instances, and the package folders that the list
/// names.
///
/// Two instances with the same type, name, location and resource manager are an error, because a reference could not
/// tell them apart.
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
    let body = reader.mapping(node, what, keys::EXISTING.names)?;
    for key in keys::EXISTING.keys.iter().filter(|key| key.is_required && body.get(key.name).is_none()) {
        reader.error(codes::MISSING_KEY, node.span(), format!("{what} has no `{}`", key.name));
    }
    let package = body.get("package").filter(|node| !node.is_null()).and_then(|node| {
        let path = reader.text(node, "`package`")?;
        Some((path.to_owned(), reader.place(node.span())))
    });
    let descriptor = body.get("type").and_then(|node| descriptor_name(reader, node));
    let name = body.get("name").and_then(|node| reader.text(node, "`name`")).map(str::to_owned);
    // The values are texts, so `1.10` does not become the number 1.1.
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
