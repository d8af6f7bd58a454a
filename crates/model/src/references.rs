//! The references of a topology's values, by position.
//!
//! Each name is looked up once, when the topology is created. Then the processor overlaps the memory accesses
//! of consecutive look-ups. During resolving, each look-up would wait for the result of the previous one.

use indexmap::IndexMap;

use crate::assembly::{Element, Property};
use crate::links::Links;
use crate::name::{ElementName, PropertyName};
use crate::template::Part;

/// A property of an element, by their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) element: u32,
    pub(crate) property: u32,
}

/// For each property, the properties that its value reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct References {
    /// The number of properties before those of each element, followed by the number of all properties.
    firsts: Vec<u32>,
    /// For each property, by its number: the properties that it reads, in the order of its template. An entry
    /// is `None` if the read property is not declared.
    read: Links<Option<Key>>,
}

impl References {
    /// Collects the references of all properties. `position` returns the position of an element.
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

    /// Returns the number of a property. Numbers follow the order of elements, and then of their properties.
    pub(crate) fn number(&self, key: Key) -> u32 {
        self.firsts[key.element as usize] + key.property
    }

    /// Returns the number of properties.
    pub(crate) fn count(&self) -> usize {
        self.read.nodes()
    }

    /// Returns the properties that the value of a property reads.
    pub(crate) fn read_by(&self, key: Key) -> &[Option<Key>] {
        self.read.of(self.number(key))
    }
}

/// Finds a property that the element at a position declares.
pub(crate) fn declared(elements: &[Element], element: u32, property: &PropertyName) -> Option<Key> {
    let place = place_of(&elements[element as usize].properties, property)?;
    Some(Key { element, property: u32::try_from(place).ok()? })
}

/// Finds a property by its name. If there are few properties, a linear search is faster than hashing the
/// name.
fn place_of(properties: &IndexMap<PropertyName, Property>, name: &PropertyName) -> Option<usize> {
    const FEW: usize = 16;
    if properties.len() > FEW {
        return properties.get_index_of(name);
    }
    properties.keys().position(|other| other == name)
}
