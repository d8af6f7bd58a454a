//! The kind of runtime that runs jobs in containers of an engine: Docker or Podman.

mod doctor;
mod engine;
mod notes;
mod save;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::OnceCell;
use windlass_driver::Location;
use windlass_executor::docker::volume_problem;
use windlass_executor::{Runtime, RuntimeError};
use windlass_project::{ImageUse, RuntimeKind, Setting, SettingProblem};

use self::engine::OpenEngine;
use self::notes::{Noted, Notes};
pub(crate) use self::save::save;
use super::factory::{ProjectRuntimes, RuntimeContext, RuntimeFactory, RuntimeView};
use super::volumes::refused_volumes;
use crate::blocking::blocking;
use crate::error::chain;

const NAME: &str = "docker";

/// The folder of the pools' files, below the state folder.
const POOLS: &str = "pool";

pub(super) struct Docker;

impl RuntimeKind for Docker {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "containers of an engine"
    }

    fn image(&self) -> ImageUse {
        ImageUse::Required
    }

    fn settings(&self) -> Vec<Setting> {
        settings::settings()
    }

    fn check(&self, location: &mut Location) -> Vec<SettingProblem> {
        let mut problems = settings::check(location);
        problems.extend(refused_volumes(location, volume_problem));
        problems
    }
}

#[async_trait]
impl RuntimeFactory for Docker {
    fn project(&self, context: &RuntimeContext) -> Arc<dyn ProjectRuntimes> {
        let notes = Notes::new(&context.state);
        Arc::new(Engines { context: context.clone(), notes, cells: Mutex::default() })
    }

    async fn doctor(&self, context: &RuntimeContext, locations: &[Location]) -> Vec<RuntimeView> {
        let mut views = Vec::new();
        for name in doctor::engines(locations) {
            views.push(doctor::inspect(context, &name).await);
        }
        views
    }
}

struct Engines {
    context: RuntimeContext,
    notes: Notes,
    cells: Mutex<BTreeMap<String, Cell>>,
}

/// A place for an open engine. The place is empty until the engine is used for the first time.
type Cell = Arc<OnceCell<OpenEngine>>;

impl Engines {
    fn cells(&self) -> MutexGuard<'_, BTreeMap<String, Cell>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cell(&self, name: &str) -> Cell {
        self.cells().entry(name.to_owned()).or_default().clone()
    }

    async fn open<'c>(&self, cell: &'c Cell, name: &str) -> Result<&'c OpenEngine, String> {
        cell.get_or_try_init(async || {
            let (engine, fresh) = engine::connect(name, &self.context).await?;
            // The note records that this process uses the engine. It is written before the first job is started.
            // If this process crashes, a later command finds the engine, and its jobs, by the note.
            let (notes, engine_name, client) =
                (self.notes.clone(), name.to_owned(), fresh.client().to_owned());
            let note = blocking(move || notes.add(&engine_name, &client)).await;
            let note = note.map_err(|error| self.unnoted(&error))?;
            OpenEngine::new(engine, fresh, note).await
        })
        .await
    }

    async fn noted(&self) -> io::Result<Vec<Noted>> {
        let notes = self.notes.clone();
        blocking(move || notes.all()).await
    }

    fn unnoted(&self, error: &io::Error) -> String {
        format!("the list of used engines can't be written to `{}`: {error}", self.notes.folder().display())
    }

    /// Removes the note `noted`, which records that a client uses `engine`. A client is the connection of one windlass
    /// program to the engine.
    ///
    /// The note stays if the engine still has a container of the client, or if the engine does not answer. The next
    /// command then queries the engine again.
    async fn forget(&self, engine: &OpenEngine, noted: &Noted) {
        if !engine.is_left_by(noted.client.as_deref()).await {
            return;
        }
        let own = engine.take_note(noted.client.as_deref());
        let (folder, noted) = (self.notes.clone(), noted.clone());
        let forgotten = blocking(move || match own {
            Some(note) => note.remove(),
            None => folder.remove(&noted),
        });
        let _asked_for_again = forgotten.await;
    }
}

#[async_trait]
impl ProjectRuntimes for Engines {
    async fn at(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        let name = settings::engine(location);
        let cell = self.cell(name);
        let engine = self.open(&cell, name).await?;
        let Some(size) = settings::pool(location) else { return Ok(engine.fresh()) };
        let folder = self.context.state.join(POOLS).join(folder_name(name));
        Ok(engine.pool(size, folder).await.map_err(|error| chain(&error))?)
    }

    async fn with_jobs(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        let noted = self.noted().await.map_err(|error| self.unnoted(&error))?;
        let mut all: Vec<Arc<dyn Runtime>> = Vec::new();
        for name in noted.into_iter().map(|noted| noted.engine).collect::<BTreeSet<_>>() {
            let cell = self.cell(&name);
            let engine = self.open(&cell, &name).await.map_err(|why| {
                format!(
                    "{why}; it may still run jobs of this project. If `{name}` is gone for good, remove the file that names it \
                     from `{}`",
                    self.notes.folder().display()
                )
            })?;
            all.push(engine.fresh());
        }
        Ok(all)
    }

    async fn close(&self) -> Result<(), RuntimeError> {
        let cells = std::mem::take(&mut *self.cells());
        let noted = self.noted().await.unwrap_or_default();
        for (name, cell) in &cells {
            let Some(engine) = cell.get() else { continue };
            engine.close().await;
            for noted in noted.iter().filter(|noted| noted.engine == *name) {
                self.forget(engine, noted).await;
            }
        }
        let (pools, folder) = (self.context.state.join(POOLS), self.notes.clone());
        blocking(move || {
            // A pool removes its folder when it is dropped.
            drop(cells);
            let _in_use = std::fs::remove_dir(pools);
            let _left_for_the_next = folder.tidy();
        })
        .await;
        Ok(())
    }
}

/// Returns the name of the folder for the files of an engine's pools. The name of an engine can be an address such as
/// `tcp://build-1:2375`. So each byte that is not an ASCII letter or digit becomes `-` and two hexadecimal digits.
///
/// Each engine has its own folder, because pools with the same folder share their warm containers.
fn folder_name(engine: &str) -> String {
    let mut name = String::new();
    for byte in engine.bytes() {
        if byte.is_ascii_alphanumeric() {
            name.push(char::from(byte));
        } else {
            let _infallible = write!(name, "-{byte:02x}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::folder_name;

    #[test]
    fn engines_with_similar_names_have_different_folders() {
        assert_eq!(folder_name("docker"), "docker");
        assert_eq!(folder_name("tcp://a-b:1"), "tcp-3a-2f-2fa-2db-3a1");
        assert_ne!(folder_name("tcp://a-b:1"), folder_name("tcp://a.b:1"));
    }
}
