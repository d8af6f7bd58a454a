//! The steps of a plan: the transitions of resources, and the creation and cessation of relationships.

pub(crate) mod batches;
pub(crate) mod relationships;
pub(crate) mod transitions;
