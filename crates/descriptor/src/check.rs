//! Checks that need more than one place of a descriptor, or other descriptors.

use std::sync::Arc;

use windlass_model::{ComponentName, OperationName, PropertyName};
use windlass_source::{Diagnostic, Diagnostics, Severity, Source, Span};

use crate::catalog::Catalog;
use crate::codes;
use crate::cycle;
use crate::document::{
    AssemblyDescriptor, ClusterDecl, Component, Descriptor, EndpointDecl, RelationshipDecl,
};
use crate::property::{Properties, PropertyDecl};
use crate::read::{Spanned, did_you_mean};
use crate::resource::ResourceDescriptor;
use crate::scope::{Has, Meaning, Scope, part_has, part_names, quoted, unknown_component};
use crate::template::{Reference, Value, ValueKind};
use windlass_model::assembly::OperationCall;
use windlass_model::template::{End, InstanceField};

/// How serious it is that a component's descriptor is not in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// What depends on it is left unchecked.
    Tolerated,
    /// The assembly can't come up.
    Refused,
}

/// Checks a descriptor that has been read: everything that reading alone can't see.
pub fn check(descriptor: &Descriptor, catalog: &dyn Catalog, missing: Missing) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    match descriptor {
        Descriptor::Assembly(assembly) => {
            let mut check = Check { assembly, catalog, missing, diagnostics: &mut diagnostics };
            check.assembly();
        }
        Descriptor::Resource(resource) => check_resource(resource, &mut diagnostics),
    }
    diagnostics.sort();
    diagnostics
}

fn check_resource(resource: &Arc<ResourceDescriptor>, diagnostics: &mut Diagnostics) {
    let scope = Scope::resource(&resource.properties);
    for (_, decl) in &resource.properties {
        for value in [&decl.value, &decl.default].into_iter().flatten() {
            value.for_each_reference(&mut |reference| {
                if let Err(diagnostic) = scope.meaning(reference) {
                    diagnostics.push(diagnostic.at(resource.source.place(reference.span)));
                }
            });
        }
    }
    diagnostics.extend(cycle::problem(&resource.source, &cycle::resource_graph(resource)));
}

struct Check<'a> {
    assembly: &'a Arc<AssemblyDescriptor>,
    catalog: &'a dyn Catalog,
    missing: Missing,
    diagnostics: &'a mut Diagnostics,
}

impl<'a> Check<'a> {
    fn assembly(&mut self) {
        self.own_properties();
        for (name, component) in &self.assembly.composition {
            self.component(name, component);
        }
        for (name, reference) in &self.assembly.references {
            if let Some(component) = self.assembly.composition.get(name) {
                let diagnostic =
                    Diagnostic::error(codes::SAME_NAME, format!("`{name}` is a component already"))
                        .at(self.source().place(reference.name_span))
                        .related(self.source().place(component.name_span), "the component");
                self.diagnostics.push(diagnostic);
            }
            self.properties(&reference.properties, Scope::assembly(self.assembly));
        }
        for (name, relationship) in &self.assembly.relationships {
            self.relationship(name.as_str(), relationship);
        }
        self.promotions();
        self.policies();
        let graph = cycle::assembly_graph(self.assembly);
        self.diagnostics.extend(cycle::problem(self.source(), &graph));
    }

