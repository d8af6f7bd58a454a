//! A draft of a plan: steps with their phase and their waits, to which the phases add their barriers.

use std::collections::{BTreeMap, HashSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use windlass_model::name::RelationshipName;
use windlass_model::{ElementName, State};
use windlass_plan::{Direction, Draft, Gate, Plan, PlanBuilder, PlanError, Reason, WaitKind, Why, Work};

use crate::planner::Firmness;
use crate::wishes::{self, Wish};

/// A place in the order of phases; steps of one phase are taken before those of the next.
pub(crate) type Phase = u8;

/// A step of the draft.
pub(crate) use windlass_plan::Draft as At;

/// Collects steps and waits, and puts the barriers of phases between them at the end.
///
/// Steps are numbers and waits are in long lists, as in the builder: what is asked of all of them is asked in the order
/// in which they lie.
#[derive(Default)]
pub(crate) struct Graph {
    builder: PlanBuilder,
    /// Where each step stands among the phases.
    stands: Vec<Stand>,
    /// Waits that may be dropped.
    wishes: Vec<Wish>,
    /// Waits that are dropped before any wish is.
    hopes: Vec<Wish>,
    /// How many wholes have wishes.
    wholes: u32,
}

/// Where a step stands among the phases.
#[derive(Debug, Clone, Copy)]
enum Stand {
    /// It waits for the phases before its own.
    Patient(Phase),
    /// It belongs to a phase, and waits for something else that does: making a relationship waits for its ends.
    Impatient(Phase),
    /// It is a barrier, and belongs to none.
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
    /// Makes an empty draft with room for some steps and waits.
    pub(crate) fn with_capacity(steps: usize, waits: usize) -> Self {
        let builder = PlanBuilder::with_capacity(steps, waits);
        Self { builder, stands: Vec::with_capacity(steps), ..Self::default() }
    }

    pub(crate) fn step(&mut self, phase: Phase, work: Work) -> At {
        self.stands.push(Stand::of(phase, &work));
        self.builder.step(work)
    }

    /// Adds a step that needs the last one, because its element is in `state` first.
    pub(crate) fn next_step(&mut self, phase: Phase, work: Work, state: State) -> At {
        self.stands.push(Stand::of(phase, &work));
        self.builder.next_step(work, state)
    }

    pub(crate) fn barrier(&mut self, label: impl Into<String>) -> At {
        self.stands.push(Stand::Barrier);
        self.builder.barrier(label)
    }

    /// Notes a reason that several waits share.
    pub(crate) fn note(&mut self, reason: Reason) -> Why {
        self.builder.note(reason)
    }

    /// Notes what the element of a waiting step reads of the other's.
    pub(crate) fn note_read(&mut self, read: windlass_plan::Read) -> Why {
        self.builder.note_read(read)
    }

    /// Lets `step` need `on`.
    pub(crate) fn need(&mut self, step: At, on: At, why: Why) {
        self.wait(step, on, WaitKind::Needs, why);
    }

    /// Lets `step` wait for `on`.
    pub(crate) fn wait(&mut self, step: At, on: At, kind: WaitKind, why: Why) {
        self.builder.wait_because(step, on, kind, why);
    }

    /// Lets `step` wait for `on`, unless that is a wish and would close a circle.
    pub(crate) fn wait_firmly(&mut self, step: At, on: At, kind: WaitKind, firmness: Firmness, why: Why) {
        match firmness {
            Firmness::Rule => self.wait(step, on, kind, why),
            Firmness::Wish => self.wishes.push(Wish { step, on, kind, why, whole: None }),
            Firmness::Hope => self.hopes.push(Wish { step, on, kind, why, whole: None }),
        }
    }

    /// Lets all of some steps wish to wait for `on`, of which one at least has to: together they are what waits.
    pub(crate) fn wait_as_whole(&mut self, steps: &[(At, WaitKind)], on: At, why: Why) {
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

    /// Turns wishes into waits, but for those that would close a circle; then hopes.
    pub(crate) fn settle_wishes(&mut self) {
        self.settle();
        self.wishes = std::mem::take(&mut self.hopes);
        self.settle();
    }

    /// Turns wishes into waits.
    ///
    /// A wish between steps that are in no circle is granted at once, and of the others as many as there is an order
    /// with. Where a whole would have to give up all of its, there is none: then it gets them, and the circle is told of.
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

    /// Returns the number of the strongly connected component that each step is in: two have the same number when each waits
    /// for the other, wishes counted.
    fn components(&self) -> Vec<usize> {
        let wishes = self.wishes.iter().map(|wish| (wish.step, wish.on));
        let edges = self.builder.waits().chain(wishes).map(|(step, on)| (step.place(), on.place()));
        let mut graph: DiGraph<(), (), usize> = DiGraph::from_edges(edges);
        while graph.node_count() < self.stands.len() {
            graph.add_node(());
        }
        let mut components = vec![0; self.stands.len()];
        // Not Tarjan's: petgraph has that recursive, and a chain may be as long as the assembly is large.
        for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            for member in members {
                components[member.index()] = number;
            }
        }
        components
    }

    /// Returns the relationships that are made or ended, with the assemblies that declare them.
    pub(crate) fn ties(&self) -> HashSet<(&ElementName, &RelationshipName)> {
        let ties = self.builder.drafts().filter_map(|(_, work)| match work {
            Work::Relate(relate) => Some((&relate.assembly, &relate.relationship)),
            _ => None,
        });
        ties.collect()
    }

    /// Adds the barriers between phases and puts everything in order. `label` says what holds once a phase is over.
    pub(crate) fn build(mut self, label: impl Fn(Phase) -> String) -> Result<Plan, PlanError> {
        // Where there is a circle without phases, it is told of without them.
        if let Some(demanded) = self.demanded() {
            let gates = self.add_gates(label);
            self.wait_for_phases(&demanded, &gates);
        }
        self.builder.build()
    }

    /// Adds a gate behind each phase but the last, behind which nothing waits.
    fn add_gates(&mut self, label: impl Fn(Phase) -> String) -> BTreeMap<Phase, Gate> {
        let mut phases = [false; Phase::MAX as usize + 1];
        self.stands
            .iter()
            .filter_map(|stand| stand.phase())
            .for_each(|phase| phases[usize::from(phase)] = true);
        let mut phases: Vec<Phase> =
            (0..=Phase::MAX).zip(phases).filter(|(_, used)| *used).map(|(phase, _)| phase).collect();
        phases.pop();
        let gate = |phase| {
            let why = self.builder.note(Reason::Phase { label: label(phase) });
            Some((phase, self.builder.gate(label(phase), WaitKind::After, why)?))
        };
        let gates: BTreeMap<Phase, Gate> = phases.into_iter().filter_map(gate).collect();
        let gate_of = by_phase(|phase| gates.get(&phase).copied());
        for (step, stand) in Draft::all().zip(&self.stands) {
            if let Some(gate) = stand.phase().and_then(|phase| gate_of[usize::from(phase)]) {
                self.builder.before(step, gate);
            }
        }
        gates
    }

    /// Lets steps wait for the last gate before the phase in which they are demanded.
    fn wait_for_phases(&mut self, demanded: &[Phase], gates: &BTreeMap<Phase, Gate>) {
        let gate_before = by_phase(|phase| gates.range(..phase).next_back().map(|(_, gate)| *gate));
        for ((step, stand), demanded) in Draft::all().zip(&self.stands).zip(demanded) {
            if let (Stand::Patient(_), Some(gate)) = (stand, gate_before[usize::from(*demanded)]) {
                self.builder.behind(step, gate);
            }
        }
    }

    /// Returns for each step the earliest phase in which somebody needs it: its own, or that of a step that needs it.
    ///
    /// This is what raises a part above the others: a step that an earlier phase needs, waits for that phase's
    /// barrier instead of its own. Nothing when there is a circle.
    fn demanded(&mut self) -> Option<Vec<Phase>> {
        let phases = self.stands.iter().map(|stand| stand.phase().unwrap_or(Phase::MAX)).collect();
        self.builder.least_of_dependents(phases)
    }
}

/// Makes a table with something for each phase that there can be.
fn by_phase<T>(of: impl Fn(Phase) -> T) -> Vec<T> {
    (0..=Phase::MAX).map(of).collect()
}

/// Returns the number of a step in lists.
pub(crate) fn number(at: At) -> u32 {
    u32::try_from(at.place()).expect("places of steps are as small")
}
