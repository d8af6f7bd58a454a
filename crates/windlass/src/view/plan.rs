//! The view of a plan: its steps, the changes that it makes, and the reasons why its steps wait.

use serde::Serialize;
use windlass_driver::Observation;
use windlass_engine::{Preview, Seen};
use windlass_lifecycle::{BatchSteps, Counts, Diff, Effect, ElementChange, PackageDiff, Plan};
use windlass_model::assembly::Pause;
use windlass_model::record::Intent;
use windlass_model::work::{Batch, Reason, Work};
use windlass_model::{AssemblyName, Element, ElementName, Origin, ProcessId, StepId, Topology};
use windlass_plan::{Step, StepNumber, WaitKind};

/// A plan as output data: its steps and the changes that it makes.
#[derive(Debug, Clone, Serialize)]
pub struct PlanView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The steps of the plan, sorted by their ids. Steps that call a driver have lower ids than all other steps.
    /// Barriers, which are steps without work, are left out.
    pub steps: Vec<StepView>,
    /// The longest chain of steps that depend on each other.
    pub critical_path: Vec<StepId>,
    /// Maximum number of steps that could run concurrently.
    pub widest: usize,
    /// The changes that the plan makes.
    pub changes: Diff,
    /// The change of each affected part, sorted by effect: replaced and removed parts come first.
    pub parts: Vec<PartView>,
    /// The number of changes by effect.
    pub counts: Counts,
    /// The files that differ between the installed and the desired packages of parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<PackageDiff>,
    /// The changes that the plan omits, because the user has limited the plan to some parts. For `heal`, these are the
    /// replacements of other parts that the healed part could use.
    pub undone: Diff,
    /// The parts that become protected, or are no longer protected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protection: Vec<ProtectionChange>,
    /// The process that is changing the assembly now, or that was interrupted. The plan does not consider the
    /// changes that this process has not made yet. `None` if there is no such process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<UnfinishedProcess>,
    /// The results of the health checks that ran before planning; `None` if no checks ran.
    pub drift: Option<Vec<DriftView>>,
    /// Whether this is the plan of `heal`.
    #[serde(skip)]
    pub heals: bool,
    /// The plan itself. The method [`why`](PlanView::why) uses it to explain why a step waits for other steps.
    #[serde(skip)]
    plan: Plan,
}

/// A running process of an assembly, or a process that ended before all of its calls had ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnfinishedProcess {
    /// The id of the process.
    pub id: ProcessId,
    /// The intent of the process.
    pub intent: String,
    /// The windlass program that is executing the intent; `None` if the execution was interrupted.
    pub runs: Option<String>,
}

/// A part that becomes protected, or is no longer protected. The protection also applies to the elements inside the
/// part. The list of changes contains these elements only if their own flags `protected` change, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProtectionChange {
    /// The name of the part. If the protection of the whole assembly changes, this is the name of the assembly.
    pub part: ElementName,
    /// Whether the part is protected after the change.
    pub protected: bool,
}

impl ProtectionChange {
    /// Returns the changes of protection between two topologies of an assembly. Parts that exist in only one
    /// of the topologies are left out.
    pub(crate) fn between(before: &Topology, after: &Topology) -> Vec<Self> {
        let changed = |element: &Element| {
            let was = before.get(&element.name)?.protected;
            let change = Self { part: element.name.clone(), protected: element.protected };
            (was != element.protected).then_some(change)
        };
        after.elements().iter().filter_map(changed).collect()
    }
}

/// The change of a part.
#[derive(Debug, Clone, Serialize)]
pub struct PartView {
    /// The name of the part.
    pub part: ElementName,
    /// The effect of the change on the part.
    pub kind: Effect,
    /// The change as a line of text, with its values.
    pub text: String,
}

/// The observed state of an active part, compared with its record.
#[derive(Debug, Clone, Serialize)]
pub struct DriftView {
    /// The name of the part.
    pub element: ElementName,
    /// Whether the part matches its record; `None` if that is unknown.
    pub well: Option<bool>,
    /// The observation, or the reason why the part was not observed.
    pub seen: String,
}

