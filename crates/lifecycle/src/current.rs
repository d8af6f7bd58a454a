//! How things are.

use std::collections::{HashMap, HashSet};

use windlass_model::record::PairKey;
use windlass_model::{ElementName, State};

/// How far each element and relationship has come. What is not mentioned, is not there.
#[derive(Debug, Clone, Default)]
pub struct Current {
    elements: HashMap<ElementName, ElementNow>,
    pairs: HashSet<PairKey>,
}

/// How far an element has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElementNow {
    /// Its state.
    pub state: State,
    /// Whether its driver knows it: a launch has answered.
    pub present: bool,
}

impl Current {
    /// Notes how far an element has come.
    pub fn element(&mut self, name: ElementName, now: ElementNow) {
        self.elements.insert(name, now);
    }

    /// Notes that a relationship between two nodes has been made.
    pub fn pair(&mut self, key: PairKey) {
        self.pairs.insert(key);
    }

    /// Returns how far an element has come.
    pub fn now(&self, name: &ElementName) -> ElementNow {
        self.elements.get(name).copied().unwrap_or_default()
    }

    /// Tells whether a relationship between two nodes has been made.
    pub fn has_pair(&self, key: &PairKey) -> bool {
        self.pairs.contains(key)
    }
}
