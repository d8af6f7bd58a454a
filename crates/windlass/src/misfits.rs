//! Compares given parameters with the types that the assembly declares.
//!
//! jsonschema validates the parameters against the schema of [`parameters`]. Messages of jsonschema quote
//! values, which may be secrets. So only the path and the expected type are taken from these messages.

use std::collections::BTreeMap;

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};
use windlass_descriptor::AssemblyDescriptor;
use windlass_descriptor::codes::MISFIT;
use windlass_descriptor::parameter_schema::parameters;
use windlass_source::{Diagnostic, Place, did_you_mean};

/// Returns a warning for each value in `given` that does not have its declared type. If a value is a list or a map, the
/// entries of the value are checked, too. Some parameters come from files. For these parameters, `places` contains the
/// place of the parameter's name in the file.
pub(crate) fn misfits(
    assembly: &AssemblyDescriptor,
    given: &BTreeMap<String, Value>,
    places: &BTreeMap<String, Place>,
) -> Vec<Diagnostic> {
    let mut schema = parameters(assembly);
    let Some(declared) = schema["properties"].as_object_mut() else { return Vec::new() };
    // Only given properties are validated, because compiling the pattern of a property takes time.
    declared.retain(|name, _| given.contains_key(name));
    if declared.is_empty() {
        return Vec::new();
    }
    let known = |name: &&String| declared.contains_key(*name);
    let values = given.keys().filter(known).map(|name| (name.clone(), given[name].clone()));
    let values = Value::from(values.collect::<Map<_, _>>());
    let Ok(validator) = jsonschema::validator_for(&schema) else { return Vec::new() };
    let warning = |error: jsonschema::ValidationError<'_>| {
        let steps = steps(error.instance_path().as_str());
        let name = steps.first()?;
        let whole = steps.join(".");
        let part = at(&schema, error.schema_path().as_str());
        let diagnostic = if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
            let fields = part.and_then(|part| part["properties"].as_object());
            let fields: Vec<&str> = fields.into_iter().flat_map(Map::keys).map(String::as_str).collect();
            let [field, ..] = unexpected.as_slice() else { return None };
            let message = format!("`{whole}` is given the field `{field}`, which its type does not have");
            did_you_mean(Diagnostic::warning(MISFIT, message), field, fields)
        } else {
            let expected = part.and_then(|part| part["title"].as_str())?;
            let message = format!("the value that is given for `{whole}` is not {expected}");
            Diagnostic::warning(MISFIT, message).help("the value is taken as it stands; types are advice")
        };
        let decl = assembly.properties.get(name.as_str())?;
        let declared = assembly.source.place(decl.name_span);
        Some(match places.get(name) {
            Some(place) => diagnostic.at(place.clone()).related(declared, "declared here"),
            None => diagnostic.at(declared).label("declared here"),
        })
    };
    validator.iter_errors(&values).filter_map(warning).collect()
}

/// Returns the keys in a JSON pointer.
pub(crate) fn steps(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

/// Returns the subschema that contains a keyword. `keyword` is the JSON pointer to the keyword in `schema`. For
/// example, for the pointer `/properties/nodes/type`, the function returns the subschema at `/properties/nodes`.
pub(crate) fn at<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    schema.pointer(keyword.rsplit_once('/')?.0)
}
