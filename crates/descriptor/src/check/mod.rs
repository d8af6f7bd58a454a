//! Checks that need several places of a descriptor, or other descriptors.
//!
//! A check visits everything once, in the order of the text. Anything that depends on a missing descriptor is
//! skipped. Problems beyond the display limit are counted without a message, since the search for a
//! suggestion is the most expensive part.

mod capabilities;
mod nodes;
mod policies;
mod relationships;
mod resource;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use windlass_model::{ComponentName, DescriptorName, OperationName, PropertyName};
use windlass_source::{Code, Diagnostic, Diagnostics, Severity, Source, Span, suggest};

use crate::catalog::Catalog;
use crate::codes;
use crate::cycle;
use crate::document::{AssemblyDescriptor, Component, Descriptor, ReferenceDecl, ReferenceType};
use crate::property::{Properties, PropertyDecl};
use crate::read::{Spanned, did_you_mean};
use crate::scope::{Has, Scope, has, part_has, part_names, quoted, unknown_component};
pub(crate) use nodes::Bounds;
use nodes::Late;
pub(crate) use policies::Thresholds;
pub(crate) use values::many_nodes;

/// The severity of a component's missing descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Checks that need the descriptor are skipped.
    Tolerated,
    /// It is an error, since the assembly can't be deployed without it.
    Refused,
}

/// Checks a descriptor that was read without errors, for problems that reading alone can't detect.
pub fn check(descriptor: &Descriptor, catalog: &dyn Catalog, missing: Missing) -> Diagnostics {
    let mut said = Said::new(descriptor.source());
    match descriptor {
        Descriptor::Assembly(assembly) => {
            let declared = assembly.references.iter();
            let referenced = declared
                .filter_map(|(name, decl)| Some((name, newest(decl.kind.as_ref()?, catalog)?)))
                .collect();
            let (names, late, searches) = (None, None, 0);
            Check { assembly, catalog, missing, referenced, names, late, searches, said: &mut said }
                .assembly();
        }
        Descriptor::Resource(resource) => resource::check(resource, &mut said),
    }
    said.finish()
}

/// Returns the newest descriptor that a reference accepts.
pub(crate) fn newest(kind: &Spanned<ReferenceType>, catalog: &dyn Catalog) -> Option<Descriptor> {
    let kind = &kind.value;
    if kind.versions.exact().is_some() {
        return catalog.find(&kind.exact()?);
    }
    let accepted = catalog.names().into_iter().filter(|name| kind.accepts(name));
    accepted.max_by(|a, b| a.version.cmp(&b.version)).and_then(|name| catalog.find(&name))
}

/// Returns the descriptor that was probably meant: the nearest by name, then by kind and version.
fn nearest<'n>(wanted: &DescriptorName, names: &'n [DescriptorName]) -> Option<&'n DescriptorName> {
    let same = names.iter().any(|name| name.name == wanted.name);
    let near = if same {
        wanted.name.as_str()
    } else {
        suggest(wanted.name.as_str(), names.iter().map(|name| name.name.as_str()))?
    };
    let candidates = names.iter().filter(|name| name.name.as_str() == near);
    candidates.max_by_key(|name| (name.kind == wanted.kind, name.version == wanted.version, &name.version))
}

/// Maximum number of a component's properties that are compared with an unknown name.
const NAMED: usize = 10_000;

/// The diagnostics of a text.
pub(crate) struct Said<'a> {
    source: &'a Arc<Source>,
    diagnostics: Diagnostics,
}

impl<'a> Said<'a> {
    fn new(source: &'a Arc<Source>) -> Self {
        Self { source, diagnostics: Diagnostics::new() }
    }

