//! The nodes between which the plan can create the pairs of a relationship.

use std::cell::OnceCell;
use std::collections::HashSet;

use windlass_model::template::End;
use windlass_model::{ElementName, Modifier, Relationship};
use windlass_plan::Why;

use super::diff::Skipped;
use super::order::rolls_at_an_end;
use super::relation::{Node, Relation, RelationshipPlanner, is_outdated, listed};
use crate::changes::Reach;
use crate::rank;
use crate::situation::{Current, OutdatedTargets, Reads};

/// A relationship that the plan creates, with the nodes between which the plan can create pairs.
///
/// The lists of nodes omit each node that ends below the state that the relationship requires.
pub(super) struct Making<'a> {
    pub(super) new: &'a Relationship,
    pub(super) sources: Vec<Node<'a>>,
    pub(super) targets: Vec<Node<'a>>,
    /// Whether `sources` contains all sources of the relationship.
    ///
    /// If so, a step for all sources can name a whole group instead of each node in the group.
    pub(super) all_sources: bool,
    /// Whether all sources can keep their existing pairs.
    ///
    /// The flag is `false`, for example, if the plan adds, removes or re-installs a source. A pair is one source and
    /// one target of the relationship.
    pub(super) sources_settled: bool,
    /// The outdated pairs of the relationship; see [`Current::outdated_of`].
    pub(super) outdated: Option<&'a OutdatedTargets>,
    /// Whether the creation of the relationship takes over the waits of parts that have no step.
    ///
    /// For example, a source depends on another part, but has no step that could wait for that part. Then the
    /// creation of the relationship waits for that part instead. See
    /// [`Constraints::passed`](crate::constraints::Constraints::passed).
    pub(super) passes_on: bool,
    /// The reason why the creation waits for the removal of the old relationship. It is set on first use.
    pub(super) ceased_first: OnceCell<Why>,
    /// The result of [`lacks_outputs`]. It is set on first use.
    lacks_outputs: OnceCell<bool>,
}

impl Making<'_> {
    /// Returns the names of the sources at the positions `which`.
    ///
    /// If `which` contains all sources of the relationship, the result names each group instead of its nodes. For
    /// example, the result contains `shop__web` instead of `shop__web__1` and `shop__web__2`.
    pub(super) fn listed(&self, which: &[usize]) -> Vec<ElementName> {
        if self.all_sources {
            listed(&self.new.sources, &self.sources, which)
        } else {
            which.iter().map(|at| self.sources[*at].element.name.clone()).collect()
        }
    }
}

/// Returns the nodes between which the plan can create pairs of a relationship; see [`Making`].
pub(super) fn making<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
    new: &'a Relationship,
) -> Making<'a> {
    let ready = |ends, least: u8| -> Vec<Node<'a>> {
        let nodes = planner.nodes(planner.constraints.desired(), ends);
        nodes.into_iter().filter(|node| node.path.end >= least).collect()
    };
    let mut sources = ready(&new.sources, rank::of(new.source_state));
    let mut targets = ready(&new.targets, rank::of(new.target_state));
    let all_stay = mark_staying(planner, relation, End::Source, &mut sources);
    mark_staying(planner, relation, End::Target, &mut targets);
    Making {
        new,
        all_sources: sources.len() == planner.nodes(planner.constraints.desired(), &new.sources).len(),
        sources_settled: all_stay && sources.iter().all(|source| source.stays),
        sources,
        targets,
        outdated: planner.constraints.situation.current.outdated_of(new),
        passes_on: planner.constraints.passes_on() && !rolls_at_an_end(planner.constraints, new),
        ceased_first: OnceCell::new(),
        lacks_outputs: OnceCell::new(),
    }
}

