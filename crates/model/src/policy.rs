//! Metrics of elements, and the policies that read them.
//!
//! A resource publishes metrics under its own keys ([`metric_id`]). An assembly can promote a metric of a
//! part as its own. A policy reads one metric. A resource declares the policy `policy::heal`, which counts
//! the periods in which the metric reports a broken integrity, or reports nothing. An assembly declares the
//! policy `policy::scale`, which compares a load with thresholds and changes the size of a cluster.
//!
//! This module contains only the declarations of metrics and policies. The engine evaluates them.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::assembly::{Origin, Property};
use crate::name::{ElementName, MetricName, PolicyName, PropertyName};
use crate::template::Template;

/// The default number of seconds between two messages of a metric. A period of 0 means that the metric is not
/// published.
pub const DEFAULT_PERIOD: u32 = 60;

/// Returns the key under which an element publishes a metric, `<element>.<metric>`.
pub fn metric_id(element: &ElementName, metric: &MetricName) -> String {
    format!("{element}.{metric}")
}

/// A metric of an element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// The quantity that the metric measures.
    pub kind: MetricKind,
    /// The declared seconds between two messages of the metric. If the descriptor declares none,
    /// [`DEFAULT_PERIOD`] applies. A promoted metric has no period of its own.
    pub period: Option<Template>,
    /// The publisher of the metric: the element itself, or the part from which an assembly promotes the
    /// metric. If the part is a group, all nodes of the group publish it.
    pub source: MetricSource,
    /// The place of the metric's declaration.
    pub origin: Option<Origin>,
}

/// The name of a metric and the element that publishes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MetricSource {
    /// The element that publishes the metric.
    pub element: ElementName,
    /// The name of the metric on the element that publishes it.
    pub metric: MetricName,
}

impl fmt::Display for MetricSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.element, self.metric)
    }
}

/// The quantity that a metric measures.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum MetricKind {
    /// `metric::integrity`: whether the element works, `OK` or `BROKEN`.
    Integrity,
    /// `metric::load`: the utilization of the element in percent.
    Load,
    /// Another word of a descriptor, which has no meaning for windlass.
    Other(String),
}

/// The action of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum PolicyKind {
    /// `policy::heal`: stops and starts a resource that has been broken for several periods.
    Heal,
    /// `policy::scale`: enlarges a cluster that has been under load for several periods, and shrinks an idle
    /// one.
    Scale,
    /// Another word of a descriptor, which has no meaning for windlass.
    Other(String),
}

/// Implements the conversions between an enum such as `MetricKind` and words of descriptors such as
/// `metric::load`. Each variant has one word. The variant `Other` contains any other word.
macro_rules! words {
    ($type:ident, $($variant:ident = $word:literal),+) => {
        impl $type {
            /// The words with a meaning for windlass: one word for each variant, except for `Other`.
            pub const WORDS: &[&str] = &[$($word),+];

            /// Returns the word that stands for this value in descriptors.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl FromStr for $type {
            type Err = Infallible;

            fn from_str(word: &str) -> Result<Self, Infallible> {
                Ok(match word {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word.to_owned()),
                })
            }
        }

        impl From<String> for $type {
            fn from(word: String) -> Self {
                match word.parse() {
                    Ok(kind) => kind,
                    Err(never) => match never {},
                }
            }
        }

        impl From<$type> for String {
            fn from(kind: $type) -> String {
                kind.as_str().to_owned()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words!(MetricKind, Integrity = "metric::integrity", Load = "metric::load");
words!(PolicyKind, Heal = "policy::heal", Scale = "policy::scale");

/// A policy in a topology, with the full names of the elements that it reads and changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The name of the policy in the descriptor.
    pub name: PolicyName,
    /// The element that declares the policy: an assembly, or a resource. Each node of a group has its own
    /// copy of a policy that its resource declares.
    pub owner: ElementName,
    /// The kind of action that the policy demands.
    pub kind: PolicyKind,
    /// The metric that the policy reads.
    pub metric: MetricSource,
    /// The element that the policy changes: the group to scale, or the resource to heal.
    pub target: ElementName,
    /// The settings of the policy, for example `scaleOut_threshold` and `smoothing`.
    pub properties: IndexMap<PropertyName, Property>,
    /// The place of the policy's declaration.
    pub origin: Option<Origin>,
}
