//! All resources of an assembly, each with its change.

use std::collections::{HashMap, VecDeque};

use windlass_model::assembly::ElementKind;
use windlass_model::{Element, ElementName, Modifier, State, Topology};

use super::decision::ChangeRules;
use super::node::NodePath;
use super::part::{NOWHERE, Part};
use crate::rank;
use crate::situation::{Situation, Version};

/// All resources of the desired and the installed version. Resources of the desired version come first.
pub(crate) struct Parts<'a> {
    pub(crate) list: Vec<Part<'a>>,
    /// Whether at least one part exists when the plan begins. If no part exists, there is nothing to change or
    /// remove.
    pub(crate) any_before: bool,
    /// For each resource of the desired topology, the position of its part in `list`.
    desired: Places<'a>,
    /// For each resource of the installed topology, the position of its part in `list`.
    installed: Places<'a>,
}

/// For each element of a topology, the position of its part in [`Parts::list`]; [`NOWHERE`] for an element without a
/// part.
#[derive(Default)]
struct Places<'a> {
    topology: Option<&'a Topology>,
    list: Vec<u32>,
}

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

    /// Records that the element at the position `at` of the topology has its part at the position `place` of
    /// [`Parts::list`].
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
    /// Creates a part for each resource of the desired and of the installed version, and decides how the part changes.
    ///
    /// The decision considers neither changed values nor relationships. Two later functions correct the decision:
    /// [`raise_ends`](Self::raise_ends) because of relationships, and [`follow_values`](super::follow_values) because
    /// of changed values.
    pub(crate) fn new(situation: &Situation<'a>, rules: &ChangeRules<'_>) -> Self {
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
            parts.add(Part::new(before, Some(after), situation.current.now(name)), rules);
        }
        for before in parts.installed.resources() {
            let (at, Element { name, .. }) = before;
            if parts.installed.list[at as usize] == NOWHERE {
                parts.add(Part::new(Some(before), None, situation.current.now(name)), rules);
            }
        }
        parts
    }

    fn add(&mut self, mut part: Part<'a>, rules: &ChangeRules<'_>) {
        rules.decide(&mut part);
        let place = u32::try_from(self.list.len()).unwrap_or(NOWHERE);
        self.desired.put(part.after_at, place);
        self.installed.put(part.before_at, place);
        self.any_before |= part.now.state != State::Absent;
        self.list.push(part);
    }

    /// Returns the position of the part `name` in [`list`](Self::list); `None` if no part has this name.
    pub(crate) fn place(&self, name: &ElementName) -> Option<usize> {
        self.desired.get(name).or_else(|| self.installed.get(name))
    }

    /// Returns the part of an element; `None` if the element is not a resource. `place` is the position of the element
    /// in the desired topology.
    pub(crate) fn at(&self, place: usize) -> Option<&Part<'a>> {
        self.place_at(place).map(|at| &self.list[at])
    }

    /// Converts a position in the desired topology to a position in [`list`](Self::list).
    ///
    /// `place` is the position of an element in the desired topology. If the element is a resource, the result is the
    /// position of the resource's part. Otherwise, the result is `None`.
    pub(crate) fn place_at(&self, place: usize) -> Option<usize> {
        let place = *self.desired.list.get(place)?;
        (place != NOWHERE).then_some(place as usize)
    }

    pub(crate) fn get(&self, name: &ElementName) -> Option<&Part<'a>> {
        self.place(name).map(|at| &self.list[at])
    }

    /// Raises the final state ([`Part::end`]) of a source if a target needs the source in a higher state.
    ///
    /// For example, the goal of the plan is Inactive. A relationship must be created before its target becomes
    /// Inactive, and can be created only if its source is Active. So the plan makes the source Active, although the
    /// goal is lower.
    ///
    /// The function raises the source to the rank that the relationship requires of the source ([`rank::least`]). The
    /// source may itself be the target of further relationships, which then require more of their own sources. So the
    /// function examines these relationships again. A `depends-on` only orders the steps, so it raises no part.
    pub(crate) fn raise_ends(&mut self, desired: Option<&Topology>, rules: &ChangeRules<'_>) {
        let Some(topology) = desired.filter(|_| (rank::CREATED..rank::ACTIVE).contains(&rules.goal())) else {
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
            if !reached || relationship.target_modifier == Modifier::Post || relationship.is_dependency() {
                continue;
            }
            let least = rank::least(relationship.source_state, relationship.source_modifier);
            for leaf in relationship.sources.iter().flat_map(|end| topology.leaves(&end.element)) {
                let Some(part) = self.place(&leaf.name).map(|at| &mut self.list[at]) else { continue };
                if part.end < least {
                    part.end = least;
                    rules.decide(part);
                    open.extend(by_target.get(&part.name).into_iter().flatten());
                }
            }
        }
    }

    /// Returns the highest [rank] that a node of the element `endpoint` has after the plan.
    fn end_of(&self, topology: &Topology, endpoint: &ElementName) -> u8 {
        let nodes = topology.nodes(endpoint);
        nodes.into_iter().map(|node| self.node(topology, node).0.end).max().unwrap_or(rank::ABSENT)
    }

    /// Returns the state changes that the plan makes in an element that is a source or target of a relationship.
    ///
    /// The changes of an assembly or a group are the combined changes of all its resources. If the element is a
    /// resource, the function also returns the position of this resource in [`list`](Self::list).
    pub(crate) fn node(&self, topology: &Topology, node: &Element) -> (NodePath, Option<usize>) {
        let of = |place: Option<usize>| place.map_or(NodePath::default(), |at| NodePath::of(&self.list[at]));
        match node.kind {
            ElementKind::Reference => (NodePath::FIXED, None),
            ElementKind::Resource => {
                let place = self.place(&node.name);
                (of(place), place)
            }
            ElementKind::Assembly | ElementKind::Group => {
                let leaves = topology.leaves(&node.name);
                let paths = leaves.iter().map(|leaf| of(self.place(&leaf.name)));
                (paths.reduce(NodePath::both).unwrap_or(NodePath::FIXED), None)
            }
        }
    }
}
