//! Where parts are placed: what the engine asks of whoever knows the project.

use std::sync::Arc;

use windlass_driver::{Location, Placement};
use windlass_executor::Runtime;

/// Knows the locations of a project and the runtimes that serve them.
pub trait Places: Send + Sync {
    /// Finds a location.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is none, and which there are.
    fn location(&self, placement: &Placement) -> Result<Location, String>;

    /// Finds the runtime of a location.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is none.
    fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, String>;

    /// Returns all runtimes that may have jobs of earlier runs.
    fn runtimes(&self) -> Vec<Arc<dyn Runtime>>;
}
