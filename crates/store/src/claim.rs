//! Claims of natural ids. A *natural id* is the id of an assembly outside of windlass, such as the id of a virtual
//! machine in its cloud.

use std::collections::BTreeSet;

use windlass_model::AssemblyName;

/// A claim of a natural id for an assembly that has an owner. The store refuses the claim if another assembly has the
/// id, unless the claim permits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The natural id.
    pub natural_id: String,
    /// The assemblies of other owners that may have the same id. For example, two clouds may have machines with the same
    /// id. An assembly of the same owner can never have the same id.
    pub shared_with: BTreeSet<AssemblyName>,
}

impl Claim {
    /// Returns a copy of the claim that other assemblies may also have.
    #[must_use]
    pub fn shared_with(self, shared_with: BTreeSet<AssemblyName>) -> Self {
        Self { shared_with, ..self }
    }

    /// Tells whether the claim of an assembly of `owner` permits that the assembly `claimant` has the same id.
    #[must_use]
    pub fn permits(&self, owner: &AssemblyName, claimant: &Claimant) -> bool {
        claimant.owner != *owner && self.shared_with.contains(&claimant.assembly)
    }
}

impl<T: Into<String>> From<T> for Claim {
    /// Creates a claim of an id that no other assembly may have.
    fn from(natural_id: T) -> Self {
        Self { natural_id: natural_id.into(), shared_with: BTreeSet::new() }
    }
}

/// An assembly that has a natural id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claimant {
    /// The assembly.
    pub assembly: AssemblyName,
    /// The owner of the assembly, such as the factory of an application.
    pub owner: AssemblyName,
}
