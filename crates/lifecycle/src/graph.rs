//! A draft of a plan: steps with their phase and their waits, to which the phases add their barriers.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;

use crate::planner::Firmness;
use windlass_plan::{Draft, Plan, PlanBuilder, PlanError, Reason, WaitKind, Work};

/// A place in the order of phases; steps of one phase are taken before those of the next.
pub(crate) type Phase = u8;

/// Collects steps and waits, and puts the barriers of phases between them at the end.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    /// Steps of which one at least must have its wish.
    one_of: Vec<(Vec<At>, At, Reason)>,
}

struct Node {
    work: Work,
    /// The phase it belongs to; barriers belong to none.
    phase: Option<Phase>,
    waits: Vec<(At, WaitKind, Reason)>,
    /// Waits that may be dropped.
    wishes: Vec<(At, WaitKind, Reason)>,
    /// Waits that are dropped before any wish is.
    hopes: Vec<(At, WaitKind, Reason)>,
    /// The steps that have to be taken as well if this one is.
    brings: Vec<At>,
}

/// A step of the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(usize);

impl Graph {
    pub(crate) fn step(&mut self, phase: Phase, work: Work) -> At {
        self.add(Some(phase), work)
    }

    pub(crate) fn barrier(&mut self, label: impl Into<String>) -> At {
        self.add(None, Work::Barrier { label: label.into() })
    }

    fn add(&mut self, phase: Option<Phase>, work: Work) -> At {
        self.nodes.push(Node {
            work,
            phase,
            waits: Vec::new(),
            wishes: Vec::new(),
            hopes: Vec::new(),
            brings: Vec::new(),
        });
        At(self.nodes.len() - 1)
    }

    /// Lets `step` need `on`.
    pub(crate) fn need(&mut self, step: At, on: At, reason: Reason) {
        self.wait(step, on, WaitKind::Needs, reason);
    }

    /// Lets `step` wait for `on`.
    pub(crate) fn wait(&mut self, step: At, on: At, kind: WaitKind, reason: Reason) {
        push(&mut self.nodes[step.0].waits, (on, kind, reason));
    }

    /// Lets `step` wait for `on`, unless that is a wish and would close a circle.
    pub(crate) fn wait_firmly(
        &mut self,
        step: At,
        on: At,
        kind: WaitKind,
        firmness: Firmness,
        reason: Reason,
    ) {
        let node = &mut self.nodes[step.0];
        let waits = match firmness {
            Firmness::Rule => &mut node.waits,
            Firmness::Wish => &mut node.wishes,
            Firmness::Hope => &mut node.hopes,
        };
        push(waits, (on, kind, reason));
    }

    /// Turns wishes into waits, but for those that would close a circle; then hopes.
    pub(crate) fn settle_wishes(&mut self) {
        self.settle();
        for (steps, on, reason) in std::mem::take(&mut self.one_of) {
            if !steps.iter().any(|step| self.nodes[step.0].waits.iter().any(|wait| wait.0 == on)) {
                // There is no order: it is the circle that is to be told of.
                for step in steps {
                    self.need(step, on, reason.clone());
                }
            }
        }
        for node in &mut self.nodes {
            node.wishes = std::mem::take(&mut node.hopes);
        }
        self.settle();
    }

