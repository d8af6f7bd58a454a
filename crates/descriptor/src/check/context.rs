//! The state of a check: the assembly, the available descriptors, and the diagnostics found so far.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_model::{ComponentName, DescriptorName, OperationName, PropertyName};
use windlass_source::{Code, Diagnostic, Diagnostics, Severity, Source, Span, did_you_mean, listed};

use crate::catalog::Catalog;
use crate::codes;
use crate::document::{AssemblyDescriptor, Descriptor};
use crate::property::Properties;
use crate::scope::{Has, has, part_has, part_names, unknown_component};
use crate::template::Reference;

/// The treatment of a component whose descriptor is not in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The check warns of the missing descriptor, and skips all comparisons with it.
    Tolerated,
    /// The check reports an error, because windlass can't create the component without its descriptor.
    Refused,
}

/// Maximum number of property names that [`Check::declared_of`] returns. An error about an unknown name
/// suggests the most similar of these names.
const NAMED: usize = 10_000;

/// The diagnostics about one text.
pub(super) struct Said<'a> {
    pub(super) source: &'a Arc<Source>,
    pub(super) diagnostics: Diagnostics,
}

impl<'a> Said<'a> {
    pub(super) fn new(source: &'a Arc<Source>) -> Self {
        Self { source, diagnostics: Diagnostics::new() }
    }

    /// Tells whether the limit for diagnostics of this severity is reached. A caller that needs much time to create a
    /// diagnostic must call this method first. If the limit is reached, the method counts the diagnostic, and the
    /// caller does not create it.
    pub(super) fn leaves_out(&mut self, severity: Severity) -> bool {
        self.diagnostics.leaves_out(severity)
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Creates a diagnostic at the place `span` of the checked text. The caller adds the diagnostic with
    /// [`push`](Self::push).
    pub(super) fn at(
        &self,
        severity: Severity,
        code: Code,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(severity, code, message).at(self.source.place(span))
    }

    pub(super) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(self.at(Severity::Error, code, span, message));
    }

    pub(super) fn finish(mut self) -> Diagnostics {
        self.diagnostics.sort();
        self.diagnostics
    }
}

/// The properties of an assembly that depend on a component. For each of these properties, the map contains the
/// `${…}` that reads the component.
///
/// A property depends on a component if its fixed value contains a `${…}` that reads the component. A property also
/// depends on a component if its fixed value reads another property that depends on the component. In this case, the
/// map contains the `${…}` of the other property for both properties.
pub(super) type Late<'a> = HashMap<&'a PropertyName, &'a Reference>;

/// A running check of an assembly.
pub(super) struct Check<'a, 's> {
    pub(super) assembly: &'a Arc<AssemblyDescriptor>,
    pub(super) catalog: &'a dyn Catalog,
    pub(super) missing: Missing,
    /// For each reference, the newest descriptor that its `type` accepts. A reference has no entry in this map if the
    /// catalog contains no such descriptor.
    pub(super) referenced: HashMap<&'a ComponentName, Descriptor>,
    /// The names of all descriptors of the catalog. The list is loaded on first use.
    pub(super) names: Option<Vec<DescriptorName>>,
    /// The properties of the assembly that depend on a component. They are computed at the first use; `None` before it.
    pub(super) late: Option<Late<'a>>,
    /// Number of undeclared properties so far. A property is undeclared if the assembly gives it to a component,
    /// but the component's descriptor does not declare it. Only the first `SEARCHES` undeclared properties are
    /// checked for misspelt names.
    pub(super) searches: usize,
    pub(super) said: &'s mut Said<'a>,
}

impl<'a> Check<'a, '_> {
    pub(super) fn source(&self) -> &'a Arc<Source> {
        &self.assembly.source
    }

    /// Returns the descriptor of the component or reference `name`. For a reference, this is the newest descriptor that
    /// the reference's `type` accepts. Returns `None` if the catalog has no such descriptor.
    pub(super) fn descriptor_of(&self, name: &ComponentName) -> Option<Descriptor> {
        match self.assembly.composition.get(name) {
            Some(part) => part.kind.as_ref().and_then(|kind| self.catalog.find(&kind.value)),
            None => self.referenced.get(name).cloned(),
        }
    }

    /// Searches for a property of the component or reference `name`.
    pub(super) fn has(&self, name: &ComponentName, property: &PropertyName) -> Has {
        if let Some(part) = self.assembly.composition.get(name) {
            return part_has(part, self.catalog, property);
        }
        match self.referenced.get(name) {
            // Every existing instance has a name, an id and an index, even if its descriptor does not declare
            // these properties.
            Some(_) if matches!(property.as_str(), "name" | "id" | "index") => Has::Yes,
            Some(descriptor) => {
                let decl = self.assembly.references.get(name);
                if decl.is_some_and(|decl| decl.properties.contains_key(property)) {
                    return Has::Yes;
                }
                has(descriptor, property)
            }
            None => Has::CannotTell,
        }
    }

    /// Returns at most [`NAMED`] names of properties of a component or reference, for suggestions.
    pub(super) fn declared_of(&self, name: &ComponentName) -> Vec<String> {
        let part = self.assembly.composition.get(name).map(|part| &part.properties);
        let beside = part.or(self.assembly.references.get(name).map(|decl| &decl.properties));
        let beside = beside.into_iter().flat_map(Properties::keys).map(ToString::to_string);
        let descriptor = self.descriptor_of(name);
        let own = descriptor.iter().flat_map(|found| found.properties().keys()).map(ToString::to_string);
        own.chain(beside).take(NAMED).collect()
    }

    /// Reports an operation that the descriptor of a component does not declare. A missing descriptor is not
    /// reported here.
    pub(super) fn operation(&mut self, component: &ComponentName, operation: &OperationName, span: Span) {
        let Some(part) = self.assembly.composition.get(component) else { return };
        let Some(descriptor) = self.descriptor_of(component) else { return };
        if descriptor.has_operation(operation) || self.said.leaves_out(Severity::Error) {
            return;
        }
        let names = descriptor.operation_names();
        let message = format!("the descriptor of `{component}` declares no operation `{operation}`");
        let mut diagnostic = self
            .said
            .at(Severity::Error, codes::BAD_OPERATION, span, message)
            .related(self.source().place(part.name_span), "the component");
        diagnostic = if names.is_empty() {
            diagnostic.help("it declares none; add it to `operations` there")
        } else {
            diagnostic.help(format!("it declares {}", listed(&names)))
        };
        self.said.push(did_you_mean(diagnostic, operation.as_str(), names));
    }

    /// Reports `name`, which is no component of the assembly.
    pub(super) fn no_component(&mut self, name: &str, span: Span, message: String) {
        if self.said.leaves_out(Severity::Error) {
            return;
        }
        let parts: Vec<&str> = self.assembly.composition.keys().map(ComponentName::as_str).collect();
        let diagnostic = self.said.at(Severity::Error, codes::UNKNOWN_COMPONENT, span, message);
        self.said.push(unknown_component(diagnostic, name, &parts, &parts));
    }

    /// Reports `name`, which is neither a component nor a reference of the assembly.
    pub(super) fn no_part(&mut self, name: &str, span: Span, message: String) {
        if self.said.leaves_out(Severity::Error) {
            return;
        }
        let diagnostic = self.said.at(Severity::Error, codes::UNKNOWN_COMPONENT, span, message);
        let parts = part_names(self.assembly);
        self.said.push(unknown_component(diagnostic, name, &parts, &parts));
    }
}
