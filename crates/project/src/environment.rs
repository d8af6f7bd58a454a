//! The variables of a location's jobs: `environment` and `inherit-environment`.

use std::collections::{BTreeMap, BTreeSet};

use windlass_source::{Diagnostic, Mapping, Node, Span};

use crate::codes;
use crate::reader::Reader;

/// The prefix of the variables that windlass itself sets. A location must not set a variable with this prefix.
const RESERVED: &str = "WINDLASS_";

/// Reads `environment`: the values of variables, by name.
pub(crate) fn environment(reader: &mut Reader<'_>, node: &Node) -> BTreeMap<String, String> {
    let entries = reader.any_mapping(node, "`environment`").map(Mapping::entries).unwrap_or_default();
    let mut variables = BTreeMap::new();
    for entry in entries {
        let name = entry.key.text();
        if entry.value.as_mapping().is_some() {
            let message = format!("the variable `{name}` is not a text");
            let diagnostic = Diagnostic::error(codes::BAD_VARIABLE, message)
                .at(reader.place(entry.value.span()))
                .help("an environment has no secrets; write `{file: PATH}` or `{env: VARIABLE}` in `properties`");
            reader.diagnostics.push(diagnostic);
        } else if is_name(reader, name, entry.key.span())
            && let Some(value) = entry.value.as_str()
        {
            variables.insert(name.to_owned(), if entry.value.is_null() { "" } else { value }.to_owned());
        }
    }
    variables
}

/// Reads `inherit-environment`: a list of the names of variables.
pub(crate) fn inherited(reader: &mut Reader<'_>, node: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in reader.list(node, "`inherit-environment`") {
        let Some(name) = reader.text(item, "an entry of `inherit-environment`") else { continue };
        if is_name(reader, name, item.span()) {
            names.insert(name.to_owned());
        }
    }
    names
}

/// Tells whether a name is allowed for a variable, and reports an error if not.
fn is_name(reader: &mut Reader<'_>, name: &str, span: Span) -> bool {
    let is_word = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_word && !name.starts_with(RESERVED) {
        return true;
    }
    let help = if is_word {
        "windlass sets the variables that begin with `WINDLASS_`"
    } else {
        "a name has letters, digits and `_`, such as `HTTPS_PROXY`"
    };
    let diagnostic =
        Diagnostic::error(codes::BAD_VARIABLE, format!("`{name}` can't be the name of a variable"));
    reader.diagnostics.push(diagnostic.at(reader.place(span)).help(help));
    false
}
