//! Checks the names of the capabilities and requirements that relationships use.
//!
//! The names have no meaning for windlass. So a check only compares a name with the names that the descriptor
//! of the component declares.

use windlass_model::template::End;
use windlass_source::{Severity, did_you_mean, listed};

use super::context::Check;
use crate::codes;
use crate::document::{EndpointDecl, RelationshipDecl};
use crate::reader::Spanned;

/// Checks the capability that each source of a relationship names. Reports the name if the descriptor of the source
/// does not declare this capability. If the descriptor declares no capabilities at all, every name is valid. In the
/// same way, the function checks the requirement that each target names.
pub(super) fn capabilities(check: &mut Check<'_, '_>, relationship: &RelationshipDecl) {
    for endpoint in &relationship.sources {
        declared(check, endpoint, End::Source);
    }
    for endpoint in &relationship.targets {
        declared(check, endpoint, End::Target);
    }
}

fn declared(check: &mut Check<'_, '_>, endpoint: &Spanned<EndpointDecl>, end: End) {
    let EndpointDecl { component, capability: Some(word) } = &endpoint.value else { return };
    let Some(descriptor) = check.descriptor_of(component) else { return };
    let (what, declared) = match end {
        End::Source => ("capability", descriptor.capabilities()),
        End::Target => ("requirement", descriptor.requirements()),
    };
    if declared.is_empty() || declared.contains_key(word) || check.said.leaves_out(Severity::Note) {
        return;
    }
    let names: Vec<&str> = declared.keys().map(String::as_str).collect();
    let message = format!("the descriptor of `{component}` declares no {what} `{word}`");
    let diagnostic = check
        .said
        .at(Severity::Note, codes::UNKNOWN_CAPABILITY, endpoint.span, message)
        .help(format!("it declares {}", listed(&names)));
    check.said.push(did_you_mean(diagnostic, word, names));
}
