//! Cycles of steps that wait for each other. Such a cycle prevents the construction of a plan.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

use petgraph::Direction::Incoming;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{EdgeIndex, NodeIndex};
use petgraph::visit::EdgeRef;

use crate::plan::Task;
use crate::steps::Steps;

/// A cycle of steps that wait for each other, so that no order exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle<W, R> {
    /// The edges of a shortest cycle. The awaited step of each edge is the waiting step of the next edge.
    pub edges: Vec<CycleEdge<W, R>>,
}

/// An edge of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleEdge<W, R> {
    /// The step that waits.
    pub step: Task<W>,
    /// The step that is awaited.
    pub on: Task<W>,
    /// The reason of the wait.
    pub reason: R,
}

impl<W: fmt::Display, R: fmt::Display> fmt::Display for CycleEdge<W, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waits for {}: {}", self.step, self.on, self.reason)
    }
}

impl<W: fmt::Display, R: fmt::Display> fmt::Display for Cycle<W, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.edges.len() {
            1 => f.write_str("a step waits for itself")?,
            count => write!(f, "{count} steps wait for each other")?,
        }
        self.edges.iter().try_for_each(|edge| write!(f, "\n  {edge}"))
    }
}

impl<W: fmt::Debug + fmt::Display, R: fmt::Debug + fmt::Display> Error for Cycle<W, R> {}

/// Finds a cycle of steps that wait for each other. Of all steps that are part of a cycle, the function takes the
/// step that was added first. It returns a shortest cycle through this step.
pub(crate) fn find<W: Clone, R: Clone>(steps: &Steps<W>, reasons: &[R]) -> Cycle<W, R> {
    let start = kosaraju_scc(steps)
        .into_iter()
        .filter(|component| component.len() > 1 || steps.contains_edge(component[0], component[0]))
        .filter_map(|component| component.into_iter().min())
        .min();
    let edge = |edge: EdgeIndex| {
        let (on, step) = steps.edge_endpoints(edge)?;
        let reason = reasons[steps[edge].why.0 as usize].clone();
        Some(CycleEdge { step: steps[step].clone(), on: steps[on].clone(), reason })
    };
    let edges = start.map(|start| shortest_way_back(steps, start)).unwrap_or_default();
    Cycle { edges: edges.into_iter().filter_map(edge).collect() }
}

/// Returns the edges of a shortest cycle through `start`, found by a breadth-first search. For example, `start` waits
/// for `b`, and `b` waits for `start`. Then the result contains these two waits, in this order.
fn shortest_way_back<W>(steps: &Steps<W>, start: NodeIndex) -> Vec<EdgeIndex> {
    let mut came_by = vec![None; steps.node_count()];
    let mut queue = VecDeque::from([start]);
    while let Some(step) = queue.pop_front() {
        for edge in steps.edges_directed(step, Incoming) {
            let next = edge.source();
            if came_by[next.index()].is_none() {
                came_by[next.index()] = Some(edge.id());
                if next == start {
                    return unwind(steps, start, &came_by);
                }
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}

fn unwind<W>(steps: &Steps<W>, start: NodeIndex, came_by: &[Option<EdgeIndex>]) -> Vec<EdgeIndex> {
    let mut edges = Vec::new();
    let mut step = start;
    while let Some(edge) = came_by[step.index()] {
        let Some((_, waiting)) = steps.edge_endpoints(edge) else { break };
        edges.push(edge);
        step = waiting;
        if step == start {
            break;
        }
    }
    edges.reverse();
    edges
}
