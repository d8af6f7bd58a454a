//! The connections of launched applications. There are three kinds of connections: services for components of
//! the type `reference.Service`, instances of a factory, and references from one instance to another.
//!
//! The connections are not stored. Each command resolves them from the records. There is one exception: if the target
//! of a reference is removed, windlass stores the name of the target. The records of existing applications do not
//! contain this name.
//!
//! | module | content |
//! |---|---|
//! | `view` | references with their states, ready for JSON |
//! | `past` | the stored names of removed targets |
//! | `reader` | `Wiring`, which reads the records and resolves references |
//! | `removal` | the references that prevent the removal of an assembly |

mod past;
mod reader;
mod removal;
mod view;

pub(crate) use self::reader::{Mapping, Wiring};
pub(crate) use self::removal::Removal;
pub use self::view::{InstanceReferenceView, ServiceReferenceView};
