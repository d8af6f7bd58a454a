//! The numbers of the phases of a plan.
//!
//! A constant such as [`ROLL`] is the number of a single phase. A constant such as [`CHANGE`] is the base number of
//! several phases. The number of each of these phases is the base number plus a rank or an offset.

/// The number of a phase. A step begins only after all steps of phases with lower numbers have ended.
///
/// There are two exceptions:
///
/// - A step of an early phase may wait for a step of a later phase. For example, step `a` of phase 4 waits for step `b`
///   of phase 20. Then `b` waits only for the phases before phase 4.
/// - A step that creates a relationship waits for no phase, because the step already waits for the states of its source
///   and target.
pub(crate) type Phase = u8;

/// The phase in which leftovers of failures are removed.
pub(crate) const CLEAR: Phase = 0;
/// The base number of the phases in which new parts are brought to higher states. Each state has a phase of its
/// own.
///
/// The number of such a phase is `CLIMB` plus the [rank](crate::rank) of the state that the steps of the phase
/// reach.
pub(crate) const CLIMB: Phase = 0;
/// The base number of the phases in which changed parts are brought to lower states.
///
/// The number of such a phase is `CHANGE` plus an offset: [`STOP`], [`UNINSTALL`] or [`DELETE`].
pub(crate) const CHANGE: Phase = 10;
/// The base number of the phases in which changed parts are brought back to higher states. Each state has a phase
/// of its own.
///
/// The number of such a phase is `AGAIN` plus the [rank](crate::rank) of the state that the steps of the phase
/// reach.
pub(crate) const AGAIN: Phase = 20;
/// The phase in which nodes that change in batches are brought to lower states, and then to higher states again.
pub(crate) const ROLL: Phase = 25;
/// The phase in which relationships are removed or created while their sources and targets stay in their states.
///
/// For example, a relationship gets another target, and the old and the new target stay Active.
pub(crate) const CUT_OVER: Phase = 26;
/// The base number of the phases in which removed parts are brought to lower states.
///
/// The number of such a phase is `OUT` plus an offset: [`STOP`], [`UNINSTALL`] or [`DELETE`].
pub(crate) const OUT: Phase = 30;

/// The offset of the phase that contains the Stop steps. A changed part is stopped in the phase `CHANGE + STOP`,
/// and a removed part in the phase `OUT + STOP`.
///
/// The next two constants are the offsets for Uninstall and Delete steps.
pub(crate) const STOP: Phase = 1;
pub(crate) const UNINSTALL: Phase = 2;
pub(crate) const DELETE: Phase = 3;
