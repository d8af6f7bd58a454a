//! The steps of each resource: first the steps to lower states, and then the steps to higher states.

use windlass_model::Side;
use windlass_model::work::Work;
use windlass_model::{Element, State, Transition, Transitions};

use crate::changes::{ChangeKind, Part};
use crate::constraints::Graph;
use crate::constraints::phase::{self, Phase};
use crate::rank;

/// Adds all steps of a part to a plan.
pub(crate) fn add(graph: &mut Graph, part: &mut Part<'_>) {
    descend(graph, part);
    if part.change_kind == ChangeKind::Reconfigure {
        reconfigure(graph, part);
    } else if part.change_kind == ChangeKind::Adopt {
        adopt(graph, part);
    } else if part.after.is_some() {
        ascend(graph, part);
    }
    if part.only_changes_package() {
        repackage(graph, part);
    }
}

/// Returns the number of the phase in which a part goes to lower states.
///
/// The phases [`phase::CHANGE`] and [`phase::OUT`] are divided further: the caller adds the offset of each step. For
/// example, the Stop of a removed part has the phase `OUT + STOP`.
fn down_base(part: &Part<'_>) -> Phase {
    match part.change_kind {
        ChangeKind::Remove => phase::OUT,
        _ if part.rolls.moves_in_turn() => phase::ROLL,
        ChangeKind::Repair | ChangeKind::Heal => phase::CLEAR,
        _ => phase::CHANGE,
    }
}

/// Returns the number of the phase in which a part goes to higher states.
///
/// The phases [`phase::CLIMB`] and [`phase::AGAIN`] are divided further: the caller adds the [rank] that
/// each step reaches. For example, the Install of a new part has the phase `CLIMB + INSTALLED`.
fn up_base(part: &Part<'_>) -> Phase {
    match part.change_kind {
        _ if part.rolls.moves_in_turn() => phase::ROLL,
        ChangeKind::Reinstall | ChangeKind::Lower | ChangeKind::Reconfigure => phase::AGAIN,
        _ => phase::CLIMB,
    }
}

fn descend(graph: &mut Graph, part: &mut Part<'_>) {
    let Some(low) = part.falls_to() else { return };
    let Some(element) = undone(part) else { return };
    let base = down_base(part);
    let mut above = None;
    for stair in stairs(element, part, low) {
        let calls = element.transitions.and(stair.calls);
        let work = Work::Transition {
            element: part.name.clone(),
            from: stair.from,
            to: stair.to,
            calls,
            side: Side::Installed,
        };
        // All steps in the phase `CLEAR` have the same phase number, and all steps in the phase `ROLL` do too. In
        // other phases, the offset of the step determines the phase number.
        let number = if matches!(base, phase::CLEAR | phase::ROLL) { base } else { base + stair.offset };
        let step = match above {
            Some(above) => graph.next_step(number, work, stair.from, above),
            None => graph.step(number, work),
        };
        part.steps.set_leave(stair.to.rank().unwrap_or(rank::ABSENT) + 1..=stair.above, step);
        above = Some(step);
    }
}

/// Returns the element that describes how a part is removed.
///
/// Usually, this is `part.before`, the element that the last attempt to install the part used. If Create or Install
/// failed in this attempt, a wrong value in `part.before` may be the cause. The desired element (`part.after`) may
/// correct this value. So the function then returns `part.after`, if both elements have the same descriptor.
fn undone<'a>(part: &Part<'a>) -> Option<&'a Element> {
    let never_was = part.now.state == State::Failed
        && matches!(part.now.attempted, Some(Transition::Create | Transition::Install));
    match (part.before, part.after) {
        (Some(before), Some(after)) if never_was && before.descriptor == after.descriptor => Some(after),
        (before, after) => before.or(after),
    }
}

fn ascend(graph: &mut Graph, part: &mut Part<'_>) {
    let base = up_base(part);
    let mut state = rank::state(part.low);
    let mut below = part.steps.lowest();
    for rank in part.low + 1..=part.end {
        let to = rank::state(rank);
        if to == State::Created && !part.declared.has_created() {
            continue;
        }
        let calls = part.declared.and(calls_into(to));
        let work =
            Work::Transition { element: part.name.clone(), from: state, to, calls, side: Side::Desired };
        let number = if base == phase::ROLL { base } else { base + rank };
        let step = match below {
            Some(below) => graph.next_step(number, work, state, below),
            None => graph.step(number, work),
        };
        part.steps.set_enter(rank..=rank, step);
        (state, below) = (to, Some(step));
    }
}

