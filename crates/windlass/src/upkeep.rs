//! The upkeep of records: prune old ones, forget assemblies, and move them to other stores. It calls no driver.

use crate::open::Windlass;

/// The upkeep of the records of a project. It calls no driver.
#[derive(Debug, Clone, Copy)]
pub struct Upkeep<'w> {
    pub(crate) windlass: &'w Windlass,
}
