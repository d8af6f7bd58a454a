//! Rolling changes: the batches in which the nodes of a group change.
//!
//! A *batch* has as many nodes as may be down at once, and each batch has a *turn*. Turn 0 is that of all
//! parts that don't roll, and of the nodes that are down already: they precede the batches of their group.
//! The turns of all groups form one order, so a pair with two rolling ends is re-created in either turn.
//!
//! A part that reads an output of a re-created part goes down with it. So a group whose nodes must follow
//! other parts does not roll, and the pairs of a part that must follow a rolling node last for no batch: the
//! part is *tied* to all turns.

use std::collections::{HashMap, HashSet};

use windlass_model::assembly::{ElementKind, MaxUnavailable, Pause};
use windlass_model::{Element, ElementName, Relationship, State, Topology};

use super::part::{ChangeKind, Part};
use super::parts::Parts;
use super::rolls::Rolls;
use crate::rank;
use crate::situation::{Options, Situation};

/// The groups that change in batches.
#[derive(Debug, Default)]
pub(crate) struct Rolling {
    pub(crate) groups: Vec<RollingGroup>,
}

/// A group that changes in batches.
#[derive(Debug)]
pub(crate) struct RollingGroup {
    pub(crate) name: ElementName,
    /// The turn of its first batch.
    pub(crate) first_turn: u32,
    /// The time between two batches.
    pub(crate) pause: Option<Pause>,
    /// The places of the parts in its other nodes, which are down already or need no change.
    pub(crate) others: Vec<usize>,
    /// The nodes of each batch.
    pub(crate) batches: Vec<Vec<RollingNode>>,
}

/// A node of a group that changes in batches.
#[derive(Debug)]
pub(crate) struct RollingNode {
    pub(crate) name: ElementName,
    /// The places of its parts.
    parts: Vec<usize>,
}

impl RollingGroup {
    /// Returns the places of the parts in a batch.
    pub(crate) fn parts(batch: &[RollingNode]) -> impl Iterator<Item = usize> {
        batch.iter().flat_map(|node| node.parts.iter().copied())
    }
}

impl Rolling {
    /// Chooses the groups that change in batches, and gives each of their parts its turn.
    pub(crate) fn of(parts: &mut Parts<'_>, situation: &Situation<'_>, options: &Options) -> Self {
        let mut rolling = Self::default();
        let Some(desired) = situation.desired.map(|version| version.topology) else { return rolling };
        if options.max_unavailable == Some(MaxUnavailable::All) || !parts.list.iter().any(moves) {
            return rolling;
        }
        let limits = Limits::new(desired, options);
        let mut covered: HashSet<&ElementName> = HashSet::new();
        for group in desired.elements().iter().filter(|element| element.kind == ElementKind::Group) {
            if ancestors(desired, group).any(|above| covered.contains(&above.name)) {
                continue;
            }
            let Some(limit) = limits.of(group) else { continue };
            if let Some(group) = roll(parts, desired, group, limit) {
                covered.extend(desired.get(&group.name).map(|element| &element.name));
                rolling.groups.push(group);
            }
        }
        rolling.give_turns(parts);
        tie_readers(parts);
        rolling
    }

    /// Numbers the batches of all groups, and notes in each part its turn and its group.
    ///
    /// The producers of outputs precede their readers.
    fn give_turns(&mut self, parts: &mut Parts<'_>) {
        let reads = |group: &RollingGroup| {
            let mut parts_of = group.batches.iter().flat_map(|batch| RollingGroup::parts(batch));
            parts_of.any(|at| parts.list[at].awaited_producers().next().is_some())
        };
        self.groups.sort_by_cached_key(reads);
        let mut turn = 1;
        for (number, group) in (1..).zip(&mut self.groups) {
            group.first_turn = turn;
            for at in &group.others {
                parts.list[*at].rolls.group = number;
            }
            for batch in &group.batches {
                for at in RollingGroup::parts(batch) {
                    parts.list[at].rolls = Rolls { turn, group: number, tied: false };
                }
                turn += 1;
            }
        }
    }
}

/// Tells whether a part changes although it works.
fn moves(part: &Part<'_>) -> bool {
    let changes = matches!(part.change_kind, ChangeKind::Reinstall | ChangeKind::Reconfigure);
    changes && is_up(part) && part.end == rank::ACTIVE && !part.untouched
}

fn is_up(part: &Part<'_>) -> bool {
    part.now.state == State::Active && part.change_kind != ChangeKind::Heal
}

