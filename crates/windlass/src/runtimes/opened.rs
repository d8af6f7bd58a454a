//! The runtimes of a project, by kind.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::Location;
use windlass_executor::{Runtime, RuntimeError};
use windlass_project::ImageUse;

use super::factory::{ProjectRuntimes, RuntimeContext, RuntimeFactory};
use crate::blocking::blocking;

/// The runtimes of a project. Each runtime is opened once. Opening a runtime can take long, for example because it
/// connects to a container engine. Meanwhile, the other runtimes can be used.
pub(crate) struct Runtimes {
    /// Each kind of runtime, and the runtimes of this kind in the project. The entries have the order of registration.
    kinds: Vec<(Arc<dyn RuntimeFactory>, Arc<dyn ProjectRuntimes>)>,
    state: PathBuf,
}

impl Runtimes {
    pub(crate) fn new(factories: &[Arc<dyn RuntimeFactory>], context: &RuntimeContext) -> Self {
        let kinds = factories.iter().map(|factory| (factory.clone(), factory.project(context)));
        Self { kinds: kinds.collect(), state: context.state.clone() }
    }

    /// Checks that a location has a usable runtime. Does not open the runtime.
    pub(crate) fn check(&self, location: &Location) -> Result<(), String> {
        self.project(location).map(drop)
    }

    /// Returns the project's runtimes of the kind that the location names, such as `docker`. Refuses a kind that
    /// this program does not support. Also refuses a location without an image if the kind needs an image.
    fn project(&self, location: &Location) -> Result<&dyn ProjectRuntimes, String> {
        let Location { name, runtime, image, .. } = location;
        match self.kinds.iter().find(|(kind, _)| kind.name() == runtime) {
            None => {
                Err(format!("this program does not support the runtime `{runtime}` of the location `{name}`"))
            }
            Some((kind, _)) if kind.image() == ImageUse::Required && image.is_none() => Err(format!(
                "the location `{name}` has the runtime `{runtime}` and no `image`, which scripts need; set `image` of the location"
            )),
            Some((_, project)) => Ok(&**project),
        }
    }

    /// Returns the runtime of a location. Opens the runtime at its first use.
    pub(crate) async fn of(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        self.project(location)?.at(location).await
    }

    /// Returns all runtimes that may hold jobs of earlier processes.
    pub(crate) async fn all(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        let mut all = Vec::new();
        for (_, project) in &self.kinds {
            all.extend(project.with_jobs().await?);
        }
        Ok(all)
    }

    /// Returns the runtimes of the kind `name` that may hold jobs of earlier processes. If the kind is unknown, the
    /// result is empty.
    pub(crate) async fn of_kind(&self, name: &str) -> Result<Vec<Arc<dyn Runtime>>, String> {
        match self.kinds.iter().find(|(kind, _)| kind.name() == name) {
            Some((_, project)) => project.with_jobs().await,
            None => Ok(Vec::new()),
        }
    }

    /// Closes the runtimes and removes their empty folders. Also removes the folders of windlass programs
    /// that were killed. If a runtime can't be closed, the method still closes all other runtimes, and returns the
    /// first error.
    pub(crate) async fn close(&self) -> Result<(), RuntimeError> {
        let mut closed = Ok(());
        for (_, project) in self.kinds.iter().rev() {
            closed = closed.and(project.close().await);
        }
        let state = self.state.clone();
        // A state folder that is empty now was created only for the runtimes, so it is removed.
        let _in_use = blocking(move || std::fs::remove_dir(state)).await;
        closed
    }
}
