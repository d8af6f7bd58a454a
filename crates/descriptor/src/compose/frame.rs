//! Positions in the tree of elements, and the meaning of `${…}` at these positions.

use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::assembly::{Element, ElementKind, Operation};
use windlass_model::name::NodeKey;
use windlass_model::{ComponentName, DescriptorName, ElementName, OperationName, Transitions};
use windlass_source::Source;

use super::entry::Entry;
use crate::document::AssemblyDescriptor;
use crate::resource::ResourceDescriptor;
use crate::scope::Scope;

/// The context that gives a meaning to each `${…}` in a value.
#[derive(Clone, Copy)]
pub(super) struct Binder<'s> {
    pub(super) scope: Scope<'s>,
    pub(super) source: &'s Arc<Source>,
    /// Element whose descriptor contains the `${…}`. A `${x}` reads the property `x` of this element. A `${c.x}`
    /// reads the property `x` of its component `c`.
    pub(super) owner: &'s ElementName,
    /// Element that `${instance.…}` reads.
    pub(super) instance: &'s ElementName,
    /// List entry that `${each.…}` reads; `None` where `${each.…}` has no meaning.
    pub(super) each: Option<&'s Entry>,
}

/// An assembly descriptor, with the element that is created from it.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f> {
    pub(super) assembly: &'f Arc<AssemblyDescriptor>,
    pub(super) owner: &'f ElementName,
    /// The entry of the list `each` that declares the node that is being created. `${each.…}` reads this entry. `None`
    /// if no node is being created, or if the component of the node has no list `each`.
    pub(super) each: Option<&'f Entry>,
}

impl<'f> Frame<'f> {
    /// Creates the [`Binder`] for the values that the assembly of this frame gives to the element `instance`. In
    /// these values, `${x}` reads a property of the assembly, and `${instance.…}` reads the element.
    pub(super) fn binder(self, instance: &'f ElementName) -> Binder<'f> {
        let scope = Scope { each: self.each.is_some(), ..Scope::assembly(self.assembly) };
        Binder { scope, source: &self.assembly.source, owner: self.owner, instance, each: self.each }
    }
}

/// The data that a new element gets from its position in the tree of elements.
pub(super) struct Seat {
    pub(super) name: ElementName,
    pub(super) parent: Option<ElementName>,
    pub(super) component: Option<ComponentName>,
    pub(super) index: Option<u32>,
    pub(super) key: Option<NodeKey>,
    /// Whether the descriptor protects the component, by `protect: true`.
    pub(super) protect: bool,
}

impl Seat {
    pub(super) fn element(self, kind: ElementKind, descriptor: DescriptorName) -> Element {
        Element {
            name: self.name,
            kind,
            parent: self.parent,
            component: self.component,
            index: self.index,
            key: self.key,
            descriptor,
            properties: IndexMap::new(),
            transitions: Transitions::default(),
            operations: IndexMap::new(),
            metrics: IndexMap::new(),
            cluster: None,
            referent: None,
            protected: self.protect,
            on_package_change: None,
            update: None,
            origin: None,
        }
    }
}

/// Returns the operations that a resource descriptor declares. Each returned [`Operation`] names `seat` as the element
/// that executes the operation. The element `seat` is a resource with this descriptor, or a reference to such a
/// resource.
pub(super) fn own_operations(
    resource: &ResourceDescriptor,
    seat: &ElementName,
) -> IndexMap<OperationName, Operation> {
    let own = |name: &OperationName| Operation { element: seat.clone(), operation: name.clone() };
    resource.operations.keys().map(|name| (name.clone(), own(name))).collect()
}
