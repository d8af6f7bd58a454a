//! Reads and writes [`Node`](crate::value::Node)s as YAML and JSON, as the Go program spiff++ (*the
//! original*) does.
//!
//! [`windlass_source`] parses the text. This module converts the resulting tree to nodes, and interprets
//! scalars as [`SpiffScalar`](windlass_source::SpiffScalar) does. The output has the same bytes as the output
//! of the original.
//!
//! # Differences from windlass's own documents
//!
//! The words `y`, `no` and `ON` are booleans, so they can't be keys. `017` is octal, and `1_000` is a number.
//! The date `2004-03-01` becomes the text `1039-03-08T30:04:16Z`, because the original formats dates wrongly.
//! `!!binary` is the only tag with a meaning of its own. A quoted scalar with any other tag has the same type
//! as without quotes: `!!str "5"` is an integer. `<<` is an ordinary key. If a map contains a key several
//! times, the last value of the key counts.
//!
//! # Deviations from the original
//!
//! Syntax errors have windlass's messages and places. A list or map as a key is an error here, but crashes
//! the original.

mod emit;
mod json;
mod read;

pub use emit::{to_yaml, value_to_yaml};
pub use json::{NotJson, to_json};
pub(crate) use read::load_options;
pub use read::{ReadError, read_document, read_documents};
