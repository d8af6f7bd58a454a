//! The traits [`Driver`] and [`Context`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use thiserror::Error;
use windlass_executor::{Job, Outcome};
use windlass_model::name::DriverKind;
use windlass_model::record::{Effect, Failure};
use windlass_model::{Action, CommandName, Timestamp};

use crate::call::{Call, Input, Observed, Report, Settled};
use crate::keys::{Setting, SettingError};
use crate::location::Location;
use crate::masking::texts;
use crate::package::{Binding, Package};
use crate::problem::PackageProblem;
use crate::program::NeededProgram;
use crate::settings::CallSettings;

/// The characteristics of an action of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nature {
    /// Whether repeating the action does harm.
    pub effect: Effect,
    /// Whether [`Driver::observe`] can tell if the action was done.
    pub observable: bool,
    /// The key of a batch. The engine [observes](Driver::observe) calls together if they have the same key, action,
    /// package and location. `None` means that the engine observes each call alone.
    ///
    /// The key does not affect performing: the engine always passes a single call to [`Driver::perform`].
    pub batch: Option<String>,
    /// Maximum time from the start of the call until the instance has reached the state that the call requests.
    ///
    /// The value also limits the time that the driver itself may work on one answer. The time in which the driver waits
    /// for the answer of its [`Context`] does not count, because each job has its own timeout.
    pub timeout: Duration,
    /// Whether windlass learns the natural id of the instance only from the report of this action. For example, the
    /// script that launches a virtual machine reports the id that the cloud has chosen.
    pub names: bool,
}

/// A driver, which performs actions on instances by means of jobs.
///
/// Every driver must obey these rules:
///
/// - The driver takes its input only from its calls and its [`Context`].
/// - The driver acts on the outside world only through jobs of the context.
/// - The driver changes the records of an instance only through its reports.
/// - If the engine repeats a call, the driver requests the same jobs with the same names.
#[async_trait]
pub trait Driver: Send + Sync {
    /// Returns the name by which resource descriptors choose the driver.
    fn kind(&self) -> DriverKind;

    /// Returns the key of the driver's private state. Drivers with the same key share their private state.
    fn family(&self) -> &'static str;

    /// Returns the driver properties that resource descriptors may set for this driver. The check of a
    /// descriptor reports all other properties as [unknown](crate::properties::unknown). The default returns
    /// the properties that all drivers support.
    fn properties(&self) -> Vec<Setting> {
        CallSettings::described().into()
    }

    /// Returns the settings that the driver's entry of `drivers` in `windlass.yaml` may contain. The default
    /// returns none.
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// Returns a copy of this driver that uses the given settings of `windlass.yaml`. `None` means that the
    /// settings do not change the driver.
    ///
    /// The caller gives only keys that [`settings`](Self::settings) returns. Each scalar in the given values is
    /// text.
    ///
    /// # Errors
    /// Returns one error for each setting with an invalid value.
    fn configured(&self, _: &BTreeMap<String, Value>) -> Result<Option<Arc<dyn Driver>>, Vec<SettingError>> {
        Ok(None)
    }

    /// Checks a package: required files, executable bits, values of driver properties.
    fn check(&self, package: &Package) -> Vec<PackageProblem>;

    /// Returns the programs that the jobs of a package need at a location, and that are not part of the package. The
    /// check reports a needed program that is missing.
    fn programs(&self, _package: &Package, _location: &Location) -> Vec<NeededProgram> {
        Vec::new()
    }

    /// Returns the characteristics of an action; `None` if the action needs no call.
    fn nature(&self, package: &Package, action: &Action) -> Option<Nature>;

    /// Returns the length of the period in which a health check may report results of a command. The period begins with
    /// the command. `None` means that only the call itself can report results.
    fn late_results(&self, _package: &Package, _command: &CommandName) -> Option<Duration> {
        None
    }

    /// Tells whether the driver can use a new package to manage the instances of an old package. Both packages have
    /// the same name, but differ in their files or bindings.
    ///
    /// If true, the engine uses the new package from then on, and reconfigures the instance if the resource
    /// declares Reconfigure. If false, the engine uses the old package until the user replaces the instance.
    fn keeps(&self, _old: &Package, _new: &Package) -> bool {
        false
    }

    /// Returns the declared actions that use a file of a package. `None` means that each action may use the file.
    /// If the file has changed, windlass shows these actions in its messages.
    fn users(&self, _package: &Package, _path: &str) -> Option<Vec<Action>> {
        None
    }

    /// Performs the calls, and returns one result for each call.
    ///
    /// The engine always passes a single call. The conformance suite also passes several calls with the same action,
    /// package and location.
    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>>;

