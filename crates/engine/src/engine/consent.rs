//! Consent to plans that remove or replace parts which are recorded as healthy.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use windlass_lifecycle::{Diff, ElementChange, ElementChangeKind};
use windlass_model::AssemblyName;

use super::fingerprint::PlanFingerprint;

/// The plans that may remove or replace parts which are recorded as healthy.
///
/// A plan may remove or replace parts that are recorded as Failed or Broken, or whose removal has begun,
/// without consent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Consent {
    /// Every plan may remove or replace healthy parts. This is the default of a request.
    #[default]
    Any,
    /// Only this plan may remove or replace healthy parts.
    Plan(PlanFingerprint),
    /// No plan may remove or replace healthy parts.
    None,
}

impl Consent {
    /// Tells whether every plan may remove and replace healthy parts.
    pub(super) fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Returns the consent for a further process. The consent to one plan covers no other plan.
    pub(super) fn for_another(self) -> Self {
        if self.is_any() { self } else { Self::None }
    }
}

/// A plan without consent that removes or replaces parts which are recorded as healthy.
#[derive(Debug, Clone)]
pub struct DestructivePlan {
    /// The assembly that the plan is for.
    pub assembly: AssemblyName,
    /// The changes that the plan makes.
    pub changes: Diff,
    /// The fingerprint of the plan, which a program passes to [`Consent::Plan`] to agree to this plan.
    pub fingerprint: PlanFingerprint,
}

/// The maximum number of parts that a message names.
const MOST_NAMED: usize = 3;

impl DestructivePlan {
    /// Names the first parts that are recorded as healthy and would be removed or replaced, each with the
    /// reason. Then names the first parts that no longer exist.
    pub(crate) fn named(&self) -> String {
        let list = |found: Vec<String>| {
            let more = found.len().saturating_sub(MOST_NAMED);
            let mut named = found.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", ");
            if more > 0 {
                let _ = write!(named, " and {more} more");
            }
            named
        };
        let elements = || self.changes.elements.iter();
        let mut named = list(elements().filter(|change| change.destroys()).map(reason).collect());
        let gone = elements().filter(|change| change.kind == ElementChangeKind::Recreated);
        let gone: Vec<String> = gone.map(|change| format!("`{}`", change.element.local())).collect();
        if !gone.is_empty() {
            let verb = if gone.len() == 1 { "no longer exists" } else { "no longer exist" };
            let _ = write!(named, "; {} {verb}", list(gone));
        }
        named
    }
}

/// Names a part that is removed or replaced, with the reason.
fn reason(change: &ElementChange) -> String {
    let properties: Vec<String> =
        change.properties.iter().take(2).map(|changed| format!("`{}`", changed.property)).collect();
    let why = match change.kind {
        ElementChangeKind::Removed => return format!("`{}` (removed)", change.element.local()),
        ElementChangeKind::Lowered => format!("its state becomes {}", change.to),
        _ if !properties.is_empty() => format!("{} changes", properties.join(" and ")),
        _ if change.replaces.is_some() => "its type changes".to_owned(),
        _ if change.values_in_doubt => "its last Reconfigure did not succeed".to_owned(),
        _ if change.repackaged => "its package has changed".to_owned(),
        _ => "its replacement was requested".to_owned(),
    };
    format!("`{}` ({}: {why})", change.element.local(), change.effect().as_str())
}
