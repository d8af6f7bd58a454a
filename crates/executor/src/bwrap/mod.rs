//! The arguments of the program `bwrap`, its features on this host, and advice for its failures.
//!
//! `bwrap` ([bubblewrap](https://github.com/containers/bubblewrap)) creates sandboxes. The supervisor of the
//! [process runtime](crate::process) executes `bwrap`. The sandbox runtime plans the sandboxes.

pub(crate) mod advice;
pub(crate) mod plan;
#[cfg(feature = "sandbox")]
pub(crate) mod probe;
