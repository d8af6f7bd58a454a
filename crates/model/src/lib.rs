//! The shared types of windlass: names, versions, ids, states, instances, assemblies and their records.
//!
//! This crate is pure data. It reads no text, plans nothing and executes nothing. It has two halves, each
//! with its own writer.
//!
//! * [`instance`] is the document that *drivers* change, only through update commands: natural id, status,
//!   interfaces and their signals, references, activity log, command results.
//! * [`assembly`] belongs to the *engine*: the desired topology, and the state of each element.
//!
//! A driver never writes a lifecycle [`State`], and the engine never writes a status flag. An output property
//! is a signal of the interface `properties` of its instance. There is no second copy of it.
//!
//! The modules, in the order of the data flow:
//!
//! | module | content |
//! |---|---|
//! | [`name`] | validated names: assemblies, components, elements, properties |
//! | [`version`] | versions of one or more parts, and ranges of them |
//! | [`id`], [`clock`] | ids and time, both injected |
//! | [`state`] | lifecycle states, transitions, and the table between them |
//! | [`template`] | property values with references, bound to elements |
//! | [`assembly`] | the desired topology: elements and relationships |
//! | [`work`] | the work of the steps of a plan, and the reasons of their waits |
//! | [`policy`] | metrics of elements, and the policies that read them |
//! | [`resolve`] | the values of properties, or the outputs that they await |
//! | [`instance`] | the document that drivers change |
//! | [`instance_report`], [`instance_changes`] | updates of an instance document, and changes between two |
//! | [`pins`] | the pins of applications, and their types |
//! | [`links`] | adjacency lists of graphs and trees |
//! | [`record`] | the records of the store: elements, processes, steps, calls, jobs, events |
//! | [`document`] | documents of other crates, with a revision |
//! | [`request`] | intents that are queued for another process |
//! | [`rename`] | renaming of an assembly in its records |
//! | [`retention`] | the retention of an assembly's history |
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
pub mod document;
pub mod id;
pub mod instance;
pub mod instance_changes;
pub mod instance_report;
pub mod links;
pub mod name;
mod newtype;
pub mod pins;
pub mod policy;
pub mod record;
mod references;
pub mod rename;
pub mod request;
pub mod resolve;
pub mod retention;
pub mod state;
pub mod template;
pub mod version;
pub mod work;

pub use assembly::{Action, Element, ElementKind, Origin, Relationship, Side, Topology};
pub use clock::{Clock, Timestamp};
pub use id::{CallId, CommandId, Epoch, InstanceId, ProcessId, RequestId, Seq, StepId, TransferId};
pub use name::{
    AssemblyName, CommandName, ComponentName, DescriptorName, ElementName, OperationName, PropertyName,
};
pub use state::{Modifier, State, Transition, Transitions};
pub use template::{Part, Template};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
