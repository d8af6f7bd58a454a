//! Functions that expressions call by name (`join(",", list)`), and how a caller adds its own.
//!
//! A function gets evaluated arguments and a [`Host`], through which alone it can ask for anything beyond its
//! arguments: to have a lambda called, for a file, for the time. It changes nothing that it is given.

mod error;
mod host;
mod registry;

pub use error::{FunctionError, Nested};
pub use host::{Capability, Denied, Host};
pub use registry::{Builtin, Registry};
