//! Pending calls: open calls of earlier processes whose jobs have ended, but whose instances are converging. Such an
//! instance is not yet ready, stopped or removed.
//!
//! The plan of the next process decides about each pending call:
//!
//! - If the plan removes or replaces the part, and the call is no stop or removal, the call ends when the process begins.
//! - If the plan is limited to other parts, the call stays open, and the process does not change the part.
//! - In all other cases, the engine waits for the instance, and then makes a new plan. So the job of a stop or a
//!   removal does not run a second time.
//!
//! For this decision, the plan is made as if all pending calls had ended. The records change only when the process
//! begins. So a refused intent changes nothing.

use std::collections::BTreeSet;

use windlass_lifecycle::{ElementChangeKind, LifecycleError, PropertyChange, Shown};
use windlass_model::record::{AssemblyRecord, CallRecord, ElementRecord};
use windlass_model::work::{Direction, Relate, Work};
use windlass_model::{Action, CallId, ElementName, Transition};
use windlass_store::{Batch, Change, Snapshot};

use super::draft::Draft;
use super::settle::put_into;
use crate::error::EngineError;
use crate::world::World;

/// The pending calls of an assembly.
pub(super) struct PendingCalls {
    calls: Vec<PendingCall>,
    /// The record of the assembly before the planned changes.
    before: AssemblyRecord,
    /// The elements that the intent creates again even if they have not changed.
    replaced: BTreeSet<ElementName>,
}

struct PendingCall {
    /// The record of the call, with the host and the folder of its last attempt. For a first attempt, they come from
    /// the record of the process.
    record: CallRecord,
    /// The record of the call's element.
    element: Option<ElementRecord>,
    /// The batch that ends the call.
    end: Batch,
}

/// The decision about a pending call.
#[derive(PartialEq, Eq)]
enum Decision {
    /// windlass waits for the instance before the process begins.
    Wait,
    /// The call ends when the process begins.
    End,
    /// The call stays open during the process.
    Leave,
}

impl PendingCalls {
    /// Ends the pending calls in `snapshot`. `ends` contains these calls, each with the batch that ends the call.
    /// `replaced` contains the elements that the intent creates again even if they have not changed.
    pub(super) fn end_in(
        snapshot: &mut Snapshot,
        ends: Vec<(CallRecord, Batch)>,
        replaced: BTreeSet<ElementName>,
    ) -> Self {
        let before = snapshot.assembly.clone();
        let calls = ends.into_iter().map(|(record, end)| {
            let element = snapshot.elements.get(&record.element).cloned();
            put_into(snapshot, &end);
            PendingCall { record, element, end }
        });
        Self { calls: calls.collect(), before, replaced }
    }

    /// Returns the elements of the pending calls.
    pub(super) fn elements(&self) -> BTreeSet<ElementName> {
        self.calls.iter().map(|call| call.record.element.clone()).collect()
    }

    /// Returns the pending calls that must end before the process of `draft` begins. windlass waits for their
    /// instances.
    pub(super) fn awaited_by(&self, draft: &Draft) -> Vec<CallId> {
        let awaited = self.calls.iter().filter(|call| self.decision(call, draft) == Decision::Wait);
        awaited.map(|call| call.record.id.clone()).collect()
    }

    /// Returns the calls that must end before a plan is possible. `refusal` is the reason why no plan is possible.
    pub(super) fn awaited_after(&self, refusal: &EngineError) -> Vec<CallId> {
        let is_needed = |element: &ElementName| match refusal {
            EngineError::Lifecycle(LifecycleError::NeedsExcepted { needs, .. }) => needs == element,
            EngineError::NotPermitted(omitted) => {
                omitted.changes().iter().any(|change| change.element == *element)
            }
            EngineError::NotUp { part, .. } => part == element,
            _ => false,
        };
        let awaited = self.calls.iter().filter(|call| is_needed(&call.record.element));
        awaited.map(|call| call.record.id.clone()).collect()
    }