    fn source(&self) -> &'a Arc<Source> {
        &self.assembly.source
    }

    fn error(&mut self, code: windlass_source::Code, span: Span, message: impl Into<String>) {
        let place = self.source().place(span);
        self.diagnostics.push(Diagnostic::error(code, message).at(place));
    }

    fn own_properties(&mut self) {
        for (name, decl) in &self.assembly.properties {
            if decl.required && decl.read_only && decl.effective().is_none() {
                let message = format!(
                    "`{name}` is required and read-only, so it can never be given the value it lacks"
                );
                self.error(codes::NEVER_SATISFIED, decl.name_span, message);
            }
        }
        self.properties(&self.assembly.properties, Scope::assembly(self.assembly));
    }

    fn properties(&mut self, properties: &'a Properties, scope: Scope<'_>) {
        for decl in properties.values() {
            self.declaration(decl, scope);
        }
    }

    fn declaration(&mut self, decl: &'a PropertyDecl, scope: Scope<'_>) {
        for value in [&decl.value, &decl.default].into_iter().flatten() {
            self.value(value, scope);
        }
    }

    fn value(&mut self, value: &'a Value, scope: Scope<'_>) {
        value.for_each_reference(&mut |reference| self.reference(reference, scope));
    }

    fn reference(&mut self, reference: &Reference, scope: Scope<'_>) {
        let place = self.source().place(reference.span);
        match scope.meaning(reference) {
            Err(diagnostic) => self.diagnostics.push(diagnostic.at(place)),
            Ok(Meaning::Part(component, property)) => {
                let has = part_has(self.assembly, self.catalog, &component, &property);
                if let Has::No(declared) = has {
                    let diagnostic = self.no_property(&component, &property, &declared).at(place);
                    self.diagnostics.push(diagnostic);
                }
            }
            Ok(_) => {}
        }
    }

    fn no_property(
        &self,
        component: &ComponentName,
        property: &PropertyName,
        declared: &[String],
    ) -> Diagnostic {
        let message = format!("`{component}` has no property `{property}`");
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_PROPERTY, message);
        if let Some(part) = self.assembly.composition.get(component) {
            diagnostic = diagnostic.related(self.source().place(part.name_span), "declared here");
        }
        let names: Vec<&str> = declared.iter().map(String::as_str).collect();
        if !names.is_empty() {
            diagnostic = diagnostic.help(format!("it has {}", quoted(&names)));
        }
        did_you_mean(diagnostic, property.as_str(), names)
    }

    fn component(&mut self, name: &ComponentName, component: &'a Component) {
        if let Some(kind) = &component.kind
            && self.catalog.find(&kind.value).is_none()
        {
            self.missing_descriptor(name, kind);
        }
        if let Some(quantity) = &component.quantity {
            self.quantity(quantity, "`quantity`");
        }
        if let Some(cluster) = &component.cluster {
            self.cluster(cluster);
        }
        self.properties(&component.properties, Scope::assembly(self.assembly));
    }

    fn missing_descriptor(&mut self, name: &ComponentName, kind: &Spanned<windlass_model::DescriptorName>) {
        let names = self.catalog.names();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
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
        let diagnostic = Diagnostic::new(severity, codes::MISSING_DESCRIPTOR, message)
            .at(self.source().place(kind.span))
            .help(
                "put its package into `Contains/` beside the assembly, or name its folder with `--catalog`",
            );
        let text = kind.value.to_string();
        self.diagnostics.push(did_you_mean(diagnostic, &text, names.iter().map(String::as_str)));
    }

    /// Checks a number that must be known before anything starts.
    fn quantity(&mut self, value: &'a Value, what: &str) {
        if let Some(text) = value.literal() {
            if text.trim().parse::<u32>().is_err() {
                let message = format!("{what} is a whole number from 0, and `{text}` is none");
                self.error(codes::BAD_NUMBER, value.span, message);
            }
            return;
        }
        if !matches!(value.kind, ValueKind::Text(_)) {
            let message = format!("{what} is a whole number from 0, and this is a list or a mapping");
            self.error(codes::BAD_NUMBER, value.span, message);
            return;
        }
        let scope = Scope::assembly(self.assembly);
        value.for_each_reference(&mut |reference| match scope.meaning(reference) {
            Ok(Meaning::Part(..)) => {
                let message =
                    format!("{what} can't depend on a component: it must be known before any is made");
                self.error(codes::BAD_NUMBER, reference.span, message);
            }
            _ => self.reference(reference, scope),
        });
    }

    fn cluster(&mut self, cluster: &'a ClusterDecl) {
        let fields = [
            (&cluster.initial, "`initial-quantity`"),
            (&cluster.minimum, "`minimum-nodes`"),
            (&cluster.maximum, "`maximum-nodes`"),
            (&cluster.increment, "`scaling-increment`"),
        ];
        for (value, what) in fields {
            if let Some(value) = value {
                self.quantity(value, what);
            }
        }
        if let Some(problem) = Bounds::literal(cluster).problem() {
            self.error(codes::BAD_BOUNDS, cluster.span, problem);
        }
    }

    fn relationship(&mut self, name: &str, relationship: &'a RelationshipDecl) {
        for source in &relationship.sources {
            self.endpoint(source, End::Source);
        }
        for target in &relationship.targets {
            self.endpoint(target, End::Target);
        }
        self.properties(&relationship.properties, Scope::relationship(self.assembly));
        for decl in relationship.properties.values() {
            self.properties_of_ends(relationship, decl);
        }
        for call in relationship.create.iter().chain(&relationship.cease) {
            self.operation_call(name, relationship, call);
        }
    }

    fn endpoint(&mut self, endpoint: &Spanned<EndpointDecl>, end: End) {
        let EndpointDecl { component, capability } = &endpoint.value;
        let is_component = self.assembly.composition.contains_key(component);
        let is_reference = self.assembly.references.contains_key(component);
        if !is_component && !is_reference {
            let written = capability.as_ref().map_or(component.to_string(), |c| format!("{component}.{c}"));
            let message = format!("`{written}` is at the {end} end, and there is no component `{component}`");
            let diagnostic = unknown_component(&message, component.as_str(), part_names(self.assembly))
                .at(self.source().place(endpoint.span));
            self.diagnostics.push(diagnostic);
        } else if is_reference && end == End::Target {
            let message = format!("`{component}` is a reference, and a reference can be a source only");
            self.error(codes::BAD_ENDPOINT, endpoint.span, message);
        } else if is_component && capability.is_none() {
            let message = format!(
                "`{component}` is a component, so its {} should be named: `{component}.<name>`",
                if end == End::Source { "capability" } else { "requirement" }
            );
            let place = self.source().place(endpoint.span);
            self.diagnostics.push(Diagnostic::warning(codes::BAD_ENDPOINT, message).at(place));
        }
    }

    /// Checks that what `${source.…}` and `${target.…}` name is declared at that end.
    fn properties_of_ends(&mut self, relationship: &'a RelationshipDecl, decl: &'a PropertyDecl) {
        let scope = Scope::relationship(self.assembly);
        let Some(value) = decl.effective() else { return };
        value.for_each_reference(&mut |reference| {
            let Ok(Meaning::End(end, property)) = scope.meaning(reference) else { return };
            if InstanceField::from_word(property.as_str()).is_some() {
                return;
            }
            let ends = if end == End::Source { &relationship.sources } else { &relationship.targets };
            for endpoint in ends {
                let component = &endpoint.value.component;
                if let Has::No(declared) = part_has(self.assembly, self.catalog, component, &property) {
                    let place = self.source().place(reference.span);
                    let diagnostic = self.no_property(component, &property, &declared).at(place);
                    self.diagnostics.push(diagnostic);
                }
            }
        });
    }

    fn operation_call(
        &mut self,
        name: &str,
        relationship: &'a RelationshipDecl,
        call: &Spanned<OperationCall>,
    ) {
        let ends = match call.value.end {
            End::Source => &relationship.sources,
            End::Target => &relationship.targets,
        };
        for endpoint in ends {
            let component = &endpoint.value.component;
            if self.assembly.references.contains_key(component) {
                let message = format!(
                    "`{component}` is a reference, and the relationship `{name}` can't call `{}` on it",
                    call.value.operation
                );
                let diagnostic = Diagnostic::error(codes::BAD_OPERATION, message)
                    .at(self.source().place(call.span))
                    .help("call an operation of the target instead");
                self.diagnostics.push(diagnostic);
            } else {
                self.operation(component, &call.value.operation, call.span);
            }
        }
    }

    /// Checks that a component's descriptor, if it is at hand, declares an operation.
    fn operation(&mut self, component: &ComponentName, operation: &OperationName, span: Span) {
        let Some(part) = self.assembly.composition.get(component) else { return };
        let Some(descriptor) = part.kind.as_ref().and_then(|kind| self.catalog.find(&kind.value)) else {
            return;
        };
        if descriptor.has_operation(operation) {
            return;
        }
        let names = descriptor.operation_names();
        let mut diagnostic = Diagnostic::error(
            codes::BAD_OPERATION,
            format!("the descriptor of `{component}` declares no operation `{operation}`"),
        )
        .at(self.source().place(span))
        .related(self.source().place(part.name_span), "the component");
        if !names.is_empty() {
            diagnostic = diagnostic.help(format!("it declares {}", quoted(&names)));
        }
        self.diagnostics.push(did_you_mean(diagnostic, operation.as_str(), names));
    }

    fn promotions(&mut self) {
        for promotion in self.assembly.operations.values() {
            let Some(source) = &promotion.source else { continue };
            let (component, operation) = &source.value;
            if self.assembly.composition.contains_key(component) {
                self.operation(component, operation, source.span);
            } else {
                let message = format!("there is no component `{component}` to take `{operation}` from");
                let parts = self.assembly.composition.keys().map(ComponentName::as_str).collect();
                let diagnostic = unknown_component(&message, component.as_str(), parts)
                    .at(self.source().place(source.span));
                self.diagnostics.push(diagnostic);
            }
        }
    }

    fn policies(&mut self) {
        for (name, policy) in &self.assembly.policies {
            for value in policy.properties.values() {
                self.value(value, Scope::assembly(self.assembly));
            }
            if let Some(target) = &policy.target {
                self.policy_target(name, target, policy.name_span);
            }
            if let Some(metric) = &policy.metric {
                let component = metric.value.split('.').next().unwrap_or_default();
                if !self.assembly.composition.contains_key(component) && metric.value.contains('.') {
                    let message = format!("the metric `{}` is of no component", metric.value);
                    let parts = self.assembly.composition.keys().map(ComponentName::as_str).collect();
                    let diagnostic =
                        unknown_component(&message, component, parts).at(self.source().place(metric.span));
                    self.diagnostics.push(diagnostic);
                }
            }
        }
    }

    fn policy_target(&mut self, name: &str, target: &Spanned<String>, policy: Span) {
        match self.assembly.composition.get(target.value.as_str()) {
            Some(component) if component.cluster.is_none() => {
                let diagnostic = Diagnostic::error(
                    codes::BAD_POLICY,
                    format!("the policy `{name}` scales `{}`, which has no `cluster`", target.value),
                )
                .at(self.source().place(target.span))
                .related(self.source().place(component.name_span), "the component");
                self.diagnostics.push(diagnostic);
            }
            Some(_) => {}
            None => {
                let message = format!("the policy `{name}` scales `{}`, which is no component", target.value);
                let parts = self.assembly.composition.keys().map(ComponentName::as_str).collect();
                let diagnostic = unknown_component(&message, &target.value, parts)
                    .at(self.source().place(target.span))
                    .related(self.source().place(policy), "the policy");
                self.diagnostics.push(diagnostic);
            }
        }
    }
}

