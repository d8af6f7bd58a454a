//! An index of the existing instances to which references may resolve.

use std::collections::HashMap;

use windlass_model::AssemblyName;
use windlass_model::name::DescriptorKind;

use super::request::Existing;

/// The existing instances by the kind and the middle part of their descriptor's name, and also by their own
/// name.
#[derive(Default)]
pub(super) struct Index<'r> {
    pub(super) of_kind: HashMap<(DescriptorKind, &'r AssemblyName), Vec<&'r Existing>>,
    pub(super) of_name: HashMap<(DescriptorKind, &'r AssemblyName, &'r str), Vec<&'r Existing>>,
}

impl<'r> Index<'r> {
    pub(super) fn new(existing: &'r [Existing]) -> Self {
        let mut index = Self::default();
        for thing in existing {
            let (kind, name) = (thing.descriptor.kind, &thing.descriptor.name);
            index.of_kind.entry((kind, name)).or_default().push(thing);
            index.of_name.entry((kind, name, &thing.name)).or_default().push(thing);
        }
        index
    }
}
