//! Consent to plans that remove or replace installed parts.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use windlass_lifecycle::{Diff, ElementChange, ElementChangeKind};
use windlass_model::record::ProcessRecord;
use windlass_model::{AssemblyName, ElementName, State};

use super::fingerprint::PlanFingerprint;

/// The user's permission to remove or replace installed parts.
///
/// No permission is needed for a part whose Create or Install has failed, or for a part whose removal has begun.
/// [`ElementChange::destroys`] contains the exact rule.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Consent {
    /// The user permits every plan to remove or replace installed parts. This is the default of a request.
    #[default]
    Any,
    /// Only this plan may remove or replace installed parts.
    Plan(PlanFingerprint),
    /// Plans may remove or replace only these installed parts.
    Parts(BTreeSet<ElementName>),
    /// As [`Parts`](Self::Parts), for a process that nobody can be asked about. A plan omits the other removals and
    /// replacements.
    Only(BTreeSet<ElementName>),
    /// No plan may remove or replace installed parts.
    None,
}

impl Consent {
    /// Tells whether the user consents to all plans.
    pub(super) fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Returns the consent for a process that resumes an unfinished process. The plan of the unfinished process was
    /// permitted, so the new plan may remove or replace the same parts.
    pub(super) fn to_resume(unfinished: &ProcessRecord) -> Self {
        unfinished.may_destroy.clone().map_or(Self::Any, Self::Parts)
    }

    /// As [`to_resume`](Self::to_resume), for a process that nobody can be asked about.
    pub(super) fn to_resume_unasked(interrupted: &ProcessRecord) -> Self {
        interrupted.may_destroy.clone().map_or(Self::Any, Self::Only)
    }

    /// Tells whether nobody can be asked about the process.
    pub(super) fn is_unasked(&self) -> bool {
        matches!(self, Self::Only(_))
    }

    /// Returns the consent that remains for the next process. [`Consent::Plan`] becomes [`Consent::None`], because the
    /// next process has another plan. All other consents remain.
    pub(super) fn for_another(self) -> Self {
        if matches!(self, Self::Plan(_)) { Self::None } else { self }
    }
}

/// A plan that the engine refuses. The plan removes or replaces installed parts, and the user has
/// not consented to it.
#[derive(Debug, Clone)]
pub struct DestructivePlan {
    /// The assembly that the plan is for.
    pub assembly: AssemblyName,
    /// The changes that the plan makes.
    pub changes: Diff,
    /// The fingerprint of the plan. To agree to this plan, a program passes the fingerprint to [`Consent::Plan`].
    pub fingerprint: PlanFingerprint,
}

/// The maximum number of parts that a list in a message names.
const MOST_NAMED: usize = 3;

impl DestructivePlan {
    /// Returns a text with two lists of names, for a message. The first list contains the installed parts that the
    /// plan removes or replaces, each with the reason. The second list contains the parts that no longer exist. Each
    /// list names at most [`MOST_NAMED`] parts, and counts the others.
    pub(crate) fn named(&self) -> String {
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

/// The removals and replacements that a plan omits, because no user has permitted them. The `Display` text of this type
/// lists the parts, each with the reason.
#[derive(Debug, Clone)]
pub struct OmittedChanges {
    changes: Vec<ElementChange>,
    command: String,
}

impl OmittedChanges {
    /// Creates the description of changes of the assembly `name`.
    pub(super) fn new(changes: Vec<ElementChange>, name: &AssemblyName) -> Self {
        Self { changes, command: format!("windlass retry {name}") }
    }

    /// Returns the changes.
    pub fn changes(&self) -> &[ElementChange] {
        &self.changes
    }

    /// Returns the command with which a user permits and executes the changes.
    pub fn command(&self) -> &str {
        &self.command
    }
}

impl fmt::Display for OmittedChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&list(self.changes.iter().map(reason).collect()))
    }
}

/// Lists the first [`MOST_NAMED`] names, and counts the others.
fn list(found: Vec<String>) -> String {
    let more = found.len().saturating_sub(MOST_NAMED);
    let mut named = found.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(named, " and {more} more");
    }
    named
}

/// Returns the name of a part that is removed or replaced, followed by the reason in parentheses.
fn reason(change: &ElementChange) -> String {
    let properties: Vec<String> =
        change.properties.iter().take(2).map(|changed| format!("`{}`", changed.property)).collect();
    let why = match change.kind {
        ElementChangeKind::Removed => return format!("`{}` (removed)", change.element.local()),
        ElementChangeKind::Lowered => format!("its state becomes {}", change.to),
        _ if !properties.is_empty() => format!("{} changes", properties.join(" and ")),
        _ if change.replaces.is_some() => "its type changes".to_owned(),
        _ if change.values_in_doubt => "its last Reconfigure did not succeed".to_owned(),
        ElementChangeKind::Repaired if change.from == State::Failed => "it has failed".to_owned(),
        ElementChangeKind::Repaired => "its removal is incomplete".to_owned(),
        _ if change.repackaged => "its package has changed".to_owned(),
        _ => "its replacement was requested".to_owned(),
    };
    format!("`{}` ({}: {why})", change.element.local(), change.effect().as_str())
}
