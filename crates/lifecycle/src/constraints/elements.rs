//! The waits of elements. Because of a wait, a resource, a group or an assembly reaches or leaves a state only after
//! certain steps.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use indexmap::IndexMap;
use windlass_model::assembly::ElementKind;
use windlass_model::work::Reason;
use windlass_model::{Element, ElementName, Topology};
use windlass_plan::{Draft, WaitKind, Why};

use super::graph::Graph;
use super::soft::Priority;
use crate::changes::{Part, Parts, Rolling};
use crate::rank;
use crate::situation::{Situation, Version};

/// A plan under construction: its parts, their steps, and the waits between the steps.
pub(crate) struct Constraints<'a> {
    pub(crate) situation: Situation<'a>,
    /// The parts, with their steps.
    pub(crate) parts: Parts<'a>,
    pub(crate) graph: Graph,
    pub(crate) rolling: Rolling,
    /// The steps that remove pairs when a batch begins. Each entry contains the number of the batch (its *turn*) and
    /// the step.
    ///
    /// A pair is one source and one target of a relationship. A node of the pair changes in the batch.
    pub(crate) begins: Vec<(u32, Draft)>,
    /// The steps that create relationships with nodes of groups, if the groups change in batches.
    ///
    /// Each entry contains the number of the group, the *turn*, and the step. The turn is the number of the batch in
    /// which the step runs. The next batch of the group waits for the step.
    ///
    /// Turn 0 means that the step runs outside of batches. The first batch of the group waits for such a step. But if
    /// the first batch only repairs nodes, the second batch waits instead.
    ///
    /// The list may contain equal entries, because one step may create the pairs of several nodes of a group.
    pub(crate) completes: Vec<(u32, u32, Draft)>,
    /// A cache of the function [`reached`](Self::reached()) for groups and assemblies.
    ///
    /// The key contains the position of the element in the desired topology, and the [rank]. The value is
    /// the step or barrier after which the element has this rank.
    reached: HashMap<(usize, u8), Option<Draft>>,
    /// A cache of the function [`left`](Self::left()) for groups and assemblies.
    ///
    /// The key contains the position of the element in the installed topology, and the [rank]. The value
    /// is the step or barrier after which the element has left this rank.
    left: HashMap<(usize, u8), Option<Draft>>,
    /// For elements that go up to a higher state: the steps that must end before the element reaches a [rank] (the
    /// number of a state).
    holds: Holds,
    /// For elements that go down to a lower state: the steps that must end before the element leaves a [rank].
    releases: Holds,
    /// Whether [`passed`](Self::passed()) may return steps. The flag is `true` if both of these conditions hold:
    ///
    /// - The plan raises at least one part.
    /// - The plan does not raise every part from Absent. For example, a part that is raised from Inactive has no step
    ///   to Installed that could wait.
    lacks_up: bool,
    /// Whether [`passed_leaving`](Self::passed_leaving()) may return steps. The flag is `true` if both of these
    /// conditions hold:
    ///
    /// - The plan lowers at least one part.
    /// - The plan does not lower every part to Absent. For example, a part that is lowered only to Inactive has no step
    ///   out of Installed that could wait.
    lacks_down: bool,
    /// Whether at least one part reads an output that another part publishes during the plan.
    pub(crate) awaits_outputs: bool,
    /// The states that sources and targets must have before steps create their relationships.
    pub(crate) arrivals: Vec<Arrival>,
    /// A cache of the function [`passed`](Self::passed()).
    ///
    /// The key contains the position of the element in the desired topology, and the [rank].
    passed: HashMap<(usize, u8), Vec<Draft>>,
    /// A cache of the function [`passed_leaving`](Self::passed_leaving()).
    ///
    /// The key contains the position of the element in the installed topology, and the [rank].
    passed_leaving: HashMap<(usize, u8), Vec<Draft>>,
}

