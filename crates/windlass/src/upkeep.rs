//! Maintenance of records: prune old ones, forget or rename assemblies, and move them to other stores. Calls
//! no driver.

use crate::open::Windlass;

/// The maintenance operations on the records of a project. They call no driver.
#[derive(Debug, Clone, Copy)]
pub struct Upkeep<'w> {
    pub(crate) windlass: &'w Windlass,
}
