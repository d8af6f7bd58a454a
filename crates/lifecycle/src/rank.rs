//! The states of a part as numbers (*ranks*), so that states can be compared.

use windlass_model::{Modifier, State};

pub(crate) const ABSENT: u8 = 0;
pub(crate) const CREATED: u8 = 1;
pub(crate) const INSTALLED: u8 = 2;
pub(crate) const INACTIVE: u8 = 3;
pub(crate) const ACTIVE: u8 = 4;

/// A rank that is higher than the rank of each state.
///
/// For example, `NodePath::falls_to` has this value if the plan lowers no resource of the element.
pub(crate) const ABOVE_ALL: u8 = 5;

/// Returns the rank of a state that a relationship declares for its source or target.
///
/// This state is never Broken or Failed. Those two states have no rank, and no relationship can declare them.
pub(crate) fn of(state: State) -> u8 {
    state.rank().unwrap_or(ACTIVE)
}

/// Returns the minimum rank that a source or target of a relationship must have when the relationship is created.
/// The relationship declares `state` and `modifier` for this source or target.
pub(crate) fn least(state: State, modifier: Modifier) -> u8 {
    match modifier {
        Modifier::Post => of(state),
        Modifier::Pre => of(state).saturating_sub(1),
    }
}

/// Returns the state with a given rank. Ranks above Active count as Active.
pub(crate) fn state(rank: u8) -> State {
    State::LADDER.get(usize::from(rank)).copied().unwrap_or(State::Active)
}
