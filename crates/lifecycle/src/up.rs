//! The way up.

use std::collections::HashMap;

use windlass_model::assembly::{ElementKind, Endpoint};
use windlass_model::record::PairKey;
use windlass_model::resolve::Lookup;
use windlass_model::{Element, ElementName, Modifier, Relationship, State, Topology, Transition};
use windlass_plan::{Direction, Plan, Reason, Work};

use crate::LifecycleError;
use crate::current::{Current, ElementNow};
use crate::graph::{At, Graph};
use crate::reads::{Producers, Reads};

/// Plans the way from `current` to all of `desired` being Active. `lookup` says what has been published so far.
///
/// # Errors
///
/// A circle of waits, printed edge by edge, or a value that can't come to be.
pub fn up(current: &Current, desired: &Topology, lookup: &dyn Lookup) -> Result<Plan, LifecycleError> {
    let mut up = Up {
        current,
        topology: desired,
        graph: Graph::default(),
        steps: HashMap::new(),
        reached: HashMap::new(),
    };
    let leaves = || desired.elements().iter().filter(|element| element.kind == ElementKind::Resource);
    for element in leaves() {
        up.climb(element);
    }
    let mut reads = Reads::new(desired, lookup);
    for element in leaves() {
        if up.first_step(&element.name).is_some() {
            let producers = reads.element(element)?;
            up.readers(&element.name, producers);
        }
    }
    for relationship in desired.relationships() {
        let producers = reads.relationship(relationship)?;
        up.relationship(relationship, &producers);
    }
    Ok(up.graph.build(|phase| format!("all parts are {}", at_rank(phase)))?)
}

/// Returns the state at a rank of the ladder.
pub(crate) fn at_rank(rank: u8) -> State {
    State::LADDER.get(usize::from(rank)).copied().unwrap_or(State::Active)
}

struct Up<'a> {
    current: &'a Current,
    topology: &'a Topology,
    graph: Graph,
    /// The step that takes an element into the state of a rank.
    steps: HashMap<(&'a ElementName, u8), At>,
    /// Barriers behind all parts of a group or assembly.
    reached: HashMap<(ElementName, u8), Option<At>>,
}

impl<'a> Up<'a> {
    /// Adds the steps that one resource still has to climb.
    fn climb(&mut self, element: &'a Element) {
        let (mut state, mut below) = self.footing(element);
        let from = state.rank().unwrap_or(0);
        for rank in from + 1..=4 {
            let to = at_rank(rank);
            if to == State::Created && !element.has_created() {
                continue;
            }
            let calls = calls_into(to).iter().copied().filter(|t| element.declares(*t)).collect();
            let work = Work::Transition { element: element.name.clone(), from: state, to, calls };
            let step = self.graph.step(rank, work);
            if let Some(below) = below {
                let reason = Reason::Order { element: element.name.clone(), state };
                self.graph.need(step, below, reason);
            }
            self.steps.insert((&element.name, rank), step);
            (state, below) = (to, Some(step));
        }
    }

    /// Returns the state to climb from, and the step that clears away what a failure has left.
    fn footing(&mut self, element: &Element) -> (State, Option<At>) {
        let ElementNow { state, present } = self.current.now(&element.name);
        let clear = match state {
            State::Failed if present => {
                Some((State::Absent, [Transition::Uninstall, Transition::Delete].as_slice()))
            }
            State::Broken => Some((State::Inactive, [Transition::Stop].as_slice())),
            State::Failed => return (State::Absent, None),
            _ => return (state, None),
        };
        let Some((to, transitions)) = clear else { return (state, None) };
        let calls = transitions.iter().copied().filter(|t| element.declares(*t)).collect();
        let work = Work::Transition { element: element.name.clone(), from: state, to, calls };
        // It belongs to the first phase: nothing goes on before it is known what is there.
        (to, Some(self.graph.step(1, work)))
    }

    fn first_step(&self, element: &ElementName) -> Option<At> {
        (1..=4).find_map(|rank| self.steps.get(&(element, rank)).copied())
    }

    fn readers(&mut self, reader: &ElementName, producers: Producers) {
        let Some(step) = self.first_step(reader) else { return };
        for (producer, reason) in producers {
            if let Some(published) = self.reached(&producer, State::Installed) {
                self.graph.need(step, published, reason);
            }
        }
    }

