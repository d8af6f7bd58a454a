//! Rolling changes: the batches in which the nodes of a group change.
//!
//! A *batch* consists of nodes of one group that change together. A limit says how many nodes of the group may be
//! down at once. So a batch changes at most this number of Active nodes. The batches of all groups are numbered in
//! one sequence, from 1. The number of a batch is its *turn*. A part has the turn of the batch in which it changes.
//! If a part changes outside of batches, its turn is 0.
//!
//! Some nodes of a group may be down before the plan begins. The repair of these nodes waits for no batch, so their
//! parts have turn 0. Until the repair, these nodes count towards the limit: the first batch changes fewer other nodes,
//! and the second batch waits for the repair.
//!
//! A *pair* is one source and one target of a relationship. If the two nodes of a pair go down in different turns,
//! the plan re-creates the pair twice: once in each of the two turns.
//!
//! A batch may also replace removed nodes with new nodes. In the turn of this batch, the plan removes the pairs of
//! the removed nodes, and creates the pairs of the new nodes.
//!
//! If the plan re-installs a part, the part publishes new outputs. A *reader* is another part that reads one of
//! these outputs. A reader that can't be reconfigured must go down together with the re-installed part. Two rules
//! follow for such readers:
//!
//! - If the reader is inside a node of a group, and the re-installed part is outside, the group does not change in
//!   batches.
//! - If the re-installed part changes in a batch, and the reader does not, the reader is *tied*. The plan removes
//!   the pairs of a tied part before the first batch, and creates these pairs after the last batch. A reader of a
//!   tied part is tied, too.
//!
//! If a pair is re-created twice, the waits of the plan may form a cycle. For example, node `a` of a pair changes
//! in batch 1, and node `b` in batch 2. In batch 1, the plan creates the pair again after the start of `a`. In
//! batch 2, the plan then re-creates the pair for the second time, so batch 2 must wait for the start of `a`. But
//! another relationship may require that the start of `a` waits for batch 2.
//!
//! If the waits form such a cycle, the planner *suspends* the relationship of the pair: the plan no longer
//! re-creates the pair twice. It removes the pair before the first batch, and creates the pair again after both
//! nodes have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use smallvec::SmallVec;
use windlass_model::assembly::{ElementKind, Endpoint, MaxSurge, MaxUnavailable, Pause};
use windlass_model::links::Links;
use windlass_model::name::RelationshipName;
use windlass_model::{Element, ElementName, Relationship, State, Topology};

use super::part::{ChangeKind, Part};
use super::parts::Parts;
use super::rolls::Rolls;
use crate::differences::Together;
use crate::rank;
use crate::situation::{Options, Situation};

/// The rolling changes of a plan: the groups that change in batches, and the relationships that the batches affect.
///
/// The field `together` contains the groups for which the plan can't use batches.
#[derive(Debug, Default)]
pub(crate) struct Rolling {
    pub(crate) groups: Vec<RollingGroup>,
    /// The groups that can't change in batches, because their nodes must go down together with other parts.
    pub(crate) together: Vec<Together>,
    /// For each group, how many additional nodes the group should have during its change. The map is empty if
    /// [`Options::surge`] already lists additional nodes, or if the plan is limited to some parts.
    pub(crate) surge: BTreeMap<ElementName, u32>,
    /// The relationships that are suspended during all batches.
    pub(crate) suspended: Suspended,
    /// The relationships that have at least one pair whose source and target change in different batches.
    ///
    /// The plan re-creates such a pair twice: in the batch of the source, and in the batch of the target.
    pub(crate) twice: Suspended,
}

/// A set of relationships.
///
/// Each entry contains the assembly that declares the relationship, and the name of the relationship.
pub(crate) type Suspended = BTreeSet<(ElementName, RelationshipName)>;

