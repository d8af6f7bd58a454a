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

/// The default publication period: the number of seconds between two published values of a metric. If a metric has the
/// period 0, its values may arrive at any time. A policy then never counts a value as missing.
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
    /// The number of seconds between two published values of the metric: the key `publication-period` of the
    /// descriptor. The field is none in two cases:
    ///
    /// - The resource does not declare this key. The period is then [`DEFAULT_PERIOD`].
    /// - An assembly publishes a metric of a component as its own. The period of the component's metric then
    ///   applies.
    pub period: Option<Template>,
    /// The element that publishes the metric, and the name of the metric on this element. A resource publishes its
    /// metrics itself. An assembly can offer a metric of an inner resource or group as its own. The publisher is
    /// then this resource or group. If the publisher is a group, all nodes of the group publish the metric.
    pub source: MetricSource,
    /// The place of the metric's declaration.
    pub origin: Option<Origin>,
}

/// The name of a metric and the element that publishes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MetricSource {
    /// The element that publishes the metric.
    pub element: ElementName,
    /// The name under which the element publishes the metric.
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
    /// `metric::integrity`: whether the element works. The values are `OK` and `BROKEN`.
    Integrity,
    /// `metric::load`: the utilization of the element in percent.
    Load,
    /// Any other `type` of a metric, such as a misspelt word. The check of the descriptor warns of such a `type`. The
    /// text is empty if the descriptor declares no `type`.
    Other(String),
}

/// The action of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum PolicyKind {
    /// `policy::heal`: stops and starts a resource after several consecutive periods in which the resource was broken
    /// or reported nothing.
    Heal,
    /// `policy::scale`: adds nodes to a cluster after several consecutive loads above a threshold. Removes nodes after
    /// several consecutive loads below a lower threshold.
    Scale,
    /// Any other `type` of a policy. Such a policy does nothing.
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
    /// The element whose descriptor declares the policy: an assembly or a resource. If three nodes have the same
    /// resource descriptor, the topology contains three copies of the policy. Each node owns one copy.
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
