//! The types of plans that drive assemblies, and the cycle error as a user sees it.

use std::fmt;

use thiserror::Error;
use windlass_model::work::{Reason, Work};
use windlass_plan::draw::Drawing;
use windlass_plan::{CycleEdge, Task};

use crate::differences::Diff;

/// A plan whose steps drive the elements of an assembly.
pub type Plan = windlass_plan::Plan<Work, Reason>;

/// A builder of such plans.
pub(crate) type PlanBuilder = windlass_plan::PlanBuilder<Work, Reason>;

/// A cycle of steps that wait for each other.
pub(crate) type Cycle = windlass_plan::Cycle<Work, Reason>;

/// A plan and its changes.
#[derive(Debug, Clone)]
#[must_use]
pub struct Planned {
    /// The steps.
    pub plan: Plan,
    /// The changes for display.
    pub diff: Diff,
    /// The changes that a limited plan skips.
    pub undone: Diff,
}

/// An error of rules that demand an order that does not exist.
///
/// It displays a shortest cycle with the origin of each wait, and the changes that would break the cycle.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct OrderError(pub windlass_plan::Cycle<Work, Reason>);

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

/// Lists the changes of a descriptor that would break a cycle.
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

/// Draws a plan.
///
/// The details of a step name its element and its calls. The details of a wait name its origin in the
/// descriptor.
pub fn draw_plan(title: impl Into<String>, plan: &Plan) -> Drawing {
    let mut drawing = Drawing::of_plan(title, plan);
    for (node, step) in drawing.nodes.iter_mut().zip(plan.steps()) {
        for (detail, wait) in node.details.iter_mut().zip(step.waits()) {
            if let Some(origin) = wait.reason.origin() {
                detail.1 = format!("{} ({origin})", detail.1);
            }
        }
        let own = match step.task {
            Task::Barrier(label) => vec![("does".to_owned(), label.clone())],
            Task::Work(work) => {
                vec![("element".to_owned(), work.element().to_string()), ("does".to_owned(), work.verb())]
            }
        };
        node.details.splice(0..0, own);
    }
    drawing
}
