//! Input and output files, and the access rights of templates.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass::model::clock::{Clock, SystemClock};
use windlass::source::{Source, files};
use windlass_spiff::codes::{DEFINITION, DOCUMENT, NO_JSON};
use windlass_spiff::value::{Map, Node};
use windlass_spiff::{Engine, Features, Outside, define, yaml};

use super::args::AccessArgs;
use super::fetch;
use super::stop::Stop;
use crate::codes::{COMMAND_LINE, INPUT, OUTPUT};
use crate::command::{environment, environment_all};
use crate::size_limit::{larger, max_size};

/// A reader of input files. Standard input can be read only once.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    stdin_taken: bool,
    /// The sources of the documents, in which errors find their places.
    sources: Vec<Arc<Source>>,
}

impl Inputs {
    /// Returns the sources of all documents that were read.
    pub(super) fn sources(&self) -> &[Arc<Source>] {
        &self.sources
    }

    fn source(&mut self, what: &str, file: &str) -> Result<Arc<Source>, Stop> {
        let source = Source::with_limit(file, self.text(what, file)?, max_size());
        self.sources.push(Arc::clone(&source));
        Ok(source)
    }

    fn text(&mut self, what: &str, file: &str) -> Result<String, Stop> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Stop::input(INPUT, format!("error reading {what} [{file}]: {error}"))
        };
        let bytes = if file == "-" {
            if std::mem::replace(&mut self.stdin_taken, true) {
                return Err(Stop::input(COMMAND_LINE, "stdin cannot be used twice"));
            }
            files::read_from(std::io::stdin(), max_size())
        } else {
            files::read(Path::new(file), max_size())
        };
        let bytes = bytes.map_err(|error| match error {
            error if error.is_missing() => unreadable(&format!("open {file}: no such file or directory")),
            error => unreadable(&format!("{error}{}", larger(&error))),
        })?;
        String::from_utf8(bytes).map_err(|error| unreadable(&error))
    }

    /// Reads the documents of a file. `what` is the word for the kind of file in messages, such as
    /// `template`.
    pub(super) fn documents(&mut self, what: &str, file: &str) -> Result<Vec<Node>, Stop> {
        let source = self.source(what, file)?;
        yaml::read_documents(&source)
            .map_err(|error| Stop::input(DOCUMENT, format!("error parsing {what} [{file}]: {error}")))
    }

    /// Reads a file that must contain exactly one document.
    pub(super) fn document(&mut self, what: &str, file: &str) -> Result<Node, Stop> {
        let source = self.source(what, file)?;
        yaml::read_document(&source)
            .map_err(|error| Stop::input(DOCUMENT, format!("error parsing {what} [{file}]: {error}")))
    }

    /// Reads the bindings of a template: names with values, from a file and from definitions `NAME=VALUE`.
    pub(super) fn bindings(&mut self, file: Option<&str>, definitions: &[String]) -> Result<Map, Stop> {
        let mut map = match file {
            None => Map::new(),
            Some(file) => {
                let node = self.document("bindings", file)?;
                node.as_map()
                    .cloned()
                    .ok_or_else(|| Stop::input(DOCUMENT, format!("bindings [{file}] must be a map")))?
            }
        };
        for definition in definitions {
            // The exit code is 1, as in the original spiff program.
            define(&mut map, definition).map_err(|error| {
                Stop::failed(DEFINITION, format!("error in value definitions (-D): {error}"))
            })?;
        }
        Ok(map)
    }
}

/// Creates an engine with the access that `--allow` grants, and with the features from the environment variable
/// `SPIFF_FEATURES` and from `--features`.
pub(super) fn engine(access: &AccessArgs) -> Result<Engine, Stop> {
    let unknown = |name: String| {
        Stop::input(COMMAND_LINE, format!("unknown feature `{name}`; there are control, interpolation, all"))
    };
    let text = |name: &str| environment(name).and_then(|value| value.into_string().ok());
    let mut features = Features::NONE;
    if let Some(names) = text("SPIFF_FEATURES") {
        features = features.with_names(&names).map_err(unknown)?;
    }
    features = features.with_names(&access.features).map_err(unknown)?;
    let mut outside = Outside::none()
        .with_clock(Arc::new(|| {
            let now = SystemClock.now().as_millis();
            Duration::from_millis(u64::try_from(now).unwrap_or(0))
        }))
        .with_random(Arc::new(|bytes| {
            // An error is ignored: the template functions that use random bytes can't report an error. After an
            // error, the bytes stay unchanged.
            let _ = getrandom::fill(bytes);
        }));
    if let Some(key) = text("SPIFF_ENCRYPTION_KEY") {
        outside = outside.with_key(key);
    }
    let mut hosts = Vec::new();
    for grant in &access.allow {
        outside = match grant.split_once('=') {
            Some(("read", folder)) => outside.allow_read(folder),
            Some(("write", folder)) => outside.allow_write(folder),
            Some(("http", host)) => {
                hosts.push(host.to_owned());
                outside
            }
            None if grant == "exec" => outside.allow_exec(),
            None if grant == "env" => outside.allow_env(environment_all().collect::<BTreeMap<_, _>>()),
            _ => {
                let message =
                    format!("unknown access `{grant}`; there are read=DIR, write=DIR, http=HOST, exec, env");
                return Err(Stop::input(COMMAND_LINE, message));
            }
        };
    }
    if !hosts.is_empty() {
        outside = outside.allow_http(fetch::from(hosts));
    }
    Ok(Engine::new().with_features(features).with_outside(outside))
}

/// Writes `state` to the file of the option `--state`, atomically. `state` contains the nodes that a template marks
/// with `&state`. The extensions `.json`, `.yaml` and `.yml` of the file select JSON or YAML. For all other
/// extensions, `json` selects the format.
pub(super) fn keep_state(file: &Path, state: &Node, json: bool) -> Result<(), Stop> {
    let json = match file.extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => false,
        Some("json") => true,
        _ => json,
    };
    let text = if json {
        yaml::to_json(state.value()).map_err(|error| Stop::failed(NO_JSON, error))?
    } else {
        yaml::to_yaml(state)
    };
    windlass::project::output::write(file, text.as_bytes(), 0o666).map_err(|error| {
        Stop::failed(OUTPUT, format!("cannot write state file \"{}\": {error}", file.display()))
    })
}
