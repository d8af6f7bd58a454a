//! A relationship in the installed and in the desired version, and the nodes that are its sources and targets.

use std::collections::{BTreeMap, HashSet};

use windlass_model::assembly::{ElementKind, Endpoint};
use windlass_model::template::End;
use windlass_model::{Element, ElementName, PropertyName, Relationship, Topology};

use crate::changes::{NodePath, Reach, Scope};
use crate::constraints::Constraints;
use crate::differences::end_properties;
use crate::rank;
use crate::situation::{Current, Options, OutdatedSources};

/// A relationship in the installed and in the desired version.
#[derive(Clone, Copy)]
pub(super) struct Relation<'a> {
    pub(super) old: Option<&'a Relationship>,
    pub(super) new: Option<&'a Relationship>,
    /// Whether the operations or values of the relationship have changed.
    pub(super) changed: bool,
}

/// A source or target of a relationship, together with the state changes that the plan makes in it; see
/// [`NodePath`].
pub(super) struct Node<'a> {
    pub(super) element: &'a Element,
    pub(super) path: NodePath,
    /// The position of the node's part in `Parts::list`; `None` if the node is not a resource.
    pub(super) place: Option<usize>,
    /// Whether the existing pairs of the node can stay. A pair is one source and one target of a relationship.
    pub(super) stays: bool,
    /// Whether the plan brings the node below the state that the relationship requires.
    ///
    /// If the flag is `true`, the plan must remove the pairs of the node. A pair is one source and one target of a
    /// relationship.
    pub(super) drops: bool,
    /// Whether the desired version of the relationship has pairs with this node.
    pub(super) wanted: bool,
}

/// Adds steps to the plan under construction (`constraints`). The added steps create and remove relationships.
pub(super) struct RelationshipPlanner<'p, 'a> {
    pub(super) constraints: &'p mut Constraints<'a>,
    pub(super) options: &'p Options,
    /// The parts that the plan may touch; `None` if the plan is not limited.
    pub(super) scope: Option<&'p Scope>,
    /// Whether the plan removes parts. If it does, new parts may replace the removed parts.
    pub(super) removes_parts: bool,
}

impl<'a> RelationshipPlanner<'_, 'a> {
    /// Returns the nodes of the sources or targets `ends`. A group yields all its nodes. Each other element counts as
    /// one node.
    ///
    /// In each node, the flag [`Node::wanted`] is `true`, and the flags [`Node::stays`] and [`Node::drops`] are
    /// `false`.
    pub(super) fn nodes(&self, topology: Option<&'a Topology>, ends: &'a [Endpoint]) -> Vec<Node<'a>> {
        let Some(topology) = topology else { return Vec::new() };
        let nodes = ends.iter().flat_map(|end| topology.nodes(&end.element));
        let node = |element| {
            let (path, place) = self.constraints.parts.node(topology, element);
            Node { element, path, place, stays: false, drops: false, wanted: true }
        };
        nodes.map(node).collect()
    }

    /// Returns the nodes of the installed relationship on one side: `end` selects its sources or its targets. Each
    /// node tells whether its pairs stay.
    pub(super) fn old_nodes(&self, relation: Relation<'a>, end: End) -> Vec<Node<'a>> {
        let Some(old) = relation.old else { return Vec::new() };
        let (ends, rank) = side(old, end);
        // If the desired version has no operations, it creates no pairs.
        let new = relation.new.filter(|new| !new.is_order_only());
        let wanted: HashSet<&ElementName> = new.map_or_else(HashSet::new, |new| {
            let (ends, least) = side(new, end);
            let nodes = self.nodes(self.constraints.desired(), ends).into_iter();
            nodes.filter(|node| node.path.end >= least).map(|node| &node.element.name).collect()
        });
        let read = end_properties(old, end);
        let node = |node: Node<'a>| {
            let Node { element, path, .. } = node;
            // `wanted` contains an assembly even if the desired version of the assembly has fewer parts than the
            // installed version. A removed part lowers the path of the assembly, but does not change `wanted`.
            let wanted = wanted.contains(&element.name);
            let stays = wanted
                && !relation.changed
                && path.falls_to >= rank
                && !self.changes_one_of(&element.name, &read)
                && !self.is_other_reference(element);
            Node { stays, drops: path.falls_to < rank, wanted, ..node }
        };
        self.nodes(self.constraints.installed(), ends).into_iter().map(node).collect()
    }

    /// Tells whether the value of one of these properties of a resource changes.
    pub(super) fn changes_one_of(&self, name: &ElementName, properties: &HashSet<&PropertyName>) -> bool {
        !properties.is_empty()
            && self
                .constraints
                .parts
                .get(name)
                .is_some_and(|part| part.changes.iter().any(|change| properties.contains(&change.property)))
    }

    /// Tells whether a reference of the installed version refers to another instance in the desired version.
    fn is_other_reference(&self, old: &Element) -> bool {
        old.kind == ElementKind::Reference
            && self.constraints.desired().and_then(|topology| topology.get(&old.name)).is_some_and(|new| {
                let values = |element: &Element| -> BTreeMap<PropertyName, _> {
                    element.properties.iter().map(|(n, p)| (n.clone(), p.value.clone())).collect()
                };
                new.descriptor != old.descriptor || values(new) != values(old)
            })
    }

    /// Returns the changes that the plan may make to the pair of `source` and `target`.
    pub(super) fn reach(&self, topology: Option<&Topology>, source: &Node<'_>, target: &Node<'_>) -> Reach {
        let scope = self.scope.zip(topology);
        scope.map_or(Reach::All, |(scope, topology)| scope.reach(topology, source.element, target.element))
    }

    /// Returns the outdated pairs of the target `target`, by source; see [`Current::outdated_of`].
    ///
    /// Returns `None` if the target has no outdated pair. Also returns `None` if the relationship is not desired,
    /// because all its pairs are removed anyway.
    pub(super) fn outdated_at(
        &self,
        relation: Relation<'a>,
        target: &ElementName,
    ) -> Option<&'a OutdatedSources> {
        let current: &'a Current = self.constraints.situation.current;
        current.outdated_of(relation.new?)?.get(target)
    }
}

/// Tells whether the pair of the source `name` and a certain target is outdated. `outdated` contains all outdated pairs
/// of this target, by source.
pub(super) fn is_outdated(outdated: Option<&OutdatedSources>, name: &ElementName) -> bool {
    outdated.is_some_and(|outdated| outdated.contains_key(name))
}

/// Returns the sources or the targets of a relationship, and the [rank] that they are required to
/// have.
fn side(relationship: &Relationship, end: End) -> (&[Endpoint], u8) {
    match end {
        End::Source => (&relationship.sources, rank::of(relationship.source_state)),
        End::Target => (&relationship.targets, rank::of(relationship.target_state)),
    }
}

/// Returns the names of the nodes at the positions `which`.
///
/// If `which` contains the positions of all nodes, returns the names of `ends` instead. These are fewer names, because
/// one name stands for all nodes of a group.
pub(super) fn listed(ends: &[Endpoint], nodes: &[Node<'_>], which: &[usize]) -> Vec<ElementName> {
    if which.len() == nodes.len() {
        ends.iter().map(|end| end.element.clone()).collect()
    } else {
        which.iter().map(|at| nodes[*at].element.name.clone()).collect()
    }
}
