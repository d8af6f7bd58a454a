//! The kinds of runtimes. A kind declares its settings in `windlass.yaml`, and opens and inspects its runtimes.
//!
//! Each kind has its own module with a [`RuntimeFactory`]. [`RuntimeRegistry::default`] registers these factories.
//!
//! ```
//! use windlass::runtimes::RuntimeRegistry;
//!
//! let names: Vec<_> = RuntimeRegistry::default().kinds().names().map(str::to_owned).collect();
//! assert_eq!(names, ["process", "sandbox", "docker"]);
//! ```

#[cfg(feature = "docker")]
mod docker;
mod exec_job;
mod factory;
mod fixed;
mod host;
mod local;
mod opened;
mod process;
mod sandbox;
mod volumes;

use std::sync::Arc;

pub use exec_job::exec_job_id;
pub use factory::{ProjectRuntimes, RuntimeContext, RuntimeFactory, RuntimeView, Variables};
pub(crate) use opened::Runtimes;
use windlass_driver::Location;
use windlass_executor::Runtime;
use windlass_project::{RuntimeKind, RuntimeKinds};

#[cfg(feature = "docker")]
use self::docker::Docker;
use self::fixed::Fixed;
use self::process::Process;
use self::sandbox::Sandbox;

/// Saves an image of Docker or Podman to a new file. Asks one engine after the other, until an engine saves the image.
/// If no engine saves the image, returns the reason of each engine.
#[cfg(feature = "docker")]
pub(crate) use docker::save as save_from_engine;

/// Fails, because this build supports no container engines.
#[cfg(not(feature = "docker"))]
#[expect(clippy::unused_async, reason = "as with engines")]
pub(crate) async fn save_from_engine<E>(
    _: &str,
    _: impl Fn() -> Result<tempfile::NamedTempFile, E>,
    _: &Variables,
) -> Result<Result<tempfile::NamedTempFile, Vec<String>>, E> {
    Ok(Err(vec!["this build of windlass uses no engine".to_owned()]))
}

/// The registered kinds of runtimes. If a location has no key `runtime`, it gets the kind that accepts the
/// most keys of the location. If several kinds accept equally many keys, the location gets the kind that was
/// registered first.
#[derive(Clone)]
pub struct RuntimeRegistry(Vec<Arc<dyn RuntimeFactory>>);

impl Default for RuntimeRegistry {
    /// Returns a registry with the kinds of this crate.
    fn default() -> Self {
        Self(vec![
            Arc::new(Process),
            Arc::new(Sandbox),
            #[cfg(feature = "docker")]
            Arc::new(Docker),
        ])
    }
}

impl std::fmt::Debug for RuntimeRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kinds().fmt(f)
    }
}

impl RuntimeRegistry {
    /// Adds a kind of runtime. If the registry has a kind of the same name, the new kind replaces that kind, at the
    /// same position.
    #[must_use]
    pub fn with(mut self, factory: Arc<dyn RuntimeFactory>) -> Self {
        match self.0.iter_mut().find(|known| known.name() == factory.name()) {
            Some(known) => *known = factory,
            None => self.0.push(factory),
        }
        self
    }

    /// Adds the [kind](Runtime::kind) of `runtime` to the registry. `runtime` serves all locations of this kind. If the
    /// registry already has a kind of the same name, the added kind replaces the old kind, and accepts the settings of
    /// the old kind.
    #[must_use]
    pub(crate) fn with_runtime(self, runtime: Arc<dyn Runtime>) -> Self {
        let replaced = self.0.iter().find(|known| known.name() == runtime.kind()).cloned();
        self.with(Arc::new(Fixed::new(runtime, replaced)))
    }

    /// Returns the kinds in the form that the crate `project` needs to read `windlass.yaml`.
    pub fn kinds(&self) -> RuntimeKinds {
        self.0.iter().map(|factory| Arc::clone(factory) as Arc<dyn RuntimeKind>).collect()
    }

    /// Tells whether a program is missing where the jobs of a location run. `false` if that is unknown.
    pub(crate) fn lacks(&self, location: &Location, program: &str) -> bool {
        self.0
            .iter()
            .find(|kind| kind.name() == location.runtime)
            .is_some_and(|kind| kind.lacks(location, program))
    }

    /// Returns the factories of runtimes, in the order of registration.
    pub(crate) fn factories(&self) -> &[Arc<dyn RuntimeFactory>] {
        &self.0
    }
}
