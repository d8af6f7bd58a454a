//! What a resolver has found so far.

use std::collections::HashMap;

use super::{Answer, ResolveError};
use crate::assembly::Topology;

/// A property of an element, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) element: u32,
    pub(super) property: u32,
}

/// What is known of a property.
#[derive(Debug, Clone)]
pub(super) enum Found {
    /// Nothing yet.
    Nothing,
    /// It is being looked for.
    Open,
    /// Its value, or why it has none.
    Answer(Result<Answer, ResolveError>),
}

/// A place for each property of the elements that were asked for.
pub(super) struct Known {
    /// Where the places of an element begin.
    firsts: Firsts,
    found: Vec<Found>,
}

enum Firsts {
    /// For who asks for a few of many elements.
    Few(HashMap<u32, u32>),
    /// For who asks for most of them, by their places.
    All(Vec<u32>),
}

/// The first place of an element that has none.
const NOWHERE: u32 = u32::MAX;

impl Known {
    pub(super) fn few() -> Self {
        Self { firsts: Firsts::Few(HashMap::new()), found: Vec::new() }
    }

    pub(super) fn all(topology: &Topology) -> Self {
        let count = topology.elements().len();
        Self { firsts: Firsts::All(vec![NOWHERE; count]), found: Vec::with_capacity(2 * count) }
    }

    pub(super) fn get(&self, key: Key) -> &Found {
        let first = match &self.firsts {
            Firsts::Few(firsts) => firsts.get(&key.element).copied().unwrap_or(NOWHERE),
            Firsts::All(firsts) => firsts[key.element as usize],
        };
        match first {
            NOWHERE => &Found::Nothing,
            first => &self.found[(first + key.property) as usize],
        }
    }

    /// Notes what was found of a property of an element of `topology`.
    pub(super) fn set(&mut self, topology: &Topology, key: Key, found: Found) {
        let first = match &mut self.firsts {
            Firsts::Few(firsts) => firsts.entry(key.element).or_insert(NOWHERE),
            Firsts::All(firsts) => &mut firsts[key.element as usize],
        };
        if *first == NOWHERE {
            *first = u32::try_from(self.found.len()).expect("there are less than 2^32 properties");
            let properties = topology.elements()[key.element as usize].properties.len();
            self.found.resize(self.found.len() + properties, Found::Nothing);
        }
        self.found[(*first + key.property) as usize] = found;
    }
}
