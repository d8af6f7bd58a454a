//! A draft of a plan: steps with their phase and their needs, to which the phases add their barriers.

use std::collections::BTreeMap;

use windlass_plan::{Draft, Plan, PlanBuilder, PlanError, Reason, WaitKind, Work};

/// A place in the order of phases; steps of one phase are taken before those of the next.
pub(crate) type Phase = u8;

/// Collects steps and needs, and puts the barriers of phases between them at the end.
#[derive(Default)]
pub(crate) struct Graph {
    builder: PlanBuilder,
    nodes: Vec<Node>,
}

struct Node {
    draft: Draft,
    /// The phase it belongs to; barriers belong to none.
    phase: Option<Phase>,
    needs: Vec<usize>,
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
        let draft = self.builder.step(work);
        self.nodes.push(Node { draft, phase, needs: Vec::new() });
        At(self.nodes.len() - 1)
    }

    /// Lets `step` need `on`.
    pub(crate) fn need(&mut self, step: At, on: At, reason: Reason) {
        self.nodes[step.0].needs.push(on.0);
        let (step, on) = (self.nodes[step.0].draft, self.nodes[on.0].draft);
        self.builder.wait(step, on, WaitKind::Needs, reason);
    }

    /// Adds the barriers between phases and puts everything in order. `label` says what holds once a phase is over.
    pub(crate) fn build(mut self, label: impl Fn(Phase) -> String) -> Result<Plan, PlanError> {
        let demanded = self.demanded();
        let mut members: BTreeMap<Phase, Vec<usize>> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if let Some(phase) = node.phase {
                members.entry(phase).or_default().push(at);
            }
        }
        let mut barriers: BTreeMap<Phase, Draft> = BTreeMap::new();
        // Behind the last phase nothing waits.
        let last = members.keys().next_back().copied();
        for (phase, members) in members.iter().filter(|(phase, _)| Some(**phase) != last) {
            let barrier = self.builder.barrier(label(*phase));
            for member in members {
                let reason = Reason::Phase { label: label(*phase) };
                self.builder.wait(barrier, self.nodes[*member].draft, WaitKind::After, reason);
            }
            barriers.insert(*phase, barrier);
        }
        for (node, demanded) in self.nodes.iter().zip(demanded) {
            // Only transitions wait for phases: a relationship is made as soon as its ends allow it.
            if !matches!(self.builder.work(node.draft), Work::Transition { .. }) {
                continue;
            }
            if let Some((phase, barrier)) = barriers.range(..demanded).next_back() {
                let reason = Reason::Phase { label: label(*phase) };
                self.builder.wait(node.draft, *barrier, WaitKind::After, reason);
            }
        }
        self.builder.build()
    }

    /// Returns for each step the earliest phase in which somebody needs it: its own, or that of a step that needs it.
    ///
    /// This is what raises a part above the others: a step that an earlier phase needs, waits for that phase's
    /// barrier instead of its own. Each edge is looked at once.
    fn demanded(&self) -> Vec<Phase> {
        let mut demanded: Vec<Phase> = self.nodes.iter().map(|n| n.phase.unwrap_or(Phase::MAX)).collect();
        let mut open = vec![0_usize; self.nodes.len()];
        for node in &self.nodes {
            for need in &node.needs {
                open[*need] += 1;
            }
        }
        // From the steps that nobody needs, back to those that are needed. Steps in a circle are never reached; the
        // builder reports them.
        let mut free: Vec<usize> = (0..self.nodes.len()).filter(|at| open[*at] == 0).collect();
        while let Some(at) = free.pop() {
            for need in &self.nodes[at].needs {
                demanded[*need] = demanded[*need].min(demanded[at]);
                open[*need] -= 1;
                if open[*need] == 0 {
                    free.push(*need);
                }
            }
        }
        demanded
    }
}
