//! A plan as it is shown.

use serde::Serialize;
use windlass_driver::Observation;
use windlass_engine::Seen;
use windlass_lifecycle::Diff;
use windlass_model::{AssemblyName, ElementName, Origin, StepId};
use windlass_plan::{Plan, Step, WaitKind, Work};

/// A plan as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct PlanView {
    /// The version of this form.
    pub version: u32,
    /// The assembly.
    pub assembly: AssemblyName,
    /// The steps, in an order in which they could be taken one by one.
    pub steps: Vec<StepView>,
    /// The longest chain of steps that wait for each other.
    pub critical_path: Vec<StepId>,
    /// How many steps could run at once at the widest place.
    pub widest: usize,
    /// What is different afterwards.
    pub changes: Diff,
    /// How the parts that are up were found; none when nobody looked.
    pub drift: Option<Vec<DriftView>>,
    /// The plan itself, of which explanations are made.
    #[serde(skip)]
    plan: Plan,
}

/// How a part that is up was found, beside what is on record.
#[derive(Debug, Clone, Serialize)]
pub struct DriftView {
    /// The part.
    pub element: ElementName,
    /// Whether it is as its record says; none when that can't be told.
    pub well: Option<bool>,
    /// What was seen, or why nothing was.
    pub seen: String,
}

impl DriftView {
    pub(crate) fn new(seen: Seen) -> Self {
        let well = seen.is_well();
        let seen_as = match &seen.sight {
            Ok(Observation::Reached) => "as it should be".to_owned(),
            Ok(Observation::Absent) => "it is not there any more".to_owned(),
            Ok(Observation::Converging) => "it is on its way".to_owned(),
            Ok(Observation::Differs(how)) => format!("it differs: {how}"),
            Ok(Observation::CannotTell(why)) => format!("it can't be told: {why}"),
            Ok(_) => "it can't be told".to_owned(),
            Err(failure) => format!("it can't be looked at: {failure}"),
        };
        Self { element: seen.element, well, seen: seen_as }
    }
}

/// Why a step waits, as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct WhyView {
    /// The version of this form.
    pub version: u32,
    /// The step.
    pub step: StepId,
    /// What it does.
    pub action: String,
    /// Its waits, each followed by those of what it waits for.
    pub waits: Vec<BecauseView>,
}

/// One wait of an explanation.
#[derive(Debug, Clone, Serialize)]
pub struct BecauseView {
    /// How far it is from the step: 1 for its own waits.
    pub depth: usize,
    /// The step that waits.
    pub step: StepId,
    /// What it waits for.
    pub on: StepId,
    /// What that does.
    pub action: String,
    /// Whether it must succeed, or only end.
    pub kind: WaitKind,
    /// Why.
    pub reason: String,
    /// Where the reason is declared.
    pub origin: Option<Origin>,
    /// Whether the waits of what is waited for were told before.
    pub told: bool,
}

/// A step as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct StepView {
    /// Its number.
    pub id: StepId,
    /// What it is done to.
    pub element: ElementName,
    /// What is done.
    pub action: String,
    /// Whether a driver is called, or only a state moves on.
    pub calls: bool,
    /// What it waits for. Waits through barriers are waits for what is before the barrier.
    pub waits: Vec<WaitView>,
}

/// A wait as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct WaitView {
    /// Whether what is waited for must succeed, or only end.
    pub kind: WaitKind,
    /// The steps that are waited for, when they are few: a barrier is told by its label.
    pub on: Option<StepId>,
    /// Why.
    pub reason: String,
    /// Where the reason is declared.
    pub origin: Option<Origin>,
}

impl PlanView {
    /// Makes the view of a plan.
    pub fn new(assembly: AssemblyName, plan: &Plan, changes: Diff) -> Self {
        Self {
            version: 1,
            assembly,
            steps: plan.work().filter_map(|step| StepView::new(plan, step)).collect(),
            critical_path: plan.critical_path(),
            widest: plan.widest(),
            changes,
            drift: None,
            plan: plan.clone(),
        }
    }

    /// Explains a step, as far back as there is anything to wait for. Nothing for a step that isn't there.
    pub fn why(&self, id: StepId) -> Option<WhyView> {
        let action = self.plan.step(id)?.work.to_string();
        let waits = self.plan.why(id, usize::MAX)?.into_iter().map(|because| BecauseView {
            depth: because.depth,
            step: because.step.id,
            on: because.on.id,
            action: because.on.work.to_string(),
            kind: because.wait.kind,
            reason: because.wait.reason().to_string(),
            origin: because.wait.reason().origin().cloned(),
            told: because.told,
        });
        Some(WhyView { version: 1, step: id, action, waits: waits.collect() })
    }

    /// Returns the steps that call a driver.
    pub fn calling(&self) -> impl Iterator<Item = &StepView> {
        self.steps.iter().filter(|step| step.calls)
    }
}

impl StepView {
    fn new(plan: &Plan, step: Step<'_>) -> Option<Self> {
        let waits = step.waits().map(|wait| {
            let reason = wait.reason();
            let barrier = plan.step(wait.on).is_some_and(|on| matches!(on.work, Work::Barrier { .. }));
            WaitView {
                kind: wait.kind,
                on: (!barrier).then_some(wait.on),
                reason: reason.to_string(),
                origin: reason.origin().cloned(),
            }
        });
        Some(Self {
            id: step.id,
            element: step.work.element()?.clone(),
            action: step.work.verb(),
            calls: step.work.has_calls(),
            waits: waits.collect(),
        })
    }
}
