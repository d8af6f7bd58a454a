//! The steps that remove and create relationships between nodes, and the waits of these steps.
//!
//! A relationship is created separately for each *pair* of a source and a target. To *cease* a pair means to remove it
//! by the operations that the relationship declares for this purpose. The planner compares the installed with the
//! desired version of a relationship:
//!
//! - [`cease()`] adds steps that remove the pairs that cannot stay.
//! - [`create()`] adds steps that create the missing pairs.
//! - [`replace()`] delays the removal of a source or target until the pairs of its replacement are created.
//! - [`supersede()`] delays the creation of a new relationship until an old relationship between the same elements is
//!   removed.
//! - [`order()`] adds the waits of relationships without operations.

mod cease;
mod create;
mod diff;
mod making;
mod order;
mod relation;
mod replace;
mod slots;
mod supersede;
mod waits;

use std::collections::HashSet;

use windlass_model::name::RelationshipName;
use windlass_model::resolve::{ResolveError, Resolver};
use windlass_model::{ElementName, Topology};

use self::cease::cease;
use self::create::{Awaited, create};
use self::diff::{Skipped, change};
use self::order::order;
use self::relation::{Relation, RelationshipPlanner};
use self::replace::replace;
use self::supersede::supersede;
use crate::changes::{ChangeKind, Later, Part, Scope};
use crate::constraints::Constraints;
use crate::differences::{RelationshipChange, differ};
use crate::situation::{Options, Reads, Version};

/// The changes of relationships, in the form for display.
#[derive(Default)]
pub(crate) struct Related {
    pub(crate) changes: Vec<RelationshipChange>,
    /// The changes of relationships that the plan omits, because the user has limited the plan to some elements.
    ///
    /// Each entry concerns a relationship between existing parts.
    pub(crate) undone: Vec<RelationshipChange>,
}

/// Adds the steps that create and remove relationships, and all waits that relationships require.
///
/// `scope` contains the parts that the plan may touch; `None` if the plan is not limited.
pub(crate) fn add(
    constraints: &mut Constraints<'_>,
    options: &Options,
    scope: Option<&Scope>,
) -> Result<Related, ResolveError> {
    let mut related = Related::default();
    let relations = relations(constraints)?;
    let removes_parts = constraints.parts.list.iter().any(|part| part.change_kind == ChangeKind::Remove);
    let mut planner = RelationshipPlanner { constraints, options, scope, removes_parts };
    let mut arrivals = Vec::with_capacity(relations.len());
    let (relations, awaited): (Vec<Relation<'_>>, Vec<Awaited>) = relations.into_iter().unzip();
    for (relation, awaited) in relations.iter().copied().zip(awaited) {
        related.changes.extend(change(&planner, relation));
        let before = planner.constraints.arrivals.len();
        let mut skipped = Skipped::default();
        let ceased = cease(&mut planner, relation, &mut skipped);
        let new_pairs = create(&mut planner, relation, awaited, &ceased, &mut skipped);
        replace(&mut planner, relation, &ceased, &new_pairs);
        related.undone.extend(skipped.change(relation));
        arrivals.push(before..planner.constraints.arrivals.len());
    }
    supersede(constraints, &relations);
    if !options.adopt {
        order(constraints, &relations, &arrivals);
    }
    Ok(related)
}

/// Returns the relationships of the desired and the installed version, each with the steps for which its creation
/// waits.
///
/// The relationships of the desired version come first.
fn relations<'a>(constraints: &Constraints<'a>) -> Result<Vec<(Relation<'a>, Awaited)>, ResolveError> {
    let mut relations = match constraints.situation.desired {
        Some(desired) => desired_relations(constraints, desired)?,
        None => Vec::new(),
    };
    let known: HashSet<(&ElementName, &RelationshipName)> = relations
        .iter()
        .filter_map(|(relation, _)| relation.new)
        .map(|new| (&new.assembly, &new.name))
        .collect();
    let installed = constraints.installed().map(Topology::relationships).unwrap_or_default();
    for old in installed.iter().filter(|old| !known.contains(&(&old.assembly, &old.name))) {
        relations.push((Relation { old: Some(old), new: None, changed: false }, Vec::new()));
    }
    Ok(relations)
}

/// Returns the relationships of the desired version, each with the steps for which its creation waits.
///
/// These steps publish outputs that the relationship reads. The [`Relation`] also contains the installed version of the
/// relationship, if there is one.
fn desired_relations<'a>(
    constraints: &Constraints<'a>,
    desired: Version<'a>,
) -> Result<Vec<(Relation<'a>, Awaited)>, ResolveError> {
    let later = Later { lookup: desired.lookup, parts: &constraints.parts };
    let mut reads = Reads::few(desired.topology, &later);
    // If no part publishes new outputs, no relationship waits for outputs.
    let quiet = !constraints.parts.list.iter().any(Part::publishes_anew);
    let installs = |name: &ElementName| quiet || constraints.parts.get(name).is_none_or(Part::publishes_anew);
    let mut values = constraints.situation.installed.map(|version| {
        (Resolver::new(version.topology, version.lookup), Resolver::new(desired.topology, &later))
    });
    let mut relations = Vec::with_capacity(desired.topology.relationships().len());
    for new in desired.topology.relationships() {
        let old = constraints.installed().and_then(|it| it.relationship(&new.assembly, new.name.as_str()));
        let changed = match (&mut values, old) {
            (Some((before, after)), Some(old)) => differ(old, new, before, after),
            _ => false,
        };
        let waits = reads.relationship(new, &installs)?.iter().filter_map(|read| {
            let producer = constraints.parts.at(read.place)?;
            Some((producer.publishing()?, read.by_relationship(new), producer.rolls.turn))
        });
        relations.push((Relation { old, new: Some(new), changed }, waits.collect()));
    }
    Ok(relations)
}