/// Returns the positions of the sources for which the plan must create the relationship with a target.
///
/// The plan need not create a relationship that exists and stays unchanged.
pub(super) fn open_sources<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    target: &Node<'a>,
) -> Vec<usize> {
    let Making { new, sources, .. } = making;
    let made =
        planner.constraints.situation.current.made_at(new, &target.element.name).filter(|_| target.stays);
    let Some(made) = made else { return (0..sources.len()).collect() };
    // If all possible pairs exist and none is ceased, no pair needs to be examined.
    let outdated = making.outdated.and_then(|outdated| outdated.get(&target.element.name));
    if making.sources_settled && made.len() == sources.len() && outdated.is_none() {
        return Vec::new();
    }
    let is_open = |source: &Node<'_>| {
        let name = &source.element.name;
        !source.stays || !made.contains(name) || is_outdated(outdated, name)
    };
    (0..sources.len()).filter(|at| is_open(&sources[*at])).collect()
}

/// Tells whether the plan may create the relationship between a source and a target.
///
/// If the plan may not create it, the function adds the source and the target to `skipped`.
pub(super) fn may_make<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    making: &Making<'a>,
    at: usize,
    target: &Node<'a>,
    skipped: &mut Skipped<'a>,
) -> bool {
    if planner.scope.is_none() {
        return true;
    }
    let source = &making.sources[at];
    let name = &source.element.name;
    let current: &Current = planner.constraints.situation.current;
    let is_made =
        || current.made_at(making.new, &target.element.name).is_some_and(|made| made.contains(name));
    let is_half_made = || {
        let half = current.half_made_at(making.new, &target.element.name);
        half.is_some_and(|half| half.contains_key(name))
    };
    let drops = source.drops || target.drops;
    let may = match planner.reach(planner.constraints.desired(), source, target) {
        Reach::All => is_made() || is_half_made() || !lacks_outputs(planner, making),
        Reach::Missing if is_made() => drops,
        Reach::Missing => !lacks_outputs(planner, making),
        Reach::Restored => drops && (is_made() || is_half_made()),
    };
    if !may {
        skipped.made.push((&source.element.name, &target.element.name));
    }
    may
}

/// Tells whether the relationship reads an output that is missing because the plan is limited to some parts.
///
/// An output is missing if two conditions hold: its value is not known yet, and the plan may not change the part
/// that publishes the output.
fn lacks_outputs(planner: &RelationshipPlanner<'_, '_>, making: &Making<'_>) -> bool {
    let is_missing = || {
        let (scope, desired) = (planner.scope?, planner.constraints.situation.desired?);
        let mut reads = Reads::few(desired.topology, desired.lookup);
        let unknown = reads.relationship(making.new, &|_| false).ok()?;
        Some(unknown.iter().any(|read| !scope.is_acting(read.producer)))
    };
    *making.lacks_outputs.get_or_init(|| is_missing().unwrap_or_default())
}

/// Returns the effective modifiers of a relationship's source and target.
///
/// The modifier `pre` demands that the relationship is created before a source or target reaches the declared state.
/// The modifier `post` demands the opposite order. A plan that adopts parts uses `post` for all relationships, because
/// an adopted part becomes Active in its first step.
pub(super) fn modifiers(planner: &RelationshipPlanner<'_, '_>, new: &Relationship) -> (Modifier, Modifier) {
    if planner.options.adopt {
        (Modifier::Post, Modifier::Post)
    } else {
        (new.source_modifier, new.target_modifier)
    }
}

/// Sets the flags [`Node::stays`] and [`Node::drops`] in `nodes`. `nodes` contains the source nodes or the target
/// nodes of the desired relationship; `end` tells which of them.
///
/// If a node is also a source (or target) of the installed relationship, the function computes both flags from the
/// installed relationship. For all other nodes, both flags are `false`.
///
/// Returns `true` if the existing pairs of all sources (or targets) of the installed relationship can stay.
fn mark_staying<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
    end: End,
    nodes: &mut [Node<'a>],
) -> bool {
    let old = planner.old_nodes(relation, end);
    let staying: HashSet<&ElementName> =
        old.iter().filter(|node| node.stays && !node.path.absent).map(|node| &node.element.name).collect();
    let dropping: HashSet<&ElementName> =
        old.iter().filter(|node| node.drops).map(|node| &node.element.name).collect();
    for node in nodes {
        node.stays = staying.contains(&node.element.name);
        node.drops = dropping.contains(&node.element.name);
    }
    staying.len() == old.len()
}
