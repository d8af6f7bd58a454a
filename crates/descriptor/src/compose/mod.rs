//! Composes an assembly descriptor, its parameters and the descriptors of its components into one flat
//! topology.
//!
//! - Each element gets its full name. A component with `cluster` or `quantity` becomes a group with its
//!   nodes.
//! - A value that an assembly gives to a component replaces the value that the component's descriptor
//!   declares.
//! - References resolve to existing instances. Each `${…}` gets the full name of the element whose property
//!   it reads.
//! - Literals of sensitive properties are moved out of the topology: they become secrets.

mod bind;
mod collections;
mod composer;
mod each;
mod elements;
mod entry;
mod frame;
mod index;
mod known;
mod parameters;
mod policy;
mod reference;
mod request;
mod room;
mod size;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::assembly::{Element, ElementKind, Endpoint, Property, Relationship, Topology};
use windlass_model::name::RelationshipName;
use windlass_model::{ComponentName, DescriptorName, ElementName, Origin, PropertyName};
use windlass_secret::{SecretRef, Sensitive};
use windlass_source::{Diagnostic, Diagnostics};

use crate::check::{Missing, check, many_nodes};
use crate::codes;
use crate::document::{AssemblyDescriptor, Component, Descriptor, EndpointDecl, RelationshipDecl};
use crate::property::PropertyDecl;
use crate::reader::{Spanned, origin};
use crate::resource::ResourceDescriptor;
use crate::scope::Scope;
use bind::Values;
use composer::Composer;
use entry::{Nodes, lowest};
use frame::{Binder, Frame, Seat, own_operations};
pub(crate) use parameters::refused;
pub use request::{
    Existing, GivenPlaces, MAX_ELEMENTS, MAX_NODES, Offered, ReferenceRequest, Request, Search,
};
use room::Excess;
use whole::Whole;

/// Approximate size in bytes of a property without its value; see [`weight_of`].
const PROPERTY_WEIGHT: usize = 256;

/// Maximum number of assemblies that are nested in each other.
pub const MAX_NESTING: usize = 64;

/// The result of a composition.
#[derive(Debug, Clone)]
#[must_use]
pub struct Composed {
    /// The topology; `None` if `diagnostics` contains an error.
    pub topology: Option<Topology>,
    /// The texts of the secrets. The topology contains only the keys of this map, in place of the texts.
    pub secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// Names of the resource descriptors whose packages the topology needs. The set contains the descriptors of all
    /// resources. A referenced instance may offer operations whose scripts are in the package of its own descriptor.
    /// Then the set also contains this descriptor.
    pub resources: BTreeSet<DescriptorName>,
    /// The references of the assembly and of its nested assemblies, in the order of declaration. Each entry
    /// contains the instance to which the reference resolves, or `None` if there is no such instance.
    pub references: Vec<ReferenceRequest>,
    /// All problems that were found when the descriptors were checked, and when the assembly was composed.
    pub diagnostics: Diagnostics,
}

/// Composes an assembly.
pub fn compose(assembly: &Arc<AssemblyDescriptor>, request: Request<'_>) -> Composed {
    compose_given(assembly, request, &GivenPlaces::default())
}

/// Composes an assembly, as [`compose`] does. `places` contains the places of those parameters that come from a
/// file. Messages about such a parameter show its place in the file.
pub fn compose_given(
    assembly: &Arc<AssemblyDescriptor>,
    request: Request<'_>,
    places: &GivenPlaces,
) -> Composed {
    let collections = collections::read(assembly, request.parameters, places);
    let (request, places) = match &collections {
        Some(read) => (Request { parameters: &read.parameters, ..request }, &read.places),
        None => (request, places),
    };
    let mut composer = Composer::new(request, places);
    composer.examine(&Descriptor::Assembly(assembly.clone()));
    composer.root(assembly);
    composer.diagnostics.extend(std::mem::take(&mut composer.values.diagnostics));
    if !composer.diagnostics.has_errors() {
        // An error about the same text, for example in a list of nodes, makes the warning superfluous.
        composer.diagnostics.extend(collections.iter().flat_map(|read| read.warnings.iter().cloned()));
        let Composer { elements, relationships, policies, values, sources, diagnostics, .. } = &mut composer;
        Whole { elements, relationships, policies, values, sources, diagnostics }.check();
    }
    composer.finish()
}

/// Returns the approximate size in bytes of the properties of one element that is created from `decl` and
/// `descriptor`.
fn weight_of(descriptor: &Descriptor, decl: &Component) -> usize {
    let private = descriptor.private_properties().into_iter().flat_map(IndexMap::values);
    let all = descriptor.properties().values().chain(private).chain(decl.properties.values());
    all.map(|decl| PROPERTY_WEIGHT + decl.effective().map_or(0, |value| value.span.len())).sum()
}