/// Returns the batches of a group; `None` if it does not roll, because one batch has all its changes or its
/// nodes must follow other parts.
fn roll(
    parts: &Parts<'_>,
    desired: &Topology,
    group: &Element,
    limit: MaxUnavailable,
) -> Option<RollingGroup> {
    let mut nodes = Vec::new();
    let mut others = Vec::new();
    let mut count = 0;
    for node in desired.children(&group.name) {
        let leaves = desired.leaves(&node.name);
        let places: Vec<usize> = leaves.iter().filter_map(|leaf| parts.place(&leaf.name)).collect();
        let of_node = || places.iter().map(|at| &parts.list[*at]);
        let mut existing = of_node().filter(|part| part.before.is_some()).peekable();
        if existing.peek().is_none() {
            continue;
        }
        count += 1;
        if existing.any(|part| !is_up(part)) || !of_node().any(moves) {
            others.extend(places);
        } else {
            if of_node().any(|part| follows_others(parts, part, desired, &node.name)) {
                return None;
            }
            nodes.push(RollingNode { name: node.name.clone(), parts: places });
        }
    }
    let size = limit.of(count);
    // Even a single batch waits for the other nodes: pairs of them may be missing.
    if nodes.is_empty() || others.is_empty() && nodes.len() <= size {
        return None;
    }
    let mut batches = Vec::with_capacity(nodes.len().div_ceil(size));
    let mut nodes = nodes.into_iter().peekable();
    while nodes.peek().is_some() {
        batches.push(nodes.by_ref().take(size).collect());
    }
    let pause = group.update.and_then(|update| update.pause);
    Some(RollingGroup { name: group.name.clone(), first_turn: 0, pause, others, batches })
}

/// Tells whether a part goes down with a part of another node, because it reads an output of it. A producer of
/// which nothing exists is not removed, so its readers stay up until it has published again.
fn follows_others(parts: &Parts<'_>, part: &Part<'_>, desired: &Topology, node: &ElementName) -> bool {
    let is_other = |producer: &ElementName| {
        if parts.get(producer).is_some_and(|producer| !producer.is_there()) {
            return false;
        }
        let producer = desired.get(producer);
        producer.is_none_or(|producer| ancestors(desired, producer).all(|above| above.name != *node))
    };
    part.change_kind == ChangeKind::Reinstall && part.awaited_producers().any(is_other)
}

/// Marks the parts that go down with rolling nodes, directly or through other parts.
fn tie_readers(parts: &mut Parts<'_>) {
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut open = Vec::new();
    for (reader, part) in parts.list.iter().enumerate() {
        if part.rolls.turn > 0 || !part.publishes_anew() {
            continue;
        }
        for producer in part.awaited_producers().filter_map(|producer| parts.place(producer)) {
            readers.entry(producer).or_default().push(reader);
            if parts.list[producer].rolls.turn > 0 {
                open.push(producer);
            }
        }
    }
    while let Some(producer) = open.pop() {
        for reader in readers.remove(&producer).unwrap_or_default() {
            parts.list[reader].rolls.tied = true;
            open.push(reader);
        }
    }
}

/// The number of nodes that each group may have down.
struct Limits<'a> {
    given: Option<MaxUnavailable>,
    /// The groups that have a relationship with an element outside.
    related: HashSet<&'a ElementName>,
}

impl<'a> Limits<'a> {
    fn new(topology: &'a Topology, options: &Options) -> Self {
        let given = options.max_unavailable;
        let mut related = HashSet::new();
        if given.is_none() {
            for relationship in topology.relationships() {
                add_related(topology, relationship, &mut related);
            }
        }
        Self { given, related }
    }

    fn of(&self, group: &Element) -> Option<MaxUnavailable> {
        let declared = || group.update.and_then(|update| update.max_unavailable);
        let default = || self.related.contains(&group.name).then_some(MaxUnavailable::ONE);
        self.given.or_else(declared).or_else(default)
    }
}

/// Adds the groups around the ends of a relationship that do not contain all its ends.
fn add_related<'a>(
    topology: &'a Topology,
    relationship: &Relationship,
    related: &mut HashSet<&'a ElementName>,
) {
    let ends = || relationship.sources.iter().chain(&relationship.targets);
    let mut inside: HashMap<&ElementName, usize> = HashMap::new();
    for element in ends().filter_map(|end| topology.get(&end.element)) {
        for group in ancestors(topology, element).filter(|above| above.kind == ElementKind::Group) {
            *inside.entry(&group.name).or_default() += 1;
        }
    }
    let count = ends().count();
    related.extend(inside.into_iter().filter(|(_, found)| *found < count).map(|(group, _)| group));
}

/// Returns an element and the elements around it.
fn ancestors<'a>(topology: &'a Topology, element: &'a Element) -> impl Iterator<Item = &'a Element> {
    std::iter::successors(Some(element), |element| topology.get(element.parent.as_ref()?))
}
