//! Functions that expressions call by name, such as `join(",", list)`, and the registry of functions. A
//! caller can add its own functions to the registry.
//!
//! A function gets evaluated arguments and a [`Host`]. It calls lambdas, reads files and reads the clock by
//! methods of the host. It never changes its arguments. The page `docs/functions.md` describes all functions,
//! with examples.

mod address;
mod archive;
mod argument;
mod constraint;
mod convert;
#[cfg(feature = "crypto")]
mod digest;
mod dns;
mod document;
#[cfg(feature = "crypto")]
mod encrypt;
mod error;
mod host;
mod left_out;
mod lists;
mod network;
mod numbers;
mod outside;
mod pattern;
mod printf;
mod random;
mod registry;
mod standard;
mod strings;
#[cfg(test)]
#[cfg(all(feature = "crypto", feature = "x509"))]
mod testing;
#[cfg(test)]
#[cfg(all(feature = "crypto", feature = "x509"))]
mod tests;
mod validate;
mod version;
mod versions;
#[cfg(feature = "crypto")]
mod wireguard;
#[cfg(feature = "x509")]
mod x509;

pub use error::{FunctionError, Nested};
pub use host::Host;
pub use registry::{Builtin, Registry};

pub use crate::outside::{Capability, Denied};

/// The examples of the page `docs/functions.md`, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/functions.md")]
mod page {}
