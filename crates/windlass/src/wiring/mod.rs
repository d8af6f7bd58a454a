//! The connections of launched applications: services for components of the type `reference.Service`,
//! instances of factories, and references between instances.
//!
//! Most connections are not stored: each reading resolves them from the records. Only the removed targets of
//! references are stored.
//!
//! | module | content |
//! |---|---|
//! | `view` | references with their states, ready for JSON |
//! | `past` | the removed targets of references |
//! | `reader` | `Wiring`, which reads the records and resolves references |
//! | `removal` | the references that prevent the removal of an assembly |

mod past;
mod reader;
mod removal;
mod view;

pub(crate) use self::reader::{Mapping, Wiring};
pub(crate) use self::removal::Removal;
pub use self::view::{InstanceReferenceView, ServiceReferenceView};
