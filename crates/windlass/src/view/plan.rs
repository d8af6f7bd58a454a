//! A plan as it is shown.

use std::fmt;

use serde::Serialize;
use windlass_driver::Observation;
use windlass_engine::Seen;
use windlass_lifecycle::{Diff, Effect, ElementChange, Plan};
use windlass_model::work::{Reason, Work};
use windlass_model::{AssemblyName, ElementName, Origin, StepId};
use windlass_plan::{Step, StepNumber, WaitKind};

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
    /// What happens to each part that changes, those first that are lost.
    pub parts: Vec<PartView>,
    /// The same in numbers.
    pub counts: Counts,
    /// What is left as it is, since the plan is limited to some parts.
    pub undone: Diff,
    /// How the parts that are up were found; none when nobody looked.
    pub drift: Option<Vec<DriftView>>,
    /// The plan itself, of which explanations are made.
    #[serde(skip)]
    plan: Plan,
}

/// What happens to a part.
#[derive(Debug, Clone, Serialize)]
pub struct PartView {
    /// The part.
    pub part: ElementName,
    /// What happens to it.
    pub kind: Effect,
    /// The same in a line for people, with its values.
    pub text: String,
}

/// How many parts change, and in what way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Parts that come.
    pub added: usize,
    /// Parts that stay, and are not as before.
    pub changed: usize,
    /// Parts that go down and come up again as they were.
    pub restarted: usize,
    /// Parts that go, and come again as others.
    pub replaced: usize,
    /// Parts that go.
    pub removed: usize,
    /// Relationships that change by themselves.
    pub relationships: usize,
}

impl Counts {
    /// Counts changes.
    pub fn of(changes: &Diff) -> Self {
        let mut counts = Self { relationships: changes.relationships.len(), ..Self::default() };
        for change in &changes.elements {
            match change.effect() {
                Effect::Added => counts.added += 1,
                Effect::Restarted => counts.restarted += 1,
                Effect::Replaced => counts.replaced += 1,
                Effect::Removed => counts.removed += 1,
                _ => counts.changed += 1,
            }
        }
        counts
    }

    /// Tells whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Counts {
    /// Writes the numbers that are not zero: `2 to add, 1 to replace, 3 to remove`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.added, "to add"),
            (self.changed, "to change"),
            (self.restarted, "to restart"),
            (self.replaced, "to replace"),
            (self.removed, "to remove"),
        ];
        let mut words: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        match self.relationships {
            0 => {}
            1 => words.push("1 relationship to change".to_owned()),
            many => words.push(format!("{many} relationships to change")),
        }
        f.write_str(&words.join(", "))
    }
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

/// Returns what happens to each part, those first that are lost, else in the order of declaration.
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
    /// Makes the view of a plan.
    pub fn new(assembly: AssemblyName, plan: &Plan, changes: Diff) -> Self {
        Self {
            version: 1,
            assembly,
            steps: plan.steps().filter_map(|step| StepView::new(plan, step)).collect(),
            critical_path: plan.critical_path().into_iter().map(id).collect(),
            widest: plan.widest(),
            parts: parts(&changes),
            counts: Counts::of(&changes),
            changes,
            undone: Diff::default(),
            drift: None,
            plan: plan.clone(),
        }
    }

    /// Says what is left as it is.
    pub(crate) fn undone(self, undone: Diff) -> Self {
        Self { undone, ..self }
    }

    /// Explains a step, as far back as there is anything to wait for. Nothing for a step that isn't there.
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
            origin: because.wait.reason.origin().cloned(),
            told: because.told,
        });
        Some(WhyView { version: 1, step, action, waits: waits.collect() })
    }

    /// Returns the steps that call a driver.
    pub fn calling(&self) -> impl Iterator<Item = &StepView> {
        self.steps.iter().filter(|step| step.calls)
    }
}

impl StepView {
    fn new(plan: &Plan, step: Step<'_, Work, Reason>) -> Option<Self> {
        let work = step.task.work()?;
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
            waits: waits.collect(),
        })
    }
}

/// Returns the id of the step with a number.
fn id(number: StepNumber) -> StepId {
    StepId(number.0)
}
