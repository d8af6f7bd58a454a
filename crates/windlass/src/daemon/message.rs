//! Metric messages, and the replies to their senders.

use std::fmt;

use serde::Deserialize;
use tokio::sync::oneshot;
use windlass_engine::monitor::{Reading, Sample};
use windlass_model::AssemblyName;

use crate::error::near_or;

/// A received sample of a metric, and the channel for the reply.
#[derive(Debug)]
pub struct Incoming {
    /// The sample that was received.
    pub sample: Sample,
    /// The channel for the reply, if the sender wants one.
    pub answer: Option<oneshot::Sender<Taken>>,
}

impl From<Sample> for Incoming {
    fn from(sample: Sample) -> Self {
        Self { sample, answer: None }
    }
}

/// The effect of a sample on the policies.
///
/// The effect is displayed as a sentence fragment for the sender.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Taken {
    /// A policy reads the metric, and takes the sample into account.
    Counted,
    /// A policy reads the metric, but ignores the sample because an intent is changing the assembly.
    Busy {
        /// The id of the metric.
        id: String,
        /// The assembly that is changing.
        assembly: AssemblyName,
    },
    /// A policy reads the metric, but the sample has the wrong type.
    OtherSort {
        /// The id of the metric.
        id: String,
        /// The type that the sample should have.
        sort: &'static str,
    },
    /// No policy reads the metric.
    Unread {
        /// The id of the metric.
        id: String,
        /// The ids of the metrics that policies read.
        known: Vec<String>,
    },
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted => f.write_str("it is counted"),
            Self::Busy { id, assembly } => {
                write!(f, "`{id}` is ignored while a process changes `{assembly}`")
            }
            Self::OtherSort { id, sort } => write!(f, "`{id}` is not counted: its policy reads {sort}"),
            Self::Unread { id, known } if known.is_empty() => {
                write!(f, "no policy reads `{id}`; no Active part has a policy that reads a metric")
            }
            Self::Unread { id, known } => {
                write!(f, "no policy reads `{id}`{}", near_or(id, known, "policies read"))
            }
        }
    }
}

/// A metric message. It contains either `integrity` or `load`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The measured element, by its full name or its instance id.
    pub metric_key: Option<String>,
    /// The name of the metric.
    pub metric_name: Option<String>,
    /// The id of the metric, for example `shop__web.load`. The id consists of `metric_key`, a dot and `metric_name`. A
    /// message may contain the id in place of these two fields.
    pub metric_id: Option<String>,
    /// The integrity: `OK` or `BROKEN`.
    pub integrity: Option<String>,
    /// The load, from 0 to 100.
    pub load: Option<f64>,
    /// A text for display.
    pub message: Option<String>,
}

impl Message {
    /// Converts the message into a sample.
    ///
    /// # Errors
    ///
    /// Returns a sentence about the missing or wrong field.
    pub fn sample(&self) -> Result<Sample, String> {
        let id = match (&self.metric_id, &self.metric_key, &self.metric_name) {
            (Some(id), Some(key), Some(name)) if *id != format!("{key}.{name}") => {
                return Err(format!("`metricId` is `{id}`, and its key and name are `{key}` and `{name}`"));
            }
            (_, Some(key), Some(name)) => format!("{key}.{name}"),
            (Some(id), _, _) if id.contains('.') => id.clone(),
            (Some(id), None, None) => {
                return Err(format!(
                    "`{id}` has no `.` between the full name of a part and the name of a metric, such as `shop__web.load`"
                ));
            }
            _ => {
                return Err(
                    "`metricKey` and `metricName` are needed, or `metricId` as `<key>.<name>`".to_owned()
                );
            }
        };
        let reading = match (self.integrity.as_deref(), self.load) {
            (Some(word), None) => integrity(word)?,
            (None, Some(number)) => load(&number.to_string())?,
            _ => return Err("one of `integrity` and `load` is needed".to_owned()),
        };
        Ok(Sample { id, reading })
    }
}

/// Parses the value of an integrity metric: `OK` or `BROKEN`.
pub(super) fn integrity(word: &str) -> Result<Reading, String> {
    match word {
        "OK" => Ok(Reading::Integrity(true)),
        "BROKEN" => Ok(Reading::Integrity(false)),
        word => Err(format!("`integrity` is `OK` or `BROKEN`, not `{word}`")),
    }
}

/// Parses the value of a load metric: a number from 0 to 100.
pub(super) fn load(number: &str) -> Result<Reading, String> {
    let load = number.trim().parse().ok().filter(|load| (0.0..=100.0).contains(load));
    load.map(Reading::Load).ok_or_else(|| format!("`load` is a number from 0 to 100, not `{number}`"))
}

#[cfg(test)]
mod tests {
    use super::Message;

    /// Converts a message into a sample. Returns the id in the sample, or the error of the conversion.
    fn read(message: &str) -> String {
        let message: Message = serde_json::from_str(message).expect("it is a message");
        message.sample().map_or_else(|wrong| wrong, |sample| sample.id)
    }

    #[test]
    fn it_is_of_one_metric() {
        let whole = r#"{"metricKey": "a__b", "metricName": "load", "metricId": "a__b.load", "load": 9, "message": "so"}"#;
        assert_eq!(read(whole), "a__b.load");
        assert_eq!(read(r#"{"metricId": "a__b.load", "load": 9}"#), "a__b.load");
        assert_eq!(read(r#"{"metricKey": "a__b", "metricName": "well", "integrity": "OK"}"#), "a__b.well");
        assert_eq!(
            read(r#"{"metricKey": "a__b", "metricName": "load", "metricId": "a__c.load", "load": 9}"#),
            "`metricId` is `a__c.load`, and its key and name are `a__b` and `load`"
        );
        assert_eq!(
            read(r#"{"metricKey": "a__b", "load": 9}"#),
            "`metricKey` and `metricName` are needed, or `metricId` as `<key>.<name>`"
        );
        assert_eq!(
            read(r#"{"metricId": "a__b.load", "load": 9, "integrity": "OK"}"#),
            "one of `integrity` and `load` is needed"
        );
    }
}
