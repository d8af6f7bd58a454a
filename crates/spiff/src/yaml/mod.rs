//! Text to [`Node`](crate::value::Node)s and back, as the original reads and writes YAML and JSON.
//!
//! Text is read by [`windlass_source`], the only reader of windlass; here its tree becomes values, with scalars
//! as [`SpiffScalar`](windlass_source::SpiffScalar) has them. What is written has the bytes of the original.
//!
//! # Differences from windlass's own documents
//!
//! `y`, `no` and `ON` are booleans and so can't be keys; `017` is octal; `1_000` is a number; dates become text in
//! an order of digits that only the original knows; tags other than `!!binary` are ignored, but give quoted text
//! a type; `<<` is a key like any other; of equal keys the last one counts.
//!
//! # Deviations from the original
//!
//! Errors of syntax have windlass's wording and place. A list or map as a key is an error; the original crashes.

mod emit;
mod json;
mod read;

pub use emit::{to_yaml, value_to_yaml};
pub use json::{NotJson, to_json};
pub use read::{ReadError, read_document, read_documents};