/// A group that changes in batches.
#[derive(Debug)]
pub(crate) struct RollingGroup {
    pub(crate) name: ElementName,
    /// The turn of the first batch of this group. The batches of all groups are numbered in one sequence, so only the
    /// first group begins with turn 1.
    pub(crate) first_turn: u32,
    /// The time between two batches.
    pub(crate) pause: Option<Pause>,
    /// Whether the plan pauses before the first batch.
    ///
    /// This is the case if the previous change of the group was interrupted during a pause.
    pub(crate) paused: bool,
    /// The parts of unchanged nodes, as positions in [`Parts::list`].
    ///
    /// Relationships of these nodes may still have to be created.
    pub(crate) others: Vec<usize>,
    /// The new *additional* nodes: the group has these nodes only during the rolling change. The first batch waits for
    /// them.
    pub(crate) surge: Vec<RollingNode>,
    /// The nodes of each batch.
    pub(crate) batches: Links<RollingNode>,
}

/// A node of a [`RollingGroup`]: either a node in a batch, or a new additional node. The first batch waits until
/// the additional nodes exist.
#[derive(Debug)]
pub(crate) struct RollingNode {
    pub(crate) name: ElementName,
    pub(crate) role: Role,
    /// The parts of the node, as positions in [`Parts::list`]. Most nodes have one part.
    parts: SmallVec<[usize; 2]>,
}

/// The role of a node in its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The node is Active and changes.
    Works,
    /// The node is new, and the group has this node only during the rolling change (an *additional* node).
    Surges,
    /// The node is down before the plan, and the plan repairs it.
    ///
    /// All nodes with this role are in the first batch.
    Down,
    /// The node is removed, or the node is new and replaces a removed node.
    ///
    /// Only the relationships of the node are removed or created in its batch. The node itself is removed or created
    /// outside of the batches.
    Swaps,
}

impl RollingGroup {
    /// Returns all parts of the nodes in a batch, as positions in [`Parts::list`].
    pub(crate) fn parts(batch: &[RollingNode]) -> impl Iterator<Item = usize> {
        batch.iter().flat_map(|node| node.parts.iter().copied())
    }

    /// Returns the parts in `batch` that change only after the previous batch, as positions in [`Parts::list`].
    ///
    /// The result omits the parts of nodes that are down when the plan begins. The plan repairs these nodes at once.
    pub(crate) fn waiting_parts(batch: &[RollingNode]) -> impl Iterator<Item = usize> {
        let waiting = batch.iter().filter(|node| node.role != Role::Down);
        waiting.flat_map(|node| node.parts.iter().copied())
    }
}

impl Rolling {
    /// Chooses the groups that change in batches, and divides their nodes into batches.
    ///
    /// Each group gets a number, and each batch gets a number (its *turn*). The function records both numbers in the
    /// parts of the nodes; see [`Rolls`].
    ///
    /// `suspended` contains the suspended relationships; see [`suspend`](Self::suspend). The planner suspends these
    /// relationships because an earlier attempt to plan has led to a cycle of waits.
    pub(crate) fn of(
        parts: &mut Parts<'_>,
        situation: &Situation<'_>,
        options: &Options,
        suspended: Suspended,
    ) -> Self {
        let mut rolling = Self { suspended, ..Self::default() };
        let Some(desired) = situation.desired.map(|version| version.topology) else { return rolling };
        let changes = |part: &Part<'_>| moves(part) || is_removed(part);
        if options.max_unavailable == Some(MaxUnavailable::All) || !parts.list.iter().any(changes) {
            return rolling;
        }
        let limits = Limits::new(desired, options);
        let is_smaller = parts.list.iter().any(is_removed);
        let related = if is_smaller { situation.current.related() } else { HashSet::new() };
        let groups = Groups { parts, situation, desired, related, surge: &options.surge };
        let mut covered: HashSet<&ElementName> = HashSet::new();
        for group in desired.elements().iter().filter(|element| element.kind == ElementKind::Group) {
            if ancestors(desired, group).any(|above| covered.contains(&above.name)) {
                continue;
            }
            let limit = limits.of(group);
            let open = options.open_surge.get(&group.name).copied();
            if limit.or(open.map(|_| MaxUnavailable::ONE)).is_none() {
                continue;
            }
            let nodes = groups.nodes(group);
            if options.surge.is_empty() && !options.is_limited() {
                let open = open.filter(|_| !nodes.down.is_empty() || groups.lacks_pairs(group));
                let more = nodes.surge(limits.surge_of(group).filter(|_| may_surge(desired, group)), open);
                rolling.surge.extend((more > 0).then(|| (group.name.clone(), more)));
            }
            let Some(limit) = limit else { continue };
            match nodes.rolled(group, limit) {
                Rolled::InBatches(found) => {
                    covered.insert(&group.name);
                    let paused = options.paused.contains(&group.name);
                    rolling.groups.push(RollingGroup { paused, ..found });
                }
                Rolled::Together(found) => rolling.together.push(found),
                Rolled::AtOnce => {}
            }
        }
        rolling.give_turns(parts);
        tie_readers(parts);
        rolling
    }

