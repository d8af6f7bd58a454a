//! [`Fixed`]: a kind of runtime with only one runtime, which serves all locations of the kind. The program that embeds
//! windlass implements this runtime, and adds the runtime by [`Settings::runtime`](crate::Settings::runtime).

use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::Location;
use windlass_executor::{Runtime, RuntimeError};
use windlass_project::{ImageUse, RuntimeKind, Setting, SettingProblem};

use super::factory::{ProjectRuntimes, RuntimeContext, RuntimeFactory, RuntimeView};

/// A kind of runtime with only one runtime. This runtime is open, and serves all locations of the kind.
#[derive(Clone)]
pub(super) struct Fixed {
    runtime: Arc<dyn Runtime>,
    /// The registered kind of the same name that this kind replaces; `None` if no kind of this name was
    /// registered. The replaced kind defines the settings that a location may have.
    replaced: Option<Arc<dyn RuntimeFactory>>,
}

impl Fixed {
    pub(super) fn new(runtime: Arc<dyn Runtime>, replaced: Option<Arc<dyn RuntimeFactory>>) -> Self {
        Self { runtime, replaced }
    }
}

impl RuntimeKind for Fixed {
    fn name(&self) -> &str {
        self.runtime.kind()
    }

    fn summary(&self) -> &str {
        self.replaced.as_ref().map_or("a runtime of this program", |replaced| replaced.summary())
    }

    fn image(&self) -> ImageUse {
        ImageUse::Optional
    }

    fn settings(&self) -> Vec<Setting> {
        self.replaced.as_ref().map(|replaced| replaced.settings()).unwrap_or_default()
    }

    fn check(&self, location: &mut Location) -> Vec<SettingProblem> {
        self.replaced.as_ref().map(|replaced| replaced.check(location)).unwrap_or_default()
    }
}

#[async_trait]
impl RuntimeFactory for Fixed {
    fn project(&self, _: &RuntimeContext) -> Arc<dyn ProjectRuntimes> {
        Arc::new(self.clone())
    }

    async fn doctor(&self, _: &RuntimeContext, _: &[Location]) -> Vec<RuntimeView> {
        vec![RuntimeView::new(self.name(), true, self.summary())]
    }
}

#[async_trait]
impl ProjectRuntimes for Fixed {
    async fn at(&self, _: &Location) -> Result<Arc<dyn Runtime>, String> {
        Ok(self.runtime.clone())
    }

    async fn with_jobs(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        Ok(vec![self.runtime.clone()])
    }

    async fn close(&self) -> Result<(), RuntimeError> {
        Ok(())
    }
}
