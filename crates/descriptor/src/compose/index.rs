//! An index of the existing instances to which references may resolve.

use std::collections::HashMap;

use windlass_model::AssemblyName;
use windlass_model::name::DescriptorKind;

use super::request::Existing;

/// The existing instances, grouped by their descriptors. With this index, the composition quickly finds the instances
/// that may fit a reference.
#[derive(Default)]
pub(super) struct Index<'r> {
    /// The instances, grouped by the kind and the name of their descriptors. The key does not contain the version.
    /// For example, the key for an instance of the descriptor `resource::network::1.0` is `(resource, network)`.
    pub(super) of_kind: HashMap<(DescriptorKind, &'r AssemblyName), Vec<&'r Existing>>,
    /// The instances, grouped by the kind and the name of their descriptors, and by the names of the instances. The
    /// key does not contain the version. For example, the key for the instance `lan` of the descriptor
    /// `resource::network::1.0` is `(resource, network, "lan")`.
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
