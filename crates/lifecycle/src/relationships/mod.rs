//! The pairs of relationships: which of them are ceased or created, and when.
//!
//! The planner compares a relationship as it was created with the desired one. It also needs the nodes at the
//! ends and their paths. [`cease`] ceases the pairs that cannot stay, and [`create`] creates the missing
//! ones. [`order`] handles relationships without operations.

mod cease;
mod create;
mod order;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use windlass_model::assembly::Endpoint;
use windlass_model::name::RelationshipName;
use windlass_model::resolve::Resolver;
use windlass_model::template::End;
use windlass_model::work::Reason;
use windlass_model::{Element, ElementName, PropertyName, Relationship, Topology};
use windlass_plan::{Draft, Why};

use crate::LifecycleError;
use crate::changes::{Later, Part, Reach, Way};
use crate::differences::{Ends, RelationshipChange, RelationshipChangeKind, differ, end_properties};
use crate::planner::Planner;
use crate::rank;
use crate::situation::{Current, OutdatedSources, Reads, ValueChange, Version};

/// A relationship in the installed and in the desired version.
#[derive(Clone, Copy)]
struct Relation<'a> {
    old: Option<&'a Relationship>,
    new: Option<&'a Relationship>,
    /// Whether its operations or values have changed.
    changed: bool,
}

/// The steps that publish the outputs that a relationship's values read, with the reasons for waiting.
type Awaited = Vec<(Draft, Reason)>;

/// The steps that cease a relationship, by target.
type Ceased<'a> = BTreeMap<&'a ElementName, Vec<Draft>>;

/// A node at an end of a relationship, with its path.
struct Node<'a> {
    element: &'a Element,
    way: Way,
    /// Whether its existing pairs can stay.
    stays: bool,
    /// Whether its pairs cannot stay because it is lowered.
    drops: bool,
}

impl<'a> Planner<'a> {
    /// Adds the steps of all relationships, and the waits that they require.
    pub(crate) fn relationships(&mut self) -> Result<(), LifecycleError> {
        for (relation, awaited) in self.relations()? {
            self.note_change(relation);
            if !self.options.adopt {
                self.order(relation);
            }
            let mut skipped = Skipped::default();
            let ceased = self.cease(relation, &mut skipped);
            self.create(relation, awaited, &ceased, &mut skipped);
            self.undone.extend(skipped.change(relation));
        }
        Ok(())
    }

    /// Returns the relationships of both versions, each with the outputs that its values wait for.
    ///
    /// The relationships of the desired version come first.
    fn relations(&self) -> Result<Vec<(Relation<'a>, Awaited)>, LifecycleError> {
        let mut relations = match self.situation.desired {
            Some(desired) => self.desired_relations(desired)?,
            None => Vec::new(),
        };
        let known: HashSet<(&ElementName, &RelationshipName)> = relations
            .iter()
            .filter_map(|(relation, _)| relation.new)
            .map(|new| (&new.assembly, &new.name))
            .collect();
        let installed = self.installed().map(Topology::relationships).unwrap_or_default();
        for old in installed.iter().filter(|old| !known.contains(&(&old.assembly, &old.name))) {
            relations.push((Relation { old: Some(old), new: None, changed: false }, Vec::new()));
        }
        Ok(relations)
    }

    /// Returns each desired relationship with its installed version and the outputs that its values wait for.
    fn desired_relations(
        &self,
        desired: Version<'a>,
    ) -> Result<Vec<(Relation<'a>, Awaited)>, LifecycleError> {
        let later = Later { lookup: desired.lookup, parts: &self.parts };
        let mut reads = Reads::few(desired.topology, &later);
        // If no part publishes again, nothing waits for outputs.
        let quiet = !self.parts.list.iter().any(Part::publishes_anew);
        let installs = |name: &ElementName| quiet || self.parts.get(name).is_none_or(Part::publishes_anew);
        let mut values = self.situation.installed.map(|version| {
            (Resolver::new(version.topology, version.lookup), Resolver::new(desired.topology, &later))
        });
        let mut relations = Vec::with_capacity(desired.topology.relationships().len());
        for new in desired.topology.relationships() {
            let old = self.installed().and_then(|it| it.relationship(&new.assembly, new.name.as_str()));
            let changed = match (&mut values, old) {
                (Some((before, after)), Some(old)) => differ(old, new, before, after),
                _ => false,
            };
            let waits = reads.relationship(new, &installs)?.iter().filter_map(|read| {
                let published = self.parts.at(read.place)?.publishing()?;
                Some((published, read.by_relationship(new)))
            });
            relations.push((Relation { old, new: Some(new), changed }, waits.collect()));
        }
        Ok(relations)
    }

