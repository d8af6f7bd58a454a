//! The contract between the engine and whatever brings a part to life.
//!
//! A [`Driver`] turns a [`Call`] (do this transition of that instance, with these properties, at that location) into
//! a [`Report`] (updates of the instance, and whether it has settled). What it runs, it runs as jobs through its
//! [`Context`], which the engine journals: when the machine dies in the middle, the engine makes the same call again,
//! and every job that was submitted answers from what it did instead of running a second time.
//!
//! A driver promises for each action what [`Effect`] it has, and whether its result can be
//! [observed](Driver::observe). Recovery rests on that promise:
//!
//! | effect | which | after a lost job |
//! |---|---|---|
//! | `none` | the resource does not declare the action | nothing was to be done |
//! | `repeatable` | doing it twice does no harm | run it again, with the same call id |
//! | `once` | everything else | observe if that is possible, else stop and ask |
//!
//! The modules, in the order of the data's way:
//!
//! | module | it has |
//! |---|---|
//! | [`location`] | where a part is placed, and with which runtime |
//! | [`package`] | a resource's files and what its descriptor says of drivers |
//! | [`call`] | what a driver is asked, and what it answers |
//! | [`contract`] | the traits [`Driver`] and [`Context`] |
//! | [`noop`] | the driver that does nothing |
//! | [`codes`] | what can be wrong with the properties of that driver |
//!
//! The README has a whole driver. To ask one what it would do for a package:
//!
//! ```
//! use windlass_driver::{Bindings, Driver, Package, noop::Noop};
//! use windlass_model::{Action, Transition};
//!
//! // Nothing is declared, so `Start` moves the state and calls nobody.
//! let package = Package::new("resource::router::1.0".parse()?, Bindings::default(), Vec::new());
//! assert!(Noop.nature(&package, &Action::Transition(Transition::Start)).is_none());
//! # Ok::<(), windlass_model::name::NameError>(())
//! ```

pub mod call;
pub mod codes;
pub mod contract;
pub mod location;
pub mod noop;
pub mod package;

pub use call::{Call, Input, Observation, Observed, Report, Settled, texts};
pub use contract::{Context, Driver, Found, JobFailure, Nature, Query, Registry};
pub use location::{Location, Placement, PoolSecrets};
pub use package::{Binding, Bindings, Package};
pub use windlass_model::record::{Effect, Failure, FailureKind};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
