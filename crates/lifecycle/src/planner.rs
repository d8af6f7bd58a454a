//! The planner: the ways of all parts, the waits between them, and the phases, put together.

use std::collections::HashMap;

use indexmap::IndexMap;
use windlass_model::assembly::ElementKind;
use windlass_model::resolve::NothingYet;
use windlass_model::work::Reason;
use windlass_model::{Element, ElementName, Topology};
use windlass_plan::{WaitKind, Why};

use crate::LifecycleError;
use crate::ask::{Options, Planned, Situation, Version};
use crate::diff::{Diff, RelationshipChange};
use crate::fate::{self, Asked, Later};
use crate::graph::{At, Graph};
use crate::part::{Part, Parts};
use crate::plan::OrderError;
use crate::reads::Reads;
use crate::scope::Scope;
use crate::{rank, steps};

/// Plans the way from how things are to how they should be.
///
/// # Errors
///
/// A circle of waits, printed edge by edge; a value that can't come to be; an element in the options that the
/// assembly doesn't have.
pub fn plan(situation: &Situation<'_>, options: &Options) -> Result<Planned, LifecycleError> {
    check_names(situation, options)?;
    let mut parts = decided(situation, options);
    let scope = Scope::of(&parts, situation, options)?;
    let mut undone = Diff::default();
    if let Some(scope) = &scope {
        undone = left_undone(situation, options, scope);
        scope.freeze(&mut parts);
    }
    fate::follow_values(&mut parts, situation);
    // Most parts take three steps and read something. What is not used of the room costs nothing.
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
    let diff = Diff::new(parts, options, relationships);
    Ok(Planned { plan: graph.build(steps::label).map_err(OrderError)?, diff, undone })
}

/// Makes the parts, and decides what can be decided without their values.
fn decided<'a>(situation: &Situation<'a>, options: &Options) -> Parts<'a> {
    let asked = Asked::new(situation, options);
    let mut parts = Parts::new(situation, &asked);
    parts.raise_ends(situation.desired.map(|version| version.topology), &asked);
    parts
}

/// Returns what would become of the parts that a limited plan leaves as they are.
fn left_undone(situation: &Situation<'_>, options: &Options, scope: &Scope) -> Diff {
    let mut parts = decided(situation, options);
    fate::follow_values(&mut parts, situation);
    let mut undone = Diff::new(parts, options, Vec::new());
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
    /// What may be touched, where the plan is limited.
    pub(crate) scope: Option<Scope>,
    pub(crate) parts: Parts<'a>,
    pub(crate) graph: Graph,
    /// Barriers behind all parts of a group or assembly that reach a rank, by its place in the desired topology.
    reached: HashMap<(usize, u8), Option<At>>,
    /// Barriers behind all parts of a group or assembly that leave a rank, by its place in the installed topology.
    left: HashMap<(usize, u8), Option<At>>,
    holds: Holds,
    releases: Holds,
    pub(crate) relationships: Vec<RelationshipChange>,
    /// What a limited plan leaves of relationships between parts that are there.
    pub(crate) undone: Vec<RelationshipChange>,
}

/// What the steps of elements wait for that reach, or leave, a rank; by the places of the elements in their topology.
type Holds = IndexMap<(usize, u8), Vec<Hold>>;

/// What is waited for, how firmly, and why.
#[derive(Clone, Copy)]
struct Hold {
    until: At,
    firmness: Firmness,
    why: Why,
}

/// Whether a wait may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Firmness {
    /// It may not: the rules ask for it.
    Rule,
    /// It may where it would close a circle.
    Wish,
    /// As a wish, and before any wish is dropped.
    Hope,
}