impl DriftView {
    pub(crate) fn new(seen: &Seen) -> Self {
        let well = seen.is_well();
        let seen_as = match &seen.sight {
            Ok(Observation::Reached) => "as it should be".to_owned(),
            Ok(Observation::Absent) => "it no longer exists".to_owned(),
            Ok(Observation::Converging) => "it is converging".to_owned(),
            Ok(Observation::Differs(how)) => how.clone(),
            Ok(Observation::CannotTell(why)) => format!("its condition is unknown: {why}"),
            Ok(Observation::Unanswered) => format!("its condition is unknown: {}", Observation::NO_ANSWER),
            Ok(_) => "its condition is unknown".to_owned(),
            Err(failure) => format!("it can't be observed: {failure}"),
        };
        Self { element: seen.element.clone(), well, seen: seen_as }
    }
}

/// The explanation why a step of a plan waits.
#[derive(Debug, Clone, Serialize)]
pub struct WhyView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The step that is explained.
    pub step: StepId,
    /// The part and the action of the step, for example `web__1 Configure`.
    pub action: String,
    /// The direct and indirect waits of the step. Each wait is followed by the waits of the awaited step. For an
    /// exception, see [`repeated`](BecauseView::repeated).
    pub waits: Vec<BecauseView>,
}

/// A wait that an explanation lists: one step waits for another step.
#[derive(Debug, Clone, Serialize)]
pub struct BecauseView {
    /// The level of the wait in the explanation. The waits of the explained step have the level 1, and the waits of
    /// an awaited step have the next level. Example: s3 waits for s2, and s2 waits for s1. In the explanation of
    /// s3, these two waits have the levels 1 and 2.
    ///
    /// A barrier is a step without work, and adds no level. The waits of the barrier have the same level as the
    /// wait for the barrier.
    pub depth: usize,
    /// The step that waits.
    pub step: StepId,
    /// The awaited step.
    pub on: StepId,
    /// The part and the action of the awaited step, for example `db Start`. For a barrier, this is the condition that
    /// holds after the barrier, for example `all parts are Installed`.
    pub action: String,
    /// Whether the awaited step must succeed, or may also fail.
    pub kind: WaitKind,
    /// The reason of the wait.
    pub reason: String,
    /// The reason as the end of a sentence, for people, for example `because B__1 must be Inactive first`.
    #[serde(skip)]
    pub clause: String,
    /// The place of the declaration that causes the wait.
    pub origin: Option<Origin>,
    /// Whether the waits of the awaited step are left out after this entry, because the list already contains them at
    /// an earlier place.
    pub repeated: bool,
}

/// A step of a plan as output data.
#[derive(Debug, Clone, Serialize)]
pub struct StepView {
    /// The id of the step: its number in the plan.
    pub id: StepId,
    /// The element on which the step acts.
    pub element: ElementName,
    /// The action of the step.
    pub action: String,
    /// Whether the step calls a driver, or only changes a state.
    pub calls: bool,
    /// The batch to which the step belongs. If the step is a pause, this is the batch after the pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
    /// The length of a pause between two batches; `None` for other steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The source nodes of the pairs that the step connects or separates. Empty for a step that changes no
    /// relationship, and for a step that belongs to no batch of nodes.
    #[serde(skip)]
    pub(crate) sources: Vec<ElementName>,
    /// The number of driver calls that the step makes if none fails.
    #[serde(skip)]
    pub call_count: u64,
    /// The waits of this step. There is one entry for each step and each barrier for which this step waits. A barrier
    /// stands for several steps: a wait for the barrier is a wait for all these steps.
    pub waits: Vec<WaitView>,
}

/// A wait of a step as output data.
#[derive(Debug, Clone, Serialize)]
pub struct WaitView {
    /// Whether the awaited step must succeed, or may also fail.
    pub kind: WaitKind,
    /// The awaited step. `None` if the awaited entry of the plan is a barrier, which stands for several steps.
    pub on: Option<StepId>,
    /// The reason of the wait.
    pub reason: String,
    /// The place of the declaration that causes the wait.
    pub origin: Option<Origin>,
}

/// Returns the change of each part, sorted by effect: replaced and removed parts come first. Parts with the
/// same effect keep the order of their declaration.
fn parts(changes: &Diff) -> Vec<PartView> {
    let part = |change: &ElementChange| PartView {
        part: change.element.clone(),
        kind: change.effect(),
        text: change.to_string(),
    };
    let mut parts: Vec<PartView> = changes.elements.iter().map(part).collect();
    parts.sort_by_key(|part| part.kind);
    parts
}

