//! Parameters: `-p key=value`, `--params FILE` and `--inventory PARAM=FILE`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass::Error;
use windlass::explain::explain;
use windlass::project::codes::BAD_INVENTORY;
use windlass::project::inventory::{self, ALL, Host, InventoryForm};
use windlass::source::files::{self, ReadError};
use windlass::source::{Code, Diagnostic, Limits, LoadOptions, Place, Reading, Source, load_one};

use crate::codes;
use crate::size_limit::{larger, max_size};

/// Maximum number of YAML nodes in a parameter file. The limit exists because parsed values take more memory
/// than their text.
const MOST_NODES: usize = 500_000;

/// The parameters that a command gets from arguments, parameter files and inventories.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    pub(crate) values: BTreeMap<String, Value>,
    /// For each parameter that comes from a parameter file, the place of its name in the file.
    pub(crate) places: BTreeMap<String, Place>,
    /// For each parameter that comes from a parameter file or an inventory, the places of its list entries. If a value
    /// is no list, the vector is empty.
    pub(crate) entries: BTreeMap<String, Vec<Place>>,
    /// For each parameter that comes from an inventory, the names of the variables that windlass has left out.
    pub(crate) left_out: BTreeMap<String, BTreeSet<String>>,
    /// For each parameter whose value is the whole text of a file (`-p name=@FILE`), the path of the file.
    pub(crate) files: BTreeMap<String, PathBuf>,
    /// The parameters whose values were on the command line, where other users of the host can see them.
    pub(crate) open: Vec<String>,
}

pub(crate) enum ParameterError {
    /// An argument is wrong, or its input can't be read.
    Form { code: Code, message: String },
    /// A parameter file has problems, or can't be read.
    File(Error),
}

/// Collects parameters from files, inventories and arguments. Arguments and inventories take precedence over files.
/// No parameter may be in both an argument and an inventory.
///
/// `flag` is the text before each argument on the command line, such as `-p `. Error messages show the argument
/// with this text.
pub(crate) fn collect(
    flag: &str,
    given: &[String],
    files: &[impl AsRef<Path>],
    inventories: &[String],
) -> Result<Parameters, ParameterError> {
    refuse_two_sources(flag, given, inventories)?;
    let mut parameters = Parameters::default();
    for file in files {
        for (name, value, place, entries) in read_file(file.as_ref())? {
            parameters.places.insert(name.clone(), place);
            parameters.entries.insert(name.clone(), entries);
            parameters.values.insert(name, value);
        }
    }
    for given in inventories {
        let (name, hosts) = read_inventory(given)?;
        let left_out = hosts.iter().flat_map(|host| host.left_out.iter().cloned()).collect();
        parameters.left_out.insert(name.clone(), left_out);
        let (values, places) = hosts.into_iter().map(|host: Host| (host.variables, host.place)).unzip();
        parameters.places.remove(&name);
        parameters.entries.insert(name.clone(), places);
        parameters.values.insert(name, Value::Array(values));
    }
    for given in given {
        let Some((key, value)) = given.split_once('=') else {
            let message = format!(
                "`{flag}{given}` has no `=`: write `{flag}name=value`, `{flag}name=@FILE` or `{flag}name=-`"
            );
            return Err(wrong(message));
        };
        if key.is_empty() {
            let message = format!("`{flag}{given}` names no property: write `{flag}name=value`");
            return Err(wrong(message));
        }
        parameters.files.remove(key);
        let value = match value.strip_prefix('@') {
            Some(file) => {
                parameters.files.insert(key.to_owned(), PathBuf::from(file));
                read_text(Path::new(file))?
            }
            None if value == "-" => read_stdin(flag, key)?,
            None => {
                parameters.open.push(key.to_owned());
                value.to_owned()
            }
        };
        parameters.places.remove(key);
        parameters.entries.remove(key);
        parameters.values.insert(key.to_owned(), Value::from(value));
    }
    Ok(parameters)
}

/// Refuses a parameter that gets a value from an inventory and from another argument.
fn refuse_two_sources(flag: &str, given: &[String], inventories: &[String]) -> Result<(), ParameterError> {
    let name = |argument: &String| argument.split_once('=').map(|(name, _)| name.to_owned());
    let names: Vec<String> = inventories.iter().filter_map(name).collect();
    for (at, twice) in names.iter().enumerate() {
        let other = if given.iter().filter_map(name).any(|given| given == *twice) {
            format!("`{flag}{twice}=…`")
        } else if names[..at].contains(twice) {
            format!("another `--inventory {twice}=…`")
        } else {
            continue;
        };
        let message =
            format!("`{twice}` has two sources: `--inventory {twice}=…` and {other}; give one of them");
        return Err(wrong(message));
    }
    Ok(())
}

/// The suffixes of parameter files that are read without an option.
const AUTOMATIC: [&str; 2] = [".auto.params.yaml", ".auto.params.yml"];

/// Returns the parameter files in the folder of a descriptor: `params.yaml` or `params.yml`, then the files
/// with the suffixes of [`AUTOMATIC`], sorted by name. Later files take precedence. `descriptor` may also be
/// the folder itself.
pub(crate) fn beside(descriptor: &Path) -> Vec<PathBuf> {
    let folder = if descriptor.is_dir() { Some(descriptor) } else { descriptor.parent() };
    let Some(folder) = folder else { return Vec::new() };
    let main = ["params.yaml", "params.yml"].map(|name| folder.join(name));
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names =
        std::fs::read_dir(here).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()));
    let is_automatic = |name: &str| AUTOMATIC.iter().any(|end| name.ends_with(end));
    let mut automatic: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(|name| is_automatic(name)).collect();
    automatic.sort();
    let automatic = automatic.into_iter().map(|name| folder.join(name));
    main.into_iter().chain(automatic).filter(|file| file.is_file()).collect()
}

