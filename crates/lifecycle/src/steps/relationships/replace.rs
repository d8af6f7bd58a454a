//! The waits that delay the removal of a source or target until its replacement is connected.
//!
//! For example, a new web server replaces an old web server behind a load balancer. The plan removes the old web server
//! after it has created the relationship between the new web server and the load balancer.
//!
//! A new node of a group replaces the removed nodes of that group. A new component replaces the removed components that
//! were sources or targets of the same relationship.
//!
//! A new part may itself have to wait for the removal of the old part that it replaces. Then the two waits would form a
//! cycle. In this case, the planner drops the wait of the old part, and the plan removes the old part first.

use std::collections::BTreeMap;

use windlass_model::assembly::ElementKind;
use windlass_model::template::End;
use windlass_model::{Element, ElementName, Topology};
use windlass_plan::{Draft, WaitKind};

use super::cease::Ceased;
use super::create::NewPairs;
use super::relation::{Relation, RelationshipPlanner};
use crate::changes::Disposition;
use crate::constraints::Priority;
use crate::rank;

/// A key for the sources and targets of a relationship. A new source or target replaces a removed one if both have
/// the same key.
///
/// The flag is `true` for targets and `false` for sources. The name is the group that contains the source or
/// target; `None` if it is in no group.
type Kin<'a> = (bool, Option<&'a ElementName>);

/// Delays the removal of old sources and targets until the pairs of the new sources and targets are created.
///
/// `new_pairs` contains the steps that create these pairs.
pub(super) fn replace<'a>(
    planner: &mut RelationshipPlanner<'_, 'a>,
    relation: Relation<'a>,
    ceased: &Ceased<'a>,
    new_pairs: &[NewPairs<'a>],
) {
    let (Some(old), false) = (relation.old, new_pairs.is_empty()) else { return };
    let (installed, desired) = (planner.constraints.installed(), planner.constraints.desired());
    let mut replaced: BTreeMap<Kin<'a>, Vec<&'a Element>> = BTreeMap::new();
    for side in [End::Source, End::Target] {
        let removed = planner.old_nodes(relation, side).into_iter();
        let removed = removed.filter(|node| node.path.disposition == Disposition::Removed && !node.wanted);
        for node in removed {
            replaced.entry(kin(installed, side, node.element)).or_default().push(node.element);
        }
    }
    for (kin_of, removed) in replaced {
        let is_kin = |(side, end): &(End, &'a Element)| kin(desired, *side, end) == kin_of;
        let steps = new_pairs.iter().filter(|pairs| pairs.ends.iter().any(is_kin)).map(|pairs| pairs.step);
        let steps: Vec<Draft> = steps.collect();
        if steps.is_empty() {
            continue;
        }
        let constraints = &mut *planner.constraints;
        let rule = "its replacement is related first".to_owned();
        let why = constraints.graph.because(old, rule);
        let until = if let [only] = steps.as_slice() {
            *only
        } else {
            let all = constraints.graph.barrier(format!("the replacements in {} are related", old.name));
            for step in &steps {
                constraints.graph.need(all, *step, why);
            }
            all
        };
        for end in removed {
            constraints.hold_leaving(&end.name, rank::ACTIVE, until, Priority::Weak, why);
            // The pairs of a removed target are ceased after the new pairs are created. For a removed source,
            // the old pair is ceased first.
            let of_target = ceased.get(&end.name).filter(|_| kin_of.0);
            for (_, step) in of_target.into_iter().flatten() {
                constraints.graph.constrain(*step, until, WaitKind::Needs, Priority::Weak, why);
            }
        }
    }
}

/// Returns the [`Kin`] of a source or target. Two elements with equal [`Kin`] may replace each other.
fn kin<'a>(topology: Option<&'a Topology>, side: End, end: &'a Element) -> Kin<'a> {
    let group = end.parent.as_ref().filter(|parent| {
        let parent = topology.and_then(|topology| topology.get(parent));
        parent.is_some_and(|parent| parent.kind == ElementKind::Group)
    });
    (side == End::Target, group)
}
