//! The work of the steps of a plan, and the reasons why steps wait for each other.

use std::fmt;

use crate::assembly::{OperationCall, Origin, Pause, Side};
use crate::name::{CommandName, ElementName, PropertyName, RelationshipName};
use crate::state::{State, Transitions};
use serde::{Deserialize, Serialize};

/// The work of a step.
///
/// The large variant `Relate` is boxed, because most steps are transitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Work {
    /// Moves one resource from a state into another.
    Transition {
        /// The name of the resource.
        element: ElementName,
        /// The state of the resource before the step.
        from: State,
        /// The state of the resource after the step.
        to: State,
        /// The transitions between `from` and `to` for which the engine calls the driver, in lifecycle order. The set
        /// is empty if the resource declares none of these transitions.
        calls: Transitions,
        /// The version of the assembly from which the calls take the package and the values of the resource.
        #[serde(default)]
        side: Side,
    },
    /// Creates a relationship, removes it, or undoes its operations; see [`Direction`].
    Relate(Box<Relate>),
    /// Records that one resource uses a new package from now on: the package in the desired version of the assembly. No
    /// driver is called.
    Package {
        /// The name of the resource.
        element: ElementName,
    },
    /// Calls a command of one resource. The state of the resource stays the same.
    Command {
        /// The name of the resource.
        element: ElementName,
        /// The name of the command.
        command: CommandName,
    },
    /// Waits between two batches of a group.
    Pause {
        /// The batch that begins after the pause.
        before: Batch,
        /// The length of the pause.
        pause: Pause,
    },
}

/// A batch of a group's nodes, which change together.
///
/// Its text is `batch 2 of 5 of web`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Batch {
    /// The name of the group.
    pub group: ElementName,
    /// The number of the batch, from 1.
    pub number: u32,
    /// The number of batches of the group.
    pub count: u32,
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {} of {} of {}", self.number, self.count, self.group.local())
    }
}

/// A change of a relationship. The step changes only the pairs between one target and several sources. A pair is the
/// relationship between one source node and one target node.
///
/// A plan contains the names of the target and of the sources, but no list of the pairs. The engine computes the pairs
/// when it executes the step. With one step for each pair, 1000 sources and 1000 targets would need a million steps
/// instead of 1000.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relate {
    /// The direction of the change: the step creates pairs, removes pairs, or undoes the operations of an incomplete
    /// creation. A pair is one source and one target of the relationship.
    pub direction: Direction,
    /// The assembly element that declares the relationship.
    pub assembly: ElementName,
    /// The name of the relationship.
    pub relationship: RelationshipName,
    /// The target of the relationship: one node of a group, or an element that is not a group. Each pair consists
    /// of a node of `sources` and this target.
    pub target: ElementName,
    /// The sources of the pairs. A name of a group stands for all nodes of the group.
    pub sources: Vec<ElementName>,
    /// The number of pairs that the step changes. Each of these pairs consists of one source node and `target`.
    pub pairs: u64,
    /// The operations that are called for each pair, in order.
    pub operations: Vec<OperationCall>,
    /// Whether the relationship is read from the installed or from the desired version of its assembly.
    #[serde(default)]
    pub side: Side,
}

impl Work {
    /// Tells whether the work calls a driver.
    pub fn has_calls(&self) -> bool {
        match self {
            Self::Transition { calls, .. } => !calls.is_empty(),
            Self::Relate(relate) => !relate.operations.is_empty() && relate.pairs > 0,
            Self::Command { .. } => true,
            Self::Package { .. } | Self::Pause { .. } => false,
        }
    }

    /// Returns the number of driver calls of the work if no call fails.
    pub fn calls(&self) -> u64 {
        let count = |calls: usize| u64::try_from(calls).unwrap_or(u64::MAX);
        match self {
            Self::Transition { calls, .. } => count(calls.iter().count()),
            Self::Relate(relate) => relate.pairs.saturating_mul(count(relate.operations.len())),
            Self::Command { .. } => 1,
            Self::Package { .. } | Self::Pause { .. } => 0,
        }
    }

    /// Returns the element that the work changes. For a relationship, the result is [`Relate::target`]. For a
    /// pause, it is the group.
    pub fn element(&self) -> &ElementName {
        match self {
            Self::Transition { element, .. } | Self::Command { element, .. } | Self::Package { element } => {
                element
            }
            Self::Relate(relate) => &relate.target,
            Self::Pause { before, .. } => &before.group,
        }
    }

