//! What the user gives: only what the assembly declares, and everything that it requires.

use windlass_model::PropertyName;
use windlass_source::{Diagnostic, Place};

use super::Composer;
use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property::PropertyDecl;
use crate::read::did_you_mean;
use crate::scope::quoted;

impl Composer<'_> {
    /// Checks the given parameters, and that none is missing.
    pub(super) fn parameters(&mut self, assembly: &AssemblyDescriptor) {
        for name in self.request.parameters.keys() {
            self.diagnostics.extend(refused(assembly, name, self.given_at.get(name)));
        }
        for (name, decl) in &assembly.properties {
            let given = self.request.parameters.get(name.as_str()).is_some_and(|value| !value.is_null());
            if decl.required && !decl.read_only && decl.effective().is_none() && !given {
                let message = format!("`{name}` is required and has no value");
                let diagnostic = Diagnostic::error(codes::MISSING_PARAMETER, message)
                    .at(assembly.source.place(decl.name_span))
                    .help(how_to_give(name, decl));
                self.diagnostics.push(diagnostic);
                self.missing.insert(name.clone());
            }
        }
    }
}

/// Says how a value is given: a secret not on the command line, where all can read it.
fn how_to_give(name: &PropertyName, decl: &PropertyDecl) -> String {
    if decl.sensitive {
        format!("give it with `-p {name}=@FILE`, `-p {name}=-` or `--params FILE`")
    } else {
        format!("give it with `-p {name}=…`")
    }
}

/// Says why a value for a property can't be given, if it can't; `place` is where its name stands, if in a file.
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
    let message = format!("the assembly has no property `{name}`");
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN_PARAMETER, message);
    if let Some(place) = place {
        diagnostic = diagnostic.at(place.clone());
    }
    let settable = assembly.properties.iter().filter(|(_, decl)| !decl.read_only && decl.value.is_none());
    let names: Vec<&str> = settable.map(|(name, _)| PropertyName::as_str(name)).collect();
    let diagnostic = if names.is_empty() {
        diagnostic.help("it has none that can be set")
    } else {
        diagnostic.help(format!("these can be set: {}", quoted(&names)))
    };
    did_you_mean(diagnostic, name, names)
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
