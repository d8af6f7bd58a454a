//! What the values in a topology read, by places.
//!
//! Each name is looked up once, when the topology is made. Look-ups of one element after the other don't wait for each
//! other, while one that is made in the middle of resolving holds everything up until the memory has answered.

use indexmap::IndexMap;

use crate::assembly::{Element, Property};
use crate::links::Links;
use crate::name::{ElementName, PropertyName};
use crate::template::Part;

/// A property of an element, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) element: u32,
    pub(crate) property: u32,
}

/// For each property the properties that its value reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct References {
    /// How many properties there are before those of each element, and at the end how many there are.
    firsts: Vec<u32>,
    /// By the numbers of the readers, in the order of the template; none for what isn't declared.
    read: Links<Option<Key>>,
}

impl References {
    /// Looks up what is read. `position` finds an element.
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

    /// Returns the number of a property: all are numbered, one element after the other.
    pub(crate) fn number(&self, key: Key) -> u32 {
        self.firsts[key.element as usize] + key.property
    }

    /// Returns how many properties there are.
    pub(crate) fn count(&self) -> usize {
        self.read.nodes()
    }

    /// Returns what the value of a property reads.
    pub(crate) fn read_by(&self, key: Key) -> &[Option<Key>] {
        self.read.of(self.number(key))
    }
}

/// Finds a property that the element at a place declares.
pub(crate) fn declared(elements: &[Element], element: u32, property: &PropertyName) -> Option<Key> {
    let place = place_of(&elements[element as usize].properties, property)?;
    Some(Key { element, property: u32::try_from(place).ok()? })
}

/// Most elements have a handful of properties, of which the right one is found before its name would be hashed.
fn place_of(properties: &IndexMap<PropertyName, Property>, name: &PropertyName) -> Option<usize> {
    const FEW: usize = 16;
    if properties.len() > FEW {
        return properties.get_index_of(name);
    }
    properties.keys().position(|other| other == name)
}