impl<'a> Planner<'a> {
    pub(crate) fn desired(&self) -> Option<&'a Topology> {
        self.situation.desired.map(|version| version.topology)
    }

    /// Returns what the things that are there were made from.
    pub(crate) fn installed(&self) -> Option<&'a Topology> {
        self.situation.installed.or(self.situation.desired).map(|version| version.topology)
    }

    /// Lets readers wait until others have published.
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

    /// Lets producers stay until who reads them is gone, or has other values.
    fn readers_down(&mut self) -> Result<(), LifecycleError> {
        let Some(installed) = self.installed() else { return Ok(()) };
        if !self.parts.any_before {
            return Ok(());
        }
        let moves = |part: &&Part<'_>| part.steps.lowest().is_some() || part.steps.reconfigure().is_some();
        // With nothing published, every value that a driver gave counts as read.
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

    /// Returns what to wait for until an element is at a rank; nothing when it is, or never will be.
    pub(crate) fn reached(&mut self, name: &ElementName, rank: u8) -> Option<At> {
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
        let steps: Vec<At> =
            topology.children(name).filter_map(|child| self.reached(&child.name, rank)).collect();
        let barrier = self.gather(element, steps, &format!("is {}", rank::state(rank)));
        self.reached.insert(key, barrier);
        barrier
    }

    /// Returns what to wait for until an element has left a rank; nothing when it isn't there or stays.
    pub(crate) fn left(&mut self, name: &ElementName, rank: u8) -> Option<At> {
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
        let steps: Vec<At> =
            topology.children(name).filter_map(|child| self.left(&child.name, rank)).collect();
        let barrier = self.gather(element, steps, &format!("has left {}", rank::state(rank)));
        self.left.insert(key, barrier);
        barrier
    }

    /// Adds a barrier behind the parts of an element.
    fn gather(&mut self, element: &Element, steps: Vec<At>, what: &str) -> Option<At> {
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

    /// Lets all parts of an element wait before they reach a rank.
    pub(crate) fn hold(&mut self, name: &ElementName, rank: u8, until: At, why: Why) {
        add(
            &mut self.holds,
            self.situation.desired,
            name,
            rank,
            Hold { until, firmness: Firmness::Rule, why },
        );
    }

    /// Lets an element wait before it reaches a rank. What several parts make up reaches it with the last of them, so
    /// those go ahead that others in it demand early.
    pub(crate) fn hold_whole(&mut self, element: &Element, rank: u8, until: At, why: Why) {
        let firmness = if element.kind == ElementKind::Resource { Firmness::Rule } else { Firmness::Wish };
        add(&mut self.holds, self.situation.desired, &element.name, rank, Hold { until, firmness, why });
    }

    /// Lets all parts of an element wait before they leave a rank.
    pub(crate) fn hold_leaving(
        &mut self,
        name: &ElementName,
        rank: u8,
        until: At,
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

    /// An element with several parts that is held firmly several times gets a gate of its own. Wishes are told to each
    /// part: one may have to give up what others keep.
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

    /// Puts a gate behind all that an element waits for.
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
    fn steps_at(&self, leaves: &[&Element], rank: u8, up: bool) -> Vec<(At, WaitKind)> {
        let step = |leaf: &&Element| {
            let part = self.parts.get(&leaf.name)?;
            // What is not well is cleared away whether or not its relationships could be ended.
            let kind = if !up && part.is_unwell() { WaitKind::After } else { WaitKind::Needs };
            let step = if up { part.steps.enter(rank) } else { part.leaving(rank) };
            step.map(|step| (step, kind))
        };
        leaves.iter().filter_map(step).collect()
    }
}

fn add(holds: &mut Holds, of: Option<Version<'_>>, name: &ElementName, rank: u8, hold: Hold) {
    // What isn't there holds nothing.
    if let Some(place) = of.and_then(|version| version.topology.position(name)) {
        holds.entry((place, rank)).or_default().push(hold);
    }
}

/// Returns which step of a producer waits for which of its reader, and how.
fn reader_first(reader: &Part<'_>, producer: &Part<'_>) -> Option<(At, At, WaitKind, Firmness)> {
    let leaving = producer.leaving(rank::INSTALLED)?;
    let kind = if producer.is_unwell() { WaitKind::After } else { WaitKind::Needs };
    if let Some(gone) = reader.steps.lowest().filter(|_| reader.low < rank::INSTALLED) {
        return Some((leaving, gone, kind, Firmness::Rule));
    }
    // Who stays should have other values before what it read from goes for good. Where those come from something
    // that has to wait until that is gone, it can't.
    let changed = reader.steps.reconfigure().filter(|_| producer.end == rank::ABSENT)?;
    Some((leaving, changed, kind, Firmness::Wish))
}
