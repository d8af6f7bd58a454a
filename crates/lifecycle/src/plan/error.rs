//! The errors of planning, and a cycle of waits as a user sees it.

use std::fmt;

use thiserror::Error;
use windlass_model::name::RelationshipName;
use windlass_model::resolve::ResolveError;
use windlass_model::work::{Direction, Reason, Work};
use windlass_model::{ElementName, Side};
use windlass_plan::{CycleEdge, Task};

use crate::changes::ScopeError;
use crate::situation::listed;

/// The reason why planning failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The waits form a cycle, so the steps have no order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A value cannot be resolved.
    #[error(transparent)]
    Value(#[from] ResolveError),
    /// The options name an element that neither the installed nor the desired version contains.
    #[error("there is no element `{name}`; there are {}", listed(known))]
    Unknown {
        /// The name of the unknown element.
        name: ElementName,
        /// The names that the message suggests, sorted.
        ///
        /// These are all elements of the installed and the desired version, except references and the assembly itself.
        known: Vec<ElementName>,
    },
    /// A part needs another part that [`Options::except`](crate::Options::except) excludes from the plan.
    ///
    /// The excluded part is not ready: its state is too low, or its output is not known yet.
    #[error(
        "`{}` needs `{}`, which stays as it is; leave `{}` as it is too, or plan both",
        part.local(), needs.local(), part.local()
    )]
    NeedsExcepted {
        /// The part that needs the excluded part.
        part: ElementName,
        /// The part that [`Options::except`](crate::Options::except) excludes.
        needs: ElementName,
    },
    /// The plan would remove a part on which a remaining part depends.
    ///
    /// This error occurs only if the options limit the plan to some parts.
    #[error(
        "`{}` depends on `{}`, which would be removed; remove `{}` too, or leave `{}` as it is",
        part.local(), needs.local(), part.local(), needs.local()
    )]
    NeedsRemoved {
        /// The part that the plan keeps. It depends on the part that the plan would remove.
        part: ElementName,
        /// The part that the plan would remove, although `part` depends on it.
        needs: ElementName,
    },
}

impl From<ScopeError> for LifecycleError {
    fn from(error: ScopeError) -> Self {
        match error {
            ScopeError::Value(error) => Self::Value(error),
            ScopeError::NeedsExcepted { part, needs } => Self::NeedsExcepted { part, needs },
            ScopeError::NeedsRemoved { part, needs } => Self::NeedsRemoved { part, needs },
        }
    }
}

/// The error if the rules demand an impossible order of steps.
///
/// The message contains a shortest cycle with the origin of each wait. It also suggests changes of the descriptor that
/// avoid the cycle.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct OrderError(pub windlass_plan::Cycle<Work, Reason>);

impl OrderError {
    /// Returns each relationship that meets both conditions:
    ///
    /// - The plan re-creates the relationship twice, because its source and its target are in different batches.
    /// - The cycle of waits contains the step that removes the relationship before its second re-creation.
    pub(crate) fn created_twice(&self) -> impl Iterator<Item = (ElementName, RelationshipName)> {
        let again = self.0.edges.iter().filter_map(|edge| match &edge.step {
            Task::Work(Work::Relate(relate)) => Some(relate),
            _ => None,
        });
        // A step may remove a relationship as the desired version declares it. An earlier step of the plan has
        // created this relationship, and a later step creates it again.
        let again =
            again.filter(|relate| relate.direction == Direction::Cease && relate.side == Side::Desired);
        again.map(|relate| (relate.assembly.clone(), relate.relationship.clone()))
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = &self.0.edges;
        let count = match edges.len() {
            1 => "a step waits for itself".to_owned(),
            count => format!("{count} steps wait for each other"),
        };
        writeln!(f, "the plan has a cycle: {count}")?;
        for edge in edges {
            write!(f, "  {edge}")?;
            match edge.reason.origin() {
                Some(origin) => writeln!(f, " ({origin})")?,
                None => writeln!(f)?,
            }
        }
        f.write_str(&help(edges))
    }
}

/// Returns the last line of the error message: it suggests changes of the descriptor that avoid the cycle.
fn help(edges: &[CycleEdge<Work, Reason>]) -> String {
    let mut ways: Vec<String> = Vec::new();
    for edge in edges {
        let way = match &edge.reason {
            Reason::Property { property, reader, .. } => {
                format!("give `{property}` of {} a fixed value", reader.local())
            }
            Reason::Relationship { relationship, .. } => {
                format!("give the relationship `{relationship}` another state or modifier")
            }
            _ => continue,
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    match ways.len() {
        0 => "help: remove one of these waits".to_owned(),
        _ => format!("help: {}", ways.join(", or ")),
    }
}
