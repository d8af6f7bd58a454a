//! The connections of launched applications: services for components `reference.Service`, the instances of
//! factories, and references between instances.
//!
//! All of it is a view of records: it is resolved anew at each reading, and only the targets of references that have
//! gone are stored.
//!
//! | module | content |
//! |---|---|
//! | `view` | references with their states, ready for JSON |
//! | `past` | the targets that references had before these were removed |
//! | `reader` | `Wiring`: reading and resolution |
//! | `removal` | the references to something that is to be removed |

mod past;
mod reader;
mod removal;
mod view;

pub(crate) use self::reader::{Mapping, Wiring};
pub(crate) use self::removal::Removal;
pub use self::view::{InstanceReferenceView, ServiceReferenceView};
