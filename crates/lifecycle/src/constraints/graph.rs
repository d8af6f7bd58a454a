//! A draft of a plan: steps with phases, their waits, and soft constraints.

use std::collections::HashSet;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use windlass_model::name::RelationshipName;
use windlass_model::work::{Direction, Reason, Work};
use windlass_model::{ElementName, Relationship, State};
use windlass_plan::{Draft, PlanBuilder, WaitKind, Why};

use super::phase::Phase;
use super::soft::{self, Firmness, Wish};

/// A builder that collects steps and waits. The barriers between phases are added to it last.
///
/// Steps are numbers, and waits are in flat lists, as in [`PlanBuilder`]. Queries of all of them run in list
/// order.
#[derive(Default)]
pub(crate) struct Graph {
    builder: PlanBuilder<Work, Reason>,
    /// The relation of each step to the phases.
    stands: Vec<Stand>,
    /// Waits that may be dropped.
    wishes: Vec<Wish>,
    /// Waits that are dropped before any wish is.
    hopes: Vec<Wish>,
    /// The number of wholes with wishes; see [`super::soft`].
    wholes: u32,
}

/// The relation of a step to the phases.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stand {
    /// A step that waits for the phases before its own.
    Patient(Phase),
    /// A step that belongs to a phase and does not wait for earlier ones. The creation of a relationship is
    /// such a step, because it already waits for its ends.
    Impatient(Phase),
    /// A barrier, which belongs to no phase.
    Barrier,
}

impl Stand {
    fn of(phase: Phase, work: &Work) -> Self {
        match work {
            Work::Relate(relate) if relate.direction == Direction::Create => Self::Impatient(phase),
            _ => Self::Patient(phase),
        }
    }

    pub(crate) fn phase(self) -> Option<Phase> {
        match self {
            Self::Patient(phase) | Self::Impatient(phase) => Some(phase),
            Self::Barrier => None,
        }
    }
}

impl Graph {
    /// Creates an empty draft with capacity for some steps and waits.
    pub(crate) fn with_capacity(steps: usize, waits: usize) -> Self {
        let builder = PlanBuilder::with_capacity(steps, waits);
        Self { builder, stands: Vec::with_capacity(steps), ..Self::default() }
    }

    pub(crate) fn step(&mut self, phase: Phase, work: Work) -> Draft {
        self.stands.push(Stand::of(phase, &work));
        self.builder.step(work)
    }

    /// Adds a step that needs the element's previous step `before`, which leaves the element in `state`.
    pub(crate) fn next_step(&mut self, phase: Phase, work: Work, state: State, before: Draft) -> Draft {
        let why = self.note(Reason::Order { element: work.element().clone(), state });
        let step = self.step(phase, work);
        self.need(step, before, why);
        step
    }

    pub(crate) fn barrier(&mut self, label: impl Into<String>) -> Draft {
        self.stands.push(Stand::Barrier);
        self.builder.barrier(label)
    }

    /// Adds a reason that several waits share.
    pub(crate) fn note(&mut self, reason: Reason) -> Why {
        self.builder.note(reason)
    }

    /// Adds the reason for waits that a relationship requires.
    pub(crate) fn because(&mut self, relationship: &Relationship, rule: String) -> Why {
        let Relationship { name, origin, .. } = relationship;
        self.note(Reason::Relationship { relationship: name.clone(), rule, origin: origin.clone() })
    }

    /// Makes `step` need `on`.
    pub(crate) fn need(&mut self, step: Draft, on: Draft, why: Why) {
        self.wait(step, on, WaitKind::Needs, why);
    }

    /// Makes `step` wait for `on`.
    pub(crate) fn wait(&mut self, step: Draft, on: Draft, kind: WaitKind, why: Why) {
        self.builder.wait_because(step, on, kind, why);
    }