    /// Adapts `draft`: its first batch also ends the calls of the parts that the plan removes or replaces. All other
    /// calls stay open. No call [is awaited](Self::awaited_by).
    ///
    /// # Errors
    /// The plan removes or replaces a protected part whose instance is converging.
    pub(super) fn decide(self, draft: &mut Draft) -> Result<(), EngineError> {
        let leaves: Vec<bool> =
            self.calls.iter().map(|call| self.decision(call, draft) == Decision::Leave).collect();
        for (call, is_left) in self.calls.into_iter().zip(leaves) {
            if !is_left {
                let mut changes = draft.diff.elements.iter_mut();
                if let Some(change) = changes.find(|change| change.element == call.record.element) {
                    change.may_be_complete = true;
                }
                draft.closing.extend(call.end);
                continue;
            }
            if let Some(element) = call.element {
                // A later process continues with the part. The plan was made as if the part had failed.
                let mut omitted = draft.undone.elements.iter_mut();
                if let Some(change) = omitted.find(|change| change.element == element.name) {
                    change.from = element.state;
                    if change.kind != ElementChangeKind::Removed {
                        change.kind = ElementChangeKind::Raised;
                    }
                }
                draft.world.elements.insert(element.name.clone(), element);
            }
            draft.world.left_open.insert(call.record.element.clone());
            draft.closing.push(Change::PutCall(Box::new(call.record)));
        }
        draft.refuse_protected(Some(&self.before.topology))
    }

    fn decision(&self, call: &PendingCall, draft: &Draft) -> Decision {
        let part = &call.record.element;
        let Some(change) = draft.diff.elements.iter().find(|change| change.element == *part) else {
            let is_left = draft.world.limited
                && self.is_described_alike(part, draft)
                && !draft.plan.work().any(|(_, work)| is_about(work, part, &draft.world));
            return if is_left { Decision::Leave } else { Decision::Wait };
        };
        if !may_end(&call.record) {
            return Decision::Wait;
        }
        let is_replaced = self.replaced.iter().any(|whole| part.is_in(whole));
        // A value that becomes known only during the plan may stay the same.
        let is_known = |property: &PropertyChange| !matches!(property.after, Shown::KnownAfter(_));
        let has_new_values = change.properties.iter().any(is_known);
        let is_other = change.repackaged || change.replaces.is_some() || has_new_values;
        match change.kind {
            // Without its early end, a Reconfigure may still succeed, and the part then stays.
            ElementChangeKind::Reinstalled if change.values_in_doubt && !is_other && !is_replaced => {
                Decision::Wait
            }
            ElementChangeKind::Removed | ElementChangeKind::Reinstalled => Decision::End,
            ElementChangeKind::Repaired if is_other || is_replaced => Decision::End,
            _ => Decision::Wait,
        }
    }

    /// Tells whether the desired assembly describes a part in the same way as the recorded assembly. The open call of
    /// the part can then be resumed after the process.
    fn is_described_alike(&self, part: &ElementName, draft: &Draft) -> bool {
        let (before, after) = (&self.before, &draft.world.assembly);
        let described = before.topology.get(part);
        let package = described.and_then(|element| before.packages.get(&element.descriptor));
        described == after.topology.get(part)
            && package == described.and_then(|element| after.packages.get(&element.descriptor))
    }
}

/// Tells whether a call may end before its instance is ready. The plan must then remove or replace the instance.
///
/// A removal that has begun does not end early: the engine would run its script again. The result is also `false` for
/// an Adopt, because the removal of an adopted instance needs the end of its adoption.
pub(super) fn may_end(call: &CallRecord) -> bool {
    use Transition::{Configure, Create, Install, Integrity, Reconfigure, Start};
    matches!(call.action, Action::Transition(Create | Install | Configure | Start | Integrity | Reconfigure))
}

/// Tells whether a step concerns a part. A step that creates a relationship concerns all parts at its ends. A step that
/// removes a relationship concerns only parts for which the relationship exists, at least in part.
fn is_about(work: &Work, part: &ElementName, world: &World) -> bool {
    match work {
        Work::Transition { element, .. } | Work::Package { element } | Work::Command { element, .. } => {
            element == part
        }
        Work::Relate(relate) => {
            let Relate { direction, assembly, relationship, target, sources, .. } = &**relate;
            let mut keys = world.pairs.there().map(|pair| &pair.key);
            match direction {
                Direction::Create => sources.iter().chain([target]).any(|end| part.is_in(end)),
                Direction::Cease | Direction::Undo => keys.any(|key| {
                    let is_same = key.assembly == *assembly && key.relationship == *relationship;
                    is_same && (part.is_in(&key.source) || part.is_in(&key.target))
                }),
            }
        }
        Work::Pause { .. } => false,
        _ => true,
    }
}
