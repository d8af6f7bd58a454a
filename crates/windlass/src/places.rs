//! The project's locations and the runtimes behind them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use windlass_driver::{Location, Placement};
use windlass_engine::Places;
use windlass_executor::process::{ProcessOptions, ProcessRuntime, SupervisorCommand};
use windlass_executor::{Runtime, RuntimeError};
use windlass_project::Project;

/// Opens runtimes when they are first needed.
pub(crate) struct ProjectPlaces {
    project: Project,
    jobs: PathBuf,
    volumes: PathBuf,
    supervisor: SupervisorCommand,
    process: Mutex<Option<Arc<ProcessRuntime>>>,
}

impl ProjectPlaces {
    pub(crate) fn new(project: Project, supervisor: SupervisorCommand) -> Self {
        let state = project.state_dir();
        Self {
            project,
            jobs: state.join("jobs"),
            volumes: state.join("volumes"),
            supervisor,
            process: Mutex::new(None),
        }
    }

    fn process(&self) -> Result<Arc<ProcessRuntime>, RuntimeError> {
        let mut opened = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(runtime) = &*opened {
            return Ok(runtime.clone());
        }
        let options = ProcessOptions::new(&self.jobs, self.supervisor.clone()).volumes_dir(&self.volumes);
        let runtime = Arc::new(ProcessRuntime::open_with(options)?);
        *opened = Some(runtime.clone());
        Ok(runtime)
    }

    /// Parts with the runtimes and removes the empty folders that they leave, also those of owners that were killed.
    pub(crate) async fn close(&self) -> Result<(), RuntimeError> {
        if self.jobs.exists() {
            self.process()?;
        }
        let opened = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(runtime) = opened {
            runtime.close().await?;
        }
        Ok(())
    }
}

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
        match location.runtime.as_str() {
            "process" => Ok(()),
            other => Err(format!(
                "the runtime `{other}` of the location `{}` is not part of this version; use `process`",
                location.name
            )),
        }
    }

    fn runtime(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        self.check(location)?;
        match self.process() {
            Ok(runtime) => Ok(runtime),
            Err(error) => Err(chain(&error)),
        }
    }

    fn runtimes(&self) -> Vec<Arc<dyn Runtime>> {
        if !self.jobs.exists() {
            return Vec::new();
        }
        self.process().into_iter().map(|runtime| runtime as Arc<dyn Runtime>).collect()
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
