//! Where descriptors come from: a trait, so that checks never read the disk and editors can lay open buffers over it.

use std::collections::BTreeMap;

use windlass_model::DescriptorName;

use crate::document::Descriptor;

/// Finds descriptors by their names.
pub trait Catalog {
    /// Returns the descriptor of this name.
    fn find(&self, name: &DescriptorName) -> Option<Descriptor>;

    /// Returns the names of all descriptors, sorted.
    fn names(&self) -> Vec<DescriptorName>;
}

/// A catalog in memory. The empty one knows nothing, and checks that need it are left out.
#[derive(Debug, Clone, Default)]
pub struct MemoryCatalog {
    descriptors: BTreeMap<DescriptorName, Descriptor>,
}

impl MemoryCatalog {
    /// Makes an empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a descriptor under its own name; one without a valid name is left out. Returns the one that had the name.
    pub fn insert(&mut self, descriptor: Descriptor) -> Option<Descriptor> {
        let name = descriptor.name()?.clone();
        self.descriptors.insert(name, descriptor)
    }
}

impl Catalog for MemoryCatalog {
    fn find(&self, name: &DescriptorName) -> Option<Descriptor> {
        self.descriptors.get(name).cloned()
    }

    fn names(&self) -> Vec<DescriptorName> {
        self.descriptors.keys().cloned().collect()
    }
}