    /// Tells whether a relationship is suspended during all batches; see [`suspend`](Self::suspend).
    pub(crate) fn suspends(&self, relationship: &Relationship) -> bool {
        // The creation of a key copies names. It is avoided here, because most plans suspend nothing.
        !self.suspended.is_empty() && self.suspended.contains(&key(relationship))
    }

    /// Suspends a relationship during all batches.
    ///
    /// The plan removes the existing pairs of the relationship before the first batch, and creates them again after the
    /// last batch.
    pub(crate) fn suspend(&mut self, relationship: &Relationship) {
        self.suspended.insert(key(relationship));
    }

    /// Adds a relationship to [`twice`](Self::twice). The caller has found that the plan re-creates a pair of this
    /// relationship in two batches.
    pub(crate) fn create_twice(&mut self, relationship: &Relationship) {
        self.twice.insert(key(relationship));
    }

    /// Numbers the batches of all groups. Records in each part the number of its batch (its *turn*), and the number
    /// of its group.
    ///
    /// Groups whose nodes read no new outputs come first. So these groups publish their new outputs before the nodes
    /// of the other groups read them.
    fn give_turns(&mut self, parts: &mut Parts<'_>) {
        let reads = |group: &RollingGroup| {
            let mut parts_of = group.batches.iter().flat_map(RollingGroup::parts);
            parts_of.any(|at| parts.list[at].awaited_producers().next().is_some())
        };
        self.groups.sort_by_cached_key(reads);
        let mut turn = 1;
        for (number, group) in (1..).zip(&mut self.groups) {
            group.first_turn = turn;
            let surge = group.surge.iter().flat_map(|node| &node.parts);
            for at in group.others.iter().chain(surge) {
                parts.list[*at].rolls.group = number;
            }
            for batch in group.batches.iter() {
                for node in batch {
                    let swaps = node.role == Role::Swaps;
                    // A repair waits for no batch, because other parts may read the outputs that the repaired
                    // node publishes.
                    let turn = if node.role == Role::Down { 0 } else { turn };
                    for at in &node.parts {
                        parts.list[*at].rolls = Rolls { turn, group: number, tied: false, swaps };
                    }
                }
                turn += 1;
            }
        }
    }
}

fn key(relationship: &Relationship) -> (ElementName, RelationshipName) {
    (relationship.assembly.clone(), relationship.name.clone())
}

/// Tells whether a part is Active now, is re-installed or reconfigured, and is Active again afterwards.
fn moves(part: &Part<'_>) -> bool {
    let changes = matches!(part.change_kind, ChangeKind::Reinstall | ChangeKind::Reconfigure);
    changes && is_up(part) && part.end == rank::ACTIVE && !part.untouched
}

fn is_up(part: &Part<'_>) -> bool {
    part.now.state == State::Active && part.change_kind != ChangeKind::Heal
}

/// Tells whether the plan removes a part. A part that is already Absent does not count.
fn is_removed(part: &Part<'_>) -> bool {
    part.change_kind == ChangeKind::Remove && part.now.state != State::Absent && !part.untouched
}

/// The data from which [`nodes`](Self::nodes()) decides the [`Role`] of each node in a group.
struct Groups<'p, 'a> {
    parts: &'p Parts<'a>,
    situation: &'p Situation<'a>,
    desired: &'a Topology,
    /// The sources and targets of all existing relationship pairs.
    ///
    /// The planner uses this set only if the plan removes a part. Otherwise, the set stays empty.
    related: HashSet<&'a ElementName>,
    /// The additional nodes of all groups.
    surge: &'p BTreeSet<ElementName>,
}

