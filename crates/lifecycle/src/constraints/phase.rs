//! The phases of a plan, and the offsets of the steps within a phase that consists of several steps.

/// The position of a step in the order of phases. Steps of one phase precede those of the next.
pub(crate) type Phase = u8;

/// Leftovers of failures are removed.
pub(crate) const CLEAR: Phase = 0;
/// New parts are raised (*climb*). The phase of a step is this number plus the rank that the step
/// reaches.
pub(crate) const CLIMB: Phase = 0;
/// Changed parts are lowered.
pub(crate) const CHANGE: Phase = 10;
/// Changed parts are raised again, numbered like `CLIMB`.
pub(crate) const AGAIN: Phase = 20;
/// The nodes of rolling groups are lowered and raised, in batches.
pub(crate) const ROLL: Phase = 25;
/// Moved or removed relationships are ceased.
pub(crate) const CUT_OVER: Phase = 26;
/// Removed parts are lowered.
pub(crate) const OUT: Phase = 30;

/// The offsets of the steps down in `CHANGE` and `OUT`.
pub(crate) const STOP: Phase = 1;
pub(crate) const UNINSTALL: Phase = 2;
pub(crate) const DELETE: Phase = 3;
