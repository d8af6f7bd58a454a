//! The state of a check: the assembly, the available descriptors, and the diagnostics so far.

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

/// The severity of a component's missing descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Checks that need the descriptor are skipped.
    Tolerated,
    /// The missing descriptor is an error, because the assembly can't be deployed without it.
    Refused,
}

/// Maximum number of a component's properties that are compared with an unknown name.
const NAMED: usize = 10_000;

/// The diagnostics of a text.
pub(super) struct Said<'a> {
    pub(super) source: &'a Arc<Source>,
    pub(super) diagnostics: Diagnostics,
}

impl<'a> Said<'a> {
    pub(super) fn new(source: &'a Arc<Source>) -> Self {
        Self { source, diagnostics: Diagnostics::new() }
    }

    /// Tells whether the limit for problems of this severity is reached. In that case, counts one more
    /// problem without a message. Callers ask before they create a costly message.
    pub(super) fn leaves_out(&mut self, severity: Severity) -> bool {
        self.diagnostics.leaves_out(severity)
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Creates a diagnostic at a place of the text, without adding it.
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

/// The properties of an assembly that read a component, directly or through other properties. Each has the
/// reference by which it reads.
pub(super) type Late<'a> = HashMap<&'a PropertyName, &'a Reference>;

/// A check of an assembly.
pub(super) struct Check<'a, 's> {
    pub(super) assembly: &'a Arc<AssemblyDescriptor>,
    pub(super) catalog: &'a dyn Catalog,
    pub(super) missing: Missing,
    /// The descriptors of the references, as far as they are available.
    pub(super) referenced: HashMap<&'a ComponentName, Descriptor>,
    /// Names of all descriptors, loaded on first use.
    pub(super) names: Option<Vec<DescriptorName>>,
    /// Properties that read a component, computed on first use.
    pub(super) late: Option<Late<'a>>,
    /// Number of searches so far for suggestions about added properties, whose names may also be correct.
    pub(super) searches: usize,
    pub(super) said: &'s mut Said<'a>,
}

impl<'a> Check<'a, '_> {
    pub(super) fn source(&self) -> &'a Arc<Source> {
        &self.assembly.source
    }

    /// Returns the descriptor of a component or reference, if it is available.
    pub(super) fn descriptor_of(&self, name: &ComponentName) -> Option<Descriptor> {
        match self.assembly.composition.get(name) {
            Some(part) => part.kind.as_ref().and_then(|kind| self.catalog.find(&kind.value)),
            None => self.referenced.get(name).cloned(),
        }
    }

    /// Tells whether a component or reference has a property.
    pub(super) fn has(&self, name: &ComponentName, property: &PropertyName) -> Has {
        if let Some(part) = self.assembly.composition.get(name) {
            return part_has(part, self.catalog, property);
        }
        match self.referenced.get(name) {
            // Every existing instance has these properties, even if its descriptor does not declare them.
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

    /// Returns the property names of a component or reference, for suggestions: at most [`NAMED`] of them.
    pub(super) fn declared_of(&self, name: &ComponentName) -> Vec<String> {
        let part = self.assembly.composition.get(name).map(|part| &part.properties);
        let beside = part.or(self.assembly.references.get(name).map(|decl| &decl.properties));
        let beside = beside.into_iter().flat_map(Properties::keys).map(ToString::to_string);
        let descriptor = self.descriptor_of(name);
        let own = descriptor.iter().flat_map(|found| found.properties().keys()).map(ToString::to_string);
        own.chain(beside).take(NAMED).collect()
    }

    /// Checks that a component's descriptor, if it is available, declares an operation.
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

    /// Reports a name that is no component of the composition.
    pub(super) fn no_component(&mut self, name: &str, span: Span, message: String) {
        if self.said.leaves_out(Severity::Error) {
            return;
        }
        let parts: Vec<&str> = self.assembly.composition.keys().map(ComponentName::as_str).collect();
        let diagnostic = self.said.at(Severity::Error, codes::UNKNOWN_COMPONENT, span, message);
        self.said.push(unknown_component(diagnostic, name, &parts, &parts));
    }

    /// Reports a name that is neither a component nor a reference.
    pub(super) fn no_part(&mut self, name: &str, span: Span, message: String) {
        if self.said.leaves_out(Severity::Error) {
            return;
        }
        let diagnostic = self.said.at(Severity::Error, codes::UNKNOWN_COMPONENT, span, message);
        let parts = part_names(self.assembly);
        self.said.push(unknown_component(diagnostic, name, &parts, &parts));
    }
}
