//! The output of a plain script: the files that it wrote.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_driver::{Call, texts};
use windlass_executor::{Outcome, Output};
use windlass_model::PropertyName;
use windlass_model::instance::{
    InstanceView, METRICS as METRICS_INTERFACE, OUTPUTS as OUTPUTS_INTERFACE, shape,
};
use windlass_source::{Diagnostic, files};
use windlass_update_ops::{Op, Path, Update};

use super::place::{ID, METRICS, OUTPUTS, Place};
use super::status::Status;
use crate::answer::Answer;
use crate::codes;
use crate::natural;
use crate::role::Role;

/// The extension of an output file whose content is parsed as JSON. The content of any other output file is a text.
const JSON: &str = ".json";

/// The values that a script wrote.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Written {
    /// The values by interface (a named group of values) and by name. The interface `properties` contains the
    /// output properties, and the interface `metrics` contains the metrics.
    pub signals: BTreeMap<&'static str, BTreeMap<String, Value>>,
    /// The id of the launched instance, if the script is a launch.
    pub id: Option<String>,
}

impl Written {
    /// Returns the operations of an update that publishes the written values.
    ///
    /// If the script is a launch, the operations also remove each old output property that this launch did not write.
    /// But if the script has deleted the folder of output properties, the operations remove nothing.
    fn operations(self, role: &Role, call: &Call) -> Vec<(Path, Op)> {
        let path = |interface: &str, name: &str| {
            Path::from_keys(["interfaces", interface, "signals", name]).expect("no key is empty")
        };
        let mut operations = Vec::new();
        if *role == Role::Launch {
            let written = self.signals.get(OUTPUTS_INTERFACE);
            let earlier =
                InstanceView::new(&call.document).outputs().into_iter().flat_map(|outputs| outputs.keys());
            let dropped = earlier.filter(|name| written.is_some_and(|written| !written.contains_key(*name)));
            operations.extend(dropped.map(|name| (path(OUTPUTS_INTERFACE, name), Op::Unset)));
        }
        for (interface, values) in self.signals {
            let each = values.into_iter();
            operations.extend(each.map(|(name, value)| (path(interface, &name), Op::Replace(value))));
        }
        operations
    }
}

/// Returns the answer of the script that a call has run: the values that the script wrote to files, and `status`.
///
/// # Errors
/// All problems of all these files. If there is a problem, no file is used.
pub(crate) fn answer(
    role: &Role,
    call: &Call,
    outcome: &Outcome,
    status: Option<Status>,
) -> Result<Answer, Vec<Diagnostic>> {
    let written = read(outcome)?;
    let natural = written.id.clone().or_else(|| call.natural.clone());
    let status = status.into_iter().flat_map(Status::operations);
    let update = Update::from_ops(written.operations(role, call).into_iter().chain(status), shape());
    let update = update.map_err(|errors| {
        let problems = errors.iter().map(|error| *problem(error.to_string(), "write a simpler value"));
        problems.collect::<Vec<_>>()
    })?;
    Ok(crate::answer::answer(natural, update, &[], call))
}

/// Returns the id of an instance that a launch script has created. The id is returned even if other files of the script
/// are invalid. Returns `None` if the id is invalid, or if the script is no launch script.
pub(crate) fn launched_id(role: &Role, outcome: &Outcome) -> Option<String> {
    let file = outcome.outputs.get(ID.variable).filter(|_| *role == Role::Launch)?;
    read_id(file).ok()
}

/// Returns the values that a script wrote.
///
/// The function reads all files of the output folders, because the driver does not know which values the resource
/// declares. The engine warns of an undeclared value.
///
/// # Errors
/// All problems of all files. If there is a problem, no file is used, because an output without the unusable file
/// would look like a complete one.
pub(crate) fn read(outcome: &Outcome) -> Result<Written, Vec<Diagnostic>> {
    let mut written = Written::default();
    let mut problems = Vec::new();
    for (place, interface) in [(OUTPUTS, OUTPUTS_INTERFACE), (METRICS, METRICS_INTERFACE)] {
        match outcome.outputs.get(place.variable) {
            None | Some(Output::Missing) => {}
            Some(Output::Files(files)) => {
                let values = read_folder(place, files, &mut problems);
                written.signals.insert(interface, values);
            }
            Some(other) => problems.push(*unusable(&format!("${}", place.variable), other)),
        }
    }
    match outcome.outputs.get(ID.variable).map(read_id) {
        Some(Ok(id)) => written.id = Some(id),
        Some(Err(problem)) => problems.push(*problem),
        None => {}
    }
    if problems.is_empty() { Ok(written) } else { Err(problems) }
}

