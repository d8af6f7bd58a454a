//! The views of a project, which show its records to people or as JSON.

use crate::open::Windlass;

/// Access to the views of a project. No view changes anything.
#[derive(Debug, Clone, Copy)]
pub struct Views<'w> {
    pub(crate) windlass: &'w Windlass,
}
