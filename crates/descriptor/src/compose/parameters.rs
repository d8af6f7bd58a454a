//! Checks the parameters from the user. For example, reports parameters that the assembly does not declare, and
//! required parameters that are missing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_model::{ElementName, PropertyName};
use windlass_source::{Diagnostic, Diagnostics, Place, Severity, did_you_mean, listed, nearest};

use super::request::{GivenPlaces, Request};
use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property::PropertyDecl;

/// The parameters that the user has given.
pub(super) struct Parameters<'a> {
    given: &'a BTreeMap<String, Value>,
    /// Name of the element that stands for the outermost assembly. The parameters set the properties of this element.
    owner: ElementName,
    /// For each parameter from a file, the place of the parameter in the file.
    pub(super) places: &'a GivenPlaces,
    /// Parameters without a usable value. An error about each of them was already reported.
    missing: BTreeSet<PropertyName>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(request: &Request<'a>, places: &'a GivenPlaces) -> Self {
        let owner = ElementName::from(request.name);
        Self { given: request.parameters, owner, places, missing: BTreeSet::new() }
    }

    /// Tells whether a property is a parameter without a usable value. An error about each such parameter was
    /// already reported.
    pub(super) fn is_missing(&self, element: &ElementName, property: &PropertyName) -> bool {
        *element == self.owner && self.missing.contains(property)
    }

    /// Reports parameters that the assembly does not accept, required parameters that are missing, required
    /// secrets that are empty, and passwords that are a list or a map.
    pub(super) fn check(&mut self, assembly: &AssemblyDescriptor, diagnostics: &mut Diagnostics) {
        for name in self.given.keys() {
            let is_right = assembly.properties.get(name.as_str()).is_some_and(|decl| !decl.decides_itself());
            if !is_right && !diagnostics.leaves_out(Severity::Error) {
                diagnostics.extend(refused(assembly, name, self.places.names.get(name)));
            }
        }
        for (name, decl) in &assembly.properties {
            let given = self.given.get(name.as_str()).is_some_and(|value| !value.is_null());
            let is_empty = self.given.get(name.as_str()).and_then(Value::as_str) == Some("");
            if decl.required && decl.sensitive && is_empty && !decl.read_only && decl.value.is_none() {
                let message = format!("`{name}` is a required secret, and the value that is given is empty");
                let mut diagnostic = Diagnostic::error(codes::MISSING_PARAMETER, message)
                    .at(assembly.source.place(decl.name_span))
                    .help(how_to_give(name, decl));
                if let Some(place) = self.places.names.get(name.as_str()) {
                    diagnostic = diagnostic.related(place.clone(), "given here");
                }
                diagnostics.push(diagnostic);
                self.missing.insert(name.clone());
            }
            let whole = self.given.get(name.as_str());
            if decl.kind().eq_ignore_ascii_case("password")
                && let Some(found) = whole.and_then(collection)
            {
                let message = format!("`{name}` is one text, of type `password`, and {found} is given");
                let mut diagnostic = Diagnostic::error(codes::MISFIT, message)
                    .at(assembly.source.place(decl.name_span))
                    .help("quote the value, or declare the parts of it as properties of their own");
                if let Some(place) = self.places.names.get(name.as_str()) {
                    diagnostic = diagnostic.related(place.clone(), "given here");
                }
                diagnostics.push(diagnostic);
                self.missing.insert(name.clone());
            }
            if decl.required && !decl.read_only && decl.effective().is_none() && !given {
                let message = format!("`{name}` is required and has no value");
                let diagnostic = Diagnostic::error(codes::MISSING_PARAMETER, message)
                    .at(assembly.source.place(decl.name_span))
                    .help(how_to_give(name, decl));
                diagnostics.push(diagnostic);
                self.missing.insert(name.clone());
            }
        }
    }
}

/// Returns a description of a list or map for a message; none for a scalar.
fn collection(value: &Value) -> Option<&'static str> {
    match value {
        Value::Array(_) => Some("a list"),
        Value::Object(_) => Some("a mapping"),
        _ => None,
    }
}

/// Returns the help text that tells how to give a parameter. For a secret, the text names no option that puts
/// the secret into the command line, because other users of the machine can read command lines.
fn how_to_give(name: &PropertyName, decl: &PropertyDecl) -> String {
    if decl.sensitive {
        format!("give it with `-p {name}=@FILE`, `-p {name}=-` or `--params FILE`")
    } else {
        format!("give it with `-p {name}=…`")
    }
}

/// Returns the error about a parameter that the user must not set; none if the user may set it. `place` is
/// the place of the parameter's name in a file, if the parameter comes from a file.
pub(crate) fn refused(
    assembly: &AssemblyDescriptor,
    name: &str,
    place: Option<&Place>,
) -> Option<Diagnostic> {
    let Some(decl) = assembly.properties.get(name) else { return Some(unknown(assembly, name, place)) };
    let diagnostic = fixed(assembly, name, decl)?;
    Some(match place {
        Some(place) => diagnostic.related(place.clone(), "given here"),
        None => diagnostic,
    })
}

fn unknown(assembly: &AssemblyDescriptor, name: &str, place: Option<&Place>) -> Diagnostic {
    let settable = assembly.properties.iter().filter(|(_, decl)| !decl.read_only && decl.value.is_none());
    let names: Vec<&str> = settable.map(|(name, _)| PropertyName::as_str(name)).collect();
    // An unknown name in a file may be a misplaced secret. So the message contains the name only if it looks
    // like the name of a property.
    let is_told = place.is_none() || is_word(name) || nearest(name, names.iter().copied()).is_some();
    let message = if is_told {
        format!("the assembly has no property `{name}`")
    } else {
        "the assembly has no property of the name that stands here".to_owned()
    };
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN_PARAMETER, message);
    if let Some(place) = place {
        diagnostic = diagnostic.at(place.clone());
    }
    let diagnostic = if names.is_empty() {
        diagnostic.help("it has none that can be set")
    } else {
        diagnostic.help(format!("these can be set: {}", listed(&names)))
    };
    did_you_mean(diagnostic, name, names)
}

/// Tells whether a text looks like the name of a property: at most 30 characters, which are letters, `_` and
/// `-`. Most property names have this form. Most secrets contain other characters, or are longer.
fn is_word(text: &str) -> bool {
    text.len() <= 30 && text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(&byte))
}

fn fixed(assembly: &AssemblyDescriptor, name: &str, decl: &PropertyDecl) -> Option<Diagnostic> {
    let why = if decl.read_only {
        "is read-only"
    } else if decl.value.is_some() {
        "has a fixed value"
    } else {
        return None;
    };
    let diagnostic = Diagnostic::error(codes::FIXED_PARAMETER, format!("`{name}` {why} and can't be set"))
        .at(assembly.source.place(decl.name_span))
        .label("declared here");
    Some(diagnostic)
}
