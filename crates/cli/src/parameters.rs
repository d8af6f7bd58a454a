//! `-p key=value` and `--params FILE`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use windlass::Error;
use windlass::source::{Diagnostic, LoadOptions, Place, Reading, Source, load_one};

/// The parameters of an order.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    pub(crate) values: BTreeMap<String, Value>,
    /// Where the names of those stand that come from files.
    pub(crate) places: BTreeMap<String, Place>,
    /// Those whose values stood on the command line, where others can see them.
    pub(crate) open: Vec<String>,
}

/// What is wrong with a parameter.
pub(crate) enum ParameterError {
    /// A sentence.
    Form(String),
    /// A file's problems, or a file that can't be read.
    File(Error),
}

/// Collects parameters: files first, then what is given by hand. `flag` is what stands before one there: `-p `.
pub(crate) fn collect(
    flag: &str,
    given: &[String],
    files: &[impl AsRef<Path>],
) -> Result<Parameters, ParameterError> {
    let mut parameters = Parameters::default();
    for file in files {
        for (name, value, place) in read_file(file.as_ref())? {
            parameters.places.insert(name.clone(), place);
            parameters.values.insert(name, value);
        }
    }
    for given in given {
        let Some((key, value)) = given.split_once('=') else {
            let message = format!(
                "`{flag}{given}` has no `=`: write `{flag}name=value`, `{flag}name=@FILE` or `{flag}name=-`"
            );
            return Err(ParameterError::Form(message));
        };
        if key.is_empty() {
            let message = format!("`{flag}{given}` names no property: write `{flag}name=value`");
            return Err(ParameterError::Form(message));
        }
        let value = match value.strip_prefix('@') {
            Some(file) => read_text(Path::new(file))?,
            None if value == "-" => read_stdin()?,
            None => {
                parameters.open.push(key.to_owned());
                value.to_owned()
            }
        };
        parameters.places.remove(key);
        parameters.values.insert(key.to_owned(), Value::from(value));
    }
    Ok(parameters)
}

/// Reads a file of parameters: names, values, and where the names stand.
fn read_file(path: &Path) -> Result<Vec<(String, Value, Place)>, ParameterError> {
    let bytes = std::fs::read(path).map_err(|source| file(path, source))?;
    let input = |diagnostics| ParameterError::File(Error::Input(diagnostics));
    let source = Source::from_bytes(path.display().to_string(), bytes)
        .map_err(|diagnostic| input(vec![*diagnostic].into()))?;
    let loaded = load_one(&source, &LoadOptions::default());
    if loaded.diagnostics.has_errors() {
        return Err(input(loaded.diagnostics));
    }
    let Some(root) = loaded.root.filter(|root| !root.is_null()) else { return Ok(Vec::new()) };
    let Some(mapping) = root.as_mapping() else {
        let diagnostic = Diagnostic::error(
            windlass::descriptor::codes::WRONG_SORT,
            "a file of parameters is a mapping of names to values",
        );
        return Err(input(vec![diagnostic.at(source.place(root.span()))].into()));
    };
    let entry = |entry: &windlass::source::Entry| {
        let value = entry.value.to_value(Reading::Text);
        (entry.key.text().to_owned(), value, source.place(entry.key.span()))
    };
    Ok(mapping.iter().map(entry).collect())
}

/// Reads a value; one line break at the end does not belong to it.
fn read_text(path: &Path) -> Result<String, ParameterError> {
    let text = std::fs::read_to_string(path).map_err(|source| file(path, source))?;
    Ok(without_line_break(text))
}

fn read_stdin() -> Result<String, ParameterError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| ParameterError::Form(format!("can't read standard input: {error}")))?;
    Ok(without_line_break(text))
}

fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

fn file(path: &Path, source: std::io::Error) -> ParameterError {
    ParameterError::File(Error::File { path: path.to_owned(), source })
}
