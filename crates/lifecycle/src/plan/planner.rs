//! The planner: combines the paths of all parts, the waits between them, and the phases into a plan.

use std::collections::BTreeSet;

use windlass_model::Topology;
use windlass_model::assembly::ElementKind;
use windlass_model::resolve::{Lookup, NothingYet};

use super::error::{LifecycleError, OrderError};
use super::planned::{Plan, Planned};
use super::{phases, summary};
use crate::changes::{ChangeRules, Parts, Rolling, RollingGroup, Scope, Suspended, follow_values};
use crate::constraints::{Constraints, Graph, readers_down, readers_up};
use crate::differences::{Batches, Diff};
use crate::situation::{Current, Options, Situation, Version};
use crate::steps::batches;
use crate::steps::relationships::{self, Related};
use crate::steps::transitions;

/// Plans the creation or repair of `desired`, so that all its parts become Active.
///
/// The function assumes that existing parts were installed from `desired`, and compares no values. `lookup`
/// returns the outputs that drivers have published so far.
///
/// # Errors
///
/// - [`LifecycleError::Order`]: the waits form a cycle.
/// - [`LifecycleError::Value`]: a value cannot be resolved.
pub fn up(current: &Current, desired: &Topology, lookup: &dyn Lookup) -> Result<Plan, LifecycleError> {
    let desired = Some(Version { topology: desired, lookup });
    Ok(plan(&Situation { current, installed: None, desired }, &Options::default())?.plan)
}

/// Plans the removal of all parts of `topology`.
///
/// # Errors
///
/// - [`LifecycleError::Order`]: the waits form a cycle.
/// - [`LifecycleError::Value`]: a value cannot be resolved.
pub fn down(current: &Current, topology: &Topology) -> Result<Plan, LifecycleError> {
    let installed = Some(Version { topology, lookup: &NothingYet });
    Ok(plan(&Situation { current, installed, desired: None }, &Options::default())?.plan)
}

/// Plans the steps from the current to the desired state of an assembly.
///
/// # Errors
///
/// - [`LifecycleError::Order`]: the waits form a cycle.
/// - [`LifecycleError::Value`]: a value cannot be resolved.
/// - [`LifecycleError::Unknown`]: the options name an element that neither version contains.
/// - [`LifecycleError::NeedsExcepted`]: a part that the plan may change needs a part of [`Options::except`]. The
///   needed part is not ready: its state is too low, or its output is not known yet.
/// - [`LifecycleError::NeedsRemoved`]: a limited plan keeps a part that has a `depends-on`, and removes all parts
///   that this `depends-on` names.
pub fn plan(situation: &Situation<'_>, options: &Options) -> Result<Planned, LifecycleError> {
    check_names(situation, options)?;
    let mut suspended = Suspended::new();
    loop {
        let mut more = Suspended::new();
        let planned = attempt(situation, options, &suspended, &mut more);
        if more.is_empty() {
            return planned;
        }
        suspended.append(&mut more);
    }
}

/// Plans with the given suspended relationships.
///
/// A suspended relationship is removed before the first batch of a rolling change, and is created after the last
/// batch.
///
/// If the waits form a cycle, the function returns an error, and stores in `more` the relationships whose suspension
/// may break the cycle. The caller should suspend these relationships too, and try again. If no further suspension
/// would help, `more` stays empty.
fn attempt(
    situation: &Situation<'_>,
    options: &Options,
    suspended: &Suspended,
    more: &mut Suspended,
) -> Result<Planned, LifecycleError> {
    let mut parts = decided(situation, options);
    let mut undone = Diff::default();
    let mut scope = None;
    if options.is_limited() {
        undone = unlimited(situation, options);
        let changing = undone.elements.iter().map(|change| change.element.clone()).collect();
        let limited = Scope::of(&parts, situation, options, &changing)?;
        undone.elements.retain(|change| !limited.is_acting(&change.element));
        limited.freeze(&mut parts);
        Scope::keeps_dependencies(&parts, situation, options)?;
        scope = Some(limited);
    }
    follow_values(&mut parts, situation);
    let rolling = Rolling::of(&mut parts, situation, options, suspended.clone());
    // The capacity is sufficient for a typical plan, in which most parts have three steps and read one output. If
    // a node changes alone in a batch, it has nine steps. They include the steps that re-create its relationship,
    // and the barrier after the batch. Unused capacity costs nothing.
    let (steps, waits) = if rolling.groups.is_empty() { (4, 2) } else { (9, 12) };
    let mut graph = Graph::with_capacity(steps * parts.list.len(), waits * parts.list.len());
    for part in &mut parts.list {
        transitions::add(&mut graph, part);
    }
    let mut constraints = Constraints::new(situation, parts, graph, rolling);
    readers_up(&mut constraints)?;
    readers_down(&mut constraints)?;
    let Related { mut changes, undone: unrelated } =
        relationships::add(&mut constraints, options, scope.as_ref())?;
    batches::add(&mut constraints);
    constraints.settle();
    let Constraints { parts, graph, rolling, .. } = constraints;
    if scope.is_some() {
        let ties = graph.ties();
        changes.retain(|change| ties.contains(&(&change.assembly, &change.relationship)));
        undone.relationships = unrelated;
    }
    let mut diff = summary::diff(parts, changes);
    diff.batches = rolling.groups.iter().map(batches_of).collect();
    diff.together = rolling.together;
    diff.suspended = rolling.suspended.into_iter().map(|(_, relationship)| relationship).collect();
    let plan = phases::build(graph).map_err(|cycle| {
        let error = OrderError(cycle);
        let is_new = |relationship: &_| !suspended.contains(relationship);
        *more = error.created_twice().filter(is_new).collect();
        if more.is_empty() {
            *more = rolling.twice.into_iter().filter(is_new).collect();
        }
        error
    })?;
    Ok(Planned { plan, diff, undone, surge: rolling.surge })
}

/// Creates the parts, and decides their changes. Changed values are not considered yet.
fn decided<'a>(situation: &Situation<'a>, options: &Options) -> Parts<'a> {
    let rules = ChangeRules::new(situation, options);
    let mut parts = Parts::new(situation, &rules);
    parts.raise_ends(situation.desired.map(|version| version.topology), &rules);
    parts
}

/// Returns the changes that a plan for all parts makes. The function ignores `Options::target` and `Options::except`.
fn unlimited(situation: &Situation<'_>, options: &Options) -> Diff {
    let mut parts = decided(situation, options);
    follow_values(&mut parts, situation);
    summary::diff(parts, Vec::new())
}

/// Converts the batches of a group to the form that a [`Diff`] contains.
fn batches_of(group: &RollingGroup) -> Batches {
    let nodes = group.batches.iter().map(|batch| batch.iter().map(|node| node.name.clone()).collect());
    let surge = group.surge.iter().map(|node| node.name.clone()).collect();
    Batches { group: group.name.clone(), nodes: nodes.collect(), surge, pause: group.pause }
}

fn check_names(situation: &Situation<'_>, options: &Options) -> Result<(), LifecycleError> {
    let topologies = || [situation.desired, situation.installed].into_iter().flatten();
    let named = options.replace.iter().chain(&options.heal).chain(&options.target).chain(&options.except);
    let unknown = named.into_iter().find(|name| !topologies().any(|v| v.topology.get(name).is_some()));
    match unknown {
        None => Ok(()),
        Some(name) => Err(LifecycleError::Unknown {
            name: name.clone(),
            known: topologies()
                .flat_map(|version| version.topology.elements())
                .filter(|element| element.parent.is_some() && element.kind != ElementKind::Reference)
                .map(|element| element.name.clone())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
        }),
    }
}
