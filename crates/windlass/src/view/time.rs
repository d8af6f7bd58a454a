//! Serialization of times in views, as RFC 3339 in UTC with milliseconds.

use serde::Serializer;
use windlass_model::Timestamp;

/// Serializes a time, such as `2026-01-31T08:15:30.250Z`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde hands it over")]
pub(crate) fn one<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&time.exactly())
}

#[expect(clippy::ref_option, reason = "as serde hands it over")]
pub(crate) fn maybe<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => one(time, serializer),
        None => serializer.serialize_none(),
    }
}