/// A rule for the creation of a relationship: its source or its target must first reach a state.
///
/// For example, the target must be Active before the step creates the relationship.
pub(crate) struct Arrival {
    /// The step that creates the relationship.
    pub(crate) step: Draft,
    /// The source or target that must reach the state.
    pub(crate) end: ElementName,
    /// The minimum [rank] that `end` must have before `step` begins.
    pub(crate) rank: u8,
    pub(crate) why: Why,
}

/// The rules by which elements reach or leave a [rank] only after certain steps.
///
/// The key contains the position of the element in its topology, and the rank.
type Holds = IndexMap<(usize, u8), Vec<Hold>>;

/// The rule that an element waits for the step `until`, with the priority and the reason of this wait.
///
/// An element such as a group has no steps of its own. So [`Constraints::settle`] makes the steps of the element's
/// parts wait for `until`.
#[derive(Clone, Copy)]
struct Hold {
    until: Draft,
    priority: Priority,
    why: Why,
}

impl<'a> Constraints<'a> {
    /// Creates constraints for `parts`. The graph already contains the steps of the parts.
    pub(crate) fn new(situation: &Situation<'a>, parts: Parts<'a>, graph: Graph, rolling: Rolling) -> Self {
        let list = || parts.list.iter();
        let rises = |part: &Part<'_>| part.steps.up_to(rank::ABSENT).is_some();
        let falls = |part: &Part<'_>| part.steps.lowest().is_some();
        let lacks_up = list().any(rises) && list().any(|part| part.low > rank::ABSENT || !rises(part));
        let lacks_down = list().any(falls) && list().any(|part| part.low > rank::ABSENT || !falls(part));
        let awaits_outputs = list().any(|part| part.awaited_producers().next().is_some());
        Self {
            situation: *situation,
            awaits_outputs,
            lacks_up,
            lacks_down,
            arrivals: Vec::new(),
            passed: HashMap::new(),
            passed_leaving: HashMap::new(),
            parts,
            graph,
            rolling,
            begins: Vec::new(),
            completes: Vec::new(),
            reached: HashMap::new(),
            left: HashMap::new(),
            holds: Holds::new(),
            releases: Holds::new(),
        }
    }

