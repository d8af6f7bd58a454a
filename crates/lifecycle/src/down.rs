//! The way down: the mirror image of the way up.

use std::collections::HashMap;

use windlass_model::assembly::{ElementKind, Endpoint};
use windlass_model::record::PairKey;
use windlass_model::resolve::NothingYet;
use windlass_model::{Element, ElementName, Modifier, Relationship, State, Topology, Transition};
use windlass_plan::{Direction, Plan, Reason, Work};

use crate::LifecycleError;
use crate::current::{Current, ElementNow};
use crate::graph::{At, Graph, Phase};
use crate::reads::Reads;
use crate::up::because;

/// Plans the way from `current` to nothing of `topology` being there.
///
/// # Errors
///
/// A circle of waits, printed edge by edge, or a value that can't come to be.
pub fn down(current: &Current, topology: &Topology) -> Result<Plan, LifecycleError> {
    let mut down = Down { current, topology, graph: Graph::default(), steps: HashMap::new() };
    let leaves = || topology.elements().iter().filter(|element| element.kind == ElementKind::Resource);
    for element in leaves() {
        down.descend(element);
    }
    // With nothing published, every value that a driver gave counts as read.
    let mut reads = Reads::new(topology, &NothingYet);
    for element in leaves() {
        for (producer, reason) in reads.element(element)? {
            down.reader_first(&element.name, &producer, reason);
        }
    }
    for relationship in topology.relationships() {
        down.relationship(relationship);
    }
    Ok(down.graph.build(|phase| label(phase).to_owned())?)
}

/// The phases of the way down, by the transition that each is about.
const STOP: Phase = 1;
const UNINSTALL: Phase = 2;
const DELETE: Phase = 3;

fn label(phase: Phase) -> &'static str {
    match phase {
        STOP => "all parts are stopped",
        UNINSTALL => "all parts are uninstalled",
        _ => "all parts are gone",
    }
}

struct Down<'a> {
    current: &'a Current,
    topology: &'a Topology,
    graph: Graph,
    /// The step of an element in a phase.
    steps: HashMap<(&'a ElementName, Phase), At>,
}

impl<'a> Down<'a> {
    fn descend(&mut self, element: &'a Element) {
        let mut above = None;
        for (phase, from, to, transitions) in stairs(element, self.current.now(&element.name)) {
            let calls = transitions.into_iter().filter(|t| element.declares(*t)).collect();
            let work = Work::Transition { element: element.name.clone(), from, to, calls };
            let step = self.graph.step(phase, work);
            if let Some(above) = above {
                self.graph.need(step, above, Reason::Order { element: element.name.clone(), state: from });
            }
            self.steps.insert((&element.name, phase), step);
            above = Some(step);
        }
    }

    /// Returns the step in which an element leaves a state, or the next it takes after that.
    fn leaving(&self, element: &ElementName, state: State) -> Option<At> {
        (leaving_phase(state)..=DELETE).find_map(|phase| self.steps.get(&(element, phase)).copied())
    }

    fn last_step(&self, element: &ElementName) -> Option<At> {
        (STOP..=DELETE).rev().find_map(|phase| self.steps.get(&(element, phase)).copied())
    }

    /// Lets a producer stay until its reader is gone.
    fn reader_first(&mut self, reader: &ElementName, producer: &ElementName, reason: Reason) {
        let leaving = self.leaving(producer, State::Installed);
        if let (Some(gone), Some(leaving)) = (self.last_step(reader), leaving) {
            self.graph.need(leaving, gone, reason);
        }
    }

    fn relationship(&mut self, relationship: &'a Relationship) {
        if relationship.create.is_empty() && relationship.cease.is_empty() {
            self.order_only(relationship);
            return;
        }
        let targets: Vec<&Element> =
            relationship.targets.iter().flat_map(|end| self.topology.nodes(&end.element)).collect();
        let lowered = self.sources_lowered(relationship);
        let ceased: Vec<At> =
            targets.iter().filter_map(|target| self.cease(relationship, target, lowered)).collect();
        if ceased.is_empty() {
            return;
        }
        let reason = |rule: String| because(relationship, rule);
        let all = self.graph.barrier(format!("{} is ended everywhere", relationship.name));
        for step in ceased {
            self.graph.need(all, step, reason("all targets have ended it".to_owned()));
        }
        for Endpoint { element, .. } in &relationship.sources {
            let rule =
                format!("it ends before source {} leaves {}", element.local(), relationship.source_state);
            self.hold(element, relationship.source_state, all, &reason(rule));
        }
    }

