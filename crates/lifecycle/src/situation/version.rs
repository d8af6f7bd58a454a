//! The versions of an assembly that the planner compares.

use windlass_model::Topology;
use windlass_model::resolve::Lookup;

use super::current::Current;

/// A version of an assembly.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    /// The elements and relationships of the version.
    pub topology: &'a Topology,
    /// The outputs that drivers have published so far, and the secrets that this version refers to.
    pub lookup: &'a dyn Lookup,
}

/// The data of an assembly that the planner compares: the recorded states, the installed version and the desired
/// version.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// The recorded state of each element and relationship.
    pub current: &'a Current,
    /// The version from which the existing parts were installed; `None` if it does not differ from the
    /// desired version.
    ///
    /// After an interrupted upgrade, the parts were installed from several versions. Then this field is the
    /// result of [`crate::merged`].
    pub installed: Option<Version<'a>>,
    /// The version that should exist; `None` if all parts are to be removed.
    pub desired: Option<Version<'a>>,
}
