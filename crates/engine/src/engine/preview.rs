//! Previews. A [`Preview`] shows the plan of an intent, but the engine does not execute this plan.

use std::collections::BTreeSet;

use windlass_driver::Stop;
use windlass_lifecycle::{Diff, Plan};
use windlass_model::record::{AssemblyRecord, CallRecord, CallState, Intent};
use windlass_model::{AssemblyName, ElementName, ProcessId};
use windlass_store::Snapshot;

use super::core::Engine;
use super::draft::{Draft, PreviousState};
use super::env::EngineEnv;
use super::look::{CheckScope, Seen};
use super::moved::refuse_if_moved;
use super::pending::{PendingCalls, may_end};
use super::references::refuse_if_referenced;
use super::request::Request;
use super::reserved::refuse_if_reserved;
use crate::error::EngineError;

/// A preview of an intent.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The plan of the intent.
    pub plan: Plan,
    /// The changes that the plan makes.
    pub diff: Diff,
    /// The changes that the plan omits because it is limited to some elements.
    pub undone: Diff,
    /// The record of the desired assembly.
    pub assembly: AssemblyRecord,
    /// The intent that would be recorded.
    pub intent: Intent,
    /// Whether the assembly already exists.
    pub exists: bool,
    /// A process that made a call whose end is not recorded; `None` if there is no such call. The plan does not contain
    /// the effects of this call.
    pub unfinished: Option<ProcessId>,
    /// The results of the health checks; `None` if no health checks were made.
    pub seen: Option<Vec<Seen>>,
}

impl Preview {
    fn of(draft: Draft) -> Self {
        let Draft { world, plan, diff, undone, intent, seen, before, .. } = draft;
        let (exists, unfinished) = (before.is_some(), before.and_then(|before| before.open));
        Self { plan, diff, undone, assembly: world.assembly, intent, exists, unfinished, seen }
    }
}

impl EngineEnv {
    /// Previews [`Request::up`] for an assembly that does not exist. This function uses no store, and changes
    /// nothing.
    ///
    /// # Errors
    /// The reason why the assembly can't be created.
    pub fn preview_new(&self, request: Request) -> Result<Preview, EngineError> {
        let draft = self.draft(request, None, PreviousState::default(), None)?;
        draft.refuse_other_plan()?;
        Ok(Preview::of(draft))
    }
}

impl Engine {
    /// Previews an intent, without changing anything.
    ///
    /// # Errors
    /// The reason why the intent is refused.
    pub async fn preview(
        &self,
        name: &AssemblyName,
        request: impl Into<Request>,
    ) -> Result<Preview, EngineError> {
        Ok(Preview::of(self.drafted(name, request.into()).await?))
    }

    /// Reads the present records, and makes the plan for a request. The function takes no lease, so another program
    /// may change the records meanwhile.
    pub(super) async fn drafted(
        &self,
        name: &AssemblyName,
        mut request: Request,
    ) -> Result<Draft, EngineError> {
        let mut snapshot = self.store.load(name).await?;
        if snapshot.is_none() && request.desired.is_none() {
            return Err(self.unknown(name).await?);
        }
        if snapshot.is_none() {
            refuse_if_reserved(&*self.store, name, None).await?;
            if !self.options.force {
                refuse_if_moved(&*self.store, name, &request).await?;
            }
        }
        if let Some(recorded) = snapshot.take() {
            snapshot = Some(self.supposed(name, recorded, request.answer.clone()).await?);
        }
        request = self.records().followed(request, snapshot.as_ref()).await?;
        let seen = self.refreshed(&request, snapshot.as_ref(), false, &Stop::default()).await?;
        let is_retry = request.intent == Intent::Retry;
        let draft = self.drafted_from(request, snapshot, seen).await?;
        draft.refuse_other_plan()?;
        if !is_retry && !self.options.force {
            refuse_if_referenced(&*self.store, &draft).await?;
        }
        Ok(draft)
    }

    /// Makes the draft of a request from the records in `snapshot`. If the plan removes or replaces a converging
    /// instance, the draft contains this change. `seen` contains the results of health checks.
    async fn drafted_from(
        &self,
        request: Request,
        snapshot: Option<Snapshot>,
        seen: Option<Vec<Seen>>,
    ) -> Result<Draft, EngineError> {
        let calls = snapshot.iter().flat_map(|snapshot| &snapshot.calls);
        let open = calls.clone().find(|call| call.state != CallState::Undecided).map(|call| call.process);
        let converging = calls.filter(|call| matches!(call.state, CallState::Converging { .. }));
        let elements: BTreeSet<ElementName> = converging.clone().map(|call| call.element.clone()).collect();
        let mut ending: Vec<CallRecord> = converging.filter(|call| may_end(call)).cloned().collect();
        let drafted = async |snapshot: Option<Snapshot>| {
            let previous = self.records().previous(&request.intent, snapshot.as_ref()).await?;
            let previous = PreviousState { converging: elements.clone(), ..previous };
            let mut draft = self.env.draft(request.clone(), snapshot, previous, seen.clone())?;
            if let Some(before) = &mut draft.before {
                before.open = open;
            }
            Ok::<_, EngineError>(draft)
        };
        while let Some(recorded) = snapshot.as_ref().filter(|_| !ending.is_empty()) {
            let mut ended = recorded.clone();
            let ends = self.given_up(&Snapshot { calls: ending.clone(), ..recorded.clone() }).await?;
            let pending = PendingCalls::end_in(&mut ended, ends, request.replaced());
            let draft = drafted(Some(ended)).await;
            let awaited = match &draft {
                Ok(draft) => pending.awaited_by(draft),
                Err(refusal) => pending.awaited_after(refusal),
            };
            if awaited.is_empty() {
                let mut draft = draft?;
                pending.decide(&mut draft)?;
                return Ok(draft);
            }
            // The execution waits for these instances. The preview shows their parts as they are recorded.
            ending.retain(|call| !awaited.contains(&call.id));
        }
        drafted(snapshot).await
    }

    /// Checks the health of an assembly before the plan of a request is made, if the request demands health
    /// checks.
    pub(super) async fn refreshed(
        &self,
        request: &Request,
        snapshot: Option<&Snapshot>,
        is_held: bool,
        stop: &Stop,
    ) -> Result<Option<Vec<Seen>>, EngineError> {
        let (Some(within), Some(snapshot)) = (request.refresh, snapshot) else { return Ok(None) };
        let Some(scope) = CheckScope::before(&request.intent, &snapshot.assembly) else { return Ok(None) };
        let held = is_held.then(|| snapshot.assembly.name.clone());
        let world = self.records().loaded(snapshot.clone()).await?;
        Box::pin(self.checks().of(world, &scope, Some(within), held, stop)).await.map(Some)
    }
}
