//! What elements measure of themselves, and what follows from it.
//!
//! A resource publishes metrics under keys of its own ([`metric_id`]). An assembly promotes a metric of a part by
//! naming it. A policy reads one metric: `policy::heal` of a resource counts periods in which its integrity is broken
//! or missing, `policy::scale` of an assembly compares a load with thresholds and changes the size of a cluster. What
//! to do, and when, is the engine's; here is only what was declared, bound to elements.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::assembly::{Origin, Property};
use crate::name::{ElementName, MetricName, PolicyName, PropertyName};
use crate::template::Template;

/// The seconds between two messages of a metric that doesn't say: 60. A period of 0 means that it isn't published.
pub const DEFAULT_PERIOD: u32 = 60;

/// The key under which an element publishes a metric, `<element>.<metric>`.
pub fn metric_id(element: &ElementName, metric: &MetricName) -> String {
    format!("{element}.{metric}")
}

/// A metric of an element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// What it measures.
    pub kind: MetricKind,
    /// The seconds between two messages; [`DEFAULT_PERIOD`] where none is declared. A promoted metric has none.
    pub period: Option<Template>,
    /// Where it comes from: the element itself, or the part of which an assembly promotes it. A part that is a group
    /// stands for all of its nodes.
    pub source: MetricSource,
    /// Where it was declared.
    pub origin: Option<Origin>,
}

/// A metric of some element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MetricSource {
    /// The element.
    pub element: ElementName,
    /// The metric's name there.
    pub metric: MetricName,
}

impl fmt::Display for MetricSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.element, self.metric)
    }
}

/// What a metric measures.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum MetricKind {
    /// `metric::integrity`: whether the element is well, `OK` or `BROKEN`.
    Integrity,
    /// `metric::load`: how busy it is, in percent.
    Load,
    /// A kind that the language doesn't reserve.
    Other(String),
}

impl MetricKind {
    /// The reserved kinds as descriptors spell them.
    pub const WORDS: [&str; 2] = ["metric::integrity", "metric::load"];

    /// Returns the word for the kind.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Integrity => Self::WORDS[0],
            Self::Load => Self::WORDS[1],
            Self::Other(word) => word,
        }
    }
}

/// What a policy does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum PolicyKind {
    /// `policy::heal`: a resource that is broken for some periods is stopped and started.
    Heal,
    /// `policy::scale`: a cluster under load for some periods grows, an idle one shrinks.
    Scale,
    /// A kind that the language doesn't reserve.
    Other(String),
}

impl PolicyKind {
    /// The reserved kinds as descriptors spell them.
    pub const WORDS: [&str; 2] = ["policy::heal", "policy::scale"];

    /// Returns the word for the kind.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Heal => Self::WORDS[0],
            Self::Scale => Self::WORDS[1],
            Self::Other(word) => word,
        }
    }
}

macro_rules! words {
    ($type:ident, $first:ident, $second:ident) => {
        impl FromStr for $type {
            type Err = Infallible;

            fn from_str(word: &str) -> Result<Self, Infallible> {
                Ok(match word {
                    _ if word == Self::WORDS[0] => Self::$first,
                    _ if word == Self::WORDS[1] => Self::$second,
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

words!(MetricKind, Integrity, Load);
words!(PolicyKind, Heal, Scale);

/// A policy, bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Its name in the descriptor.
    pub name: PolicyName,
    /// The element that declares it: an assembly, or each node of a resource.
    pub owner: ElementName,
    /// What it does.
    pub kind: PolicyKind,
    /// The metric that it reads.
    pub metric: MetricSource,
    /// What it acts on: the group to scale, or the resource to heal.
    pub target: ElementName,
    /// Its settings, as `scaleOut_threshold` and `smoothing`.
    pub properties: IndexMap<PropertyName, Property>,
    /// Where it was declared.
    pub origin: Option<Origin>,
}
