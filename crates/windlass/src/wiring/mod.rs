//! The connections of launched applications: services for components of the type `reference.Service`,
//! instances of factories, and references between instances.
//!
//! The connections are not stored: each command resolves them from the records. The exceptions are the
//! removed targets of references, which are stored.
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
