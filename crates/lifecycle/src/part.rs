//! The resources of an assembly, each with its path.

use std::collections::{HashMap, VecDeque};

use windlass_model::assembly::ElementKind;
use windlass_model::{DescriptorName, Element, ElementName, Modifier, State, Topology, Transitions};

use crate::differences::PropertyChange;
use crate::fate::Asked;
use crate::graph::At;
use crate::rank;
use crate::situation::{ElementNow, Situation, Version};
use crate::steps::Steps;

/// The change of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays, or continues up from its current state.
    Keep,
    /// It is added.
    Add,
    /// It exists already and is adopted.
    Adopt,
    /// It has failed and is re-created.
    Repair,
    /// It is Broken or to be healed: it is stopped and started again.
    Heal,
    /// It is lowered to another state.
    Lower,
    /// It gets new values while it is Active.
    Reconfigure,
    /// It has changed: it is removed and re-created.
    Reinstall,
    /// It is removed.
    Remove,
}

/// A resource and its path: from its state down to `low`, and from there up to `end`.
///
/// The names and the transitions are copies. The planner reads them often, and copies avoid a cache miss on
/// the element.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) name: ElementName,
    /// The desired descriptor.
    pub(crate) descriptor: Option<DescriptorName>,
    /// The desired transitions.
    pub(crate) declared: Transitions,
    /// The element that it was installed from.
    pub(crate) before: Option<&'a Element>,
    /// The desired element.
    pub(crate) after: Option<&'a Element>,
    /// The positions of the two elements in their topologies.
    pub(crate) before_at: u32,
    pub(crate) after_at: u32,
    pub(crate) now: &'a ElementNow,
    pub(crate) fate: Fate,
    /// Whether a limited plan leaves the part as it is.
    pub(crate) untouched: bool,
    /// The lowest rank on its path.
    pub(crate) low: u8,
    /// The last rank on its path.
    pub(crate) end: u8,
    /// The properties whose values change, if the part exists.
    pub(crate) changes: Vec<PropertyChange>,
    pub(crate) steps: Steps,
}

impl<'a> Part<'a> {
    /// Creates a part from the installed and the desired element with their positions.
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

    /// Tells whether the resource, or leftovers of it, may exist.
    pub(crate) fn is_there(&self) -> bool {
        self.now.state != State::Absent && (self.now.state != State::Failed || self.now.has_remains())
    }

    /// Tells whether the part was Failed or Broken before.
    pub(crate) fn is_unwell(&self) -> bool {
        matches!(self.now.state, State::Failed | State::Broken)
    }

    /// Returns the lowest rank of the part's path if that path leads down first.
    pub(crate) fn falls_to(&self) -> Option<u8> {
        let falls = match self.fate {
            Fate::Keep | Fate::Add | Fate::Adopt | Fate::Reconfigure => false,
            Fate::Repair | Fate::Heal | Fate::Lower | Fate::Reinstall => true,
            Fate::Remove => self.now.state != State::Absent,
        };
        falls.then_some(self.low)
    }

    /// Tells whether the plan installs the part, so that its driver publishes the outputs again.
    pub(crate) fn publishes_anew(&self) -> bool {
        !self.untouched && self.low < rank::INSTALLED
    }

    /// Returns the step in which the part leaves a rank, or the next lower rank that its path leaves.
    ///
    /// Returns `None` for a rank that the part does not have.
    pub(crate) fn leaving(&self, rank: u8) -> Option<At> {
        let has_created = || self.before.or(self.after).is_some_and(Element::has_created);
        if rank == rank::ABSENT || rank == rank::CREATED && !has_created() {
            return None;
        }
        (rank::CREATED..=rank.min(rank::ACTIVE)).rev().find_map(|rank| self.steps.leave(rank))
    }

    /// Returns the step after which the part is at a rank.
    ///
    /// Returns `None` if the part is at the rank already or never reaches it.
    pub(crate) fn reaching(&self, rank: u8) -> Option<At> {
        if rank == rank::ABSENT || rank == rank::CREATED && !self.declared.has_created() {
            // The part is Absent as soon as the old one is removed.
            return self.steps.lowest().filter(|_| self.low == rank::ABSENT);
        }
        if self.low >= rank {
            // A Broken part may still run: a step that needs it Inactive waits for its Stop.
            return self
                .steps
                .lowest()
                .filter(|_| self.now.state == State::Broken || self.fate == Fate::Heal);
        }
        self.steps.up_to(rank)
    }