fn read_folder(
    place: Place,
    files: &BTreeMap<String, Output>,
    problems: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (file, output) in files {
        let shown = format!("${}/{file}", place.variable);
        let name = file.strip_suffix(JSON).unwrap_or(file);
        match read_file(&shown, file, name, output) {
            Ok(value) => {
                if values.insert(name.to_owned(), value).is_some() {
                    let message = format!("`{shown}` and `${}/{name}` are the same output", place.variable);
                    problems.push(*problem(message, "write one of them"));
                }
            }
            Err(found) => problems.push(*found),
        }
    }
    values
}

fn read_file(shown: &str, file: &str, name: &str, output: &Output) -> Result<Value, Box<Diagnostic>> {
    let Output::Content(bytes) = output else { return Err(unusable(shown, output)) };
    let text = text(shown, bytes)?;
    if name.parse::<PropertyName>().is_err() {
        let message = format!("`{shown}` can't be an output: its name is empty or has blanks");
        return Err(problem(message, "name the file as the property"));
    }
    if file == name {
        return Ok(files::value(text.to_owned()).into());
    }
    serde_json::from_str(text).map_err(|error| {
        let message = format!("`{shown}` is not JSON: {error}");
        problem(message, format!("write one JSON value, or a text to `{name}` without `{JSON}`"))
    })
}

fn read_id(output: &Output) -> Result<String, Box<Diagnostic>> {
    let shown = format!("${}", ID.variable);
    let Output::Content(bytes) = output else { return Err(unusable(&shown, output)) };
    let id = text(&shown, bytes)?.trim();
    if !natural::is_valid(id) {
        let message = format!(
            "`{shown}` must have one line with the id of the instance: at most 2048 bytes, without control characters"
        );
        return Err(problem(message, "leave the file as it is, or write another id to it"));
    }
    Ok(id.to_owned())
}

fn text<'b>(shown: &str, bytes: &'b [u8]) -> Result<&'b str, Box<Diagnostic>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("`{shown}` is not UTF-8 at byte {}", error.valid_up_to());
        problem(message, "encode binary data, for example by `base64`")
    })
}

/// Describes an output that has no content.
fn unusable(shown: &str, output: &Output) -> Box<Diagnostic> {
    let help = match output {
        Output::TooLarge { .. } => "all files of the folder may have 4 MiB together",
        Output::NotAFile | Output::Outside => {
            "write a file with the value; folders, links and pipes are not read"
        }
        Output::Missing => "leave the file in place",
        _ => "write one file for each output, readable by its owner",
    };
    problem(format!("`{shown}` {output}"), help)
}

fn problem(message: String, help: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::OUTPUT_FILE, message).help(help.into()))
}

/// Returns the texts of all sensitive values in the files that a script wrote. A value is sensitive if its file, or
/// its key in a JSON file, has the name of a sensitive property. The function also searches files that [`read`]
/// refuses, for example because they contain invalid JSON.
pub(crate) fn secrets(outcome: &Outcome, sensitive: &BTreeSet<PropertyName>) -> Vec<String> {
    let is_sensitive = |name: &str| sensitive.iter().any(|property| property.as_str() == name);
    let folders = outcome.outputs.values().filter_map(|output| match output {
        Output::Files(files) => Some(files),
        _ => None,
    });
    let mut found = Vec::new();
    for (file, output) in folders.flatten() {
        let Output::Content(bytes) = output else { continue };
        let text = String::from_utf8_lossy(bytes);
        let value = serde_json::from_str::<Value>(&text).ok();
        if is_sensitive(file.strip_suffix(JSON).unwrap_or(file)) {
            found.extend(value.iter().flat_map(texts));
            found.extend(text.lines().chain([text.trim_end_matches('\n')]).map(str::to_owned));
        } else if let Some(value) = value {
            below(&value, &is_sensitive, &mut found);
        }
    }
    found.retain(|secret| !secret.is_empty());
    found
}

fn below(value: &Value, is_sensitive: &impl Fn(&str) -> bool, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| below(item, is_sensitive, found)),
        Value::Object(entries) => {
            for (name, value) in entries {
                if is_sensitive(name) {
                    found.extend(texts(value));
                } else {
                    below(value, is_sensitive, found);
                }
            }
        }
        _ => {}
    }
}
