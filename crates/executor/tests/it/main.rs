//! The process runtime, put to the conformance suite and to what is its own.

mod conformance;
mod place;
mod processes;
mod survival;
