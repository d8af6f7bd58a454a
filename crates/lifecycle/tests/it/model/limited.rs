//! Checks of plans with a target.
//!
//! The permitted steps are derived without the planner, from the relationships and values of the desired
//! version.

use std::collections::BTreeSet;

use windlass_lifecycle::{Options, Planned};
use windlass_model::work::{Relate, Work};
use windlass_model::{ElementName, Modifier, Part, State, Topology, Transition};

use super::world::World;

/// Returns the resources at or below an element.
fn leaves(topology: &Topology, name: &ElementName) -> BTreeSet<ElementName> {
    topology.leaves(name).iter().map(|leaf| leaf.name.clone()).collect()
}

/// Returns the named resources and all resources that they need, existing or not.
///
/// A resource needs the producers of the values that it reads. Some relationships must be created before the resource
/// reaches its state. The resource also needs the other ends of these relationships.
fn closure(topology: &Topology, named: &BTreeSet<ElementName>) -> BTreeSet<ElementName> {
    let mut found = named.clone();
    let mut open: Vec<ElementName> = named.iter().cloned().collect();
    while let Some(name) = open.pop() {
        let mut needs = BTreeSet::new();
        for property in topology.get(&name).iter().flat_map(|element| element.properties.values()) {
            property.value.iter().for_each(|value| {
                value.for_each_part(&mut |part| {
                    if let Part::Property { element, .. } = part {
                        needs.extend(leaves(topology, element));
                    }
                });
            });
        }
        for tie in topology.relationships() {
            let all = |ends: &[windlass_model::assembly::Endpoint]| -> BTreeSet<ElementName> {
                ends.iter().flat_map(|end| leaves(topology, &end.element)).collect()
            };
            let (sources, targets) = (all(&tie.sources), all(&tie.targets));
            let comes_before = tie.target_modifier == Modifier::Pre && targets.contains(&name);
            if comes_before {
                needs.extend(sources.clone());
            }
            let goes_before = tie.source_modifier == Modifier::Pre && sources.contains(&name);
            if goes_before {
                needs.extend(targets);
            }
            // The operations need the values of the sources, and so the producers of those values.
            if comes_before || goes_before {
                needs.extend(sources.iter().flat_map(|source| closure_of_values(topology, source)));
            }
        }
        open.extend(needs.into_iter().filter(|need| found.insert(need.clone())));
    }
    found
}

/// Returns the elements whose properties a resource reads.
fn closure_of_values(topology: &Topology, name: &ElementName) -> BTreeSet<ElementName> {
    let mut read = BTreeSet::new();
    for property in topology.get(name).iter().flat_map(|element| element.properties.values()) {
        property.value.iter().for_each(|value| {
            value.for_each_part(&mut |part| {
                if let Part::Property { element, .. } = part {
                    read.insert(element.clone());
                }
            });
        });
    }
    read
}

/// Tells whether a part reads, directly or indirectly, from a part of `left`.
fn follows(topology: &Topology, name: &ElementName, left: &BTreeSet<ElementName>) -> bool {
    let mut known = BTreeSet::new();
    let mut open = vec![name.clone()];
    while let Some(reader) = open.pop() {
        let read = closure_of_values(topology, &reader);
        if read.iter().any(|producer| left.contains(producer)) {
            return true;
        }
        open.extend(read.into_iter().filter(|producer| known.insert(producer.clone())));
    }
    false
}

impl World {
    /// Asserts that a plan with a target has no step for an unrelated element.
    pub(super) fn check_limited(&self, planned: &Planned, desired: &Topology, target: &ElementName) {
        // The target includes the parts that it loses in the desired version.
        let installed = self.installed();
        let lost = installed.iter().flat_map(|installed| leaves(installed, target));
        let named: BTreeSet<ElementName> = leaves(desired, target).into_iter().chain(lost).collect();
        let closure = closure(desired, &named);
        let moves: BTreeSet<&ElementName> = planned
            .plan
            .work()
            .filter_map(|(_, work)| match work {
                Work::Transition { element, .. } => Some(element),
                _ => None,
            })
            .collect();
        for element in &moves {
            assert!(closure.contains(*element), "{element} is not what {target} needs");
            let state = self.ground.state(element);
            let is_there = state == State::Active && self.records[*element].present;
            assert!(named.contains(*element) || !is_there, "{element} is {state} and is not named");
        }
        for (_, work) in planned.plan.work() {
            let Work::Relate(relate) = work else { continue };
            let Relate { target: at, sources, .. } = &**relate;
            let mut ends = sources.iter().chain([at]).flat_map(|end| leaves(desired, end));
            let is_gone = desired.get(at).is_none();
            assert!(
                is_gone || ends.any(|end| named.contains(&end) || moves.contains(&end)),
                "{work} has nothing to do with {target}"
            );
        }
        for change in &planned.undone.elements {
            assert!(!moves.contains(&change.element), "{} is not undone", change.element);
        }
    }

    /// Asserts that the list `undone` of an executed plan with a target contains the changes that remain.
    pub(super) fn check_undone(&self, planned: &Planned, desired: &Topology) {
        // A planner cannot predict the outputs of a Reconfigure.
        let reconfigures = planned.plan.work().any(|(_, work)| match work {
            Work::Transition { calls, .. } => calls.contains(Transition::Reconfigure),
            _ => false,
        });
        if reconfigures {
            return;
        }
        let left = self.plan(Some(desired), &Options::default()).expect("there is a plan");
        let names = |planned: &windlass_lifecycle::Diff| -> BTreeSet<ElementName> {
            planned.elements.iter().map(|change| change.element.clone()).collect()
        };
        let (left_over, undone) = (names(&left.diff), names(&planned.undone));
        // A part of the executed plan may change again if its producer is re-created.
        let unlisted: Vec<&ElementName> =
            left_over.difference(&undone).filter(|name| !follows(desired, name, &left_over)).collect();
        assert!(unlisted.is_empty(), "{unlisted:?} is not listed\n{}\n{}", left.diff, planned.undone);
        assert!(undone.is_subset(&left_over), "{}\n{}", left.diff, planned.undone);
    }
}