    /// Turns wishes into waits.
    ///
    /// A wish between steps that are in no circle is granted at once. The rest is taken in order as if wishes were waits;
    /// where no step is free, the first one that only wishes keep back gives its wishes up. Each edge is looked at once.
    fn settle(&mut self) {
        if self.nodes.iter().all(|node| node.wishes.is_empty()) {
            return;
        }
        let knots = self.knots();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let (open, granted): (Vec<_>, Vec<_>) =
                std::mem::take(&mut node.wishes).into_iter().partition(|(on, _, _)| knots[on.0] == knots[at]);
            node.waits.extend(granted);
            node.wishes = open;
        }
        Knots::of(self).untie(self);
        for node in &mut self.nodes {
            node.waits.append(&mut node.wishes);
        }
    }

    /// Says that of some steps that wish to wait for `on`, not all may give that up.
    pub(crate) fn keep_one(&mut self, steps: Vec<At>, on: At, reason: Reason) {
        self.one_of.push((steps, on, reason));
    }

    /// Numbers the steps so that two have the same number when each waits for the other, wishes counted.
    fn knots(&self) -> Vec<usize> {
        let edges =
            self.nodes.iter().enumerate().flat_map(|(at, node)| {
                node.waits.iter().chain(&node.wishes).map(move |(on, _, _)| (at, on.0))
            });
        let mut graph: DiGraph<(), (), usize> = DiGraph::from_edges(edges);
        while graph.node_count() < self.nodes.len() {
            graph.add_node(());
        }
        let mut knots = vec![0; self.nodes.len()];
        // Not Tarjan's: petgraph has that recursive, and a chain may be as long as the assembly is large.
        for (knot, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            for member in members {
                knots[member.index()] = knot;
            }
        }
        knots
    }

    /// Says that who takes `step` has to take `then` as well: what is undone is done again.
    pub(crate) fn bring(&mut self, step: At, then: At) {
        self.nodes[step.0].brings.push(then);
    }

    /// Returns the steps that make or end a relationship of which an element is the target.
    pub(crate) fn touching(&self, element: &windlass_model::ElementName) -> Vec<At> {
        let touches = |node: &Node| matches!(&node.work, Work::Relate { target, .. } if target == element);
        (0..self.nodes.len()).filter(|at| touches(&self.nodes[*at])).map(At).collect()
    }

    /// Returns the elements that make a transition.
    pub(crate) fn movers(&self) -> std::collections::HashSet<&windlass_model::ElementName> {
        let movers = self.nodes.iter().filter_map(|node| match &node.work {
            Work::Transition { element, .. } => Some(element),
            _ => None,
        });
        movers.collect()
    }

    /// Drops every step but these, what they wait for, and what has to be done again because of that.
    pub(crate) fn keep(&mut self, roots: impl IntoIterator<Item = At>) {
        let mut kept = vec![false; self.nodes.len()];
        let mut open: Vec<At> = roots.into_iter().collect();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut kept[at.0], true) {
                open.extend(self.nodes[at.0].waits.iter().map(|wait| wait.0));
                open.extend(&self.nodes[at.0].brings);
            }
        }
        let mut places = vec![0; self.nodes.len()];
        let mut next = 0;
        for (place, kept) in places.iter_mut().zip(&kept) {
            *place = next;
            next += usize::from(*kept);
        }
        let mut keep = kept.iter();
        self.nodes.retain(|_| keep.next().copied().unwrap_or(false));
        for node in &mut self.nodes {
            for wait in &mut node.waits {
                wait.0 = At(places[wait.0.0]);
            }
            node.brings.clear();
        }
    }

    /// Adds the barriers between phases and puts everything in order. `label` says what holds once a phase is over.
    pub(crate) fn build(self, label: impl Fn(Phase) -> String) -> Result<Plan, PlanError> {
        let Some(demanded) = self.demanded() else { return self.without_phases() };
        let mut builder = PlanBuilder::new();
        let mut members: BTreeMap<Phase, Vec<Draft>> = BTreeMap::new();
        let mut edges = Vec::with_capacity(self.nodes.len());
        // Only what a driver is called for waits for phases by itself: making a relationship waits for its ends.
        let mut patient = Vec::with_capacity(self.nodes.len());
        for (node, demanded) in self.nodes.into_iter().zip(demanded) {
            let waits = matches!(
                node.work,
                Work::Transition { .. } | Work::Relate { direction: windlass_plan::Direction::Cease, .. }
            );
            patient.push(waits.then_some(demanded));
            let draft = builder.step(node.work);
            if let Some(phase) = node.phase {
                members.entry(phase).or_default().push(draft);
            }
            edges.push((draft, node.waits));
        }
        let drafts: Vec<Draft> = edges.iter().map(|(draft, _)| *draft).collect();
        for (draft, waits) in edges {
            for (on, kind, reason) in waits {
                builder.wait(draft, drafts[on.0], kind, reason);
            }
        }
        let mut barriers: BTreeMap<Phase, Draft> = BTreeMap::new();
        // Behind the last phase nothing waits.
        let last = members.keys().next_back().copied();
        for (phase, members) in members.iter().filter(|(phase, _)| Some(**phase) != last) {
            let barrier = builder.barrier(label(*phase));
            for member in members {
                builder.wait(barrier, *member, WaitKind::After, Reason::Phase { label: label(*phase) });
            }
            barriers.insert(*phase, barrier);
        }
        for (draft, demanded) in drafts.into_iter().zip(patient) {
            let Some(demanded) = demanded else { continue };
            if let Some((phase, barrier)) = barriers.range(..demanded).next_back() {
                builder.wait(draft, *barrier, WaitKind::After, Reason::Phase { label: label(*phase) });
            }
        }
        builder.build()
    }

    /// Puts everything in order without phases: what is asked of a draft that has a circle, to have it named as it is.
    fn without_phases(self) -> Result<Plan, PlanError> {
        let mut builder = PlanBuilder::new();
        let (works, waits): (Vec<_>, Vec<_>) =
            self.nodes.into_iter().map(|node| (node.work, node.waits)).unzip();
        let drafts: Vec<Draft> = works.into_iter().map(|work| builder.step(work)).collect();
        for (draft, waits) in drafts.iter().zip(waits) {
            for (on, kind, reason) in waits {
                builder.wait(*draft, drafts[on.0], kind, reason);
            }
        }
        builder.build()
    }

    /// Returns for each step the earliest phase in which somebody needs it: its own, or that of a step that needs it.
    ///
    /// This is what raises a part above the others: a step that an earlier phase needs, waits for that phase's
    /// barrier instead of its own. Each edge is looked at once. Nothing when there is a circle.
    fn demanded(&self) -> Option<Vec<Phase>> {
        let mut demanded: Vec<Phase> = self.nodes.iter().map(|n| n.phase.unwrap_or(Phase::MAX)).collect();
        let mut open = vec![0_usize; self.nodes.len()];
        for (on, _, _) in self.nodes.iter().flat_map(|node| &node.waits) {
            open[on.0] += 1;
        }
        // From the steps that nobody needs, back to those that are needed. Steps in a circle are never reached.
        let mut seen = 0;
        let mut free: Vec<usize> = (0..self.nodes.len()).filter(|at| open[*at] == 0).collect();
        while let Some(at) = free.pop() {
            seen += 1;
            for (on, _, _) in &self.nodes[at].waits {
                demanded[on.0] = demanded[on.0].min(demanded[at]);
                open[on.0] -= 1;
                if open[on.0] == 0 {
                    free.push(on.0);
                }
            }
        }
        (seen == self.nodes.len()).then_some(demanded)
    }
}

