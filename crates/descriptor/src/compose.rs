//! From a checked descriptor, its parameters and the catalog to one flat topology.
//!
//! Composition gives every element its full name, multiplies clusters and quantities into nodes, lays the values that
//! an assembly gives over those that its parts declare, resolves references to what exists, and binds every `${…}` to
//! the element it means. Sensitive literals leave the topology here: they become secrets.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value as Json;
use windlass_model::assembly::{
    Cluster, Element, ElementKind, Endpoint, Operation, Property, Relationship, Topology,
};
use windlass_model::{
    AssemblyName, ComponentName, DescriptorName, ElementName, Part, PropertyName, Template,
};
use windlass_secret::{SecretRef, Sensitive};
use windlass_source::{Diagnostic, Diagnostics, Source, Span};

use crate::catalog::Catalog;
use crate::check::{Bounds, Missing, check};
use crate::codes;
use crate::document::{
    AssemblyDescriptor, Component, Descriptor, EndpointDecl, ReferenceDecl, RelationshipDecl,
};
use crate::property::{Properties, PropertyDecl};
use crate::read::{Spanned, did_you_mean, origin};
use crate::resource::ResourceDescriptor;
use crate::scope::{Meaning, Scope, quoted};
use crate::template::{Segment, Value, ValueKind};

/// Something that exists and that references may resolve to.
#[derive(Debug, Clone, PartialEq)]
pub struct Existing {
    /// What it is.
    pub descriptor: DescriptorName,
    /// Its name.
    pub name: String,
    /// Its properties.
    pub properties: BTreeMap<String, Json>,
}

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The name that the assembly gets.
    pub name: &'a AssemblyName,
    /// Values for its properties. Text stands as it is: a `${…}` in it means nothing.
    pub parameters: &'a BTreeMap<String, Json>,
    /// Where descriptors come from.
    pub catalog: &'a dyn Catalog,
    /// What references may resolve to.
    pub existing: &'a [Existing],
}

/// An assembly, composed.
#[derive(Debug, Clone)]
#[must_use]
pub struct Composed {
    /// The topology; none when there are errors.
    pub topology: Option<Topology>,
    /// The sensitive literals that the topology refers to.
    pub secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// The descriptors of the resources it is made of.
    pub resources: BTreeSet<DescriptorName>,
    /// All problems: of reading, checking and composing.
    pub diagnostics: Diagnostics,
}

/// Composes an assembly.
pub fn compose(assembly: &Arc<AssemblyDescriptor>, request: Request<'_>) -> Composed {
    let mut composer = Composer {
        request,
        diagnostics: check(&Descriptor::Assembly(assembly.clone()), request.catalog, Missing::Refused),
        elements: Vec::new(),
        places: HashMap::new(),
        relationships: Vec::new(),
        secrets: BTreeMap::new(),
        resources: BTreeSet::new(),
        inside: Vec::new(),
    };
    composer.root(assembly);
    let mut diagnostics = composer.diagnostics;
    diagnostics.sort();
    let topology = (!diagnostics.has_errors())
        .then(|| Topology::new(request.name.clone(), composer.elements, composer.relationships));
    Composed { topology, secrets: composer.secrets, resources: composer.resources, diagnostics }
}

struct Composer<'a> {
    request: Request<'a>,
    diagnostics: Diagnostics,
    elements: Vec<Element>,
    places: HashMap<ElementName, usize>,
    relationships: Vec<Relationship>,
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
    resources: BTreeSet<DescriptorName>,
    /// The assemblies that are being composed, outermost first.
    inside: Vec<DescriptorName>,
}

/// Where an element goes in the tree.
struct Seat {
    name: ElementName,
    parent: Option<ElementName>,
    component: Option<ComponentName>,
    index: Option<u32>,
}

/// Whose names a value is bound to.
#[derive(Clone, Copy)]
struct Binder<'s> {
    scope: Scope<'s>,
    source: &'s Arc<Source>,
    /// Whose properties `${x}` reads, and whose parts `${c.x}` names.
    owner: &'s ElementName,
    /// Whom `${instance.…}` means.
    instance: &'s ElementName,
}

