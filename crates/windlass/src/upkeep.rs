//! Maintenance of assemblies: pruning their records, forgetting them, renaming them, and moving them to other
//! stores.

use crate::open::Windlass;

/// The maintenance operations on the records of a project. The operations call no driver.
#[derive(Debug, Clone, Copy)]
pub struct Upkeep<'w> {
    pub(crate) windlass: &'w Windlass,
}