    /// Observes whether the instances of the calls have reached the requested states.
    ///
    /// An observation changes nothing in the outside world. If calls have the same [batch key](Nature::batch), the
    /// engine observes them together. The engine may observe a call again in a smaller group if its result is one of
    /// these:
    ///
    /// - a failure
    /// - [`CannotTell`](crate::Observation::CannotTell)
    /// - [`Unanswered`](crate::Observation::Unanswered)
    async fn observe(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>>;

    /// Finds existing instances at a location. For example, a descriptor contains a reference to a network, and the
    /// engine searches for this network.
    async fn discover(&self, context: &dyn Context, query: &Query) -> Result<Vec<Found>, Failure>;
}

/// A search for existing instances.
#[derive(Debug, Clone)]
pub struct Query {
    /// The package of the resource type.
    pub package: Arc<Package>,
    /// An entry of `queries` in the resource descriptor. The entry names this driver, and contains the driver
    /// properties.
    pub binding: Binding,
    /// The location to search.
    pub location: Arc<Location>,
    /// The configuration values for the search. Each key is the name of a value, such as `location.region`. The
    /// [configuration of a call](Call::configuration) has the same form.
    pub configuration: BTreeMap<String, Input>,
    /// The property values that an instance must have.
    pub properties: BTreeMap<String, Value>,
    /// The purpose of the search.
    pub purpose: Purpose,
}

impl Query {
    /// Returns the texts of the secrets in the configuration and the location. These texts must not appear in
    /// any log.
    pub fn secrets(&self) -> Vec<String> {
        let secret = self.configuration.values().filter(|input| input.sensitive);
        secret.flat_map(|input| texts(&input.value)).chain(self.location.secrets()).collect()
    }
}

/// The purpose of a search for existing instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Purpose {
    /// A search for the instances that have the [required properties](Query::properties). The engine searches in this
    /// way for:
    ///
    /// - the target of a reference in a descriptor, such as a network;
    /// - the existing instance that the transition Adopt takes over.
    #[default]
    Reference,
    /// A search for all instances that are or can become applications of one factory, such as all virtual machines in a
    /// cloud.
    ///
    /// [`Query::package`] is the package of the factory. This package does not declare the pins (values and commands)
    /// of the applications. So the driver accepts all pins in the updates of a [`Found`], and the engine checks the
    /// updates later.
    Inventory,
}

/// An existing instance that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The natural id of the instance.
    pub natural: String,
    /// A name of the instance for display, if the search reports one.
    pub name: Option<String>,
    /// The properties of the instance.
    pub properties: BTreeMap<String, Value>,
    /// The updates of the instance document, and the log entries. A failure means that the description of this instance
    /// violates the protocol. The descriptions of the other instances are not affected.
    ///
    /// A search may list an instance with the remark that the instance no longer exists. The field `settled` of the
    /// report is then [`Settled::Gone`].
    pub report: Result<Report, Failure>,
}

impl Found {
    /// Creates the description of a found instance. The description contains no name for display, and no updates of
    /// the instance document.
    pub fn new(natural: impl Into<String>, properties: BTreeMap<String, Value>) -> Self {
        let natural = natural.into();
        let report = Report { natural: Some(natural.clone()), ..Report::settled() };
        Self { natural, name: None, properties, report: Ok(report) }
    }

    /// Tells whether the search reports that the instance no longer exists.
    pub fn is_gone(&self) -> bool {
        self.report.as_ref().is_ok_and(|report| report.settled == Settled::Gone)
    }

    /// Removes the entry `name` from the updates of the instance document. The field [`name`](Self::name) does not
    /// change.
    ///
    /// The engine calls this method if the instance already has records in windlass, because such an instance keeps its
    /// recorded name.
    #[must_use]
    pub fn without_name(mut self) -> Self {
        let updates = self.report.as_mut().ok().and_then(|report| report.updates.as_object_mut());
        updates.and_then(|updates| updates.remove("name"));
        self
    }
}

/// The access of a driver to the outside world. The engine implements this trait, and journals all jobs and
/// checkpoints.
#[async_trait]
pub trait Context: Send + Sync {
    /// Runs a job at the location of the current calls, and returns the outcome of the job.
    ///
    /// `name` is unique among the jobs of the current calls. If the engine repeats the calls, the driver must give
    /// the same name to the same job. If a job with this name has already run, the method returns the recorded
    /// outcome of that job and runs nothing.
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure>;

    /// Records an intermediate result of a call. For example, a driver records the id of a new instance before it runs
    /// further jobs. `call` is the index of the call to which the report belongs.
    async fn checkpoint(&self, call: usize, report: Report) -> Result<(), Failure>;

    /// Registers secrets that the driver has found in the output of a job, such as values of
    /// [sensitive](Call::sensitive) output properties. The driver must call this method before any other use of the
    /// job's outcome.
    ///
    /// windlass masks these secrets in records. In output properties and in the private state, windlass encrypts these
    /// secrets.
    fn hide(&self, secrets: &[String]);

    /// Declares that the stdout of a job is text for people, and not an answer for the driver. The engine
    /// records this stdout like stderr, even if the job has succeeded. The default does nothing.
    fn show_stdout(&self, _job: &str) {}

    /// Tells whether the user requested a stop. A driver with several jobs calls this method between the jobs.
    fn cancelled(&self) -> bool;

    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The reason why a job has no outcome. The driver returns this failure unchanged as its answer to the call.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum JobFailure {
    /// The job was submitted, and its result can't be determined.
    #[error(transparent)]
    Lost(Failure),
    /// The job could not be run.
    #[error(transparent)]
    NotRun(Failure),
}

impl From<JobFailure> for Failure {
    fn from(failure: JobFailure) -> Self {
        match failure {
            JobFailure::Lost(failure) | JobFailure::NotRun(failure) => failure,
        }
    }
}

impl fmt::Debug for dyn Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("kind", &self.kind()).finish_non_exhaustive()
    }
}
