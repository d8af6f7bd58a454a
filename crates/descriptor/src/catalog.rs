//! The trait by which this crate finds other descriptors by their names.
//!
//! Because the crate uses a trait, it never accesses the disk. An editor, for example, can supply the texts
//! of its open files.

use std::collections::BTreeMap;

use windlass_model::DescriptorName;

use crate::document::{Descriptor, ReferenceType};
use crate::reader::Spanned;

/// A collection of descriptors that can be looked up by name.
pub trait Catalog: Send + Sync {
    /// Returns the descriptor with this name.
    fn find(&self, name: &DescriptorName) -> Option<Descriptor>;

    /// Returns the names of all descriptors, sorted.
    fn names(&self) -> Vec<DescriptorName>;
}

/// A catalog in memory. If the catalog is empty, a check with
/// [`Missing::Tolerated`](crate::Missing::Tolerated) still checks everything that needs no other descriptor.
#[derive(Debug, Clone, Default)]
pub struct MemoryCatalog {
    descriptors: BTreeMap<DescriptorName, Descriptor>,
}

impl MemoryCatalog {
    /// Creates an empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a descriptor under its own name, and returns the descriptor that had this name before. A
    /// descriptor without a valid name is not added.
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

/// Returns the newest descriptor that a reference accepts. `kind` is the value of the key `type` in the reference.
/// Returns `None` if the catalog contains no such descriptor.
pub(crate) fn newest(kind: &Spanned<ReferenceType>, catalog: &dyn Catalog) -> Option<Descriptor> {
    let kind = &kind.value;
    if kind.versions.exact().is_some() {
        return catalog.find(&kind.exact()?);
    }
    let accepted = catalog.names().into_iter().filter(|name| kind.accepts(name));
    accepted.max_by(|a, b| a.version.cmp(&b.version)).and_then(|name| catalog.find(&name))
}