    /// Adds the step that ends a relationship at one target.
    ///
    /// It is ended as late as may be: an end that is above its state comes down to it first, so that a part which
    /// still does its work keeps what it works with.
    fn cease(&mut self, relationship: &'a Relationship, target: &Element, lowered: Option<At>) -> Option<At> {
        let pairs = self.made_pairs(relationship, target);
        if pairs == 0 {
            return None;
        }
        let phase = leaving_phase(relationship.source_state).min(leaving_phase(relationship.target_state));
        let step = self.graph.step(
            phase,
            Work::Relate {
                direction: Direction::Cease,
                assembly: relationship.assembly.clone(),
                relationship: relationship.name.clone(),
                target: target.name.clone(),
                sources: relationship.sources.iter().map(|end| end.element.clone()).collect(),
                pairs,
                operations: relationship.cease.clone(),
            },
        );
        if let Some(lowered) = lowered {
            self.graph.need(step, lowered, because(relationship, "the sources are stopped first".to_owned()));
        }
        for stop in self.stops_above(&target.name, relationship.target_state) {
            let rule = format!("target {} is stopped first", target.name.local());
            self.graph.need(step, stop, because(relationship, rule));
        }
        let rule =
            format!("it ends before target {} leaves {}", target.name.local(), relationship.target_state);
        self.hold(&target.name, relationship.target_state, step, &because(relationship, rule));
        Some(step)
    }

    /// Returns the stops of all parts of an element that may be above a state.
    fn stops_above(&self, name: &ElementName, state: State) -> Vec<At> {
        if state == State::Active {
            return Vec::new();
        }
        let leaves = self.topology.leaves(name);
        leaves.iter().filter_map(|leaf| self.steps.get(&(&leaf.name, STOP)).copied()).collect()
    }

    /// Returns what to wait for until all sources have come down to their state.
    fn sources_lowered(&mut self, relationship: &Relationship) -> Option<At> {
        let stops: Vec<At> = relationship
            .sources
            .iter()
            .flat_map(|end| self.stops_above(&end.element, relationship.source_state))
            .collect();
        if stops.is_empty() {
            return None;
        }
        let barrier = self.graph.barrier(format!("the sources of {} are stopped", relationship.name));
        for stop in stops {
            self.graph.need(barrier, stop, because(relationship, "all sources are stopped".to_owned()));
        }
        Some(barrier)
    }

    /// Lets all steps in which an element leaves a state wait.
    fn hold(&mut self, name: &ElementName, state: State, until: At, reason: &Reason) {
        for leaf in self.topology.leaves(name) {
            if let Some(step) = self.leaving(&leaf.name, state) {
                self.graph.need(step, until, reason.clone());
            }
        }
    }

    /// Mirrors the order of a relationship that calls nothing.
    fn order_only(&mut self, relationship: &Relationship) {
        if relationship.target_modifier == Modifier::Pre {
            self.order(
                relationship,
                &relationship.targets,
                relationship.target_state,
                &relationship.sources,
                relationship.source_state,
            );
        }
        if relationship.source_modifier == Modifier::Pre {
            self.order(
                relationship,
                &relationship.sources,
                relationship.source_state,
                &relationship.targets,
                relationship.target_state,
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
        let leaving = |down: &Self, end: &Endpoint| -> Vec<At> {
            let leaves = down.topology.leaves(&end.element);
            leaves.iter().filter_map(|leaf| down.leaving(&leaf.name, first_state)).collect()
        };
        let waits: Vec<At> = first.iter().flat_map(|end| leaving(self, end)).collect();
        if waits.is_empty() {
            return;
        }
        let names: Vec<&str> = first.iter().map(|end| end.element.local()).collect();
        let reason = because(relationship, format!("{} must leave {first_state} first", names.join(", ")));
        let gate = self.graph.barrier(format!("{} is no longer needed", relationship.name));
        for wait in waits {
            self.graph.need(gate, wait, reason.clone());
        }
        for end in then {
            self.hold(&end.element, then_state, gate, &reason);
        }
    }

    fn made_pairs(&self, relationship: &Relationship, target: &Element) -> u64 {
        let sources = relationship.sources.iter().flat_map(|end| self.topology.nodes(&end.element));
        let made = sources.filter(|source| {
            self.current.has_pair(&PairKey {
                assembly: relationship.assembly.clone(),
                relationship: relationship.name.clone(),
                source: source.name.clone(),
                target: target.name.clone(),
            })
        });
        u64::try_from(made.count()).unwrap_or(u64::MAX)
    }
}

/// Returns the phase in which a state is left.
fn leaving_phase(state: State) -> Phase {
    if state == State::Active { STOP } else { UNINSTALL }
}

type Stair = (Phase, State, State, Vec<Transition>);

/// Returns the steps from an element's state down to nothing.
fn stairs(element: &Element, now: ElementNow) -> Vec<Stair> {
    let below = if element.has_created() { State::Created } else { State::Absent };
    let stop = |from| (STOP, from, State::Inactive, vec![Transition::Stop]);
    let uninstall = |from| (UNINSTALL, from, below, vec![Transition::Uninstall]);
    let delete = (DELETE, State::Created, State::Absent, vec![Transition::Delete]);
    let mut stairs = match now.state {
        State::Absent => return Vec::new(),
        State::Failed if !now.present => return vec![(DELETE, State::Failed, State::Absent, Vec::new())],
        State::Failed => {
            let all = vec![Transition::Uninstall, Transition::Delete];
            return vec![(UNINSTALL, State::Failed, State::Absent, all)];
        }
        State::Created => Vec::new(),
        State::Installed | State::Inactive => vec![uninstall(now.state)],
        State::Active | State::Broken => vec![stop(now.state), uninstall(State::Inactive)],
    };
    if element.has_created() {
        stairs.push(delete);
    }
    stairs
}
