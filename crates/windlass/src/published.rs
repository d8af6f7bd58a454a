//! Check of a `windlass.yaml` with the JSON Schema that `windlass schema project` prints.
//!
//! The crate `project` reads `windlass.yaml` and checks the keys that it knows. Runtimes and drivers declare
//! schemas for their own settings. The schema of `windlass.yaml` contains these schemas, so jsonschema checks
//! the whole document.

use std::path::Path;

use jsonschema::ValidationError;
use windlass_driver::Registry;
use windlass_project::Overlay;
use windlass_source::{Diagnostic, Diagnostics, LoadOptions, Reading, load_one};

use crate::codes::REFUSED_BY_SCHEMA;
use crate::misfits::{at, steps};
use crate::runtimes::RuntimeRegistry;
use crate::schema::{Document, schema};

/// Validates a `windlass.yaml` with its JSON Schema. Returns an error for each value that violates the schema. The
/// caller validates the file only if the crate `project` has found no errors in the file.
pub(crate) fn refused(
    file: &Path,
    overlay: &Overlay,
    runtimes: &RuntimeRegistry,
    drivers: &Registry,
) -> Diagnostics {
    let Ok(source) = overlay.source(file) else { return Diagnostics::new() };
    let Some(root) = load_one(&source, &LoadOptions::default()).root else { return Diagnostics::new() };
    let schema = schema(Document::Project, runtimes, drivers);
    let Ok(validator) = jsonschema::validator_for(&schema) else { return Diagnostics::new() };
    let problem = |error: ValidationError<'_>| {
        let path = error.instance_path().as_str();
        // The value may be a secret, so the message does not contain it.
        let message = format!("`{}`: {}", steps(path).join("."), error.masked_with("the value"));
        let place = source.place(root.locate(path).node.span());
        let diagnostic = Diagnostic::error(REFUSED_BY_SCHEMA, message).at(place);
        let description =
            at(&schema, error.schema_path().as_str()).and_then(|part| part["description"].as_str());
        description.into_iter().fold(diagnostic, Diagnostic::help)
    };
    let problems: Vec<Diagnostic> =
        validator.iter_errors(&root.to_value(Reading::Script)).map(problem).collect();
    problems.into()
}