/// The bounds of a cluster, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) initial: Option<u32>,
    pub(crate) minimum: Option<u32>,
    pub(crate) maximum: Option<u32>,
    pub(crate) increment: Option<u32>,
}

impl Bounds {
    fn literal(cluster: &ClusterDecl) -> Self {
        let read = |value: &Option<Value>| value.as_ref()?.literal()?.trim().parse().ok();
        Self {
            initial: read(&cluster.initial),
            minimum: read(&cluster.minimum).or(cluster.minimum.is_none().then_some(1)),
            maximum: read(&cluster.maximum),
            increment: read(&cluster.increment),
        }
    }

    /// Says what is wrong with the bounds, as far as they are known.
    pub(crate) fn problem(self) -> Option<String> {
        let above = |low: Option<u32>, high: Option<u32>| Some((low?, high?)).filter(|(l, h)| l > h);
        if let Some((minimum, maximum)) = above(self.minimum, self.maximum) {
            return Some(format!("minimum-nodes is {minimum}, more than maximum-nodes, {maximum}"));
        }
        if let Some((minimum, initial)) = above(self.minimum, self.initial) {
            return Some(format!("initial-quantity is {initial}, less than minimum-nodes, {minimum}"));
        }
        if let Some((initial, maximum)) = above(self.initial, self.maximum) {
            return Some(format!("initial-quantity is {initial}, more than maximum-nodes, {maximum}"));
        }
        (self.increment == Some(0)).then(|| "scaling-increment is 0, and must be at least 1".to_owned())
    }
}
