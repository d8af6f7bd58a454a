//! The program `bwrap` ([bubblewrap](https://github.com/containers/bubblewrap)), which creates sandboxes: its
//! arguments, its features on this host, and advice for its failures.
//!
//! The supervisor of the [process runtime](crate::process) executes the program. The sandbox runtime plans the
//! sandboxes.

pub(crate) mod advice;
pub(crate) mod plan;
#[cfg(feature = "sandbox")]
pub(crate) mod probe;