/// Reads an argument `PARAM=FILE[:GROUP]`. `FILE` is an Ansible inventory. Returns the name of the parameter, and the
/// hosts of the group. Without `GROUP`, returns all hosts of the file.
fn read_inventory(given: &str) -> Result<(String, Vec<Host>), ParameterError> {
    let Some((name, path)) =
        given.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty())
    else {
        let message = format!("`--inventory {given}` is not of the form `--inventory PARAM=FILE[:GROUP]`");
        return Err(wrong(message));
    };
    let (path, group) = match path.rsplit_once(':') {
        Some((before, group)) if !Path::new(path).exists() => (before, group),
        _ => (path, ALL),
    };
    let path = Path::new(path);
    let bytes = files::read(path, max_size()).map_err(|source| file(path, source))?;
    let input = |diagnostics| ParameterError::File(Error::Input(diagnostics));
    let source = Source::from_bytes_with_limit(path.display().to_string(), bytes, max_size())
        .map_err(|diagnostic| input(vec![concealed(&diagnostic)].into()))?;
    let hosts = inventory::hosts(&source, InventoryForm::of(path), group).map_err(|problems| {
        // A message about the syntax of YAML may quote the text, which may be a secret.
        let conceal = |problem: &Diagnostic| {
            if problem.code == BAD_INVENTORY { problem.clone() } else { concealed(problem) }
        };
        input(problems.iter().map(conceal).collect())
    })?;
    Ok((name.to_owned(), hosts))
}

/// A parameter in a parameter file: its name, its value, and the place of its name. If the value is a list, the last
/// field contains the places of the list's entries.
type Given = (String, Value, Place, Vec<Place>);

/// Reads a parameter file.
fn read_file(path: &Path) -> Result<Vec<Given>, ParameterError> {
    let bytes = files::read(path, max_size()).map_err(|source| file(path, source))?;
    let input = |diagnostics| ParameterError::File(Error::Input(diagnostics));
    let source = Source::from_bytes_with_limit(path.display().to_string(), bytes, max_size())
        .map_err(|diagnostic| input(vec![concealed(&diagnostic)].into()))?;
    let limits = Limits { nodes: MOST_NODES, ..Limits::default() };
    let loaded = load_one(&source, &LoadOptions { limits, ..LoadOptions::default() });
    // No line of the file is shown, because any value may be a secret.
    let shape = source.without_text();
    if loaded.diagnostics.has_errors() {
        return Err(input(loaded.diagnostics.iter().map(concealed).collect()));
    }
    let Some(root) = loaded.root.filter(|root| !root.is_null()) else { return Ok(Vec::new()) };
    let Some(mapping) = root.as_mapping() else {
        let diagnostic = Diagnostic::error(
            windlass::descriptor::codes::WRONG_SORT,
            "a parameter file must be a mapping of names to values",
        );
        return Err(input(vec![diagnostic.at(shape.place(root.span()))].into()));
    };
    let entry = |entry: &windlass::source::Entry| {
        let value = entry.value.to_value(Reading::Text);
        let items = entry.value.as_sequence().unwrap_or_default();
        let entries = items.iter().map(|item| shape.place(item.span())).collect();
        (entry.key.text().to_owned(), value, shape.place(entry.key.span()), entries)
    };
    Ok(mapping.iter().map(entry).collect())
}

/// Copies a diagnostic without its texts, because these texts may quote the file. The copy keeps the severity, the
/// code and the place. The message of the copy is the title of the code.
fn concealed(diagnostic: &Diagnostic) -> Diagnostic {
    let code = diagnostic.code;
    let title = explain(code.as_str()).map_or("it can't be read", |info| info.title);
    let concealed = Diagnostic::new(diagnostic.severity, code, title)
        .help(format!("`windlass explain {code}` explains this; lines of parameter files are not shown"));
    match diagnostic.place() {
        Some(place) => concealed.at(place.source().without_text().place(place.span())),
        None => concealed,
    }
}

/// Reads a value from a file. If the file is a single line, the line break is not part of the value.
fn read_text(path: &Path) -> Result<String, ParameterError> {
    let text = files::read_text(path, max_size()).map_err(|source| file(path, source))?;
    Ok(files::value(text))
}

fn read_stdin(flag: &str, key: &str) -> Result<String, ParameterError> {
    let read = files::read_from(std::io::stdin(), max_size()).and_then(files::text);
    let failed = |error: ReadError| format!("can't read standard input: {error}{}", larger(&error));
    let text = read.map_err(|error| unread(failed(error)))?;
    if text.is_empty() {
        let message = format!(
            "standard input is empty, and `{flag}{key}=-` reads the value of `{key}` from it; `{flag}{key}=` sets an empty value"
        );
        return Err(wrong(message));
    }
    Ok(files::value(text))
}

/// Returns the error of a wrong argument.
fn wrong(message: String) -> ParameterError {
    ParameterError::Form { code: codes::COMMAND_LINE, message }
}

/// Returns the error of input that can't be read.
fn unread(message: String) -> ParameterError {
    ParameterError::Form { code: codes::INPUT, message }
}

fn file(path: &Path, source: ReadError) -> ParameterError {
    match source {
        ReadError::TooLarge { .. } => unread(format!("`{}`: {source}{}", path.display(), larger(&source))),
        source => ParameterError::File(Error::File { path: path.to_owned(), source: source.into() }),
    }
}
