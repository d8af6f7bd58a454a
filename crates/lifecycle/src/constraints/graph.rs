//! A draft of a plan: steps with phases, their waits, and soft constraints.

use std::collections::HashSet;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use windlass_model::name::RelationshipName;
use windlass_model::work::{Direction, Reason, Relate, Work};
use windlass_model::{ElementName, Relationship, State};
use windlass_plan::{Draft, PlanBuilder, Task, WaitKind, Why};

use super::phase::{self, Phase};
use super::soft::{self, Priority, SoftConstraint};

/// The steps of a plan under construction, and the waits between these steps.
///
/// The planner adds the barriers between phases later, after all steps. The graph keeps steps and waits in flat lists,
/// in the order in which the planner adds them. A [`Draft`] is the number of a step.
#[derive(Default)]
pub(crate) struct Graph {
    builder: PlanBuilder<Work, Reason>,
    /// For each step or barrier, its phase, and whether it waits for earlier phases.
    roles: Vec<PhaseRole>,
    /// The soft constraints with [`Priority::Strong`].
    ///
    /// The planner drops such a constraint only if the constraint is part of a cycle of waits.
    strong: Vec<SoftConstraint>,
    /// The soft constraints with [`Priority::Weak`].
    ///
    /// The planner drops such a constraint only if the constraint is part of a cycle of waits. If a cycle contains
    /// strong and weak constraints, the planner drops a weak constraint.
    weak: Vec<SoftConstraint>,
    /// The number of *wholes* so far, which is also the identifier of the next whole.
    ///
    /// A whole is a set of soft constraints. The planner must keep at least one constraint of each whole; see
    /// [`super::soft`].
    wholes: u32,
}

/// The phase of a step, and whether the step waits for earlier phases.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PhaseRole {
    /// A step that waits for the phases before its own.
    Waiting(Phase),
    /// A step that belongs to a phase, but does not wait for earlier phases. Such a step creates a relationship,
    /// and already waits for the states of the relationship's source and target.
    Exempt(Phase),
    /// A barrier, which belongs to no phase.
    Barrier,
}

impl PhaseRole {
    fn of(phase: Phase, work: &Work) -> Self {
        match work {
            Work::Relate(relate) if relate.direction == Direction::Create => Self::Exempt(phase),
            _ => Self::Waiting(phase),
        }
    }

    pub(crate) fn phase(self) -> Option<Phase> {
        match self {
            Self::Waiting(phase) | Self::Exempt(phase) => Some(phase),
            Self::Barrier => None,
        }
    }
}

impl Graph {
    /// Creates a graph without steps and waits. The arguments are the expected numbers of steps and waits.
    pub(crate) fn with_capacity(steps: usize, waits: usize) -> Self {
        let builder = PlanBuilder::with_capacity(steps, waits);
        Self { builder, roles: Vec::with_capacity(steps), ..Self::default() }
    }

    pub(crate) fn step(&mut self, phase: Phase, work: Work) -> Draft {
        self.roles.push(PhaseRole::of(phase, &work));
        self.builder.step(work)
    }

    /// Adds the next step of an element.
    ///
    /// The argument `before` is the previous step of the element. The previous step brings the element into the state
    /// `state`. The new step needs the success of the previous step.
    pub(crate) fn next_step(&mut self, phase: Phase, work: Work, state: State, before: Draft) -> Draft {
        let why = self.note(Reason::Order { element: work.element().clone(), state });
        let step = self.step(phase, work);
        self.need(step, before, why);
        step
    }

    /// Tells whether a step belongs to a batch of a rolling change.
    pub(crate) fn rolls(&self, step: Draft) -> bool {
        self.roles[step.place()].phase() == Some(phase::ROLL)
    }

    pub(crate) fn barrier(&mut self, label: impl Into<String>) -> Draft {
        self.roles.push(PhaseRole::Barrier);
        self.builder.barrier(label)
    }

    /// Adds a reason, which one or more waits can use.
    pub(crate) fn note(&mut self, reason: Reason) -> Why {
        self.builder.note(reason)
    }

    /// Adds a reason for waits, and returns a handle for this reason. The caller passes the handle to each wait
    /// that `relationship` requires by the rule `rule`.
    ///
    /// `rule` is a text for display, for example `source web__1 must be Active`.
    pub(crate) fn because(&mut self, relationship: &Relationship, rule: String) -> Why {
        let Relationship { name, origin, .. } = relationship;
        self.note(Reason::Relationship { relationship: name.clone(), rule, origin: origin.clone() })
    }

    /// Returns the steps that create or remove pairs. A pair is one source and one target of a relationship.
    pub(crate) fn relates(&self) -> impl Iterator<Item = (Draft, &Relate)> {
        self.builder.drafts().filter_map(|(step, task)| match task {
            Task::Work(Work::Relate(relate)) => Some((step, &**relate)),
            _ => None,
        })
    }

    /// Makes `step` need the success of `on`.
    pub(crate) fn need(&mut self, step: Draft, on: Draft, why: Why) {
        self.wait(step, on, WaitKind::Needs, why);
    }

    /// Makes `step` begin only after `on` has ended. `kind` tells whether `on` must also have succeeded.
    pub(crate) fn wait(&mut self, step: Draft, on: Draft, kind: WaitKind, why: Why) {
        self.builder.wait_because(step, on, kind, why);
    }