/// Adds the step that adopts an existing part.
///
/// If the resource declares no Adopt, the engine finds the instance by the `queries` of the resource.
fn adopt(graph: &mut Graph, part: &mut Part<'_>) {
    let work = Work::Transition {
        element: part.name.clone(),
        from: State::Absent,
        to: State::Active,
        calls: [Transition::Adopt].into(),
        side: Side::Desired,
    };
    let step = graph.step(phase::CLIMB + rank::CREATED, work);
    part.steps.set_enter(rank::CREATED..=rank::ACTIVE, step);
}

fn reconfigure(graph: &mut Graph, part: &mut Part<'_>) {
    let work = Work::Transition {
        element: part.name.clone(),
        from: State::Active,
        to: State::Active,
        calls: [Transition::Reconfigure].into(),
        side: Side::Desired,
    };
    let number = if part.rolls.moves_in_turn() { phase::ROLL } else { phase::AGAIN + rank::ACTIVE };
    let step = graph.step(number, work);
    part.steps.set_reconfigure(step);
}

/// Adds a step that records the new package of a part. The step calls no driver.
fn repackage(graph: &mut Graph, part: &Part<'_>) {
    let (work, phase) = (Work::Package { element: part.name.clone() }, phase::AGAIN + rank::ACTIVE);
    match part.steps.lowest() {
        Some(above) => graph.next_step(phase, work, rank::state(part.low), above),
        None => graph.step(phase, work),
    };
}

/// A step that brings a part to a lower state.
struct Stair {
    /// The number that is added to [`phase::CHANGE`] or [`phase::OUT`] to get the phase of the step. For example,
    /// the number for a Stop is [`phase::STOP`].
    offset: Phase,
    from: State,
    to: State,
    /// The [rank] of `from`. The states Broken and Failed have no rank, so for them the value is the rank of Active.
    above: u8,
    calls: Transitions,
}

/// Returns the steps from a part's state down to a [rank].
fn stairs(element: &Element, part: &Part<'_>, low: u8) -> Vec<Stair> {
    let below = if element.has_created() { State::Created } else { State::Absent };
    let stop = |from| Stair {
        offset: phase::STOP,
        from,
        to: State::Inactive,
        above: rank::ACTIVE,
        calls: [Transition::Stop].into(),
    };
    let uninstall = |from: State| Stair {
        offset: phase::UNINSTALL,
        from,
        to: below,
        above: from.rank().unwrap_or(rank::ACTIVE),
        calls: [Transition::Uninstall].into(),
    };
    let delete = Stair {
        offset: phase::DELETE,
        from: State::Created,
        to: State::Absent,
        above: rank::CREATED,
        calls: [Transition::Delete].into(),
    };
    let cleared =
        |offset, calls| Stair { offset, from: State::Failed, to: State::Absent, above: rank::ACTIVE, calls };
    let mut stairs = match part.now.state {
        State::Absent => return Vec::new(),
        State::Failed if !part.now.has_remains() => {
            return vec![cleared(phase::DELETE, Transitions::default())];
        }
        State::Failed if part.now.could_not_be_stopped() && !part.omits_stop => {
            vec![stop(State::Failed), uninstall(State::Inactive)]
        }
        State::Failed => return vec![cleared(phase::UNINSTALL, inverse(element, part.now.attempted))],
        State::Created => Vec::new(),
        State::Inactive if part.now.may_run() => vec![stop(State::Broken), uninstall(State::Inactive)],
        State::Installed | State::Inactive => vec![uninstall(part.now.state)],
        State::Active if part.change_kind == ChangeKind::Heal => {
            vec![stop(State::Broken), uninstall(State::Inactive)]
        }
        State::Active | State::Broken => vec![stop(part.now.state), uninstall(State::Inactive)],
    };
    if element.has_created() {
        stairs.push(delete);
    }
    stairs.retain(|stair| stair.to.rank() >= Some(low));
    stairs
}

/// Returns the transitions that remove the leftovers of a Failed resource.
///
/// If Create was attempted and the resource declares Delete, the result is Delete. In all other cases, the result is
/// Uninstall and Delete, even if `attempted` is `None`. The caller omits each transition that the resource does not
/// declare.
fn inverse(element: &Element, attempted: Option<Transition>) -> Transitions {
    if attempted == Some(Transition::Create) && element.declares(Transition::Delete) {
        return [Transition::Delete].into();
    }
    [Transition::Uninstall, Transition::Delete].into()
}

/// Returns the transitions of the step that raises a part to `state`.
fn calls_into(state: State) -> Transitions {
    match state {
        State::Created => [Transition::Create].into(),
        State::Installed => [Transition::Install].into(),
        State::Inactive => [Transition::Configure].into(),
        State::Active => [Transition::Start, Transition::Integrity].into(),
        State::Absent | State::Broken | State::Failed => Transitions::default(),
    }
}
