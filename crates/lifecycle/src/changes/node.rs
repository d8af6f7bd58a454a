//! The path of an endpoint of a relationship: the path of a resource, or the common path of all resources in
//! an assembly.

use windlass_model::State;

use super::part::{ChangeKind, Part};
use super::rolls::Rolls;
use crate::rank;

/// The state changes that a plan makes at one end of a relationship.
///
/// A part may first go down to a lower state, for example to be stopped, and then up to a higher state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NodePath {
    /// The lowest state that the endpoint reaches while the plan brings it to lower states, as a
    /// [rank](crate::rank).
    ///
    /// If the plan does not bring the endpoint to a lower state, the value is [`rank::ABOVE_ALL`].
    pub(crate) falls_to: u8,
    /// The last [rank](crate::rank) of the path.
    pub(crate) end: u8,
    /// Whether the endpoint and all its parts are Absent before the plan.
    pub(crate) absent: bool,
    /// Whether the plan brings a resource of the endpoint to a higher state.
    pub(crate) climbs: bool,
    /// Whether the endpoint is kept, changed or removed.
    pub(crate) disposition: Disposition,
    /// The batch and the group in which the endpoint changes, if it changes in a rolling change.
    pub(crate) rolls: Rolls,
}

/// The disposition of an element in a plan: whether it is kept, changed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Disposition {
    /// The element stays as it is, or is added, adopted, reconfigured, repaired or healed.
    #[default]
    Kept,
    /// The element, or a part of it, is lowered or re-installed.
    Changed,
    /// The element, or a part of it, is removed.
    Removed,
}

impl NodePath {
    /// The path of an element that is always Active.
    pub(crate) const FIXED: Self = Self {
        falls_to: rank::ABOVE_ALL,
        end: rank::ACTIVE,
        absent: false,
        climbs: false,
        disposition: Disposition::Kept,
        rolls: Rolls { turn: 0, group: 0, tied: false, swaps: false },
    };

    /// Tells whether the path leads down first.
    pub(crate) fn falls(self) -> bool {
        self.falls_to < rank::ABOVE_ALL
    }

    /// Returns the path of a resource.
    pub(crate) fn of(part: &Part<'_>) -> Self {
        Self {
            falls_to: part.falls_to().unwrap_or(rank::ABOVE_ALL),
            end: part.end,
            absent: part.now.state == State::Absent,
            climbs: part.low < part.end,
            disposition: match part.change_kind {
                ChangeKind::Remove => Disposition::Removed,
                ChangeKind::Reinstall | ChangeKind::Lower => Disposition::Changed,
                _ => Disposition::Kept,
            },
            rolls: part.rolls,
        }
    }

    /// Returns the common path of two resources of an endpoint.
    pub(crate) fn both(self, other: Self) -> Self {
        Self {
            falls_to: self.falls_to.min(other.falls_to),
            end: self.end.min(other.end),
            absent: self.absent && other.absent,
            climbs: self.climbs || other.climbs,
            disposition: self.disposition.max(other.disposition),
            rolls: self.rolls.both(other.rolls),
        }
    }
}
