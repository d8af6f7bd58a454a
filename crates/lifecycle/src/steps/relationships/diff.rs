//! The changes of relationships for display. If the options limit a plan to some parts, the plan skips the changes of
//! other parts. The display also contains these skipped changes.

use std::collections::BTreeSet;

use windlass_model::template::End;
use windlass_model::{ElementName, Relationship};

use super::relation::{Node, Relation, RelationshipPlanner};
use crate::changes::Reach;
use crate::differences::{Ends, RelationshipChange, RelationshipChangeKind};
use crate::situation::ValueChange;

/// Returns the change of a relationship in the form for display. Returns `None` if the relationship stays the same.
pub(super) fn change<'a>(
    planner: &RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
) -> Option<RelationshipChange> {
    let ends = |relationship: &Relationship| Ends {
        sources: relationship.sources.iter().map(|end| end.element.clone()).collect(),
        targets: relationship.targets.iter().map(|end| end.element.clone()).collect(),
    };
    let (before, after) = match planner.constraints.situation.installed {
        Some(_) => (relation.old.map(ends), relation.new.map(ends)),
        // Without a different installed version, the relationship is unchanged.
        None => return None,
    };
    let values = other_values(planner, relation);
    let kind = match (&before, &after) {
        (None, Some(_)) => RelationshipChangeKind::Added,
        (Some(_), None) => RelationshipChangeKind::Removed,
        (Some(before), Some(after)) if before != after => RelationshipChangeKind::Moved,
        _ if relation.changed => RelationshipChangeKind::Changed,
        _ if !values.is_empty() => RelationshipChangeKind::Renewed,
        _ => return None,
    };
    let known = relation.new.or(relation.old)?;
    let (assembly, relationship) = (known.assembly.clone(), known.name.clone());
    Some(RelationshipChange { assembly, relationship, kind, before, after, values })
}

/// Returns the changed values that are the reason why the plan re-creates an otherwise unchanged relationship.
///
/// The result follows the order of the targets. The changes of one target follow the order of the sources. If several
/// pairs have the same change, the result contains only the first of these changes.
fn other_values<'a>(planner: &RelationshipPlanner<'_, 'a>, relation: Relation<'a>) -> Vec<ValueChange> {
    let mut found: Vec<ValueChange> = Vec::new();
    let outdated = relation.new.and_then(|new| planner.constraints.situation.current.outdated_of(new));
    if outdated.is_none() || relation.changed {
        return found;
    }
    let staying = |end| planner.old_nodes(relation, end).into_iter().filter(|node| node.stays);
    let sources: Vec<Node<'a>> = staying(End::Source).collect();
    for target in staying(End::Target) {
        let Some(outdated) = planner.outdated_at(relation, &target.element.name) else { continue };
        let sources = sources
            .iter()
            .filter(|source| planner.reach(planner.constraints.installed(), source, &target) == Reach::All);
        for value in sources.filter_map(|source| outdated.get(&source.element.name)).flatten() {
            if !found.contains(value) {
                found.push(value.clone());
            }
        }
    }
    found
}

/// The pairs of a relationship that the plan leaves as they are, because the options limit the plan to some parts.
/// A plan for all parts would remove or create these pairs.
///
/// Each pair is one source and one target of the relationship.
#[derive(Default)]
pub(super) struct Skipped<'a> {
    /// The existing pairs that a plan for all parts would remove.
    pub(super) ended: Vec<(&'a ElementName, &'a ElementName)>,
    /// The pairs that a plan for all parts would create.
    pub(super) made: Vec<(&'a ElementName, &'a ElementName)>,
}

impl Skipped<'_> {
    /// Combines all skipped pairs into one change of the relationship. Returns `None` if no pair is skipped.
    pub(super) fn change(self, relation: Relation<'_>) -> Option<RelationshipChange> {
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
