//! The resources of an assembly, each with the way it has to go.

use std::collections::{HashMap, VecDeque};

use windlass_model::assembly::ElementKind;
use windlass_model::{DescriptorName, Element, ElementName, Modifier, State, Topology, Transitions};

use crate::ask::{Situation, Version};
use crate::current::ElementNow;
use crate::diff::PropertyChange;
use crate::fate::Asked;
use crate::graph::At;
use crate::rank;
use crate::steps::Steps;

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
///
/// Its names and the transitions are copies: they are asked for all the time, and what lies here needs no look at the element.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) name: ElementName,
    /// The descriptor that it will have.
    pub(crate) descriptor: Option<DescriptorName>,
    /// The transitions that it will declare.
    pub(crate) declared: Transitions,
    /// What it was made from.
    pub(crate) before: Option<&'a Element>,
    /// What it should be.
    pub(crate) after: Option<&'a Element>,
    /// The places of the two in their topologies.
    pub(crate) before_at: u32,
    pub(crate) after_at: u32,
    pub(crate) now: &'a ElementNow,
    pub(crate) fate: Fate,
    /// Whether a limited plan leaves it as it is.
    pub(crate) untouched: bool,
    /// The lowest rank on its way.
    pub(crate) low: u8,
    /// The rank in which it ends.
    pub(crate) end: u8,
    /// The properties whose values change, as far as it is there.
    pub(crate) changes: Vec<PropertyChange>,
    pub(crate) steps: Steps,
}

impl<'a> Part<'a> {
    /// Makes the part that a resource is before and after, with its places in the topologies.
    fn new(
        before: Option<(u32, &'a Element)>,
        after: Option<(u32, &'a Element)>,
        now: &'a ElementNow,
    ) -> Self {
        let name = after.or(before).map(|(_, element)| element.name.clone());
        let (before_at, before) = before.map_or((NOWHERE, None), |(at, element)| (at, Some(element)));
        let (after_at, after) = after.map_or((NOWHERE, None), |(at, element)| (at, Some(element)));
        Self {
            name: name.expect("a part is there before or after"),
            descriptor: after.map(|after| after.descriptor.clone()),
            declared: after.map(|after| after.transitions).unwrap_or_default(),
            before,
            after,
            before_at,
            after_at,
            now,
            fate: Fate::Keep,
            untouched: false,
            low: 0,
            end: 0,
            changes: Vec::new(),
            steps: Steps::default(),
        }
    }

    /// Tells whether something of it may exist.
    pub(crate) fn is_there(&self) -> bool {
        self.now.state != State::Absent && (self.now.state != State::Failed || self.now.has_remains())
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
        !self.untouched && self.low < rank::INSTALLED
    }

    /// Returns the step in which it leaves a rank, or the next it takes after that; none for a rank that it doesn't
    /// have.
    pub(crate) fn leaving(&self, rank: u8) -> Option<At> {
        let has_created = || self.before.or(self.after).is_some_and(Element::has_created);
        if rank == rank::ABSENT || rank == rank::CREATED && !has_created() {
            return None;
        }
        (rank::CREATED..=rank.min(rank::ACTIVE)).rev().find_map(|rank| self.steps.leave(rank))
    }

    /// Returns the step after which it is at a rank; none when it is there already, or never gets there.
    pub(crate) fn reaching(&self, rank: u8) -> Option<At> {
        if rank == rank::ABSENT || rank == rank::CREATED && !self.declared.has_created() {
            // It is there as soon as what was there before is gone.
            return self.steps.lowest().filter(|_| self.low == rank::ABSENT);
        }
        if self.low >= rank {
            // Whoever needs a broken part at rest, waits until it is known to be.
            return self
                .steps
                .lowest()
                .filter(|_| self.now.state == State::Broken || self.fate == Fate::Heal);
        }
        self.steps.up_to(rank)
    }

    /// Returns the step after which it has published what it has to.
    pub(crate) fn publishing(&self) -> Option<At> {
        self.reaching(rank::INSTALLED)
    }
}

/// All resources, those of the desired assembly first.
pub(crate) struct Parts<'a> {
    pub(crate) list: Vec<Part<'a>>,
    /// Whether anything was there before, so that it can change or go.
    pub(crate) any_before: bool,
    /// Where the resources of the two assemblies are in the list.
    desired: Places<'a>,
    installed: Places<'a>,
}

/// For each element of a topology its place in the list of parts.
#[derive(Default)]
struct Places<'a> {
    topology: Option<&'a Topology>,
    list: Vec<u32>,
}

/// The place of what is no resource, or isn't in a topology.
const NOWHERE: u32 = u32::MAX;

impl<'a> Places<'a> {
    fn of(topology: Option<&'a Topology>) -> Self {
        let list = vec![NOWHERE; topology.map_or(0, |topology| topology.elements().len())];
        Self { topology, list }
    }