/// The nodes of one group, in one list for each way in which nodes change.
#[derive(Default)]
struct Nodes {
    /// Active nodes that change.
    works: Vec<RollingNode>,
    /// Nodes that are down before the plan, and that the plan repairs. A node is down if one of its existing parts is
    /// not Active or must be healed.
    down: Vec<RollingNode>,
    /// Removed nodes that still have pairs.
    removed: Vec<RollingNode>,
    /// New nodes that replace removed nodes.
    added: Vec<RollingNode>,
    /// New *additional* nodes: the group has these nodes only during the rolling change.
    surge: Vec<RollingNode>,
    /// Whether the group has additional nodes. They are in `surge`, or an earlier plan has created them.
    surges: bool,
    /// The parts of all unchanged nodes, as positions in [`Parts::list`].
    others: Vec<usize>,
    /// The size of the group: the number of kept nodes plus the number of new nodes that replace removed nodes.
    ///
    /// Additional nodes don't count. A limit in percent refers to this number.
    count: usize,
    /// Re-created parts that publish new outputs for re-installed parts of the nodes in `works`. The set omits a part
    /// whose outputs are read only inside the part's own node.
    ///
    /// A re-installed part must go down together with the parts whose new outputs it reads. So if this set is not
    /// empty, the nodes in `works` cannot change in batches. They go down together with the parts of this set.
    follows: BTreeSet<ElementName>,
}

/// The way in which a group changes.
enum Rolled {
    InBatches(RollingGroup),
    /// The changing nodes of the group go down together. They cannot change in batches, because they read outputs of
    /// re-created parts.
    Together(Together),
    /// The nodes of the group change as in a plan without batches, for example because one batch would contain all of
    /// them.
    AtOnce,
}

impl Groups<'_, '_> {
    /// Decides for each node of a group how the node changes (its [`Role`]).
    fn nodes(&self, group: &Element) -> Nodes {
        let Self { parts, desired, .. } = *self;
        let mut nodes = Nodes { removed: self.removed(group), ..Nodes::default() };
        for at in desired.child_positions(&group.name) {
            let node = &desired.elements()[at];
            let places: SmallVec<[usize; 2]> = match node.kind {
                ElementKind::Resource => parts.place_at(at).into_iter().collect(),
                _ => desired.leaves(&node.name).iter().filter_map(|leaf| parts.place(&leaf.name)).collect(),
            };
            let of_node = || places.iter().map(|at| &parts.list[*at]);
            let is_surplus = self.surge.contains(&node.name);
            nodes.surges |= is_surplus;
            if is_surplus && of_node().all(|part| part.before.is_none()) {
                nodes.surge.push(RollingNode { name: node.name.clone(), role: Role::Surges, parts: places });
                continue;
            }
            let replaces = !nodes.removed.is_empty() && !self.related.contains(&node.name);
            if of_node().all(|part| part.before.is_none()) && !replaces {
                continue;
            }
            nodes.count += usize::from(!is_surplus);
            let is_down = || of_node().any(|part| part.before.is_some() && !is_up(part) && !part.untouched);
            let role = if replaces && !of_node().any(moves) {
                Role::Swaps
            } else if is_down() {
                Role::Down
            } else if of_node().any(moves) {
                Role::Works
            } else {
                nodes.others.extend(places);
                continue;
            };
            if role == Role::Works {
                let follows = of_node().flat_map(|part| followed(parts, part, desired, &node.name));
                nodes.follows.extend(follows.cloned());
            }
            let list = match role {
                Role::Works => &mut nodes.works,
                Role::Down => &mut nodes.down,
                Role::Swaps => &mut nodes.added,
                Role::Surges => &mut nodes.surge,
            };
            list.push(RollingNode { name: node.name.clone(), role, parts: places });
        }
        nodes
    }

    /// Tells whether a group lacks a pair that the desired relationships require.
    ///
    /// The function considers only pairs of a node of the group and an element outside of the group.
    fn lacks_pairs(&self, group: &Element) -> bool {
        let is_node = |node: &Element| node.parent.as_ref() == Some(&group.name);
        let relationships = self.desired.relationships().iter().filter(|tie| !tie.is_order_only());
        relationships.into_iter().any(|tie| {
            let nodes = |ends: &[Endpoint]| -> Vec<&Element> {
                ends.iter().flat_map(|end| self.desired.nodes(&end.element)).collect()
            };
            let (sources, targets) = (nodes(&tie.sources), nodes(&tie.targets));
            targets.into_iter().any(|target| {
                let made = self.situation.current.made_at(tie, &target.name);
                let mut outside = sources.iter().filter(|source| is_node(source) != is_node(target));
                outside.any(|source| made.is_none_or(|made| !made.contains(&source.name)))
            })
        })
    }