    /// Returns the step after which the part has published its outputs.
    pub(crate) fn publishing(&self) -> Option<At> {
        self.reaching(rank::INSTALLED)
    }
}

/// All resources, those of the desired assembly first.
pub(crate) struct Parts<'a> {
    pub(crate) list: Vec<Part<'a>>,
    /// Whether any part existed before, so that it can change or be removed.
    pub(crate) any_before: bool,
    /// The positions of the resources of both topologies in the list.
    desired: Places<'a>,
    installed: Places<'a>,
}

/// The position in the list of parts for each element of a topology.
#[derive(Default)]
struct Places<'a> {
    topology: Option<&'a Topology>,
    list: Vec<u32>,
}

/// The position of an element that is no resource, or that the topology does not contain.
const NOWHERE: u32 = u32::MAX;

impl<'a> Places<'a> {
    fn of(topology: Option<&'a Topology>) -> Self {
        let list = vec![NOWHERE; topology.map_or(0, |topology| topology.elements().len())];
        Self { topology, list }
    }

    /// Returns the resources with their positions in the topology.
    fn resources(&self) -> impl Iterator<Item = (u32, &'a Element)> + use<'a> {
        let elements = self.topology.map(Topology::elements).unwrap_or_default();
        (0..).zip(elements).filter(|(_, element)| element.kind == ElementKind::Resource)
    }

    /// Returns the position of an element in the topology.
    fn find(&self, name: &ElementName) -> Option<usize> {
        self.topology?.position(name)
    }

    /// Returns a resource of the topology with its position.
    fn resource(&self, name: &ElementName) -> Option<(u32, &'a Element)> {
        let at = self.find(name)?;
        let element = &self.topology?.elements()[at];
        (element.kind == ElementKind::Resource).then_some((u32::try_from(at).ok()?, element))
    }

    /// Records the position of an element's part. `at` is the element's position in the topology.
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
    /// Creates a part for each resource, and decides everything that depends on the part alone.
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

    /// Returns the position of a resource in the list.
    pub(crate) fn place(&self, name: &ElementName) -> Option<usize> {
        self.desired.get(name).or_else(|| self.installed.get(name))
    }

    /// Returns a resource by its position in the desired topology.
    pub(crate) fn at(&self, place: usize) -> Option<&Part<'a>> {
        self.place_at(place).map(|at| &self.list[at])
    }

    /// Returns the position in the list of a resource at a position of the desired topology.
    pub(crate) fn place_at(&self, place: usize) -> Option<usize> {
        let place = *self.desired.list.get(place)?;
        (place != NOWHERE).then_some(place as usize)
    }

    pub(crate) fn get(&self, name: &ElementName) -> Option<&Part<'a>> {
        self.place(name).map(|at| &self.list[at])
    }

    /// Raises the last rank of parts if a relationship requires more than the goal.
    ///
    /// The target drives. If it reaches the state that the relationship names, and the relationship is
    /// created before that, the source must be at its own state. A relationship is examined again after one
    /// of its targets was raised.
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

    /// Returns the highest of the last ranks of an endpoint's nodes.
    fn end_of(&self, topology: &Topology, endpoint: &ElementName) -> u8 {
        let nodes = topology.nodes(endpoint);
        nodes.into_iter().map(|node| self.node(topology, node).end).max().unwrap_or(rank::ABSENT)
    }

    /// Returns the path of a node of a relationship: of a resource, or of all resources in an assembly.
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

/// The path of an endpoint of a relationship.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Way {
    /// The lowest rank of its path down; [`rank::ABOVE_ALL`] if it doesn't go down.
    pub(crate) falls_to: u8,
    /// The last rank on its path.
    pub(crate) end: u8,
    /// Whether neither it nor any part of it existed before.
    pub(crate) absent: bool,
    /// Whether it, or a part of it, is raised to a higher state.
    pub(crate) climbs: bool,
    /// Whether it is kept, re-created or removed.
    pub(crate) stance: Stance,
}

/// Whether an element is kept, re-created or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Stance {
    /// It is kept.
    #[default]
    Stays,
    /// It, or a part of it, is lowered or re-created.
    Changes,
    /// It, or a part of it, is removed.
    Goes,
}

impl Way {
    /// The path of an element that is always Active.
    const FIXED: Self = Self {
        falls_to: rank::ABOVE_ALL,
        end: rank::ACTIVE,
        absent: false,
        climbs: false,
        stance: Stance::Stays,
    };

    /// Tells whether its path leads down first.
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
