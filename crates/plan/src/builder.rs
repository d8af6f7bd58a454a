//! Steps and waits in any order become a plan, or the circle that prevents one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use thiserror::Error;
use windlass_model::StepId;

use crate::step::{Plan, Reason, Step, Wait, WaitKind, Work};

/// A step that has been added and has no number yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Draft(NodeIndex);

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

/// Collects steps and waits.
#[derive(Debug, Default)]
#[must_use]
pub struct PlanBuilder {
    graph: DiGraph<Work, (WaitKind, Reason)>,
}

impl PlanBuilder {
    /// Makes an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step. Where waits leave a choice, steps keep the order in which they were added.
    pub fn step(&mut self, work: Work) -> Draft {
        Draft(self.graph.add_node(work))
    }

    /// Adds a barrier.
    pub fn barrier(&mut self, label: impl Into<String>) -> Draft {
        self.step(Work::Barrier { label: label.into() })
    }

    /// Lets `step` wait for `on`.
    pub fn wait(&mut self, step: Draft, on: Draft, kind: WaitKind, reason: Reason) {
        self.graph.add_edge(on.0, step.0, (kind, reason));
    }

    /// Returns what a step does.
    pub fn work(&self, step: Draft) -> &Work {
        &self.graph[step.0]
    }

    /// Puts the steps in order.
    ///
    /// # Errors
    ///
    /// [`PlanError::Cycle`] with a shortest circle when steps wait for each other.
    pub fn build(self) -> Result<Plan, PlanError> {
        let order = self.order()?;
        let (work, barriers): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|node| !self.graph[*node].is_barrier());
        let order: Vec<NodeIndex> = work.into_iter().chain(barriers).collect();
        let mut ids = vec![StepId(0); order.len()];
        for (id, node) in (1..).zip(&order) {
            ids[node.index()] = StepId(id);
        }
        let counts = self.wait_counts();
        // Nodes and edges come in the order in which they were added.
        let (nodes, edges) = self.graph.into_nodes_edges();
        let mut steps: Vec<Step> = nodes
            .into_iter()
            .zip(ids.iter().zip(counts))
            .map(|(node, (id, waits))| Step { id: *id, work: node.weight, waits: Vec::with_capacity(waits) })
            .collect();
        for edge in edges {
            let (step, on) = (edge.target().index(), ids[edge.source().index()]);
            let (kind, reason) = edge.weight;
            steps[step].waits.push(Wait { on, kind, reason });
        }
        for step in &mut steps {
            // The first-added reason of the strongest wait on a step is kept.
            step.waits.sort_by_key(|wait| (wait.on, Reverse(wait.kind)));
            step.waits.dedup_by_key(|wait| wait.on);
        }
        steps.sort_unstable_by_key(|step| step.id);
        Ok(Plan { version: 1, steps })
    }

    /// Returns for each step how many waits it has.
    fn wait_counts(&self) -> Vec<usize> {
        let waits = |node| self.graph.edges_directed(node, petgraph::Incoming).count();
        self.graph.node_indices().map(waits).collect()
    }

    /// Kahn's order, the earliest added of the free steps first.
    fn order(&self) -> Result<Vec<NodeIndex>, PlanError> {
        let mut open = self.wait_counts();
        let mut free: BinaryHeap<Reverse<NodeIndex>> =
            self.graph.node_indices().filter(|node| open[node.index()] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(open.len());
        while let Some(Reverse(node)) = free.pop() {
            order.push(node);
            for next in self.graph.neighbors(node) {
                open[next.index()] -= 1;
                if open[next.index()] == 0 {
                    free.push(Reverse(next));
                }
            }
        }
        if order.len() == self.graph.node_count() { Ok(order) } else { Err(PlanError::Cycle(self.circle())) }
    }

    /// Finds a shortest circle in the first knot of steps that wait for each other.
    fn circle(&self) -> Vec<CycleEdge> {
        let knot = kosaraju_scc(&self.graph)
            .into_iter()
            .filter(|knot| knot.len() > 1 || self.graph.contains_edge(knot[0], knot[0]))
            .min_by_key(|knot| knot.iter().min().copied());
        let Some(start) = knot.and_then(|knot| knot.into_iter().min()) else { return Vec::new() };
        self.shortest_way_back(start)
    }

    /// Walks from `start` along waits, breadth first, until it is met again.
    fn shortest_way_back(&self, start: NodeIndex) -> Vec<CycleEdge> {
        let mut came_by = vec![None; self.graph.node_count()];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for edge in self.graph.edges_directed(node, petgraph::Incoming) {
                let next = edge.source();
                if came_by[next.index()].is_none() {
                    came_by[next.index()] = Some(edge.id());
                    if next == start {
                        return self.unwind(start, &came_by);
                    }
                    queue.push_back(next);
                }
            }
        }
        Vec::new()
    }

    fn unwind(&self, start: NodeIndex, came_by: &[Option<petgraph::graph::EdgeIndex>]) -> Vec<CycleEdge> {
        let mut edges = Vec::new();
        let mut node = start;
        while let Some(id) = came_by[node.index()] {
            let Some((on, step)) = self.graph.edge_endpoints(id) else { break };
            edges.push(CycleEdge {
                step: self.graph[step].clone(),
                on: self.graph[on].clone(),
                reason: self.graph[id].1.clone(),
            });
            node = step;
            if node == start {
                break;
            }
        }
        edges.reverse();
        edges
    }
}
