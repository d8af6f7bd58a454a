//! Launched applications. Each launched application is an assembly of one scripted component.
//!
//! Like every assembly, an application has a lease, a history and recovery. windlass builds the engine's
//! input for an application from a published revision and the services of an environment. For any other
//! assembly, windlass builds this input from a descriptor.
//!
//! | module | content |
//! |---|---|
//! | `codes`, `error` | the errors, and their codes |
//! | `title` | names of new assemblies |
//! | `desired` | the engine's input for an application |
//! | `managed` | the recorded applications of a factory |
//! | `relatives` | other factories of the same manifest, which may manage the same instances |
//! | `discovery` | discovery by the script of a factory, and adoption of the found instances |
//! | `launcher` | [`Launcher`]: launches, reconfigurations and checks |
//! | `commands` | commands of applications, and their results |
//! | `jobs` | recorded jobs, and the replay of their output |

pub mod codes;
mod commands;
mod desired;
mod discovery;
mod error;
mod jobs;
mod launcher;
mod managed;
mod relatives;
mod title;

pub(crate) use commands::{Called, called, commands};
pub use commands::{CalledCommandView, CommandView, CommandsView};
pub(crate) use desired::{Inputs, Launchable, desired};
pub(crate) use discovery::name_base;
pub use discovery::{DiscoverOptions, DiscoveryView, FoundView};
pub use error::LaunchError;
pub(crate) use error::described;
pub use jobs::{JobSummary, JobView, JobsView, ReplayView, ReplayedView};
pub use launcher::{LaunchInput, Launcher, ReconfigureInput};
pub(crate) use managed::{Decision, Known};
pub(crate) use title::free_from;
