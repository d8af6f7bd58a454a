//! The types that the crates of windlass share: names, versions, ids, states, instance documents, topologies
//! and records.
//!
//! This crate is pure data: it parses no descriptors, plans nothing and executes nothing. Two kinds of its
//! data have different writers:
//!
//! * [`instance`]: *Drivers* change the instance document, and only by checked updates. The document contains
//!   the name, the status, the signals of interfaces, the references of components, the activity log and the
//!   results of commands.
//! * [`assembly`] and [`record`]: The *engine* writes the desired topology, and the records such as the state
//!   of each element.
//!
//! A driver never writes a lifecycle [`State`]. An output property is a signal of the interface `properties`
//! in the instance document, and no second copy of it exists.
//!
//! The modules, in the order of the data flow:
//!
//! | module | content |
//! |---|---|
//! | [`name`] | validated names: assemblies, components, elements, properties |
//! | [`version`] | versions of one or more numbers, and ranges of versions |
//! | [`id`], [`clock`] | ids and times, and the traits `Entropy` and `Clock` by which a program supplies them |
//! | [`state`] | lifecycle states, the transitions between states, and the states after failed transitions |
//! | [`template`] | property values, whose references `${…}` are bound to elements |
//! | [`assembly`] | the desired topology: elements and relationships |
//! | [`work`] | the work of the steps of a plan, and the reasons why steps wait for each other |
//! | [`policy`] | metrics of elements, and the policies that read them |
//! | [`resolve`] | the values of properties: computes each value, or lists the outputs that the value awaits |
//! | [`instance`] | the document that drivers change |
//! | [`instance_report`], [`instance_changes`] | updates of an instance document, and differences between two documents |
//! | [`pins`] | the pins of applications, and their types |
//! | [`sorted`] | JSON whose objects have sorted members |
//! | [`links`] | adjacency lists of graphs and trees |
//! | [`record`] | the records of the store: elements, processes, steps, calls, jobs, events |
//! | [`document`] | documents of other crates, with a revision |
//! | [`request`] | intents that are queued for the daemon |
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
pub mod sorted;
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
