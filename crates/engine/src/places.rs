//! The trait by which the engine finds the locations and runtimes of a project.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::{Location, Placement};
use windlass_executor::Runtime;

/// The locations of a project, and the runtimes that run the jobs at these locations. A project is a folder with the
/// file `windlass.yaml`, which declares the locations. A runtime is a means to run jobs, such as containers.
#[async_trait]
pub trait Places: Send + Sync {
    /// Returns the location that a placement names.
    ///
    /// # Errors
    /// A sentence that gives the reason and lists the existing locations.
    fn location(&self, placement: &Placement) -> Result<Location, String>;

    /// Checks that a location has a runtime. The function does not open the runtime, because previews call the
    /// function too, and a preview must change nothing.
    ///
    /// # Errors
    /// A sentence that gives the reason why the location has no runtime.
    fn check(&self, location: &Location) -> Result<(), String>;

    /// Returns the runtime of a location, and opens it on first use.
    ///
    /// # Errors
    /// A sentence that gives the reason why there is no runtime.
    async fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, String>;

    /// Returns the free bytes of the disk that keeps the answers of jobs; `None` if that is unknown.
    fn free_space(&self) -> Option<u64> {
        None
    }

    /// Returns all runtimes that may have jobs of earlier processes.
    ///
    /// # Errors
    /// A sentence that names the runtimes that can't list their jobs, and gives the reason. Jobs of earlier
    /// processes may still run in these runtimes.
    async fn runtimes(&self) -> Result<Vec<Arc<dyn Runtime>>, String>;
}
