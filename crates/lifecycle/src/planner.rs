//! The planner: the ways of all parts, the waits between them, and the phases, put together.

use std::collections::HashMap;

use windlass_model::assembly::ElementKind;
use windlass_model::resolve::NothingYet;
use windlass_model::{Element, ElementName, Topology};
use windlass_plan::{Reason, WaitKind};

use crate::LifecycleError;
use crate::ask::{Options, Planned, Situation};
use crate::diff::Diff;
use crate::fate::{self, Later};
use crate::graph::{At, Graph};
use crate::part::Parts;
use crate::reads::{Producers, Reads};
use crate::steps::{self, at_rank};

/// Plans the way from how things are to how they should be.
///
/// # Errors
///
/// A circle of waits, printed edge by edge; a value that can't come to be; an element in the options that the
/// assembly doesn't have.
pub fn plan(situation: &Situation<'_>, options: &Options) -> Result<Planned, LifecycleError> {
    check_names(situation, options)?;
    let mut parts = Parts::new(situation);
    parts.set_ends(situation.desired.map(|version| version.topology), options);
    fate::decide(&mut parts, situation, options);
    let mut graph = Graph::default();
    for part in &mut parts.list {
        steps::add(&mut graph, part);
    }
    let mut planner = Planner {
        situation: *situation,
        options,
        parts,
        graph,
        reached: HashMap::new(),
        left: HashMap::new(),
        holds: Holds::default(),
        releases: Holds::default(),
        relationships: Vec::new(),
    };
    planner.readers_up()?;
    planner.readers_down()?;
    planner.relationships()?;
    planner.finish_holds();
    planner.graph.settle_wishes();
    planner.limit();
    let mut diff = Diff::new(&planner.parts, options, planner.relationships);
    if !options.target.is_empty() {
        let movers = planner.graph.movers();
        diff.elements.retain(|change| movers.contains(&change.element));
    }
    Ok(Planned { plan: planner.graph.build(steps::label)?, diff })
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
    pub(crate) parts: Parts<'a>,
    pub(crate) graph: Graph,
    /// Barriers behind all parts of a group or assembly that reach a rank.
    reached: HashMap<(ElementName, u8), Option<At>>,
    /// Barriers behind all parts of a group or assembly that leave a rank.
    left: HashMap<(ElementName, u8), Option<At>>,
    holds: Holds,
    releases: Holds,
    pub(crate) relationships: Vec<crate::diff::RelationshipChange>,
}

/// What the steps of elements wait for that reach, or leave, a rank.
#[derive(Default)]
struct Holds {
    order: Vec<(ElementName, u8)>,
    by_element: HashMap<(ElementName, u8), Vec<Hold>>,
}

/// What is waited for, how firmly, and why.
struct Hold {
    until: At,
    firmness: Firmness,
    reason: Reason,
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

impl Holds {
    fn add(&mut self, name: &ElementName, rank: u8, hold: Hold) {
        let key = (name.clone(), rank);
        let holds = self.by_element.entry(key.clone()).or_default();
        if holds.is_empty() {
            self.order.push(key);
        }
        holds.push(hold);
    }
}

impl<'a> Planner<'a> {
    pub(crate) fn desired(&self) -> Option<&'a Topology> {
        self.situation.desired.map(|version| version.topology)
    }

