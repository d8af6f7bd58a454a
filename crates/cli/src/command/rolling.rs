//! Output about the batches of a rolling change.

use std::collections::{BTreeSet, HashSet};

use windlass::lifecycle::ElementChange;
use windlass::model::record::{Event, EventRecord, StepEnd};
use windlass::model::work::Batch;
use windlass::model::{ElementName, ProcessId};
use windlass::view::plan::{PlanView, StepView};
use windlass::view::rolling::RollingView;

use crate::alike;
use crate::output::{BAD, DIM, GOOD, ODD, STRONG, say, styled};

/// A printer that prints a line for each batch of a process, and for each pause between batches.
pub(super) struct Batches<'p> {
    process: ProcessId,
    plan: &'p PlanView,
    announced: HashSet<&'p Batch>,
}

impl<'p> Batches<'p> {
    pub(super) fn new(process: ProcessId, plan: &'p PlanView) -> Self {
        Self { process, plan, announced: HashSet::new() }
    }

    /// Prints a line if a batch or a pause begins with this event.
    pub(super) fn announce(&mut self, event: &EventRecord) {
        let Event::StepStarted { step, .. } = &event.draft.body else { return };
        let own = event.draft.process == Some(self.process);
        let step = self.plan.step(*step).filter(|_| own);
        let Some(StepView { batch: Some(batch), pause, .. }) = step else { return };
        if let Some(pause) = pause {
            let until = event.draft.at.plus_millis(pause.millis().into());
            say!("{} {batch} begins at {until}", styled(DIM, "pause    "));
        } else if self.announced.insert(batch) {
            let groups = &self.plan.changes.batches;
            let group = groups.iter().find(|group| group.group == batch.group);
            let number = usize::try_from(batch.number).unwrap_or(usize::MAX).saturating_sub(1);
            let nodes = group.and_then(|group| group.nodes.get(number));
            let nodes = nodes.cloned().unwrap_or_else(|| self.nodes(batch));
            let nodes = if nodes.is_empty() { String::new() } else { format!(": {}", alike::named(&nodes)) };
            let Batch { group, number, count } = batch;
            let head = styled(STRONG, "batch    ");
            say!("{head} {number} of {count} of {}{nodes}", group.local());
        }
    }

    /// Returns the nodes of a batch, computed from the steps of the plan. If another program executes the
    /// process, `plan.changes` is empty here, so this computation is the only source of the nodes.
    fn nodes(&self, batch: &Batch) -> Vec<ElementName> {
        let inside = format!("{}__", batch.group);
        let node = |name: &ElementName| {
            let node = name.as_str().strip_prefix(&inside)?.split("__").next()?;
            format!("{inside}{node}").parse().ok()
        };
        let steps = self.plan.steps.iter().filter(|step| step.batch.as_ref() == Some(batch));
        let nodes: BTreeSet<ElementName> = steps.filter_map(|step| node(&step.element)).collect();
        nodes.into_iter().collect()
    }

    /// Tells whether an event is the normal end of a pause between two batches. The caller does not print such an
    /// event, because the line of the next batch follows.
    pub(super) fn ends_pause(&self, event: &EventRecord) -> bool {
        let Event::StepEnded { step, end: StepEnd::Succeeded, .. } = &event.draft.body else { return false };
        let own = event.draft.process == Some(self.process);
        own && self.plan.step(*step).is_some_and(|step| step.pause.is_some())
    }
}

/// Prints the results of a rolling change. For each group, the changed, the failed, the incomplete and the unchanged
/// nodes each have a line. Two of these lines can end with a text in brackets:
///
/// - The line of the changed nodes: `new values`, `new package`, or the name of the new descriptor.
/// - The line of the unchanged nodes: `old values`, `old package`, or the name of the old descriptor.
pub(super) fn print_results(results: &[RollingView], plan: &PlanView) {
    for RollingView { changed, failed, incomplete, unchanged, .. } in results {
        let lists = [
            (changed, styled(GOOD, "changed  "), Some(Age::New)),
            // No version is shown for a failed node, because the node may have the old or the new version.
            (failed, styled(BAD, "failed   "), None),
            (incomplete, styled(ODD, "stopped  "), None),
            (unchanged, styled(DIM, "unchanged"), Some(Age::Old)),
        ];
        for (nodes, word, age) in lists {
            let Some(first) = nodes.first() else { continue };
            let what = age.and_then(|age| described(change_of(plan, first)?, age));
            let what = what.map(|what| format!(" ({what})")).unwrap_or_default();
            say!("  {word} {}{what}", alike::named(nodes));
        }
    }
}

/// Returns the change of a node; if the node itself does not change, the first change of a part in the node.
fn change_of<'p>(plan: &'p PlanView, node: &ElementName) -> Option<&'p ElementChange> {
    plan.changes.elements.iter().find(|change| change.element.is_in(node))
}

/// The choice between two descriptions of a part: before its change, or after its change.
#[derive(Clone, Copy)]
enum Age {
    Old,
    New,
}

/// Describes a part before or after its change. Returns `None` if its descriptor, values and package do not
/// change.
fn described(change: &ElementChange, age: Age) -> Option<String> {
    let word = match age {
        Age::Old => "old",
        Age::New => "new",
    };
    match (&change.replaces, &change.descriptor) {
        (Some(old), Some(new)) => Some(match age {
            Age::Old => old.to_string(),
            Age::New => new.to_string(),
        }),
        _ if !change.properties.is_empty() => Some(format!("{word} values")),
        _ if change.repackaged => Some(format!("{word} package")),
        _ => None,
    }
}
