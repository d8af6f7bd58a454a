//! The references `${…}` between the properties of a topology, stored as positions.
//!
//! Each name is looked up once, when the topology is created. These look-ups are independent of each other, so the
//! processor overlaps their memory accesses. If the resolver looked up the names during the evaluation, each look-up
//! would have to wait for the end of the previous look-up.

use indexmap::IndexMap;

use crate::assembly::{Element, Property};
use crate::links::Links;
use crate::name::{ElementName, PropertyName};
use crate::template::Part;

/// The position of an element in the topology, and the position of a property in this element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) element: u32,
    pub(crate) property: u32,
}

/// For each property of a topology: the properties that its value reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct References {
    /// For each element: how many properties all earlier elements have together. One more entry at the end contains
    /// the number of all properties.
    firsts: Vec<u32>,
    /// The properties that each template reads, in the order of the template. The index is the [`number`](Self::number)
    /// of the property that has the template. An entry is `None` if the template reads a property that the topology
    /// does not declare.
    read: Links<Option<Key>>,
}

impl References {
    /// Finds the properties that each template in `elements` reads. `position` converts the name of an element to its
    /// position in `elements`.
    pub(crate) fn of(elements: &[Element], position: impl Fn(&ElementName) -> Option<u32>) -> Self {
        let mut references = Self { firsts: Vec::with_capacity(elements.len() + 1), read: Links::default() };
        references.firsts.push(0);
        for element in elements {
            for property in element.properties.values() {
                if let Some(template) = &property.value {
                    template.for_each_part(&mut |part| {
                        if let Part::Property { element, property } = part {
                            references
                                .read
                                .push(position(element).and_then(|at| declared(elements, at, property)));
                        }
                    });
                }
                references.read.close();
            }
            references.firsts.push(u32::try_from(references.read.nodes()).expect("there are less than 2^32"));
        }
        references
    }

    /// Returns the number of a property. The numbers count all properties of the topology, element by element, from 0.
    pub(crate) fn number(&self, key: Key) -> u32 {
        self.firsts[key.element as usize] + key.property
    }

    /// Returns how many properties the topology has.
    pub(crate) fn count(&self) -> usize {
        self.read.nodes()
    }

    /// Returns the properties that the template of the property `key` reads, in the order of the template. An entry is
    /// `None` if the topology does not declare the property.
    pub(crate) fn read_by(&self, key: Key) -> &[Option<Key>] {
        self.read.of(self.number(key))
    }
}

/// Returns the key of `property`; `None` if the element at the position `element` does not declare this property.
pub(crate) fn declared(elements: &[Element], element: u32, property: &PropertyName) -> Option<Key> {
    let place = place_of(&elements[element as usize].properties, property)?;
    Some(Key { element, property: u32::try_from(place).ok()? })
}

/// Returns the position of the property `name` in `properties`. If there are few properties, a linear search
/// is faster than hashing the name.
fn place_of(properties: &IndexMap<PropertyName, Property>, name: &PropertyName) -> Option<usize> {
    const FEW: usize = 16;
    if properties.len() > FEW {
        return properties.get_index_of(name);
    }
    properties.keys().position(|other| other == name)
}
