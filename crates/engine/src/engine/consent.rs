//! Consent to plans that remove or replace parts which are recorded well.

use serde::{Deserialize, Serialize};
use windlass_lifecycle::Diff;
use windlass_model::AssemblyName;

use super::fingerprint::PlanFingerprint;

/// The plans that may remove or replace parts which are recorded well.
///
/// Parts that are recorded Failed or Broken, or whose removal has begun, need no consent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Consent {
    /// Every plan may. It is the consent of a request that contains none.
    #[default]
    Any,
    /// Only this plan may.
    Plan(PlanFingerprint),
    /// No plan may.
    None,
}

impl Consent {
    /// Tells whether every plan may remove and replace parts.
    pub(super) fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Returns the consent for a further process. The consent to one plan covers no other.
    pub(super) fn for_another(self) -> Self {
        if self.is_any() { self } else { Self::None }
    }
}

/// A plan that removes or replaces parts which are recorded well, and that nobody has agreed to.
#[derive(Debug, Clone)]
pub struct DestructivePlan {
    /// The assembly.
    pub assembly: AssemblyName,
    /// The changes that the plan makes.
    pub changes: Diff,
    /// The plan, for [`Consent::Plan`].
    pub fingerprint: PlanFingerprint,
}
