//! Which element can be healed.

use thiserror::Error;
use windlass_model::assembly::ElementKind;
use windlass_model::{ElementName, Topology};

/// Why an element can't be healed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HealError {
    /// The assembly has no such element.
    #[error("there is no element `{name}`; there are {}", crate::listed(known))]
    Unknown {
        /// The element.
        name: ElementName,
        /// The resources of the assembly.
        known: Vec<ElementName>,
    },
    /// Only resources break.
    #[error("`{name}` is not a resource, and only resources break: heal {}", crate::listed(resources))]
    NoResource {
        /// The element.
        name: ElementName,
        /// The resources in it.
        resources: Vec<ElementName>,
    },
    /// It isn't windlass that made it.
    #[error("`{name}` is a reference: heal it in the assembly that owns it")]
    Reference {
        /// The element.
        name: ElementName,
    },
}

/// Finds the resource that a heal of `name` is about.
///
/// # Errors
///
/// When there is no such element, or it is no resource; what could be meant is named.
pub fn healable<'a>(topology: &'a Topology, name: &ElementName) -> Result<&'a ElementName, HealError> {
    let names = |at: &ElementName| topology.leaves(at).iter().map(|leaf| leaf.name.clone()).collect();
    let Some(element) = topology.get(name) else {
        let known = topology.root().map(|root| names(&root.name)).unwrap_or_default();
        return Err(HealError::Unknown { name: name.clone(), known });
    };
    match element.kind {
        ElementKind::Resource => Ok(&element.name),
        ElementKind::Reference => Err(HealError::Reference { name: name.clone() }),
        ElementKind::Assembly | ElementKind::Group => {
            Err(HealError::NoResource { name: name.clone(), resources: names(name) })
        }
    }
}