    /// Returns the version of the assembly (installed or desired) that provides the values and the packages for the
    /// work.
    pub fn side(&self) -> Side {
        match self {
            Self::Transition { side, .. } => *side,
            Self::Relate(relate) => relate.side,
            Self::Package { .. } | Self::Pause { .. } => Side::Desired,
            Self::Command { .. } => Side::Installed,
        }
    }

    /// Returns the work as text for display, without the name of the element. Example: `Start, Integrity` for a step
    /// with these two transitions.
    pub fn verb(&self) -> String {
        match self {
            Self::Transition { calls, to, .. } if calls.is_empty() => format!("({to})"),
            Self::Transition { calls, .. } => join(calls.iter()),
            Self::Command { command, .. } => command.to_string(),
            Self::Package { .. } => "(new package)".to_owned(),
            Self::Pause { before: Batch { number, count, .. }, pause } => {
                format!("pause of {pause} before batch {number} of {count}")
            }
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
    /// Writes the element's name without the assembly, followed by the [`verb`](Self::verb):
    /// `B__1 Configure`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.element().local(), self.verb())
    }
}

/// The direction in which a relationship changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The relationship is created.
    Create,
    /// The relationship is removed.
    Cease,
    /// Operations with an unknown outcome are undone, so that the relationship can then be created.
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

/// The reason why one step waits for another step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Reason {
    /// An element passes through its states in order.
    Order {
        /// The name of the element.
        element: ElementName,
        /// The state that the element must reach first.
        state: State,
    },
    /// A property reads an output of another element.
    Property {
        /// The element whose property reads the output.
        reader: ElementName,
        /// The property of `reader` that reads the output.
        property: PropertyName,
        /// The element that publishes the output.
        producer: ElementName,
        /// The output of `producer` that `property` reads.
        output: PropertyName,
        /// The place where `property` is declared; none if this place is not known.
        origin: Option<Origin>,
    },
    /// A relationship requires that one step waits for the other. Example: the source must be Active before
    /// windlass creates the relationship.
    Relationship {
        /// The name of the relationship.
        relationship: RelationshipName,
        /// The rule as text for display, for example `source web__1 must be Active`.
        rule: String,
        /// The place of the declaration that causes the wait; none if this place is not known. The declared object is
        /// `relationship`, or a property that windlass passes to the operations of `relationship`.
        origin: Option<Origin>,
    },
    /// All parts complete a phase before any part enters the next one.
    Phase {
        /// The condition that holds after the phase, for example `all parts are Installed`.
        label: String,
    },
    /// A batch begins after the nodes of the previous batch are Active. The value is the previous batch.
    Batch(Batch),
    /// One of the two steps is a barrier (a step without work) for an assembly or a group. The other step belongs to an
    /// element inside this assembly or group. Either of them may be the waiting step.
    Nesting {
        /// The name of the assembly or the group.
        element: ElementName,
    },
}

impl Reason {
    /// Returns the place of the declaration that causes the wait: a property or a relationship. The result is `None` if
    /// the wait has another cause, or if the place is not known.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Property { origin, .. } | Self::Relationship { origin, .. } => origin.as_ref(),
            Self::Order { .. } | Self::Phase { .. } | Self::Batch(_) | Self::Nesting { .. } => None,
        }
    }

    /// Returns the reason as the end of a sentence, for example `because B__1 must be Inactive first`. The sentence
    /// begins with the wait, such as `s7 waits until s4 B__1 Configure has succeeded`.
    pub fn clause(&self) -> String {
        match self {
            Self::Order { element, state } => format!("because {} must be {state} first", element.local()),
            Self::Relationship { relationship, rule, .. } => {
                format!("because of a rule of the relationship {relationship}: {rule}")
            }
            Self::Batch(batch) => format!("because {batch} must be Active first"),
            Self::Nesting { element } => format!("because of the order inside {}", element.local()),
            Self::Property { .. } | Self::Phase { .. } => format!("because {self}"),
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
            Self::Batch(batch) => write!(f, "{batch} is Active"),
            Self::Nesting { element } => write!(f, "it is inside {}", element.local()),
        }
    }
}