    /// Returns the nodes that the plan removes from a group. Omits nodes that have no pairs.
    fn removed(&self, group: &Element) -> Vec<RollingNode> {
        let Some(installed) = self.situation.installed.map(|version| version.topology) else {
            return Vec::new();
        };
        let nodes = installed.children(&group.name).filter(|node| self.related.contains(&node.name));
        let nodes = nodes.map(|node| {
            let leaves = installed.leaves(&node.name);
            let parts = leaves.iter().filter_map(|leaf| self.parts.place(&leaf.name)).collect();
            RollingNode { name: node.name.clone(), role: Role::Swaps, parts }
        });
        nodes.filter(|node| node.parts.iter().all(|at| is_removed(&self.parts.list[*at]))).collect()
    }
}

impl Nodes {
    /// Returns the number of additional nodes that the group should have.
    ///
    /// `more` is the setting for this number, from the options or from the descriptor of the group. `open` is the
    /// number of existing additional nodes that the group still needs. If the plan changes Active nodes, and `more`
    /// yields at least one node, `more` alone determines the result, even if `open` is higher. Otherwise, the result is
    /// `open`, or 0 if `open` is `None`.
    fn surge(&self, more: Option<MaxSurge>, open: Option<u32>) -> u32 {
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        let wanted = more.filter(|_| !self.works.is_empty()).map_or(0, |more| more.of(count));
        if wanted > 0 { wanted } else { open.unwrap_or(0) }
    }

    /// Divides the nodes of the group `group` into batches. `limit` tells how many nodes may be down at once.
    ///
    /// The result is one of these:
    ///
    /// - [`Rolled::Together`]: The changing nodes must go down together with other parts, and do not fit into one
    ///   batch.
    /// - [`Rolled::AtOnce`]: The group needs no batches, for example because all its nodes fit into one batch.
    /// - [`Rolled::InBatches`]: All other cases.
    fn rolled(mut self, group: &Element, limit: MaxUnavailable) -> Rolled {
        let size = limit.of(self.count);
        let swaps = if self.added.is_empty() || self.removed.len() <= size {
            self.others.extend(self.added.drain(..).flat_map(|node| node.parts));
            Links::default()
        } else {
            swaps(self.removed, self.added, size)
        };
        if self.works.len() + self.down.len() > size && !self.works.is_empty() && !self.follows.is_empty() {
            let nodes = self.works.iter().map(|node| node.name.clone()).collect();
            let producers = self.follows.into_iter().collect();
            return Rolled::Together(Together { group: group.name.clone(), nodes, producers });
        }
        // If all changing nodes fit into one batch, a group without other nodes needs no batch. A group with
        // unchanged or additional nodes still gets a batch, which waits until the missing pairs of these
        // nodes are created.
        let fits = self.others.is_empty() && !self.surges && self.works.len() + self.down.len() <= size;
        if !self.follows.is_empty() || swaps.nodes() == 0 && (self.works.is_empty() || fits) {
            return Rolled::AtOnce;
        }
        let mut batches = Links::default();
        let mut works = self.works.into_iter().peekable();
        if !self.down.is_empty() {
            let room = size.saturating_sub(self.down.len());
            batches.add(self.down.into_iter().chain(works.by_ref().take(room)));
        }
        while works.peek().is_some() {
            batches.add(works.by_ref().take(size));
        }
        batches.append(swaps);
        let pause = group.update.and_then(|update| update.pause);
        Rolled::InBatches(RollingGroup {
            name: group.name.clone(),
            first_turn: 0,
            pause,
            paused: false,
            others: self.others,
            surge: self.surge,
            batches,
        })
    }
}

