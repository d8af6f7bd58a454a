//! Delays the creation of a new relationship until an old relationship between the same elements is removed.
//!
//! For example, a relationship was renamed. The plan removes the old relationship before it creates the new
//! relationship. If the scripts of the old relationship ran later, they could undo the effects of the new
//! relationship's scripts.
//!
//! The waits are soft constraints, because they may contradict other waits. For example, a part may need the new
//! relationship before the part starts, but the plan can remove the old relationship only after this start.

use std::collections::{HashMap, HashSet};

use windlass_model::name::RelationshipName;
use windlass_model::work::{Direction, Relate};
use windlass_model::{ElementName, Relationship};
use windlass_plan::{Draft, WaitKind};

use super::relation::Relation;
use crate::constraints::{Constraints, Priority};

/// Relationships by assembly and name.
type ByName<'r> = HashMap<(&'r ElementName, &'r RelationshipName), &'r Relationship>;

/// Delays the creation of new relationships until old relationships between the same elements are removed.
pub(super) fn supersede(constraints: &mut Constraints<'_>, relations: &[Relation<'_>]) {
    let removed: ByName<'_> = named(relations.iter().filter(|of| of.new.is_none()).filter_map(|of| of.old));
    let added: ByName<'_> = named(relations.iter().filter(|of| of.old.is_none()).filter_map(|of| of.new));
    if removed.is_empty() || added.is_empty() {
        return;
    }
    let mut ceased: HashMap<&ElementName, Vec<(Draft, &Relate)>> = HashMap::new();
    let mut created: Vec<(Draft, &Relate)> = Vec::new();
    for (step, relate) in constraints.graph.relates() {
        let key = (&relate.assembly, &relate.relationship);
        match relate.direction {
            Direction::Cease if removed.contains_key(&key) => {
                ceased.entry(&relate.target).or_default().push((step, relate));
            }
            Direction::Create if added.contains_key(&key) => created.push((step, relate)),
            _ => {}
        }
    }
    let mut waits = Vec::new();
    for (step, relate) in created {
        let at_target = ceased.get(&relate.target).into_iter().flatten();
        let alike = at_target.filter(|(_, ceased)| share_a_source(relate, ceased));
        waits.extend(alike.map(|(on, ceased)| {
            let new = added[&(&relate.assembly, &relate.relationship)];
            (step, *on, new, format!("{} is ceased first", ceased.relationship))
        }));
    }
    for (step, on, new, rule) in waits {
        let why = constraints.graph.because(new, rule);
        constraints.graph.constrain(step, on, WaitKind::Needs, Priority::Strong, why);
    }
}

fn named<'r>(relationships: impl Iterator<Item = &'r Relationship>) -> ByName<'r> {
    relationships.map(|of| ((&of.assembly, &of.name), of)).collect()
}

/// Tells whether two steps have a source in common.
///
/// A step may name a group or an assembly as its source. Each element inside this source then counts as a source, too.
/// For example, one step names `shop__web`, and the other step names `shop__web__1`. The common source is node 1.
fn share_a_source(one: &Relate, other: &Relate) -> bool {
    has_one_within(one, other) || has_one_within(other, one)
}

/// Tells whether a source of `inner` is a source of `outer`, or is inside a source of `outer`.
fn has_one_within(inner: &Relate, outer: &Relate) -> bool {
    let names: HashSet<&str> = outer.sources.iter().map(ElementName::as_str).collect();
    inner.sources.iter().any(|source| source.path().any(|name| names.contains(name)))
}