    /// Returns the nodes of some ends with their paths.
    fn nodes(&self, topology: Option<&'a Topology>, ends: &'a [Endpoint]) -> Vec<(&'a Element, Way)> {
        let Some(topology) = topology else { return Vec::new() };
        let nodes = ends.iter().flat_map(|end| topology.nodes(&end.element));
        nodes.map(|node| (node, self.parts.node(topology, node))).collect()
    }

    /// Returns the nodes at one end of the installed relationship, and whether the pairs of each stay.
    fn old_nodes(&self, relation: Relation<'a>, end: End) -> Vec<Node<'a>> {
        let Some(old) = relation.old else { return Vec::new() };
        let (ends, rank) = side(old, end);
        let wanted: Option<(u8, HashSet<&ElementName>)> = relation.new.map(|new| {
            let (ends, least) = side(new, end);
            (least, self.nodes(self.desired(), ends).into_iter().map(|(node, _)| &node.name).collect())
        });
        let read = end_properties(old, end);
        let node = |(element, way): (&'a Element, Way)| {
            let wanted = wanted
                .as_ref()
                .is_some_and(|(least, nodes)| way.end >= *least && nodes.contains(&element.name));
            let stays = wanted
                && !relation.changed
                && way.falls_to >= rank
                && !self.changes_one_of(&element.name, &read)
                && !self.is_other_reference(element);
            Node { element, way, stays, drops: way.falls_to < rank }
        };
        self.nodes(self.installed(), ends).into_iter().map(node).collect()
    }

    /// Tells whether a resource that stays gets another value of one of these properties.
    fn changes_one_of(&self, name: &ElementName, properties: &HashSet<&PropertyName>) -> bool {
        !properties.is_empty()
            && self
                .parts
                .get(name)
                .is_some_and(|part| part.changes.iter().any(|change| properties.contains(&change.property)))
    }

    /// Tells whether a reference refers to another existing instance now.
    fn is_other_reference(&self, old: &Element) -> bool {
        old.kind == windlass_model::assembly::ElementKind::Reference
            && self.desired().and_then(|topology| topology.get(&old.name)).is_some_and(|new| {
                let values = |element: &Element| -> BTreeMap<PropertyName, _> {
                    element.properties.iter().map(|(n, p)| (n.clone(), p.value.clone())).collect()
                };
                new.descriptor != old.descriptor || values(new) != values(old)
            })
    }

    /// Adds the reason for waits that a relationship requires.
    fn because(&mut self, relationship: &Relationship, rule: String) -> Why {
        let Relationship { name, origin, .. } = relationship;
        self.graph.note(Reason::Relationship { relationship: name.clone(), rule, origin: origin.clone() })
    }

    fn note_change(&mut self, relation: Relation<'a>) {
        let ends = |relationship: &Relationship| Ends {
            sources: relationship.sources.iter().map(|end| end.element.clone()).collect(),
            targets: relationship.targets.iter().map(|end| end.element.clone()).collect(),
        };
        let (before, after) = match self.situation.installed {
            Some(_) => (relation.old.map(ends), relation.new.map(ends)),
            // Without another installed version, nothing about the relationship has changed.
            None => return,
        };
        let values = self.other_values(relation);
        let kind = match (&before, &after) {
            (None, Some(_)) => RelationshipChangeKind::Added,
            (Some(_), None) => RelationshipChangeKind::Removed,
            (Some(before), Some(after)) if before != after => RelationshipChangeKind::Moved,
            _ if relation.changed => RelationshipChangeKind::Changed,
            _ if !values.is_empty() => RelationshipChangeKind::Renewed,
            _ => return,
        };
        let Some(known) = relation.new.or(relation.old) else { return };
        let (assembly, relationship) = (known.assembly.clone(), known.name.clone());
        self.relationships.push(RelationshipChange { assembly, relationship, kind, before, after, values });
    }

    /// Returns the permitted changes of a pair.
    fn reach(&self, topology: Option<&Topology>, source: &Node<'_>, target: &Node<'_>) -> Reach {
        let scope = self.scope.as_ref().zip(topology);
        scope.map_or(Reach::All, |(scope, topology)| scope.reach(topology, source.element, target.element))
    }

    /// Returns the sources of pairs at a target that were created with outdated values.
    ///
    /// Returns `None` for a relationship that is not desired: it is ceased in any case.
    fn outdated_at(&self, relation: Relation<'a>, target: &ElementName) -> Option<&'a OutdatedSources> {
        let current: &'a Current = self.situation.current;
        current.outdated_of(relation.new?)?.get(target)
    }

    /// Returns the outdated values of pairs that are re-created only because of them.
    ///
    /// Each value is listed once, in the order of the ends.
    fn other_values(&self, relation: Relation<'a>) -> Vec<ValueChange> {
        let mut found: Vec<ValueChange> = Vec::new();
        let outdated = relation.new.and_then(|new| self.situation.current.outdated_of(new));
        if outdated.is_none() || relation.changed {
            return found;
        }
        let staying = |end| self.old_nodes(relation, end).into_iter().filter(|node| node.stays);
        let sources: Vec<Node<'a>> = staying(End::Source).collect();
        for target in staying(End::Target) {
            let Some(outdated) = self.outdated_at(relation, &target.element.name) else { continue };
            let sources =
                sources.iter().filter(|source| self.reach(self.installed(), source, &target) == Reach::All);
            for value in sources.filter_map(|source| outdated.get(&source.element.name)).flatten() {
                if !found.contains(value) {
                    found.push(value.clone());
                }
            }
        }
        found
    }
}

/// The pairs of a relationship that a limited plan leaves as they are.
#[derive(Default)]
struct Skipped<'a> {
    /// The pairs that are not ceased, as source and target.
    ended: Vec<(&'a ElementName, &'a ElementName)>,
    /// The pairs that are not created, as source and target.
    made: Vec<(&'a ElementName, &'a ElementName)>,
}

impl Skipped<'_> {
    /// Returns the skipped change of the relationship, if any.
    fn change(self, relation: Relation<'_>) -> Option<RelationshipChange> {
        let known = relation.new.or(relation.old)?;
        let ends = |pairs: &[(&ElementName, &ElementName)]| {
            let each = |end: fn(&(&ElementName, &ElementName)) -> ElementName| -> Vec<ElementName> {
                pairs.iter().map(end).collect::<BTreeSet<_>>().into_iter().collect()
            };
            let (sources, targets) = (each(|pair| pair.0.clone()), each(|pair| pair.1.clone()));
            (!pairs.is_empty()).then_some(Ends { sources, targets })
        };
        let (before, after) = (ends(&self.ended), ends(&self.made));
        let kind = match (&before, &after) {
            (None, None) => return None,
            (None, Some(_)) => RelationshipChangeKind::Added,
            (Some(_), None) => RelationshipChangeKind::Removed,
            (Some(before), Some(after)) if before != after => RelationshipChangeKind::Moved,
            _ if relation.changed => RelationshipChangeKind::Changed,
            _ => RelationshipChangeKind::Renewed,
        };
        let (assembly, relationship) = (known.assembly.clone(), known.name.clone());
        Some(RelationshipChange { assembly, relationship, kind, before, after, values: Vec::new() })
    }
}

/// Tells whether the pair with the source `name` was created with outdated values.
fn is_outdated(outdated: Option<&OutdatedSources>, name: &ElementName) -> bool {
    outdated.is_some_and(|outdated| outdated.contains_key(name))
}

/// Returns the ends of one side of a relationship, and the rank that it requires of them.
fn side(relationship: &Relationship, end: End) -> (&[Endpoint], u8) {
    match end {
        End::Source => (&relationship.sources, rank::of(relationship.source_state)),
        End::Target => (&relationship.targets, rank::of(relationship.target_state)),
    }
}

/// Tells whether a relationship calls no operations, so that it only orders its ends.
fn is_order_only(relationship: &Relationship) -> bool {
    relationship.create.is_empty() && relationship.cease.is_empty()
}

/// Returns the names of some nodes; if all nodes are meant, the names of the endpoints.
fn listed(ends: &[Endpoint], nodes: &[Node<'_>], which: &[usize]) -> Vec<ElementName> {
    if which.len() == nodes.len() {
        ends.iter().map(|end| end.element.clone()).collect()
    } else {
        which.iter().map(|at| nodes[*at].element.name.clone()).collect()
    }
}
