//! Metrics as they are sent.

use serde::Deserialize;
use windlass_engine::monitor::{Reading, Sample};

/// A metric message, in either of its two shapes: with `integrity` or with `load`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// What was measured: the element's full name, or the engine's id of it.
    pub metric_key: Option<String>,
    /// The metric's name.
    pub metric_name: Option<String>,
    /// Both, as `<key>.<name>`.
    pub metric_id: Option<String>,
    /// `OK` or `BROKEN`.
    pub integrity: Option<String>,
    /// How busy it is, from 0 to 100.
    pub load: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

impl Message {
    /// Reads what was measured.
    ///
    /// # Errors
    ///
    /// A sentence that says what is missing or wrong.
    pub fn sample(&self) -> Result<Sample, String> {
        let id = match (&self.metric_id, &self.metric_key, &self.metric_name) {
            (_, Some(key), Some(name)) => format!("{key}.{name}"),
            (Some(id), _, _) if id.contains('.') => id.clone(),
            _ => {
                return Err(
                    "`metricKey` and `metricName` are needed, or `metricId` as `<key>.<name>`".to_owned()
                );
            }
        };
        let reading = match (self.integrity.as_deref(), self.load) {
            (Some("OK"), None) => Reading::Integrity(true),
            (Some("BROKEN"), None) => Reading::Integrity(false),
            (Some(word), None) => return Err(format!("`integrity` is `OK` or `BROKEN`, not `{word}`")),
            (None, Some(load)) if (0.0..=100.0).contains(&load) => Reading::Load(load),
            (None, Some(load)) => return Err(format!("`load` is a number from 0 to 100, not {load}")),
            _ => return Err("one of `integrity` and `load` is needed".to_owned()),
        };
        Ok(Sample { id, reading })
    }
}