/// Adds a wait. Most steps have one, and there may be a million of them: no room is made for more at once.
fn push<T>(waits: &mut Vec<T>, wait: T) {
    if waits.capacity() == 0 {
        waits.reserve_exact(1);
    }
    waits.push(wait);
}

/// The steps that are still to be taken while circles are looked for.
struct Knots {
    /// For each step those that wait for it, and whether that is a wish.
    dependents: Vec<Vec<(usize, bool)>>,
    waits: Vec<usize>,
    wishes: Vec<usize>,
    taken: Vec<bool>,
}

impl Knots {
    fn of(graph: &Graph) -> Self {
        let mut dependents: Vec<Vec<(usize, bool)>> = vec![Vec::new(); graph.nodes.len()];
        for (at, node) in graph.nodes.iter().enumerate() {
            node.waits.iter().for_each(|(on, _, _)| dependents[on.0].push((at, false)));
            node.wishes.iter().for_each(|(on, _, _)| dependents[on.0].push((at, true)));
        }
        Self {
            dependents,
            waits: graph.nodes.iter().map(|node| node.waits.len()).collect(),
            wishes: graph.nodes.iter().map(|node| node.wishes.len()).collect(),
            taken: vec![false; graph.nodes.len()],
        }
    }

    /// Takes all steps in order, and has wishes given up where there is none.
    fn untie(mut self, graph: &mut Graph) {
        let steps = 0..graph.nodes.len();
        let mut free: Vec<usize> =
            steps.clone().filter(|at| self.waits[*at] + self.wishes[*at] == 0).collect();
        // Steps that only wishes keep back, first one first.
        let mut kept_back: BTreeSet<usize> =
            steps.filter(|at| self.waits[*at] == 0 && self.wishes[*at] > 0).collect();
        loop {
            let Some(at) = free.pop() else {
                let Some(at) = kept_back.pop_first() else { break };
                graph.nodes[at].wishes.retain(|(on, _, _)| self.taken[on.0]);
                self.wishes[at] = 0;
                free.push(at);
                continue;
            };
            if std::mem::replace(&mut self.taken[at], true) {
                continue;
            }
            for (dependent, wish) in std::mem::take(&mut self.dependents[at]) {
                let open = if wish { &mut self.wishes } else { &mut self.waits };
                open[dependent] = open[dependent].saturating_sub(1);
                if self.waits[dependent] == 0 && !self.taken[dependent] {
                    if self.wishes[dependent] == 0 {
                        kept_back.remove(&dependent);
                        free.push(dependent);
                    } else {
                        kept_back.insert(dependent);
                    }
                }
            }
        }
    }
}