    /// Returns what to wait for until an element is in a state; nothing when it is.
    fn reached(&mut self, name: &ElementName, state: State) -> Option<At> {
        let rank = state.rank()?;
        let element = self.topology.get(name)?;
        match element.kind {
            ElementKind::Reference => None,
            ElementKind::Resource if !waits_for(element, state) => None,
            ElementKind::Resource => (rank..=4)
                .find_map(|rank| self.steps.get(&(&element.name, rank)).copied())
                .filter(|_| !self.is_at(&element.name, rank)),
            ElementKind::Assembly | ElementKind::Group => {
                let key = (name.clone(), rank);
                if let Some(known) = self.reached.get(&key) {
                    return *known;
                }
                let barrier = self.all_parts(element, state);
                self.reached.insert(key, barrier);
                barrier
            }
        }
    }

    fn is_at(&self, name: &ElementName, rank: u8) -> bool {
        self.current.now(name).state.rank().is_some_and(|now| now >= rank)
    }

    fn all_parts(&mut self, element: &'a Element, state: State) -> Option<At> {
        let leaves = self.topology.leaves(&element.name);
        let steps: Vec<At> = leaves.iter().filter_map(|leaf| self.reached(&leaf.name, state)).collect();
        if steps.is_empty() {
            return None;
        }
        let barrier = self.graph.barrier(format!("all of {} is {state}", element.name.local()));
        for step in steps {
            self.graph.need(barrier, step, Reason::Nesting { element: element.name.clone() });
        }
        Some(barrier)
    }

    /// Lets all steps that take an element into a state wait.
    fn hold(&mut self, name: &ElementName, state: State, until: At, reason: &Reason) {
        let Some(rank) = state.rank() else { return };
        for leaf in self.topology.leaves(name) {
            if let Some(step) = self.steps.get(&(&leaf.name, rank)).copied() {
                self.graph.need(step, until, reason.clone());
            }
        }
    }

    fn relationship(&mut self, relationship: &'a Relationship, producers: &Producers) {
        if relationship.create.is_empty() && relationship.cease.is_empty() {
            self.order_only(relationship);
            return;
        }
        let targets: Vec<&Element> =
            relationship.targets.iter().flat_map(|end| self.topology.nodes(&end.element)).collect();
        let mut created = Vec::new();
        for target in targets {
            if let Some(step) = self.create(relationship, target, producers) {
                created.push(step);
            }
        }
        if relationship.source_modifier == Modifier::Pre && !created.is_empty() {
            self.hold_sources(relationship, &created);
        }
    }

    /// Adds the step that makes a relationship at one target.
    fn create(
        &mut self,
        relationship: &'a Relationship,
        target: &Element,
        producers: &Producers,
    ) -> Option<At> {
        let pairs = self.open_pairs(relationship, target);
        if pairs == 0 {
            return None;
        }
        let step = self.graph.step(
            relationship.target_state.rank()?,
            Work::Relate {
                direction: Direction::Create,
                assembly: relationship.assembly.clone(),
                relationship: relationship.name.clone(),
                target: target.name.clone(),
                sources: relationship.sources.iter().map(|end| end.element.clone()).collect(),
                pairs,
                operations: relationship.create.clone(),
            },
        );
        for source in &relationship.sources {
            self.wait_for_end(relationship, step, &source.element, Side::Source);
        }
        self.wait_for_end(relationship, step, &target.name, Side::Target);
        if relationship.target_modifier == Modifier::Pre {
            let state = relationship.target_state;
            let rule = format!("it is made before target {} becomes {state}", target.name.local());
            let reason = because(relationship, rule);
            self.hold(&target.name, relationship.target_state, step, &reason);
        }
        for (producer, reason) in producers {
            if let Some(published) = self.reached(producer, State::Installed) {
                self.graph.need(step, published, reason.clone());
            }
        }
        Some(step)
    }