    /// Returns what the things that are there were made from.
    pub(crate) fn installed(&self) -> Option<&'a Topology> {
        self.situation.installed.or(self.situation.desired).map(|version| version.topology)
    }

    fn readers_up(&mut self) -> Result<(), LifecycleError> {
        let Some(desired) = self.situation.desired else { return Ok(()) };
        let mut all: Vec<(At, Producers)> = Vec::new();
        {
            let later = Later { lookup: desired.lookup, parts: &self.parts };
            let mut reads = Reads::new(desired.topology, &later);
            for part in &self.parts.list {
                let first = part.first_up().or(part.reconfigure);
                if let (Some(step), Some(element)) = (first, part.after) {
                    all.push((step, reads.element(element)?));
                }
            }
        }
        for (step, producers) in all {
            self.after_producers(step, producers);
        }
        Ok(())
    }

    /// Lets a step wait until others have published.
    pub(crate) fn after_producers(&mut self, step: At, producers: Producers) {
        for (producer, reason) in producers {
            if let Some(published) = self.reached(&producer, 2) {
                self.graph.need(step, published, reason);
            }
        }
    }

    /// Lets producers stay until who reads them is gone, or has other values.
    fn readers_down(&mut self) -> Result<(), LifecycleError> {
        let Some(installed) = self.installed() else { return Ok(()) };
        let moving = |at: &usize| {
            let part = &self.parts.list[*at];
            part.before.is_some() && (part.lowest.is_some() || part.reconfigure.is_some())
        };
        let moving: Vec<usize> = (0..self.parts.list.len()).filter(moving).collect();
        // With nothing published, every value that a driver gave counts as read.
        let mut reads = Reads::new(installed, &NothingYet);
        for at in moving {
            let Some(element) = self.parts.list[at].before else { continue };
            for (producer, reason) in reads.element(element)? {
                self.reader_first(at, &producer, reason);
            }
        }
        Ok(())
    }

    fn reader_first(&mut self, reader: usize, producer: &ElementName, reason: Reason) {
        let reader = &self.parts.list[reader];
        let Some(producer) = self.parts.get(producer) else { return };
        let Some(leaving) = producer.leaving(2) else { return };
        let kind = if producer.is_unwell() { WaitKind::After } else { WaitKind::Needs };
        if let Some(gone) = reader.lowest.filter(|_| reader.low < 2) {
            self.graph.wait(leaving, gone, kind, reason);
        } else if let Some(changed) = reader.reconfigure.filter(|_| producer.end == 0) {
            // Who stays should have other values before what it read from goes for good. Where those come from something
            // that has to wait until that is gone, it can't.
            self.graph.wait_firmly(leaving, changed, kind, Firmness::Wish, reason);
        }
    }

    /// Returns what to wait for until an element is at a rank; nothing when it is, or never will be.
    pub(crate) fn reached(&mut self, name: &ElementName, rank: u8) -> Option<At> {
        let topology = self.desired()?;
        let element = topology.get(name)?;
        match element.kind {
            ElementKind::Resource => return self.parts.get(name)?.reaching(rank),
            ElementKind::Reference => return None,
            ElementKind::Assembly | ElementKind::Group => {}
        }
        let key = (name.clone(), rank);
        if let Some(known) = self.reached.get(&key) {
            return *known;
        }
        let steps: Vec<At> =
            topology.children(name).filter_map(|child| self.reached(&child.name, rank)).collect();
        let barrier = self.gather(element, steps, &format!("is {}", at_rank(rank)));
        self.reached.insert(key, barrier);
        barrier
    }

    /// Returns what to wait for until an element has left a rank; nothing when it isn't there or stays.
    pub(crate) fn left(&mut self, name: &ElementName, rank: u8) -> Option<At> {
        let topology = self.installed()?;
        let element = topology.get(name)?;
        if element.kind == ElementKind::Resource {
            let part = self.parts.get(name)?;
            return part.leave[usize::from(rank.min(4))];
        }
        let key = (name.clone(), rank);
        if let Some(known) = self.left.get(&key) {
            return *known;
        }
        let steps: Vec<At> =
            topology.children(name).filter_map(|child| self.left(&child.name, rank)).collect();
        let barrier = self.gather(element, steps, &format!("has left {}", at_rank(rank)));
        self.left.insert(key, barrier);
        barrier
    }

    /// Adds a barrier behind the parts of an element.
    fn gather(&mut self, element: &Element, steps: Vec<At>, what: &str) -> Option<At> {
        if steps.len() < 2 {
            return steps.into_iter().next();
        }
        let barrier = self.graph.barrier(format!("all of {} {what}", element.name.local()));
        for step in steps {
            self.graph.need(barrier, step, Reason::Nesting { element: element.name.clone() });
        }
        Some(barrier)
    }

    /// Lets all parts of an element wait before they reach a rank.
    pub(crate) fn hold(&mut self, name: &ElementName, rank: u8, until: At, reason: Reason) {
        self.holds.add(name, rank, Hold { until, firmness: Firmness::Rule, reason });
    }

    /// Lets an element wait before it reaches a rank. What several parts make up reaches it with the last of them, so
    /// those go ahead that others in it demand early.
    pub(crate) fn hold_whole(&mut self, element: &Element, rank: u8, until: At, reason: Reason) {
        let firmness = if element.kind == ElementKind::Resource { Firmness::Rule } else { Firmness::Wish };
        self.holds.add(&element.name, rank, Hold { until, firmness, reason });
    }

    /// Lets all parts of an element wait before they leave a rank.
    pub(crate) fn hold_leaving(
        &mut self,
        name: &ElementName,
        rank: u8,
        until: At,
        firmness: Firmness,
        reason: Reason,
    ) {
        self.releases.add(name, rank, Hold { until, firmness, reason });
    }

    /// Turns holds into waits.
    fn finish_holds(&mut self) {
        let (holds, releases) = (std::mem::take(&mut self.holds), std::mem::take(&mut self.releases));
        self.add_holds(holds, true);
        self.add_holds(releases, false);
    }

    /// An element with several parts that is held firmly several times gets a gate of its own. Wishes are told to each
    /// part: one may have to give up what others keep.
    fn add_holds(&mut self, mut holds: Holds, up: bool) {
        for key in holds.order {
            let all = holds.by_element.remove(&key).unwrap_or_default();
            let (name, rank) = &key;
            let steps = self.steps_at(name, *rank, up);
            let (mut until, wishes): (Vec<Hold>, Vec<Hold>) =
                all.into_iter().partition(|hold| hold.firmness == Firmness::Rule);
            if steps.len() > 1 && until.len() > 1 {
                until = vec![self.held_at_gate(name, *rank, up, until)];
            }
            let is_whole = up && self.desired().is_some_and(|all| all.leaves(name).len() == steps.len());
            for hold in wishes.iter().filter(|_| is_whole) {
                let steps = steps.iter().map(|(step, _)| *step).collect();
                self.graph.keep_one(steps, hold.until, hold.reason.clone());
            }
            for (step, kind) in steps {
                for hold in until.iter().chain(&wishes) {
                    self.graph.wait_firmly(step, hold.until, kind, hold.firmness, hold.reason.clone());
                }
            }
        }
    }

    /// Puts a gate behind all that an element waits for.
    fn held_at_gate(&mut self, name: &ElementName, rank: u8, up: bool, until: Vec<Hold>) -> Hold {
        let word = if up { "may become" } else { "may leave" };
        let gate = self.graph.barrier(format!("{} {word} {}", name.local(), at_rank(rank)));
        for Hold { until, reason, .. } in until {
            self.graph.need(gate, until, reason);
        }
        Hold { until: gate, firmness: Firmness::Rule, reason: Reason::Nesting { element: name.clone() } }
    }

    /// Returns the steps in which the parts of an element reach or leave a rank.
    fn steps_at(&self, name: &ElementName, rank: u8, up: bool) -> Vec<(At, WaitKind)> {
        let topology = if up { self.desired() } else { self.installed() };
        let leaves = topology.map(|topology| topology.leaves(name)).unwrap_or_default();
        let step = |leaf: &&Element| {
            let part = self.parts.get(&leaf.name)?;
            // What is not well is cleared away whether or not its relationships could be ended.
            let kind = if !up && part.is_unwell() { WaitKind::After } else { WaitKind::Needs };
            let step = if up { part.enter[usize::from(rank)] } else { part.leaving(rank) };
            step.map(|step| (step, kind))
        };
        leaves.iter().filter_map(step).collect()
    }

    /// Drops what the targets don't need.
    fn limit(&mut self) {
        if self.options.target.is_empty() {
            return;
        }
        let topologies = [self.desired(), self.situation.installed.map(|version| version.topology)];
        let mut roots = Vec::new();
        for topology in topologies.into_iter().flatten() {
            for leaf in self.options.target.iter().flat_map(|name| topology.leaves(name)) {
                let Some(part) = self.parts.get(&leaf.name) else { continue };
                roots.extend(part.leave.iter().chain(&part.enter).chain([&part.reconfigure]).flatten());
                roots.extend(self.graph.touching(&leaf.name));
            }
        }
        self.graph.keep(roots);
    }
}
