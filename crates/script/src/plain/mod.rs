//! The input and output of plain scripts. A plain script reads and writes files, and its exit code states the result.
//! The [crate documentation](crate) describes these files and exit codes.

pub(crate) mod discover;
pub(crate) mod exit;
pub(crate) mod health;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod place;
pub(crate) mod status;