    /// Returns the desired topology; `None` if the plan removes all parts.
    pub(crate) fn desired(&self) -> Option<&'a Topology> {
        self.situation.desired.map(|version| version.topology)
    }

    /// Returns the topology of the version from which the existing parts were installed.
    pub(crate) fn installed(&self) -> Option<&'a Topology> {
        self.situation.installed.or(self.situation.desired).map(|version| version.topology)
    }

    /// Returns the step or barrier after which an element is at a [rank].
    ///
    /// Returns `None` if the element is at the rank already, or never reaches the rank.
    pub(crate) fn reached(&mut self, name: &ElementName, rank: u8) -> Option<Draft> {
        let topology = self.desired()?;
        let place = topology.position(name)?;
        let element = &topology.elements()[place];
        match element.kind {
            ElementKind::Resource => return self.parts.at(place)?.reaching(rank),
            ElementKind::Reference => return None,
            ElementKind::Assembly | ElementKind::Group => {}
        }
        let key = (place, rank);
        if let Some(known) = self.reached.get(&key) {
            return *known;
        }
        let steps: Vec<Draft> =
            topology.children(name).filter_map(|child| self.reached(&child.name, rank)).collect();
        let barrier = self.gather(element, steps, &format!("is {}", rank::state(rank)));
        self.reached.insert(key, barrier);
        barrier
    }

    /// Returns the step or barrier after which an element has left a [rank].
    ///
    /// Returns `None` if the element does not exist or stays at the rank.
    pub(crate) fn left(&mut self, name: &ElementName, rank: u8) -> Option<Draft> {
        let topology = self.installed()?;
        let place = topology.position(name)?;
        let element = &topology.elements()[place];
        if element.kind == ElementKind::Resource {
            let part = self.parts.get(name)?;
            return part.steps.leave(rank.min(rank::ACTIVE));
        }
        let key = (place, rank);
        if let Some(known) = self.left.get(&key) {
            return *known;
        }
        let steps: Vec<Draft> =
            topology.children(name).filter_map(|child| self.left(&child.name, rank)).collect();
        let barrier = self.gather(element, steps, &format!("has left {}", rank::state(rank)));
        self.left.insert(key, barrier);
        barrier
    }

    /// Tells whether [`passed`](Self::passed()) or [`passed_leaving`](Self::passed_leaving()) may return steps.
    pub(crate) fn passes_on(&self) -> bool {
        self.lacks_up || self.lacks_down
    }

    /// Returns the steps that must end before the element `name` reaches a [rank], but for which a part of `name` can't
    /// wait, because the part has no step to the rank.
    ///
    /// For example, `a` depends on `b`, and `b` depends on `c`. The plan raises `a` and `c`, but not `b`. For `b`, the
    /// function returns the steps that raise `c`. The caller makes the steps of `a` wait for them.
    ///
    /// The function knows only the waits from earlier calls of [`hold`](Self::hold) and
    /// [`hold_whole`](Self::hold_whole). It considers the waits at the rank `rank` and at all lower ranks.
    pub(crate) fn passed(&mut self, name: &ElementName, rank: u8) -> Vec<Draft> {
        let Some(topology) = self.desired().filter(|_| self.lacks_up && !self.holds.is_empty()) else {
            return Vec::new();
        };
        let Some(place) = topology.position(name) else { return Vec::new() };
        if let Some(known) = self.passed.get(&(place, rank)) {
            return known.clone();
        }
        let lacks = |leaf: &Element, rank: u8| {
            let part = self.parts.get(&leaf.name);
            part.is_some_and(|part| step_up(part, rank).is_none())
        };
        let mut found = open_holds(topology, &self.holds, name, rank::CREATED..=rank, lacks);
        // Steps in batches are left out, because most nodes of a group that changes in batches are Active at any
        // time.
        found.retain(|step| !self.graph.rolls(*step));
        self.passed.insert((place, rank), found.clone());
        found
    }

    /// Returns the steps that must end before the element `name` leaves a [rank], but for which a part of `name` can't
    /// wait, because no step of the part leaves the rank.
    ///
    /// For example, `a` depends on `b`, and `b` depends on `c`. The plan lowers `a` and `c`, but not `b`. For `b`, the
    /// function returns the steps that lower `a`. The caller makes the steps of `c` wait for them.
    ///
    /// The function knows only the waits from earlier calls of [`hold_leaving`](Self::hold_leaving). It considers the
    /// waits at the rank `rank` and at all higher ranks.
    pub(crate) fn passed_leaving(&mut self, name: &ElementName, rank: u8) -> Vec<Draft> {
        let Some(topology) = self.installed().filter(|_| self.lacks_down && !self.releases.is_empty()) else {
            return Vec::new();
        };
        let Some(place) = topology.position(name) else { return Vec::new() };
        if let Some(known) = self.passed_leaving.get(&(place, rank)) {
            return known.clone();
        }
        let lacks = |leaf: &Element, rank: u8| {
            self.parts.get(&leaf.name).is_some_and(|part| part.leaving(rank).is_none())
        };
        let found = open_holds(topology, &self.releases, name, rank..=rank::ABOVE_ALL, lacks);
        self.passed_leaving.insert((place, rank), found.clone());
        found
    }

    /// Returns a barrier that waits for `steps`, the steps of an element's parts. If `steps` contains a single
    /// step, returns this step.
    fn gather(&mut self, element: &Element, steps: Vec<Draft>, what: &str) -> Option<Draft> {
        if steps.len() < 2 {
            return steps.into_iter().next();
        }
        let barrier = self.graph.barrier(format!("all of {} {what}", element.name.local()));
        let why = self.graph.note(Reason::Nesting { element: element.name.clone() });
        for step in steps {
            self.graph.need(barrier, step, why);
        }
        Some(barrier)
    }

    /// Delays all parts of an element: each part reaches the [rank] `rank` only after the step `until`.
    pub(crate) fn hold(&mut self, name: &ElementName, rank: u8, until: Draft, why: Why) {
        add(
            &mut self.holds,
            self.situation.desired,
            name,
            rank,
            Hold { until, priority: Priority::Required, why },
        );
    }

    /// Delays an element: the element as a whole should reach the [rank] `rank` only after the step `until`.
    ///
    /// A resource always waits. If the element is an assembly or a group, its parts wait, but the planner may drop a
    /// wait to avoid a cycle (a *soft constraint*). If every part has a step to the rank, the planner keeps at least
    /// one of the waits. One wait is sufficient, because the element reaches the rank together with its last part. If a
    /// part has no step to the rank, the planner may drop all of the waits. In this case, the element may reach the
    /// rank too early.
    pub(crate) fn hold_whole(&mut self, element: &Element, rank: u8, until: Draft, why: Why) {
        let priority =
            if element.kind == ElementKind::Resource { Priority::Required } else { Priority::Strong };
        add(&mut self.holds, self.situation.desired, &element.name, rank, Hold { until, priority, why });
    }

    /// Delays all parts of an element: each part leaves the [rank] `rank` only after the step `until`.
    pub(crate) fn hold_leaving(
        &mut self,
        name: &ElementName,
        rank: u8,
        until: Draft,
        priority: Priority,
        why: Why,
    ) {
        let installed = self.situation.installed.or(self.situation.desired);
        add(&mut self.releases, installed, name, rank, Hold { until, priority, why });
    }

    /// Turns the waits of elements into waits of steps.
    ///
    /// Soft constraints become waits too, except those that would close a cycle.
    pub(crate) fn settle(&mut self) {
        let (holds, releases) = (std::mem::take(&mut self.holds), std::mem::take(&mut self.releases));
        self.add_holds(holds, true);
        self.add_holds(releases, false);
        self.graph.settle_soft_constraints();
    }

    /// Turns each recorded wait of an element ([`Hold`]) into waits of steps. The waiting steps belong to the parts of
    /// the element.
    ///
    /// The key of each entry in `holds` contains an element and a [rank]. If `up` is set, the parts of the element wait
    /// before they reach this rank. Otherwise, they wait before they leave this rank.
    ///
    /// If an element has several parts and several required waits, all parts wait for one common barrier.
    ///
    /// If a wait is not required, each part gets a *soft constraint*: a wait that the planner may drop to avoid a
    /// cycle. If `up` is set and every part has a step that can wait, the planner keeps the constraint of at least one
    /// part. This is sufficient to delay the element as a whole.
    fn add_holds(&mut self, holds: Holds, up: bool) {
        let Some(topology) = (if up { self.desired() } else { self.installed() }) else { return };
        for ((place, rank), all) in holds {
            let name = &topology.elements()[place].name;
            let leaves = topology.leaves(name);
            let steps = self.steps_at(&leaves, rank, up);
            let (mut until, mut soft): (Vec<Hold>, Vec<Hold>) =
                all.into_iter().partition(|hold| hold.priority == Priority::Required);
            if steps.len() > 1 && until.len() > 1 {
                until = vec![self.held_at_gate(name, rank, up, until)];
            }
            if up && leaves.len() == steps.len() {
                for hold in soft.drain(..) {
                    self.graph.wait_as_whole(&steps, hold.until, hold.why);
                }
            }
            for (step, kind) in steps {
                for Hold { until, priority, why } in until.iter().chain(&soft).copied() {
                    self.graph.constrain(step, until, kind, priority, why);
                }
            }
        }
    }

    /// Combines several waits of an element into one wait.
    ///
    /// The function adds a barrier that waits for the step [`Hold::until`] of each given wait. In the returned wait,
    /// the element waits for this barrier.
    fn held_at_gate(&mut self, name: &ElementName, rank: u8, up: bool, holds: Vec<Hold>) -> Hold {
        let word = if up { "may become" } else { "may leave" };
        let gate = self.graph.barrier(format!("{} {word} {}", name.local(), rank::state(rank)));
        for Hold { until, why, .. } in holds {
            self.graph.need(gate, until, why);
        }
        let why = self.graph.note(Reason::Nesting { element: name.clone() });
        Hold { until: gate, priority: Priority::Required, why }
    }

    /// Returns the steps in which some parts reach a [rank]. If `up` is not set, returns the steps in
    /// which the parts go below this rank. `leaves` contains the parts.
    ///
    /// Each entry also contains the kind of the step's waits: [`WaitKind::After`] for an unhealthy part that goes
    /// down, and [`WaitKind::Needs`] otherwise.
    fn steps_at(&self, leaves: &[&Element], rank: u8, up: bool) -> Vec<(Draft, WaitKind)> {
        let step = |leaf: &&Element| {
            let part = self.parts.get(&leaf.name)?;
            // An unhealthy part is removed even if the steps that remove its relationships failed.
            let kind = if !up && part.is_unwell() { WaitKind::After } else { WaitKind::Needs };
            let step = if up { step_up(part, rank) } else { part.leaving(rank) };
            step.map(|step| (step, kind))
        };
        leaves.iter().filter_map(step).collect()
    }
}

