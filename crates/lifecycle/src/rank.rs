//! The ladder of a part's life as numbers, so that it can be asked how far something is and what is below that.

use windlass_model::{Modifier, State};

pub(crate) const ABSENT: u8 = 0;
pub(crate) const CREATED: u8 = 1;
pub(crate) const INSTALLED: u8 = 2;
pub(crate) const INACTIVE: u8 = 3;
pub(crate) const ACTIVE: u8 = 4;

/// Above every state: how low something comes that doesn't come down at all.
pub(crate) const ABOVE_ALL: u8 = 5;

/// Returns the rank of a state that a relationship names. It names none beside the ladder, which would count as Active.
pub(crate) fn of(state: State) -> u8 {
    state.rank().unwrap_or(ACTIVE)
}

/// Returns the rank that an end of a relationship must have for the relationship to be made.
pub(crate) fn least(state: State, modifier: Modifier) -> u8 {
    match modifier {
        Modifier::Post => of(state),
        Modifier::Pre => of(state).saturating_sub(1),
    }
}

/// Returns the state at a rank.
pub(crate) fn state(rank: u8) -> State {
    State::LADDER.get(usize::from(rank)).copied().unwrap_or(State::Active)
}