    /// Counts a problem beyond the limit. Called before a costly message is created.
    fn leaves_out(&mut self, severity: Severity) -> bool {
        self.diagnostics.leaves_out(severity)
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Creates a diagnostic at a place of the text, without adding it.
    fn at(&self, severity: Severity, code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(severity, code, message).at(self.source.place(span))
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(self.at(Severity::Error, code, span, message));
    }

    fn finish(mut self) -> Diagnostics {
        self.diagnostics.sort();
        self.diagnostics
    }
}

struct Check<'a, 's> {
    assembly: &'a Arc<AssemblyDescriptor>,
    catalog: &'a dyn Catalog,
    missing: Missing,
    /// Available descriptors of the references.
    referenced: HashMap<&'a ComponentName, Descriptor>,
    /// Names of all descriptors, loaded on first use.
    names: Option<Vec<DescriptorName>>,
    /// Properties that read a component, computed on first use.
    late: Option<Late<'a>>,
    /// Number of searches for a suggestion for names that may be correct.
    searches: usize,
    said: &'s mut Said<'a>,
}

impl<'a> Check<'a, '_> {
    fn assembly(&mut self) {
        self.own_properties();
        for (name, component) in &self.assembly.composition {
            self.component(name, component);
        }
        for (name, reference) in &self.assembly.references {
            self.reference_decl(name, reference);
        }
        for relationship in self.assembly.relationships.values() {
            self.relationship(relationship);
        }
        self.promotions();
        self.metrics();
        self.policies();
        values::data_types(&self.assembly.data_types, self.said);
        self.said.diagnostics.extend(cycle::problems(self.assembly, self.catalog));
    }

