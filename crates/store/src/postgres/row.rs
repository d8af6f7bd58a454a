//! Converts records to JSON and back. Rows contain records as JSON.

use serde::de::DeserializeOwned;

use super::fault::{Fault, Outcome};

pub(super) fn to_json(record: &impl serde::Serialize) -> Outcome<String> {
    serde_json::to_string(record)
        .map_err(|error| Fault::Damaged(format!("a record can't be written: {error}")))
}

pub(super) fn from_json<R: DeserializeOwned>(text: &str) -> Outcome<R> {
    serde_json::from_str(text).map_err(|error| Fault::Damaged(format!("a record can't be read: {error}")))
}