impl PlanView {
    /// Creates the view of a plan and its changes.
    pub fn new(assembly: AssemblyName, plan: &Plan, changes: Diff) -> Self {
        let batches = BatchSteps::of(plan);
        Self {
            version: 1,
            assembly,
            steps: plan.steps().filter_map(|step| StepView::new(plan, &batches, step)).collect(),
            critical_path: plan.critical_path().into_iter().map(id).collect(),
            widest: plan.widest(),
            parts: parts(&changes),
            counts: Counts::of(&changes),
            packages: changes.packages.clone(),
            changes,
            protection: Vec::new(),
            undone: Diff::default(),
            unfinished: None,
            drift: None,
            heals: false,
            plan: plan.clone(),
        }
    }

    pub(crate) fn of(assembly: AssemblyName, preview: Preview) -> Self {
        let Preview { plan, diff, undone, seen, intent, .. } = preview;
        Self::new(assembly, &plan, diff).undone(undone, &intent).observed(seen.as_deref())
    }

    /// Sets the parts that become protected, or are no longer protected.
    pub(crate) fn with_protection(self, protection: Vec<ProtectionChange>) -> Self {
        Self { protection, ..self }
    }

    /// Sets the process that is changing the assembly now, or that was interrupted.
    pub(crate) fn beside(self, unfinished: Option<UnfinishedProcess>) -> Self {
        Self { unfinished, ..self }
    }

    /// Sets the changes that the plan of `intent` omits.
    pub(crate) fn undone(self, undone: Diff, intent: &Intent) -> Self {
        Self { undone, heals: matches!(intent, Intent::Heal(_)), ..self }
    }

    /// Sets the results of the health checks that ran before planning.
    pub(crate) fn observed(self, seen: Option<&[Seen]>) -> Self {
        Self { drift: seen.map(|seen| seen.iter().map(DriftView::new).collect()), ..self }
    }

    /// Explains for which other steps a step waits, directly or indirectly, and why. Returns `None` if there is no
    /// such step.
    pub fn why(&self, step: StepId) -> Option<WhyView> {
        let number = StepNumber(step.0);
        let action = self.plan.step(number)?.task.to_string();
        let waits = self.plan.why(number, usize::MAX)?.into_iter().map(|because| BecauseView {
            depth: because.depth,
            step: id(because.step.number),
            on: id(because.on.number),
            action: because.on.task.to_string(),
            kind: because.wait.kind,
            reason: because.wait.reason.to_string(),
            clause: because.wait.reason.clause(),
            origin: because.wait.reason.origin().cloned(),
            repeated: because.is_repeated,
        });
        Some(WhyView { version: 1, step, action, waits: waits.collect() })
    }

    /// Returns the step with the id `step`. Returns `None` if there is no such step, or if the step is a barrier.
    pub fn step(&self, step: StepId) -> Option<&StepView> {
        let at = self.steps.binary_search_by_key(&step, |step| step.id).ok()?;
        self.steps.get(at)
    }

    /// Returns the steps that call a driver.
    pub fn calling(&self) -> impl Iterator<Item = &StepView> {
        self.steps.iter().filter(|step| step.calls)
    }
}

impl StepView {
    fn new(plan: &Plan, batches: &BatchSteps, step: Step<'_, Work, Reason>) -> Option<Self> {
        let work = step.task.work()?;
        let (batch, pause) = match work {
            Work::Pause { before, pause } => (Some(before), Some(*pause)),
            work => (batches.batch_of(work), None),
        };
        let waits = step.waits().map(|wait| {
            let is_barrier = plan.step(wait.on).is_some_and(|on| on.task.is_barrier());
            WaitView {
                kind: wait.kind,
                on: (!is_barrier).then_some(id(wait.on)),
                reason: wait.reason.to_string(),
                origin: wait.reason.origin().cloned(),
            }
        });
        Some(Self {
            id: id(step.number),
            element: work.element().clone(),
            action: work.verb(),
            calls: work.has_calls(),
            batch: batch.cloned(),
            pause,
            sources: match work {
                Work::Relate(relate) if batch.is_some() => relate.sources.clone(),
                _ => Vec::new(),
            },
            call_count: work.calls(),
            waits: waits.collect(),
        })
    }
}

fn id(number: StepNumber) -> StepId {
    StepId(number.0)
}
