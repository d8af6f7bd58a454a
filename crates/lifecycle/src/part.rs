//! The resources of an assembly, each with the way it has to go.

use std::collections::{HashMap, VecDeque};

use windlass_model::assembly::ElementKind;
use windlass_model::{Element, ElementName, Modifier, State, Topology};

use crate::ask::{Options, Situation};
use crate::current::ElementNow;
use crate::diff::PropertyChange;
use crate::graph::At;

/// What happens to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays, or climbs on from where it is.
    Keep,
    /// It comes.
    Add,
    /// It exists already and is taken over.
    Adopt,
    /// It has failed and is made anew.
    Repair,
    /// It is broken: it is stopped, and climbs again.
    Heal,
    /// It comes down to a lower state.
    Lower,
    /// It is given new values while it is Active.
    Reconfigure,
    /// It has changed: it goes and comes again.
    Reinstall,
    /// It goes.
    Remove,
}

/// A resource and its way: from its state down to `low`, and from there up to `end`.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) name: &'a ElementName,
    /// What it was made from.
    pub(crate) before: Option<&'a Element>,
    /// What it should be.
    pub(crate) after: Option<&'a Element>,
    pub(crate) now: ElementNow,
    pub(crate) fate: Fate,
    /// The lowest rank on its way.
    pub(crate) low: u8,
    /// The rank in which it ends.
    pub(crate) end: u8,
    /// The properties whose values change, as far as it is there.
    pub(crate) changes: Vec<PropertyChange>,
    /// For each rank, the step in which it is left.
    pub(crate) leave: [Option<At>; 5],
    /// For each rank, the step in which it is reached.
    pub(crate) enter: [Option<At>; 5],
    /// The step that gives it new values.
    pub(crate) reconfigure: Option<At>,
    /// The last step on its way down.
    pub(crate) lowest: Option<At>,
}

impl<'a> Part<'a> {
    fn new(name: &'a ElementName, now: ElementNow) -> Self {
        Self {
            name,
            before: None,
            after: None,
            now,
            fate: Fate::Keep,
            low: 0,
            end: 0,
            changes: Vec::new(),
            leave: [None; 5],
            enter: [None; 5],
            reconfigure: None,
            lowest: None,
        }
    }

    /// Tells whether something of it may exist.
    pub(crate) fn is_there(&self) -> bool {
        self.now.state != State::Absent && (self.now.state != State::Failed || self.now.present)
    }

    /// Tells whether it was not doing well before.
    pub(crate) fn is_unwell(&self) -> bool {
        matches!(self.now.state, State::Failed | State::Broken)
    }

    /// Returns the lowest rank that it falls to before it climbs; none when it doesn't fall.
    pub(crate) fn falls_to(&self) -> Option<u8> {
        let falls = match self.fate {
            Fate::Keep | Fate::Add | Fate::Adopt | Fate::Reconfigure => false,
            Fate::Repair | Fate::Heal | Fate::Lower | Fate::Reinstall => true,
            Fate::Remove => self.now.state != State::Absent,
        };
        falls.then_some(self.low)
    }

    /// Tells whether what its driver publishes is still to come.
    pub(crate) fn publishes_anew(&self) -> bool {
        self.low < 2
    }

    /// Returns the step in which it leaves a rank, or the next it takes after that; none for a rank that it doesn't
    /// have.
    pub(crate) fn leaving(&self, rank: u8) -> Option<At> {
        let has_created = self.before.or(self.after).is_some_and(Element::has_created);
        if rank == 0 || rank == 1 && !has_created {
            return None;
        }
        self.leave[1..=usize::from(rank.min(4))].iter().rev().find_map(|step| *step)
    }

    /// Returns the step after which it is at a rank; none when it is there already, or never gets there.
    pub(crate) fn reaching(&self, rank: u8) -> Option<At> {
        let has_created = self.after.is_some_and(Element::has_created);
        if rank == 0 || rank == 1 && !has_created {
            // It is there as soon as what was there before is gone.
            return self.lowest.filter(|_| self.low == 0);
        }
        if self.low >= rank {
            // Whoever needs a broken part at rest, waits until it is known to be.
            return self.lowest.filter(|_| self.now.state == State::Broken || self.fate == Fate::Heal);
        }
        self.enter[usize::from(rank)..].iter().find_map(|step| *step)
    }

    /// Returns the first step on its way up.
    pub(crate) fn first_up(&self) -> Option<At> {
        self.enter.iter().find_map(|step| *step)
    }
}

