//! The project's locations and the runtimes behind them.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::{Location, Placement};
use windlass_engine::Places;
use windlass_executor::Runtime;
use windlass_project::Project;

use crate::runtimes::Runtimes;

/// The locations of a project, each with its runtime.
pub(crate) struct ProjectPlaces {
    project: Project,
    pub(crate) runtimes: Runtimes,
}

impl ProjectPlaces {
    pub(crate) fn new(project: Project, runtimes: Runtimes) -> Self {
        Self { project, runtimes }
    }
}

#[async_trait]
impl Places for ProjectPlaces {
    fn location(&self, placement: &Placement) -> Result<Location, String> {
        self.project.location(placement).map_err(|error| {
            let diagnostic = error.diagnostic();
            match diagnostic.help {
                Some(help) => format!("{error}; {help}"),
                None => error.to_string(),
            }
        })
    }

    fn check(&self, location: &Location) -> Result<(), String> {
        self.runtimes.check(location)
    }

    async fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        self.runtimes.of(location).await
    }

    async fn runtimes(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        self.runtimes.all().await
    }
}

/// Writes an error with all its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
