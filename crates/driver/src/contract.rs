//! The traits [`Driver`] and [`Context`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_executor::{Job, Outcome};
use windlass_model::name::DriverKind;
use windlass_model::record::{Effect, Failure};
use windlass_model::{Action, Timestamp};
use windlass_source::Diagnostic;

use crate::call::{Call, Observed, Report};
use crate::location::Location;
use crate::package::{Binding, Package};

/// What an action of a resource is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nature {
    /// Whether doing it twice does harm.
    pub effect: Effect,
    /// Whether [`Driver::observe`] can tell if it was done.
    pub observable: bool,
    /// Calls with the same key may be made together.
    pub batch: Option<String>,
    /// How long it may take until the instance has settled.
    pub timeout: Duration,
    /// Whether its report tells the driver's own id of the instance, which nobody can tell without that report.
    pub names: bool,
}

/// Brings parts to life.
///
/// A driver is pure towards the engine: it reads nothing but its calls, changes nothing but through its reports, and
/// does nothing in the world but through jobs of its [`Context`]. Called again with the same calls it asks for the
/// same jobs by the same names.
#[async_trait]
pub trait Driver: Send + Sync {
    /// Returns the name under which resource descriptors choose it.
    fn kind(&self) -> DriverKind;

    /// Returns the key of its private notes; drivers that share notes share the key.
    fn family(&self) -> &'static str;

    /// Checks a package: files that must be there, run bits, driver properties.
    fn check(&self, package: &Package) -> Vec<Diagnostic>;

    /// Returns what an action is like; none when there is nothing to do for it.
    fn nature(&self, package: &Package, action: &Action) -> Option<Nature>;

    /// Does what the calls ask, and answers each of them. Calls made together share action, package and location.
    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>>;

    /// Looks whether what the calls ask has been reached. Changes nothing outside.
    async fn observe(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>>;

    /// Finds what exists at a location and is not known yet, as for references.
    async fn discover(&self, context: &dyn Context, query: &Query) -> Result<Vec<Found>, Failure>;
}

/// A question for what exists.
#[derive(Debug, Clone)]
pub struct Query {
    /// The package of the resource that is looked for.
    pub package: Arc<Package>,
    /// The part of its descriptor that chose the driver: one of its `queries`.
    pub binding: Binding,
    /// Where.
    pub location: Arc<Location>,
    /// What it must look like.
    pub properties: BTreeMap<String, serde_json::Value>,
}

/// Something that exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The driver's own id of it.
    pub natural: String,
    /// Its properties.
    pub properties: BTreeMap<String, serde_json::Value>,
}

/// What a driver may do in the world. The engine implements it, and journals what goes through it.
#[async_trait]
pub trait Context: Send + Sync {
    /// Runs a job at the calls' location and returns how it ended. `name` is unique within the calls, and the same
    /// when they are made again: a job of that name that has run already answers with what it did then.
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure>;

    /// Makes an intermediate result durable: an id the moment it is known. The report belongs to `calls[call]`.
    async fn checkpoint(&self, call: usize, report: Report) -> Result<(), Failure>;

    /// Says what else must not be seen of the calls' jobs: values of [sensitive](Call::sensitive) properties that they
    /// publish. To be said before anything else is made of a job's outcome.
    fn hide(&self, secrets: &[String]);

    /// Tells whether the user wants to stop. Long drivers ask between jobs.
    fn cancelled(&self) -> bool;

    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// Why a job has no outcome. A driver passes it on unchanged.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JobFailure {
    /// It was submitted, and how it ended can't be known.
    Lost(Failure),
    /// It could not be run at all.
    NotRun(Failure),
}

impl From<JobFailure> for Failure {
    fn from(failure: JobFailure) -> Self {
        match failure {
            JobFailure::Lost(failure) | JobFailure::NotRun(failure) => failure,
        }
    }
}

/// The drivers that are at hand, by kind.
#[derive(Clone, Default)]
pub struct Registry {
    drivers: BTreeMap<DriverKind, Arc<dyn Driver>>,
}

impl Registry {
    /// Makes an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a driver under its kind.
    #[must_use]
    pub fn with(mut self, driver: impl Driver + 'static) -> Self {
        self.drivers.insert(driver.kind(), Arc::new(driver));
        self
    }

    /// Finds a driver.
    pub fn get(&self, kind: &DriverKind) -> Option<&Arc<dyn Driver>> {
        self.drivers.get(kind)
    }

    /// Returns the kinds at hand, sorted.
    pub fn kinds(&self) -> impl Iterator<Item = &DriverKind> {
        self.drivers.keys()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.kinds()).finish()
    }
}
