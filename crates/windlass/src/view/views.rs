//! The views of a project: its recorded assemblies, for people and for JSON.

use crate::open::Windlass;

/// The views of a project. They change nothing.
#[derive(Debug, Clone, Copy)]
pub struct Views<'w> {
    pub(crate) windlass: &'w Windlass,
}
