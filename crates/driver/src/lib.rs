//! The interface between the engine and the drivers that create and change instances.
//!
//! A [`Driver`] turns a [`Call`] into a [`Report`]. The call requests an action on an instance, with
//! properties and a location. The report contains updates of the instance, and tells whether the instance has settled.
//! A driver runs jobs through its [`Context`], and the engine journals the jobs. After a crash the engine
//! repeats the call. A job that has already ended returns its recorded outcome instead of running again.
//!
//! A driver declares the [`Effect`] of each action, and whether the driver can [observe](Driver::observe) the result. A
//! job is *lost* if the job may have run, and the engine can't determine the outcome. The effect of the action
//! determines how the engine continues after a lost job:
//!
//! | effect | meaning | after a lost job |
//! |---|---|---|
//! | `none` | the action needs no call, for example because the resource does not declare the action | no job exists |
//! | `repeatable` | repeating the action does no harm | repeat the call, with the same id |
//! | `once` | repeating the action may do harm | observe if possible, otherwise stop and ask the user |
//!
//! The modules, in data-flow order:
//!
//! | module | content |
//! |---|---|
//! | `masking` | [`texts`]: all texts and numbers in a value, so that a secret value can be masked |
//! | [`location`] | locations, and the properties by which a component chooses its location |
//! | [`package`] | the files of a resource, and its driver bindings |
//! | `keys` | [`Setting`]: a key with the schema of its value |
//! | `settings` | [`CallSettings`]: the driver properties that all drivers support |
//! | `problem` | [`PackageProblem`]: a problem of a package, with the declaration that is wrong |
//! | `program` | [`NeededProgram`]: a program that the jobs of a package need, such as an interpreter |
//! | [`call`] | calls to drivers, and their reports |
//! | [`contract`] | the traits [`Driver`] and [`Context`] |
//! | [`case`] | test cases of packages: the input of one call, and its expected result |
//! | `stop` | [`Stop`]: a request to stop running work |
//! | `registry` | [`Registry`]: the available drivers |
//! | `unrecorded` | [`Unrecorded`]: a context that runs jobs and records nothing |
//! | [`properties`] | the diagnostic for a driver property that the driver does not support |
//! | [`noop`] | a driver without jobs |
//! | [`codes`] | the codes of diagnostics |
//! | `testing` | the conformance suite, available with the feature `testing` |
//!
//! The README contains a complete driver. This example asks a driver for the characteristics of an action:
//!
//! ```
//! use windlass_driver::{Bindings, Driver, Package, noop::Noop};
//! use windlass_model::{Action, Transition};
//!
//! // The package declares no action, so `Start` changes the state without a call.
//! let package = Package::new("resource::router::1.0".parse()?, Bindings::default(), Vec::new());
//! assert!(Noop.nature(&package, &Action::Transition(Transition::Start)).is_none());
//! # Ok::<(), windlass_model::name::NameError>(())
//! ```

pub mod call;
pub mod case;
pub mod codes;
pub mod contract;
mod keys;
pub mod location;
mod masking;
pub mod noop;
pub mod package;
mod problem;
mod program;
pub mod properties;
mod registry;
mod settings;
mod stop;
#[cfg(feature = "testing")]
pub mod testing;
mod unrecorded;

pub use call::{Call, Input, Observation, Observed, OpenCommand, PrivateState, Question, Report, Settled};
pub use contract::{Context, Driver, Found, JobFailure, Nature, Purpose, Query};
pub use keys::{Setting, SettingError};
pub use location::{Location, Placement, PoolSecrets};
pub use masking::texts;
pub use package::{Binding, Bindings, CommandArgument, Package};
pub use problem::{Declaration, PackageProblem};
pub use program::NeededProgram;
pub use registry::{Registry, panic_text};
pub use settings::{CallSettingError, CallSettings, duration_schema, setting, text_of_setting};
pub use stop::Stop;
pub use unrecorded::Unrecorded;
pub use windlass_model::clock::duration;
pub use windlass_model::record::{Effect, Failure, FailureKind};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
