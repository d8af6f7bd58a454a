//! A draft in order: Kahn's algorithm by counting.
//!
//! Waits are grouped by the step that is waited for, and then by the one that waits. Nothing is sorted, and each list is
//! gone through from one end to the other as far as that can be. (A graph of petgraph has the edges of each node linked
//! through one list, in which a walk jumps about; where no order exists, it is still what finds the circle.)

use windlass_model::StepId;
use windlass_model::links::Links;

use crate::builder::{Between, Dependent, Dependents, Gate, PlanBuilder};
use crate::earliest::Earliest;
use crate::plan::{Cause, Link, Node, Why, length};

/// A draft, by what its steps are waited for.
pub(crate) struct Order<'b> {
    draft: &'b PlanBuilder,
    /// For each step who waits for it, but for gates and the next step.
    dependents: Links<Dependent>,
    /// For each step how many waits it has.
    waits: Vec<u32>,
    /// For each gate the steps behind it.
    behind: Links<u32>,
    /// Which steps are barriers.
    barriers: Vec<bool>,
}

impl<'b> Order<'b> {
    pub(crate) fn of(draft: &'b PlanBuilder, dependents: Dependents) -> Self {
        let Dependents { links: dependents, waits } = dependents;
        let by_gate = (0..).zip(&draft.sides).filter_map(|(step, sides)| Some((sides.behind?.place(), step)));
        let mut barriers = vec![false; draft.works.len()];
        draft.barriers.iter().for_each(|place| barriers[*place as usize] = true);
        let behind = Links::group(draft.gates.len(), by_gate);
        Self { draft, dependents, waits: with_gates(waits, draft), behind, barriers }
    }

    /// Returns the steps in Kahn's order, the earliest added of the free ones first. Nothing when there is a circle.
    pub(crate) fn steps(&self) -> Option<Vec<u32>> {
        let mut open = self.waits.clone();
        let mut free = Earliest::below(open.len());
        (0..).zip(&open).filter(|(_, open)| **open == 0).for_each(|(place, _)| free.insert(place));
        let mut steps = Vec::with_capacity(open.len());
        while let Some(place) = free.pop() {
            steps.push(u32::try_from(place).expect("places of steps are as small"));
            self.for_each_dependent(steps[steps.len() - 1], |step, _| {
                open[step as usize] -= 1;
                if open[step as usize] == 0 {
                    free.insert(step as usize);
                }
            });
        }
        (steps.len() == open.len()).then_some(steps)
    }

    /// Calls `tell` with who waits for a step, and why; gates and who is behind one come last.
    fn for_each_dependent(&self, place: u32, mut tell: impl FnMut(u32, Cause)) {
        let tell_one = |dependent: Dependent| tell(dependent.step, dependent.cause);
        self.draft.for_each_dependent(&self.dependents, place, tell_one);
        if let Some(Between { barrier, cause }) =
            self.draft.sides[place as usize].before.map(|gate| self.gate(gate))
        {
            tell(barrier, cause);
        }
        if self.barriers[place as usize] {
            for (gate, between) in (0..).zip(&self.draft.gates).filter(|(_, gate)| gate.barrier == place) {
                self.behind.of(gate).iter().for_each(|step| tell(*step, between.cause));
            }
        }
    }

    fn gate(&self, gate: Gate) -> Between {
        self.draft.gates[gate.place() as usize]
    }

    /// Gives the steps their numbers, barriers the last ones, and gathers the waits of each.
    ///
    /// What is waited for is gone through by number, so each step gets its waits by number. Of several on one step, the
    /// strongest is kept, with the reason that was added first.
    pub(crate) fn number(&self, mut steps: Vec<u32>) -> (Vec<Node>, Vec<Link>) {
        let is_barrier = |place: &u32| self.barriers[*place as usize];
        let barriers: Vec<u32> = steps.iter().copied().filter(is_barrier).collect();
        steps.retain(|place| !is_barrier(place));
        steps.extend(barriers);

        let mut end = 0;
        let mut numbers = vec![0_u32; steps.len()];
        let mut nodes = Vec::with_capacity(steps.len());
        for (number, place) in (0..).zip(&steps) {
            numbers[*place as usize] = number;
            nodes.push(Node { work: *place, waits: (end, end) });
            end += self.waits[*place as usize];
        }
        let nothing = Link { on: StepId(0), cause: Cause::new(crate::WaitKind::After, Why::noted(0)) };
        let mut links = vec![nothing; end as usize];
        for (on, place) in (1..=length(&steps)).zip(&steps) {
            self.for_each_dependent(*place, |step, cause| {
                let link = Link { on: StepId(on), cause };
                let (start, end) = &mut nodes[numbers[step as usize] as usize].waits;
                match links[*start as usize..*end as usize].last_mut() {
                    Some(last) if last.on == link.on && last.cause.kind() < cause.kind() => *last = link,
                    Some(last) if last.on == link.on => {}
                    _ => {
                        links[*end as usize] = link;
                        *end += 1;
                    }
                }
            });
        }
        (nodes, links)
    }
}

/// Adds the waits at gates to how many each step has.
fn with_gates(mut waits: Vec<u32>, draft: &PlanBuilder) -> Vec<u32> {
    waits.resize(draft.works.len(), 0);
    for (step, sides) in draft.sides.iter().enumerate() {
        waits[step] += u32::from(sides.behind.is_some());
        if let Some(before) = sides.before {
            waits[draft.gates[before.place() as usize].barrier as usize] += 1;
        }
    }
    waits
}