    /// Returns the resources with their places in the topology.
    fn resources(&self) -> impl Iterator<Item = (u32, &'a Element)> + use<'a> {
        let elements = self.topology.map(Topology::elements).unwrap_or_default();
        (0..).zip(elements).filter(|(_, element)| element.kind == ElementKind::Resource)
    }

    /// Finds an element of the topology.
    fn find(&self, name: &ElementName) -> Option<usize> {
        self.topology?.position(name)
    }

    /// Finds a resource of the topology.
    fn resource(&self, name: &ElementName) -> Option<(u32, &'a Element)> {
        let at = self.find(name)?;
        let element = &self.topology?.elements()[at];
        (element.kind == ElementKind::Resource).then_some((u32::try_from(at).ok()?, element))
    }

    /// Notes the place that an element of the topology has among the parts.
    fn put(&mut self, at: u32, place: u32) {
        if let Some(known) = self.list.get_mut(at as usize) {
            *known = place;
        }
    }

    fn get(&self, name: &ElementName) -> Option<usize> {
        let place = self.list[self.find(name)?];
        (place != NOWHERE).then_some(place as usize)
    }
}

impl<'a> Parts<'a> {
    /// Makes a part of each resource, and decides what can be decided of it alone.
    pub(crate) fn new(situation: &Situation<'a>, asked: &Asked<'_>) -> Self {
        let places = |version: Option<Version<'a>>| Places::of(version.map(|version| version.topology));
        let (desired, installed) = (places(situation.desired), places(situation.installed));
        let list = Vec::with_capacity(desired.list.len().max(installed.list.len()));
        let mut parts = Self { list, any_before: false, desired, installed };
        for after in parts.desired.resources() {
            let (_, Element { name, .. }) = after;
            let before = match parts.installed.topology {
                None => Some(after),
                Some(_) => parts.installed.resource(name),
            };
            parts.add(Part::new(before, Some(after), situation.current.now(name)), asked);
        }
        for before in parts.installed.resources() {
            let (at, Element { name, .. }) = before;
            if parts.installed.list[at as usize] == NOWHERE {
                parts.add(Part::new(Some(before), None, situation.current.now(name)), asked);
            }
        }
        parts
    }

    fn add(&mut self, mut part: Part<'a>, asked: &Asked<'_>) {
        asked.decide(&mut part);
        let place = u32::try_from(self.list.len()).unwrap_or(NOWHERE);
        self.desired.put(part.after_at, place);
        self.installed.put(part.before_at, place);
        self.any_before |= part.now.state != State::Absent;
        self.list.push(part);
    }

    /// Returns the place of a resource.
    pub(crate) fn place(&self, name: &ElementName) -> Option<usize> {
        self.desired.get(name).or_else(|| self.installed.get(name))
    }

    /// Returns a resource by its place in the desired topology.
    pub(crate) fn at(&self, place: usize) -> Option<&Part<'a>> {
        self.place_at(place).map(|at| &self.list[at])
    }

    /// Returns the place of a resource by that in the desired topology.
    pub(crate) fn place_at(&self, place: usize) -> Option<usize> {
        let place = *self.desired.list.get(place)?;
        (place != NOWHERE).then_some(place as usize)
    }

    pub(crate) fn get(&self, name: &ElementName) -> Option<&Part<'a>> {
        self.place(name).map(|at| &self.list[at])
    }

    /// Raises the rank in which parts end where a relationship asks for more than the goal.
    ///
    /// The target is the end that drives: where it reaches its state, and the relationship is made before that, the
    /// source has to be at its own. Each relationship is looked at again when a target of it has been raised.
    pub(crate) fn raise_ends(&mut self, desired: Option<&Topology>, asked: &Asked<'_>) {
        let Some(topology) = desired.filter(|_| (rank::CREATED..rank::ACTIVE).contains(&asked.goal())) else {
            return;
        };
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
                self.end_of(topology, &end.element)
                    >= relationship.target_state.rank().unwrap_or(rank::ABOVE_ALL)
            });
            if !reached || relationship.target_modifier == Modifier::Post {
                continue;
            }
            let least = rank::least(relationship.source_state, relationship.source_modifier);
            for leaf in relationship.sources.iter().flat_map(|end| topology.leaves(&end.element)) {
                let Some(part) = self.place(&leaf.name).map(|at| &mut self.list[at]) else { continue };
                if part.end < least {
                    part.end = least;
                    asked.decide(part);
                    open.extend(by_target.get(&part.name).into_iter().flatten());
                }
            }
        }
    }

    /// Returns the highest rank in which a node of an endpoint ends.
    fn end_of(&self, topology: &Topology, endpoint: &ElementName) -> u8 {
        let nodes = topology.nodes(endpoint);
        nodes.into_iter().map(|node| self.node(topology, node).end).max().unwrap_or(rank::ABSENT)
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
    /// The lowest rank that it falls to; [`rank::ABOVE_ALL`] when it doesn't fall.
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
    const FIXED: Self = Self {
        falls_to: rank::ABOVE_ALL,
        end: rank::ACTIVE,
        absent: false,
        climbs: false,
        stance: Stance::Stays,
    };

    /// Tells whether it comes down before it climbs.
    pub(crate) fn falls(self) -> bool {
        self.falls_to < rank::ABOVE_ALL
    }

    fn of(part: &Part<'_>) -> Self {
        Self {
            falls_to: part.falls_to().unwrap_or(rank::ABOVE_ALL),
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