impl Composer<'_> {
    fn finish(mut self) -> Composed {
        self.warn_of_many_nodes();
        self.diagnostics.sort();
        // The composition finds a problem of a component once for each of its nodes. So duplicates are
        // removed.
        let mut said = self.diagnostics.into_vec();
        said.dedup();
        let diagnostics = Diagnostics::from(said);
        let topology = (!diagnostics.has_errors()).then(|| {
            let name = self.request.name.clone();
            Topology::new(name, self.elements.into_all(), self.relationships).with_policies(self.policies)
        });
        let Self { values: Values { secrets, .. }, resources, references, .. } = self;
        Composed { topology, secrets, resources, references, diagnostics }
    }

    /// Warns of each `${…}` that reads one value from a group with several nodes.
    fn warn_of_many_nodes(&mut self) {
        for (group, place) in std::mem::take(&mut self.values.lowest) {
            let lowest = self.elements.lowest_node(&group);
            if self.elements.has_many_nodes(&group) {
                let last =
                    |name: &ElementName| name.as_str().rsplit("__").next().unwrap_or_default().to_owned();
                self.diagnostics.push(many_nodes(&last(&group), &last(&lowest)).at(place));
            }
        }
    }

    /// Checks a descriptor, and adds the problems to `diagnostics`. Does nothing if this composition has already
    /// checked the descriptor.
    fn examine(&mut self, descriptor: &Descriptor) {
        let new = descriptor.name().is_none_or(|name| self.examined.insert(name.clone()));
        if new {
            let source = descriptor.source();
            self.sources.insert(source.name().to_owned(), source.clone());
            let mut found = check(descriptor, self.request.catalog, Missing::Refused).into_vec();
            if !self.inside.is_empty() {
                // The error `NEVER_SATISFIED` reports a required property that can't get a value. In a nested
                // assembly, a required property may lack a value. So the error is kept for the outermost assembly
                // only.
                found.retain(|said| said.code != codes::NEVER_SATISFIED);
            }
            self.diagnostics.extend(found);
        }
    }

    fn root(&mut self, assembly: &Arc<AssemblyDescriptor>) {
        let Some(name) = assembly.name.as_ref() else { return };
        let owner = ElementName::from(self.request.name);
        self.parameters.check(assembly, &mut self.diagnostics);
        let binder = Frame { assembly, owner: &owner, each: None }.binder(&owner);
        let mut properties = self.values.properties(&assembly.properties, binder);
        for (parameter, value) in self.request.parameters {
            // Null is no value, so a default stays.
            if let Some(property) = properties.get_mut(parameter.as_str())
                && (!value.is_null() || property.value.is_none())
            {
                property.value = Some(self.values.given(value, property.sensitive));
            }
        }
        let seat =
            Seat { name: owner, parent: None, component: None, index: None, key: None, protect: false };
        self.assembly(assembly, &name.value, seat, properties);
    }

    fn assembly(
        &mut self,
        assembly: &Arc<AssemblyDescriptor>,
        descriptor: &DescriptorName,
        seat: Seat,
        properties: IndexMap<PropertyName, Property>,
    ) {
        let owner = seat.name.clone();
        let frame = Frame { assembly, owner: &owner, each: None };
        let at = self.elements.len();
        self.elements.push(Element {
            properties,
            protected: seat.protect || assembly.protect,
            origin: assembly.name.as_ref().map(|name| origin(&assembly.source, name.span)),
            ..seat.element(ElementKind::Assembly, descriptor.clone())
        });
        self.elements.reserve(assembly.composition.len());
        self.inside.push(descriptor.clone());
        for (name, decl) in &assembly.references {
            self.reference(frame, name, decl);
        }
        for (name, decl) in &assembly.composition {
            self.component(frame, name, decl);
        }
        self.inside.pop();
        self.promote(frame, at);
        self.promote_metrics(frame, at);
        self.assembly_policies(frame);
        for (name, decl) in &assembly.relationships {
            self.operations_of_references(frame, decl);
            let bound = self.relationship(frame, name, decl);
            self.relationships.push(bound);
        }
        for (name, decl) in &assembly.composition {
            for (at, on) in decl.depends_on.iter().enumerate() {
                if decl.depends_on[..at].iter().all(|before| before.value != on.value) {
                    let declared_at = origin(&assembly.source, on.span);
                    let bound = Relationship::dependency(owner.clone(), name, &on.value, declared_at);
                    self.relationships.push(bound);
                }
            }
        }
    }

    /// Adds the promoted operations to the element of the assembly. An assembly promotes an operation if it
    /// offers an operation of a component as its own. `at` is the index of the assembly's element.
    ///
    /// Each added operation names the resource that executes it. If the component is a nested assembly, this
    /// resource is inside the nested assembly.
    fn promote(&mut self, Frame { assembly, owner, .. }: Frame<'_>, at: usize) {
        for (name, promotion) in &assembly.operations {
            let Some(source) = &promotion.source else { continue };
            let (component, operation) = &source.value;
            let element = owner.child(component);
            let found = self.elements.find(&element).and_then(|found| found.operations.get(operation));
            if let Some(found) = found.cloned() {
                self.elements.at_mut(at).operations.insert(name.clone(), found);
            } else if assembly.composition.get(component).is_some_and(Component::is_plural) {
                let message =
                    format!("`{component}` has several nodes, so `{operation}` of it can't be one operation");
                self.error(&assembly.source, codes::BAD_OPERATION, source.span, message);
            }
        }
    }

    fn component(&mut self, frame: Frame<'_>, name: &ComponentName, decl: &Component) {
        let Some(kind) = &decl.kind else { return };
        let Some(descriptor) = self.request.catalog.find(&kind.value) else { return };
        self.examine(&descriptor);
        if self.room.is_full() || !self.may_nest(frame, kind) {
            return;
        }
        let parent = Some(frame.owner.clone());
        let (name, component) = (frame.owner.child(name), Some(name.clone()));
        let seat = Seat { name, parent, component, index: None, key: None, protect: decl.protect };
        if decl.is_plural() {
            self.group(frame, decl, &descriptor, seat);
        } else if self.has_room(frame, decl, 1) {
            self.part(frame, decl, &descriptor, seat);
        }
    }

    /// Creates the group of a component, and then the nodes of the group.
    fn group(&mut self, frame: Frame<'_>, decl: &Component, descriptor: &Descriptor, seat: Seat) {
        let nodes = match decl.each() {
            Some(each) => self.entries(frame, each).map(|entries| (Nodes::Keyed(entries), None)),
            None => size::size(self, frame, decl).map(|(count, cluster)| (Nodes::Numbered(count), cluster)),
        };
        let Some((nodes, cluster)) = nodes else { return };
        let count = nodes.count();
        let Some(kind) = descriptor.name().filter(|_| self.has_room(frame, decl, count)) else { return };
        let (group, component) = (seat.name.clone(), seat.component.clone());
        self.elements.push(Element {
            cluster,
            update: decl.update,
            origin: Some(origin(&frame.assembly.source, decl.name_span)),
            ..seat.element(ElementKind::Group, kind.clone())
        });
        let more = usize::try_from(count).unwrap_or_default();
        self.elements.reserve(more);
        if let Nodes::Keyed(entries) = &nodes {
            let lowest = lowest(entries).map(|key| group.keyed(key));
            self.elements.push_keys(group.clone(), lowest);
        }
        for index in 1..=count {
            let entered = self.room.enter_node(index);
            if !self.room.is_full() {
                let entry = nodes.entry(index);
                let (name, place) = match entry {
                    Some(entry) => (group.keyed(&entry.key), (None, Some(entry.key.clone()))),
                    None => (group.node(index), (Some(index), None)),
                };
                let (parent, component) = (Some(group.clone()), component.clone());
                let seat = Seat { name, parent, component, index: place.0, key: place.1, protect: false };
                self.part(Frame { each: entry, ..frame }, decl, descriptor, seat);
            }
            self.room.leave(entered);
        }
    }

    /// Tells whether the assembly of `frame` may contain a component of the type `kind`. Reports an error and returns
    /// `false` in two cases: an assembly would contain itself, or too many assemblies would be nested in each other.
    fn may_nest(&mut self, frame: Frame<'_>, kind: &Spanned<DescriptorName>) -> bool {
        let source = &frame.assembly.source;
        if self.inside.contains(&kind.value) {
            let way = self.inside.iter().chain([&kind.value]).map(|name| format!("`{name}`"));
            let way = way.collect::<Vec<_>>().join(" -> ");
            let message = format!("the assembly is inside itself: {way}");
            self.error(source, codes::NESTED_IN_ITSELF, kind.span, message);
            return false;
        }
        if self.inside.len() > MAX_NESTING {
            let message = format!("more than {MAX_NESTING} assemblies are inside of each other here");
            self.error(source, codes::NESTED_TOO_DEEP, kind.span, message);
            return false;
        }
        true
    }

    /// Tells whether `count` more elements stay within the limits. Reports the first limit that is exceeded.
    fn has_room(&mut self, frame: Frame<'_>, decl: &Component, count: u32) -> bool {
        if let Some(excess) = self.room.fits(self.elements.len(), count) {
            self.refuse(frame, decl, excess);
        }
        !self.room.is_full()
    }

    fn refuse(&mut self, frame: Frame<'_>, decl: &Component, Excess { message, help }: Excess) {
        let place = frame.assembly.source.place(decl.size_span());
        let diagnostic = Diagnostic::error(codes::TOO_MANY_NODES, message).at(place);
        self.diagnostics.push(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
    }

    /// Creates the element of one node, or of a component that is not a group. If the element is a nested assembly, the
    /// method also creates the elements inside this assembly.
    fn part(&mut self, frame: Frame<'_>, decl: &Component, descriptor: &Descriptor, seat: Seat) {
        let weight = weight_of(descriptor, decl);
        if let Some(excess) = self.room.copy(self.elements.len(), descriptor.name(), weight) {
            self.refuse(frame, decl, excess);
        }
        if self.room.is_full() {
            return;
        }
        let name = seat.name.clone();
        let scope = match descriptor {
            Descriptor::Assembly(nested) => Scope::assembly(nested),
            Descriptor::Resource(resource) => Scope::resource(resource),
        };
        let own = Binder { scope, source: descriptor.source(), owner: &name, instance: &name, each: None };
        let mut properties = self.values.properties(descriptor.properties(), own);
        if let Some(private) = descriptor.private_properties() {
            let private = self.values.properties(private, own);
            properties.extend(
                private.into_iter().map(|(name, property)| (name, Property { private: true, ..property })),
            );
        }
        for (property, given) in &decl.properties {
            self.overlay(&mut properties, descriptor, (property, given), frame.binder(&name));
        }
        match descriptor {
            Descriptor::Assembly(nested) => {
                if let Some(kind) = descriptor.name() {
                    let entered = self.room.enter_assembly(kind);
                    self.assembly(nested, kind, seat, properties);
                    self.room.leave(entered);
                }
            }
            Descriptor::Resource(resource) => {
                let declared_at = origin(&frame.assembly.source, decl.name_span);
                self.resource_policies(resource, own);
                self.resource(resource, seat, properties, declared_at);
            }
        }
    }

    /// Applies `given`, which the assembly declares for the property `name` of a component. If `given` contains
    /// a value, this value replaces the value that the component's descriptor declares.
    fn overlay(
        &mut self,
        properties: &mut IndexMap<PropertyName, Property>,
        descriptor: &Descriptor,
        (name, given): (&PropertyName, &PropertyDecl),
        binder: Binder<'_>,
    ) {
        // A private property, a read-only property and a property with a fixed `value` accept no value from
        // the assembly. The check has already warned of the value.
        if descriptor.private_properties().is_some_and(|private| private.contains_key(name)) {
            return;
        }
        let declared = descriptor.properties().get(name);
        if given.effective().is_some() && declared.is_some_and(PropertyDecl::decides_itself) {
            return;
        }
        let sensitive = given.sensitive || declared.is_some_and(|decl| decl.sensitive);
        let entry = properties.entry(name.clone()).or_default();
        entry.read_only |= given.read_only;
        entry.volatile |= given.volatile;
        if let Some(value) = given.effective() {
            entry.value = Some(self.values.bind(value, binder, sensitive));
            entry.origin = Some(origin(binder.source, value.span));
        } else if sensitive && !entry.sensitive {
            entry.value = entry.value.take().map(|value| self.values.sealed(value));
        }
        entry.sensitive = sensitive;
        entry.origin.get_or_insert_with(|| origin(binder.source, given.name_span));
    }

    fn resource(
        &mut self,
        resource: &ResourceDescriptor,
        seat: Seat,
        properties: IndexMap<PropertyName, Property>,
        declared_at: Origin,
    ) {
        let Some(descriptor) = resource.name.as_ref().map(|name| name.value.clone()) else { return };
        self.resources.insert(descriptor.clone());
        let transitions = resource.transitions.keys().copied().collect();
        let operations = own_operations(resource, &seat.name);
        let metrics = self.metrics(resource, &seat.name);
        self.elements.push(Element {
            properties,
            transitions,
            operations,
            metrics,
            on_package_change: resource.on_package_change.as_ref().map(|change| change.value),
            origin: Some(declared_at),
            ..seat.element(ElementKind::Resource, descriptor)
        });
    }

    fn relationship(
        &mut self,
        frame: Frame<'_>,
        name: &RelationshipName,
        decl: &RelationshipDecl,
    ) -> Relationship {
        let Frame { assembly, owner, .. } = frame;
        let binder = Binder { scope: Scope::relationship(assembly), ..frame.binder(owner) };
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
            properties: self.values.properties(&decl.properties, binder),
            create: decl.create.iter().map(|call| call.value.clone()).collect(),
            cease: decl.cease.iter().map(|call| call.value.clone()).collect(),
            origin: Some(origin(&assembly.source, decl.name_span)),
        }
    }
}