/// All resources, those of the desired assembly first.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) list: Vec<Part<'a>>,
    places: HashMap<&'a ElementName, usize>,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(situation: &Situation<'a>) -> Self {
        let mut parts = Self { list: Vec::new(), places: HashMap::new() };
        let now = |name| situation.current.now(name);
        let desired = situation.desired.map(|version| version.topology);
        let installed = situation.installed.map(|version| version.topology);
        for element in desired.iter().flat_map(|topology| resources(topology)) {
            let mut part = Part::new(&element.name, now(&element.name));
            part.after = Some(element);
            part.before = match installed {
                None => Some(element),
                Some(topology) => topology.get(&element.name).filter(|e| e.kind == ElementKind::Resource),
            };
            parts.add(part);
        }
        for element in installed.iter().flat_map(|topology| resources(topology)) {
            if !parts.places.contains_key(&element.name) {
                let mut part = Part::new(&element.name, now(&element.name));
                part.before = Some(element);
                parts.add(part);
            }
        }
        parts
    }

    fn add(&mut self, part: Part<'a>) {
        self.places.insert(part.name, self.list.len());
        self.list.push(part);
    }

    /// Returns the place of a resource.
    pub(crate) fn place(&self, name: &ElementName) -> Option<usize> {
        self.places.get(name).copied()
    }

    pub(crate) fn get(&self, name: &ElementName) -> Option<&Part<'a>> {
        self.place(name).map(|at| &self.list[at])
    }

    /// Sets the rank in which each part ends: the goal, or more where a relationship asks for it.
    ///
    /// The target is the end that drives: where it reaches its state, and the relationship is made before that, the
    /// source has to be at its own. Each relationship is looked at again when a target of it has been raised.
    pub(crate) fn set_ends(&mut self, desired: Option<&Topology>, options: &Options) {
        let goal = if options.adopt { State::Active } else { options.goal };
        let goal = goal.rank().unwrap_or(0);
        for part in &mut self.list {
            part.end = if part.after.is_some() { goal } else { 0 };
        }
        let Some(topology) = desired.filter(|_| (1..4).contains(&goal)) else { return };
        let mut by_target: HashMap<&ElementName, Vec<usize>> = HashMap::new();
        for (at, relationship) in topology.relationships().iter().enumerate() {
            for leaf in relationship.targets.iter().flat_map(|end| topology.leaves(&end.element)) {
                by_target.entry(&leaf.name).or_default().push(at);
            }
        }
        let mut open: VecDeque<usize> = (0..topology.relationships().len()).collect();
        while let Some(at) = open.pop_front() {
            let relationship = &topology.relationships()[at];
            let reached = relationship.targets.iter().any(|end| {
                self.end_of(topology, &end.element) >= relationship.target_state.rank().unwrap_or(5)
            });
            if !reached || relationship.target_modifier == Modifier::Post {
                continue;
            }
            let least = crate::least(relationship.source_state, relationship.source_modifier);
            for leaf in relationship.sources.iter().flat_map(|end| topology.leaves(&end.element)) {
                let Some(part) = self.place(&leaf.name).map(|at| &mut self.list[at]) else { continue };
                if part.end < least {
                    part.end = least;
                    open.extend(by_target.get(part.name).into_iter().flatten());
                }
            }
        }
    }

    /// Returns the highest rank in which a node of an endpoint ends.
    fn end_of(&self, topology: &Topology, endpoint: &ElementName) -> u8 {
        let nodes = topology.nodes(endpoint);
        nodes.into_iter().map(|node| self.node(topology, node).end).max().unwrap_or(0)
    }

    /// Returns the way of a node of a relationship: of a resource, or of all that is in an assembly.
    pub(crate) fn node(&self, topology: &Topology, node: &Element) -> Way {
        let of = |name: &ElementName| self.get(name).map_or(Way::default(), Way::of);
        match node.kind {
            ElementKind::Reference => Way::FIXED,
            ElementKind::Resource => of(&node.name),
            ElementKind::Assembly | ElementKind::Group => {
                let leaves = topology.leaves(&node.name);
                leaves.iter().map(|leaf| of(&leaf.name)).reduce(Way::both).unwrap_or(Way::FIXED)
            }
        }
    }
}

/// How an end of a relationship moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Way {
    /// The lowest rank that it falls to; 5 when it doesn't fall.
    pub(crate) falls_to: u8,
    /// The rank in which it ends.
    pub(crate) end: u8,
    /// Whether it wasn't there to begin with, nor any part of it.
    pub(crate) absent: bool,
    /// Whether it, or a part of it, is about to climb.
    pub(crate) climbs: bool,
    /// Whether it stays what it is.
    pub(crate) stance: Stance,
}

/// Whether an element stays what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Stance {
    /// It does.
    #[default]
    Stays,
    /// It, or something in it, goes and comes again.
    Changes,
    /// It, or something in it, is no longer wanted.
    Goes,
}

impl Way {
    /// Something that is always Active.
    const FIXED: Self = Self { falls_to: 5, end: 4, absent: false, climbs: false, stance: Stance::Stays };

    fn of(part: &Part<'_>) -> Self {
        Self {
            falls_to: part.falls_to().unwrap_or(5),
            end: part.end,
            absent: part.now.state == State::Absent,
            climbs: part.low < part.end,
            stance: match part.fate {
                Fate::Remove => Stance::Goes,
                Fate::Reinstall | Fate::Lower => Stance::Changes,
                _ => Stance::Stays,
            },
        }
    }

    fn both(self, other: Self) -> Self {
        Self {
            falls_to: self.falls_to.min(other.falls_to),
            end: self.end.min(other.end),
            absent: self.absent && other.absent,
            climbs: self.climbs || other.climbs,
            stance: self.stance.max(other.stance),
        }
    }
}

pub(crate) fn resources(topology: &Topology) -> impl Iterator<Item = &Element> {
    topology.elements().iter().filter(|element| element.kind == ElementKind::Resource)
}
