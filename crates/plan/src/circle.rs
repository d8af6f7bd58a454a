//! The circle that prevents a plan, as somebody would tell it.
//!
//! Only a draft without an order comes here: this is where petgraph is worth its memory.

use std::collections::VecDeque;
use std::fmt;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};
use petgraph::visit::EdgeRef;
use thiserror::Error;

use crate::builder::{Edge, PlanBuilder};
use crate::step::{Reason, Work};

/// A set of steps that can't be put in order.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Steps wait for each other in a circle, told as the shortest one.
    #[error("there is no order in which this can be done: {} wait for each other\n{}\n{}", count(.0), lines(.0), help(.0))]
    Cycle(Vec<CycleEdge>),
}

/// An edge of a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleEdge {
    /// The step that waits.
    pub step: Work,
    /// The step that it waits for.
    pub on: Work,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for CycleEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waits for {}: {}", self.step, self.on, self.reason)?;
        match self.reason.origin() {
            Some(origin) => write!(f, " ({origin})"),
            None => Ok(()),
        }
    }
}

fn count(edges: &[CycleEdge]) -> String {
    match edges.len() {
        1 => "a step and itself".to_owned(),
        count => format!("{count} steps"),
    }
}

/// Says what would break a circle, by the reasons that a user can change.
fn help(edges: &[CycleEdge]) -> String {
    let mut ways: Vec<String> = Vec::new();
    for edge in edges {
        let way = match &edge.reason {
            Reason::Property { property, reader, .. } => {
                format!("give `{property}` of {} a value that is known beforehand", reader.local())
            }
            Reason::Relationship { relationship, .. } => {
                format!("give the relationship `{relationship}` another state or modifier")
            }
            Reason::Order { .. } | Reason::Phase { .. } | Reason::Nesting { .. } => continue,
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    match ways.len() {
        0 => "help: one of these waits has to go".to_owned(),
        _ => format!("help: {}", ways.join(", or ")),
    }
}

fn lines(edges: &[CycleEdge]) -> String {
    edges.iter().map(|edge| format!("  {edge}")).collect::<Vec<_>>().join("\n")
}

/// The steps of a draft, with an edge from each step to those that wait for it.
type Drawn = DiGraph<(), Edge>;

/// Finds a shortest circle in the first knot of steps that wait for each other.
pub(crate) fn find(draft: &PlanBuilder) -> Vec<CycleEdge> {
    let mut drawn = Drawn::with_capacity(draft.works.len(), draft.edges.len());
    for _ in &draft.works {
        drawn.add_node(());
    }
    for edge in draft.all_edges() {
        drawn.add_edge(node(edge.on), node(edge.step), edge);
    }
    let knot = kosaraju_scc(&drawn)
        .into_iter()
        .filter(|knot| knot.len() > 1 || drawn.contains_edge(knot[0], knot[0]))
        .min_by_key(|knot| knot.iter().min().copied());
    let start = knot.and_then(|knot| knot.into_iter().min());
    let edges = start.map(|start| shortest_way_back(&drawn, start)).unwrap_or_default();
    edges.into_iter().map(|edge| told(draft, drawn[edge])).collect()
}

fn node(place: u32) -> NodeIndex {
    NodeIndex::from(place)
}

fn told(draft: &PlanBuilder, edge: Edge) -> CycleEdge {
    let (step, on) = (&draft.works[edge.step as usize], &draft.works[edge.on as usize]);
    let reason = edge.cause.why().reason(step, on, &draft.reasons).into_owned();
    CycleEdge { step: step.clone(), on: on.clone(), reason }
}

/// Walks from `start` along waits, breadth first, until it is met again.
fn shortest_way_back(drawn: &Drawn, start: NodeIndex) -> Vec<EdgeIndex> {
    let mut came_by = vec![None; drawn.node_count()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for edge in drawn.edges_directed(node, petgraph::Incoming) {
            let next = edge.source();
            if came_by[next.index()].is_none() {
                came_by[next.index()] = Some(edge.id());
                if next == start {
                    return unwind(drawn, start, &came_by);
                }
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}

fn unwind(drawn: &Drawn, start: NodeIndex, came_by: &[Option<EdgeIndex>]) -> Vec<EdgeIndex> {
    let mut edges = Vec::new();
    let mut node = start;
    while let Some(id) = came_by[node.index()] {
        let Some((_, step)) = drawn.edge_endpoints(id) else { break };
        edges.push(id);
        node = step;
        if node == start {
            break;
        }
    }
    edges.reverse();
    edges
}
