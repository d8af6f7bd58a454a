//! The numbers of the phases of a plan.
//!
//! Some phases of this list are divided further. The number of such a phase is the constant plus a rank or an
//! offset.

/// The number of a phase. All steps of a phase precede the steps of phases with higher numbers, except steps
/// that an earlier phase needs.
pub(crate) type Phase = u8;

/// Leftovers of failures are removed.
pub(crate) const CLEAR: Phase = 0;
/// New parts are raised. The phase of a step is this number plus the rank that the step reaches.
pub(crate) const CLIMB: Phase = 0;
/// Changed parts are lowered.
pub(crate) const CHANGE: Phase = 10;
/// Changed parts are raised again. The phase of a step is this number plus the rank that the step reaches.
pub(crate) const AGAIN: Phase = 20;
/// Nodes that change in batches are lowered and raised.
pub(crate) const ROLL: Phase = 25;
/// Moved or removed relationships are ceased.
pub(crate) const CUT_OVER: Phase = 26;
/// Removed parts are lowered.
pub(crate) const OUT: Phase = 30;

/// The offset of Stop steps, to be added to `CHANGE` or `OUT`. The next two constants are the offsets of
/// Uninstall and Delete steps.
pub(crate) const STOP: Phase = 1;
pub(crate) const UNINSTALL: Phase = 2;
pub(crate) const DELETE: Phase = 3;
