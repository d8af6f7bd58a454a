//! The numbers of the phases of a plan.
//!
//! Some phases of this list are divided further. The number of such a phase is the constant plus a rank or an
//! offset.

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
/// The phase in which new parts are brought to higher states.
///
/// The phase of a step is `CLIMB` plus the [rank](crate::rank) of the state that the step reaches.
pub(crate) const CLIMB: Phase = 0;
/// The phase in which changed parts are brought to lower states.
pub(crate) const CHANGE: Phase = 10;
/// The phase in which changed parts are brought back to higher states.
///
/// The phase of a step is `AGAIN` plus the [rank](crate::rank) of the state that the step reaches.
pub(crate) const AGAIN: Phase = 20;
/// The phase in which nodes that change in batches are brought to lower states, and then to higher states again.
pub(crate) const ROLL: Phase = 25;
/// The phase in which relationships are removed or created while their sources and targets stay in their states.
///
/// For example, a relationship gets another target, and the old and the new target stay Active.
pub(crate) const CUT_OVER: Phase = 26;
/// The phase in which removed parts are brought to lower states.
pub(crate) const OUT: Phase = 30;

/// The number that is added to `CHANGE` or `OUT` for the phase of a Stop step.
///
/// The next two constants are the numbers for Uninstall and Delete steps.
pub(crate) const STOP: Phase = 1;
pub(crate) const UNINSTALL: Phase = 2;
pub(crate) const DELETE: Phase = 3;
