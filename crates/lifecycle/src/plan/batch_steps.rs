//! The type [`BatchSteps`]: for a finished plan, the batches of nodes and the steps of each batch.

use std::collections::HashMap;

use windlass_model::ElementName;
use windlass_model::work::{Batch, Reason, Work};
use windlass_plan::StepNumber;

use super::planned::Plan;

/// The batches in which a plan changes the nodes of groups, and the steps of each batch.
///
/// The methods tell to which batch a step belongs, and which batches are in progress. The function [`of`](Self::of)
/// finds the batches by their barriers: each batch has one barrier, which waits for the last steps of the batch.
#[derive(Debug, Clone, Default)]
pub struct BatchSteps {
    batches: Vec<Batch>,
    /// For each part that changes in a batch, the position of its batch in `batches`.
    ///
    /// A node of a group may be an assembly. Then the map also contains the node, and the elements between the node
    /// and its changing parts.
    parts: HashMap<ElementName, usize>,
    /// For each step that completes a batch, the position of the batch in `batches`.
    last: HashMap<StepNumber, usize>,
}

impl BatchSteps {
    /// Finds the batches of a plan.
    pub fn of(plan: &Plan) -> Self {
        let mut found = Self::default();
        for barrier in plan.steps().filter(|step| step.task.is_barrier()) {
            let batch = barrier.waits().find_map(|wait| match wait.reason {
                Reason::Batch(batch) => Some(batch.clone()),
                _ => None,
            });
            let Some(batch) = batch else { continue };
            let number = found.batches.len();
            found.batches.push(batch);
            for wait in barrier.waits().filter(|wait| matches!(wait.reason, Reason::Batch(_))) {
                found.last.insert(wait.on, number);
                let work = plan.step(wait.on).and_then(|step| step.task.work());
                if let Some(Work::Transition { element, .. }) = work {
                    found.add(element, number);
                }
            }
        }
        found
    }

    /// Records the batch of a part.
    ///
    /// The part may be inside a node that is an assembly. The function then also records the batch of this node, and of
    /// the elements between the node and the part. Relationships may name these elements as sources or targets, and
    /// [`batch_of`](Self::batch_of) finds their batch.
    fn add(&mut self, part: &ElementName, number: usize) {
        let group = self.batches[number].group.as_str().len();
        let inner = part.as_str()[group..].match_indices("__").map(|(at, _)| group + at).skip(1);
        let above: Vec<ElementName> = inner.filter_map(|at| part.as_str()[..at].parse().ok()).collect();
        for element in above.into_iter().chain([part.clone()]) {
            self.parts.insert(element, number);
        }
    }

    /// Returns the batch of a step; `None` if the step belongs to no batch.
    ///
    /// A step that creates or removes a relationship belongs to the batch of its first source that is in a batch.
    /// If no source is in a batch, the step belongs to the batch of its target.
    pub fn batch_of(&self, work: &Work) -> Option<&Batch> {
        Some(&self.batches[self.number_of(work)?])
    }

    fn number_of(&self, work: &Work) -> Option<usize> {
        match work {
            Work::Transition { element, .. } => self.parts.get(element).copied(),
            Work::Relate(relate) => {
                let mut ends = relate.sources.iter().chain([&relate.target]);
                ends.find_map(|end| self.parts.get(end).copied())
            }
            _ => None,
        }
    }

    /// Returns the incomplete batches with at least one begun step, in the order of the plan.
    ///
    /// `steps` contains the steps of `plan` that have begun, and tells for each whether it has succeeded.
    pub fn in_progress(&self, plan: &Plan, steps: impl Iterator<Item = (StepNumber, bool)>) -> Vec<Batch> {
        let mut open = vec![0_usize; self.batches.len()];
        for number in self.last.values() {
            open[*number] += 1;
        }
        let mut has_begun = vec![false; self.batches.len()];
        for (step, has_succeeded) in steps {
            let work = plan.step(step).and_then(|step| step.task.work());
            if let Some(number) = work.and_then(|work| self.number_of(work)) {
                has_begun[number] = true;
            }
            if let Some(number) = self.last.get(&step).filter(|_| has_succeeded) {
                open[*number] -= 1;
            }
        }
        let all = self.batches.iter().zip(has_begun).zip(open);
        all.filter(|((_, has_begun), open)| *has_begun && *open > 0)
            .map(|((batch, _), _)| batch.clone())
            .collect()
    }
}
