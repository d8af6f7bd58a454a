//! A runtime on this host. It keeps its jobs in a folder of the project's state.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::future::BoxFuture;
use tokio::sync::OnceCell;
use windlass_driver::Location;
use windlass_executor::{Owner, Runtime, RuntimeError};

use super::exec_job::submitter;
use super::factory::ProjectRuntimes;
use crate::blocking::blocking;
use crate::error::chain;

/// The runtime of all locations of a kind, opened at its first use. Opening it may block.
pub(super) struct Local<R> {
    folder: PathBuf,
    open: Arc<dyn Fn() -> Result<R, RuntimeError> + Send + Sync>,
    close: fn(&R) -> BoxFuture<'_, Result<(), RuntimeError>>,
    opened: Mutex<Arc<OnceCell<Arc<R>>>>,
}

impl<R: Runtime + 'static> Local<R> {
    /// Creates a runtime that is not open yet. `folder` contains the runtime's jobs. If the folder does not
    /// exist, there are no jobs.
    pub(super) fn new(
        folder: PathBuf,
        open: impl Fn() -> Result<R, RuntimeError> + Send + Sync + 'static,
        close: fn(&R) -> BoxFuture<'_, Result<(), RuntimeError>>,
    ) -> Self {
        Self { folder, open: Arc::new(open), close, opened: Mutex::default() }
    }

    fn opened(&self) -> MutexGuard<'_, Arc<OnceCell<Arc<R>>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn get(&self) -> Result<Arc<R>, RuntimeError> {
        let cell = self.opened().clone();
        let open = async || {
            let open = self.open.clone();
            blocking(move || open()).await.map(Arc::new)
        };
        cell.get_or_try_init(open).await.cloned()
    }

    async fn may_have_jobs(&self) -> bool {
        let folder = self.folder.clone();
        blocking(move || folder.exists()).await
    }
}

#[async_trait]
impl<R: Runtime + 'static> ProjectRuntimes for Local<R> {
    async fn at(&self, _: &Location) -> Result<Arc<dyn Runtime>, String> {
        Ok(self.get().await.map_err(|error| chain(&error))?)
    }

    async fn with_jobs(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        if !self.may_have_jobs().await {
            return Ok(Vec::new());
        }
        Ok(vec![self.get().await.map_err(|error| chain(&error))?])
    }

    async fn close(&self) -> Result<(), RuntimeError> {
        // Killed windlass programs may have left folders. They are removed when the runtime is opened, so a
        // runtime that may have jobs is opened here.
        if self.may_have_jobs().await {
            self.get().await?;
        }
        let opened = std::mem::take(&mut *self.opened());
        if let Some(runtime) = opened.get() {
            remove_jobs_by_hand(&**runtime).await;
            (self.close)(runtime).await?;
        }
        // Dropping a runtime removes its working folder.
        blocking(move || drop(opened)).await;
        Ok(())
    }
}

/// Removes ended jobs whose `windlass exec` command was killed. Only this command would have read the job's result.
async fn remove_jobs_by_hand(runtime: &dyn Runtime) {
    for id in runtime.list(&Owner::default()).await.unwrap_or_default() {
        let is_dead = |process: u32| !Path::new("/proc").join(process.to_string()).exists();
        if submitter(&id).is_some_and(is_dead) {
            // A job that still runs is left alone.
            let _swept_later = runtime.remove(&id).await;
        }
    }
}
