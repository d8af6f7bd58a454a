//! The nouns of windlass: names, versions, ids, states, instances, assemblies and what is recorded of them.
//!
//! This crate is pure data: no text is read, nothing is planned or run here. It has two halves with two writers.
//!
//! * [`instance`] is the document that *drivers* change, only through update commands: natural id, status,
//!   interfaces and their signals, references, activity log, command results.
//! * [`assembly`] is the *engine's*: the topology that a user wants, and for each element the state it has reached.
//!
//! A driver never writes a lifecycle [`State`], the engine never a status flag. What a driver publishes as an
//! output property is a signal of the interface `properties` of its instance, and there is no second copy.
//!
//! The modules, in the order of the data's way:
//!
//! | module | it has |
//! |---|---|
//! | [`name`] | validated names: assemblies, components, elements, properties |
//! | [`version`] | versions of one or more parts, and ranges of them |
//! | [`id`], [`clock`] | ids and time, both injected |
//! | [`state`] | lifecycle states, transitions, and the table between them |
//! | [`template`] | property values with references, bound to elements |
//! | [`assembly`] | the desired topology: elements and relationships |
//! | [`work`] | the work of the steps of a plan, and the reasons why they wait |
//! | [`policy`] | what elements measure of themselves, and what follows from it |
//! | [`resolve`] | a property's value, or what it still waits for |
//! | [`instance`] | the document that drivers change |
//! | [`links`] | graphs and trees in two flat lists |
//! | [`record`] | what the store keeps: elements, processes, steps, calls, jobs, events |
//! | [`request`] | intents that are left for another process to carry out |
//!
//! ```
//! use windlass_model::{AssemblyName, ComponentName, ElementName, State, Transition};
//!
//! let assembly: AssemblyName = "h_bta".parse()?;
//! let b: ComponentName = "B".parse()?;
//! let node = ElementName::from(&assembly).child(&b).node(2);
//! assert_eq!(node.to_string(), "h_bta__B__2");
//!
//! assert_eq!(Transition::Configure.target(), State::Inactive);
//! assert_eq!(Transition::Configure.on_failure(State::Installed), State::Installed);
//! # Ok::<(), windlass_model::name::NameError>(())
//! ```

pub mod assembly;
pub mod clock;
pub mod id;
pub mod instance;
pub mod links;
pub mod name;
mod newtype;
pub mod policy;
pub mod record;
mod references;
pub mod request;
pub mod resolve;
pub mod retention;
pub mod state;
pub mod template;
pub mod version;
pub mod work;

pub use assembly::{Action, Element, ElementKind, Origin, Relationship, Side, Topology};
pub use clock::{Clock, Timestamp};
pub use id::{CallId, Epoch, InstanceId, ProcessId, RequestId, Seq, StepId, TransferId};
pub use name::{AssemblyName, ComponentName, DescriptorName, ElementName, OperationName, PropertyName};
pub use state::{Modifier, State, Transition, Transitions};
pub use template::{Part, Template};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
