//! The connections of launched applications: services for components `reference.Service`, the instances of
//! factories, and references between instances.
//!
//! These connections are not stored: each reading resolves them from the records. Only the removed targets of
//! references are stored.
//!
//! | module | content |
//! |---|---|
//! | `view` | references with their states, ready for JSON |
//! | `past` | the removed targets of references |
//! | `reader` | `Wiring`: reading and resolution |
//! | `removal` | the references to an assembly that is to be removed |

mod past;
mod reader;
mod removal;
mod view;

pub(crate) use self::reader::{Mapping, Wiring};
pub(crate) use self::removal::Removal;
pub use self::view::{InstanceReferenceView, ServiceReferenceView};