    /// Adds a wait like [`wait`](Self::wait), with a priority.
    ///
    /// If `priority` is `Strong` or `Weak`, the planner later drops the wait if the wait would close a cycle.
    pub(crate) fn constrain(&mut self, step: Draft, on: Draft, kind: WaitKind, priority: Priority, why: Why) {
        match priority {
            Priority::Required => self.wait(step, on, kind, why),
            Priority::Strong => self.strong.push(SoftConstraint { step, on, kind, why, whole: None }),
            Priority::Weak => self.weak.push(SoftConstraint { step, on, kind, why, whole: None }),
        }
    }

    /// Makes all given steps wait for the step `on`. These waits are soft constraints.
    ///
    /// The planner may drop some of these constraints, but keeps at least one of them. Such a set of constraints is
    /// called a *whole*; see [`super::soft`].
    pub(crate) fn wait_as_whole(&mut self, steps: &[(Draft, WaitKind)], on: Draft, why: Why) {
        let whole = Some(self.wholes);
        self.wholes += 1;
        self.strong.extend(steps.iter().map(|(step, kind)| SoftConstraint {
            step: *step,
            on,
            kind: *kind,
            why,
            whole,
        }));
    }

    /// Turns soft constraints into waits, except those that would close a cycle.
    pub(crate) fn settle_soft_constraints(&mut self) {
        let (strong, weak) = (std::mem::take(&mut self.strong), std::mem::take(&mut self.weak));
        // Most plans have no cycle. This check is faster than the search for strongly connected components.
        if soft::are_acyclic(&self.builder, &strong, &weak) {
            self.keep(strong.into_iter().chain(weak));
            return;
        }
        // If the hard constraints alone have a cycle, planning fails and reports it.
        if !soft::are_acyclic(&self.builder, &[], &[]) {
            return;
        }
        self.settle(strong);
        self.settle(weak);
    }

    /// Turns soft constraints into waits, and drops some of them if they would form a cycle.
    ///
    /// The function keeps each constraint that is in no cycle. For the constraints in cycles, [`soft::kept`] chooses
    /// the constraints to keep.
    ///
    /// Some constraints belong to a *whole*: a set of constraints of which the planner must keep at least one. If
    /// [`soft::kept`] would drop all constraints of a whole, the function keeps all of them. Then the waits form a
    /// cycle, and planning fails with an error that shows the cycle.
    fn settle(&mut self, soft: Vec<SoftConstraint>) {
        if soft.is_empty() {
            return;
        }
        let component = self.components(&soft);
        let (mut open, acyclic): (Vec<SoftConstraint>, Vec<SoftConstraint>) =
            soft.into_iter().partition(|one| component[one.on.place()] == component[one.step.place()]);
        let mut held: HashSet<u32> = acyclic.iter().filter_map(|one| one.whole).collect();
        self.keep(acyclic);
        for one in &mut open {
            one.whole = one.whole.filter(|whole| !held.contains(whole));
        }
        let kept = soft::kept(&self.builder, &open);
        let choices = || open.iter().zip(&kept);
        held.extend(choices().filter(|(_, kept)| **kept).filter_map(|(one, _)| one.whole));
        let is_kept =
            |one: &SoftConstraint, kept: bool| kept || one.whole.is_some_and(|whole| !held.contains(&whole));
        self.keep(choices().filter(|(one, kept)| is_kept(one, **kept)).map(|(one, _)| *one));
    }

    /// Turns soft constraints into waits.
    fn keep(&mut self, soft: impl IntoIterator<Item = SoftConstraint>) {
        for SoftConstraint { step, on, kind, why, .. } in soft {
            self.wait(step, on, kind, why);
        }
    }

    /// Returns, for each step, the number that identifies its strongly connected component.
    ///
    /// Two steps have the same number if each waits for the other, directly or through other steps. Soft
    /// constraints count as waits.
    fn components(&self, soft: &[SoftConstraint]) -> Vec<usize> {
        let soft = soft.iter().map(|one| (one.step, one.on));
        let edges = self.builder.waits().chain(soft).map(|(step, on)| (step.place(), on.place()));
        let mut graph: DiGraph<(), (), usize> = DiGraph::from_edges(edges);
        while graph.node_count() < self.roles.len() {
            graph.add_node(());
        }
        let mut components = vec![0; self.roles.len()];
        // Not petgraph's Tarjan algorithm: it is recursive, and a chain of waits can be as long as the
        // assembly is large.
        for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            for member in members {
                components[member.index()] = number;
            }
        }
        components
    }

    /// Returns the relationships for which the plan has steps.
    ///
    /// Each entry contains the assembly that declares the relationship, and the name of the relationship.
    pub(crate) fn ties(&self) -> HashSet<(&ElementName, &RelationshipName)> {
        let ties = self.builder.drafts().filter_map(|(_, task)| match task.work()? {
            Work::Relate(relate) => Some((&relate.assembly, &relate.relationship)),
            _ => None,
        });
        ties.collect()
    }

    /// Returns the builder of the plan, and the [`PhaseRole`] of each step or barrier.
    pub(crate) fn into_parts(self) -> (PlanBuilder<Work, Reason>, Vec<PhaseRole>) {
        (self.builder, self.roles)
    }
}
