//! The barriers between the phases of a plan.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::work::{Reason, Work};
use windlass_plan::{Cycle, Draft, PlanBuilder, WaitKind};

use super::planned::Plan;
use crate::constraints::phase::{self, Phase};
use crate::constraints::{Graph, PhaseRole};
use crate::rank;

type Builder = PlanBuilder<Work, Reason>;

/// Adds the barriers between phases and orders the steps.
pub(crate) fn build(graph: Graph) -> Result<Plan, Cycle<Work, Reason>> {
    let (mut builder, roles) = graph.into_parts();
    // If the waits already form a cycle, no barriers are added, so the reported cycle contains no such
    // barrier.
    if let Some(demanded) = demanded(&mut builder, &roles) {
        add_phases(&mut builder, &roles, &demanded);
    }
    // Lists of steps omit steps without driver calls.
    builder.build_listed(Work::has_calls)
}

/// Adds a barrier after each phase except the last, and makes steps wait for these barriers.
///
/// The slice `demanded` is the result of the function [`demanded`]. It contains for each step the lowest of these
/// phases: the phase of the step itself, and the phases of the steps that wait for the step. A step with the role
/// [`PhaseRole::Waiting`] waits for the last barrier before its phase in `demanded`.
fn add_phases(builder: &mut Builder, roles: &[PhaseRole], demanded: &[Phase]) {
    let mut phases: BTreeSet<Phase> = roles.iter().filter_map(|role| role.phase()).collect();
    phases.pop_last();
    let mut barriers = BTreeMap::new();
    for phase in phases {
        let why = builder.note(Reason::Phase { label: label(phase) });
        barriers.insert(phase, (builder.barrier(label(phase)), why));
    }
    let barrier_of = by_phase(|phase| barriers.get(&phase).copied());
    let barrier_before = by_phase(|phase| barriers.range(..phase).next_back().map(|(_, found)| *found));
    for ((step, role), demanded) in Draft::all().zip(roles).zip(demanded) {
        if let Some((barrier, why)) = role.phase().and_then(|phase| barrier_of[usize::from(phase)]) {
            builder.wait_because(barrier, step, WaitKind::After, why);
        }
        if let (PhaseRole::Waiting(_), Some((barrier, why))) = (role, barrier_before[usize::from(*demanded)])
        {
            builder.wait_because(step, barrier, WaitKind::After, why);
        }
    }
}

/// Returns for each step the lowest of these phases: the phase of the step itself, and the phases of all steps that
/// wait for the step, directly or through other steps. Returns `None` if the waits form a cycle.
///
/// For example, step `b` belongs to phase 20, and step `a` of phase 4 waits for `b`. Then the result for `b` is 4,
/// and [`add_phases`] makes `b` wait only for the phases before phase 4. If `b` waited for all phases before phase
/// 20, `b` would also wait for phase 4, to which `a` belongs. So `a` and `b` would wait for each other.
fn demanded(builder: &mut Builder, roles: &[PhaseRole]) -> Option<Vec<Phase>> {
    let phases = roles.iter().map(|role| role.phase().unwrap_or(Phase::MAX)).collect();
    builder.least_of_dependents(phases)
}

/// Returns a table with an entry for each possible phase.
fn by_phase<T>(of: impl Fn(Phase) -> T) -> Vec<T> {
    (0..=Phase::MAX).map(of).collect()
}

/// Returns a text for display: the condition that holds at the end of a phase.
fn label(number: Phase) -> String {
    let down = |offset| match offset {
        phase::STOP => "stopped",
        phase::UNINSTALL => "uninstalled",
        _ => "gone",
    };
    match number {
        phase::CLEAR => "unhealthy parts are cleaned up".to_owned(),
        1..phase::CHANGE => format!("all parts are {}", rank::state(number)),
        phase::CHANGE..phase::AGAIN => {
            format!("all parts that change are {}", down(number - phase::CHANGE))
        }
        phase::ROLL => "all batches are Active".to_owned(),
        phase::AGAIN..phase::ROLL => {
            format!("all parts that change are {} again", rank::state(number - phase::AGAIN))
        }
        phase::CUT_OVER..phase::OUT => "all relationships are moved".to_owned(),
        _ => format!("all parts are {}", down(number - phase::OUT)),
    }
}
