//! The planner: combines the paths of all parts, the waits between them, and the phases into a plan.

use std::collections::HashMap;

use indexmap::IndexMap;
use windlass_model::assembly::ElementKind;
use windlass_model::resolve::NothingYet;
use windlass_model::work::Reason;
use windlass_model::{Element, ElementName, Topology};
use windlass_plan::{Draft, WaitKind, Why};

use crate::LifecycleError;
use crate::changes::{Asked, Later, Part, Parts, Scope, follow_values};
use crate::differences::{Diff, RelationshipChange};
use crate::graph::Graph;
use crate::plan::{OrderError, Planned};
use crate::situation::{Options, Reads, Situation, Version};
use crate::{rank, steps, summary};

/// Plans the path from the current to the desired state.
///
/// # Errors
///
/// - [`LifecycleError::Order`]: the waits form a cycle.
/// - [`LifecycleError::Value`]: a value cannot be resolved.
/// - [`LifecycleError::Unknown`]: the options name an element that neither version has.
pub fn plan(situation: &Situation<'_>, options: &Options) -> Result<Planned, LifecycleError> {
    check_names(situation, options)?;
    let mut parts = decided(situation, options);
    let scope = Scope::of(&parts, situation, options)?;
    let mut undone = Diff::default();
    if let Some(scope) = &scope {
        undone = left_undone(situation, options, scope);
        scope.freeze(&mut parts);
    }
    follow_values(&mut parts, situation);
    // Most parts have three steps and read one output. Unused capacity costs nothing.
    let mut graph = Graph::with_capacity(4 * parts.list.len(), 2 * parts.list.len());
    for part in &mut parts.list {
        steps::add(&mut graph, part);
    }
    let mut planner = Planner {
        situation: *situation,
        options,
        scope,
        parts,
        graph,
        reached: HashMap::new(),
        left: HashMap::new(),
        holds: Holds::new(),
        releases: Holds::new(),
        relationships: Vec::new(),
        undone: Vec::new(),
    };
    planner.readers_up()?;
    planner.readers_down()?;
    planner.relationships()?;
    planner.finish_holds();
    planner.graph.settle_wishes();
    let Planner { parts, graph, mut relationships, scope, undone: untied, .. } = planner;
    if scope.is_some() {
        let ties = graph.ties();
        relationships.retain(|change| ties.contains(&(&change.assembly, &change.relationship)));
        undone.relationships = untied;
    }
    let diff = summary::diff(parts, options, relationships);
    Ok(Planned { plan: graph.build(steps::label).map_err(OrderError)?, diff, undone })
}

/// Creates the parts, and decides everything that does not depend on their values.
fn decided<'a>(situation: &Situation<'a>, options: &Options) -> Parts<'a> {
    let asked = Asked::new(situation, options);
    let mut parts = Parts::new(situation, &asked);
    parts.raise_ends(situation.desired.map(|version| version.topology), &asked);
    parts
}

/// Returns the changes of the parts that a limited plan leaves untouched.
fn left_undone(situation: &Situation<'_>, options: &Options, scope: &Scope) -> Diff {
    let mut parts = decided(situation, options);
    follow_values(&mut parts, situation);
    let mut undone = summary::diff(parts, options, Vec::new());
    undone.elements.retain(|change| !scope.is_acting(&change.element));
    undone
}

fn check_names(situation: &Situation<'_>, options: &Options) -> Result<(), LifecycleError> {
    let topologies = || [situation.desired, situation.installed].into_iter().flatten();
    let named = options.replace.iter().chain(&options.heal).chain(&options.target);
    let unknown = named.into_iter().find(|name| !topologies().any(|v| v.topology.get(name).is_some()));
    match unknown {
        None => Ok(()),
        Some(name) => Err(LifecycleError::Unknown {
            name: name.clone(),
            known: topologies()
                .flat_map(|version| version.topology.elements())
                .filter(|element| element.parent.is_some() && element.kind != ElementKind::Reference)
                .map(|element| element.name.clone())
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect(),
        }),
    }
}