/// Returns the step that must be delayed to keep a part from reaching a [rank] too early.
fn step_up(part: &Part<'_>, rank: u8) -> Option<Draft> {
    // A hold before Created applies to the first step up, as `depends-on` demands, even if this step reaches
    // a higher rank than Created.
    if rank == rank::CREATED { part.steps.up_to(rank) } else { part.steps.enter(rank) }
}

/// Returns the steps for which the element `name` should wait, but can't, because a resource inside `name` has no step
/// that could wait.
///
/// `holds` contains the waits: an element should reach or leave a [rank] only after the step [`Hold::until`]. `lacks`
/// tells whether a resource has no step that reaches or leaves a rank. The function returns [`Hold::until`] of each
/// wait that applies to such a resource.
///
/// A wait of an element applies to every resource inside the element. So the function reads the waits of `name`, of the
/// elements inside `name`, and of the elements that contain `name`. It reads only waits at the ranks in `ranks`.
fn open_holds(
    topology: &Topology,
    holds: &Holds,
    name: &ElementName,
    ranks: RangeInclusive<u8>,
    lacks: impl Fn(&Element, u8) -> bool,
) -> Vec<Draft> {
    let mut found = BTreeSet::new();
    let mut collect = |of: &ElementName, leaves: &[&Element]| {
        let Some(place) = topology.position(of) else { return };
        for rank in ranks.clone() {
            let Some(holds) = holds.get(&(place, rank)) else { continue };
            if leaves.iter().any(|leaf| lacks(leaf, rank)) {
                found.extend(holds.iter().map(|hold| hold.until));
            }
        }
    };
    let parent = |of: &ElementName| topology.get(of).and_then(|element| element.parent.clone());
    let leaves = topology.leaves(name);
    for above in std::iter::successors(parent(name), parent) {
        collect(&above, &leaves);
    }
    let mut open = vec![name.clone()];
    while let Some(element) = open.pop() {
        collect(&element, &topology.leaves(&element));
        open.extend(topology.children(&element).map(|child| child.name.clone()));
    }
    found.into_iter().collect()
}

fn add(holds: &mut Holds, of: Option<Version<'_>>, name: &ElementName, rank: u8, hold: Hold) {
    // An element that the topology does not contain has no steps that could wait.
    if let Some(place) = of.and_then(|version| version.topology.position(name)) {
        holds.entry((place, rank)).or_default().push(hold);
    }
}
