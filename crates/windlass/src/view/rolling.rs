//! Views of rolling changes: the batches of nodes in progress, and the result of each node. A rolling change changes
//! the nodes of a group in batches.

use std::collections::HashMap;

use serde::Serialize;
use windlass_lifecycle::{BatchSteps, Plan};
use windlass_model::record::{ProcessRecord, StepEnd, StepState};
use windlass_model::work::{Batch, Work};
use windlass_model::{ElementName, StepId, Timestamp};
use windlass_plan::StepNumber;
use windlass_store::ProcessHistory;

use super::plan::{PlanView, StepView};
use crate::error::Error;
use crate::open::Windlass;

/// A pause that has begun and has not ended. windlass starts the next batch of nodes after the pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PauseView {
    /// The batch that begins after the pause.
    pub before: Batch,
    /// The time at which the pause ends.
    #[serde(serialize_with = "super::time::one")]
    pub until: Timestamp,
}

/// The batches and pauses that an open process has begun and has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InProgress {
    pub(crate) batches: Vec<Batch>,
    pub(crate) pauses: Vec<PauseView>,
}

impl InProgress {
    /// Tells whether the plan of a process can contain batches. Only the text of the plan is searched,
    /// because parsing a large plan takes time.
    pub(crate) fn is_possible(process: &ProcessRecord) -> bool {
        process.plan.as_str().contains("\"batch\"")
    }

    /// Returns the current batches and pauses of a process. The result is empty if this version of windlass can't read
    /// the plan of the process.
    pub(crate) fn of(history: &ProcessHistory) -> Self {
        let Ok(plan) = serde_json::from_str::<Plan>(history.process.plan.as_str()) else {
            return Self::default();
        };
        let steps = history.steps.iter().filter(|step| step.started.is_some());
        let begun = steps
            .clone()
            .map(|step| (StepNumber(step.step.0), step.state == StepState::Done(StepEnd::Succeeded)));
        let batches = BatchSteps::of(&plan).in_progress(&plan, begun);
        let running = steps.filter(|step| step.ended.is_none());
        let pauses = running.filter_map(|step| match plan.step(StepNumber(step.step.0))?.task.work()? {
            Work::Pause { before, pause } => {
                let until = step.started?.plus_millis(pause.millis().into());
                Some(PauseView { before: before.clone(), until })
            }
            _ => None,
        });
        Self { batches, pauses: pauses.collect() }
    }
}

/// The results of a group's nodes after a change in batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RollingView {
    /// The name of the group.
    pub group: ElementName,
    /// The nodes that have changed.
    pub changed: Vec<ElementName>,
    /// The nodes with a failed step.
    pub failed: Vec<ElementName>,
    /// The nodes whose change has begun and is incomplete, although no step has failed. For example, the process was
    /// cancelled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<ElementName>,
    /// The nodes whose change has not begun.
    pub unchanged: Vec<ElementName>,
}

impl RollingView {
    /// Returns the results of a process that changes groups in batches, one [`RollingView`] for each group. The result
    /// of a group tells for each node whether its change has succeeded.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub async fn of(
        windlass: &Windlass,
        plan: &PlanView,
        process: &ProcessRecord,
    ) -> Result<Vec<Self>, Error> {
        if plan.steps.iter().all(|step| step.batch.is_none()) {
            return Ok(Vec::new());
        }
        let store = windlass.store_of(&process.assembly).await?;
        let history = store.process_history(process.id).await?;
        let steps = history.map(|history| history.steps).unwrap_or_default();
        let begun = steps.into_iter().filter(|step| step.started.is_some());
        Ok(results(&plan.steps, &begun.map(|step| (step.step, step.state)).collect()))
    }
}

/// The progress of a node: whether a step has begun, whether a step has failed, and whether all steps have succeeded.
struct NodeSteps {
    begun: bool,
    failed: bool,
    complete: bool,
}

/// Returns one [`RollingView`] for each group whose nodes change in batches. `begun` contains each step of `steps` that
/// has begun, with its state.
fn results(steps: &[StepView], begun: &HashMap<StepId, StepState>) -> Vec<RollingView> {
    let mut nodes: Vec<(&ElementName, ElementName)> = Vec::new();
    let mut results: HashMap<ElementName, NodeSteps> = HashMap::new();
    for step in steps.iter().filter(|step| step.pause.is_none()) {
        let Some(batch) = &step.batch else { continue };
        let state = begun.get(&step.id);
        for end in step.sources.iter().chain([&step.element]) {
            let Some(node) = node_of(end, &batch.group) else { continue };
            let steps = results.entry(node.clone()).or_insert_with(|| {
                nodes.push((&batch.group, node));
                NodeSteps { begun: false, failed: false, complete: true }
            });
            steps.begun |= state.is_some();
            steps.failed |= state.is_some_and(|state| {
                matches!(state, StepState::Done(StepEnd::Failed(_) | StepEnd::NeedsDecision { .. }))
            });
            steps.complete &= state == Some(&StepState::Done(StepEnd::Succeeded));
        }
    }
    let mut views: Vec<RollingView> = Vec::new();
    for (group, node) in nodes {
        let at = views.iter().position(|view| view.group == *group).unwrap_or_else(|| {
            let (changed, failed, incomplete, unchanged) = Default::default();
            views.push(RollingView { group: group.clone(), changed, failed, incomplete, unchanged });
            views.len() - 1
        });
        let view = &mut views[at];
        let list = match results[&node] {
            NodeSteps { complete: true, .. } => &mut view.changed,
            NodeSteps { failed: true, .. } => &mut view.failed,
            NodeSteps { begun: true, .. } => &mut view.incomplete,
            _ => &mut view.unchanged,
        };
        list.push(node);
    }
    views
}

/// Returns the name of the node that contains the part `part`. The node belongs to the group `group`. The part may also
/// be the node itself. Returns `None` if the part is not in the group.
fn node_of(part: &ElementName, group: &ElementName) -> Option<ElementName> {
    const SEPARATOR: &str = "__";
    let rest = part.as_str().strip_prefix(group.as_str())?.strip_prefix(SEPARATOR)?;
    let node = rest.split(SEPARATOR).next()?;
    format!("{group}{SEPARATOR}{node}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_of_a_part() {
        let node = |part: &str| {
            let node = node_of(&part.parse().unwrap(), &"t__web".parse().unwrap());
            node.map(|node| node.to_string())
        };
        assert_eq!(node("t__web__2").as_deref(), Some("t__web__2"));
        assert_eq!(node("t__web__12__inner__x").as_deref(), Some("t__web__12"));
        assert_eq!((node("t__web"), node("t__webs__1"), node("t__lb")), (None, None, None));
    }
}
