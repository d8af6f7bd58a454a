//! The project's locations and the runtimes that serve them.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::{Location, Placement};
use windlass_engine::Places;
use windlass_executor::Runtime;
use windlass_project::{PlacementError, Project};

use crate::runtimes::{Runtimes, Variables};

/// The locations of a project, each with its runtime.
pub(crate) struct ProjectPlaces {
    project: Project,
    variables: Variables,
    pub(crate) runtimes: Arc<Runtimes>,
}

impl ProjectPlaces {
    pub(crate) fn new(project: Project, variables: Variables, runtimes: Arc<Runtimes>) -> Self {
        Self { project, variables, runtimes }
    }

    /// Returns the secrets of a location, so that the caller can mask them in the output of jobs. `own` tells
    /// whether this program has started these jobs. Returns `None` if the secrets can't be read.
    ///
    /// Also returns `None` if another program has started the jobs, and the location has a secret from a variable
    /// or a file. The other program may have read a different value of this secret.
    pub(crate) fn secrets(&self, location: &str, own: bool) -> Option<Vec<String>> {
        let Some(declared) = self.project.locations().find(|declared| declared.name == location) else {
            return Some(Vec::new());
        };
        let read = self.project.with_secrets(declared.clone(), &*self.variables).ok()?;
        (own || read.properties == declared.properties).then(|| read.secrets())
    }
}

#[async_trait]
impl Places for ProjectPlaces {
    fn location(&self, placement: &Placement) -> Result<Location, String> {
        let location = self.project.location(placement).map_err(|error| {
            let diagnostic = error.diagnostic();
            let message = match diagnostic.help {
                Some(help) => format!("{error}; {help}"),
                None => error.to_string(),
            };
            match &error {
                PlacementError::Unknown { location, .. } => {
                    let end = if message.ends_with('?') { "" } else { "." };
                    format!(
                        "{message}{end} Existing parts keep their location: if it was removed or renamed, declare \
                         `{location}` again"
                    )
                }
                _ => message,
            }
        })?;
        let location = self.project.with_environment(location, &*self.variables);
        self.project.with_secrets(location, &*self.variables).map_err(|error| error.to_string())
    }

    fn check(&self, location: &Location) -> Result<(), String> {
        self.runtimes.check(location)
    }

    async fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        self.runtimes.of(location).await
    }

    fn free_space(&self) -> Option<u64> {
        let state = self.project.state_dir();
        // If the state folder does not exist yet, the free space of the disk of the project's root is
        // returned.
        let disk = [state.as_path(), self.project.root()]
            .into_iter()
            .find_map(|path| rustix::fs::statvfs(path).ok())?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    async fn runtimes(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        self.runtimes.all().await
    }
}
