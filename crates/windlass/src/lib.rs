#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`open`](mod@open) | [`Windlass`]: a project with its store, drivers and runtimes |
//! | [`input`] | the descriptor, parameters and options of an assembly |
//! | [`intent`] | intents on assemblies: up, down, retry and other changes |
//! | [`launching`] | launched applications: launch, reconfiguration, commands ([`launching::Launcher`]) |
//! | [`started`] | processes that this program or another program executes |
//! | [`request`] | submitting intents to the daemon |
//! | `daemon` | the daemon: executes requests, reads metrics, applies policies and checks health (feature `daemon`) |
//! | [`transfer`] | moving an assembly to another store |
//! | [`saved`] | plans that are saved and applied later |
//! | [`check`](mod@check) | all problems of descriptors, packages and project files |
//! | [`repair`](mod@repair) | automatic fixes for problems that a check found |
//! | [`resolve`](mod@resolve) | a descriptor with all known values filled in |
//! | [`schema`](mod@schema) | JSON Schemas of the documents that users write |
//! | [`mod@prune`] | removal of old processes and versions ([`Upkeep`]) |
//! | [`forget`] | removal of the records of an assembly or of a part ([`Upkeep`]) |
//! | [`rename`] | renaming of an assembly ([`Upkeep`]) |
//! | [`applications`] | published applications and environments |
//! | [`wiring`] | references of an application to services of its environment, and to instances of other factories |
//! | [`graph`] | drawings of assemblies and plans |
//! | [`view`] | the data that commands show, such as a status or a plan, as versioned types for JSON ([`Views`]) |
//! | [`doctor`] | the runtimes of this machine, their isolation, and missing requirements |
//! | [`init`](mod@init) | the files of an example: an assembly of one component, which the user changes |
//! | [`script`](mod@script) | scripts run by hand, and test cases of packages |
//! | [`simulating`] | simulation of applications with their scripts, on a virtual clock ([`simulating::Simulator`]) |
//! | [`runtimes`] | the kinds of runtimes, and their registry |
//! | [`images`](mod@images) | images for sandboxes, built and stored without a container engine |
//! | [`explain`](mod@explain) | the codes of all crates, for diagnostics and errors |
//! | [`error`], [`codes`] | the errors of this crate, and their codes |
//!
//! The crates that this crate combines are re-exported under their own names: [`descriptor`], [`driver`],
//! [`engine`], [`executor`], [`lifecycle`], [`manifest`], [`model`], [`plan`], [`project`], [`secret`],
//! [`source`], [`store`].

pub mod applications;
mod blocking;
mod case_input;
pub mod changes;
pub mod check;
pub mod codes;
#[cfg(feature = "daemon")]
pub mod daemon;
mod desired;
pub mod doctor;
pub mod document;
mod duty_timing;
pub mod error;
pub mod explain;
#[cfg(feature = "daemon")]
mod file_version;
pub mod forget;
pub mod format;
pub mod graph;
pub mod images;
pub mod init;
pub mod input;
pub mod intent;
mod known;
pub mod launching;
pub mod live;
pub mod log_stream;
mod manifests;
mod misfits;
mod nesting;
pub mod open;
mod pages;
mod placements;
mod places;
mod programs;
pub mod prune;
mod published;
mod references;
pub mod rename;
pub mod repair;
pub mod request;
pub mod resolve;
pub mod runtimes;
pub mod saved;
pub mod schema;
pub mod script;
pub mod script_files;
pub mod simulating;
pub mod started;
mod stores;
mod supervise;
mod system;
pub mod transfer;
mod upkeep;
pub mod view;
pub mod wiring;

pub use windlass_descriptor as descriptor;
pub use windlass_driver as driver;
pub use windlass_engine as engine;
pub use windlass_executor as executor;
pub use windlass_lifecycle as lifecycle;
pub use windlass_manifest as manifest;
pub use windlass_model as model;
pub use windlass_plan as plan;
pub use windlass_project as project;
pub use windlass_secret as secret;
pub use windlass_source as source;
pub use windlass_store as store;
pub use windlass_update_ops as update_ops;

pub use applications::{ApplicationError, Applications, Environments, Publication};
pub use error::Error;
pub use input::{AssemblyInput, REFRESH_TIMEOUT};
pub use open::{Settings, Windlass, drivers};
pub use request::Pending;
pub use runtimes::{RuntimeFactory, RuntimeRegistry};
pub use saved::SavedPlan;
pub use started::{Following, Started};
pub use supervise::supervise;
pub use upkeep::Upkeep;
pub use view::Views;
