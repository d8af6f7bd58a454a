//! Relationships: their ends, the values for their operations, and the operations.

use windlass_model::assembly::OperationCall;
use windlass_model::template::{End, InstanceField};
use windlass_model::{Modifier, State};
use windlass_source::Severity;

use super::Check;
use crate::codes;
use crate::document::{EndpointDecl, RelationshipDecl};
use crate::property::PropertyDecl;
use crate::read::Spanned;
use crate::scope::{Meaning, Scope};

impl<'a> Check<'a, '_> {
    pub(super) fn relationship(&mut self, relationship: &'a RelationshipDecl) {
        for (end, endpoints) in [(End::Source, &relationship.sources), (End::Target, &relationship.targets)] {
            for endpoint in endpoints {
                self.endpoint(endpoint, end);
            }
        }
        self.capabilities(relationship);
        self.properties(&relationship.properties, Scope::relationship(self.assembly));
        for decl in relationship.properties.values() {
            self.properties_of_ends(relationship, decl);
        }
        for call in relationship.create.iter().chain(&relationship.cease) {
            self.operation_call(relationship, call);
        }
        if let Some(early) = relationship.create.iter().find(|call| call.value.end == End::Source)
            && relationship.source_state == State::Installed
            && relationship.source_modifier == Modifier::Pre
        {
            let message = format!("`{}` is called before its source is installed", early.value);
            let diagnostic = self.said.at(Severity::Warning, codes::TOO_EARLY, early.span, message);
            let help =
                "leave `source-state-modifier` out, so that it is `post`, or call an operation of the target";
            self.said.push(diagnostic.help(help));
        }
    }

    fn endpoint(&mut self, endpoint: &Spanned<EndpointDecl>, end: End) {
        let EndpointDecl { component, capability } = &endpoint.value;
        let is_component = self.assembly.composition.contains_key(component);
        let is_reference = self.assembly.references.contains_key(component);
        if !is_component && !is_reference {
            let written = capability.as_ref().map_or(component.to_string(), |c| format!("{component}.{c}"));
            let message = format!("`{written}` is at the {end} end, and there is no component `{component}`");
            self.no_part(component.as_str(), endpoint.span, message);
        } else if is_reference && !is_component && end == End::Target {
            let message = format!("`{component}` is a reference, and a reference can be a source only");
            let diagnostic = self.said.at(Severity::Error, codes::BAD_ENDPOINT, endpoint.span, message);
            self.said.push(diagnostic.help("what exists already is not changed by this assembly"));
        } else if is_component && capability.is_none() {
            let what = if end == End::Source { "capability" } else { "requirement" };
            let message =
                format!("`{component}` is a component, so its {what} should be named: `{component}.<name>`");
            let diagnostic = self.said.at(Severity::Warning, codes::BAD_ENDPOINT, endpoint.span, message);
            self.said.push(diagnostic);
        }
    }

    /// Checks that what `${source.…}` and `${target.…}` name is declared at that end.
    fn properties_of_ends(&mut self, relationship: &'a RelationshipDecl, decl: &'a PropertyDecl) {
        let scope = Scope::relationship(self.assembly);
        let Some(value) = decl.effective() else { return };
        value.for_each_reference(&mut |reference| {
            let Some(Meaning::End(end, property)) = scope.find(reference) else { return };
            if InstanceField::from_word(property.as_str()).is_some() {
                return;
            }
            let ends = if end == End::Source { &relationship.sources } else { &relationship.targets };
            for endpoint in ends {
                self.property_of_part(reference, &endpoint.value.component, &property);
            }
        });
    }

    fn operation_call(&mut self, relationship: &'a RelationshipDecl, call: &Spanned<OperationCall>) {
        let ends = match call.value.end {
            End::Source => &relationship.sources,
            End::Target => &relationship.targets,
        };
        for endpoint in ends {
            let component = &endpoint.value.component;
            // What a reference can do is known once it is known what it stands for.
            if !self.assembly.references.contains_key(component) {
                self.operation(component, &call.value.operation, call.span);
            }
        }
    }
}
