//! The check of the element that a user wants to heal.

use thiserror::Error;
use windlass_model::assembly::ElementKind;
use windlass_model::{ElementName, Topology};

/// The reason why an element cannot be healed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HealError {
    /// The assembly has no such element.
    #[error("there is no element `{name}`; there are {}", listed(known))]
    Unknown {
        /// The name of the unknown element.
        name: ElementName,
        /// The resources of the assembly.
        known: Vec<ElementName>,
    },
    /// The element still exists, but the current version of the assembly no longer contains it.
    #[error("`{}` is no longer a part of the assembly; `windlass up` removes it, or keeps it if the descriptor has it again", name.local())]
    Left {
        /// The name of the element.
        name: ElementName,
    },
    /// The element is a reference, which windlass does not manage.
    #[error("`{name}` is a reference: heal it in the assembly that owns it")]
    Reference {
        /// The name of the reference.
        name: ElementName,
    },
}

/// Checks that an element can be healed, and returns its name. If the element is a group or an assembly, the
/// resources in it are healed.
///
/// # Errors
///
/// Returns an error if there is no such element, or if the element is a reference. The error for a missing
/// element lists the resources.
pub fn healable<'a>(topology: &'a Topology, name: &ElementName) -> Result<&'a ElementName, HealError> {
    let names = |at: &ElementName| topology.leaves(at).iter().map(|leaf| leaf.name.clone()).collect();
    let Some(element) = topology.get(name) else {
        let known = topology.root().map(|root| names(&root.name)).unwrap_or_default();
        return Err(HealError::Unknown { name: name.clone(), known });
    };
    match element.kind {
        ElementKind::Reference => Err(HealError::Reference { name: name.clone() }),
        ElementKind::Resource | ElementKind::Assembly | ElementKind::Group => Ok(&element.name),
    }
}

/// Returns a list of names for a message: at most ten names, and the number of the remaining names.
pub(crate) fn listed(names: &[ElementName]) -> String {
    const MOST: usize = 10;
    let mut text: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", name.local())).collect();
    if names.len() > MOST {
        text.push(format!("{} more", names.len() - MOST));
    }
    text.join(", ")
}
