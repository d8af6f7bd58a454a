//! A draft of a plan: steps with phases and waits, completed by the barriers between phases.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use windlass_model::name::RelationshipName;
use windlass_model::work::{Direction, Reason, Work};
use windlass_model::{ElementName, State};
use windlass_plan::{Draft, WaitKind, Why};

use crate::plan::{Cycle, Plan, PlanBuilder};
use crate::planner::Firmness;
use crate::wishes::{self, Wish};

/// The position of a step in the order of phases. Steps of one phase precede those of the next.
pub(crate) type Phase = u8;

/// A builder that collects steps and waits, and finally adds the barriers between phases.
///
/// Steps are numbers, and waits are in flat lists, as in [`PlanBuilder`]. Queries of all of them run in list
/// order.
#[derive(Default)]
pub(crate) struct Graph {
    builder: PlanBuilder,
    /// The relation of each step to the phases.
    stands: Vec<Stand>,
    /// Waits that may be dropped.
    wishes: Vec<Wish>,
    /// Waits that are dropped before any wish is.
    hopes: Vec<Wish>,
    /// The number of wholes with wishes; see [`crate::wishes`].
    wholes: u32,
}

/// The relation of a step to the phases.
#[derive(Debug, Clone, Copy)]
enum Stand {
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

    fn phase(self) -> Option<Phase> {
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
        let kept = wishes::kept(&self.builder, &open);
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

    /// Adds the barriers between phases and orders the steps. `label` returns the condition at the end of a
    /// phase.
    pub(crate) fn build(mut self, label: impl Fn(Phase) -> String) -> Result<Plan, Cycle> {
        // A cycle without phases is reported without their barriers.
        if let Some(demanded) = self.demanded() {
            self.add_phases(label, &demanded);
        }
        self.builder.build()
    }

    /// Adds a barrier behind each phase but the last.
    ///
    /// A step waits for the last barrier before the phase that demands it.
    fn add_phases(&mut self, label: impl Fn(Phase) -> String, demanded: &[Phase]) {
        let mut phases: BTreeSet<Phase> = self.stands.iter().filter_map(|stand| stand.phase()).collect();
        phases.pop_last();
        let mut barriers = BTreeMap::new();
        for phase in phases {
            let why = self.builder.note(Reason::Phase { label: label(phase) });
            barriers.insert(phase, (self.builder.barrier(label(phase)), why));
        }
        let barrier_of = by_phase(|phase| barriers.get(&phase).copied());
        let barrier_before = by_phase(|phase| barriers.range(..phase).next_back().map(|(_, found)| *found));
        for ((step, stand), demanded) in Draft::all().zip(&self.stands).zip(demanded) {
            if let Some((barrier, why)) = stand.phase().and_then(|phase| barrier_of[usize::from(phase)]) {
                self.builder.wait_because(barrier, step, WaitKind::After, why);
            }
            if let (Stand::Patient(_), Some((barrier, why))) = (stand, barrier_before[usize::from(*demanded)])
            {
                self.builder.wait_because(step, barrier, WaitKind::After, why);
            }
        }
    }

    /// Returns for each step the earliest phase that demands it: its own, or that of a dependent step.
    ///
    /// A step that an earlier phase demands waits for the barrier before that phase instead of its own.
    /// Returns `None` if there is a cycle.
    fn demanded(&mut self) -> Option<Vec<Phase>> {
        let phases = self.stands.iter().map(|stand| stand.phase().unwrap_or(Phase::MAX)).collect();
        self.builder.least_of_dependents(phases)
    }
}

/// Returns a table with an entry for each possible phase.
fn by_phase<T>(of: impl Fn(Phase) -> T) -> Vec<T> {
    (0..=Phase::MAX).map(of).collect()
}

/// Returns the number of a step in lists.
pub(crate) fn number(at: Draft) -> u32 {
    u32::try_from(at.place()).expect("places of steps are as small")
}