/// Tells whether a group can have additional nodes.
///
/// If the nodes of a group have keys, a list in the descriptor declares the nodes. Such a group cannot have
/// additional nodes.
fn may_surge(desired: &Topology, group: &Element) -> bool {
    desired.children(&group.name).all(|node| node.key.is_none())
}

/// Divides removed nodes, and the new nodes that replace them, into batches.
///
/// A batch contains up to `size` removed nodes and up to `size` new nodes. If only removed nodes or only new nodes are
/// left, the last batch contains all of them, even if there are more than `size`.
fn swaps(removed: Vec<RollingNode>, added: Vec<RollingNode>, size: usize) -> Links<RollingNode> {
    let (mut removed, mut added) = (removed.into_iter().peekable(), added.into_iter().peekable());
    let mut batches = Links::default();
    while removed.peek().is_some() || added.peek().is_some() {
        let count = if removed.peek().is_some() && added.peek().is_some() { size } else { usize::MAX };
        batches.add(removed.by_ref().take(count).chain(added.by_ref().take(count)));
    }
    batches
}

/// Returns the re-created parts from which `part` reads new outputs.
///
/// If `part` is re-installed, it must go down together with these parts. If `part` is not re-installed, the result is
/// empty.
///
/// `part` belongs to the node `node`. The result contains only parts outside of this node. The result omits parts that
/// stay up, and parts without an instance, because a missing instance cannot go down.
fn followed<'p>(
    parts: &Parts<'_>,
    part: &'p Part<'_>,
    desired: &Topology,
    node: &ElementName,
) -> impl Iterator<Item = &'p ElementName> {
    let is_other = |producer: &&ElementName| {
        if parts.get(producer).is_some_and(|producer| !producer.is_there() || !producer.publishes_anew()) {
            return false;
        }
        let producer = desired.get(producer);
        producer.is_none_or(|producer| ancestors(desired, producer).all(|above| above.name != *node))
    };
    let is_reinstalled = part.change_kind == ChangeKind::Reinstall;
    part.awaited_producers().filter(move |_| is_reinstalled).filter(is_other)
}

/// Sets the flag `tied` of each part that must go down together with a node that changes in a batch.
///
/// Such a part reads an output of the node, or an output of another tied part.
fn tie_readers(parts: &mut Parts<'_>) {
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut open = Vec::new();
    for (reader, part) in parts.list.iter().enumerate() {
        if part.rolls.moves_in_turn() || !part.publishes_anew() {
            continue;
        }
        for producer in part.awaited_producers().filter_map(|producer| parts.place(producer)) {
            readers.entry(producer).or_default().push(reader);
            if parts.list[producer].rolls.moves_in_turn() {
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

/// The rules for groups: how many nodes of a group may be down at once, and how many additional nodes a group
/// gets.
struct Limits<'a> {
    given: Option<MaxUnavailable>,
    given_surge: Option<MaxSurge>,
    /// The groups that have a relationship with an element outside of the group.
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
        Self { given, given_surge: options.max_surge, related }
    }

    /// Returns how many nodes of a group may be down at once; `None` if the group does not change in batches.
    fn of(&self, group: &Element) -> Option<MaxUnavailable> {
        let declared = || group.update.and_then(|update| update.max_unavailable);
        let surges = || self.surge_of(group).is_some_and(|surge| surge.of(1) > 0);
        let is_one = || self.related.contains(&group.name) || surges();
        self.given.or_else(declared).or_else(|| is_one().then_some(MaxUnavailable::ONE))
    }

    /// Returns how many additional nodes a group gets during a change.
    ///
    /// A number in the options has priority over the number that the group declares. Returns `None` if neither the
    /// options nor the group contain a number.
    fn surge_of(&self, group: &Element) -> Option<MaxSurge> {
        self.given_surge.or_else(|| group.update.and_then(|update| update.max_surge))
    }
}

/// Adds to `related` each group that `relationship` connects with an element outside of the group.
///
/// The function adds a group if some sources or targets of the relationship are inside the group, and others are
/// outside.
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

/// Returns an element and all elements that contain it.
fn ancestors<'a>(topology: &'a Topology, element: &'a Element) -> impl Iterator<Item = &'a Element> {
    std::iter::successors(Some(element), |element| topology.get(element.parent.as_ref()?))
}