pub(crate) struct Planner<'a> {
    pub(crate) situation: Situation<'a>,
    pub(crate) options: &'a Options,
    /// The parts that the plan may touch; `None` if the plan is not limited.
    pub(crate) scope: Option<Scope>,
    pub(crate) parts: Parts<'a>,
    pub(crate) graph: Graph,
    /// For a group or assembly, the barrier behind its parts that reach a rank. The key is its position in
    /// the desired topology and the rank.
    reached: HashMap<(usize, u8), Option<Draft>>,
    /// For a group or assembly, the barrier behind its parts that leave a rank. The key is its position in
    /// the installed topology and the rank.
    left: HashMap<(usize, u8), Option<Draft>>,
    holds: Holds,
    releases: Holds,
    pub(crate) relationships: Vec<RelationshipChange>,
    /// The changes of relationships between existing parts that a limited plan skips.
    pub(crate) undone: Vec<RelationshipChange>,
}

/// The waits of elements before they reach or leave a rank. The key is the element's position in its topology
/// and the rank.
type Holds = IndexMap<(usize, u8), Vec<Hold>>;

/// A wait of an element (*hold*) with its priority and reason. It becomes a wait of each step concerned.
#[derive(Clone, Copy)]
struct Hold {
    until: Draft,
    firmness: Firmness,
    why: Why,
}

/// The priority of a wait: whether it may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Firmness {
    /// A hard constraint, which is never dropped.
    Rule,
    /// A soft constraint, which is dropped if it would close a cycle.
    Wish,
    /// A soft constraint that is dropped before any wish is.
    Hope,
}

