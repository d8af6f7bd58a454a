//! The removals and replacements of a plan: those that need the user's consent, and those that the plan must omit.

use std::collections::BTreeSet;

use windlass_lifecycle::{Diff, ElementChange, ElementChangeKind};
use windlass_model::record::{AssemblyRecord, Intent};
use windlass_model::{ElementName, Topology};

use super::consent::Consent;

/// The parts that an intent removes or replaces by its meaning. A process of the intent keeps the instances of all other
/// parts. Heals have such parts, and so do the scalings of policies.
pub(super) enum OwnParts<'i> {
    /// The parts of the healed element.
    Healed(&'i ElementName),
    /// No parts: the intent only adds nodes.
    Added,
    /// The nodes of a cluster that the scaling removes.
    Removed {
        cluster: &'i ElementName,
        /// The topology before the scaling. `None` if the scaling resumes an earlier one, which has already recorded its
        /// topology without the nodes.
        before: Option<&'i Topology>,
    },
}

impl<'i> OwnParts<'i> {
    /// Returns the own parts of `intent`; `None` for an intent that may change the whole assembly. `consent` tells whether
    /// a user has requested the intent. `before` is the recorded assembly, and `unfinished` is as in
    /// [`PreviousState::unfinished`](super::draft::PreviousState::unfinished).
    pub(super) fn of(
        intent: &'i Intent,
        consent: &Consent,
        before: Option<&'i AssemblyRecord>,
        unfinished: Option<&Intent>,
    ) -> Option<Self> {
        match intent {
            Intent::Heal(part) => Some(Self::Healed(part)),
            Intent::ScaleOut(_) if consent.is_unasked() => Some(Self::Added),
            Intent::ScaleIn(cluster) if consent.is_unasked() => {
                let is_new = unfinished != Some(intent);
                let before = before.map(|before| &before.topology).filter(|_| is_new);
                Some(Self::Removed { cluster, before })
            }
            _ => None,
        }
    }

    /// Tells whether a change belongs to the meaning of the intent.
    fn contain(&self, change: &ElementChange) -> bool {
        match self {
            Self::Healed(part) => change.element.is_in(part),
            Self::Added => false,
            Self::Removed { cluster, before } => {
                change.kind == ElementChangeKind::Removed
                    && change.element.is_in(cluster)
                    && before.is_none_or(|before| before.get(&change.element).is_some())
            }
        }
    }
}

/// Returns the removals and replacements in `diff` that the plan must omit. `surplus` is as in [`destroyed`]. The function
/// adds the parts in `own` to a consent [`Consent::Only`].
pub(super) fn unpermitted(
    diff: &Diff,
    surplus: &BTreeSet<ElementName>,
    own: Option<&OwnParts<'_>>,
    consent: &mut Consent,
) -> Vec<ElementChange> {
    let is_own = |change: &ElementChange| own.is_some_and(|own| own.contain(change));
    if let Consent::Only(permitted) = consent {
        let own = destroyed(diff, surplus).filter(|change| is_own(change));
        permitted.extend(own.map(|change| change.element.clone()));
    }
    let is_unpermitted = |change: &&ElementChange| match (own, &*consent) {
        _ if is_surplus(surplus, change) => false,
        (_, Consent::Only(permitted)) if permitted.contains(&change.element) => false,
        // Failed and partly removed parts also stay as they are.
        (Some(_), _) => change.effect().is_destructive() && !is_own(change),
        (None, Consent::Only(_)) => change.destroys(),
        (None, _) => false,
    };
    diff.elements.iter().filter(is_unpermitted).cloned().collect()
}

/// Returns the changes that need the user's consent: the removals and replacements of installed parts. `surplus`
/// contains the temporary nodes of a rolling change, whose removal needs no consent.
pub(super) fn destroyed<'a>(
    diff: &'a Diff,
    surplus: &'a BTreeSet<ElementName>,
) -> impl Iterator<Item = &'a ElementChange> {
    let destroys = |change: &&ElementChange| change.destroys() && !is_surplus(surplus, change);
    diff.elements.iter().filter(destroys)
}

/// Tells whether a change removes a node in `surplus`, or a part of such a node. `surplus` contains the temporary nodes
/// of a rolling change.
fn is_surplus(surplus: &BTreeSet<ElementName>, change: &ElementChange) -> bool {
    change.kind == ElementChangeKind::Removed && surplus.iter().any(|node| change.element.is_in(node))
}