impl Composer<'_> {
    fn error(&mut self, source: &Arc<Source>, code: windlass_source::Code, span: Span, message: String) {
        self.diagnostics.push(Diagnostic::error(code, message).at(source.place(span)));
    }

    fn root(&mut self, assembly: &Arc<AssemblyDescriptor>) {
        let Some(name) = assembly.name.as_ref() else { return };
        let element = ElementName::from(self.request.name);
        self.parameters(assembly);
        let mut properties = self.own_properties(
            &assembly.properties,
            Binder {
                scope: Scope::assembly(assembly),
                source: &assembly.source,
                owner: &element,
                instance: &element,
            },
        );
        for (parameter, value) in self.request.parameters {
            if let Some(property) = properties.get_mut(parameter.as_str()) {
                property.value = Some(self.given(value, property.sensitive));
            }
        }
        let seat = Seat { name: element, parent: None, component: None, index: None };
        self.assembly(assembly, &name.value, seat, properties);
    }

    /// Checks the given parameters, and that none is missing.
    fn parameters(&mut self, assembly: &AssemblyDescriptor) {
        for name in self.request.parameters.keys() {
            match assembly.properties.get(name.as_str()) {
                None => {
                    let message = format!("the assembly has no property `{name}`");
                    let names: Vec<&str> = assembly.properties.keys().map(PropertyName::as_str).collect();
                    let settable = format!("it has {}", quoted(&names));
                    let diagnostic = Diagnostic::error(codes::UNKNOWN_PARAMETER, message).help(settable);
                    self.diagnostics.push(did_you_mean(diagnostic, name, names));
                }
                Some(decl) if decl.read_only || decl.value.is_some() => {
                    let why = if decl.read_only { "is read-only" } else { "has a fixed value" };
                    let message = format!("`{name}` {why} and can't be set");
                    let diagnostic = Diagnostic::error(codes::FIXED_PARAMETER, message)
                        .at(assembly.source.place(decl.name_span))
                        .label("declared here");
                    self.diagnostics.push(diagnostic);
                }
                Some(_) => {}
            }
        }
        for (name, decl) in &assembly.properties {
            let given = self.request.parameters.get(name.as_str()).is_some_and(|value| !value.is_null());
            if decl.required && !decl.read_only && decl.effective().is_none() && !given {
                let diagnostic = Diagnostic::error(
                    codes::MISSING_PARAMETER,
                    format!("`{name}` is required and has no value"),
                )
                .at(assembly.source.place(decl.name_span))
                .help(format!("give it with `-p {name}=…`"));
                self.diagnostics.push(diagnostic);
            }
        }
    }

    fn given(&mut self, value: &Json, sensitive: bool) -> Template {
        match value {
            Json::Null => Template::Null,
            Json::String(text) => self.text(vec![Part::Literal(text.clone())], sensitive),
            Json::Array(items) => {
                Template::List(items.iter().map(|item| self.given(item, sensitive)).collect())
            }
            Json::Object(entries) => Template::Map(
                entries.iter().map(|(key, entry)| (key.clone(), self.given(entry, sensitive))).collect(),
            ),
            other => self.text(vec![Part::Literal(other.to_string())], sensitive),
        }
    }

    /// Makes a text template; what is literal in a sensitive one becomes a secret.
    fn text(&mut self, parts: Vec<Part>, sensitive: bool) -> Template {
        if !sensitive {
            return Template::Text(parts);
        }
        let parts = parts.into_iter().map(|part| match part {
            Part::Literal(text) => self.secret(text),
            other => other,
        });
        Template::Text(parts.collect())
    }

    fn secret(&mut self, text: String) -> Part {
        let number = self.secrets.len() + 1;
        let id = format!("{}:given/{number}", self.request.name);
        match id.parse::<SecretRef>() {
            Ok(secret) => {
                self.secrets.insert(secret.clone(), Sensitive::new(text));
                Part::Secret(secret)
            }
            // An assembly's name has only characters that a secret's id may have.
            Err(_) => Part::Literal(text),
        }
    }

    fn own_properties(
        &mut self,
        declared: &Properties,
        binder: Binder<'_>,
    ) -> IndexMap<PropertyName, Property> {
        let properties = declared.iter().map(|(name, decl)| (name.clone(), self.property(decl, binder)));
        properties.collect()
    }

    fn property(&mut self, decl: &PropertyDecl, binder: Binder<'_>) -> Property {
        Property {
            value: decl.effective().map(|value| self.bind(value, binder, decl.sensitive)),
            read_only: decl.read_only,
            volatile: decl.volatile,
            sensitive: decl.sensitive,
            origin: Some(origin(binder.source, decl.effective().map_or(decl.name_span, |v| v.span))),
        }
    }

    fn bind(&mut self, value: &Value, binder: Binder<'_>, sensitive: bool) -> Template {
        match &value.kind {
            ValueKind::Null => Template::Null,
            ValueKind::Text(segments) => {
                let parts = segments.iter().map(|segment| self.bind_segment(segment, binder)).collect();
                self.text(parts, sensitive)
            }
            ValueKind::List(items) => {
                Template::List(items.iter().map(|item| self.bind(item, binder, sensitive)).collect())
            }
            ValueKind::Map(entries) => Template::Map(
                entries.iter().map(|(key, v)| (key.clone(), self.bind(v, binder, sensitive))).collect(),
            ),
        }
    }

    fn bind_segment(&mut self, segment: &Segment, binder: Binder<'_>) -> Part {
        let reference = match segment {
            Segment::Literal(text) => return Part::Literal(text.clone()),
            Segment::Reference(reference) => reference,
        };
        match binder.scope.meaning(reference) {
            Ok(Meaning::Own(property)) => Part::Property { element: binder.owner.clone(), property },
            Ok(Meaning::Part(component, property)) => {
                let element = self.part_element(binder, &component, reference.span);
                Part::Property { element, property }
            }
            Ok(Meaning::Instance(field)) => Part::Instance { element: binder.instance.clone(), field },
            Ok(Meaning::End(end, property)) => Part::End { end, property },
            // The check has reported it.
            Err(_) => Part::Literal(format!("${{{}}}", reference.text)),
        }
    }

    /// Names the element whose property is read: of a component with several nodes, the lowest.
    fn part_element(&mut self, binder: Binder<'_>, component: &ComponentName, span: Span) -> ElementName {
        let element = binder.owner.child(component);
        let Some(part) = binder.scope.assembly.and_then(|a| a.composition.get(component)) else {
            return element;
        };
        if !part.is_plural() {
            return element;
        }
        let single = part.cluster.as_ref().map_or(part.quantity.as_ref(), |cluster| cluster.maximum.as_ref());
        if single.and_then(Value::literal) != Some("1") {
            let message = format!(
                "`{component}` may have several nodes; the value of the lowest one, `{component}__1`, is taken"
            );
            let diagnostic = Diagnostic::warning(codes::MANY_NODES, message).at(binder.source.place(span));
            self.diagnostics.push(diagnostic);
        }
        element.node(1)
    }

    fn push(&mut self, element: Element) {
        self.places.insert(element.name.clone(), self.elements.len());
        self.elements.push(element);
    }

    fn assembly(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        descriptor: &DescriptorName,
        seat: Seat,
        properties: IndexMap<PropertyName, Property>,
    ) {
        let name = seat.name.clone();
        let at = self.elements.len();
        self.push(Element {
            name: seat.name,
            kind: ElementKind::Assembly,
            parent: seat.parent,
            component: seat.component,
            index: seat.index,
            descriptor: descriptor.clone(),
            properties,
            transitions: Vec::new(),
            operations: IndexMap::new(),
            cluster: None,
            origin: assembly.name.as_ref().map(|name| origin(&assembly.source, name.span)),
        });
        self.inside.push(descriptor.clone());
        for (reference, decl) in &assembly.references {
            self.reference(assembly, &name, reference, decl);
        }
        for (component, decl) in &assembly.composition {
            self.component(assembly, &name, component, decl);
        }
        self.inside.pop();
        self.promote(assembly, &name, at);
        for (relationship, decl) in &assembly.relationships {
            let bound = self.relationship(assembly, &name, relationship, decl);
            self.relationships.push(bound);
        }
    }

    /// Leads each promoted operation to the resource that has it.
    fn promote(&mut self, assembly: &AssemblyDescriptor, owner: &ElementName, at: usize) {
        for (name, promotion) in &assembly.operations {
            let Some(source) = &promotion.source else { continue };
            let (component, operation) = &source.value;
            let element = owner.child(component);
            let found = self.places.get(&element).and_then(|at| self.elements[*at].operations.get(operation));
            if let Some(found) = found.cloned() {
                self.elements[at].operations.insert(name.clone(), found);
            } else if assembly.composition.get(component).is_some_and(Component::is_plural) {
                let message =
                    format!("`{component}` has several nodes, so `{operation}` of it can't be one operation");
                self.error(&assembly.source, codes::BAD_OPERATION, source.span, message);
            }
        }
    }

    fn component(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        owner: &ElementName,
        name: &ComponentName,
        decl: &Component,
    ) {
        let Some(kind) = &decl.kind else { return };
        let Some(descriptor) = self.request.catalog.find(&kind.value) else { return };
        if self.inside.contains(&kind.value) {
            let way: Vec<String> =
                self.inside.iter().chain([&kind.value]).map(|name| format!("`{name}`")).collect();
            let message = format!("the assembly is inside itself: {}", way.join(" -> "));
            self.error(&assembly.source, codes::NESTED_IN_ITSELF, kind.span, message);
            return;
        }
        let element = owner.child(name);
        let parent = Some(owner.clone());
        if !decl.is_plural() {
            let seat = Seat { name: element, parent, component: Some(name.clone()), index: None };
            self.part(assembly, owner, decl, &descriptor, seat);
            return;
        }
        let Some((count, cluster)) = self.size(assembly, owner, decl) else { return };
        self.push(Element {
            name: element.clone(),
            kind: ElementKind::Group,
            parent,
            component: Some(name.clone()),
            index: None,
            descriptor: kind.value.clone(),
            properties: IndexMap::new(),
            transitions: Vec::new(),
            operations: IndexMap::new(),
            cluster,
            origin: Some(origin(&assembly.source, decl.name_span)),
        });
        for index in 1..=count {
            let seat = Seat {
                name: element.node(index),
                parent: Some(element.clone()),
                component: Some(name.clone()),
                index: Some(index),
            };
            self.part(assembly, owner, decl, &descriptor, seat);
        }
    }

    /// Returns the number of nodes, and the bounds of a cluster.
    fn size(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        owner: &ElementName,
        decl: &Component,
    ) -> Option<(u32, Option<Cluster>)> {
        let Some(cluster) = &decl.cluster else {
            let count = self.number(assembly, owner, decl.quantity.as_ref())?;
            return Some((count.unwrap_or(1), None));
        };
        let bounds = Bounds {
            minimum: Some(self.number(assembly, owner, cluster.minimum.as_ref())?.unwrap_or(1)),
            maximum: self.number(assembly, owner, cluster.maximum.as_ref())?,
            initial: self.number(assembly, owner, cluster.initial.as_ref())?,
            increment: self.number(assembly, owner, cluster.increment.as_ref())?,
        };
        if let Some(problem) = bounds.problem() {
            let place = cluster.initial.as_ref().map_or(cluster.span, |value| value.span);
            self.error(&assembly.source, codes::BAD_BOUNDS, place, problem);
            return None;
        }
        let minimum = bounds.minimum.unwrap_or(1);
        let cluster = Cluster { minimum, maximum: bounds.maximum, increment: bounds.increment.unwrap_or(1) };
        Some((bounds.initial.unwrap_or(minimum), Some(cluster)))
    }

    /// Evaluates a number that must be known now. The outer `None` is an error that has been reported.
    #[expect(clippy::option_option, reason = "failing and not being given are two things")]
    fn number(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        owner: &ElementName,
        value: Option<&Value>,
    ) -> Option<Option<u32>> {
        let Some(value) = value else { return Some(None) };
        let binder =
            Binder { scope: Scope::assembly(assembly), source: &assembly.source, owner, instance: owner };
        let template = self.bind(value, binder, false);
        let text = self.evaluate(&template);
        match text.as_deref().map(|text| text.trim().parse()) {
            Some(Ok(number)) => Some(Some(number)),
            Some(Err(_)) => {
                let message =
                    format!("a whole number from 0 is needed, and this is `{}`", text.unwrap_or_default());
                self.error(&assembly.source, codes::BAD_NUMBER, value.span, message);
                None
            }
            None => {
                let message = "this number is not known before the assembly is made".to_owned();
                self.error(&assembly.source, codes::BAD_NUMBER, value.span, message);
                None
            }
        }
    }

    /// Evaluates text that is known from the elements made so far.
    fn evaluate(&self, template: &Template) -> Option<String> {
        const DEEPEST: usize = 200;
        self.evaluate_within(template, DEEPEST)
    }

    fn evaluate_within(&self, template: &Template, depth: usize) -> Option<String> {
        let Template::Text(parts) = template else { return None };
        let depth = depth.checked_sub(1)?;
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Property { element, property } => {
                    let element = &self.elements[*self.places.get(element)?];
                    let value = element.properties.get(property)?.value.as_ref()?;
                    text.push_str(&self.evaluate_within(value, depth)?);
                }
                Part::Secret(secret) => text.push_str(self.secrets.get(secret)?.expose()),
                _ => return None,
            }
        }
        Some(text)
    }

    /// Makes one node of a component.
    fn part(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        owner: &ElementName,
        decl: &Component,
        descriptor: &Descriptor,
        seat: Seat,
    ) {
        let name = seat.name.clone();
        let own_scope = match descriptor {
            Descriptor::Assembly(nested) => Scope::assembly(nested),
            Descriptor::Resource(resource) => Scope::resource(&resource.properties),
        };
        let own = Binder { scope: own_scope, source: descriptor.source(), owner: &name, instance: &name };
        let mut properties = self.own_properties(descriptor.properties(), own);
        let outer =
            Binder { scope: Scope::assembly(assembly), source: &assembly.source, owner, instance: &name };
        for (property, given) in &decl.properties {
            self.overlay(&mut properties, descriptor, property, given, outer);
        }
        match descriptor {
            Descriptor::Assembly(nested) => {
                if let Some(kind) = descriptor.name() {
                    self.assembly(nested, kind, seat, properties);
                }
            }
            Descriptor::Resource(resource) => {
                let at = origin(&assembly.source, decl.name_span);
                self.resource(resource, seat, properties, Some(at));
            }
        }
    }

    /// Lays the value that an assembly gives over what the part declares.
    fn overlay(
        &mut self,
        properties: &mut IndexMap<PropertyName, Property>,
        descriptor: &Descriptor,
        name: &PropertyName,
        given: &PropertyDecl,
        binder: Binder<'_>,
    ) {
        let declared = descriptor.properties().get(name);
        let fixed = declared.is_some_and(|decl| decl.read_only || decl.value.is_some());
        if let (true, Some(value)) = (fixed, given.effective()) {
            let message = format!("`{name}` decides its value itself, so the one given here is ignored");
            let mut diagnostic =
                Diagnostic::warning(codes::OVERRIDES_READ_ONLY, message).at(binder.source.place(value.span));
            if let Some(decl) = declared {
                let place = descriptor.source().place(decl.name_span);
                diagnostic = diagnostic.related(place, "declared here");
            }
            self.diagnostics.push(diagnostic);
            return;
        }
        let sensitive = given.sensitive || declared.is_some_and(|decl| decl.sensitive);
        let entry = properties.entry(name.clone()).or_default();
        entry.read_only |= given.read_only;
        entry.volatile |= given.volatile;
        entry.sensitive = sensitive;
        if let Some(value) = given.effective() {
            entry.value = Some(self.bind(value, binder, sensitive));
            entry.origin = Some(origin(binder.source, value.span));
        } else if entry.origin.is_none() {
            entry.origin = Some(origin(binder.source, given.name_span));
        }
    }

    fn resource(
        &mut self,
        resource: &ResourceDescriptor,
        seat: Seat,
        properties: IndexMap<PropertyName, Property>,
        declared_at: Option<windlass_model::Origin>,
    ) {
        let Some(descriptor) = resource.name.as_ref().map(|name| name.value.clone()) else { return };
        self.resources.insert(descriptor.clone());
        let mut transitions: Vec<_> = resource.transitions.keys().copied().collect();
        transitions.sort();
        let operations = resource
            .operations
            .keys()
            .map(|name| (name.clone(), Operation { element: seat.name.clone(), operation: name.clone() }));
        let operations = operations.collect();
        self.push(Element {
            name: seat.name,
            kind: ElementKind::Resource,
            parent: seat.parent,
            component: seat.component,
            index: seat.index,
            descriptor,
            properties,
            transitions,
            operations,
            cluster: None,
            origin: declared_at,
        });
    }

    fn reference(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        owner: &ElementName,
        name: &ComponentName,
        decl: &ReferenceDecl,
    ) {
        let Some(kind) = &decl.kind else { return };
        let wanted = self.wanted(assembly, owner, decl);
        let candidates: Vec<&Existing> = self
            .request
            .existing
            .iter()
            .filter(|existing| kind.value.accepts(&existing.descriptor))
            .filter(|existing| wanted.iter().all(|(key, value)| fits(existing, key, value)))
            .collect();
        let [found] = candidates[..] else {
            self.not_one(assembly, name, decl, &candidates, &wanted);
            return;
        };
        let at = origin(&assembly.source, decl.name_span);
        let mut properties: IndexMap<PropertyName, Property> = IndexMap::new();
        let named = ("name".to_owned(), Json::from(found.name.clone()));
        for (key, value) in std::iter::once((&named.0, &named.1)).chain(&found.properties) {
            let Ok(key) = key.parse() else { continue };
            let value = Some(self.given(value, false));
            properties.insert(key, Property { value, origin: Some(at.clone()), ..Property::default() });
        }
        self.push(Element {
            name: owner.child(name),
            kind: ElementKind::Reference,
            parent: Some(owner.clone()),
            component: Some(name.clone()),
            index: None,
            descriptor: found.descriptor.clone(),
            properties,
            transitions: Vec::new(),
            operations: IndexMap::new(),
            cluster: None,
            origin: Some(at),
        });
    }

    /// Evaluates what a reference must look like.
    fn wanted(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        owner: &ElementName,
        decl: &ReferenceDecl,
    ) -> BTreeMap<String, String> {
        let binder =
            Binder { scope: Scope::assembly(assembly), source: &assembly.source, owner, instance: owner };
        let mut wanted = BTreeMap::new();
        for (key, property) in &decl.properties {
            let Some(value) = property.effective() else { continue };
            let template = self.bind(value, binder, false);
            match self.evaluate(&template) {
                Some(text) => {
                    wanted.insert(key.to_string(), text);
                }
                None if self.diagnostics.has_errors() => {}
                None => {
                    let message =
                        format!("`{key}` must be known before anything is made, and its value is not");
                    self.error(&assembly.source, codes::NO_INSTANCE, value.span, message);
                }
            }
        }
        wanted
    }

    fn not_one(
        &mut self,
        assembly: &AssemblyDescriptor,
        name: &ComponentName,
        decl: &ReferenceDecl,
        candidates: &[&Existing],
        wanted: &BTreeMap<String, String>,
    ) {
        // A value that could not be evaluated has been reported; finding nothing follows from it.
        if self.diagnostics.has_errors() && candidates.is_empty() && wanted.len() < decl.properties.len() {
            return;
        }
        let Some(kind) = &decl.kind else { return };
        let place = assembly.source.place(kind.span);
        let looked: Vec<String> = wanted.iter().map(|(key, value)| format!("{key} `{value}`")).collect();
        let with = if looked.is_empty() { String::new() } else { format!(" with {}", looked.join(", ")) };
        let diagnostic = if candidates.is_empty() {
            let of_type = self.request.existing.iter().filter(|e| kind.value.accepts(&e.descriptor));
            let names: Vec<String> = of_type.map(|e| e.name.clone()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let diagnostic = Diagnostic::error(
                codes::NO_INSTANCE,
                format!("the reference `{name}` fits nothing: there is no `{}`{with}", kind.value),
            );
            let diagnostic = if names.is_empty() {
                diagnostic.help("declare it under `existing:` in `windlass.yaml`")
            } else {
                diagnostic.help(format!("of that type there are {}", quoted(&names)))
            };
            let asked = wanted.get("name").map_or("", String::as_str);
            did_you_mean(diagnostic, asked, names)
        } else {
            let names: Vec<&str> = candidates.iter().map(|e| e.name.as_str()).collect();
            Diagnostic::error(
                codes::MANY_INSTANCES,
                format!("the reference `{name}` fits {} things{with}: {}", names.len(), quoted(&names)),
            )
            .help("give more of its properties, until one is left")
        };
        self.diagnostics.push(diagnostic.at(place));
    }

    fn relationship(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        owner: &ElementName,
        name: &windlass_model::name::RelationshipName,
        decl: &RelationshipDecl,
    ) -> Relationship {
        let binder =
            Binder { scope: Scope::relationship(assembly), source: &assembly.source, owner, instance: owner };
        let endpoint = |end: &Spanned<EndpointDecl>| Endpoint {
            element: owner.child(&end.value.component),
            capability: end.value.capability.clone(),
        };
        Relationship {
            name: name.clone(),
            assembly: owner.clone(),
            sources: decl.sources.iter().map(endpoint).collect(),
            targets: decl.targets.iter().map(endpoint).collect(),
            source_state: decl.source_state,
            source_modifier: decl.source_modifier,
            target_state: decl.target_state,
            target_modifier: decl.target_modifier,
            properties: self.own_properties(&decl.properties, binder),
            create: decl.create.iter().map(|call| call.value.clone()).collect(),
            cease: decl.cease.iter().map(|call| call.value.clone()).collect(),
            origin: Some(origin(&assembly.source, decl.name_span)),
        }
    }
}

/// Tells whether something that exists fits one property of a reference; what it doesn't say, fits.
fn fits(existing: &Existing, key: &str, value: &str) -> bool {
    let has = match key {
        "name" => Some(Json::from(existing.name.as_str())),
        _ => existing.properties.get(key).cloned(),
    };
    has.is_none_or(|has| windlass_model::resolve::text_of(&has) == value)
}
