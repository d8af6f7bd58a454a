//! What steps do, and why they wait.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_model::assembly::OperationCall;
use windlass_model::name::RelationshipName;
use windlass_model::{ElementName, Origin, PropertyName, Side, State, Transitions};

/// What a step does.
///
/// There are three for each part of an assembly: what is large is behind a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Work {
    /// Nothing: many steps wait for it instead of for many others.
    Barrier {
        /// What holds once it is passed, as `all parts are Installed`.
        label: String,
    },
    /// Moves one resource from a state into another.
    Transition {
        /// The resource.
        element: ElementName,
        /// The state it is in before.
        from: State,
        /// The state it is in after.
        to: State,
        /// The driver calls, in order; none when its resource declares no such transition.
        calls: Transitions,
        /// The version of the assembly whose values and package the calls are made with.
        #[serde(default)]
        side: Side,
    },
    /// Makes or ends a relationship.
    Relate(Box<Relate>),
}

/// Making or ending a relationship at one node of one end, with every node of the other end.
///
/// The pairs are not listed: who executes the step makes them as the nodes are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relate {
    /// Whether it is made or ended.
    pub direction: Direction,
    /// The assembly element that declares the relationship.
    pub assembly: ElementName,
    /// The relationship.
    pub relationship: RelationshipName,
    /// The end that the step stands for: a target node, or a source node when only that differs.
    pub target: ElementName,
    /// The sources: endpoints with groups unexpanded where all of their nodes are meant, else single nodes.
    pub sources: Vec<ElementName>,
    /// How many pairs there are.
    pub pairs: u64,
    /// What is called for each pair, in order.
    pub operations: Vec<OperationCall>,
    /// The version of the assembly that declares the relationship so.
    #[serde(default)]
    pub side: Side,
}

impl Work {
    /// Tells whether it is a barrier.
    pub fn is_barrier(&self) -> bool {
        matches!(self, Self::Barrier { .. })
    }

    /// Tells whether any driver is called.
    pub fn has_calls(&self) -> bool {
        match self {
            Self::Barrier { .. } => false,
            Self::Transition { calls, .. } => !calls.is_empty(),
            Self::Relate(relate) => !relate.operations.is_empty() && relate.pairs > 0,
        }
    }

    /// Returns the element it is done to; none for barriers.
    pub fn element(&self) -> Option<&ElementName> {
        match self {
            Self::Barrier { .. } => None,
            Self::Transition { element, .. } => Some(element),
            Self::Relate(relate) => Some(&relate.target),
        }
    }

    /// Returns what is done, without the element: `Start, Integrity`.
    pub fn verb(&self) -> String {
        match self {
            Self::Barrier { label } => label.clone(),
            Self::Transition { calls, to, .. } if calls.is_empty() => format!("({to})"),
            Self::Transition { calls, .. } => join(calls.iter()),
            Self::Relate(relate) => {
                let Relate { direction, relationship, operations, pairs, .. } = &**relate;
                let many = if *pairs > 1 { format!(" × {pairs}") } else { String::new() };
                let calls = if operations.is_empty() {
                    String::new()
                } else {
                    format!(": {}", join(operations.iter()))
                };
                format!("{direction} {relationship}{calls}{many}")
            }
        }
    }
}

fn join<T: ToString>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Work {
    /// Writes the work in a few words, with the element's name below its assembly: `B__1 Configure`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element() {
            Some(element) => write!(f, "{} {}", element.local(), self.verb()),
            None => f.write_str(&self.verb()),
        }
    }
}

/// Whether a relationship is made or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It is made.
    Create,
    /// It is ended.
    Cease,
    /// What is in doubt of making it is undone, before it is made.
    Undo,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "Create",
            Self::Cease => "Cease",
            Self::Undo => "Undo",
        })
    }
}

/// What a wait asks of the step that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitKind {
    /// That it has ended, well or not.
    After,
    /// That it has succeeded.
    Needs,
}

/// Why a step waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Reason {
    /// The same element is in a lower state before it is in a higher one.
    Order {
        /// The element.
        element: ElementName,
        /// The state it needs first.
        state: State,
    },
    /// A value that is read comes from another part.
    Property {
        /// Who reads.
        reader: ElementName,
        /// The property that it is read for.
        property: PropertyName,
        /// Who publishes it.
        producer: ElementName,
        /// What is published.
        output: PropertyName,
        /// Where the reading property is declared.
        origin: Option<Origin>,
    },
    /// A relationship asks for a state of one of its ends.
    Relationship {
        /// The relationship.
        relationship: RelationshipName,
        /// What it asks, as `source A must be Active (post)`.
        rule: String,
        /// Where it is declared.
        origin: Option<Origin>,
    },
    /// All parts reach a state together before any goes on.
    Phase {
        /// What holds then, as `all parts are Installed`.
        label: String,
    },
    /// A part is inside another.
    Nesting {
        /// The outer element.
        element: ElementName,
    },
}

/// What the element of a step reads of another's: all of [`Reason::Property`] that the two steps don't tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The property that it is read for.
    pub property: PropertyName,
    /// What is published.
    pub output: PropertyName,
    /// Where the reading property is declared.
    pub origin: Option<Origin>,
}

impl Read {
    /// Returns the reason why a step of the reader waits for one of the producer.
    pub(crate) fn reason(&self, reader: &Work, producer: &Work) -> Reason {
        let Self { property, output, origin } = self.clone();
        match (reader.element().cloned(), producer.element().cloned()) {
            (Some(reader), Some(producer)) => Reason::Property { reader, property, producer, output, origin },
            _ => Reason::Phase { label: format!("`{output}` is known, which `{property}` reads") },
        }
    }
}

impl Reason {
    /// Returns where the reason is declared, for those that a user wrote down.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Property { origin, .. } | Self::Relationship { origin, .. } => origin.as_ref(),
            Self::Order { .. } | Self::Phase { .. } | Self::Nesting { .. } => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order { element, state } => write!(f, "{} is {state} first", element.local()),
            Self::Property { reader, property, producer, output, .. } => {
                let (reader, producer) = (reader.local(), producer.local());
                write!(f, "{reader} reads `{property}` from {producer}")?;
                if output != property {
                    write!(f, " (`{output}`)")?;
                }
                write!(f, ", known once {producer} is installed")
            }
            Self::Relationship { relationship, rule, .. } => write!(f, "{relationship}: {rule}"),
            Self::Phase { label } => f.write_str(label),
            Self::Nesting { element } => write!(f, "it is inside {}", element.local()),
        }
    }
}
