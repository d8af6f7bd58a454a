//! Checks relationships: their sources and targets, their properties, and the operations that they call.

use indexmap::{IndexMap, IndexSet};
use windlass_model::assembly::OperationCall;
use windlass_model::template::{End, InstanceField};
use windlass_model::{ComponentName, DescriptorName, Modifier, State};
use windlass_source::Severity;

use super::capabilities::capabilities;
use super::context::Check;
use crate::codes;
use crate::document::{Descriptor, EndpointDecl, RelationshipDecl};
use crate::property::PropertyDecl;
use crate::reader::Spanned;
use crate::scope::{Meaning, Scope};

pub(super) fn relationship<'a>(check: &mut Check<'a, '_>, relationship: &'a RelationshipDecl) {
    for (end, endpoints) in [(End::Source, &relationship.sources), (End::Target, &relationship.targets)] {
        for declared in endpoints {
            endpoint(check, declared, end);
        }
    }
    capabilities(check, relationship);
    check.properties(&relationship.properties, Scope::relationship(check.assembly));
    let ends =
        Ends { sources: alike(check, &relationship.sources), targets: alike(check, &relationship.targets) };
    for decl in relationship.properties.values() {
        properties_of_ends(check, &ends, decl);
    }
    for call in relationship.create.iter().chain(&relationship.cease) {
        operation_call(check, &ends, call);
    }
    if let Some(early) = relationship.create.iter().find(|call| call.value.end == End::Source)
        && relationship.source_state == State::Installed
        && relationship.source_modifier == Modifier::Pre
    {
        let message = format!("`{}` is called before its source is installed", early.value);
        let diagnostic = check.said.at(Severity::Warning, codes::TOO_EARLY, early.span, message);
        let help =
            "leave `source-state-modifier` out, so that it is `post`, or call an operation of the target";
        check.said.push(diagnostic.help(help));
    }
}

fn endpoint(check: &mut Check<'_, '_>, endpoint: &Spanned<EndpointDecl>, end: End) {
    let EndpointDecl { component, capability } = &endpoint.value;
    let is_component = check.assembly.composition.contains_key(component);
    let is_reference = check.assembly.references.contains_key(component);
    if !is_component && !is_reference {
        let written = capability.as_ref().map_or(component.to_string(), |c| format!("{component}.{c}"));
        let message = format!("`{written}` is at the {end} end, and there is no component `{component}`");
        check.no_part(component.as_str(), endpoint.span, message);
    } else if is_reference && !is_component && end == End::Target {
        let message = format!("`{component}` is a reference, and a reference can be a source only");
        let diagnostic = check.said.at(Severity::Error, codes::BAD_ENDPOINT, endpoint.span, message);
        check.said.push(diagnostic.help("this assembly does not change existing instances"));
    } else if is_component && capability.is_none() {
        let what = if end == End::Source { "capability" } else { "requirement" };
        let message =
            format!("`{component}` is a component, so its {what} should be named: `{component}.<name>`");
        let diagnostic = check.said.at(Severity::Warning, codes::BAD_ENDPOINT, endpoint.span, message);
        check.said.push(diagnostic);
    }
}

/// Checks each `${source.…}` and `${target.…}` in the value of a relationship's property. If a source has no property
/// `x`, the function reports `${source.x}` for this source. If a target has no property `x`, the function reports
/// `${target.x}` for this target. The fields `name`, `id` and `index` are always valid.
fn properties_of_ends<'a>(check: &mut Check<'a, '_>, ends: &Ends<'a>, decl: &'a PropertyDecl) {
    let scope = Scope::relationship(check.assembly);
    let Some(value) = decl.effective() else { return };
    value.for_each_reference(&mut |reference| {
        let Some(Meaning::End(end, property)) = scope.find(reference) else { return };
        if InstanceField::from_word(property.as_str()).is_some() {
            return;
        }
        for group in ends.of(end) {
            // The components of a group have the same descriptor. So if the descriptor declares the property,
            // all of them have it.
            let Some(first) = group.first() else { continue };
            let declares = |found: Descriptor| found.properties().contains_key(&property);
            if check.descriptor_of(first).is_none_or(declares) {
                continue;
            }
            // All components of the group lack the property, and each of them gets an error. If the limit on the
            // number of errors was reached before, only one more error is counted for the whole group.
            let is_full = check.said.diagnostics.is_full(Severity::Error);
            for component in group.iter().take(if is_full { 1 } else { group.len() }) {
                check.property_of_part(reference, component, &property);
            }
        }
    });
}

fn operation_call(check: &mut Check<'_, '_>, ends: &Ends<'_>, call: &Spanned<OperationCall>) {
    // Components with the same descriptor declare the same operations. So one component of each group is
    // checked.
    for component in ends.of(call.value.end).iter().filter_map(|group| group.first()) {
        // The operations of a reference are known only after the reference resolves to an instance.
        if !check.assembly.references.contains_key(*component) {
            check.operation(component, &call.value.operation, call.span);
        }
    }
}

/// The sources and targets of a relationship, grouped by their descriptors. The groups save time, because a
/// relationship can have thousands of sources or targets.
struct Ends<'a> {
    sources: Vec<IndexSet<&'a ComponentName>>,
    targets: Vec<IndexSet<&'a ComponentName>>,
}

impl<'a> Ends<'a> {
    fn of(&self, end: End) -> &[IndexSet<&'a ComponentName>] {
        if end == End::Source { &self.sources } else { &self.targets }
    }
}

/// Groups the sources or the targets of a relationship by their descriptors. `ends` contains these sources or
/// targets. A component or reference whose descriptor is not in the catalog is left out, because it can't be
/// checked. If `ends` lists a component with several capabilities, its group contains the component only once.
fn alike<'a>(check: &Check<'a, '_>, ends: &'a [Spanned<EndpointDecl>]) -> Vec<IndexSet<&'a ComponentName>> {
    let mut groups: IndexMap<(bool, DescriptorName), IndexSet<&ComponentName>> = IndexMap::new();
    for endpoint in ends {
        let component = &endpoint.value.component;
        let is_component = check.assembly.composition.contains_key(component);
        let descriptor = check.descriptor_of(component);
        if let Some(name) = descriptor.as_ref().and_then(Descriptor::name) {
            groups.entry((is_component, name.clone())).or_default().insert(component);
        }
    }
    groups.into_values().collect()
}
