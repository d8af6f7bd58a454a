//! Where parts are placed: what the engine asks of whoever knows the project.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::{Location, Placement};
use windlass_executor::Runtime;

/// Knows the locations of a project and the runtimes that serve them.
#[async_trait]
pub trait Places: Send + Sync {
    /// Finds a location.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is none, and which there are.
    fn location(&self, placement: &Placement) -> Result<Location, String>;

    /// Says whether a location has a runtime, without opening it: a preview changes nothing.
    ///
    /// # Errors
    ///
    /// A sentence that says why it has none.
    fn check(&self, location: &Location) -> Result<(), String>;

    /// Finds the runtime of a location, and opens it if nobody has.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is none.
    async fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, String>;

    /// Returns how many bytes are free where the answers of jobs are kept; none where that is not known.
    fn free_space(&self) -> Option<u64> {
        None
    }

    /// Returns all runtimes that may have jobs of earlier runs.
    ///
    /// # Errors
    ///
    /// A sentence that says which of them can't be asked, and why: then nobody knows what still runs there.
    async fn runtimes(&self) -> Result<Vec<Arc<dyn Runtime>>, String>;
}
