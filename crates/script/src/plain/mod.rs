//! Plain scripts: files instead of documents, and exit codes. The crate documentation describes them.

pub(crate) mod discover;
pub(crate) mod exit;
pub(crate) mod health;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod place;
pub(crate) mod status;
