//! The connections of launched applications. There are three kinds of connections:
//!
//! - A service takes the place of a component of the type `reference.Service`.
//! - A factory publishes the list of its instances.
//! - An instance refers to an instance of another application.
//!
//! windlass does not store the connections. Each command resolves the connections from the records of the applications.
//!
//! There is one exception: windlass stores the names of removed applications to which instances still refer. Such a
//! reference is dangling. Without the stored name, a command could not distinguish a dangling reference from a pending
//! reference, whose target is not launched yet.
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

pub(crate) use self::past::move_past_targets;
pub(crate) use self::reader::{Mapping, Wiring, owned};
pub(crate) use self::removal::Removal;
pub use self::view::{InstanceReferenceView, ServiceReferenceView};