    /// Lets the making of a relationship wait until one end is as far as it must be.
    fn wait_for_end(&mut self, relationship: &Relationship, step: At, end: &ElementName, side: Side) {
        let (state, modifier) = match side {
            Side::Source => (relationship.source_state, relationship.source_modifier),
            Side::Target => (relationship.target_state, relationship.target_modifier),
        };
        let least = match modifier {
            Modifier::Post => state,
            Modifier::Pre => at_rank(state.rank().unwrap_or(1).saturating_sub(1)),
        };
        if let Some(reached) = self.reached(end, least) {
            let rule = format!("{side} {} must be {least}", end.local());
            self.graph.need(step, reached, because(relationship, rule));
        }
    }

    fn hold_sources(&mut self, relationship: &Relationship, created: &[At]) {
        let all = self.graph.barrier(format!("{} is made everywhere", relationship.name));
        let reason = |rule: String| because(relationship, rule);
        for step in created {
            self.graph.need(all, *step, reason("all targets have it".to_owned()));
        }
        for Endpoint { element, .. } in &relationship.sources {
            let rule = format!("before source {} becomes {}", element.local(), relationship.source_state);
            self.hold(element, relationship.source_state, all, &reason(rule));
        }
    }

    /// A relationship that calls nothing only puts its ends in order: N sources and M targets cost N + M waits.
    fn order_only(&mut self, relationship: &Relationship) {
        let least = |state: State, modifier| match modifier {
            Modifier::Post => state,
            Modifier::Pre => at_rank(state.rank().unwrap_or(1).saturating_sub(1)),
        };
        if relationship.target_modifier == Modifier::Pre {
            let state = least(relationship.source_state, relationship.source_modifier);
            self.order(
                relationship,
                &relationship.sources,
                state,
                &relationship.targets,
                relationship.target_state,
            );
        }
        if relationship.source_modifier == Modifier::Pre {
            let state = least(relationship.target_state, relationship.target_modifier);
            self.order(
                relationship,
                &relationship.targets,
                state,
                &relationship.sources,
                relationship.source_state,
            );
        }
    }

    fn order(
        &mut self,
        relationship: &Relationship,
        first: &[Endpoint],
        first_state: State,
        then: &[Endpoint],
        then_state: State,
    ) {
        let waits: Vec<At> = first.iter().filter_map(|end| self.reached(&end.element, first_state)).collect();
        if waits.is_empty() {
            return;
        }
        let names: Vec<&str> = first.iter().map(|end| end.element.local()).collect();
        let reason = because(relationship, format!("{} must be {first_state}", names.join(", ")));
        let gate = if let [only] = waits[..] { only } else { self.gate(relationship, &waits, &reason) };
        for end in then {
            self.hold(&end.element, then_state, gate, &reason);
        }
    }

    /// Adds a barrier behind many steps.
    fn gate(&mut self, relationship: &Relationship, waits: &[At], reason: &Reason) -> At {
        let gate = self.graph.barrier(format!("{} is ready", relationship.name));
        for wait in waits {
            self.graph.need(gate, *wait, reason.clone());
        }
        gate
    }

    /// Counts the pairs of a relationship at one target that are not made yet.
    fn open_pairs(&self, relationship: &Relationship, target: &Element) -> u64 {
        let sources = relationship.sources.iter().flat_map(|end| self.topology.nodes(&end.element));
        let open = sources.filter(|source| {
            !self.current.has_pair(&PairKey {
                assembly: relationship.assembly.clone(),
                relationship: relationship.name.clone(),
                source: source.name.clone(),
                target: target.name.clone(),
            })
        });
        u64::try_from(open.count()).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Copy)]
enum Side {
    Source,
    Target,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// Makes the reason of a wait that a relationship asks for.
pub(crate) fn because(relationship: &Relationship, rule: String) -> Reason {
    Reason::Relationship {
        relationship: relationship.name.clone(),
        rule,
        origin: relationship.origin.clone(),
    }
}

/// Tells whether a state is one that a resource has to climb to: not Absent, and not a `Created` that it passes over.
fn waits_for(element: &Element, state: State) -> bool {
    state != State::Absent && (state != State::Created || element.has_created())
}

/// Returns the transitions that together take an element up into a state.
fn calls_into(state: State) -> &'static [Transition] {
    match state {
        State::Created => &[Transition::Create],
        State::Installed => &[Transition::Install],
        State::Inactive => &[Transition::Configure],
        State::Active => &[Transition::Start, Transition::Integrity],
        State::Absent | State::Broken | State::Failed => &[],
    }
}
