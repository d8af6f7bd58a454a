//! The state changes that a plan makes in a source or target of a relationship: the type [`NodePath`].
//!
//! The source or target is a resource, a group or an assembly. For a group or an assembly, the state changes of all its
//! resources are combined.

use windlass_model::State;

use super::part::{ChangeKind, Part};
use super::rolls::Rolls;
use crate::rank;

/// The state changes that a plan makes in one element, which is a source or a target of a relationship.
///
/// The element is a resource, or a group or an assembly with several resources. The plan may first lower the state of a
/// resource, for example to stop it, and then raise the state again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NodePath {
    /// The lowest [rank] to which the plan lowers a resource of the element.
    ///
    /// If the plan lowers no resource of the element, the value is [`rank::ABOVE_ALL`].
    pub(crate) falls_to: u8,
    /// The lowest [rank] that a resource of the element has after the plan.
    pub(crate) end: u8,
    /// Whether all resources of the element are Absent before the plan.
    pub(crate) absent: bool,
    /// Whether the plan raises the state of a resource of the element.
    pub(crate) climbs: bool,
    /// The most drastic change that the plan makes to a resource of the element, for example a removal.
    pub(crate) disposition: Disposition,
    /// The batch and the group of the element in a rolling change. If the element is in no rolling change, the value is
    /// the default value of [`Rolls`].
    pub(crate) rolls: Rolls,
}

/// The most drastic change that a plan makes to a resource of an element. A removal is more drastic than a
/// re-installation, for example.
///
/// The value determines the phase of the plan in which the element's relationships are removed or created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Disposition {
    /// All other cases. For example, the element stays as it is, or is added, reconfigured or healed.
    #[default]
    Other,
    /// A resource of the element changes to a lower state, or is re-installed.
    Changed,
    /// A resource of the element is removed.
    Removed,
}

impl NodePath {
    /// The value for an element that is always Active, for example a reference. The plan does not change the state of
    /// such an element.
    pub(crate) const FIXED: Self = Self {
        falls_to: rank::ABOVE_ALL,
        end: rank::ACTIVE,
        absent: false,
        climbs: false,
        disposition: Disposition::Other,
        rolls: Rolls { turn: 0, group: 0, tied: false, swaps: false },
    };

    /// Tells whether the plan lowers the state of a resource of the element.
    pub(crate) fn falls(self) -> bool {
        self.falls_to < rank::ABOVE_ALL
    }

    /// Returns the state changes of a single resource.
    pub(crate) fn of(part: &Part<'_>) -> Self {
        Self {
            falls_to: part.falls_to().unwrap_or(rank::ABOVE_ALL),
            end: part.end,
            absent: part.now.state == State::Absent,
            climbs: part.low < part.end,
            disposition: match part.change_kind {
                ChangeKind::Remove => Disposition::Removed,
                ChangeKind::Reinstall | ChangeKind::Lower => Disposition::Changed,
                _ => Disposition::Other,
            },
            rolls: part.rolls,
        }
    }

    /// Combines the state changes of two resources of the same element.
    ///
    /// For example, an assembly with two resources reaches a state only when both resources have reached the state.
    /// So the field `end` of the result is the lower of the two `end` values.
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