    /// Makes `step` wait for `on`. A soft constraint that would close a cycle is dropped later.
    pub(crate) fn wait_firmly(
        &mut self,
        step: Draft,
        on: Draft,
        kind: WaitKind,
        firmness: Firmness,
        why: Why,
    ) {
        match firmness {
            Firmness::Rule => self.wait(step, on, kind, why),
            Firmness::Wish => self.wishes.push(Wish { step, on, kind, why, whole: None }),
            Firmness::Hope => self.hopes.push(Wish { step, on, kind, why, whole: None }),
        }
    }

    /// Adds a wish to wait for `on` to each of some steps, which together form a whole: at least one wish is
    /// kept.
    pub(crate) fn wait_as_whole(&mut self, steps: &[(Draft, WaitKind)], on: Draft, why: Why) {
        let whole = Some(self.wholes);
        self.wholes += 1;
        self.wishes.extend(steps.iter().map(|(step, kind)| Wish {
            step: *step,
            on,
            kind: *kind,
            why,
            whole,
        }));
    }

    /// Turns wishes into waits, then hopes, except those that would close a cycle.
    pub(crate) fn settle_wishes(&mut self) {
        self.settle();
        self.wishes = std::mem::take(&mut self.hopes);
        self.settle();
    }

    /// Turns wishes into waits.
    ///
    /// A wish outside all cycles is granted immediately. The other wishes are granted as far as an order
    /// exists. If a whole could keep none of its wishes, it gets all of them, and planning reports the cycle.
    fn settle(&mut self) {
        if self.wishes.is_empty() {
            return;
        }
        let component = self.components();
        let (mut open, granted): (Vec<Wish>, Vec<Wish>) = std::mem::take(&mut self.wishes)
            .into_iter()
            .partition(|wish| component[wish.on.place()] == component[wish.step.place()]);
        let mut held: HashSet<u32> = granted.iter().filter_map(|wish| wish.whole).collect();
        self.grant(granted);
        for wish in &mut open {
            wish.whole = wish.whole.filter(|whole| !held.contains(whole));
        }
        let kept = soft::kept(&self.builder, &open);
        let wishes = || open.iter().zip(&kept);
        held.extend(wishes().filter(|(_, kept)| **kept).filter_map(|(wish, _)| wish.whole));
        let is_granted =
            |wish: &Wish, kept: bool| kept || wish.whole.is_some_and(|whole| !held.contains(&whole));
        self.grant(wishes().filter(|(wish, kept)| is_granted(wish, **kept)).map(|(wish, _)| *wish));
    }

    fn grant(&mut self, wishes: impl IntoIterator<Item = Wish>) {
        for Wish { step, on, kind, why, .. } in wishes {
            self.wait(step, on, kind, why);
        }
    }

    /// Returns the number of each step's strongly connected component.
    ///
    /// Two steps have the same number if each waits for the other, with wishes counted as waits.
    fn components(&self) -> Vec<usize> {
        let wishes = self.wishes.iter().map(|wish| (wish.step, wish.on));
        let edges = self.builder.waits().chain(wishes).map(|(step, on)| (step.place(), on.place()));
        let mut graph: DiGraph<(), (), usize> = DiGraph::from_edges(edges);
        while graph.node_count() < self.stands.len() {
            graph.add_node(());
        }
        let mut components = vec![0; self.stands.len()];
        // petgraph's Tarjan algorithm is recursive, and a chain may be as long as the assembly is large.
        for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            for member in members {
                components[member.index()] = number;
            }
        }
        components
    }

    /// Returns the relationships that the steps create or cease, with the assemblies that declare them.
    pub(crate) fn ties(&self) -> HashSet<(&ElementName, &RelationshipName)> {
        let ties = self.builder.drafts().filter_map(|(_, task)| match task.work()? {
            Work::Relate(relate) => Some((&relate.assembly, &relate.relationship)),
            _ => None,
        });
        ties.collect()
    }

    /// Returns the builder of the plan, and the relation of each step to the phases.
    pub(crate) fn into_parts(self) -> (PlanBuilder<Work, Reason>, Vec<Stand>) {
        (self.builder, self.stands)
    }
}
