//! Reads and writes [`Node`](crate::value::Node)s as YAML and JSON, as the original does.
//!
//! [`windlass_source`], the only reader of windlass, reads the text. This module converts its tree to values,
//! with scalars in the reading of [`SpiffScalar`](windlass_source::SpiffScalar). The output has the same
//! bytes as the original's.
//!
//! # Differences from windlass's own documents
//!
//! `y`, `no` and `ON` are booleans, so they can't be keys. `017` is octal, and `1_000` is a number. Dates
//! become text with a digit order specific to the original. A tag other than `!!binary` has no meaning of its
//! own, but a quoted scalar with a tag is typed like a plain one. `<<` is an ordinary key. If a key is
//! repeated, the last entry wins.
//!
//! # Deviations from the original
//!
//! Syntax errors have windlass's wording and places. A list or map as a key is an error; the original
//! crashes.

mod emit;
mod json;
mod read;

pub use emit::{to_yaml, value_to_yaml};
pub use json::{NotJson, to_json};
pub use read::{ReadError, read_document, read_documents};