impl<'a> Planner<'a> {
    pub(crate) fn desired(&self) -> Option<&'a Topology> {
        self.situation.desired.map(|version| version.topology)
    }

    /// Returns the topology that the existing parts were installed from.
    pub(crate) fn installed(&self) -> Option<&'a Topology> {
        self.situation.installed.or(self.situation.desired).map(|version| version.topology)
    }

    /// Makes readers wait until their producers have published.
    fn readers_up(&mut self) -> Result<(), LifecycleError> {
        let Some(desired) = self.situation.desired else { return Ok(()) };
        let later = Later { lookup: desired.lookup, parts: &self.parts };
        let mut reads = Reads::all(desired.topology, &later);
        for part in &self.parts.list {
            let first = part.steps.up_to(rank::ABSENT).or(part.steps.reconfigure());
            let (Some(step), Some(element)) = (first, part.after) else { continue };
            for read in reads.element(part.after_at, element)? {
                let Some(producer) = self.parts.at(read.place) else { continue };
                if let Some(published) = producer.publishing() {
                    let why = self.graph.note(read.by_element(&part.name, &producer.name));
                    self.graph.need(step, published, why);
                }
            }
        }
        Ok(())
    }

    /// Makes producers wait until their readers are uninstalled or have other values.
    fn readers_down(&mut self) -> Result<(), LifecycleError> {
        let Some(installed) = self.installed() else { return Ok(()) };
        if !self.parts.any_before {
            return Ok(());
        }
        let moves = |part: &&Part<'_>| part.steps.lowest().is_some() || part.steps.reconfigure().is_some();
        // Without published outputs, every output of a driver counts as read.
        let mut reads = Reads::all(installed, &NothingYet);
        for part in self.parts.list.iter().filter(moves) {
            let Some(element) = part.before else { continue };
            for read in reads.element(part.before_at, element)? {
                let Some(producer) = self.parts.get(read.producer) else { continue };
                if let Some((leaving, on, kind, firmness)) = reader_first(part, producer) {
                    let why = self.graph.note(read.by_element(&part.name, &producer.name));
                    self.graph.wait_firmly(leaving, on, kind, firmness, why);
                }
            }
        }
        Ok(())
    }

    /// Returns the step or barrier after which an element is at a rank.
    ///
    /// Returns `None` if the element is at the rank already or never reaches it.
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

    /// Returns the step or barrier after which an element has left a rank.
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

    /// Returns a barrier behind the steps of an element's parts, or the only step.
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

    /// Makes all parts of an element wait before they reach a rank.
    pub(crate) fn hold(&mut self, name: &ElementName, rank: u8, until: Draft, why: Why) {
        add(
            &mut self.holds,
            self.situation.desired,
            name,
            rank,
            Hold { until, firmness: Firmness::Rule, why },
        );
    }

    /// Makes an element wait before it reaches a rank.
    ///
    /// An assembly or a group reaches a rank with its last part. So its parts get soft constraints: parts
    /// that others in it demand early may go ahead.
    pub(crate) fn hold_whole(&mut self, element: &Element, rank: u8, until: Draft, why: Why) {
        let firmness = if element.kind == ElementKind::Resource { Firmness::Rule } else { Firmness::Wish };
        add(&mut self.holds, self.situation.desired, &element.name, rank, Hold { until, firmness, why });
    }

    /// Makes all parts of an element wait before they leave a rank.
    pub(crate) fn hold_leaving(
        &mut self,
        name: &ElementName,
        rank: u8,
        until: Draft,
        firmness: Firmness,
        why: Why,
    ) {
        let installed = self.situation.installed.or(self.situation.desired);
        add(&mut self.releases, installed, name, rank, Hold { until, firmness, why });
    }

    /// Turns holds into waits.
    fn finish_holds(&mut self) {
        let (holds, releases) = (std::mem::take(&mut self.holds), std::mem::take(&mut self.releases));
        self.add_holds(holds, true);
        self.add_holds(releases, false);
    }

    /// Adds the waits of holds to the steps that reach (`up`) or leave a rank.
    ///
    /// If an element with several parts has several hard constraints, they share a gate. Soft constraints
    /// apply to each part separately, because one part may drop a constraint that others keep.
    fn add_holds(&mut self, holds: Holds, up: bool) {
        let Some(topology) = (if up { self.desired() } else { self.installed() }) else { return };
        for ((place, rank), all) in holds {
            let name = &topology.elements()[place].name;
            let leaves = topology.leaves(name);
            let steps = self.steps_at(&leaves, rank, up);
            let (mut until, mut wishes): (Vec<Hold>, Vec<Hold>) =
                all.into_iter().partition(|hold| hold.firmness == Firmness::Rule);
            if steps.len() > 1 && until.len() > 1 {
                until = vec![self.held_at_gate(name, rank, up, until)];
            }
            if up && leaves.len() == steps.len() {
                for hold in wishes.drain(..) {
                    self.graph.wait_as_whole(&steps, hold.until, hold.why);
                }
            }
            for (step, kind) in steps {
                for Hold { until, firmness, why } in until.iter().chain(&wishes).copied() {
                    self.graph.wait_firmly(step, until, kind, firmness, why);
                }
            }
        }
    }

    /// Adds a gate behind all steps that an element waits for.
    fn held_at_gate(&mut self, name: &ElementName, rank: u8, up: bool, until: Vec<Hold>) -> Hold {
        let word = if up { "may become" } else { "may leave" };
        let gate = self.graph.barrier(format!("{} {word} {}", name.local(), rank::state(rank)));
        for Hold { until, why, .. } in until {
            self.graph.need(gate, until, why);
        }
        let why = self.graph.note(Reason::Nesting { element: name.clone() });
        Hold { until: gate, firmness: Firmness::Rule, why }
    }

    /// Returns the steps in which parts reach or leave a rank.
    fn steps_at(&self, leaves: &[&Element], rank: u8, up: bool) -> Vec<(Draft, WaitKind)> {
        let step = |leaf: &&Element| {
            let part = self.parts.get(&leaf.name)?;
            // An unhealthy part is removed even if its relationships could not be ceased.
            let kind = if !up && part.is_unwell() { WaitKind::After } else { WaitKind::Needs };
            let step = if up { part.steps.enter(rank) } else { part.leaving(rank) };
            step.map(|step| (step, kind))
        };
        leaves.iter().filter_map(step).collect()
    }
}

fn add(holds: &mut Holds, of: Option<Version<'_>>, name: &ElementName, rank: u8, hold: Hold) {
    // An element that the topology does not contain has no steps to hold.
    if let Some(place) = of.and_then(|version| version.topology.position(name)) {
        holds.entry((place, rank)).or_default().push(hold);
    }
}

/// Returns the step of a producer that waits, the step of its reader that it waits for, and how it waits.
fn reader_first(reader: &Part<'_>, producer: &Part<'_>) -> Option<(Draft, Draft, WaitKind, Firmness)> {
    let leaving = producer.leaving(rank::INSTALLED)?;
    let kind = if producer.is_unwell() { WaitKind::After } else { WaitKind::Needs };
    if let Some(gone) = reader.steps.lowest().filter(|_| reader.low < rank::INSTALLED) {
        return Some((leaving, gone, kind, Firmness::Rule));
    }
    // A reader that stays should get its new values before its producer is removed. That is impossible if
    // their new producer waits for that removal.
    let changed = reader.steps.reconfigure().filter(|_| producer.end == rank::ABSENT)?;
    Some((leaving, changed, kind, Firmness::Wish))
}