    fn source(&self) -> &'a Arc<Source> {
        &self.assembly.source
    }

    fn own_properties(&mut self) {
        for (name, decl) in &self.assembly.properties {
            if decl.required && decl.read_only && decl.effective().is_none() {
                let message = format!(
                    "`{name}` is required and read-only, so it can never be given the value it lacks"
                );
                let diagnostic =
                    self.said.at(Severity::Error, codes::NEVER_SATISFIED, decl.name_span, message);
                self.said.push(
                    diagnostic.help("remove `required`, or promote an output to it, as `value: ${web.url}`"),
                );
            }
        }
        self.properties(&self.assembly.properties, Scope::assembly(self.assembly));
        values::types(&self.assembly.properties, &self.assembly.data_types, self.said);
    }

    fn properties(&mut self, properties: &'a Properties, scope: Scope<'_>) {
        for decl in properties.values() {
            self.declaration(decl, scope);
        }
    }

    fn declaration(&mut self, decl: &'a PropertyDecl, scope: Scope<'_>) {
        for value in decl.values() {
            self.value(value, scope);
        }
    }

    fn component(&mut self, name: &ComponentName, component: &'a Component) {
        let descriptor = component.kind.as_ref().and_then(|kind| self.catalog.find(&kind.value));
        match (&component.kind, &descriptor) {
            (Some(kind), None) => self.missing_descriptor(name, kind),
            (Some(_), Some(descriptor)) => self.given_values(component, descriptor),
            (None, _) => {}
        }
        self.placeholder(component.placeholder.as_deref());
        self.nodes(component);
        self.properties(&component.properties, Scope::assembly(self.assembly));
        values::types(&component.properties, &self.assembly.data_types, self.said);
    }

    fn reference_decl(&mut self, name: &ComponentName, reference: &'a ReferenceDecl) {
        if let Some(component) = self.assembly.composition.get(name) {
            let message = format!("`{name}` is a component already");
            let diagnostic = self.said.at(Severity::Error, codes::SAME_NAME, reference.name_span, message);
            let place = self.source().place(component.name_span);
            self.said.push(diagnostic.related(place, "the component").help("give one of them another name"));
        }
        self.placement(name, reference);
        self.placeholder(reference.placeholder.as_deref());
        self.properties(&reference.properties, Scope::assembly(self.assembly));
        values::types(&reference.properties, &self.assembly.data_types, self.said);
    }

    /// Reports an unresolved placeholder. A build may replace it, but the assembly can't be deployed before.
    fn placeholder(&mut self, placeholder: Option<&Spanned<String>>) {
        let Some(placeholder) = placeholder else { return };
        let severity = match self.missing {
            Missing::Tolerated => Severity::Warning,
            Missing::Refused => Severity::Error,
        };
        let message =
            format!("`{}` is a placeholder of `lmctl`, and no name of a descriptor", placeholder.value);
        let diagnostic = self.said.at(severity, codes::PLACEHOLDER, placeholder.span, message);
        let help = "it has a meaning where a `lmproject.yml` above the file lists what it contains; else name the descriptor, as `resource::web::1.0`";
        self.said.push(diagnostic.help(help));
    }

    /// Adds a note if a reference to a resource lacks its resource manager or its location.
    fn placement(&mut self, name: &ComponentName, reference: &ReferenceDecl) {
        const PLACE: [&str; 2] = ["deploymentLocation", "resourceManager"];
        let Some(kind) = reference.kind.as_ref().filter(|kind| !kind.value.is_assembly()) else { return };
        let lacks: Vec<&str> =
            PLACE.into_iter().filter(|property| !reference.properties.contains_key(*property)).collect();
        if !lacks.is_empty() {
            let message =
                format!("the reference `{name}` doesn't say where to look: it has no {}", quoted(&lacks));
            let diagnostic = self.said.at(Severity::Note, codes::UNPLACED, kind.span, message);
            self.said.push(diagnostic.help("what exists at any place fits"));
        }
    }

    fn missing_descriptor(&mut self, name: &ComponentName, kind: &Spanned<DescriptorName>) {
        let severity = match self.missing {
            Missing::Refused => Severity::Error,
            Missing::Tolerated => Severity::Warning,
        };
        if self.said.leaves_out(severity) {
            return;
        }
        let (severity, message) = match self.missing {
            Missing::Refused => (
                Severity::Error,
                format!("the descriptor of `{name}`, `{}`, is not in the catalog", kind.value),
            ),
            Missing::Tolerated => (
                Severity::Warning,
                format!(
                    "the descriptor of `{name}`, `{}`, is not in the catalog; what depends on it is not checked",
                    kind.value
                ),
            ),
        };
        let catalog = self.catalog;
        let names = self.names.get_or_insert_with(|| catalog.names());
        let help = match nearest(&kind.value, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "put its package into `Contains/` beside the assembly, or name its folder with `--catalog`"
                    .to_owned()
            }
        };
        let diagnostic = self.said.at(severity, codes::MISSING_DESCRIPTOR, kind.span, message);
        self.said.push(diagnostic.help(help));
    }

    /// Returns the descriptor of a component or reference, if it is available.
    fn descriptor_of(&self, name: &ComponentName) -> Option<Descriptor> {
        match self.assembly.composition.get(name) {
            Some(part) => part.kind.as_ref().and_then(|kind| self.catalog.find(&kind.value)),
            None => self.referenced.get(name).cloned(),
        }
    }

    /// Tells whether a component or reference has a property.
    fn has(&self, name: &ComponentName, property: &PropertyName) -> Has {
        if let Some(part) = self.assembly.composition.get(name) {
            return part_has(part, self.catalog, property);
        }
        match self.referenced.get(name) {
            // Every existing instance has a name, and its search returned an id.
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

    /// Returns the property names of a component or reference, up to the number that is compared.
    fn declared_of(&self, name: &ComponentName) -> Vec<String> {
        let part = self.assembly.composition.get(name).map(|part| &part.properties);
        let beside = part.or(self.assembly.references.get(name).map(|decl| &decl.properties));
        let beside = beside.into_iter().flat_map(Properties::keys).map(ToString::to_string);
        let descriptor = self.descriptor_of(name);
        let own = descriptor.iter().flat_map(|found| found.properties().keys()).map(ToString::to_string);
        own.chain(beside).take(NAMED).collect()
    }

    /// Checks that a component's descriptor, if it is available, declares an operation.
    fn operation(&mut self, component: &ComponentName, operation: &OperationName, span: Span) {
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
            diagnostic.help(format!("it declares {}", quoted(&names)))
        };
        self.said.push(did_you_mean(diagnostic, operation.as_str(), names));
    }

    fn promotions(&mut self) {
        for promotion in self.assembly.operations.values() {
            let Some(source) = &promotion.source else { continue };
            let (component, operation) = &source.value;
            if self.assembly.composition.contains_key(component) {
                self.operation(component, operation, source.span);
            } else {
                let message = format!("there is no component `{component}` to take `{operation}` from");
                self.no_component(component.as_str(), source.span, message);
            }
        }
    }

    /// Reports a name that is no component of the composition.
    fn no_component(&mut self, name: &str, span: Span, message: String) {
        if self.said.leaves_out(Severity::Error) {
            return;
        }
        let parts: Vec<&str> = self.assembly.composition.keys().map(ComponentName::as_str).collect();
        let diagnostic = self.said.at(Severity::Error, codes::UNKNOWN_COMPONENT, span, message);
        self.said.push(unknown_component(diagnostic, name, &parts, &parts));
    }

    /// Reports a name that is neither a component nor a reference.
    fn no_part(&mut self, name: &str, span: Span, message: String) {
        if self.said.leaves_out(Severity::Error) {
            return;
        }
        let diagnostic = self.said.at(Severity::Error, codes::UNKNOWN_COMPONENT, span, message);
        let parts = part_names(self.assembly);
        self.said.push(unknown_component(diagnostic, name, &parts, &parts));
    }
}
