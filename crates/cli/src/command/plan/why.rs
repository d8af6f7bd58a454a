//! `windlass plan --why`: explains in sentences why a step is in the plan, and why it does not begin earlier.

use std::process::ExitCode;

use windlass::model::StepId;
use windlass::plan::WaitKind;
use windlass::view::plan::{BecauseView, PlanView, WhyView};

use super::print_json;
use crate::args::Format;
use crate::failure::fault;
use crate::output::{DIM, STRONG, say, styled};
use crate::{codes, exit};

/// Explains one step, given as `s7` or `7`.
pub(super) fn explain(plan: &PlanView, step: &str, format: Format) -> ExitCode {
    let number = step.strip_prefix('s').unwrap_or(step).parse().ok().map(StepId);
    let Some(why) = number.and_then(|id| plan.why(id)) else {
        fault!(codes::UNKNOWN_STEP, "the plan has no step `{step}`: {}", steps(plan));
        return exit::wrong_input();
    };
    if format == Format::Json {
        return print_json(&why);
    }
    say!("{} {}", styled(DIM, why.step.to_string()), styled(STRONG, &why.action));
    if let Some(change) = change(plan, &why) {
        say!("  {} is in the plan because of this change: {change}.", why.step);
    }
    if why.waits.is_empty() {
        say!("  {} waits for no other step, so it begins at once.", why.step);
    }
    for wait in &why.waits {
        // The sentence about a barrier names the steps before the barrier.
        if is_barrier(plan, wait.step) && !is_barrier(plan, wait.on) {
            continue;
        }
        say!("{}{}", "  ".repeat(wait.depth), sentence(plan, &why, wait));
    }
    exit::DONE
}

fn steps(plan: &PlanView) -> String {
    match (plan.steps.first(), plan.steps.last()) {
        (Some(first), Some(last)) => format!("its steps are {} to {}", first.id, last.id),
        _ => "there is nothing to do".to_owned(),
    }
}

/// Returns the change to which a step belongs, as the list of changes shows it, but without the sign. `None` if the
/// list contains neither the step's relationship nor the step's part.
fn change(plan: &PlanView, why: &WhyView) -> Option<String> {
    let step = plan.step(why.step)?;
    let mut relationships = plan.changes.relationships.iter();
    let named = |name: &str| why.action.contains(&format!(" {name}: "));
    let relationship =
        relationships.find(|change| named(change.relationship.as_str())).map(ToString::to_string);
    let part = || plan.parts.iter().find(|part| part.part == step.element).map(|part| part.text.clone());
    let text = relationship.or_else(part)?;
    let line = text.lines().next()?;
    Some(line.split_once(' ').map_or(line, |(_, change)| change).to_owned())
}

/// Tells whether a number belongs to a barrier: an entry of the plan without work. The view lists no barriers.
fn is_barrier(plan: &PlanView, step: StepId) -> bool {
    plan.step(step).is_none()
}

/// Returns one sentence about a wait: the awaited steps, and the reason.
fn sentence(plan: &PlanView, why: &WhyView, wait: &BecauseView) -> String {
    let BecauseView { step, on, action, kind, clause, origin, repeated, .. } = wait;
    let waiting = if is_barrier(plan, *step) { "this condition".to_owned() } else { step.to_string() };
    let place = origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
    let above = if *repeated { " (see above)" } else { "" };
    if is_barrier(plan, *on) {
        let before = if *repeated { None } else { before(plan, why, *on) };
        let before = before.map(|before| format!(", which holds after {before}")).unwrap_or_default();
        return format!("{waiting} waits for the condition \"{action}\"{before}{place}{above}.");
    }
    let end = match kind {
        WaitKind::Needs => "has succeeded",
        WaitKind::After => "has ended",
    };
    let action = short(action);
    format!("{waiting} waits until {on} {action} {end}, {}.", styled(DIM, format!("{clause}{place}{above}")))
}

/// Returns an action without the list of its operations: `B__1 Create serves` for `B__1 Create serves: target.Join`.
fn short(action: &str) -> &str {
    action.split_once(": ").map_or(action, |(action, _)| action)
}

/// Maximum number of steps that a sentence names.
const NAMED: usize = 5;

/// Lists the steps directly before a barrier. `None` if the explanation contains no such steps.
fn before(plan: &PlanView, why: &WhyView, barrier: StepId) -> Option<String> {
    let mut steps = Vec::new();
    for wait in why.waits.iter().filter(|wait| wait.step == barrier && !is_barrier(plan, wait.on)) {
        let name = format!("{} {}", wait.on, short(&wait.action));
        if !steps.contains(&name) {
            steps.push(name);
        }
    }
    let more = steps.len().saturating_sub(NAMED);
    steps.truncate(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    let mut names: Vec<String> = steps.into_iter().chain(more).collect();
    let last = names.pop()?;
    Some(if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) })
}
