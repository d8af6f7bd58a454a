//! Determines which sources of a relationship are ready. A source is ready if the source has reached the state that
//! the relationship requires. If one source has failed, the relationship is still created between the other sources
//! and the target.

use windlass_model::assembly::ElementKind;
use windlass_model::record::{Failure, FailureKind, PairKey};
use windlass_model::work::{Direction, Work};
use windlass_model::{Modifier, Side, State};

use super::{Planned, PlannedAction, ProcessMachine};

impl ProcessMachine {
    /// Divides the planned calls of a step that creates pairs. Returns the calls for pairs whose source is ready, and
    /// the pairs whose source is not ready. A source is ready if the source has reached the state that the relationship
    /// requires.
    ///
    /// For any other step, the function returns all planned calls.
    pub(super) fn with_who_is_ready(
        &self,
        work: &Work,
        planned: Vec<Planned>,
    ) -> (Vec<Planned>, Vec<PairKey>) {
        let Work::Relate(relate) = work else { return (planned, Vec::new()) };
        if relate.direction != Direction::Create {
            return (planned, Vec::new());
        }
        let mut left = Vec::new();
        let ready = planned.into_iter().filter(|planned| {
            let PlannedAction::Operation(pair, _) = &planned.action else { return true };
            let is_ready = self.is_source_ready(pair, planned.side);
            if !is_ready && left.last() != Some(pair) {
                left.push(pair.clone());
            }
            is_ready
        });
        (ready.collect(), left)
    }

    /// Returns the failure of a step that has omitted some pairs; `None` if it has omitted no pair. `left` contains
    /// the omitted pairs.
    ///
    /// A pair is omitted if its source has not reached the required state. The failure names the sources of the
    /// omitted pairs.
    pub(super) fn not_made_with(&self, left: &[PairKey]) -> Option<Failure> {
        const NAMED: usize = 3;
        let state = |pair: &PairKey| {
            let (source, record) = (pair.source.local(), self.world.elements.get(&pair.source));
            if self.undecided.contains(&pair.source) {
                format!("`{source}`, which has an unknown outcome")
            } else {
                format!("`{source}`, which is {}", record.map(|record| record.state).unwrap_or_default())
            }
        };
        let mut named: Vec<String> = left.iter().take(NAMED).map(state).collect();
        if left.len() > NAMED {
            named.push(format!("{} more", left.len() - NAMED));
        }
        let last = named.pop()?;
        let all = if named.is_empty() { last } else { format!("{} and {last}", named.join(", ")) };
        Some(Failure::new(FailureKind::Refused, format!("it is not created with {all}")))
    }

    /// Tells whether the source of a pair has reached the state that the relationship requires. A source that
    /// is not a resource is always ready.
    fn is_source_ready(&self, pair: &PairKey, side: Side) -> bool {
        let topology = self.world.version(side);
        let found = topology.relationship(&pair.assembly, pair.relationship.as_str());
        let (Some(relationship), Some(source), Some(record)) =
            (found, topology.get(&pair.source), self.world.elements.get(&pair.source))
        else {
            return true;
        };
        if source.kind != ElementKind::Resource {
            return true;
        }
        let wanted = relationship.source_state.rank().unwrap_or_default();
        let least = match relationship.source_modifier {
            Modifier::Post => wanted,
            Modifier::Pre => wanted.saturating_sub(1),
        };
        // If a resource has no transition Create, its elements never reach the state Created. If the relationship
        // requires this state of the source, the state Absent is then sufficient.
        let may_be_absent = Some(least) == State::Created.rank() && !source.has_created();
        // If an element has an undecided call, its record contains the state before that call. The element may
        // have left this state since then, so the recorded state is not compared.
        may_be_absent && record.state == State::Absent
            || !self.undecided.contains(&pair.source) && record.state.rank().is_some_and(|rank| rank >= least)
    }
}
